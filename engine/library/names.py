"""Find the file or folder to load for a person's name of a model: a path, `demo`, a name in a known folder or a cache.

Nothing is ever downloaded. Source of the cache's layout: huggingface_hub's documentation, "Understand caching":
`models--owner--model/refs/main` names a revision, `snapshots/REVISION` has its files, mostly links into `blobs`.
"""

from __future__ import annotations

import importlib.resources
import json
import os
import re
from pathlib import Path
from typing import Literal, cast

from engine.errors import LoadFailed, ModelFileBroken
from engine.formats.gguf.parts import part_name, title_stem
from engine.system.files import expanded
from engine.translatable import Translatable

_BUNDLED = ("demo-target.Q8_0.gguf", "demo-draft.Q8_0.gguf")
QUANTISATIONS = (
    *("Q4_K_M", "Q8_0", "Q5_K_M", "Q6_K", "Q4_K_S", "Q5_K_S", "Q4_0", "IQ4_XS", "IQ4_NL", "Q4_1", "Q5_0", "Q5_1"),
    *("Q3_K_L", "Q3_K_M", "IQ3_M", "Q3_K_S", "MXFP4", "Q2_K", "BF16", "F16", "FP16", "F32", "FP32"),
)
"""Which of several GGUF files is meant where nobody says: the first of these that is there."""

_NAME = re.compile(
    r"(?P<repository>(?:(?P<owner>[\w][\w.-]*)/)?[\w][\w.-]*)(?::(?P<quantisation>[\w.-]+)|/(?P<file>.+\.gguf))?",
    re.IGNORECASE,
)
_NO_TARGETS = re.compile(r"mmproj|imatrix|ggml-vocab", re.IGNORECASE)
_DEMO = {"demo-target": 0, "demo-draft": 1}
_DEMO_HEADS = {"demo-head": "demo-head.Q8_0.gguf", "demo-medusa": "demo-medusa", "demo-mtp": "demo-mtp.Q8_0.gguf"}
_INDEX = "model.safetensors.index.json"
_MAX_INDEX = 64 * 2**20
_MAX_FILES = 10_000


def resolve_source(name: str | Path, part: Literal["target", "draft"] = "target") -> Path:
    """Return the file or folder that a name means.

    A path (`~` is the home folder); `demo` (the bundled model of that part), `demo-target`, `demo-draft`; `demo-head`,
    `demo-medusa` (draft heads for the bundled target), `demo-mtp` (a sibling of it with an MTP layer); an
    alias; the name of a model in a known folder, or an unambiguous part of it; or the name of one that was downloaded
    or is in the Hugging Face cache: `owner/model`, `owner/model:Q8_0`, `owner/model/file.gguf`, with or without `hf:`
    before it. What exists as a path is meant as a path. Of a folder with nothing but GGUF files it is the best known
    quantisation. Raises ModelFileBroken, which says where it was looked for and what to do; LoadFailed.
    """
    text = os.fspath(name)
    if text == "demo" or text in _DEMO:
        return bundled_pair()[_DEMO.get(text, 0 if part == "target" else 1)]
    if text in _DEMO_HEADS:
        return _bundled("heads", _DEMO_HEADS[text])
    path = expanded(text)
    if path.is_dir():
        return _in_local_folder(path)
    if path.exists() or path.is_symlink():
        return path
    return _by_name(path, text)


def _by_name(path: Path, text: str) -> Path:
    """Return the model of a name: an alias, a name in a known folder, a repository. Raises ModelFileBroken."""
    known = importlib.import_module("engine.library.known")  # It walks through folders, which a path needs not.
    meant = known.meant_by(text)
    if meant != text and meant not in known.aliases():
        return resolve_source(meant)
    match = _NAME.fullmatch(text.removeprefix("hf:"))
    if match is not None and match["owner"] is not None:
        downloaded = known.download_folder() / match["repository"]
        if downloaded.is_dir() and match["file"] is None:
            return _in_local_folder(downloaded, match["quantisation"])
    elif (found := known.called(text)) is not None:
        return cast("Path", found)
    if match is None:
        raise ModelFileBroken(path, Translatable("there is no such file."))
    return _in_cache(path, match)


def bundled_pair() -> tuple[Path, Path]:
    """Return the files of the demo pair that ships with the program: target, draft. Raises LoadFailed without them."""
    return _bundled("models", _BUNDLED[0]), _bundled("models", _BUNDLED[1])


def _bundled(folder: str, name: str) -> Path:
    path = Path(str(importlib.resources.files("resources").joinpath(folder))) / name
    if not path.exists():
        raise LoadFailed(path, Translatable("it is part of Outrider, but it is missing. Reinstall Outrider."))
    return path


def hub_cache() -> Path:
    """Return the folder of the Hugging Face cache, as its own library finds it."""
    for variable, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if os.environ.get(variable):
            return expanded(os.path.expandvars(os.environ[variable])) / below
    return expanded(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface" / "hub"


# In the cache -------------------------------------------------------------------------------------------------------


def _in_cache(path: Path, match: re.Match[str]) -> Path:
    """Return the model of a name in the cache. Raises ModelFileBroken."""
    repository = match["repository"]
    cache = hub_cache()
    place = _repository_folder(cache, repository)
    if place is None:
        if match["owner"] is None and match["quantisation"] is None:
            raise ModelFileBroken(path, Translatable("there is no such file."))
        raise ModelFileBroken(
            path,
            "there is no such file, and no {repository} in the Hugging Face cache ({cache}). "
            "Download it first: hf download {repository}",
            repository=repository,
            cache=cache,
        )
    return _in_repository(path, place, repository, match["quantisation"], match["file"])


def _in_repository(path: Path, place: Path, repository: str, quantisation: str | None, file: str | None) -> Path:
    snapshot = _snapshot(place)
    if snapshot is None:
        raise _incomplete(path, repository, Translatable("has no files"))
    if file is not None:
        return _whole(_named_file(path, snapshot, repository, file), path, repository)
    if quantisation is None and (found := _safetensors(snapshot, path, repository)) is not None:
        return found
    files = _gguf_files(snapshot)
    if not files:
        unfinished = any(place.glob("blobs/*.incomplete"))
        raise _incomplete(
            path,
            repository,
            Translatable("is only partly downloaded") if unfinished else Translatable("has no weights"),
        )
    return _whole(chosen_quantisation(path, files, quantisation), path, repository)


def _repository_folder(cache: Path, repository: str) -> Path | None:
    """Return the folder of a model in the cache. Capitals and small letters in its name are the same, as on the hub."""
    name = "models--" + repository.replace("/", "--")
    if (cache / name).is_dir():
        return cache / name
    try:
        names = sorted(entry.name for entry in os.scandir(cache) if entry.is_dir())
    except OSError:
        return None
    return next((cache / found for found in names if found.casefold() == name.casefold()), None)


def _snapshot(place: Path) -> Path | None:
    """Return the files of the main revision, or else of the one that was downloaded last."""
    try:
        with (place / "refs" / "main").open(encoding="ascii") as file:
            revision = file.read(200).strip()
    except (OSError, ValueError):
        revision = ""
    if revision and Path(revision).name == revision and (place / "snapshots" / revision).is_dir():
        return place / "snapshots" / revision
    try:
        found = [entry for entry in (place / "snapshots").iterdir() if entry.is_dir()]
        return max(found, key=lambda entry: entry.stat().st_mtime_ns, default=None)
    except OSError:
        return None


def _incomplete(path: Path, repository: str, what: str) -> ModelFileBroken:
    return ModelFileBroken(
        path,
        "{repository} in the Hugging Face cache {what}. Download it again: hf download {repository}",
        repository=repository,
        what=what,
    )


def _safetensors(folder: Path, path: Path, repository: str) -> Path | None:
    """Return the folder if it is a safetensors model; None if it has nothing of one. Raises ModelFileBroken."""
    names = {entry.name for entry in folder.iterdir()}
    if "config.json" not in names or not (_INDEX in names or any(name.endswith(".safetensors") for name in names)):
        return None
    needed = {"config.json"} | {name for name in names if name.endswith(".safetensors")} | _parts_in_index(folder)
    missing = next((name for name in sorted(needed) if not (folder / name).is_file()), None)
    if missing is not None:
        raise _incomplete(path, repository, Translatable("lacks {missing}", missing=missing))
    return folder


def _parts_in_index(folder: Path) -> set[str]:
    """Return the files that an index names; none if it cannot be read, which the loader will say."""
    index = folder / _INDEX
    try:
        if not index.is_file() or index.stat().st_size > _MAX_INDEX:
            return set()
        names = json.loads(index.read_bytes())["weight_map"].values()
        return {name for name in names if isinstance(name, str) and Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()


# GGUF files in a folder ---------------------------------------------------------------------------------------------


def _in_local_folder(folder: Path, quantisation: str | None = None) -> Path:
    """Return a folder that is meant as a model: itself, a snapshot in it, or the GGUF file in it that is meant."""
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise ModelFileBroken(
            folder, "this folder cannot be read ({reason}).", reason=error.strerror or error
        ) from None
    if {"snapshots", "refs"} <= names and folder.name.startswith("models--"):
        return _in_repository(folder, folder, folder.name[8:].replace("--", "/"), None, None)
    if "config.json" in names and any(name.endswith((".safetensors", _INDEX)) for name in names):
        return folder
    files = [file for file in _gguf_files(folder) if file.parent == folder]
    if quantisation is None and len({without_quantisation(file) for file in files}) > 1:
        there = ", ".join(file.name for file in files[:10])
        raise ModelFileBroken(
            folder, "this folder contains several models. Choose one of its files: {there}.", there=there
        )
    return chosen_quantisation(folder, files, quantisation) if files else folder


def _gguf_files(folder: Path) -> list[Path]:
    """Return the models among the GGUF files below a folder, the first file of each."""
    found = []
    for index, path in enumerate(folder.rglob("*")):
        if index >= _MAX_FILES:
            break
        if path.suffix.lower() == ".gguf" and not _NO_TARGETS.search(path.name):
            name = part_name(path.name)
            if name is None or name.part == 1:
                found.append(path)
    return sorted(found)


def chosen_quantisation(path: Path, files: list[Path], quantisation: str | None) -> Path:
    """Return the file of a quantisation, or of the best known one. Raises ModelFileBroken."""
    if quantisation is None:
        for name in QUANTISATIONS:
            found = next((file for file in files if _has_quantisation(file, name)), None)
            if found is not None:
                return found
        return files[0]
    found = next((file for file in files if _has_quantisation(file, quantisation)), None)
    if found is None:
        there = ", ".join(file.name for file in files[:20])
        raise ModelFileBroken(
            path, "it has no {quantisation} file. Available: {there}.", quantisation=quantisation, there=there
        )
    return found


def _has_quantisation(file: Path, name: str) -> bool:
    """Return True if a file's name, or that of the folder around it, ends with the name of a quantisation."""
    ending = re.compile(rf"(^|[-._]){re.escape(name)}$", re.IGNORECASE)
    return any(ending.search(text) is not None for text in (title_stem(file), file.parent.name))


def no_target(name: str) -> bool:
    """Return True if a GGUF file is nothing that writes text, by its name."""
    return _NO_TARGETS.search(name) is not None


def without_quantisation(file: Path) -> str:
    """Return the common part of the names of a model's quantisations."""
    stem = title_stem(file)
    name = next((name for name in QUANTISATIONS if _has_quantisation(file, name)), "")
    return stem.casefold().removesuffix(name.casefold()).rstrip("-._")


def _named_file(path: Path, snapshot: Path, repository: str, file: str) -> Path:
    wanted = snapshot / file
    if ".." in wanted.parts:
        raise ModelFileBroken(path, Translatable("a file of a model cannot lie outside its folder."))
    if not wanted.is_symlink() and not wanted.exists():
        raise ModelFileBroken(
            path,
            "{repository} in the Hugging Face cache has no {file}. Download it: hf download {repository} {file}",
            repository=repository,
            file=file,
        )
    return wanted


def _whole(file: Path, path: Path, repository: str) -> Path:
    """Return the file, all parts of which are there. Raises ModelFileBroken."""
    name = part_name(file.name)
    parts = [file] if name is None else [file.with_name(name.of(number)) for number in range(1, name.parts + 1)]
    missing = next((part for part in parts if not part.is_file()), None)
    if missing is not None:
        raise _incomplete(path, repository, Translatable("lacks {name}", name=missing.name))
    return file
