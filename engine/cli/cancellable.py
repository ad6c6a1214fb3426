"""Run a command's work so that Ctrl+C cancels it, and name the exit codes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from engine.cancel import CancelToken
from engine.errors import Cancelled

EXIT_DONE, EXIT_UNUSABLE, EXIT_CANCELLED = 0, 2, 130


def run_cancellable(work: Callable[[], int], cancel: CancelToken, *, leave: bool = True) -> int:
    """Run `work` on a thread, so that Ctrl+C works while a model computes: once to cancel, twice to leave.

    `leave` False: the program stays, however often it is pressed.
    """
    outcome: list[int | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - carried over to the main thread
            outcome.append(error)

    def interrupt(_signal: int, _frame: object) -> None:
        if cancel.cancelled and leave:
            os.write(2, f"outrider-engine: {Cancelled()}\n".encode())
            os._exit(EXIT_CANCELLED)
        cancel.cancel()

    in_main_thread = threading.current_thread() is threading.main_thread()
    previous = signal.signal(signal.SIGINT, interrupt) if in_main_thread else None
    thread = threading.Thread(target=run, name="outrider-engine")
    try:
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, previous)
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
