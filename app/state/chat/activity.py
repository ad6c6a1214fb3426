"""Describe the program's current work, for the thin progress bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Work = Literal[
    "idle",
    "checking",
    "loading",
    "measuring",
    "reading",
    "writing",
    "scanning",
    "proving",
    "queued",
    "asking",
    "asking-server",
    "importing",
    "exporting",
]


@dataclass(frozen=True, slots=True)
class Activity:
    """Name the work that is going on.

    `fraction` 0..1, None if not known; `subject`: name of the model, folder or file. `target_there`: of a pair the
    target is loaded already.
    """

    work: Work = "idle"
    subject: str = ""
    fraction: float | None = None
    target_there: bool = False
