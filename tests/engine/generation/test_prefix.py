"""A reply that begins with what it was given: tokens stay tokens, from the cache, and the parts are whole."""

from typing import Any

import pytest

from engine.checks import MOST_PREDICTED
from engine.config import GenerationRequest
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest, NotAvailable, TextNotEncodable, TokenOutOfRange
from engine.events import TokenEvent
from engine.library.names import bundled_pair
from engine.messages.message import Message
from engine.remote.body import make_body
from engine.remote.kinds import KINDS
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend
from helpers.decoding.invariants import follow
from helpers.models.pairs import open_files

CHAT = [Message("user", "Tell me a story about a shy dragon.")]
PIECES = [b"", b"a", b"\xf0\x9f", b"\x98\x80", b"\x98\x81", b"</think>", b"so", b" yes"]
END, PROMPT, HALF, GRIN, BEAM, CLOSE, SO, YES = range(8)


def _scripted(*reply: int) -> SpeculativeDecoder:
    backend = ScriptedBackend(PIECES, lambda history: reply[len(history) - 1], eos_token_ids=[END])
    backend.tokenizer = PieceTokenizer(PIECES)
    decoder = SpeculativeDecoder()
    decoder.attach_target(backend)
    return decoder


def test_the_reply_goes_on_behind_tokens_as_it_did(shared_gguf: Any) -> None:
    """At each of twenty tokens: the same tokens follow, and nothing of the prompt is read again."""
    with open_files(*bundled_pair()) as decoder:
        whole = decoder.generate(CHAT, max_tokens=40, lookahead=4)
        for place in range(0, 40, 2):
            cut = decoder.generate(CHAT, prefix=whole.tokens[:place], max_tokens=40 - place, lookahead=4)
            assert cut.tokens == whole.tokens[place:]
            assert cut.prompt_tokens == whole.prompt_tokens + place
            assert cut.prompt_evaluated <= 1
            assert decoder.decode(whole.tokens[:place]) + cut.text == whole.text
            assert cut.content == whole.content
            decoder.generate(CHAT, max_tokens=40, lookahead=4)


def test_a_text_and_tokens_may_be_mixed() -> None:
    with open_files(*bundled_pair()) as decoder:
        whole = decoder.generate(CHAT, max_tokens=12, lookahead=0)
        begun: list[str | int] = [*whole.tokens[:6], " but"]
        mixed = decoder.generate(CHAT, prefix=begun, max_tokens=6, lookahead=0)
        text = decoder.decode(whole.tokens[:6]) + " but"
        assert mixed.content == text + mixed.text
        told = [*CHAT, Message("assistant", text)]
        assert decoder.generate(told, max_tokens=6, lookahead=0).tokens == mixed.tokens
        assert decoder.generate(CHAT, prefix=text, max_tokens=6, lookahead=0).tokens == mixed.tokens


def test_half_a_character_is_completed() -> None:
    with _scripted(HALF, BEAM, SO, END) as decoder:
        result = decoder.generate([PROMPT], prefix=[HALF])
        assert result.text == "\U0001f601so"
        assert result.content == "\U0001f601so"


def test_a_stop_string_is_met_in_what_is_new_alone() -> None:
    with _scripted(SO, SO, YES, END) as decoder:
        assert decoder.generate([PROMPT], prefix=[SO], stop="so y").text == ""
        assert decoder.generate([PROMPT], prefix="soso", stop="so").text == " yes"


def test_within_a_thought_it_is_parted_on() -> None:
    template = "{% for m in messages %}a{% endfor %}<think>"
    backend = ScriptedBackend(
        [*PIECES, b"<think>"], lambda history: [CLOSE, YES, END][len(history) - 4], chat_template=template
    )
    backend.eos_token_ids = frozenset({END})
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(backend)
        result = decoder.generate("a", prefix="soso")
        assert (result.reasoning.strip(), result.content.strip()) == ("soso", "yes")


def test_forced_tokens_are_written_first_and_told() -> None:
    with open_files(*bundled_pair()) as decoder:
        whole = decoder.generate(CHAT, max_tokens=20, lookahead=4, top=5)
        token = whole.top[7][1][0]
        events = list(decoder.stream(CHAT, prefix=whole.tokens[:7], forced=[token, " and"], max_tokens=9, top=5))
        told = [event for event in events if isinstance(event, TokenEvent)]
        and_ = decoder.encode("x and")[-1]
        assert [(each.token, each.origin) for each in told[:2]] == [(token, "forced"), (and_, "forced")]
        assert told[0].logprob == pytest.approx(whole.top[7][1][1], abs=1e-3)
        assert len(told[0].top) == 5
        result = events[-1].result  # type: ignore[union-attr]
        assert result.stats.emitted == len(result.tokens) == 9
        assert (result.stats.forced_tokens, result.prompt_evaluated) == (2, 1)
        follow(decoder, [1], decoder.stream([1], forced="so it", max_tokens=9, lookahead=4))
        begun = decoder.generate(CHAT, prefix=[*whole.tokens[:7], token, and_], max_tokens=7, lookahead=4)
        assert begun.tokens == result.tokens[2:]


def test_a_forced_end_ends_the_reply() -> None:
    with _scripted(SO, SO, SO, END) as decoder:
        result = decoder.generate([PROMPT], forced=[SO, END])
        assert (result.text, result.finish_reason, result.stop_reason) == ("so", "stop", END)


def test_what_is_no_prefix_is_refused() -> None:
    for wrong in (3, b"so", [1.5], [True], {"text": "so"}, "x" * (MOST_PREDICTED + 1)):
        with pytest.raises(InvalidRequest):
            GenerationRequest("Hello", prefix=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest):
            GenerationRequest("Hello", forced=wrong)  # type: ignore[arg-type]
    with pytest.raises(TextNotEncodable):
        GenerationRequest("Hello", prefix=["\ud800"])  # type: ignore[arg-type]
    with _scripted(END) as decoder, pytest.raises(TokenOutOfRange):
        decoder.generate([PROMPT], prefix=[99])


def test_a_server_is_told_it_as_the_begun_reply() -> None:
    kind = KINDS["outrider"]
    asked = GenerationRequest((Message("user", "Hi"), Message("assistant", "So")), prefix=(" it", " is"))
    assert make_body(asked, "m", kind).content["messages"][-1] == {"role": "assistant", "content": "So it is"}
    asked = GenerationRequest("Hi", prefix="So")
    assert make_body(asked, "m", kind).content["messages"][-1] == {"role": "assistant", "content": "So"}
    assert make_body(GenerationRequest("Hi", raw=True, prefix="So"), "m", kind).content["prompt"] == "HiSo"
    with pytest.raises(NotAvailable):
        make_body(GenerationRequest("Hi", prefix=(4,)), "m", kind)
    with pytest.raises(NotAvailable):
        make_body(GenerationRequest("Hi", forced="So"), "m", kind)
