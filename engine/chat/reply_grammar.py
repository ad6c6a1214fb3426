"""Parse replies by their chat template: by the grammar that llama.cpp makes of it, or by thought tags.

llama.cpp knows how the families of models mark reasoning, answers and tool calls, and finds it out of the template
where it does not. It runs the template for that, so it is asked in the child that renders templates (parser_child).
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from time import monotonic
from typing import Any, Literal, NamedTuple, Protocol

from engine.chat import limited_child
from engine.chat.limited_child import OutOfTime
from engine.errors import ChatTemplateFailed
from engine.messages.tools import with_single_types, without_parameters
from engine.translatable import Translatable, unpacked

Place = Literal["reasoning", "content", "tool", ""]
"""A part of a reply; '' between two of them."""
Ends = Mapping[str, tuple[str, ...] | None]
"""The markers before which each part ends; None if it can end otherwise."""

_WITHOUT_DOOR = Translatable(
    "This llama.cpp was compiled without Outrider's sources: replies are parsed by think tags alone, and tool calls "
    "are not recognised. Install Outrider from its sources (make setup) or with an installer."
)
_LIMIT_S = 2.0
_LETTERS_PER_S = 1_000_000
_MOST_KEPT = 16
_SWITCHES = ("enable_thinking", "thinking", "enable_reasoning")
"""Variables by which templates switch thinking."""
_OPENING, _CLOSING = "<think>", "</think>"
_FAILED_S = 60.0
"""Seconds after which a template that failed is tried again."""


class SeenCall(NamedTuple):
    """Hold a tool call as it stands in the text. `arguments`: JSON, as far as it has come; `id`: '' for none."""

    id: str
    name: str
    arguments: str


class ParsedText(NamedTuple):
    """Hold the parts of a text. `place`: the part that more text continues; `last`: the last part so far.

    `settled`: how many characters have become part of one; `whole`: whether all of it was understood, otherwise these
    are the parts of its longest beginning that was.
    """

    reasoning: str = ""
    content: str = ""
    calls: tuple[SeenCall, ...] = ()
    place: Place = ""
    last: Place = ""
    settled: int = 0
    whole: bool = True


class Grammar(Protocol):
    """Part a text.

    Attributes: begun (the end of the prompt that it expects); ends (the markers before which parts end); plain (whether
    a reply that begins with a letter is content, as far as none of their first characters comes).
    """

    begun: str
    ends: Ends

    @property
    def plain(self) -> bool: ...

    def parse(self, text: str) -> ParsedText:
        """Return the parts of a reply, or of its beginning. Raises ChatTemplateFailed."""


@dataclass(frozen=True, slots=True)
class GrammarRequest:
    """Hold the inputs on which the grammar of a model's replies depends.

    `tools`: descriptions of functions that the model was given; `thinking`: whether it may think; `options`: further
    variables of the template by name.
    """

    template: str
    bos_token: str = ""
    eos_token: str = ""
    tools: Sequence[Mapping[str, Any]] = ()
    thinking: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the input of door.cpp."""
        return {
            "template": self.template,
            "bos": self.bos_token,
            "eos": self.eos_token,
            "tools": list(self.tools),
            "thinking": self.thinking,
            "kwargs": dict(self.options),
            "messages": [{"role": "user", "content": "Hello"}],
        }


class TemplateGrammar:
    """Part replies as llama.cpp does for a template (see Grammar)."""

    def __init__(self, fields: dict[str, Any], grammar: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """Hold it. `before`: the parts of an empty reply, which are the prompt's: llama.cpp reads its end too."""
        self._asked, self._before = fields, before
        self.begun = str(grammar["begun"])
        self.ends: Ends = {place: _markers(grammar[place]) for place in ("reasoning", "content")}

    @cached_property
    def plain(self) -> bool:
        """Return True if a letter at the beginning is content."""
        with suppress(ChatTemplateFailed):
            return self.ends["content"] is not None and self.parse("x")[:4] == ("", "x", (), "content")
        return False

    def parse(self, text: str) -> ParsedText:
        """Return the parts of a reply, or of its beginning. Raises ChatTemplateFailed."""
        said = _ask(self._asked, text)["parts"]
        data = text.encode("utf-8", "replace")
        settled = len(data[: said["settled"]].decode("utf-8", "replace"))
        calls = tuple(SeenCall(call["id"], call["name"], call["arguments"]) for call in said["calls"])
        reasoning, content = (said[part].removeprefix(self._before[part]) for part in ("reasoning", "content"))
        return ParsedText(reasoning, content, calls, said["place"], said["last"], settled, said["whole"])


def _markers(listed: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if listed is None else tuple(listed)


class TagGrammar:
    """Parse replies whose thoughts are in think tags (see Grammar). `opened`: the prompt opened the thought."""

    def __init__(self, *, opened: bool = False) -> None:
        self._opened = opened
        self.begun = _OPENING if opened else ""
        self.plain = not opened
        self.ends: Ends = {"reasoning": (_CLOSING,), "content": ()}

    def parse(self, text: str) -> ParsedText:
        """Return the parts of a reply, or of its beginning."""
        start = 0
        if not self._opened:
            start = len(text) - len(text.lstrip())
            if _OPENING.startswith(text[start:]) and len(text) - start < len(_OPENING):
                return ParsedText()
            if not text.startswith(_OPENING, start):
                return ParsedText(content=text, place="content", last="content", settled=len(text))
            start += len(_OPENING)
        thought, closing, said = text[start:].partition(_CLOSING)
        if not closing:
            kept = len(text) - beginning_of(text, (_CLOSING,))
            thought = text[start:kept]
            thought = thought if thought.strip() else ""
            return ParsedText(thought, place="reasoning" if kept == len(text) else "", last="reasoning", settled=kept)
        thought, said = thought if thought.strip() else "", said.lstrip("\n")
        return ParsedText(thought, said, (), "content" if said else "", "content", len(text))


class ThoughtBefore:
    """Part off a thought in think tags before the reply that a grammar without thoughts reads (see Grammar)."""

    def __init__(self, grammar: Grammar, *, opened: bool) -> None:
        self._grammar, self._tags = grammar, TagGrammar(opened=opened)
        self.begun = grammar.begun
        self.plain = grammar.plain and not opened
        self.ends: Ends = {**grammar.ends, "reasoning": self._tags.ends["reasoning"]}

    def parse(self, text: str) -> ParsedText:
        """Return the parts of a reply, or of its beginning. Raises ChatTemplateFailed."""
        tags = self._tags.parse(text)
        if not tags.content:
            return tags
        start = len(text) - len(tags.content)
        rest = self._grammar.parse(tags.content)
        return rest._replace(reasoning=tags.reasoning + rest.reasoning, settled=start + rest.settled)


def beginning_of(text: str, markers: Sequence[str]) -> int:
    """Return the number of characters at the end of a text that may begin one of the markers."""
    for size in range(min(max(map(len, markers), default=1) - 1, len(text)), 0, -1):
        if any(len(marker) > size and marker.startswith(text[-size:]) for marker in markers):
            return size
    return 0


class _Kept:
    """Keep the grammars that were opened last; for a while also the failures, since repeating them may take long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._grammars: OrderedDict[str, TemplateGrammar] = OrderedDict()
        self._failures: dict[str, tuple[float, ChatTemplateFailed]] = {}

    def refuse(self, key: str) -> None:
        """Raise ChatTemplateFailed if that failed a short time ago."""
        with self._lock:
            self._failures = {k: kept for k, kept in self._failures.items() if kept[0] > monotonic()}
            known = self._failures.get(key)
        if known is not None:
            raise ChatTemplateFailed(known[1].reason)

    def keep_failure(self, key: str, error: ChatTemplateFailed) -> None:
        with self._lock:
            self._failures[key] = monotonic() + _FAILED_S, error

    def find(self, key: str) -> TemplateGrammar | None:
        with self._lock:
            if key in self._grammars:
                self._grammars.move_to_end(key)
            return self._grammars.get(key)

    def keep(self, key: str, grammar: TemplateGrammar) -> None:
        with self._lock:
            self._grammars[key] = grammar
            while len(self._grammars) > _MOST_KEPT:
                self._grammars.popitem(last=False)


_kept = _Kept()


def open_grammar(request: GrammarRequest) -> TemplateGrammar | None:
    """Return the grammar of a template; None where llama.cpp was compiled without the door.

    Raises ChatTemplateFailed where llama.cpp cannot make one.
    """
    fields = request.to_json()
    key = json.dumps(fields)
    found = _kept.find(key)
    if found is None:
        _kept.refuse(key)
        try:
            said = _ask(fields, "")
        except ChatTemplateFailed as error:
            _kept.keep_failure(key, error)
            raise
        if "lacking" in said:
            return None
        found = TemplateGrammar(fields, said["grammar"], said["parts"])
        _kept.keep(key, found)
    return found


def usable_grammar(request: GrammarRequest, prompt_end: str | None = None) -> tuple[Grammar, Translatable | None]:
    """Return the grammar of a template, and a note if it knows think tags alone.

    `prompt_end`: the end of the prompt that the reply follows, where it is known. It decides whether the prompt opened
    a thought, whatever the request says.
    """
    note = _WITHOUT_DOOR
    try:
        grammar, request = _open_with_tools(request)
        if grammar is not None and prompt_end is not None and not prompt_end.endswith(grammar.begun):
            grammar = _fitting(request, prompt_end) or grammar
        if grammar is not None:
            known = grammar.begun.rstrip().endswith(_OPENING)
            opened = known if prompt_end is None else prompt_end.rstrip().endswith(_OPENING)
            # Of a template that drops the thoughts of earlier turns llama.cpp may not see that the model thinks.
            unseen = grammar.ends["reasoning"] == () or (opened and not known)
            return (ThoughtBefore(grammar, opened=opened) if unseen else grammar), None
    except ChatTemplateFailed as error:
        note = Translatable(
            "Replies are parsed by think tags alone, because llama.cpp cannot use the chat template: {reason}.",
            reason=error.reason,
        )
    return TagGrammar(opened=prompt_end is not None and prompt_end.rstrip().endswith(_OPENING)), note


def _open_with_tools(request: GrammarRequest) -> tuple[TemplateGrammar | None, GrammarRequest]:
    """Return the grammar of a template, with the request for it: one tool that it cannot describe costs no other.

    Such a tool is shown with one type for each parameter, or else without its parameters. Raises ChatTemplateFailed as
    `open_grammar` does.
    """
    try:
        return open_grammar(request), request
    except ChatTemplateFailed as error:
        first = error
    single = replace(request, tools=with_single_types(request.tools))
    if single.tools != list(request.tools):
        with suppress(ChatTemplateFailed):
            return open_grammar(single), single
    known = _describable(json.dumps(single.to_json()))
    if all(known):
        raise first
    tools = [tool if good else without_parameters(tool) for tool, good in zip(single.tools, known, strict=True)]
    tried = replace(request, tools=tools)
    return open_grammar(tried), tried


@lru_cache(maxsize=_MOST_KEPT)
def _describable(fields: str) -> tuple[bool, ...]:
    """Check each tool of a request (JSON) for a template that can describe it; False for those out of time."""
    request, end = json.loads(fields), monotonic() + _LIMIT_S

    def is_described(tool: Mapping[str, Any]) -> bool:
        with suppress(ChatTemplateFailed):
            return monotonic() < end and bool(_ask(request | {"tools": [tool]}, ""))
        return False

    return tuple(map(is_described, request["tools"]))


def _fitting(request: GrammarRequest, prompt_end: str) -> TemplateGrammar | None:
    """Return the grammar of the template that expects this end of a prompt, however thinking was switched in it."""
    other = not request.thinking
    ways: list[tuple[bool, Mapping[str, bool | None]]] = [
        (other, {}),
        *((on, dict.fromkeys(_SWITCHES, on)) for on in (request.thinking, other)),
        (other, dict.fromkeys(_SWITCHES)),
    ]
    for thinking, switches in ways:
        tried = replace(request, thinking=thinking, options={**request.options, **switches})
        with suppress(ChatTemplateFailed):
            grammar = open_grammar(tried)
            if grammar is not None and prompt_end.endswith(grammar.begun):
                return grammar
    return None


def _ask(grammar: dict[str, Any], text: str) -> dict[str, Any]:
    """Ask the child. Raises ChatTemplateFailed."""

    def request(seconds: float) -> bytes:
        return json.dumps({"grammar": grammar, "reply": text, "seconds": seconds}).encode()

    try:
        with limited_child.pool.lease() as child:
            child.wait_until_ready(None)
            said = child.ask(request, _LIMIT_S + len(text) / _LETTERS_PER_S, None)
    except OutOfTime:
        raise ChatTemplateFailed(Translatable("it does not terminate")) from None
    if "reason" in said:
        raise ChatTemplateFailed(unpacked(said["reason"]))
    return said
