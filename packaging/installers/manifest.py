"""The list of what belongs to a frozen program, with which it finds out at the start whether something is damaged."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NAME = "manifest.json"
_REPLACEABLE = ("PySide6/", "shiboken6/", "libQt6", "libpyside6", "libshiboken6", "libicu")


def make_manifest(
    datas: Iterable[tuple[str, Path]],
    binaries: Iterable[tuple[str, Path]],
    *,
    version: str,
    flavour: str,
    commit: str,
    signed: bool = False,
) -> dict[str, Any]:
    """Compose NAME: `files` maps a path to [size, SHA-256] for data, and [size, None] or None for libraries.

    `datas`, `binaries`: pairs of a path in the program's folder and the file that goes there. `signed`: whether they
    are signed afterwards, which changes them; then only their being there counts. So it does for libraries under the
    LGPL: whoever has the program may put others in their place.
    """
    files: dict[str, Any] = {}
    for path, source in binaries:
        place = _slashes(path)
        files[place] = None if signed or place.startswith(_REPLACEABLE) else [source.stat().st_size, None]
    for path, source in datas:
        content = source.read_bytes()
        files[_slashes(path)] = [len(content), hashlib.sha256(content).hexdigest()]
    return {"version": version, "flavour": flavour, "commit": commit, "files": dict(sorted(files.items()))}


def _slashes(path: str) -> str:
    return path.replace("\\", "/")
