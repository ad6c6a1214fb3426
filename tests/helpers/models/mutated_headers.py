"""Mutate the headers of a model at random, and read or load each as a program would, all in one process.

Run as `python -m helpers.models.mutated_headers WAY MODEL FOLDER SEED TRIES`, where WAY is `read` or `load`; prints a
line of JSON for each try: `outcome` (works, or the name of an error), `message`, `seconds`. What ends this process ends
the batch, so a missing line is a crash.
"""

import json
import random
import shutil
import struct
import sys
import time
from pathlib import Path
from typing import Any

from engine import EngineError, LoadConfig, LoadFailed, ModelNotSupported, inspect_model, load, scan_folder
from engine.formats.gguf.reader import read_gguf
from helpers.processes import run_python

_EXTREMES = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**40, 2**62, 2**63, 2**64 - 1)
_WORDS = (
    b'"shape"',
    b'"dtype"',
    b'"data_offsets"',
    b"F32",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"null",
    b"-1",
    b"1e999",
    b'"',
)


def run_batch(way: str, model: Path, folder: Path, seed: int, tries: int) -> list[dict[str, Any]]:
    """Return an answer for each try. Raises AssertionError if the process did not get through them all."""
    arguments = (way, str(model), str(folder), str(seed), str(tries))
    done = run_python("-X", "faulthandler", "-m", "helpers.models.mutated_headers", *arguments, timeout=3_000)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    where = f"{way} {model.name}, seed {seed}, try {len(answers)}"
    assert done.returncode == 0, f"{where}: ended with {done.returncode}\n{done.stderr[-2000:]}"
    assert len(answers) == tries, where
    return answers


def mutated(data: bytes, drawn: random.Random) -> bytes:
    """Return a header with one to four changes: bits, bytes, numbers, pieces that are cut out, repeated or moved."""
    changed = bytearray(data)
    for _ in range(drawn.choice((1, 1, 2, 4))):
        place = drawn.randrange(max(1, len(changed)))
        # The counts are at the beginning, and most of the rest are words of the vocabulary.
        place = min(place, drawn.choice((24, 400, 4_000, len(changed))))
        size = drawn.choice((1, 4, 8, 64, 1_000))
        way = drawn.randrange(7)
        if way == 0:
            changed[place : place + 1] = bytes([drawn.randrange(256)])
        elif way == 1:
            changed[place : place + 1] = bytes([changed[place] ^ (1 << drawn.randrange(8))]) if changed[place:] else b""
        elif way == 2:
            changed[place : place + 8] = struct.pack("<Q", drawn.choice(_EXTREMES))
        elif way == 3:
            changed[place : place + 4] = struct.pack("<I", drawn.choice(_EXTREMES) & 0xFFFFFFFF)
        elif way == 4:
            del changed[place : place + size]
        elif way == 5:
            changed[place:place] = changed[place : place + size]
        else:
            changed[place:place] = drawn.choice(_WORDS) if drawn.random() < 0.5 else drawn.randbytes(size)
    return bytes(changed)


def header_size(path: Path) -> int:
    """Return the bytes before a model's weights."""
    if path.suffix == ".gguf":
        return read_gguf(path).data_start
    with path.open("rb") as file:
        return 8 + int(struct.unpack("<Q", file.read(8))[0])


def _read(model: Path) -> None:
    """Read it as a scan of its folder does and as the library does, which agree whether it can be used."""
    (listed,) = scan_folder(model.parent)
    try:
        if (problem := inspect_model(model).problem) is not None:
            raise ModelNotSupported(model, problem)
    except LoadFailed:
        if listed.usable:
            raise AssertionError(f"the scan finds nothing wrong with {model}") from None
        raise
    if not listed.usable:
        raise AssertionError(f"the scan alone says {listed.problem}")


def _load(model: Path) -> None:
    with load(LoadConfig(model, threads=1)) as decoder:
        decoder.generate("a", raw=True, max_tokens=50)
        decoder.attach_draft(LoadConfig(model, threads=1))
        decoder.generate("ab", raw=True, max_tokens=50, lookahead=4)


def main(way: str, model: Path, folder: Path, seed: int, tries: int) -> None:
    """Try so many mutations of a GGUF file, or of a safetensors file with what stands beside it."""
    drawn = random.Random(seed)
    place = folder / "model"
    place.mkdir()
    if model.suffix != ".gguf":
        for other in model.parent.iterdir():
            shutil.copy(other, place)
    path = place / model.name
    path.unlink(missing_ok=True)
    given = path if model.suffix == ".gguf" else place
    size, whole = header_size(model), model.read_bytes()
    for _ in range(tries):
        path.write_bytes(mutated(whole[:size], drawn) + whole[size:])
        began = time.perf_counter()
        outcome, message = "works", ""
        try:
            (_read if way == "read" else _load)(given)
        except EngineError as error:
            outcome, message = type(error).__name__, str(error)
        seconds = round(time.perf_counter() - began, 3)
        print(json.dumps({"outcome": outcome, "message": message, "seconds": seconds}), flush=True)
        path.unlink()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
