"""Pass the events of a reply from the computing thread to the event loop, at little cost for the former."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from engine.events import Event, TokenEvent

_GATHER_S = 0.001
"""The event loop looks so much later: at once, it would hold the interpreter when the next forward is to begin.

The first token, which somebody waits for, is given at once.
"""


class GatheredEvents:
    """Take events on one thread, and give them on the event loop that made this, those together that came together."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._came: deque[Event] = deque()
        self._ready = asyncio.Event()
        self._called = self._ended = self._token_came = False
        self._error: Exception | None = None

    def put(self, event: Event) -> None:
        """Take an event. From any thread."""
        self._came.append(event)
        if not self._token_came and isinstance(event, TokenEvent):
            self._token_came = self._called = True
            self._loop.call_soon_threadsafe(self._ready.set)
        elif not self._called:
            self._called = True
            self._loop.call_soon_threadsafe(self._loop.call_later, _GATHER_S, self._ready.set)

    def end(self, error: Exception | None = None) -> None:
        """End with the events so far, or with an error behind them. On the event loop."""
        self._ended, self._error = True, error
        self._ready.set()

    async def __aiter__(self) -> AsyncIterator[list[Event]]:
        """Yield the events. Raises the error that ended them."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            # In this order: what comes from now on calls again.
            ended, self._called = self._ended, False
            together = []
            while self._came:
                together.append(self._came.popleft())
            if together:
                yield together
            if ended:
                break
        if self._error is not None:
            raise self._error
