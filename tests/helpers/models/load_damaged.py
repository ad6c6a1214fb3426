"""Damage a copy of a model in many ways and load each as the program would, all in one process.

Run as `python -m helpers.models.load_damaged COPY DAMAGES`, where DAMAGES is a JSON file; gives one JSON line for each.
What ends this process ends the batch, so a missing line is a crash.
"""

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine import LoadConfig, load
from engine.errors import EngineError
from engine.formats.gguf.reader import read_gguf
from helpers.processes import run_python

Damage = dict[str, Any]


def damages_of(path: Path, *, cuts: int, corruptions: int, seed: int) -> list[Damage]:
    """So many random damages: random bytes in the header, then cuts from long to short."""
    rng = random.Random(seed)
    size, header = path.stat().st_size, read_gguf(path).data_start
    found: list[Damage] = [
        {"edits": [[rng.randrange(header), rng.randrange(256)] for _ in range(rng.randint(1, 8))]}
        for _ in range(corruptions)
    ]
    lengths = sorted((rng.randrange(size) for _ in range(cuts)), reverse=True)
    return found + [{"cut": length} for length in lengths]


def damaged_copy(copy: Path, damage: Damage) -> None:
    """Apply one damage for good."""
    if "cut" in damage:
        os.truncate(copy, damage["cut"])
        return
    with copy.open("r+b") as file:
        for place, value in damage["edits"]:
            file.seek(place)
            file.write(bytes([value]))


def load_all(model: Path, folder: Path, damages: list[Damage]) -> list[dict[str, str]]:
    """Load a copy of `model` with each damage in one process of its own; one answer for each damage.

    Raises AssertionError if the process did not get through them all.
    """
    copy = folder / model.name
    copy.write_bytes(model.read_bytes())
    listing = folder / f"{model.stem}.json"
    listing.write_text(json.dumps(damages))
    done = run_python("-m", "helpers.models.load_damaged", str(copy), str(listing), timeout=1700)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    where = f"{model.name}: {damages[len(answers)] if len(answers) < len(damages) else 'at the end'}"
    assert done.returncode == 0, f"ended with {done.returncode} by {where}\n{done.stderr[-2000:]}"
    assert len(answers) == len(damages)
    return answers


def _answers(copy: Path, damages: list[Damage]) -> Iterator[dict[str, str]]:
    header = copy.read_bytes()[: read_gguf(copy).data_start]
    for damage in damages:
        damaged_copy(copy, damage)
        yield _answer(copy)
        if "edits" in damage:
            with copy.open("r+b") as file:
                file.write(header)


def _answer(path: Path) -> dict[str, str]:
    try:
        with load(LoadConfig(path, threads=1)) as decoder:
            decoder.generate("a", raw=True, max_tokens=50)
            decoder.attach_draft(LoadConfig(path, threads=1))
            decoder.generate("ab", raw=True, max_tokens=50, lookahead=4)
    except EngineError as error:
        return {"outcome": type(error).__name__, "message": str(error)}
    return {"outcome": "works", "message": ""}


if __name__ == "__main__":
    for answer in _answers(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())):
        print(json.dumps(answer), flush=True)
