"""Define the cancel token: one flag, set from any thread, looked at by the engine between steps."""

from __future__ import annotations

import ctypes

from engine.errors import Cancelled


class CancelToken:
    """Ask running work to stop at its next step. Thread-safe.

    The engine clears the token when its reply ends, and when it has ended a load, so a cancelled decoder works again at
    the next call. A request made before the call begins (while a model loads, say) is kept and ends that call.

    `flag` is a byte that native code reads without the interpreter: 0, or 1 when a stop is requested. It is
    followed by a 0, so that it also reads as a C string of length 0 or 1.
    """

    def __init__(self) -> None:
        # The flag is all there is to it: of two notes of one thing a thread or a signal could leave one behind.
        self.flag = (ctypes.c_char * 2)()

    def cancel(self) -> None:
        """Ask for the stop."""
        self.flag[0] = b"\x01"

    def clear(self) -> None:
        """Forget a request that was not met or has been met."""
        self.flag[0] = b"\x00"

    @property
    def cancelled(self) -> bool:
        """Return True if a stop is asked for."""
        return self.flag[0] != b"\x00"

    def check(self, what: str = "The request") -> None:
        """Raise `Cancelled` if a stop is asked for."""
        if self.cancelled:
            raise Cancelled(what)
