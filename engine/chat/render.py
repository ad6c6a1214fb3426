"""Render chat templates in a child process, with limits of memory and time.

A template is a program in a model file. The sandbox keeps it from files and from this program's objects, but not from
overflowing the stack, taking all memory, or computing for hours inside one C function, which no thread can interrupt.
The child stays warm on request (`keep_warm`), so an honest template costs one round trip.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat import limited_child
from engine.chat.inputs import ALWAYS_GIVEN, PLAIN_INPUT, TemplateMessage, letters_in
from engine.chat.limited_child import OutOfTime
from engine.errors import BackendClosed, ChatTemplateFailed
from engine.messages.message import Message
from engine.translatable import Translatable, unpacked

LIMIT_S = 2.0
"""Processor time of all renderings of one call together; more where the conversation is long."""
_LETTERS_PER_S = 1_000_000
_ENDLESS = Translatable("it does not terminate")
_LETTERS_AT_LEAST, _LETTERS_A_LETTER, _LETTERS_A_MESSAGE = 500_000, 4, 1_000
"""The longest rendered text: a longer one takes too long to read."""
_MOST_KEPT, _MOST_KEPT_LETTERS = 16, 200_000


class Refused(ChatTemplateFailed):
    """Report that a template ran and raised an error of its own: it may take the conversation in another form."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """Hold all that a template's text depends on, beside the clock.

    `variables`: all that it reads, as JSON; `letters`: the length of the texts in it; `messages`: their number.
    """

    template: str
    variables: str
    letters: int
    messages: int

    def request(self, seconds: float) -> bytes:
        """Return the message that asks the child for it; it computes for `seconds` at most."""
        room = _LETTERS_AT_LEAST + _LETTERS_A_LETTER * self.letters + _LETTERS_A_MESSAGE * self.messages
        limits = json.dumps({"template": self.template, "letters": room, "seconds": seconds})
        return f'{limits[:-1]}, "variables": {self.variables}}}'.encode()


class Renderer:
    """Render the templates of one call, which share its limit of time and its cancel token.

    Attributes: timed_out, whether that limit was reached; notes, what a person should know of how conversations were
    rendered, each once.
    """

    def __init__(self, cancel: CancelToken | None = None) -> None:
        self._cancel = cancel
        self._used_s = 0.0
        self.timed_out = False
        self.notes: tuple[str, ...] = ()

    def note(self, *notes: str) -> None:
        """Keep notes, each once."""
        self.notes = tuple(dict.fromkeys([*self.notes, *notes]))

    def render(
        self, template: str, messages: Sequence[Message | TemplateMessage], bos_token: str, eos_token: str
    ) -> str:
        """Return the text of a conversation, ready for the assistant's next turn. Raises ChatTemplateFailed, Cancelled.

        After a failure the next call finds a new child.
        """
        return self.render_variables(template, PLAIN_INPUT.variables(messages, bos_token, eos_token))

    def render_variables(self, template: str, variables: Mapping[str, object]) -> str:
        """Return the text of a template with these variables, plain JSON values. `messages` is among them.

        Raises Refused, ChatTemplateFailed, Cancelled, as `render` does.
        """
        if self._cancel is not None:
            self._cancel.check()
        messages = variables["messages"]
        count = len(messages) if isinstance(messages, Sequence) else 0
        rendering = Rendering(template, json.dumps(variables), letters_in(variables), count)
        key = _kept.key(rendering)
        text = _kept.find(key)
        if text is None:
            text = self._ask(rendering)
            _kept.keep(key, text)
        return text

    def names(self, template: str) -> tuple[str, ...]:
        """Return the variables of a template that not every one is given, such as enable_thinking.

        Raises Refused for what is no template, ChatTemplateFailed, Cancelled.
        """
        said = self._said(lambda seconds: json.dumps({"names": template, "seconds": seconds}).encode(), len(template))
        return tuple(name for name in said["names"] if name not in ALWAYS_GIVEN)

    def _ask(self, rendering: Rendering) -> str:
        return str(self._said(rendering.request, rendering.letters)["text"])

    def _said(self, request: Callable[[float], bytes], letters: int) -> dict[str, Any]:
        try:
            with limited_child.pool.lease() as child:
                child.wait_until_ready(self._cancel)
                said = child.ask(request, LIMIT_S + letters / _LETTERS_PER_S - self._used_s, self._cancel)
                self._used_s += float(said["used"])
        except OutOfTime:
            self.timed_out = True
            raise ChatTemplateFailed(_ENDLESS) from None
        if "reason" in said:
            kind = Refused if "raised" in said else ChatTemplateFailed
            raise kind(unpacked(said["reason"]))
        return said


def keep_warm(owner: object) -> None:
    """Start a child if there is none, and keep it until `owner` and all others release it or are gone."""
    limited_child.pool.keep_warm(owner)


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
            release(owner)


def release(owner: object) -> None:
    """End the child, unless somebody else keeps it."""
    limited_child.pool.release(owner)


_Key = tuple[Rendering, dt.datetime | None] | None


class _Kept:
    """Keep the last texts: the context meter asks for those of the reply that follows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[_Key, str] = OrderedDict()

    def key(self, rendering: Rendering) -> _Key:
        """Return the cache key of a text; None: it is too long for that."""
        if rendering.letters + len(rendering.template) > _MOST_KEPT_LETTERS:
            return None
        # A template can look at the clock: its text holds for this second.
        clock = "strftime_now" in rendering.template
        return rendering, dt.datetime.now().astimezone().replace(microsecond=0) if clock else None

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


_kept = _Kept()
