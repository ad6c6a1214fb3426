"""Ask questions of many kinds, for a target to answer: those that come along, or a person's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from engine.corpus.corpus import files_of
from engine.errors import TrainingError
from engine.translatable import Translatable

_FEWEST = 24
"""Different questions at least: with fewer a head learns their replies by heart."""
_LONGEST = 4000
_HELD_OUT = 12
"""One kind of so many is for measuring, and never learned from."""


def bundled_questions(seed: int) -> list[tuple[str, bool]]:
    """Return questions in an order that the seed gives, each with whether it is held out, as its kind is."""
    text = resources.files("resources").joinpath("head_questions.json").read_text("utf-8")
    told, rng = json.loads(text), np.random.default_rng(seed)
    kinds = []
    for number, pattern in enumerate(told["patterns"]):
        name = next((name for name in told["words"] if f"{{{name}}}" in pattern), None)
        made = [pattern] if name is None else [pattern.replace(f"{{{name}}}", word) for word in told["words"][name]]
        kinds.append([(question, number % _HELD_OUT == _HELD_OUT - 1) for question in rng.permutation(made).tolist()])
    found: list[tuple[str, bool]] = []
    while any(kinds):  # A question of each kind after the other, so that any number of them is a mixture.
        turn = [kind.pop() for kind in kinds if kind]
        found += [turn[place] for place in rng.permutation(len(turn))]
    return found


def own_questions(folder: Path, seed: int) -> list[tuple[str, bool]]:
    """Return the questions in a folder's text files, one a line, as `bundled_questions` does. Raises TrainingError."""
    if not folder.is_dir():
        raise TrainingError(Translatable("{folder} is no folder with questions. Name another one.", folder=folder))
    lines = (line.strip() for _, _, read in files_of([folder]) for line in _text(read).splitlines())
    found = sorted({line for line in lines if 0 < len(line) <= _LONGEST})
    if len(found) < _FEWEST:
        raise TrainingError(
            Translatable(
                "A head needs {needed} different questions at least, and {folder} has {count}: its text files must "
                "have one a line. Add some, or leave the folder out.",
                needed=_FEWEST,
                folder=folder,
                count=len(found),
            )
        )
    order = np.random.default_rng(seed).permutation(len(found))
    return [(found[place], number % _HELD_OUT == _HELD_OUT - 1) for number, place in enumerate(order)]


def _text(read: object) -> str:
    try:
        return str(read()) if callable(read) else ""
    except (OSError, UnicodeDecodeError):
        return ""


def mixed(questions: Sequence[tuple[str, bool]], seed: int, number: int) -> tuple[str, bool, float, int]:
    """Return the question of a reply by its number, whether it is held out, a temperature and a seed.

    Each is asked once before any is asked again; half of the replies are written at temperature 0.
    """
    turn, place = divmod(number, len(questions))
    question, held = questions[place]
    return question, held, 0.0 if turn < 2 and (place + turn) % 2 == 0 else 0.8, seed + number
