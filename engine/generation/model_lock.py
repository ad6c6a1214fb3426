"""Guard the models of a decoder: one reply or measurement at a time, which ends before the models are freed."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from types import TracebackType
from typing import Any

from engine.cancel import CancelToken
from engine.errors import BackendFailure, DecoderBusy
from engine.events import Event, Finished, GenerationResult, TextEvent, TokenEvent
from engine.system.forked import check_not_forked
from engine.translatable import Translatable

ReplyRef = Callable[[], "RunningReply | None"]


class ModelLock:
    """Lock the models for one piece of work, and end it when they are to change or be freed. Thread-safe."""

    def __init__(self) -> None:
        # A lock that its owner may take again: a reply that nobody holds any more ends wherever Python collects it.
        self._changed = threading.Condition(threading.RLock())
        self._token: CancelToken | None = None
        self._reply: ReplyRef = _no_reply
        self._changer: int | None = None
        """The thread that changes the models."""

    @contextmanager
    def use(self, token: CancelToken, message: str, reply: ReplyRef | None = None) -> Iterator[None]:
        """Work with the models within; `token` ends the work and is cleared behind it.

        Raises DecoderBusy with the message where others use or change the models, NotAvailable in a forked process.
        """
        check_not_forked()
        with self._changed:
            if self._token is not None or self._changer is not None:
                raise DecoderBusy(message)
            self._token, self._reply = token, reply or _no_reply
        try:
            yield
        finally:
            with self._changed:
                self._token, self._reply = None, _no_reply
                token.clear()
                self._changed.notify_all()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Change or free the models within: work that uses them is cancelled, and has ended before this begins.

        Raises DecoderBusy if the work that it would have to wait for is what calls it.
        """
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._changer in (None, me))
            outer, self._changer = self._changer, me
        try:
            self._end()
            yield
        finally:
            with self._changed:
                self._changer = outer
                self._changed.notify_all()

    def _end(self) -> None:
        while True:
            with self._changed:
                if self._token is None:
                    return
                self._token.cancel()
                reply = self._reply()
                if reply is None:  # No iterator that somebody has to move on: it ends by itself.
                    self._changed.wait(0.1)
                    continue
            reply.settle(lambda reply=reply: self._press(reply))  # type: ignore[misc]

    def _press(self, reply: RunningReply) -> bool:
        """Cancel the reply. False if it has ended."""
        with self._changed:
            if self._token is None or self._reply() is not reply:
                return False
            self._token.cancel()
            return True


def _no_reply() -> None:
    return None


class RunningReply(Generator[Event, bool | None, None]):
    """Yield the events of a reply, as a generator that another thread may bring to its end.

    Its steps wait for each other. A consumer whose reply was ended from outside is given the rest of its events: the
    last is Finished, with the finish reason 'cancelled', or the step raises Cancelled.
    """

    def __init__(self, begin: Callable[[ReplyRef], Generator[Event, bool | None, None]]) -> None:
        self._events = begin(weakref.ref(self))
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._settled = False
        self._rest: deque[Event] = deque()
        self._failure: Exception | None = None

    @contextmanager
    def _step(self) -> Iterator[None]:
        if self._thread == threading.get_ident():
            raise DecoderBusy("A reply cannot be ended or continued from inside its own step. Cancel it instead.")
        with self._lock:
            self._thread = threading.get_ident()
            try:
                yield
            finally:
                self._thread = None

    def send(self, value: bool | None, /) -> Event:
        """Return the next event; `value` False ends the reply with the token of the last one."""
        with self._step():
            return self._left() if self._settled else self._events.send(value)

    def _left(self) -> Event:
        if self._rest:
            return self._rest.popleft()
        failure, self._failure = self._failure, None
        raise StopIteration if failure is None else failure

    def throw(
        self,
        kind: BaseException | type[BaseException],
        value: BaseException | object = None,
        trace: TracebackType | None = None,
        /,
    ) -> Event:
        """Raise an exception where the reply stands."""
        error = kind if isinstance(kind, BaseException) else value if isinstance(value, BaseException) else kind()
        with self._step():
            self._rest.clear()
            self._failure = None
            return self._events.throw(error)

    def result(self, see: Callable[[Any], bool | None] | None = None) -> GenerationResult:
        """Write the reply to its end. `see` sees each token or piece of text; False ends the reply with it."""
        answer: bool | None = None
        result: GenerationResult | None = None
        with closing(self), suppress(StopIteration):
            while True:
                event = self.send(answer)
                answer = None
                if isinstance(event, TokenEvent | TextEvent) and see is not None:
                    answer = see(event)
                elif isinstance(event, Finished):
                    result = event.result
        if result is None:
            raise BackendFailure(Translatable("the reply ended without a result"))
        return result

    def close(self) -> None:
        """End the reply: the decoder can be used again at once."""
        with self._step():
            self._settled = True
            self._rest.clear()
            self._failure = None
            self._events.close()

    def settle(self, press: Callable[[], bool]) -> None:
        """Bring the reply to its end; its remaining events are kept for its consumer.

        `press` cancels it and tells whether it goes on; it is called before each step. Raises DecoderBusy from inside
        a step of the reply itself.
        """
        with self._step():
            try:
                while press():
                    self._settled = True
                    self._rest.append(self._events.send(None))
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 - it is the consumer's to hear of
                self._failure = error
