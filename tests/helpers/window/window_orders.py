"""A window in a process of its own that is told what to do; on a disk that fills up, or not."""

import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from app.store.store import Store
from helpers.paths import ROOT, TESTS

_NEVER = 2**62
_LONGEST_S = 20.0
_COMPILERS = ("cc", "gcc", "clang")


class FullDisk:
    """A library that makes writes to a folder fail, and the numbers that it shares with a test."""

    def __init__(self, folder: Path, workshop: Path) -> None:
        self.folder = folder
        self._library = workshop / "full_disk.so"
        self._file = workshop / "control"
        self._file.write_bytes(struct.pack("qqq", 0, _NEVER, _NEVER))
        with self._file.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 24)
        source = TESTS / "helpers" / "full_disk.c"
        command = [compiler(), "-O1", "-shared", "-fPIC", "-o", str(self._library), str(source), "-ldl"]
        subprocess.run(command, check=True)

    @property
    def environment(self) -> dict[str, str]:
        """What a program on this disk is started with."""
        names = {"FULL_DISK_FOLDER": self.folder, "FULL_DISK_CONTROL": self._file, "LD_PRELOAD": self._library}
        return {name: str(value) for name, value in names.items()}

    @property
    def counted(self) -> int:
        """How many writes there were."""
        return int(struct.unpack_from("q", self._shared)[0])

    def fill(self, first: int, times: int = _NEVER) -> None:
        """Let the writes from this one on fail, so many times or until `free`. Counting begins anew."""
        self._shared[:] = struct.pack("qqq", 0, first, min(first + times - 1, _NEVER))

    def free(self) -> None:
        """Let all writes go on."""
        struct.pack_into("qq", self._shared, 8, _NEVER, _NEVER)


def compiler() -> str:
    """A compiler for C; empty if there is none."""
    return next((name for name in _COMPILERS if shutil.which(name)), "")


class WindowUnderOrders:
    """A window in a process of its own, with a scripted model: see `helpers.children.ordered_window`.

    Attributes: told (what it told last), errors (what it wrote to standard error, at the end).
    """

    def __init__(self, folder: Path, environment: dict[str, str] | None = None, umask: int = -1) -> None:
        self.folder = folder
        self.told: dict[str, Any] = {}
        self.errors = ""
        self._log = folder.parent / "errors.txt"
        homes = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "helpers.children.ordered_window", str(folder)],
                cwd=ROOT,
                env=os.environ
                | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}"}
                | homes
                | (environment or {}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                umask=umask,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def begin(self) -> dict[str, Any]:
        """Wait until it is there."""
        return self._listen()

    def do(self, *order: object) -> dict[str, Any]:
        """Give an order, and return what the window shows when it is done."""
        self._say(order)
        return self._listen()

    def until_saved(self) -> dict[str, Any]:
        """Look until nothing waits to be written, or a few seconds."""
        limit = time.monotonic() + _LONGEST_S
        while not self.do("look")["saved"] and time.monotonic() < limit:
            time.sleep(0.1)
        return self.told

    def kill(self) -> None:
        """End it as the system would."""
        self._process.kill()
        self._process.wait()

    def quit(self) -> int:
        """Close the window; the exit code."""
        self._say(["quit"])
        code = self._process.wait(_LONGEST_S)
        self.errors = self._log.read_text("utf-8", "replace")
        return code

    def _say(self, order: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it ended: {self._process.wait()}\n{self._log.read_text('utf-8', 'replace')}"
        self.told = json.loads(line)
        return self.told


def kept_in(path: Path) -> tuple[dict[str, str], dict[int, list[list[str]]]]:
    """The titles of the conversations in a store that nobody has open, and role and text of what they show."""
    store = Store.open(path)
    try:
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        heads = store.conversations()
        loaded = {head.id: store.load(head.id) for head in heads}
        assert not any(message.damaged for each in loaded.values() if each is not None for message in each)
        paths = {
            number: [[message.role, message.text] for message in each.path]
            for number, each in loaded.items()
            if each is not None
        }
        return {str(head.id): head.title for head in heads}, paths
    finally:
        store.close()
