"""Inspect the installation: check a frozen program's files, and list the installed libraries.

A frozen program checks its files against the manifest that was written when it was built.

Only a frozen program has a manifest. It lists every file below the program's folder: data with [size, SHA-256],
binaries with [size, null], or null where they are signed afterwards, which changes them.
"""

from __future__ import annotations

import importlib.util
import json
import stat
import sys
from collections.abc import Generator, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from engine.errors import InstallationDamaged
from engine.system.processor import library_folder
from engine.translatable import Translatable

MANIFEST = "manifest.json"
EXIT_DAMAGED = 3
_LATER = ("resources/models/", "licences/", "base_library.zip", "torch/", "transformers/")
"""Data that the window does not read, or not through us; all other is read before it is built."""
_SMALL = 2**22
_LIBRARIES = ("torch", "transformers", "safetensors", "tokenizers")
_GPU_LIBRARIES = ("cuda", "vulkan", "metal", "hip", "sycl", "opencl", "musa", "cann")
_PIECE = 2**20
_Expected = tuple[int, str | None] | None


def installation_folder() -> Path | None:
    """Return the folder of the frozen program's files; None if it runs from source or as an installed package."""
    folder = getattr(sys, "_MEIPASS", None)
    return Path(folder) if folder and getattr(sys, "frozen", False) else None


def check_installation() -> None:
    """Check all files of a frozen program; nothing to do for any other. Raises InstallationDamaged."""
    folder = installation_folder()
    if folder is None:
        return
    installation = Installation(folder)
    installation.check_files()
    for _ in installation.check_contents():
        pass


class Installation:
    """Check the files of a frozen program. Attributes: folder, flavour (standard or full), commit.

    Making one reads the manifest; a manifest that is missing or makes no sense raises InstallationDamaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
            self.flavour, self.commit = str(manifest["flavour"]), str(manifest["commit"])
            self._files = _entries(manifest["files"])
        except FileNotFoundError:
            raise InstallationDamaged(missing=[MANIFEST]) from None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InstallationDamaged(changed=[MANIFEST]) from None

    def check_files(self) -> None:
        """Check the quick facts before the program begins: all files, their sizes, and those that the window reads.

        Raises InstallationDamaged, which names all that is wrong.
        """
        missing, changed = [], []
        for name, expected in self._files.items():
            try:
                size = _size(self.folder / name)
            except OSError:
                missing.append(name)
                continue
            wrong = size == 0 if expected is None else size != expected[0]
            if wrong or (_is_first(name, expected) and not self._is_sound(name)):
                changed.append(name)
        if missing or changed:
            raise InstallationDamaged(missing, changed)

    def check_contents(self) -> Iterator[None]:
        """Check the contents of all other data, in steps of a few milliseconds.

        Raises InstallationDamaged at the end.
        """
        changed = []
        for name, expected in self._files.items():
            if expected is None or expected[1] is None or _is_first(name, expected):
                continue
            sound = yield from self._steps(name)
            if not sound:
                changed.append(name)
        if changed:
            raise InstallationDamaged(changed=changed)

    def _is_sound(self, name: str) -> bool:
        steps = self._steps(name)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return bool(end.value)

    def _steps(self, name: str) -> Generator[None, None, bool]:
        """Hash one file, piece by piece; the generator's value is True if it matches the manifest."""
        from hashlib import sha256  # noqa: PLC0415 - only a frozen program needs it

        digest = sha256()
        try:
            with (self.folder / name).open("rb") as file:
                while piece := file.read(_PIECE):
                    digest.update(piece)
                    yield
        except OSError:
            return False
        expected = self._files[name]
        return expected is None or digest.hexdigest() == expected[1]


def _size(path: Path) -> int:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(path)
    return status.st_size


def _is_first(name: str, expected: _Expected) -> bool:
    """Return True if it is data that the window may need at once, and quick to read."""
    if expected is None or expected[1] is None:
        return False
    return expected[0] <= _SMALL and not name.startswith(_LATER)


def _entries(files: Mapping[str, Any]) -> dict[str, _Expected]:
    entries: dict[str, _Expected] = {}
    for name, said in files.items():
        if said is None:
            entries[name] = None
        else:
            size, digest = said
            entries[name] = int(size), None if digest is None else str(digest).lower()
    if not entries:
        raise ValueError("a manifest of nothing")
    return entries


# Libraries, asked for without importing any ---------------------------------------------------------------------------


def extra_advice() -> str:
    """Explain the missing part and its remedy: nothing can be added to a frozen program."""
    if installation_folder() is not None:
        return Translatable(
            "This build of Outrider does not include PyTorch and transformers. Install the full flavour of Outrider."
        )
    return Translatable('PyTorch and transformers are not installed. Install them with: pip install "outrider[torch]"')


def extra_installed() -> bool:
    """Return True if the libraries of the extra `torch` are there."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)
    except (ImportError, ValueError):
        return False


@cache
def gpu_library_installed() -> bool:
    """Return True if the installed llama.cpp comes with code for graphics cards."""
    folder = library_folder()
    found = [] if folder is None else [path.name.lower() for path in folder.glob("*ggml-*")]
    return any(name in file for name in _GPU_LIBRARIES for file in found)
