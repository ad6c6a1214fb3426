"""Options of benchmarks that are lists, as they are typed: with commas between."""

from __future__ import annotations

from engine.config import Lookahead, check_lookahead


def listed(text: str) -> list[str]:
    """Names, as in `q8_0,q4_0`."""
    return text.split(",")


def lookaheads(text: str) -> list[Lookahead]:
    """Lookaheads, as in `0,4,auto`."""
    return [check_lookahead(int(item) if item.isdigit() else item) for item in text.split(",")]
