"""Render chat templates in a process of their own, with a limit of memory and of time.

A template is a program in a model file. The sandbox keeps it from files and from this program's objects, but not from
overflowing the stack, taking all memory, or computing for hours inside one C function, which no thread can interrupt.
The child is kept warm while somebody wants it (`keep_warm`), so an honest template costs a message there and back.
"""

from __future__ import annotations

import atexit
import datetime as dt
import json
import math
import signal
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from weakref import WeakSet

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import Message
from engine.errors import BackendClosed, ChatTemplateFailed
from engine.system.child import MemoryWatch, child_command, end_child, start_child
from engine.system.child_side import read_message, write_message
from engine.system.hidden_commands import RENDERING
from engine.translatable import Translatable, unpacked

LIMIT_S = 2.0
"""How long all renderings of one call may take together; more where the conversation is long."""
_LETTERS_PER_S = 1_000_000
_START_LIMIT_S = 30.0
_MEMORY_BYTES = 400 * 2**20
"""The whole child, where it cannot limit itself."""
_POLL_S = 0.02
_END_BY_TIME = -getattr(signal, "SIGXCPU", 0)
_ENDLESS = Translatable("it does not terminate")
_END_S = 1.0
_LETTERS_AT_LEAST, _LETTERS_A_LETTER, _LETTERS_A_MESSAGE = 500_000, 4, 1_000
"""How long a rendered text may be: whatever is longer takes too long to read."""
_MOST_KEPT, _MOST_KEPT_LETTERS = 16, 200_000


@dataclass(frozen=True, slots=True)
class Rendering:
    """Hold all that a template's text depends on, beside the clock."""

    template: str
    messages: tuple[Message, ...]
    bos_token: str
    eos_token: str

    @property
    def letters(self) -> int:
        """Return the length of the conversation."""
        return sum(len(message.content) for message in self.messages)

    def request(self, seconds: float) -> bytes:
        """Return the message that asks the child for it; it computes for `seconds` at most."""
        room = _LETTERS_AT_LEAST + _LETTERS_A_LETTER * self.letters + _LETTERS_A_MESSAGE * len(self.messages)
        variables = {
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "bos_token": self.bos_token,
            "eos_token": self.eos_token,
            "add_generation_prompt": True,
            "tools": None,
        }
        asked = {"template": self.template, "variables": variables, "letters": room, "seconds": math.ceil(seconds) + 1}
        return json.dumps(asked).encode()


class Renderer:
    """Render the templates of one call, which share its limit of time and its cancel token.

    Attribute: timed_out, whether that limit was reached.
    """

    def __init__(self, cancel: CancelToken | None = None) -> None:
        self._cancel = cancel
        self._began: float | None = None
        self.timed_out = False

    def render(self, template: str, messages: Sequence[Message], bos_token: str, eos_token: str) -> str:
        """Return the text of a conversation, ready for the assistant's next turn. Raises ChatTemplateFailed, Cancelled.

        After a failure the next call finds a new child.
        """
        if self._cancel is not None:
            self._cancel.check()
        asked = Rendering(template, tuple(messages), bos_token, eos_token)
        key = _kept.key(asked)
        text = _kept.find(key)
        if text is None:
            text = self._ask(asked)
            _kept.keep(key, text)
        return text

    def _ask(self, asked: Rendering) -> str:
        child = _pool.take()
        try:
            child.wait_until_ready(self._cancel)
            self._began = self._began or monotonic()
            limit = self._began + LIMIT_S + asked.letters / _LETTERS_PER_S
            said = child.ask(asked, limit, self._cancel)
        except _TooLong:
            self.timed_out = True
            child.end()
            raise ChatTemplateFailed(_ENDLESS) from None
        except BaseException:
            child.end()
            raise
        if "spent" in said:
            child.end()
        else:
            _pool.give_back(child)
        if "text" in said:
            return str(said["text"])
        raise ChatTemplateFailed(unpacked(said["reason"]))


def keep_warm(owner: object) -> None:
    """Start a child if there is none, and keep it until `owner` and all others let go of it or are gone."""
    _pool.keep_warm(owner)


@contextmanager
def warming(owner: object, model: Callable[[], Backend | None], *, early: bool) -> Iterator[None]:
    """Keep a child for `owner` after the block if `model` has a chat template then; `early`: start it before."""
    if early:
        keep_warm(owner)
    try:
        yield
    finally:
        loaded, template = model(), None
        with suppress(BackendClosed):  # Another thread may have closed it.
            template = None if loaded is None else loaded.tokenizer.chat_template
        if template is not None:
            keep_warm(owner)
        else:
            let_go(owner)


def let_go(owner: object) -> None:
    """End the child, unless somebody else keeps it."""
    _pool.let_go(owner)


class _TooLong(Exception):
    """Report that the limit of time is reached."""


class _Child:
    """Talk to a process that renders."""

    def __init__(self) -> None:
        try:
            self._process = start_child(child_command(RENDERING))
        except OSError as error:
            raise _unavailable(error.strerror or str(error)) from None
        self._watch = MemoryWatch(self._process, _MEMORY_BYTES)
        self._ready = False

    @property
    def alive(self) -> bool:
        """Return whether it can be asked something."""
        return self._process.poll() is None

    def wait_until_ready(self, cancel: CancelToken | None) -> None:
        """Wait until it has started. Raises ChatTemplateFailed, Cancelled."""
        if self._ready:
            return
        try:
            greeting = self._await(lambda: read_message(self._output, 100), monotonic() + _START_LIMIT_S, cancel)
        except _TooLong:
            raise _unavailable(Translatable("it took too long")) from None
        if greeting is None:
            raise _unavailable(f"it ended with {self._code()}")
        self._ready = True

    def ask(self, asked: Rendering, limit: float, cancel: CancelToken | None) -> dict[str, Any]:
        """Return its answer to a request, until `limit` (monotonic). Raises _TooLong, ChatTemplateFailed, Cancelled."""
        seconds = limit - monotonic()
        if seconds <= 0:
            raise _TooLong
        request = asked.request(seconds)

        def exchange() -> bytes | None:
            write_message(self._input, request)
            return read_message(self._output, 2**30)

        answer = self._await(exchange, limit, cancel)
        if answer is not None:
            return dict(json.loads(answer))
        if self._code() == _END_BY_TIME:
            raise _TooLong
        raise ChatTemplateFailed(Translatable("it crashes the process that renders it"))

    def end(self) -> None:
        """End it at once."""
        end_child(self._process)
        self._watch.close()

    def _await(self, work: Callable[[], bytes | None], limit: float, cancel: CancelToken | None) -> bytes | None:
        """Return what `work` gives, done on a thread; None where the child ends. Raises _TooLong, Cancelled.

        Reading a pipe cannot be given up, on Windows in no way at all, but the child can be ended.
        """
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
            raise _TooLong
        if self._watch.exceeded():
            raise ChatTemplateFailed(Translatable("it takes too much memory"))

    def _code(self) -> int | None:
        """Return how the process ended, which has closed its output."""
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


def _deliver(work: Callable[[], bytes | None], done: SimpleQueue[bytes | None]) -> None:
    try:
        done.put(work())
    except OSError:
        done.put(None)


def _unavailable(reason: str) -> ChatTemplateFailed:
    return ChatTemplateFailed(Translatable("the process that renders it cannot be started ({reason})", reason=reason))


class _Pool:
    """Keep one child waiting for the next request. A request that finds it busy gets another one, which then ends."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._idle: _Child | None = None
        self._keepers: WeakSet[Any] = WeakSet()

    def take(self) -> _Child:
        """Return a child that nobody else asks. Raises ChatTemplateFailed."""
        with self._lock:
            child, self._idle = self._idle, None
        if child is not None and not child.alive:
            child.end()
            child = None
        return child or _Child()

    def give_back(self, child: _Child) -> None:
        """Keep a child for the next request, or end it."""
        with self._lock:
            if self._idle is None and self._keepers:
                self._idle = child
                return
        child.end()

    def keep_warm(self, owner: object) -> None:
        """Keep a child for `owner`, and start it. Where that fails, whoever asks it is told."""
        with self._lock:
            self._keepers.add(owner)
            if self._idle is None:
                try:
                    self._idle = _Child()
                except ChatTemplateFailed:
                    return

    def let_go(self, owner: object) -> None:
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


_Key = tuple[Rendering, dt.datetime | None] | None


class _Kept:
    """Keep the last texts: the context meter asks for those of the reply that follows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[_Key, str] = OrderedDict()

    def key(self, asked: Rendering) -> _Key:
        """Return under which key a text is kept; None: it is too long for that."""
        if asked.letters + len(asked.template) > _MOST_KEPT_LETTERS:
            return None
        # A template can look at the clock: its text holds for this second.
        clock = "strftime_now" in asked.template
        return asked, dt.datetime.now().astimezone().replace(microsecond=0) if clock else None

    def find(self, key: _Key) -> str | None:
        """Return a text that is kept."""
        with self._lock:
            if key in self._texts:
                self._texts.move_to_end(key)
            return self._texts.get(key)

    def keep(self, key: _Key, text: str) -> None:
        """Keep a text, and let the one go that was not asked for longest."""
        if key is None or len(text) > _MOST_KEPT_LETTERS:
            return
        with self._lock:
            self._texts[key] = text
            while len(self._texts) > _MOST_KEPT:
                self._texts.popitem(last=False)


_pool = _Pool()
_kept = _Kept()
atexit.register(_pool.end)
