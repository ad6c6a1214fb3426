"""Models that are split into several GGUF files, by the rule for their names."""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import ModelFileBroken
from engine.translatable import Phrase

PART_NAME = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf", re.IGNORECASE | re.DOTALL)


def split_parts(path: Path) -> list[Path]:
    """Return all files of a split model, the first one first; of any other model only itself.

    Raises ModelFileBroken where `path` is not the first part.
    """
    match = PART_NAME.fullmatch(path.name)
    if match is None:
        return [path]
    part, parts = int(match["part"]), int(match["parts"])
    stem, suffix = match["stem"], path.name[-5:]
    if part != 1 or parts == 0:
        first = path.with_name(f"{stem}-00001-of-{parts:05}{suffix}")
        if part == 1 or first.is_file():
            reason = Phrase("it is part {part} of {parts}. Choose the first part.", part=part, parts=parts)
        else:
            reason = Phrase("it is part {part} of {parts}, and the first part is missing.", part=part, parts=parts)
        raise ModelFileBroken(path, reason)
    return [path.with_name(f"{stem}-{n:05}-of-{parts:05}{suffix}") for n in range(1, parts + 1)]
