"""Keep the tasks that run on the event loop for one part of the program."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Tasks:
    """Hold coroutines that were begun and are not over; true while there are any. The loop keeps hold of none."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._running: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Begin it, at the loop's next turn."""
        task = self._loop.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def cancel(self) -> None:
        """End all of them, for closing."""
        for task in self._running:
            task.cancel()

    async def ended(self) -> None:
        """Wait for their end, with or without errors."""
        await asyncio.gather(*self._running, return_exceptions=True)
