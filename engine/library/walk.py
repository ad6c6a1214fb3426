"""Walk through a models folder: which files and folders look like models. Only names and sizes are read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.cancel import CancelToken
from engine.errors import FolderUnreadable
from engine.formats.gguf.parts import PartName, part_name
from engine.library.ollama import FOLDERS, ollama_models
from engine.system.files import expanded
from engine.translatable import Translatable

MAX_DEPTH = 12
MAX_ENTRIES = 200_000

_CONFIGS = frozenset({"config.json", "adapter_config.json"})
_BESIDE = _CONFIGS | {
    *("generation_config.json", "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json"),
    *("chat_template.jinja", "chat_template.json", "model.safetensors.index.json", "adapter_model.bin"),
}
"""Files of a safetensors folder that describe the model."""
_OWN_NAMES = frozenset({"model.safetensors", "model.safetensors.index.json"})
_PICKLED = re.compile(
    r"(pytorch_model|model|consolidated|adapter_model|medusa_lm_head|hydra_lm_head).*\.(bin|pt|pth|ckpt)", re.DOTALL
)

Stamp = tuple[int, int, int, int]
"""Size, times of the last change of content and of anything (nanoseconds), number in the file system."""
Stamps = tuple[tuple[str, Stamp | None], ...]


@dataclass(frozen=True, slots=True)
class FoundModel:
    """Hold a model candidate. `stamps`: its files, by name, as they are now; None for one that is unreadable.

    `kind`: a GGUF file (the first of a split one), a folder with weights for transformers, or a folder that could not
    be searched, with the reason in `problem`. `title`: what the program that keeps it calls it, if not as its file.
    """

    path: str
    kind: Literal["gguf", "safetensors", "folder"]
    stamps: Stamps = ()
    problem: str = ""
    title: str = ""


def find_models(folder: str | Path, *, cancel: CancelToken | None = None) -> list[FoundModel]:
    """Find model candidates in a folder and its subfolders; links are followed, each file is listed once.

    Hidden folders are left out, but for those in which other programs keep models. Raises FolderUnreadable, Cancelled.
    """
    root = expanded(folder)
    _check_folder(root)
    walk = _Walk(cancel)
    found = list(walk.folder(os.fspath(root), 0))
    if walk.full:
        problem = Translatable("This folder has more than {count:,} files. The rest are not listed.", count=MAX_ENTRIES)
        found.append(FoundModel(os.fspath(root), "folder", problem=problem))
    return found


def is_as_found(found: FoundModel) -> bool:
    """Return True if the files are still there, and as they were when they were found."""
    folder = Path(found.path) if found.kind == "safetensors" else Path(found.path).parent
    return all(_stamp_of(folder / name) == stamp for name, stamp in found.stamps)


def found_file(path: Path, parts: Iterable[Path]) -> FoundModel:
    """Return a GGUF model, of these files, with their present stamps."""
    return FoundModel(os.fspath(path), "gguf", tuple((part.name, _stamp_of(part)) for part in parts))


def _check_folder(root: Path) -> None:
    try:
        mode = root.stat().st_mode
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        raise FolderUnreadable(root, Translatable("there is no such folder") if missing else reason) from None
    if not stat.S_ISDIR(mode):
        raise FolderUnreadable(root, Translatable("it is not a folder"))
    try:
        with os.scandir(root):
            pass
    except PermissionError:
        raise FolderUnreadable(root, Translatable("Outrider has no permission to read it")) from None
    except OSError as error:
        raise FolderUnreadable(root, error.strerror or str(error)) from None


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _stamp_of(path: Path) -> Stamp | None:
    try:
        return _stamp(path.stat())
    except OSError:
        return None


_PROGRAMS = frozenset({".ollama", ".lmstudio"})
"""Hidden folders in which other programs keep models: in a copy of a home folder too."""
_NAMELESS = Translatable(
    "It was copied out of the Hugging Face cache without its names (the folder snapshots). Copy that too, its links as "
    "files, or get it again."
)


class _Walk:
    """Walk once; remember each place, so that links in a circle end. `full`: True if the walk had to stop early."""

    def __init__(self, cancel: CancelToken | None) -> None:
        self.full = False
        self._cancel = cancel
        self._entries = 0
        self._seen: set[tuple[int, int]] = set()

    def folder(self, folder: str, depth: int) -> Iterator[FoundModel]:
        """Yield the model candidates below `folder`."""
        try:
            if not self._first_visit(Path(folder).stat()):
                return
            with os.scandir(folder) as listing:
                entries = sorted(self._visible(listing), key=lambda entry: entry.name)
        except OSError as error:
            yield FoundModel(
                folder,
                "folder",
                problem=Translatable("This folder cannot be read: {reason}.", reason=error.strerror or error),
            )
            return
        names = {entry.name for entry in entries}
        if names >= FOLDERS:
            yield from self._ollama(folder)
            return
        if Path(folder).name.startswith("models--") and "blobs" in names and "snapshots" not in names:
            yield FoundModel(folder, "folder", problem=_NAMELESS)
            return
        if _is_model_folder(names):
            yield FoundModel(folder, "safetensors", tuple(_companion_stamps(entries)))
        for entry in entries:
            yield from self._entry(entry, names, depth)

    def _ollama(self, folder: str) -> Iterator[FoundModel]:
        """Return the models that Ollama's manifests name: their files have no names of their own."""
        for model in ollama_models(Path(folder)):
            if model.path is None or model.problem:
                place = os.fspath(model.path or Path(folder, model.name))
                yield FoundModel(place, "folder", problem=model.problem, title=model.name)
            elif self._first_visit(model.path.stat()):
                stamps = ((model.path.name, _stamp_of(model.path)),)
                yield FoundModel(os.fspath(model.path), "gguf", stamps, title=model.name)

    def _entry(self, entry: os.DirEntry[str], names: set[str], depth: int) -> Iterator[FoundModel]:
        if _is_folder(entry):
            if depth < MAX_DEPTH:
                yield from self.folder(entry.path, depth + 1)
            else:
                yield FoundModel(
                    entry.path, "folder", problem=Translatable("This folder is nested too deeply to be searched.")
                )
        elif entry.name[-5:].lower() == ".gguf":
            yield from self._gguf(entry, names)

    def _gguf(self, entry: os.DirEntry[str], names: set[str]) -> Iterator[FoundModel]:
        """Yield a file, unless it is a later part of a split model or listed already under another name."""
        name = part_name(entry.name)
        if name is not None and name.part != 1:
            if name.of(1) in names:
                return
            name = None
        try:
            status = entry.stat()
        except OSError:
            yield FoundModel(entry.path, "gguf", ((entry.name, None),))
            return
        if self._first_visit(status):
            stamps: Stamps = ((entry.name, _stamp(status)),)
            if name is not None:
                stamps += tuple(_other_parts(entry.path[: -len(entry.name)], name))
            yield FoundModel(entry.path, "gguf", stamps)

    def _visible(self, listing: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        for entry in listing:
            if self._cancel is not None:
                self._cancel.check("The scan")
            self._entries += 1
            if self._entries > MAX_ENTRIES:
                self.full = True
                return
            if not entry.name.startswith(".") or entry.name in _PROGRAMS:
                yield entry

    def _first_visit(self, status: os.stat_result) -> bool:
        key = (status.st_dev, status.st_ino)
        if status.st_ino and key in self._seen:
            return False
        self._seen.add(key)
        return True


def _is_model_folder(names: set[str]) -> bool:
    """Return True if a folder has transformers' files of a model, or a part of them."""
    return bool(names & _OWN_NAMES) or (bool(names & _CONFIGS) and any(map(_is_weights, names)))


def _is_weights(name: str) -> bool:
    return name.endswith(".safetensors") or _PICKLED.fullmatch(name) is not None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _other_parts(folder: str, first: PartName) -> Iterator[tuple[str, Stamp | None]]:
    """Return the parts behind the first, up to the first that is missing: a name may claim thousands."""
    for part in range(2, first.parts + 1):
        name = first.of(part)
        stamp = _stamp_of(Path(folder, name))
        yield name, stamp
        if stamp is None:
            return


def _companion_stamps(entries: list[os.DirEntry[str]]) -> Iterator[tuple[str, Stamp | None]]:
    for entry in entries:
        if entry.name in _BESIDE or _is_weights(entry.name):
            try:
                yield entry.name, _stamp(entry.stat())
            except OSError:
                yield entry.name, None
