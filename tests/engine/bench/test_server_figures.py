"""The comparison with llama.cpp's server: reading its answers, and choosing its best lookahead."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers.server_figures import (
    AUTO,
    COMPARED,
    OURS,
    PLAIN,
    SERVER,
    SWEEP,
    Reply,
    Way,
    choose_best,
    contenders,
    ratios,
    same_text,
)
from benchmarks.peers.server_program import ServerFailed, Settings, read_answer

GROUP = ("chat", 0.0)
REPLY = Reply((SERVER, PLAIN), GROUP, SWEEP, 0, 0, 10.0, 0, 0, (1, 2))


def made(way: Way, speeds: Sequence[float], phase: str = SWEEP) -> list[Reply]:
    """Replies of one way to one prompt, one a turn."""
    return [replace(REPLY, way=way, phase=phase, turn=turn, speed=speed) for turn, speed in enumerate(speeds)]


def answered(**timings: float) -> dict[str, Any]:
    return {"tokens": [5, 6, 7], "timings": {"predicted_n": 3, "predicted_ms": 100.0} | timings}


def test_speed_of_the_server_leaves_the_first_token_out() -> None:
    answer = read_answer(answered(draft_n=8, draft_n_accepted=2))
    assert answer.speed == pytest.approx(20.0)
    assert (answer.tokens, answer.proposed, answer.accepted) == ((5, 6, 7), 8, 2)
    assert read_answer(answered(predicted_n=1, predicted_ms=0.0)).speed == 0.0
    with pytest.raises(ServerFailed, match="timings"):
        read_answer({"tokens": []})


def test_only_a_server_that_drafts_gets_a_draft() -> None:
    settings = Settings(Path("t.gguf"), Path("d.gguf"), 5, threads=2, context=512, extra=("--poll", "0"))
    told = settings.arguments(8080)
    assert told[told.index("--spec-draft-n-max") + 1] == "5"
    assert told[told.index("--threads") + 1] == "2"
    assert told[-2:] == ["--poll", "0"]
    assert not any("draft" in word for word in replace(settings, draft=Path("d"), lookahead=0).arguments(8080))


def test_best_lookahead_is_that_of_the_highest_median_ratio() -> None:
    # 5 has the fastest single reply, and the mean is its own too; in two turns of three 3 is ahead.
    swept = made((SERVER, 0), [10, 20, 10]) + made((SERVER, 3), [12, 24, 12]) + made((SERVER, 5), [11, 80, 11])
    assert choose_best(swept) == 3
    assert choose_best(made((SERVER, 0), [10, 10]) + made((SERVER, 3), [9, 9.5])) == PLAIN


def test_sweep_goes_on_with_plain_decoding_and_those_near_the_best() -> None:
    swept = made((SERVER, 0), [10]) + made((SERVER, 3), [20]) + made((SERVER, 5), [15]) + made((SERVER, 7), [13])
    assert contenders(swept) == [0, 3, 5]
    assert contenders([]) == []


def test_ratios_pair_replies_of_one_turn_and_leave_out_those_without_speed() -> None:
    replies = made((OURS, AUTO), [12, 30, 0]) + made((SERVER, 3), [10, 20, 30, 40])
    assert ratios(replies, (OURS, AUTO), (SERVER, 3)) == [1.2, 1.5]
    other_phase = [*made((OURS, AUTO), [12], COMPARED), *made((SERVER, 3), [10])]
    assert ratios(other_phase, (OURS, AUTO), (SERVER, 3)) == []


def test_texts_that_are_the_plain_one_are_counted_by_side() -> None:
    replies = [*made((OURS, PLAIN), [10, 11], COMPARED), *made((SERVER, 3), [14], COMPARED)]
    replies += [replace(each, tokens=(1, 3)) for each in made((OURS, AUTO), [24, 20], COMPARED)]
    assert same_text(replies) == {"ours_replies": 4, "ours_same": 2, "server_replies": 1, "server_same": 1}
