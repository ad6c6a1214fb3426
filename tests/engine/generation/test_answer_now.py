"""Answer now: a thought is ended with the marker of its family, and the answer begins."""

from collections.abc import Sequence
from typing import Any

import pytest

from engine.backends.base import Rewind
from engine.chat.inputs import PLAIN_INPUT
from engine.chat.render import Renderer
from engine.chat.thinking import thought_end
from engine.decoder import SpeculativeDecoder
from engine.events import Event, RoundEvent, TokenEvent
from engine.library.names import bundled_pair
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend
from helpers.decoding.invariants import Seen, follow
from helpers.upstream import needs_source, template_named

PIECES = [b"", b"a", b"", b"", b"so", b"Hel", b"lo", b"\n", b"."]
END, PROMPT, OPENING, CLOSING, SO, HEL, LO, BREAK, DOT = range(9)
MARKERS = {END: "<end>", OPENING: "<think>", CLOSING: "</think>"}
ANY, SNAPSHOTS, WINDOW, NONE = Rewind("any"), Rewind("snapshots", 1), Rewind("window", 3), Rewind("none")
QUESTION = [PROMPT, OPENING]


class MarkingTokenizer(PieceTokenizer):
    """Reads the markers too."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        before, marker, behind = text.partition("</think>")
        if not parse_special or not marker:
            return super().encode(text, add_special=add_special, parse_special=parse_special)
        ends = [
            super(MarkingTokenizer, self).encode(part, add_special=False, parse_special=False)
            for part in (before, behind)
        ]
        return [*ends[0], CLOSING, *ends[1]]


def thinker(history: Sequence[int]) -> int:
    """Think without end; say Hello once the thought is over."""
    if CLOSING not in history:
        return SO if history[-1] != SO else DOT
    said = len(history) - 1 - max(place for place, token in enumerate(history) if token == CLOSING)
    return [BREAK, BREAK, HEL, LO, END][min(said, 4)]


def doubter(history: Sequence[int]) -> int:
    """A draft that is wrong now and then."""
    return thinker(history) if len(history) % 3 else LO


def model(script: Any, rewind: Rewind = ANY) -> ScriptedBackend:
    backend = ScriptedBackend(PIECES, script, eos_token_ids=[END], markers=MARKERS, rewind=rewind)
    backend.tokenizer = MarkingTokenizer(PIECES, None, MARKERS)
    return backend


def answered(decoder: SpeculativeDecoder, after: int, **options: Any) -> Seen:
    """A reply whose thought is to end after so many tokens."""

    def asked() -> Any:
        count = 0
        for event in decoder.stream(QUESTION, **options):
            count += isinstance(event, TokenEvent)
            if count == after:
                decoder.answer_now()
                count += 1
            yield event

    events: Any = asked()
    return follow(decoder, QUESTION, events)


@pytest.mark.parametrize("draft_rewind", [ANY, SNAPSHOTS, WINDOW, NONE], ids=str)
@pytest.mark.parametrize("target_rewind", [ANY, SNAPSHOTS, WINDOW, NONE], ids=str)
@pytest.mark.parametrize("lookahead", [1, 4, "adaptive"])
def test_the_caches_and_the_counters_hold(target_rewind: Rewind, draft_rewind: Rewind, lookahead: Any) -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(model(thinker, target_rewind))
    decoder.attach_draft(model(doubter, draft_rewind))
    seen = answered(decoder, 12, lookahead=lookahead)
    result = seen.result
    assert result is not None
    forced = [event for event in seen.tokens if event.origin == "forced"]
    assert [event.token for event in forced] == [BREAK, CLOSING, BREAK, BREAK]
    assert result.stats.forced_tokens == 4
    assert (result.finish_reason, result.content) == ("stop", "Hello")
    assert result.reasoning.startswith("so.so.")
    assert result.text.endswith("\nHello")
    assert {event.round for event in forced} == {seen.tokens[seen.tokens.index(forced[0]) - 1].round}
    assert len(seen.rounds) == result.stats.rounds
    method = result.stats.by_method
    assert sum(each.emitted for each in method) + 4 == result.stats.emitted


def test_a_thought_ends_before_its_first_token() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(model(thinker))
    events: list[Event] = []
    for event in decoder.stream(QUESTION, lookahead=0):
        if not events:
            decoder.answer_now()
        events.append(event)
    tokens = [event for event in events if isinstance(event, TokenEvent)]
    assert [event.origin for event in tokens[:4]] == ["forced"] * 4
    assert {event.round for event in tokens[:4]} == {0}
    assert "".join(text for event in tokens for _, text in event.added) == "Hello"


def test_a_forced_end_token_ends_nothing() -> None:
    """Families such as gpt-oss end a thought with a token that ends a message, too."""
    backend = ScriptedBackend(PIECES, thinker, eos_token_ids=[END, CLOSING], markers=MARKERS)
    backend.tokenizer = MarkingTokenizer(PIECES, None, MARKERS)
    decoder = SpeculativeDecoder()
    decoder.attach_target(backend)
    seen = answered(decoder, 5, lookahead=0)
    assert seen.result is not None
    assert seen.result.content == "Hello"


def test_outside_of_a_thought_nothing_happens() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(model(thinker))
    plain = decoder.generate([PROMPT, OPENING, CLOSING], lookahead=0)
    decoder.answer_now()
    again = decoder.generate([PROMPT, OPENING, CLOSING], lookahead=0, on_token=lambda event: decoder.answer_now())
    assert again.tokens == plain.tokens
    assert again.stats.forced_tokens == 0


@pytest.mark.parametrize("room", [1, 2, 3])
def test_the_reply_may_end_within_what_is_forced(room: int) -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(model(thinker))
    seen = answered(decoder, 5, lookahead=0, max_tokens=5 + room)
    assert seen.result is not None
    assert seen.result.finish_reason == "length"
    assert seen.result.stats.forced_tokens == room


def test_with_the_lookahead_auto() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(model(thinker))
    decoder.attach_draft(model(doubter))
    seen = answered(decoder, 40, lookahead="auto")
    assert seen.result is not None
    assert (seen.result.content, seen.result.stats.forced_tokens) == ("Hello", 4)


def test_overlapping_drafts_give_way() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(model(thinker))
    decoder.attach_draft(model(thinker))
    result = None
    count = 0
    for event in decoder.stream(QUESTION, lookahead=3, overlap="on"):
        count += isinstance(event, RoundEvent)
        if count == 3:
            decoder.answer_now()
            count += 1
        result = getattr(event, "result", result)
    assert result is not None
    assert result.content == "Hello"
    assert decoder.target is not None
    assert list(decoder.target.tokens) == [*QUESTION, *result.tokens][:-1]


def test_a_real_pair_answers_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled pair with a template that opens a thought."""
    target, draft = bundled_pair()
    decoder = SpeculativeDecoder()
    decoder.attach_target(target)
    decoder.attach_draft(draft)
    loaded = decoder.target
    assert loaded is not None
    template = (
        "{% for m in messages %}{{ m.content }}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>"
        "{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<think>{% endif %}"
    )
    kind = type(loaded.tokenizer)
    monkeypatch.setattr(kind, "chat_template", property(lambda _: template))
    monkeypatch.setattr(kind, "chat_templates", property(lambda _: {"default": template}))
    for lookahead in (0, 4):
        asked = False
        forced: list[int] = []
        text, result = "", None
        for event in decoder.stream("Once upon a time", lookahead=lookahead, max_tokens=40):
            if isinstance(event, TokenEvent):
                if event.position == 8 and not asked:
                    asked = True
                    decoder.answer_now()
                forced += [event.token] if event.origin == "forced" else []
                text += event.text
            result = getattr(event, "result", result)
        assert result is not None
        assert b"".join(map(loaded.tokenizer.piece, forced)) == b"</think>"
        assert result.stats.emitted == len(result.tokens)
        assert result.reasoning
        assert result.content
        assert result.text == text == f"{result.reasoning}</think>{result.content}"
    decoder.close()


@needs_source
@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("Qwen-Qwen3-0.6B.jinja", "\n</think>\n\n"),
        ("openai-gpt-oss-120b.jinja", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja", "\n</think>\n\n"),
        ("mistralai-Ministral-3-14B-Reasoning-2512.jinja", "[/THINK]"),
        ("ByteDance-Seed-OSS.jinja", "</seed:think>\n"),
    ],
)
def test_how_families_end_a_thought(name: str, end: str) -> None:
    letters = PieceTokenizer([bytes([code]) for code in range(256)], template_named(name))
    tokens = thought_end(letters, Renderer(), PLAIN_INPUT)
    assert bytes(tokens).decode() == end
