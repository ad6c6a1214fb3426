"""Run risky work in a child process, with limits of memory and time: a chat template, a document.

One child for templates waits, warm, while somebody wants it (`ChildPool.keep_warm`), so asking it costs a message there
and back.
"""

from __future__ import annotations

import atexit
import json
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from weakref import WeakSet

from engine.cancel import CancelToken
from engine.errors import ChatTemplateFailed
from engine.system.child import MemoryWatch, child_command, end_child, start_child
from engine.system.child_side import read_message, write_message
from engine.system.hidden_commands import RENDERING
from engine.translatable import Translatable

_START_LIMIT_S = 30.0
_MEMORY_BYTES = 400 * 2**20
"""The whole child, where it cannot limit itself."""
_POLL_S = 0.02
_PATIENCE = 10.0
"""Times its limit that an answer may take by the clock: other programs may leave the child a small part of a core."""
_END_BY_TIME = -getattr(signal, "SIGPROF", 0)
_END_S = 1.0
_LARGEST_ANSWER = 2**30


class OutOfTime(Exception):
    """Report that the limit of processor time is reached, or a far longer one by the clock."""


class LimitedChild:
    """Talk to a process that renders templates, or to another one that is `hidden` behind a command of this program.

    Attribute: spent, whether it should be asked nothing more, since it has used up its memory.
    """

    def __init__(self, hidden: str = RENDERING, memory: int = _MEMORY_BYTES) -> None:
        """Start it. `memory`: bytes of all of it, where it cannot limit itself. Raises ChatTemplateFailed."""
        try:
            self._process = start_child(child_command(hidden))
        except OSError as error:
            raise _unavailable(error.strerror or str(error)) from None
        self._watch = MemoryWatch(self._process, memory)
        self._ready = self.spent = False

    @property
    def alive(self) -> bool:
        """Return True if it can be asked something."""
        return self._process.poll() is None

    def wait_until_ready(self, cancel: CancelToken | None) -> None:
        """Wait until it has started. Raises ChatTemplateFailed, Cancelled."""
        if self._ready:
            return
        try:
            greeting = self._await(lambda: read_message(self._output, 100), _START_LIMIT_S, cancel)
        except OutOfTime:
            raise _unavailable(Translatable("it took too long")) from None
        if greeting is None:
            raise _unavailable(f"it ended with {self._code()}")
        self._ready = True

    def ask(self, request: Callable[[float], bytes], seconds: float, cancel: CancelToken | None) -> dict[str, Any]:
        """Return its answer to a request, for which it may compute `seconds`, however busy the machine is.

        `request` gives the message from that limit. Under "used" the answer has the seconds that it took of it.
        Raises OutOfTime, ChatTemplateFailed, Cancelled.
        """
        if seconds <= 0:
            raise OutOfTime
        task = request(seconds)

        def exchange() -> bytes | None:
            write_message(self._input, task)
            return read_message(self._output, _LARGEST_ANSWER)

        return self._wait_for(exchange, seconds, cancel)

    def hear(self, seconds: float, cancel: CancelToken | None) -> dict[str, Any]:
        """Return the next part of its answer. Raises as `ask`."""
        return self._wait_for(lambda: read_message(self._output, _LARGEST_ANSWER), seconds, cancel)

    def _wait_for(self, work: Callable[[], bytes | None], seconds: float, cancel: CancelToken | None) -> dict[str, Any]:
        answer = self._await(work, _PATIENCE * seconds, cancel)
        if answer is not None:
            said = dict(json.loads(answer))
            self.spent = "spent" in said
            return said
        if self._code() == _END_BY_TIME:
            raise OutOfTime
        raise ChatTemplateFailed(Translatable("it crashes the process that renders it"))

    def end(self) -> None:
        """End it at once."""
        end_child(self._process)
        self._watch.close()

    def _await(self, work: Callable[[], bytes | None], seconds: float, cancel: CancelToken | None) -> bytes | None:
        """Run `work` on a thread; None if the child ends. Raises OutOfTime, Cancelled.

        Reading a pipe cannot be given up, on Windows in no way at all, but the child can be ended.
        """
        limit = monotonic() + seconds
        done: SimpleQueue[bytes | None] = SimpleQueue()
        thread = threading.Thread(target=_deliver, args=(work, done), name="outrider-render", daemon=True)
        thread.start()
        try:
            while True:
                try:
                    return done.get(timeout=_POLL_S)
                except Empty:
                    self._check(limit, cancel)
        except BaseException:
            self._process.kill()
            raise
        finally:
            thread.join()

    def _check(self, limit: float, cancel: CancelToken | None) -> None:
        if cancel is not None:
            cancel.check()
        if monotonic() > limit:
            raise OutOfTime
        if self._watch.exceeded():
            raise ChatTemplateFailed(Translatable("it takes too much memory"))

    def _code(self) -> int | None:
        """Return the exit status of the process, which has closed its output."""
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return None

    @property
    def _input(self) -> Any:
        return self._process.stdin

    @property
    def _output(self) -> Any:
        return self._process.stdout


def ask_child(
    hidden: str, task: Mapping[str, object], data: bytes, memory: int, cancel: CancelToken | None
) -> Generator[dict[str, Any], None, None]:
    """Yield the parts of the answer of a fresh child (`answer_parent`), which ends with the iterator.

    What one request did to it must not reach the next. Raises OutOfTime, ChatTemplateFailed, Cancelled.
    """
    request = json.dumps(task).encode() + b"\n" + data
    seconds = float(str(task["seconds"]))
    child = LimitedChild(hidden, memory)
    try:
        child.wait_until_ready(cancel)
        yield child.ask(lambda _seconds: request, seconds, cancel)
        while True:
            yield child.hear(seconds, cancel)
    finally:
        child.end()


def _deliver(work: Callable[[], bytes | None], done: SimpleQueue[bytes | None]) -> None:
    try:
        done.put(work())
    except OSError:
        done.put(None)


def _unavailable(reason: str) -> ChatTemplateFailed:
    return ChatTemplateFailed("the process that renders it cannot be started ({reason})", reason=reason)


class ChildPool:
    """Keep one child waiting for the next request. A request that finds it busy gets another one, which then ends."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._idle: LimitedChild | None = None
        self._keepers: WeakSet[Any] = WeakSet()

    @contextmanager
    def lease(self) -> Iterator[LimitedChild]:
        """Lend a child to one caller for the block. It ends if the block fails. Raises ChatTemplateFailed.

        Raises what the block raises.
        """
        child = self._take()
        try:
            yield child
        except BaseException:
            child.end()
            raise
        if child.spent:
            child.end()
        else:
            self._give_back(child)

    def _take(self) -> LimitedChild:
        """Return a child that nobody else asks. Raises ChatTemplateFailed."""
        with self._lock:
            child, self._idle = self._idle, None
        if child is not None and not child.alive:
            child.end()
            child = None
        return child or LimitedChild()

    def _give_back(self, child: LimitedChild) -> None:
        """Keep a child for the next request, or end it."""
        with self._lock:
            if self._idle is None and self._keepers:
                self._idle = child
                return
        child.end()

    def keep_warm(self, owner: object) -> None:
        """Keep a child for `owner`, and start it. A failure is reported to its callers."""
        with self._lock:
            self._keepers.add(owner)
            if self._idle is None:
                try:
                    self._idle = LimitedChild()
                except ChatTemplateFailed:
                    return

    def release(self, owner: object) -> None:
        """End the child that waits, unless somebody else keeps it."""
        with self._lock:
            self._keepers.discard(owner)
            if not self._keepers:
                self.end()

    def end(self) -> None:
        """End the child that waits."""
        with self._lock:
            child, self._idle = self._idle, None
        if child is not None:
            child.end()


pool = ChildPool()
"""The program's."""
atexit.register(pool.end)
