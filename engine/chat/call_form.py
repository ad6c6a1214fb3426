"""Find a model family's form of tool calls by rendering: the texts around the name and the arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from engine.backends.base import Tokenizer
from engine.chat.inputs import TemplateInput
from engine.chat.render import Renderer
from engine.chat.repairs import TemplateChat, render_usable
from engine.chat.reply_grammar import GrammarRequest, usable_grammar
from engine.chat.template import choose_template
from engine.errors import ChatTemplateFailed

CALL_ID = "q1w2e3r4t"
"""Stands for the id of a call, of nine letters and digits, which some families write too."""
_NAMES = ("qzfirst", "qzother")
_KEYS, _VALUES = ("qza", "qzb"), ("qzvone", "qzvtwo")
_COUNT, _NUMBER = "qzc", 7319
_ARGUMENTS = re.compile(r'\{{\s*"{0}"\s*:\s*"{2}"\s*,\s*"{1}"\s*:\s*"{3}"\s*\}}'.format(*_KEYS, *_VALUES))
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "",
            "parameters": {
                "type": "object",
                "properties": {**{key: {"type": "string"} for key in _KEYS}, _COUNT: {"type": "integer"}},
                "required": [],
            },
        },
    }
    for name in _NAMES
]
_QUESTION = {"role": "user", "content": "Hello"}


class Tags(NamedTuple):
    """Describe arguments that are written one by one: the separators between them and around their values.

    `opens`: before the first name; `equals`: between a name and its value; `joins`: between a value and the next name;
    `closes`: behind the last value; `quotes`: before and behind a text; `plain`: before and behind any other value;
    `json`: texts are JSON.
    """

    opens: str
    equals: str
    joins: str
    closes: str
    quotes: tuple[str, str] = ("", "")
    json: bool = False
    plain: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class CallForm:
    """Hold the texts of calls: `head`, then of each call its name, `middle` and its arguments, at last `tail`.

    `between`: from one call to the next, None if a reply has one alone. `name_first` False: the arguments stand
    before the name. `empty`: what stands behind the name of a call without arguments, where they are told as `tags`,
    None if such a call is not read; `tags` None: they are JSON. `blanks`: empty lines may stand before the head.
    """

    head: str
    middle: str
    tail: str
    between: str | None = None
    name_first: bool = True
    tags: Tags | None = None
    empty: str | None = ""
    blanks: bool = True


BARE = CallForm('{"name": "', '", "arguments": ', "}")
"""The form of models whose template writes no readable one: it counts as a call if it is the whole reply."""
PYTHONIC = CallForm(
    "<|tool_call_start|>[", "", "]<|tool_call_end|>", ", ", tags=Tags("(", "=", ", ", ")", json=True), empty="()"
)
"""The form of LFM2 models, whose templates may leave it to who calls them to write calls."""
_MOST_MARKS = 4
_known: WeakKeyDictionary[Tokenizer, tuple[str, CallForm]] = WeakKeyDictionary()


def call_form(tokenizer: Tokenizer, given: TemplateInput, renderer: Renderer, ends: Sequence[str]) -> CallForm:
    """Find the form of a model's calls, once for its template. Raises Cancelled.

    `given`: what its template reads; `ends`: the texts of what ends a reply.
    """
    template = choose_template(tokenizer.chat_templates, replace(given, tools=_TOOLS))
    if template is None:
        return BARE
    kept = _known.get(tokenizer)
    if kept is None or kept[0] != template:
        finder = _Finder(template, tokenizer, given, renderer, ends)
        kept = template, finder.find() or BARE
        if renderer.timed_out or finder.unsure:
            return kept[1]
        _known[tokenizer] = kept
    return kept[1]


class _Finder:
    """Find the form. Attribute: unsure, True if the output could not be read, perhaps for lack of time."""

    def __init__(
        self, template: str, tokenizer: Tokenizer, given: TemplateInput, renderer: Renderer, ends: Sequence[str]
    ) -> None:
        self._template, self._tokenizer, self._ends = template, tokenizer, ends
        self.unsure = False
        self._given, self._renderer = replace(given, tools=_TOOLS), renderer
        self._asked = GrammarRequest(
            template, tokenizer.bos_token, tokenizer.eos_token, _TOOLS, options=given.arguments
        )

    def find(self) -> CallForm | None:
        """Return the form, None if none is found that is read as calls again."""
        try:
            prompt = self._render()
            arguments = dict(zip(_KEYS, _VALUES, strict=True))
            one = self._written(prompt, [arguments])
            form = (
                None if one is None else self._of_json(one, prompt, arguments) or self._of_tags(one, prompt, arguments)
            )
        except ChatTemplateFailed:
            return None
        filled: Mapping[str, Any] = {**arguments, _COUNT: _NUMBER}
        tries = [] if form is None else [form]
        for _ in range(_MOST_MARKS if tries else 0):
            tries.append(_without_last_mark(tries[-1]))
        form = next((each for each in (*tries, PYTHONIC) if self._is_read(each, [(_NAMES[0], filled)])), None)
        if form is None or _NAMES[0] in write_calls(form, [("", filled)]):  # The name stands there twice.
            return None
        form = replace(form, blanks=self._is_read(form, [(_NAMES[0], filled)], "\n\n"))
        if not self._is_read(form, [(_NAMES[0], {})]):
            return replace(form, between=None, empty=None) if form.tags is not None else None
        several = form.between is None or self._is_read(form, [(_NAMES[0], filled), (_NAMES[1], {})])
        return form if several else replace(form, between=None)

    def _render(self, calls: Sequence[Mapping[str, Any]] = ()) -> str:
        """Return the prompt of a question, or the conversation with calls of these arguments behind it."""
        messages: list[dict[str, Any]] = [_QUESTION]
        options: dict[str, object] = {}
        if calls:
            functions = [{"name": _NAMES[place], "arguments": each} for place, each in enumerate(calls)]
            listed = [{"id": CALL_ID, "type": "function", "function": function} for function in functions]
            messages.append({"role": "assistant", "content": "", "tool_calls": listed})
            options["add_generation_prompt"] = False
        given = replace(self._given, arguments={**self._given.arguments, **options})
        chat = TemplateChat(messages, given, self._tokenizer.bos_token, self._tokenizer.eos_token)
        return render_usable(self._renderer, self._template, chat)

    def _written(self, prompt: str, calls: Sequence[Mapping[str, Any]]) -> str | None:
        """Return the reply that a template makes of calls, without a thought before it; None if it lacks a name."""
        text = self._render(calls)
        same = next((place for place, pair in enumerate(zip(prompt, text, strict=False)) if len(set(pair)) > 1), None)
        begin = whole_tags(text, min(len(prompt), len(text)) if same is None else same)
        place = text.rfind(_NAMES[0]) if len(calls) == 1 else text.find(_NAMES[0], begin)
        if place < begin:
            return None
        thought = max(
            (text.rfind(end, begin, place) + len(end) for end in _THOUGHT_ENDS if end in text[begin:place]), default=0
        )
        reply = text[max(begin, thought) :].lstrip("\n")
        return _cut(reply, reply.find(_NAMES[len(calls) - 1]), self._ends)

    def _of_json(self, one: str, prompt: str, arguments: Mapping[str, Any]) -> CallForm | None:
        found = _ARGUMENTS.search(one)
        if found is None:
            return None
        name = one.find(_NAMES[0])
        name_first = name < found.start()
        first, second = sorted(((name, name + len(_NAMES[0])), found.span()))
        form = CallForm(one[: first[0]], one[first[1] : second[0]], one[second[1] :], name_first=name_first)
        return replace(
            form, between=self._between(prompt, arguments, lambda two: _json_gap(two, name_first=name_first))
        )

    def _of_tags(self, one: str, prompt: str, arguments: Mapping[str, Any]) -> CallForm | None:
        places = [one.find(text) for text in (_NAMES[0], _KEYS[0], _VALUES[0], _KEYS[1], _VALUES[1])]
        if places != sorted(places) or places[0] < 0 or len(set(places)) < len(places):
            return None
        name, key, value, other, last = places
        opens = one[name + len(_NAMES[0]) : key]
        equals, again = one[key + len(_KEYS[0]) : value], one[other + len(_KEYS[1]) : last]
        joins, closes = one[value + len(_VALUES[0]) : other], one[last + len(_VALUES[1]) :]
        empty = self._written(prompt, [{}])
        texts = (opens, equals, joins, closes)
        if again != equals or not joins or empty is None or any(key in text for key in _KEYS for text in texts):
            return None
        tags = self._quoted(Tags(opens, equals, joins, closes), prompt)
        if tags is None:
            return None
        behind = empty[empty.find(_NAMES[0]) + len(_NAMES[0]) :]
        form = CallForm(one[:name], "", "", tags=tags, empty=behind)
        two = self._between(prompt, arguments, _tags_gap)
        shared = 0 if two is None else whole_tags(closes, len(common_start(two, closes)))
        tail = closes[shared:]
        # What a call without arguments ends with is the same as that of others, or there is but one call.
        if two is None or not two[shared:] or not behind.endswith(tail) or len(tags.quotes[1]) > shared:
            return form
        ended = tags._replace(closes=closes[len(tags.quotes[1]) : shared])
        return replace(form, tags=ended, tail=tail, between=two[shared:], empty=behind.removesuffix(tail))

    def _quoted(self, tags: Tags, prompt: str) -> Tags | None:
        """Return the tags with the quotes of texts and of numbers apart; None if that is unclear."""
        one = self._written(prompt, [{_KEYS[0]: _NUMBER, _KEYS[1]: _VALUES[1]}])
        if one is None or str(_NUMBER) not in one:
            return None
        key = one.find(_KEYS[0]) + len(_KEYS[0])
        value = one.find(str(_NUMBER), key)
        equals, joins = one[key:value], one[value + len(str(_NUMBER)) : one.find(_KEYS[1], value)]
        shared, ending = common_start(equals, tags.equals), common_start(joins[::-1], tags.joins[::-1])[::-1]
        before, behind = tags.equals[len(shared) :], tags.joins[: len(tags.joins) - len(ending)]
        if not tags.closes.startswith(behind):
            return None
        plain = equals[len(shared) :], joins[: len(joins) - len(ending)]
        bare = Tags(tags.opens, shared, ending, tags.closes[len(behind) :], (before, behind), plain=plain)
        return bare._replace(quotes=("", ""), json=True) if (before, behind) == ('"', '"') else bare

    def _between(self, prompt: str, arguments: Mapping[str, Any], gap: Callable[[str], str]) -> str | None:
        try:
            two = self._written(prompt, [arguments, arguments])
        except ChatTemplateFailed:
            return None
        if two is None or two.find(_NAMES[1]) < two.find(_NAMES[0]):
            return None
        return gap(two) or None

    def _is_read(self, form: CallForm, calls: list[tuple[str, Mapping[str, Any]]], blanks: str = "") -> bool:
        """Return True if calls written in the form, behind `blanks`, are read as these calls."""
        try:
            grammar, note = usable_grammar(self._asked)
            text = blanks + write_calls(form, calls)
            ends = tuple(grammar.ends.get("reasoning") or ())
            open_thought = not grammar.begun.rstrip().endswith(ends)  # Or one may be open: no prompt says so for sure.
            for before in ("", *(f"{end}\n\n" for end in ends if open_thought)):
                parsed = grammar.parse(f"{before}{text}")
                seen = [(call.name, json.loads(call.arguments or "{}")) for call in parsed.calls]
                if note is None and not parsed.content.strip() and seen == calls:
                    return True
        except ChatTemplateFailed:
            self.unsure = True
        except ValueError:
            pass
        return False


_THOUGHT_ENDS = ("</think>", "[/THINK]", "<channel|>", "</seed:think>", "<|END_THINKING|>", "</thought>")


def write_calls(form: CallForm, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Return a reply that is these calls."""
    written = [_one_call(form, name, arguments) for name, arguments in calls]
    return f"{form.head}{(form.between or '').join(written)}{form.tail}"


def _one_call(form: CallForm, name: str, arguments: Mapping[str, Any]) -> str:
    if form.tags is None:
        written = json.dumps(arguments, ensure_ascii=False)
        return f"{name}{form.middle}{written}" if form.name_first else f"{written}{form.middle}{name}"
    tags, values = form.tags, []
    for key, value in arguments.items():
        text = value if isinstance(value, str) and not tags.json else json.dumps(value, ensure_ascii=False)
        before, behind = tags.quotes if isinstance(value, str) else tags.plain
        values.append(f"{key}{tags.equals}{before}{text}{behind}")
    return f"{name}{tags.opens}{tags.joins.join(values)}{tags.closes}" if values else f"{name}{form.empty}"


_LAST_MARK = re.compile(r"\s*(<[^<>]*>|\[[^\[\]]*[\[\]])$")


def _without_last_mark(form: CallForm) -> CallForm:
    """Return a form without the last mark of its end, which may be the end of the reply."""
    if form.tail or form.tags is None:
        return replace(form, tail=_LAST_MARK.sub("", form.tail))
    tags = form.tags._replace(closes=_LAST_MARK.sub("", form.tags.closes))
    return replace(form, tags=tags, empty=_LAST_MARK.sub("", form.empty or ""))


def _json_gap(two: str, *, name_first: bool) -> str:
    """Return the text between two calls whose arguments are JSON."""
    spans = [found.span() for found in _ARGUMENTS.finditer(two)]
    if len(spans) != 2:
        return ""
    names = [(place, place + len(name)) for name in _NAMES if (place := two.find(name)) >= 0]
    return two[spans[0][1] : names[1][0]] if name_first else two[names[0][1] : spans[1][0]]


def _tags_gap(two: str) -> str:
    """Return the text between the last value of the first of two calls and the name of the second."""
    name = two.find(_NAMES[1])
    return two[two.rfind(_VALUES[1], 0, name) + len(_VALUES[1]) : name]


def _cut(reply: str, behind: int, ends: Sequence[str]) -> str:
    """Return a reply without its end markers behind a place."""
    places = [place for end in ends if end and (place := reply.find(end, behind)) >= 0]
    return reply[: min(places)] if places else reply.rstrip()


def whole_tags(text: str, place: int) -> int:
    """Return a place, or if it is within a tag of a text, the beginning of the tag."""
    opened = text.rfind("<", 0, place)
    begun = text[opened:place] if opened >= 0 else ""
    return opened if begun and ">" not in begun and not any(map(str.isspace, begun)) else place


def common_start(*texts: str) -> str:
    count = next((place for place, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), None)
    return texts[0][: min(map(len, texts)) if count is None else count]
