"""Find other programs' models: their folders on this computer, and their names for the models.

Everything is read only. Sources of the layouts, each program's own: LM Studio's documentation ("Import models") and its
home pointer; Ollama's FAQ and manifests; Jan's `app/commands.rs` and its llama.cpp extension; TextGen's README and
`modules/utils.py`; KoboldCpp's `.kcpps` files; llama.cpp's `common/download.cpp`; huggingface_hub's documentation.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_data_path

from engine.cancel import CancelToken
from engine.errors import FolderUnreadable, LoadFailed
from engine.formats.model_file import ModelFile, printable, problem_of
from engine.library.names import hub_cache
from engine.library.ollama import NamedModel, ollama_models, small_json, small_text
from engine.library.scan import known_model
from engine.library.walk import find_models
from engine.system.files import expanded
from engine.translatable import Translatable

_MOST_ENTRIES = 400
_MOST_FOLDERS = 300
_AROUND = (
    "",
    "Desktop",
    "Documents",
    "Downloads",
    "Applications",
    "apps",
    "git",
    "src",
    "code",
    "projects",
    "ai",
    "AI",
)
"""Folders of a user in which programs are that are not installed but unpacked."""


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """Hold a folder of another program, and the models in it by that program's names."""

    program: str
    folder: Path
    models: tuple[NamedModel, ...]


def find_elsewhere(*, cancel: CancelToken | None = None) -> tuple[FoundPlace, ...]:
    """Return the folders of other programs that are here and hold models. Raises Cancelled."""
    finders: tuple[Callable[[], Iterator[FoundPlace]], ...] = (
        *(_lm_studio, _ollama, _jan, _text_gen, _kobold, _llama_cpp, _hugging_face),
    )
    found = []
    for finder in finders:
        if cancel is not None:
            cancel.check("The scan")
        with suppress(OSError):
            found += [place for place in finder() if place.models]
    return tuple(found)


def chat_folders(program: str) -> list[Path]:
    """Return the folders that are here with the chats of a program: LM Studio, Jan or SillyTavern."""
    if program == "LM Studio":
        return _there([root / "conversations" for root in _lm_studio_roots()])
    if program == "Jan":
        return _there([root / "threads" for root in _jan_roots()])
    unpacked = [root / "data" for root in _unpacked("sillytavern")]
    return _there([chats for root in unpacked for chats in sorted(root.glob("*/chats"))[:_MOST_FOLDERS]])


def described(models: tuple[NamedModel, ...], cancel: CancelToken | None = None) -> list[ModelFile]:
    """Read the headers of found models, each under its name there. Raises Cancelled."""
    found = []
    for model in models:
        if cancel is not None:
            cancel.check("The scan")
        path = model.path or Path(model.name)
        name = printable(model.name)
        if model.problem or model.path is None:
            found.append(ModelFile(path, name, problem=model.problem))
            continue
        try:
            found.append(replace(known_model(path), name=name))
        except LoadFailed as error:
            found.append(ModelFile(path, name, problem=problem_of(error, path)))
        except OSError as error:
            problem = Translatable("It cannot be read ({reason}).", reason=error.strerror or type(error).__name__)
            found.append(ModelFile(path, name, problem=problem))
    return found


# The programs -------------------------------------------------------------------------------------------------------


def _lm_studio_roots() -> list[Path]:
    home = Path.home()
    lines = small_text(home / ".lmstudio-home-pointer").strip().splitlines()[:1]
    return _there([*map(Path, lines), home / ".lmstudio", home / ".cache" / "lm-studio"])


def _lm_studio() -> Iterator[FoundPlace]:
    folders: list[Path] = []
    for root in _lm_studio_roots():
        named = small_json(root / "settings.json").get("downloadsFolder")
        folders += [expanded(named)] if isinstance(named, str) and named else []
        folders.append(root / "models")
    for folder in _there(folders):
        yield FoundPlace("LM Studio", folder, tuple(_by_repository(folder)))


def _by_repository(folder: Path) -> Iterator[NamedModel]:
    """Return models in PUBLISHER/NAME: called so, and by their files too where a repository has several."""
    paths = [Path(each.path) for each in _walked(folder)]
    names = ["/".join(path.relative_to(folder).parts[:2]) for path in paths]
    for path, name in zip(paths, names, strict=True):
        inside = path.relative_to(folder).parts
        alone = names.count(name) == 1 and len(inside) > 2
        yield NamedModel(name if alone else "/".join(inside), path)


def _ollama() -> Iterator[FoundPlace]:
    named = os.environ.get("OLLAMA_MODELS")
    roots = [expanded(named)] if named else []
    roots += [Path.home() / ".ollama" / "models"]
    if sys.platform == "linux":
        roots += [Path(base, ".ollama", "models") for base in ("/usr/share/ollama", "/var/lib/ollama")]
        roots += [Path.home() / "snap" / "ollama" / "common" / "models"]
    for folder in _there(roots):
        if (folder / "manifests").is_dir():
            yield FoundPlace("Ollama", folder, tuple(ollama_models(folder)))


def _jan_roots() -> list[Path]:
    data = user_data_path(roaming=True)
    roots = [expanded(os.environ["JAN_DATA_FOLDER"])] if os.environ.get("JAN_DATA_FOLDER") else []
    for place in (data / "Jan", data / "jan.ai.app", _config_folder() / "Jan"):
        named = small_json(place / "settings.json").get("data_folder")
        roots += [expanded(named)] if isinstance(named, str) and named else []
    return _there([*roots, data / "Jan" / "data", _config_folder() / "Jan" / "data", Path.home() / "jan"])


def _jan() -> Iterator[FoundPlace]:
    for root in _jan_roots():
        folder, earlier = root / "llamacpp" / "models", root / "models"
        models = tuple(_jan_models(root, folder))
        yield FoundPlace("Jan", folder, models)
        known = {os.path.realpath(each.path) for each in models if each.path is not None}
        others = (each for each in _by_file(earlier) if each.path and os.path.realpath(each.path) not in known)
        yield FoundPlace("Jan", earlier, tuple(others))  # Where versions before 0.6 kept them.


def _jan_models(root: Path, folder: Path) -> Iterator[NamedModel]:
    """Return the models that `model.yml` files describe: `model_path` is relative to the data folder."""
    for index, note in enumerate(sorted(folder.rglob("model.yml"))):
        if index >= _MOST_ENTRIES:
            return
        entries = _scalars(small_text(note))
        name = entries.get("name") or note.parent.relative_to(folder).as_posix()
        where = entries.get("model_path")
        if not where:
            yield NamedModel(name, None, Translatable("Its model.yml cannot be read. Import it again in Jan."))
            continue
        path = root / where
        if not path.is_file():
            yield NamedModel(name, None, Translatable("Its file {file} is missing. Get it again in Jan.", file=where))
        else:
            yield NamedModel(name, path)


def _text_gen() -> Iterator[FoundPlace]:
    for root in _unpacked(r"(text-generation-webui|textgen|oobabooga)"):
        inner = [root, root / "text-generation-webui"]
        folders = [each / below for each in inner for below in ("user_data/models", "models")]
        for folder in _there(folders):
            yield FoundPlace("TextGen", folder, tuple(_by_file(folder)))


def _kobold() -> Iterator[FoundPlace]:
    """Return the models that KoboldCpp's settings name, and those beside the program."""
    seen: set[str] = set()
    for root in [*_unpacked("koboldcpp"), *_there([Path.home() / below for below in _AROUND])]:
        named = list(_kobold_settings(root, seen))
        if re.match("koboldcpp", root.name, re.IGNORECASE):
            by_file = [replace(each, name=f"koboldcpp/{each.path.stem}") for each in _by_file(root) if each.path]
            named += [each for each in by_file if each.path is not None and os.path.realpath(each.path) not in seen]
            seen |= {os.path.realpath(each.path) for each in by_file if each.path is not None}
        yield FoundPlace("KoboldCpp", root, tuple(named))


def _kobold_settings(root: Path, seen: set[str]) -> Iterator[NamedModel]:
    for note in sorted(root.glob("*.kcpps"))[:_MOST_ENTRIES]:
        settings = small_json(note)
        where = settings.get("model_param") or settings.get("model")
        where = where[0] if isinstance(where, list) and where else where
        if not settings:
            yield NamedModel(note.stem, None, Translatable("Its settings {file} cannot be read.", file=note.name))
        elif isinstance(where, str) and where and "://" not in where:
            path = root / expanded(where)
            name = f"koboldcpp/{path.stem}"
            if not path.is_file():
                yield NamedModel(
                    name, None, Translatable("{file} names it, but there is no such file.", file=note.name)
                )
            elif os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield NamedModel(name, path)


def _llama_cpp() -> Iterator[FoundPlace]:
    named = os.environ.get("LLAMA_CACHE")
    for folder in _there([expanded(named) if named else user_cache_path() / "llama.cpp"]):
        yield FoundPlace("llama.cpp", folder, tuple(_llama_cpp_models(folder)))


def _llama_cpp_models(folder: Path) -> Iterator[NamedModel]:
    """List the downloads of `-hf`: manifests name files, whose names begin with owner and repository."""
    seen = set()
    for note in sorted(folder.glob("manifest=*.json"))[:_MOST_ENTRIES]:
        parts = note.stem.split("=")
        if len(parts) != 4:
            continue
        owner, repository, tag = parts[1:]
        name = f"{owner}/{repository}:{tag}"
        file = small_json(note).get("ggufFile")
        name_in_file = file.get("rfilename") if isinstance(file, dict) else None
        if not isinstance(name_in_file, str) or not name_in_file:
            yield NamedModel(
                name,
                None,
                Translatable("Its manifest cannot be read. Get it again: llama-server -hf {name}", name=name),
            )
            continue
        path = folder / f"{owner}_{repository}_{name_in_file.replace('/', '_')}"
        seen.add(path.name)
        if path.name != Path(path.name).name or not path.is_file():
            yield NamedModel(
                name, None, Translatable("Its file is missing. Get it again: llama-server -hf {name}", name=name)
            )
        else:
            yield NamedModel(name, path)
    yield from (each for each in _by_file(folder) if each.path is not None and each.path.name not in seen)


def _hugging_face() -> Iterator[FoundPlace]:
    for folder in _there([hub_cache()]):
        yield FoundPlace("Hugging Face", folder, tuple(_hub_models(folder)))


def _hub_models(folder: Path) -> Iterator[NamedModel]:
    for place in sorted(folder.glob("models--*"))[:_MOST_ENTRIES]:
        name = place.name.removeprefix("models--").replace("--", "/")
        inside = [Path(each.path) for each in _walked(place / "snapshots")]
        # One revision may be there twice; the same file in both is one file.
        files = {os.path.realpath(each): each for each in inside}
        for path in files.values():
            alone = len(files) == 1 or path.is_dir()
            yield NamedModel(name if alone else f"{name}/{path.relative_to(_revision(path, place)).as_posix()}", path)
        if not files and place.is_dir() and _is_of_a_model(place):
            yield NamedModel(
                name, None, Translatable("It is only partly downloaded. Get it again: hf download {name}", name=name)
            )


def _revision(path: Path, place: Path) -> Path:
    return place / "snapshots" / path.relative_to(place / "snapshots").parts[0]


def _is_of_a_model(place: Path) -> bool:
    """Return True if a download of weights was begun: many repositories are there for their tokenizers alone."""
    if any(place.glob("blobs/*.incomplete")):
        return True
    links = (each for each in (place / "snapshots").rglob("*") if each.is_symlink() and not each.exists())
    return any(each.suffix in (".gguf", ".safetensors") for each in links)


# What they share ----------------------------------------------------------------------------------------------------


def _by_file(folder: Path) -> Iterator[NamedModel]:
    """Return models called as their files are, with the folders around them."""
    for each in _walked(folder):
        path = Path(each.path)
        yield NamedModel(path.relative_to(folder).as_posix(), path)


def _walked(folder: Path) -> list[Any]:
    try:
        return [each for each in find_models(folder) if each.kind != "folder"]
    except FolderUnreadable:
        return []


def _there(folders: list[Path]) -> list[Path]:
    """Return the folders that are there, each once."""
    found: dict[Path, Path] = {}
    for folder in folders:
        with suppress(OSError):
            if folder.is_dir():
                found.setdefault(folder.resolve(), folder)
    return list(found.values())


def _unpacked(pattern: str) -> list[Path]:
    """Return the folders of a program that is unpacked somewhere, by the beginning of their names."""
    found = []
    for below in _AROUND:
        with suppress(OSError):
            names = sorted(os.listdir(Path.home() / below))[: 20 * _MOST_FOLDERS]  # noqa: PTH208 - names are enough
            found += [Path.home() / below / name for name in names if re.match(pattern, name, re.IGNORECASE)]
    return _there(found)[:_MOST_FOLDERS]


def _scalars(text: str) -> dict[str, str]:
    """Return the plain values at the top of a YAML file, which is all that is needed of it."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(\w+):\s+(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^#\s][^#]*?)\s*(#.*)?", line)
        if match is not None:
            value = match[2]
            with suppress(ValueError):
                value = json.loads(value) if value.startswith('"') else value.strip("'")
            found[match[1]] = str(value)
    return found


def _config_folder() -> Path:
    return expanded(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
