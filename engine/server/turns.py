"""Let requests have the engine in turns: one at a time, clients one after the other, each one's in their order."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class TooMany(Exception):
    """Report that too many requests wait already."""


class Turns:
    """Hand out turns. `most`: how many may wait. For one event loop. Attributes: waiting, running (how many)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.waiting = self.running = 0

    @asynccontextmanager
    async def take(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn and have it within. Raises TooMany."""
        if self.running:
            await self._wait(client)
        else:
            self.running = 1
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, client: str) -> None:
        if self.waiting >= self._most:
            raise TooMany
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(mine)
        self.waiting += 1
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # It had been handed the turn.
                self._pass_on()
            raise
        finally:
            self.waiting -= 1
            with suppress(KeyError, ValueError):
                self._queues[client].remove(mine)
                if not self._queues[client]:
                    del self._queues[client]

    def _pass_on(self) -> None:
        """Give the turn to the client that has waited longest since its last one."""
        for client in list(self._queues):
            queue = self._queues[client]
            while queue:
                following = queue.popleft()
                if not following.done():
                    self._queues.move_to_end(client)
                    following.set_result(None)
                    return
        self.running = 0
