"""Sort the rows of a table by a column, as numbers where all of it are."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"\W{0,3}?([-+−]?)[^\w\s]?\s?(\d[\d.,'’\u00a0\u2009\u202f ]*)([^\d]{0,12})")
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
_DIGITS = re.compile(r"(\d+)")


def sorted_rows(cells: Sequence[str], *, falling: bool = False) -> list[int]:
    """Return the numbers of the rows sorted by one column. Empty cells are last."""
    said = [place for place, cell in enumerate(cells) if cell.strip()]
    numbers = {place: _number(cells[place]) for place in said}
    if any(number is None for number in numbers.values()):
        ordered = sorted(said, key=lambda place: _words(cells[place]), reverse=falling)
    else:
        ordered = sorted(said, key=lambda place: numbers[place] or 0.0, reverse=falling)
    return [*ordered, *(place for place, cell in enumerate(cells) if not cell.strip())]


def _number(cell: str) -> float | None:
    """Return the number that a cell says, with a sign, a unit or a currency; None for words."""
    found = _NUMBER.fullmatch(cell.strip())
    if found is None:
        return None
    digits = re.sub(r"[^\d.,]", "", found[2]).rstrip(".,")
    if _THOUSANDS.fullmatch(digits) or digits.rfind(".") > digits.rfind(",") >= 0:
        digits = digits.replace(",", "")
    elif "," in digits:
        digits = digits.replace(".", "").replace(",", ".")
    try:
        return float(digits) * (-1 if found[1] in ("-", "−") else 1)
    except ValueError:
        return None


def _words(cell: str) -> list[tuple[int, str]]:
    """Return a natural sort key, by which “item 9” comes before “item 10”."""
    parts = _DIGITS.split(cell.strip().casefold())
    return [(len(part.lstrip("0")), part.lstrip("0")) if place % 2 else (0, part) for place, part in enumerate(parts)]
