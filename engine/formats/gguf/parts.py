"""Tell of GGUF files what needs no reading of them whole: the parts of split models, and MTP layers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import ModelFileBroken
from engine.translatable import Translatable

if TYPE_CHECKING:
    # At run time it would bring NumPy, which a search for files does without.
    from engine.formats.gguf.header import GgufFile

MTP_KEY = "nextn_predict_layers"
_BEGINNING = 2**20
"""The bytes of a file that are searched: the entries stand before the vocabulary."""
_NAME = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})(?P<suffix>\.gguf)", re.IGNORECASE | re.DOTALL)


class PartName(NamedTuple):
    """Name one file of a split model: `stem`-0000`part`-of-0000`parts``suffix`. Parts count from 1."""

    stem: str
    part: int
    parts: int
    suffix: str

    def of(self, part: int) -> str:
        """Return the name of another part."""
        return f"{self.stem}-{part:05}-of-{self.parts:05}{self.suffix}"


def part_name(name: str) -> PartName | None:
    """Split the name of a file into its parts; None if it is not one of a split model."""
    match = _NAME.fullmatch(name)
    return None if match is None else PartName(match["stem"], int(match["part"]), int(match["parts"]), match["suffix"])


def title_stem(path: Path) -> str:
    """Return the name of a GGUF file without its suffix and without the number of its part."""
    name = part_name(path.name)
    return path.stem if name is None else name.stem


def first_part(path: Path) -> Path:
    """Return the first file of a split model if it exists; any other path as it is."""
    name = part_name(path.name)
    first = path if name is None else path.with_name(name.of(1))
    return first if first.exists() else path


def split_parts(path: Path) -> list[Path]:
    """Return all files of a split model, the first one first; of any other model only itself.

    Raises ModelFileBroken where `path` is not the first part.
    """
    name = part_name(path.name)
    if name is None:
        return [path]
    part, parts = name.part, name.parts
    if part != 1 or parts == 0:
        if part == 1 or path.with_name(name.of(1)).is_file():
            reason = Translatable("it is part {part} of {parts}. Choose the first part.", part=part, parts=parts)
        else:
            reason = Translatable(
                "it is part {part} of {parts}, and the first part is missing.", part=part, parts=parts
            )
        raise ModelFileBroken(path, reason)
    return [path.with_name(name.of(number)) for number in range(1, parts + 1)]


def tells_of_mtp(path: Path) -> bool:
    """Return True if the header of a file tells of MTP layers; False also where it cannot be read."""
    try:
        if not path.is_file():  # A pipe would never answer.
            return False
        with path.open("rb") as file:
            return f".{MTP_KEY}".encode() in file.read(_BEGINNING)
    except OSError:
        return False


def check_parts(header: GgufFile, others: Sequence[GgufFile], tensors: int) -> None:
    """Check that the parts of a split model agree with each other, and with the names by which they were found.

    `tensors`: how many all parts hold together. Raises ModelFileBroken.
    """
    parts = header.number("split.count") or 1
    number = header.number("split.no") or 0
    if parts <= 1:
        return
    if number or parts != len(others) + 1:
        raise ModelFileBroken(
            header.path,
            "it is part {part} of {parts}, but its name does not say so, so the other parts cannot be found. "
            "Give all parts their original names.",
            part=number + 1,
            parts=parts,
        )
    numbers = [part.number("split.no") for part in others]
    expected = header.number("split.tensors.count")
    strange = any(found is not None and found != place for place, found in enumerate(numbers, 1))
    if strange or (expected is not None and expected != tensors):
        raise ModelFileBroken(
            header.path, Translatable("its parts do not belong together. Download or copy all of them again.")
        )
