"""The comparison with llama.cpp's server: reading its answers, choosing its best lookahead, and judging the musts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
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
    judge,
    ratios,
    summarise,
    tables,
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


def row(name: str, default: Sequence[float], best: Sequence[float]) -> dict[str, Any]:
    def spread(values: Sequence[float]) -> dict[str, float]:
        return {"low": values[0], "median": median(values), "high": values[-1]}

    ratio = {"auto_over_default": spread(default), "auto_over_best": spread(best)}
    return {"category": name, "temperature": 0.8, **ratio}


def test_musts_are_judged_by_mean_and_by_each_set() -> None:
    good = judge([row("chat", (1.3, 1.4, 1.5), (1.0, 1.1, 1.2)), row("code", (0.96, 1.0, 1.04), (0.9, 0.98, 1.0))])
    assert all(must["met"] for must in good.values())
    assert good["mean_over_default"]["measured"] == pytest.approx(1.4**0.5)
    # 0.97 lies within half the middle half's width of 1; 0.95 of code does not.
    bad = judge([row("chat", (0.93, 0.97, 1.01), (1.0, 1.0, 1.0)), row("code", (0.94, 0.95, 0.96), (0.9, 0.96, 1.0))])
    assert not any(must["met"] for must in bad.values())
    assert bad["each_over_default"]["misses"] == ["code 0.8"]
    assert bad["each_over_best"]["misses"] == ["code 0.8"]


def test_nothing_is_met_where_a_set_was_not_compared() -> None:
    missing = row("code", (2.0, 2.0, 2.0), (2.0, 2.0, 2.0)) | {"auto_over_best": None}
    found = judge([row("chat", (2.0, 2.0, 2.0), (2.0, 2.0, 2.0)), missing])
    assert [name for name, must in found.items() if must["met"]] == ["mean_over_default", "each_over_default"]
    assert not any(must["met"] for must in judge([]).values())


def test_summary_compares_only_what_did_not_choose_and_counts_equal_texts() -> None:
    swept = made((SERVER, 0), [10, 10]) + made((SERVER, 3), [14, 14]) + made((SERVER, 5), [15, 15])
    compared = [
        *made((SERVER, 0), [10, 11], COMPARED),
        *made((SERVER, 3), [14, 14], COMPARED),
        *made((SERVER, 5), [16, 20], COMPARED),
        *made((OURS, PLAIN), [10, 11], COMPARED),
        *(replace(r, proposed=10, accepted=7, tokens=(1, 3)) for r in made((OURS, AUTO), [24, 20], COMPARED)),
    ]
    best = choose_best(swept)
    found = summarise(swept + compared, {GROUP: best})
    (only,) = found["sets"]
    assert best == only["best_lookahead"] == 5
    assert only["auto_over_best"]["median"] == pytest.approx((1.5 + 1.0) / 2)
    assert only["tokens_per_second"]["server_best"]["values"] == 2
    assert only["acceptance"]["auto"] == 0.7
    assert found["same_text"] == {"ours_replies": 4, "ours_same": 2, "server_replies": 12, "server_same": 12}
    text = "\n".join(tables("q8_0", found))
    assert "18.0 (at 5)" in text
    assert "| chat, 0 | 1.00 | 1.40 | 1.50 |" in text
    assert "lowest set over the server's best: 1.250, must 0.97: met" in text
