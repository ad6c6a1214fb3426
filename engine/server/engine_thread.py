"""Run replies on the one thread that has the decoder, and give their events to the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from engine.cancel import CancelToken
from engine.config import GenerationRequest
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled
from engine.events import Event, Finished
from engine.server.metrics import ServerMetrics
from engine.server.turns import Turns

_log = logging.getLogger(__name__)
_END = object()


class EngineThread:
    """Run replies one at a time. Attributes: decoder; turns; metrics.

    A reply is computed as fast as the engine can, however slowly its client reads.
    """

    def __init__(self, decoder: SpeculativeDecoder, most_waiting: int = 256) -> None:
        self.decoder = decoder
        self.turns, self.metrics = Turns(most_waiting), ServerMetrics()
        self._thread = ThreadPoolExecutor(1, "outrider-serve")

    async def reply(self, request: GenerationRequest, client: str) -> AsyncGenerator[Event, None]:
        """Give the events of a reply, once it is this client's turn. Closing it early ends the reply.

        Raises TooMany, and what the decoder raises.
        """
        events: asyncio.Queue[object] = asyncio.Queue()
        cancel = CancelToken()
        task = asyncio.create_task(self._run(request, client, cancel, events))
        try:
            while (event := await events.get()) is not _END:
                if isinstance(event, BaseException):
                    raise event
                yield event  # type: ignore[misc]
        finally:
            cancel.cancel()
            if not task.done():
                task.cancel()

    async def _run(
        self, request: GenerationRequest, client: str, cancel: CancelToken, events: asyncio.Queue[object]
    ) -> None:
        loop = asyncio.get_running_loop()

        def work() -> None:
            with closing(self.decoder.stream(request, cancel=cancel)) as running:
                for event in running:
                    if isinstance(event, Finished):
                        self.metrics.count(event.result)
                    loop.call_soon_threadsafe(events.put_nowait, event)

        try:
            async with self.turns.take(client):
                # The turn is over when the thread is free, not when this task is told to end.
                working = asyncio.ensure_future(loop.run_in_executor(self._thread, work))
                try:
                    await asyncio.shield(working)
                except asyncio.CancelledError:
                    cancel.cancel()
                    await asyncio.wait([working])
                    working.exception()
                    raise
        except Cancelled:
            self.metrics.cancelled += 1
        except Exception as error:  # noqa: BLE001 - it is the reader's
            events.put_nowait(error)
        events.put_nowait(_END)

    def close(self) -> None:
        """Wait for the reply that runs, and end the thread."""
        self.decoder.cancel_token.cancel()
        self._thread.shutdown()
        self.decoder.cancel_token.clear()
