"""Find what a chat template puts behind a reply: a token or a text with which the model ends it too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from engine.backends.base import Tokenizer
from engine.chat.inputs import PLAIN_INPUT
from engine.chat.render import Renderer
from engine.errors import ChatTemplateFailed

_REPLY, _THOUGHT, _TOOL = "QRXYZ", "QTXYZ", "qfxyz"
"""Texts that stand in no template."""
_MARKERS_BEGIN = "<["
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """Hold what ends a reply beside the model's own end tokens: token ids, and texts where no token stands for them.

    `marker`: the text of either, "" for nothing.
    """

    marker: str = ""
    tokens: frozenset[int] = frozenset()
    texts: tuple[str, ...] = ()


_NOTHING = TurnEnd()
_known: WeakKeyDictionary[Tokenizer, tuple[str, TurnEnd]] = WeakKeyDictionary()


def turn_end_of(
    tokenizer: Tokenizer, ends: AbstractSet[int], thought_ends: Sequence[str], renderer: Renderer
) -> TurnEnd:
    """Return what ends the replies of a model; found once for its template. Raises Cancelled.

    `ends`: its own end tokens; `thought_ends`: markers that end a thought only. `renderer`: of the call that this is a
    part of.
    """
    template = tokenizer.chat_template
    if template is None:
        return _NOTHING
    kept = _known.get(tokenizer)
    if kept is None or kept[0] != template:
        kept = template, _find(template, tokenizer, ends, renderer)
        if not renderer.timed_out:
            _known[tokenizer] = kept
    found = kept[1]
    return _NOTHING if any(found.marker in marker for marker in thought_ends) else found


def _find(template: str, tokenizer: Tokenizer, ends: AbstractSet[int], renderer: Renderer) -> TurnEnd:
    def render(**reply: Any) -> str:
        messages = [{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": _REPLY, **reply}]
        given = PLAIN_INPUT.variables(messages, tokenizer.bos_token, tokenizer.eos_token)
        return renderer.render_variables(template, given | {"add_generation_prompt": False})

    try:
        _, written, behind = render().rpartition(_REPLY)
    except ChatTemplateFailed:
        return _NOTHING
    marker = behind.strip()
    known = [text for text, token in tokenizer.added_tokens.items() if token.id in ends]
    whole = marker
    while last := next((text for text in known if marker.endswith(text)), ""):
        marker = marker.removesuffix(last).rstrip()
    if not written or not marker or len(marker) > _LONGEST or " " in marker or "\n" in marker:
        return _NOTHING
    token = tokenizer.added_tokens.get(marker)
    # A silent token before an end token may end something else, and does no harm.
    if token is not None and token.control and marker != whole:
        return _NOTHING
    if token is None and (marker[0] not in _MARKERS_BEGIN or any(text in marker for text in tokenizer.added_tokens)):
        return _NOTHING
    if _divides(marker, render):
        return _NOTHING
    return TurnEnd(marker, texts=(marker,)) if token is None else TurnEnd(marker, frozenset({token.id}))


def _divides(marker: str, render: Callable[..., str]) -> bool:
    """Return whether a marker also stands between the parts of one reply: thought, text and calls of tools."""
    call = {"type": "function", "id": "abcdefghi", "function": {"name": _TOOL, "arguments": {}}}
    of_thought: dict[str, Any] = dict.fromkeys(("reasoning", "reasoning_content"), _THOUGHT)
    for parts in (of_thought, {"tool_calls": [call]}):
        try:
            text = render(**parts)
        except ChatTemplateFailed:
            continue
        places = sorted(place for part in (_THOUGHT, _REPLY, _TOOL) if (place := text.rfind(part)) >= 0)
        if len(places) > 1 and marker in text[places[0] : places[-1]]:
            return True
    return False
