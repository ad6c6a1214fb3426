"""Instructions for a weight and a token on an emulated ARM processor: our products, and llama.cpp's own.

make bench ARGS="arm_instructions [--types q8_0,q4_0] [--columns 1,5]"

No time is measured: an emulator counts. The first run compiles ggml twice, which takes some ten minutes.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from helpers.upstream import LLAMA_CPP
from helpers.weights.kernels_check import (
    BUILDS,
    SOURCES,
    build,
    emulator_of_arm,
    lacks_arm_tools,
    settings_for_arm,
)

FEATURES, PROCESSOR = "armv8.2-a+dotprod+fp16+i8mm", "max"
WIDTH, ROWS, TIMES = 1024, (64, 192), (1, 3)
NOT_MEASURED = 2


def build_counter() -> Path:
    """Return the plugin of the emulator that counts instructions, compiled for this machine."""
    place = BUILDS / "instructions.so"
    place.parent.mkdir(parents=True, exist_ok=True)
    source = SOURCES / "instructions.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", str(source), "-o", str(place)], check=True)
    return place


def instructions(counter: Path, program: Path, *arguments: str) -> int | None:
    """Return how many instructions the program executes, or None where it cannot do what is asked."""
    command = [*emulator_of_arm(PROCESSOR), "-plugin", str(counter), "-d", "plugin", str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^instructions: (\d+)$", done.stdout + done.stderr, re.MULTILINE)
    return int(found[1]) if done.returncode == 0 and found else None


def for_a_weight(counter: Path, program: Path, kind: str, columns: int, *how: str) -> float | None:
    """Return the instructions for a weight and a token, without what a product of any number of rows takes."""
    total = 0
    for rows in ROWS:
        for times in TIMES:
            count = instructions(counter, program, kind, str(rows), str(WIDTH), str(columns), str(times), *how)
            if count is None:
                return None
            total += count if (rows == ROWS[1]) == (times == TIMES[1]) else -count
    return total / ((ROWS[1] - ROWS[0]) * (TIMES[1] - TIMES[0]) * WIDTH * columns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Gives 0, or 2 where it cannot be counted here."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--types", default="q8_0,q4_0,q4_K,q6_K,f16")
    parser.add_argument("--columns", default="1,5,16")
    args = parser.parse_args(arguments)
    lacking = lacks_arm_tools() or ("" if shutil.which("cmake") else "cmake")
    if lacking or not (LLAMA_CPP / "ggml").is_dir():
        print(f"Not counted: {lacking or 'the source of llama-cpp-python (OUTRIDER_LLAMA_SOURCE)'} is not here.")
        return NOT_MEASURED
    counter, settings = build_counter(), settings_for_arm(FEATURES)
    ours = build("arm-count", settings, "product-count") / "product-count"
    as_it_is = settings | {"OUTRIDER_KERNELS": "", "GGML_LLAMAFILE": "ON"}
    theirs = build("arm-count-theirs", as_it_is, "product-count") / "product-count"
    print("## Instructions for a weight and a token on ARM, counted in an emulator\n")
    print(f"One product of {WIDTH} numbers a row, compiled for {FEATURES}, counted in qemu: what a row more takes.")
    print("llama.cpp is as its makers build it, with the weights as in their file, or *repacked* while it loads them.")
    print("Instructions are no time: how many a processor executes at once is not in them, and a token alone waits for")
    print("memory.\n")
    print("| weights | tokens | ours | llama.cpp | llama.cpp, repacked |\n|---|---|---|---|---|")
    for kind in args.types.split(","):
        for columns in map(int, args.columns.split(",")):
            counts = (
                for_a_weight(counter, ours, kind, columns),
                for_a_weight(counter, theirs, kind, columns),
                for_a_weight(counter, theirs, kind, columns, "repacked"),
            )
            told = " | ".join("–" if count is None else f"{count:.3f}" for count in counts)
            print(f"| {kind} | {columns} | {told} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
