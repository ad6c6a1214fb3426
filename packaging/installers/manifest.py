"""The list of what belongs to a frozen program, with which it finds out at the start whether something is damaged."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NAME = "manifest.json"


def make_manifest(
    datas: Iterable[tuple[str, Path]], binaries: Iterable[str], *, version: str, flavour: str, commit: str
) -> dict[str, Any]:
    """What NAME holds: `files` maps a path to [size, SHA-256], or to None for programs and libraries.

    `datas`: pairs of a path in the program's folder and the file that goes there; `binaries`: such paths.
    Signing changes programs and libraries after this was written, so only their being there is recorded.
    """
    files: dict[str, Any] = {_slashes(path): None for path in binaries}
    for path, source in datas:
        content = source.read_bytes()
        files[_slashes(path)] = [len(content), hashlib.sha256(content).hexdigest()]
    return {"version": version, "flavour": flavour, "commit": commit, "files": dict(sorted(files.items()))}


def _slashes(path: str) -> str:
    return path.replace("\\", "/")
