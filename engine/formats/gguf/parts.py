"""Models that are split into several GGUF files: the rule for their names, and whether the parts belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ModelFileBroken
from engine.formats.gguf.header import GgufFile
from engine.translatable import Phrase

if TYPE_CHECKING:
    # At run time it would bring NumPy, which a search for files does without.
    from engine.formats.gguf.header import GgufFile

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


def check_parts(header: GgufFile, others: Sequence[GgufFile], tensors: int) -> None:
    """Check what the parts of a split model say of each other against the names by which they were found.

    `tensors`: how many all parts hold together. Raises ModelFileBroken.
    """
    parts = header.number("split.count") or 1
    number = header.number("split.no") or 0
    if parts <= 1:
        return
    if number or parts != len(others) + 1:
        raise ModelFileBroken(
            header.path,
            Phrase(
                "it is part {part} of {parts}, but its name does not say so, so the other parts cannot be found. "
                "Give all parts their original names.",
                part=number + 1,
                parts=parts,
            ),
        )
    numbers = [part.number("split.no") for part in others]
    expected = header.number("split.tensors.count")
    strange = any(told is not None and told != place for place, told in enumerate(numbers, 1))
    if strange or (expected is not None and expected != tensors):
        raise ModelFileBroken(
            header.path, Phrase("its parts do not belong together. Download or copy all of them again.")
        )
