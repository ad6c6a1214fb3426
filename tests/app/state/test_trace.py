"""The record of a reply's tokens."""

import base64
import json
import random
import tracemalloc
import zlib
from array import array
from math import exp

import pytest

from app.state.chat.rounds import MOST_REJECTED, Guess
from app.state.chat.trace import ORIGINS, TOP, DamagedTrace, TokenTrace
from engine import Origin, RoundEvent, TokenEvent

NAMES = {number: f" word{number}" for number in range(500)} | {3: "", 4: "\\xf0\\x9f"}


def event(index: int, origin: Origin = "accepted", *, text: str = "x", top: int = TOP) -> TokenEvent:
    others = tuple(((index + step) % 500, -0.5 * (step + 1)) for step in range(top))
    drafted = -0.25 if origin == "accepted" else None
    return TokenEvent(index % 500, text, origin, index // 4 + 1, index, -0.5, drafted, others)


def recorded(count: int) -> TokenTrace:
    trace = TokenTrace()
    for index in range(count):
        trace.add(event(index, ORIGINS[index % 4], text=("wörd ", "", "\n", "👩‍🚀")[index % 4]), NAMES)
    return trace


def test_what_was_added_is_there() -> None:
    trace = TokenTrace()
    trace.add(event(7), NAMES)
    trace.add(event(8, "correction", text="y", top=2))
    assert len(trace) == 2
    first, second = trace[0], trace[-1]
    assert (first.token, first.name, first.text, first.origin, first.round) == (7, " word7", "x", "accepted", 2)
    assert exp(first.logprob) == pytest.approx(0.6065, abs=1e-4)
    assert first.draft_logprob == pytest.approx(-0.25)
    assert [other.text for other in first.alternatives] == [f" word{number}" for number in range(7, 12)]
    assert second.draft_logprob is None
    assert second.name == " word8", "known from before"
    assert [other.token for other in second.alternatives] == [8, 9]
    assert trace.text == "xy"
    assert trace.text_of(1) == "y"
    assert trace.counts == {"accepted": 1, "correction": 1, "bonus": 0, "plain": 0, "forced": 0}
    with pytest.raises(IndexError):
        trace[2]


def test_a_token_without_alternatives_or_names() -> None:
    trace = TokenTrace()
    trace.add(TokenEvent(9, "", "plain", 1, 0, -1.0))
    assert trace[0].alternatives == ()
    assert trace[0].name is None
    assert TokenTrace.from_bytes(trace.to_bytes())[0] == trace[0]


@pytest.mark.parametrize("count", [0, 1, 777])
def test_it_comes_back_as_it_was(count: int) -> None:
    trace = recorded(count)
    again = TokenTrace.from_bytes(trace.to_bytes())
    assert [again[index] for index in range(len(again))] == [trace[index] for index in range(count)]
    assert again.counts == trace.counts
    again.add(event(3), NAMES)
    assert len(again) == count + 1, "it goes on"


def test_it_is_packed_in_small_pieces_and_may_grow_meanwhile() -> None:
    trace = recorded(2_345)
    rests = []

    def rest() -> None:
        rests.append(len(trace))
        trace.add(event(9, text="later"), NAMES)

    again = TokenTrace.from_bytes(trace.to_bytes(rest))
    assert len(rests) > 10
    assert len(again) == 2_345
    assert [again[index] for index in range(len(again))] == [trace[index] for index in range(2_345)]
    trace = recorded(20_000)
    largest = max(len(piece) for piece in trace._pieces())
    assert largest < 120_000, "what is made at once holds up the window"
    assert TokenTrace.from_bytes(trace.to_bytes()).counts == trace.counts


def test_damaged_records_are_refused() -> None:
    data = recorded(50).to_bytes()
    rng = random.Random(5)
    for size in range(0, len(data), 7):
        with pytest.raises(ValueError, match="damaged"):
            TokenTrace.from_bytes(data[:size])
    for _ in range(300):
        broken = bytearray(data)
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        try:
            TokenTrace.from_bytes(bytes(broken))
        except ValueError:
            continue
        assert zlib.decompress(bytes(broken)) == zlib.decompress(data), "the checksum would have told"


@pytest.mark.parametrize(
    "change",
    [
        {"count": 49},
        {"count": "50"},
        {"texts": ["x"] * 49},
        {"texts": [1] * 50},
        {"names": {"a": "b"}},
        {"names": {"1": 2}},
        {"tokens": "not base64!"},
        {"tokens": "AAAA"},
        {"origins": None},
        {"tops": "/" * 64},
        {"version": 2},
    ],
)
def test_senseless_records_are_refused(change: dict[str, object]) -> None:
    fields = json.loads(zlib.decompress(recorded(50).to_bytes()))
    data = zlib.compress(json.dumps(fields | change).encode())
    with pytest.raises(DamagedTrace):
        TokenTrace.from_bytes(data)
    with pytest.raises(DamagedTrace):
        TokenTrace.from_bytes(zlib.compress(b"[" * 100_000))
    with pytest.raises(DamagedTrace):
        TokenTrace.from_bytes(zlib.compress(b"[]"))


def test_memory_grows_with_the_length_and_stays_small() -> None:
    sizes = []
    for count in (5_000, 20_000):
        tracemalloc.start()
        trace = recorded(count)
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert len(trace) == count
    assert sizes[1] < 3_000_000
    assert sizes[1] < 4.5 * sizes[0]


def judged(trace: TokenTrace) -> TokenTrace:
    """A record with three rounds: two guesses rejected, all kept, and one of an index, which gives no probability."""
    for token, origin, number in ((1, "accepted", 1), (2, "correction", 1), (3, "bonus", 2), (4, "correction", 3)):
        trace.add(event(0)._replace(token=token, origin=origin, round=number), NAMES)  # type: ignore[arg-type]
        if token == 2:
            trace.add_round(RoundEvent(1, "draft-model", 4, 3, 1, 2.0, 9.5, None, ((7, -0.9), (8, -2.0))), NAMES)
    trace.add_round(RoundEvent(2, "draft-model", 0, 0, 0, 0.0, 9.0))
    trace.add_round(RoundEvent(3, "ngram", 2, 1, 0, 0.0, 9.0, None, ((9, None),)), {9: " nine"})
    return trace


def test_rejected_guesses_are_kept_with_their_round() -> None:
    trace = judged(TokenTrace())
    for record in (trace, TokenTrace.from_bytes(trace.to_bytes())):
        assert record.has_rounds
        first = record.round(1)
        assert first is not None
        assert (first.proposed, first.accepted, first.draft_ms, first.target_ms) == (3, 1, 2.0, 9.5)
        assert [(guess.token, guess.text) for guess in first.rejected] == [(7, " word7"), (8, " word8")]
        wanted = record[1].wanted
        assert wanted is not None
        assert wanted == first.rejected[0]
        assert wanted.logprob == pytest.approx(-0.9)
        assert record[0].wanted is record[2].wanted is None, "they were no corrections"
        assert record[3].wanted == Guess(9, " nine", None)
        assert record.round(4) is None


def test_a_continued_reply_counts_its_rounds_on() -> None:
    """The engine begins with round 1 again; what a round rejected must not be taken for another round's."""
    trace = TokenTrace.from_bytes(judged(TokenTrace()).to_bytes())
    trace.add(event(0)._replace(token=5, origin="correction", round=1), NAMES)
    trace.add_round(RoundEvent(1, "draft-model", 1, 1, 0, 1.0, 1.0, None, ((6, -0.1),)), NAMES)
    trace.add(event(0)._replace(token=5, origin="forced", round=1), NAMES)
    assert [trace[index].round for index in range(6)] == [1, 1, 2, 3, 4, 4]
    wanted = trace[4].wanted
    assert wanted is not None
    assert wanted.token == 6


def test_a_record_from_before_has_no_rejected_guesses() -> None:
    before = recorded(12)
    assert b"judged" not in zlib.decompress(before.to_bytes())
    again = TokenTrace.from_bytes(before.to_bytes())
    assert not again.has_rounds
    assert again.round(1) is None
    assert again[1].wanted is None


def test_few_guesses_of_a_round_are_kept() -> None:
    trace = TokenTrace()
    trace.add_round(RoundEvent(1, "draft-model", 32, 32, 0, 1.0, 2.0, None, tuple((n, -1.0) for n in range(32))))
    kept = TokenTrace.from_bytes(trace.to_bytes()).round(1)
    assert kept is not None
    assert (kept.proposed, len(kept.rejected)) == (32, MOST_REJECTED)


@pytest.mark.parametrize(
    "change",
    [
        {"count": 4},
        {"count": -1},
        {"kept": base64.b64encode(bytes([2, 9, 1])).decode()},
        {"guesses": "AAAA"},
        {"numbers": base64.b64encode(array("I", [1, 1, 3]).tobytes()).decode()},
        {"draft_ms": None},
    ],
)
def test_damaged_rounds_are_noticed(change: dict[str, object]) -> None:
    fields = json.loads(zlib.decompress(judged(TokenTrace()).to_bytes()))
    fields["judged"] |= change
    with pytest.raises(DamagedTrace):
        TokenTrace.from_bytes(zlib.compress(json.dumps(fields).encode()))
    fields["judged"] = [1]
    with pytest.raises(DamagedTrace):
        TokenTrace.from_bytes(zlib.compress(json.dumps(fields).encode()))
