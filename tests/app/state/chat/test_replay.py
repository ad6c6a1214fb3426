"""A recorded reply is played again: which rounds there are, and what is seen at each moment of them."""

import pytest

from app.state.chat.trace import TokenTrace
from app.state.replay.timeline import PACES, Pace, Replay, Scene
from engine import Origin, RoundEvent, TokenEvent

TEXTS: tuple[tuple[str, Origin, int], ...] = (
    *(("in", "accepted", 1), (" a", "accepted", 1), (" cave", "accepted", 1), (" near", "correction", 1)),
    *((" the", "accepted", 2), (" sea", "bonus", 2)),
    (".", "plain", 3),
    (" Now", "forced", 3),
    ("", "accepted", 4),
)


def recorded(*, rounds: bool = True) -> TokenTrace:
    """The reply of LOOK: four guesses, of which three were kept; all kept; plain; forced; the end token."""
    trace = TokenTrace()
    for index, (text, origin, number) in enumerate(TEXTS):
        trace.add(TokenEvent(index, text, origin, number, index, -0.1, -0.2 if origin == "accepted" else None))
        if not rounds or (index + 1 < len(TEXTS) and TEXTS[index + 1][2] == number):
            continue
        rejected = ((70, -0.9),) if number == 1 else ()
        kept = {1: 3, 2: 1, 4: 1}.get(number, 0)
        event = RoundEvent(number, "draft-model", 4, kept + len(rejected), kept, 6.0, 32.0, None, rejected)
        trace.add_round(event, {70: " beside"})
    return trace


def test_rounds_of_a_record() -> None:
    replay = Replay(recorded())
    found = [(each.start, each.end, each.kept, each.guessed, each.ending, each.milliseconds) for each in replay.rounds]
    assert found == [
        (0, 4, 3, 4, "correction", 38.0),
        (4, 6, 1, 1, "bonus", 38.0),
        (6, 7, 0, 0, "plain", 38.0),
        (7, 8, 0, None, "forced", None),
        (8, 9, 1, 1, None, 38.0),
    ]
    assert [guess.text for guess in replay.rounds[0].rejected] == [" beside"]
    assert "".join(replay.texts) == "in a cave near the sea. Now"
    assert [replay.round_at(token) for token in (0, 3, 4, 8)] == [0, 0, 1, 4]
    assert replay.has_guesses
    assert not Replay(TokenTrace()).rounds


def test_a_record_from_before_plays_without_rejected_guesses() -> None:
    replay = Replay(recorded(rounds=False))
    assert not replay.has_guesses
    assert [(each.kept, each.guessed, each.rejected) for each in replay.rounds][:2] == [(3, None, ()), (1, None, ())]
    assert replay.scene(0, replay.seconds(0, 1.0), 1.0) == Scene(3, 3.0, 1.0, 1.0, over=True)


def test_ghosts_then_judgement_then_the_targets_token() -> None:
    """One thing moves at a time, in the order in which it happened."""
    replay = Replay(recorded())
    appear, judge, strike, drop, end = replay._times(0, 1.0)
    assert 0 < appear < judge < strike < drop < end
    assert replay.scene(0, 0.0, 1.0) == Scene(1, 0.0, 0.0, 0.0)
    assert replay.scene(0, appear, 1.0) == Scene(4, 0.0, 0.0, 0.0)
    half = replay.scene(0, (judge + strike) / 2, 1.0)
    assert [half.filled, half.struck, half.dropped] == pytest.approx([1.5, 0.0, 0.0])
    half = replay.scene(0, (strike + drop) / 2, 1.0)
    assert [half.filled, half.struck, half.dropped] == pytest.approx([3.0, 0.5, 0.0])
    assert 0.0 < replay.scene(0, drop + 0.05, 1.0).dropped < 1.0
    assert replay.scene(0, end, 1.0).over
    still = replay.scene(0, judge, 1.0, still=True)
    assert (still.filled, still.struck, still.dropped) == (3, 1.0, 1.0), "nothing moves, the states change at once"


@pytest.mark.parametrize("pace", PACES)
def test_nothing_moves_for_longer_than_300_ms(pace: Pace) -> None:
    replay = Replay(recorded())
    for index in range(len(replay)):
        appear, judge, strike, drop, end = replay._times(index, pace)
        assert 0.0 <= appear <= judge <= strike <= drop <= end
        assert max(strike - judge, drop - strike) <= 0.3
    assert replay.seconds(0, "real") == pytest.approx(0.038), "as long as it took"


def test_real_time_of_a_slow_model_leaves_the_motion_as_it_is() -> None:
    trace = TokenTrace()
    trace.add(TokenEvent(1, "x", "correction", 1, 0, -0.1))
    trace.add_round(RoundEvent(1, "draft-model", 1, 1, 0, 1_000.0, 4_000.0, None, ((3, None),)))
    replay = Replay(trace)
    assert replay.seconds(0, "real") == pytest.approx(5.0)
    _, judge, strike, drop, _ = replay._times(0, "real")
    assert judge > 4.0
    assert drop - strike == pytest.approx(0.2)
