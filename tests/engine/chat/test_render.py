"""Chat templates in a process of their own: what one may do there, and that nothing else notices."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine.cancel import CancelToken
from engine.chat import render
from engine.chat.context_fit import fit_turns
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, ChatTemplateFailed
from engine.messages.message import Message
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import PieceTokenizer
from helpers.decoding.rendering import HI, SAID, answers, refuse, rendered
from helpers.models.hostile_templates import HOSTILE, WORD, awaiting

ENDLESS = awaiting(HOSTILE["words"])
_WHOLE_CALL_S = 6.0


@contextmanager
def cancelled_after(seconds: float) -> Iterator[CancelToken]:
    cancel = CancelToken()
    timer = threading.Timer(seconds, cancel.cancel)
    timer.start()
    yield cancel
    timer.join()


QUICK = {
    "doubled by ~": "too much memory",
    "doubled list": "too much memory",
    "doubled by replace": "too much memory",
    "ljust": "too much memory",
    "expandtabs": "too much memory",
    "% d": "too much memory",
    "str.format precision": "too much memory",
    "batch filled up": "too much memory",
    "megabytes": "far longer than the chat",
    "a macro without end": "nests too deeply",
}
UNREADABLE = {
    "tags within tags": "nests too deeply",
    "loops within loops": "too many statically nested blocks",
    "parentheses": "nests too deeply",
    "a name twice": "duplicate argument",
    "a number too long": "limit",
}


@pytest.mark.parametrize("name", [*QUICK, *UNREADABLE])
def test_what_takes_too_much_is_one_clear_error_and_the_next_question_is_answered(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "LIMIT_S", 30.0)  # What is said is the question here, on a busy machine too.
    template = awaiting(HOSTILE[name])
    if name in QUICK:
        assert answers(template)
    words, _ = refuse(template, SAID)
    assert {**QUICK, **UNREADABLE}[name] in words
    assert words.endswith(". Send plain text (--raw) or choose another model.")
    assert len(words) < 500
    assert "\n" not in words
    assert answers("{{ '' }}" + awaiting("")) if name in UNREADABLE else answers(template)


def test_a_crash_ends_the_child_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "LIMIT_S", 30.0)
    deep = (
        "{% set ns = namespace(x=()) %}{% for i in range(250000) %}{% set ns.x = (ns.x,) %}{% endfor %}{{ {ns.x: 1} }}"
    )
    words, _ = refuse(awaiting(deep), SAID)
    assert "it crashes the process that renders it" in words
    assert answers(awaiting(deep))


def test_what_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "LIMIT_S", 0.5)
    words, seconds = refuse(ENDLESS, SAID)
    assert "it does not terminate" in words
    assert 0.5 <= seconds < 3.0
    assert answers(ENDLESS)


def test_all_renderings_of_a_call_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template that makes much of every conversation has all shorter ones tried, one after the other."""
    monkeypatch.setattr(render, "LIMIT_S", 0.5)
    much = "{% if messages | length > 20 %}{{ ('ab ' * 150000) | wordwrap(9) }}{% endif %}" + awaiting("")
    tokenizer = PieceTokenizer([bytes([code]) for code in range(128)], much)
    tokenizer.encode = lambda text, **_options: [0] * len(text)  # type: ignore[method-assign]
    began = time.perf_counter()
    with pytest.raises(ChatTemplateFailed, match="does not terminate"):
        fit_turns([Message("user", f"{number}") for number in range(2_000)], tokenizer, 1_000, None)
    assert time.perf_counter() - began < 3.0


def test_half_characters_and_all_others_go_there_and_back() -> None:
    text = "ä🦜\ud83e\udd9c\ud800 \x00\u2028\x7f" + "".join(map(chr, range(32)))
    assert rendered("{{ messages[0].content }}", [Message("user", text)]) == json.loads(json.dumps(text))


def test_lists_can_be_changed_and_nothing_else() -> None:
    body = "{% set n = namespace(l=[]) %}{% for m in messages %}{% set _ = n.l.append(m.content) %}{% endfor %}"
    assert rendered(body + "{{ n.l.pop(0) }}{{ n.l | length }}", HI) == "Hi0"
    for change in ("messages.append(1)", "messages[0].update(content=1)", "messages[0].pop('content')"):
        with pytest.raises(ChatTemplateFailed):
            rendered("{{ " + change + " }}", HI)


def test_a_long_conversation_has_more_time_and_room() -> None:
    text = "“ß🦜" * 400_000
    assert rendered("{{ messages[0].content }}", [Message("user", text)]) == text


@pytest.mark.alone
@pytest.mark.parametrize("body", ["words", "nested loops over a text", "lipsum of long paragraphs"])
def test_cancel_ends_it_within_a_second(body: str) -> None:
    with cancelled_after(0.4) as cancel:
        began = time.perf_counter()
        with pytest.raises(Cancelled):
            rendered(awaiting(HOSTILE[body]), SAID, cancel)
        assert time.perf_counter() - began < 1.0
    assert answers(awaiting(HOSTILE[body]))


def test_a_cancelled_decoder_answers_the_next_question() -> None:
    target = FakeBackend(128)
    target.tokenizer = PieceTokenizer([bytes([code]) for code in range(128)], ENDLESS)
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(target)
        with cancelled_after(0.2) as cancel, pytest.raises(Cancelled):
            decoder.generate([{"role": "user", "content": WORD}], cancel=cancel)
        with cancelled_after(0.2) as cancel, pytest.raises(Cancelled):
            decoder.fit(SAID, cancel=cancel)
        assert decoder.generate([{"role": "user", "content": "a"}], max_tokens=3).tokens
        assert target.forwards


def test_what_was_cancelled_before_is_not_begun() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        rendered("{{ bos_token }}", HI, cancel)
