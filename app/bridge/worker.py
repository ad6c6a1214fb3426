"""Run a thread such as the engine's: it does one job at a time, and background jobs make way for urgent ones."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from app.bridge.job import Job
from engine import Cancelled

T = TypeVar("T")


class Worker:
    """Run queued jobs on a thread. The methods are called on the Qt thread, the thread of `loop`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, begin: Callable[[], AbstractContextManager[object]], name: str
    ) -> None:
        """Start the thread; it calls `begin` before the first job and closes the result of that after the last one."""
        self._loop = loop
        self._begin = begin
        self._changed = threading.Condition()
        self._urgent: deque[Job[Any]] = deque()
        self._background: deque[Job[Any]] = deque()
        self._running: Job[Any] | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job[T]) -> Job[T]:
        """Queue a job; after `close` it is cancelled at once."""
        with self._changed:
            if self._closing:
                job.settle(None, Cancelled())
                return job
            (self._background if job.background else self._urgent).append(job)
            job.withdraw = lambda: self._withdraw(job)
            if not job.background and self._running is not None and self._running.background:
                self._running.make_way()
            self._changed.notify()
        return job

    def do(self, work: Callable[[], object]) -> None:
        """Run a short piece of work in its turn; its end is not awaited, and its failure ignored."""
        job = self.submit(Job(self._loop, lambda _cancel: work()))
        job.result.add_done_callback(lambda done: done.cancelled() or done.exception())

    def drop(self, job: Job[Any]) -> None:
        """Cancel a job that is not queued here, and report that to its waiters."""
        self._deliver(job, None, Cancelled())

    def close(self, timeout: float) -> bool:
        """Cancel everything and end the thread. False: it did not end in time (seconds)."""
        with self._changed:
            self._closing = True
            for job in (*self._urgent, *self._background, self._running):
                if job is not None:
                    job.cancel()
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _withdraw(self, job: Job[Any]) -> None:
        """Remove a job that was cancelled before its turn."""
        with self._changed:
            for jobs in (self._urgent, self._background):
                if job in jobs:
                    jobs.remove(job)
                    self.drop(job)

    # On the thread ----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        job = self._next()
        if job is None:
            return
        # Not before somebody wants something: the engine is large, and would be imported while the window is made.
        with self._begin():
            while job is not None:
                self._run(job)
                job = self._next()

    def _next(self) -> Job[Any] | None:
        with self._changed:
            self._running = None
            while not (self._urgent or self._background or self._closing):
                self._changed.wait()
            if self._closing:
                return None
            self._running = (self._urgent or self._background).popleft()
            return self._running

    def _run(self, job: Job[Any]) -> None:
        try:
            result = job.run()
        except Cancelled as error:
            if job.background and not job.cancelled:
                with self._changed:
                    job.wait_again()
                    self._background.appendleft(job)
                return
            self._deliver(job, None, error)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the waiting caller gets it
            self._deliver(job, None, error)
        else:
            self._deliver(job, result, None)

    def _deliver(self, job: Job[Any], result: object, error: BaseException | None) -> None:
        # The loop may be closed already when the program ends.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(job.settle, result, error)
