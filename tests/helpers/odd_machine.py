"""A machine on which the clock jumps and the disk is slow, for programs that a test starts."""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

from helpers.paths import TESTS

_COMPILERS = ("cc", "gcc", "clang")


def compiler() -> str:
    """A compiler for C; empty where there is none."""
    return next((name for name in _COMPILERS if shutil.which(name)), "")


class OddMachine:
    """A library to be preloaded, and the numbers that it shares with a test. `folder`: what is slow."""

    def __init__(self, folder: Path, workshop: Path) -> None:
        library, control = workshop / "odd_machine.so", workshop / "control"
        source = TESTS / "helpers" / "odd_machine.c"
        command = [compiler(), "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        control.write_bytes(bytes(32))
        with control.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 32)
        self.environment = {
            "LD_PRELOAD": str(library),
            "ODD_MACHINE_FOLDER": str(folder),
            "ODD_MACHINE_CONTROL": str(control),
        }

    def set_clock(self, seconds: float) -> None:
        """Put the wall clock wrong by so many seconds."""
        struct.pack_into("q", self._shared, 0, round(seconds * 1e9))

    def slow_down(self, least_ms: float, most_ms: float, locks: int) -> None:
        """Let each change of a file take so long, and one of so many locks fail."""
        struct.pack_into("qqq", self._shared, 8, round(least_ms * 1e3), round(most_ms * 1e3), locks)
