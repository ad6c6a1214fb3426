"""Describe what the program is busy with, for the thin progress bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Work = Literal[
    "idle", "checking", "loading", "measuring", "reading", "writing", "scanning", "proving", "queued", "asking"
]


@dataclass(frozen=True, slots=True)
class Activity:
    """`fraction` 0..1, None where it is not known; `subject`: the name of the model or the folder."""

    work: Work = "idle"
    subject: str = ""
    fraction: float | None = None
