"""Allow one program for one store: a second one calls the first to the front. Nothing here needs Qt.

The first holds a lock on a file beside the store until it ends, however it ends: the system releases it, so a kill
leaves nothing behind. The second writes its call beside the lock file, touches that file, which the first one watches
(see call_watcher.py), and waits until the call has been removed. No port is opened and no socket left behind.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.host import private_folder, write_whole

ANSWER_S = 20.0
"""The seconds for the first one to answer; it may have begun a moment ago itself."""
_LOOK_S = 0.02
_HOPE_S = 1.0
"""The time of retries for a lock: a network disk refuses one now and then."""
_LARGEST = 2**16
_LOCKED_AT = 2**20
"""The locked byte, past the end of the file: on Windows a locked byte cannot be read."""
_MAY_COME_UP = "XDG_ACTIVATION_TOKEN"


class NoAnswer(Exception):
    """Report that another program has the store and does not come to the front."""


@dataclass(frozen=True, slots=True)
class Call:
    """Hold the request of a second start: paths as text, empty for none; `token`: Wayland's permission to be raised."""

    model: str = ""
    models_folder: str = ""
    token: str = ""

    @classmethod
    def here(cls, model: Path | None, models_folder: Path | None) -> Call:
        """Return a call from this process."""
        paths = ["" if path is None else str(path.absolute()) for path in (model, models_folder)]
        return cls(paths[0], paths[1], os.environ.get(_MAY_COME_UP, ""))


@dataclass(slots=True)
class Claim:
    """Hold a claim on a store. `lock_file`: None if no file can be locked there: then it holds nothing."""

    store: Path
    lock_file: Path | None
    _handle: int | None = None

    def release(self) -> None:
        """Release the store to another program."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def take_call(self) -> Call | None:
        """Return the waiting call, if there is one, and acknowledge it to its caller."""
        path = _call_file(self.store)
        try:
            text = path.read_text("utf-8")[:_LARGEST]
        except (OSError, UnicodeDecodeError):
            text = ""
        with contextlib.suppress(OSError):
            path.unlink()
        return _parse(text) if text else None


def claim_or_call(store: Path, call: Call, patience: float = ANSWER_S) -> Claim | None:
    """Take the store for this process, or call the process that has it: then None.

    Raises NoAnswer if that process does not answer within `patience` (seconds).
    """
    began = time.monotonic()
    deadline = began + patience
    called = False
    while True:
        claim = _try_claim(store, hopeful=time.monotonic() < began + _HOPE_S)
        if claim is not None:
            # One that was made to a program that has ended since.
            claim.take_call()
            return claim
        if not called:
            called = _send(store, call)
        if called and not _call_file(store).exists():
            return None
        if time.monotonic() > deadline:
            with contextlib.suppress(OSError):
                _call_file(store).unlink()
            raise NoAnswer
        time.sleep(_LOOK_S)


def _lock_file(store: Path) -> Path:
    return store.with_name(store.name + ".lock")


def _call_file(store: Path) -> Path:
    return store.with_name(store.name + ".call")


def _try_claim(store: Path, *, hopeful: bool) -> Claim | None:
    """Return the claim, or None if another process has it; `hopeful`: also if that is unknown at the moment."""
    path = _lock_file(store)
    try:
        private_folder(path.parent)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return Claim(store, None)
    try:
        taken = _lock(handle)
    except OSError as error:
        os.close(handle)
        if hopeful and error.errno == errno.ENOLCK:
            return None
        # A file system without locks: better a program without this than none.
        return Claim(store, None)
    if not taken:
        os.close(handle)
        return None
    with contextlib.suppress(OSError):
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode("ascii"))
    return Claim(store, path, handle)


if sys.platform == "win32":
    import ctypes
    import msvcrt

    def _lock(handle: int) -> bool:
        os.lseek(handle, _LOCKED_AT, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True

    def _let_come_up(lock_file: Path) -> None:
        """Allow the first program to come to the front: Windows permits that only if the program in front does."""
        with contextlib.suppress(OSError, ValueError):
            ctypes.windll.user32.AllowSetForegroundWindow(int(lock_file.read_text("ascii")))

else:
    import fcntl

    def _lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _let_come_up(lock_file: Path) -> None:
        del lock_file


def _send(store: Path, call: Call) -> bool:
    path = _call_file(store)
    try:
        _let_come_up(_lock_file(store))
        write_whole(path, json.dumps(asdict(call)).encode(), lasting=False, private=True)
        os.utime(_lock_file(store))
    except OSError:
        return False
    return True


def _parse(text: str) -> Call:
    """Return a call that asks for nothing but the window where the message makes no sense."""
    try:
        parsed = json.loads(text)
        return Call(**{name: str(parsed.get(name, "")) for name in asdict(Call())})
    except (ValueError, AttributeError, RecursionError):
        return Call()
