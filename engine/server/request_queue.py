"""Schedule requests for the engine: clients one after the other, each one's in their order.

A turn is exclusive, or shared by requests that permit sharing.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress


class TooMany(Exception):
    """Report that too many requests wait already."""


def _alone() -> bool:
    return False


class RequestQueue:
    """Grant turns. `most`: the number that may wait; `together`: the number that may run at once.

    For one event loop. Attributes: waiting, running (counts).
    """

    def __init__(self, most: int, together: int = 1) -> None:
        self._most, self._together = most, together
        self._queues: OrderedDict[str, deque[tuple[asyncio.Future[bool], Callable[[], bool]]]] = OrderedDict()
        self._shared = False
        """True if the running turns may be shared."""
        self.waiting = self.running = 0

    @asynccontextmanager
    async def take(self, client: str, may_share: Callable[[], bool] = _alone) -> AsyncIterator[bool]:
        """Wait for a turn and hold it within; yields True if others may run at once. Raises TooMany.

        `may_share`: called when the turn comes; True permits sharing it.
        """
        shared = may_share() if not self.waiting else False
        if self._fits(shared) and not self.waiting:
            self._begin(shared)
        else:
            shared = await self._wait(client, may_share)
        try:
            yield shared
        finally:
            self.running -= 1
            self._pass_on()

    def share(self) -> None:
        """Allow others to run beside the present turn, which was exclusive until now."""
        self._shared = True
        self._pass_on()

    def _fits(self, shared: bool) -> bool:
        return not self.running or (shared and self._shared and self.running < self._together)

    def _begin(self, shared: bool) -> None:
        self._shared = shared
        self.running += 1

    async def _wait(self, client: str, may_share: Callable[[], bool]) -> bool:
        if self.waiting >= self._most:
            raise TooMany
        mine: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiting = mine, may_share
        self._queues.setdefault(client, deque()).append(waiting)
        self.waiting += 1
        # Who seemed to wait may have left, and nobody have a turn at whose end it would be passed on.
        self._pass_on()
        try:
            return await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # It had been handed the turn.
                self.running -= 1
            self._drop(client, waiting)
            self._pass_on()
            raise
        finally:
            self.waiting -= 1
            self._drop(client, waiting)

    def _drop(self, client: str, waiting: tuple[asyncio.Future[bool], Callable[[], bool]]) -> None:
        with suppress(KeyError, ValueError):
            self._queues[client].remove(waiting)
        if client in self._queues and not self._queues[client]:
            del self._queues[client]

    def _pass_on(self) -> None:
        """Grant turns as far as they fit: to the client that has waited longest since its last one, and so on."""
        while self._queues:
            client, queue = next(iter(self._queues.items()))
            while queue and queue[0][0].done():
                queue.popleft()
            if not queue:
                del self._queues[client]
                continue
            following, may_share = queue[0]
            shared = may_share()
            if not self._fits(shared):  # Nobody overtakes.
                return
            queue.popleft()
            self._queues.move_to_end(client)
            self._begin(shared)
            following.set_result(shared)
