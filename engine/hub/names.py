"""Make paths of the names that servers give: inside their folder, and names that every system can hold."""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import DownloadFailed

_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_FORBIDDEN = frozenset('\\:*?"<>|')
_MOST_BYTES = 240
_MOST_PARTS = 12


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a file that a server names, with `/` between folders. Raises DownloadFailed.

    It lies below `folder` whatever the name is: nothing with `..`, nothing absolute, no hidden name, and nothing that
    another system would read as a device or a drive.
    """
    parts = name.split("/")
    if len(parts) > _MOST_PARTS or not all(map(_is_plain, parts)):
        shown = "".join(letter if letter.isprintable() else "?" for letter in name[:200])
        raise DownloadFailed(
            "The server names a file {name!r}, which is no name for a file here. It is left out.", name=shown
        )
    return folder.joinpath(*parts)


def _is_plain(part: str) -> bool:
    return (
        0 < len(part.encode("utf-8", "replace")) <= _MOST_BYTES
        and not part.startswith(".")
        and part == part.strip()
        and not part.endswith(".")
        and part.isprintable()
        and not _FORBIDDEN & set(part)
        and _RESERVED.fullmatch(part) is None
    )
