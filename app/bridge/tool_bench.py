"""Run tools and tool servers on threads of their own: a call may take minutes, and several run at once."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

from app.bridge.job import Job
from engine import CancelToken

T = TypeVar("T")


class ToolBench:
    """Run work for the event loop, each piece on a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._running: dict[Job[Any], threading.Thread] = {}
        self._lock = threading.Lock()

    def start(self, work: Callable[[CancelToken], T]) -> Job[T]:
        """Begin a piece of work; its job gives its result, raises its error, and can be cancelled."""
        job = Job(self._loop, work)
        thread = threading.Thread(target=self._run, args=(job,), name="outrider-tool", daemon=True)
        with self._lock:
            self._running[job] = thread
        thread.start()
        return job

    def close(self, timeout: float) -> None:
        """Cancel the running jobs, and wait so many seconds for their end; slower ones end with the program."""
        with self._lock:
            running = dict(self._running)
        ends = monotonic() + timeout
        for job in running:
            job.cancel()
        for thread in running.values():
            thread.join(max(ends - monotonic(), 0))

    def _run(self, job: Job[Any]) -> None:
        result, error = None, None
        try:
            result = job.run()
        except BaseException as raised:  # noqa: BLE001 - whatever it is, the waiting caller gets it
            error = raised
        with self._lock:
            self._running.pop(job, None)

        # The loop may be closed already when the program ends.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(job.settle, result, error)
