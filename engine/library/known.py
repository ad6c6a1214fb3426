"""Manage the known folders of models, and a person's names for them: downloads, chosen folders, aliases.

`models.json` in the user's configuration folder is the command line's; the window's settings are read for their models
folders, and never written here.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_config_path, user_data_path

from engine.errors import FolderUnreadable, InvalidRequest, ModelFileBroken
from engine.formats.gguf.parts import title_stem
from engine.library.names import chosen_quantisation, hub_cache, no_target, without_quantisation
from engine.library.walk import FoundModel, find_models
from engine.system.cache_files import read_json
from engine.system.files import expanded, private_folder, write_whole

DEFAULT = "default"
"""The alias of the model that is meant where none is named."""
_ALIAS = re.compile(r"[\w][\w.-]{0,63}")
_MOST_FOLDERS = 100
_MOST_NAMES = 10


def download_folder() -> Path:
    """Return the folder where models go that are downloaded: OUTRIDER_MODELS, or the user's data. It may not exist."""
    named = os.environ.get("OUTRIDER_MODELS")
    return expanded(named) if named else user_data_path("outrider", appauthor=False) / "models"


def known_folders() -> list[Path]:
    """Return the folders in which a model is looked for by its name, each once."""
    folders = [download_folder()]
    for place in (_kept(), _settings()):
        listed = place.get("folders") or place.get("models_folders")
        folders += [expanded(each) for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    return list(dict.fromkeys([*folders[:_MOST_FOLDERS], hub_cache()]))


def aliases() -> dict[str, str]:
    """Return the aliases, and the models that they mean."""
    kept = _kept().get("aliases")
    return {str(name): str(meant) for name, meant in kept.items()} if isinstance(kept, dict) else {}


def meant_by(text: str) -> str:
    """Resolve an alias, which may name another one; any other text stays as it is."""
    known = aliases()
    while text in known:
        text = known.pop(text)
    return text


def keep_alias(name: str, meant: str | None) -> None:
    """Keep an alias; None forgets it. Raises InvalidRequest, OSError."""
    if not _ALIAS.fullmatch(name) or name.casefold().startswith("demo"):
        raise InvalidRequest("{name!r} is no alias: write letters, digits, dots and lines.", name=name)
    known = aliases()
    if meant is None and name not in known:
        raise InvalidRequest("There is no alias {name!r}.", name=name)
    known.pop(name, None)
    if meant is not None:
        known[name] = meant
    path = _place()
    private_folder(path.parent)
    write_whole(path, json.dumps({**_kept(), "aliases": known}, indent=2).encode(), private=True)


def called(text: str) -> Path | None:
    """Return the model of a name, or of an unambiguous part of one, in the known folders; None without any.

    Of one model in several quantisations it is the best known; `NAME:QUANTISATION` names another. Raises
    ModelFileBroken where several are meant.
    """
    if "/" in text or "\\" in text or not text.strip():
        return None
    found: dict[str, FoundModel] = {}
    for folder in known_folders():
        with suppress(FolderUnreadable, OSError):
            for each in find_models(folder):
                if each.kind != "folder" and not no_target(Path(each.path).name):
                    found.setdefault(_name(each).casefold(), each)
    name, _, quantisation = text.removesuffix(".gguf").partition(":")
    name = name.casefold()
    exact = [each for each in found.values() if text.casefold() in (_name(each).casefold(), _stem(each).casefold())]
    meant = exact or [each for each in found.values() if name in _names(each)]
    meant = meant or [each for each in found.values() if name in _name(each).casefold()]
    groups = {without_quantisation(Path(_name(each))) for each in meant}
    if len(groups) > 1:
        there = sorted(_name(each) for each in meant)
        more = f" … (+{len(there) - _MOST_NAMES})" if len(there) > _MOST_NAMES else ""
        raise ModelFileBroken(
            text,
            "several models are called like this: {there}. Write more of the name.",
            there=", ".join(there[:_MOST_NAMES]) + more,
        )
    if not meant:
        return None
    paths = [Path(each.path) for each in meant]
    return paths[0] if exact else chosen_quantisation(Path(text), paths, quantisation or None)


def _name(found: FoundModel) -> str:
    """Return the name of a model: its title, its file's name without parts, or its repository's."""
    path = Path(found.path)
    if found.title:
        return found.title
    if found.kind == "gguf":
        return title_stem(path)
    # The cache of Hugging Face: models--owner--name/snapshots/hash.
    return path.parent.parent.name.rpartition("--")[2] if path.parent.name == "snapshots" else path.name


def _stem(found: FoundModel) -> str:
    return Path(found.path).name if not found.title else found.title.removesuffix(":latest")


def _names(found: FoundModel) -> tuple[str, ...]:
    return _name(found).casefold(), without_quantisation(Path(_name(found)))


def _place() -> Path:
    return user_config_path("outrider", appauthor=False) / "models.json"


def _kept() -> dict[str, Any]:
    return read_json(_place())


def _settings() -> dict[str, Any]:
    """Return the window's settings."""
    return read_json(user_config_path("outrider", appauthor=False) / "settings.json")
