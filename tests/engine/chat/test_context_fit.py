"""Conversations longer than the context: oldest turns go, the system turn stays, and it is said."""

import itertools

import pytest

from engine.chat.context_fit import PromptFit, fit_turns, measure_turns
from engine.chat.template import encode_prompt
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import ContextFull
from engine.library.names import bundled_pair
from engine.messages.message import Message
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import PieceTokenizer

TEMPLATE = "{% for m in messages %}<{{ m.role[0] }}{{ m.content }}>{% endfor %}<a"
LETTERS = PieceTokenizer([bytes([code]) for code in range(128)], TEMPLATE)


def _turns(count: int, size: int = 10, system: str | None = None) -> list[Message]:
    """`count` exchanges and a last question, each turn of `size` letters."""
    turns = [] if system is None else [Message("system", system)]
    for index in range(count):
        turns += [Message("user", chr(65 + index % 26) * size), Message("assistant", chr(97 + index % 26) * size)]
    return [*turns, Message("user", "?" * size)]


def _text(tokens: list[int]) -> str:
    return bytes(tokens).decode()


def test_what_fits_is_left_alone() -> None:
    messages = _turns(3)
    tokens, dropped = fit_turns(messages, LETTERS, 200, None)
    assert tokens == encode_prompt(messages, LETTERS, raw=False)
    assert dropped == 0


def test_oldest_turns_go_and_the_system_turn_stays() -> None:
    tokens, dropped = fit_turns(_turns(10, system="be brief"), LETTERS, 200, None)
    text = _text(tokens)
    assert text.startswith("<sbe brief><u")
    assert text.endswith("<u??????????><a")
    assert dropped > 0
    assert dropped % 2 == 0
    first = chr(65 + dropped // 2)
    assert text.split("<u")[1] == first * 10 + ">" + "<a" + first.lower() * 10 + ">"
    assert len(tokens) <= 200 - 200 // 16


def test_room_for_the_reply_is_what_is_wanted_and_at_most_a_sixteenth() -> None:
    messages = _turns(6)
    needed = len(encode_prompt(messages, LETTERS, raw=False))
    assert fit_turns(messages, LETTERS, needed + 5, 5)[1] == 0
    assert fit_turns(messages, LETTERS, needed + 4, 5)[1] > 0
    assert fit_turns(messages, LETTERS, needed * 16 // 15 + 1, 10_000)[1] == 0


def test_the_prompt_keeps_its_beginning_while_the_chat_goes_on() -> None:
    """Otherwise every turn of a full chat would have to be read anew."""
    beginnings: list[str] = []
    for count in range(1, 60):
        tokens, _ = fit_turns(_turns(count, system="sys"), LETTERS, 300, None)
        assert len(tokens) <= 300 - 300 // 16
        beginnings.append(_text(tokens)[:20])
    changes = sum(a != b for a, b in itertools.pairwise(beginnings))
    assert 5 <= changes <= 60 * 26 / 100


def test_a_last_turn_too_long_for_the_room_is_kept_where_it_fits_the_context() -> None:
    messages = [*_turns(2)[:-1], Message("user", "!" * 180)]
    tokens, dropped = fit_turns(messages, LETTERS, 200, None)
    assert _text(tokens) == "<u" + "!" * 180 + "><a"
    assert dropped == 4


def test_system_and_last_turn_that_do_not_fit_are_an_error() -> None:
    messages = [Message("system", "s" * 150), *_turns(3)[:-1], Message("user", "!" * 60)]
    with pytest.raises(ContextFull) as caught:
        fit_turns(messages, LETTERS, 200, None)
    assert (caught.value.needed, caught.value.available) == (150 + 60 + 8, 200)


def test_how_a_conversation_will_be_read_is_told_before() -> None:
    """The measure and what is read really are the same; where nothing fits it is no error."""
    for count in (*range(1, 12), 25, 59):
        messages = _turns(count, system="sys")
        tokens, dropped = fit_turns(messages, LETTERS, 300, None)
        fit = measure_turns(messages, LETTERS, 300, None)
        assert (fit.tokens, fit.dropped_turns, fit.fits) == (len(tokens), dropped, True)
        assert fit.typed == len(messages[-1].content)
        assert fit.tokens <= fit.context_length - fit.kept_free == 300 - 300 // 16
    fit = measure_turns([Message("user", "!" * 250)], LETTERS, 200, None)
    assert fit == PromptFit(255, 250, 200, fits=False, kept_free=12)
    assert measure_turns([Message("user", "!")], LETTERS, 200, 5).kept_free == 5, "no more than the reply may have"


def test_a_conversation_many_times_too_long_is_not_put_together() -> None:
    """More than a tokenizer reads at once is left out like anything else."""

    class Guarded(PieceTokenizer):
        def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
            assert len(text) < 3_000, "far more than is needed"
            return super().encode(text, add_special=add_special, parse_special=parse_special)

    guarded = Guarded([bytes([code]) for code in range(128)], TEMPLATE)
    messages = _turns(2_001, system="sys")
    tokens, dropped = fit_turns(messages, guarded, 300, None)
    assert len(tokens) <= 225
    assert _text(tokens).startswith("<ssys><u")
    kept = _text(tokens).count("<u")
    assert dropped == 2 * (2_001 - (kept - 1))


def test_a_reply_to_be_continued_stays_with_its_question() -> None:
    messages = [*_turns(8), Message("assistant", "so far")]
    tokens, dropped = fit_turns(messages, LETTERS, 100, None)
    assert _text(tokens).endswith("<u??????????><aso far")
    assert dropped == 16 - (_text(tokens).count("<u") - 1) * 2


def test_without_any_user_turn() -> None:
    tokens, dropped = fit_turns([Message("assistant", "x" * 30)] * 2, LETTERS, 100, None)
    assert dropped == 0
    assert len(tokens) == 65


def test_nothing_but_a_system_turn_is_read_whole_or_not_at_all() -> None:
    assert fit_turns([Message("system", "s" * 80)], LETTERS, 100, None)[1] == 0
    with pytest.raises(ContextFull):
        fit_turns([Message("system", "s" * 120)], LETTERS, 100, None)
    assert not measure_turns([Message("system", "s" * 120)], LETTERS, 100, None).fits
    assert measure_turns([], LETTERS, 100, None) == PromptFit(0, 0, 100, kept_free=6)


def test_error_comes_before_any_work() -> None:
    decoder = SpeculativeDecoder()
    target = FakeBackend(128, context_length=50)
    target.tokenizer = LETTERS
    decoder.attach_target(target)
    with pytest.raises(ContextFull):
        decoder.generate([{"role": "user", "content": "x" * 60}])
    assert target.forwards == []


def test_a_real_chat_outgrows_its_context() -> None:
    """Every turn is answered, the result says what was dropped, and most prompts are found in the cache."""
    with SpeculativeDecoder() as decoder:
        for attach, path in zip((decoder.attach_target, decoder.attach_draft), bundled_pair(), strict=True):
            attach(LoadConfig(path, context_length=256, threads=1, trusted=True))
        messages = [{"role": "system", "content": "You are helpful."}]
        dropped, read = [], []
        for turn in range(14):
            messages.append({"role": "user", "content": f"Tell me a story about a fox and the number {turn}."})
            fit = decoder.fit([Message(each["role"], each["content"]) for each in messages], max_tokens=40)
            result = decoder.generate(messages, max_tokens=40)
            assert (fit.tokens, fit.dropped_turns) == (result.prompt_tokens, result.dropped_turns)
            assert result.prompt_tokens + len(result.tokens) <= 257
            messages.append({"role": "assistant", "content": result.text})
            dropped.append(result.dropped_turns)
            read.append(result.prompt_evaluated)
    assert dropped[0] == 0
    assert dropped == sorted(dropped)
    assert dropped[-1] > 0
    assert len(set(dropped)) < 8
    assert sum(evaluated < 60 for evaluated in read) > 7
