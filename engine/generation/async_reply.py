"""Wrap a reply as an asynchronous generator, whose steps run on a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType

from engine.cancel import CancelToken
from engine.errors import DecoderBusy
from engine.events import Event, GenerationResult
from engine.generation.model_lock import RunningReply


class AsyncReply(AsyncGenerator[Event, None]):
    """Yield the events of `begin()` without blocking the event loop.

    `aclose` ends the reply. So does leaving the loop around it by `break`: where nothing else refers to it, the
    decoder is free at once. `token` cancels the reply with the task that waits for it.
    """

    def __init__(self, begin: Callable[[], RunningReply], token: CancelToken) -> None:
        self._begin = begin
        self._token = token
        self._reply: RunningReply | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._ended = False

    def __aiter__(self) -> AsyncReply:
        return self

    async def __anext__(self) -> Event:
        """Return the next event."""
        if self._ended:
            raise StopAsyncIteration
        if self._thread is None or self._reply is None:
            self._reply, self._thread = self._begin(), ThreadPoolExecutor(1, "outrider-astream")
        loop = asyncio.get_running_loop()
        try:
            event = await loop.run_in_executor(self._thread, next, self._reply, None)
        except asyncio.CancelledError:
            self._token.cancel()
            self._end(clear=True)
            raise
        except BaseException:
            self._end()
            raise
        if event is None:
            self._end()
            raise StopAsyncIteration
        return event

    async def asend(self, value: None, /) -> Event:
        """Return the next event."""
        return await anext(self)

    async def athrow(
        self,
        kind: BaseException | type[BaseException],
        value: BaseException | object = None,
        trace: TracebackType | None = None,
        /,
    ) -> Event:
        """End the reply and raise an exception."""
        self._end()
        raise kind if isinstance(kind, BaseException) else value if isinstance(value, BaseException) else kind()

    async def aclose(self) -> None:
        """End the reply: the decoder can be used again at once."""
        self._end()

    def _end(self, *, clear: bool = False) -> None:
        self._ended = True
        thread, self._thread = self._thread, None
        if thread is None or self._reply is None:
            return
        thread.shutdown(wait=False)
        self._reply.close()  # It waits for a step that is still running.
        if clear:  # A step that had already ended has left it set.
            self._token.clear()

    def __del__(self) -> None:
        if not self._ended:
            # A collection may come upon it on the very thread that works for it.
            with suppress(DecoderBusy):
                self._end()


async def on_own_thread(write: Callable[[], GenerationResult], token: CancelToken) -> GenerationResult:
    """Run `write` on a thread of its own; `token` cancels that with the task that waits for it."""
    with ThreadPoolExecutor(1, "outrider-agenerate") as thread:
        work = asyncio.get_running_loop().run_in_executor(thread, write)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if not work.done():
                token.cancel()
                await _end_of(work)
                token.clear()  # A reply that had already ended has left it set.
            raise


async def _end_of(work: asyncio.Future[GenerationResult]) -> None:
    """Wait for its end, despite cancellations of the wait."""
    while not work.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([work])
    if not work.cancelled():
        work.exception()  # The caller already got the cancellation.
