"""Manage the disk: sizes of models, those not used for long, and the files of a deleted one."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from engine.cancel import CancelToken
from engine.errors import EngineError, FolderUnreadable, InvalidRequest
from engine.formats.gguf.parts import split_parts
from engine.formats.model_file import ModelFile
from engine.library.heads import judge_heads
from engine.library.known import aliases, known_folders
from engine.library.names import bundled_pair, hub_cache, resolve_source
from engine.library.ollama import FOLDERS
from engine.library.pairs import judge_models
from engine.library.scan import scan_folder
from engine.system.cache_files import cache_folder, read_json, write_json

_MOST_ENTRIES = 1000


@dataclass(frozen=True, slots=True)
class StoredModel:
    """Describe a model on disk.

    `files`: all of it; `used`: when it was loaded last, None if never recorded; `needed_by`: what depends on
    it, in words; `kept_by`: the program whose it is, "" for none: then that program deletes it.
    """

    model: ModelFile
    files: tuple[Path, ...]
    size: int
    used: datetime | None = None
    needed_by: tuple[str, ...] = ()
    kept_by: str = ""


def note_used(paths: Iterable[Path]) -> None:
    """Record that models are used now. Errors are ignored."""
    now = int(datetime.now(UTC).timestamp())
    entries = {str(path.absolute()): now for path in paths}
    before = {path: when for path, when in read_json(_place()).items() if path not in entries}
    kept = [*before.items(), *entries.items()][-_MOST_ENTRIES:]
    with suppress(OSError):
        write_json(_place(), dict(kept))


def stored_models(folders: Sequence[Path] | None = None, *, cancel: CancelToken | None = None) -> list[StoredModel]:
    """Return the models of the known folders, or of these, the largest first. Raises Cancelled."""
    found: dict[Path, ModelFile] = {}
    for folder in known_folders() if folders is None else folders:
        with suppress(FolderUnreadable, OSError):
            found |= {model.path: model for model in scan_folder(folder, cancel=cancel) if model.role != "folder"}
    models = list(found.values())
    used, meant, best = read_json(_place()), _meant(), judge_models(models).best
    listed = []
    for model in models:
        files = _files(model)
        when = used.get(str(model.path.absolute()))
        needed = [f"{name} (alias)" for name, path in meant.items() if path == model.path]
        needed += [pair.target.path.name for pair in best.values() if pair.draft.path == model.path]
        if model.head is not None and model.role == "draft-head":
            needed += [each.path.name for each in models if any(
                fit.fits and fit.source.path == model.path for fit in judge_heads(each, [model]))]  # fmt: skip
        listed.append(
            StoredModel(
                model,
                files,
                sum(_size(file) for file in files),
                datetime.fromtimestamp(when, UTC) if isinstance(when, int) and 0 < when < 2**40 else None,
                tuple(dict.fromkeys(needed)),
                _keeper(model.path),
            )
        )
    return sorted(listed, key=lambda each: each.size, reverse=True)


def delete_model(stored: StoredModel) -> None:
    """Move all files of a model to the system's bin. Raises InvalidRequest, EngineError."""
    if stored.kept_by:
        raise InvalidRequest(
            "{name} is kept by {program}. Delete it there.", name=stored.model.name, program=stored.kept_by
        )
    if stored.model.path in bundled_pair():
        raise InvalidRequest("{name} is a part of Outrider.", name=stored.model.name)
    to_bin = importlib.import_module("send2trash").send2trash  # It brings what a desktop has, for one call.
    for file in stored.files:
        try:
            to_bin(file)
        except Exception as error:  # noqa: BLE001 - each system's bin fails in its own ways
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise EngineError(
                "{file} cannot be moved to the bin: {reason}.", file=file, reason=str(reason).rstrip(".")
            ) from None
    with suppress(OSError):
        stored.files[0].parent.rmdir()  # Only an empty one goes.


def _meant() -> dict[str, Path]:
    """Return the models that aliases mean and that are here."""
    found = {}
    for name, meant in aliases().items():
        with suppress(EngineError, OSError):
            found[name] = resolve_source(meant)
    return found


def _files(model: ModelFile) -> tuple[Path, ...]:
    """Return the files of a model; a folder of safetensors is one."""
    if model.file_format != "gguf":
        return (model.path,)
    with suppress(EngineError, OSError):
        return tuple(split_parts(model.path))
    return (model.path,)


def _size(path: Path) -> int:
    with suppress(OSError):
        if path.is_dir():
            return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        return path.stat().st_size
    return 0


def _keeper(path: Path) -> str:
    """Return the program that stores a model: its records would be wrong without the file."""
    if path.is_relative_to(hub_cache()):
        return "Hugging Face"
    if path.parent.name == "blobs" and all((path.parent.parent / name).is_dir() for name in FOLDERS):
        return "Ollama"
    return ""


def _place() -> Path:
    return cache_folder() / "used.json"
