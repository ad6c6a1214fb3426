"""What the benchmarks say of auto, and of drawn tokens against greedy ones."""

from argparse import Namespace
from typing import Any

import pytest

from benchmarks.policy.auto import FAMILIAR
from benchmarks.policy.auto_figures import Must, compare_sets, find_musts, show
from benchmarks.policy.drawn import DUE, Gains, Reply, find_gains, show_gains
from engine.bench.prompts import read_prompts

# What is said of auto -------------------------------------------------------------------------------------------------


def _spread(median: float) -> dict[str, float]:
    return {"median": median, "low": median, "high": median, "least": median, "most": median, "values": 4}


def _figures(speedups: dict[str, float], acceptance: float, over_best: float) -> dict[str, Any]:
    ways = {
        way: {
            "tokens_per_second": _spread(30.0 * speedup),
            "speedup": _spread(speedup),
            "acceptance_rate": None if way == "plain" else acceptance,
            "prompt_tokens_per_second": _spread(100.0),
            "first_token_ms": _spread(50.0),
        }
        for way, speedup in speedups.items()
    }
    return {"ways": ways, "auto_to_best": {"way": "4", "ratio": _spread(over_best)}}


def _report(**sets: tuple[float, float, float]) -> dict[str, Any]:
    """Of each set: auto's speedup, the acceptance rate at 4, and auto over the best fixed lookahead."""
    found = {
        name: _figures({"plain": 1.0, "4": auto, "auto": auto, "ngram": 1.0}, rate, best)
        for name, (auto, rate, best) in sets.items()
    }
    return next(iter(found.values())) | {
        "categories": found,
        "settings": {"max_tokens": 40, "repeats": 4},
        "target": {"threads": 2},
        "prompts": [{}] * len(found),
        "load_s": 1.0,
        "memory": {"at_end": 2**30},
        "other_programs": 0.01,
        "equal": {"checked": True, "same": 4, "parted_at_a_near_tie": 0, "different": 0, "not_examined": 0},
    }


def _by_name(musts: list[Must], words: str) -> Must:
    (found,) = (must for must in musts if words in must.name)
    return found


def test_the_musts_go_by_the_sets_that_they_are_about() -> None:
    greedy = _report(code=(1.7, 0.9, 1.0), prose=(1.2, 0.65, 0.98), hostile=(0.99, 0.05, 1.0))
    drawn = _report(code=(1.5, 0.8, 0.96), prose=(0.97, 0.3, 1.0), hostile=(1.0, 0.02, 1.0))
    musts = find_musts({"q8_0": {0.0: greedy, 0.8: drawn}})
    best = _by_name(musts, "best fixed")
    assert (len(best.measured), best.misses) == (6, ["code at 0.8"])
    plain = _by_name(musts, "hostile or drawn")
    assert (len(plain.measured), plain.misses) == (4, ["prose at 0.8"])
    assert _by_name(musts, "0.6 on").misses == ["prose at 0"]
    assert _by_name(musts, "0.85 on").measured == {"code at 0": 1.7}


def test_other_kinds_owe_no_fixed_gain_and_a_set_that_was_not_compared_falls_short() -> None:
    report = _report(code=(1.1, 0.9, 1.0))
    report["categories"]["code"]["auto_to_best"] = None
    musts = find_musts({"q4_0": {0.0: report}})
    assert not any("acceptance at 4" in must.name for must in musts)
    assert _by_name(musts, "best fixed").misses == ["code at 0"]


def test_greedy_replies_that_differ_are_told() -> None:
    report = _report(code=(1.7, 0.9, 1.0))
    assert _by_name(find_musts({"q4_0": {0.0: report}}), "greedy replies").met
    report["equal"] |= {"parted_at_a_near_tie": 3, "different": 1}
    assert _by_name(find_musts({"q4_0": {0.0: report}}), "greedy replies").measured == {"all at 0": 0.875}


def _reply(way: str, turn: int, emitted: int, speed: float) -> dict[str, Any]:
    return {"way": way, "turn": turn, "emitted": emitted, "tokens_per_second": speed}


def test_sets_are_compared_by_all_their_tokens_and_all_their_time() -> None:
    turns = range(8)
    auto = [(40, 1.0), (40, 10.0), (40, 1.0), (10, 50.0), (40, 1.0), (20, 20.0), (40, 1.0), (30, 40.0)]
    replies = [
        *(_reply("plain", turn, 40, 10.0) for turn in turns),
        *(_reply("4", turn, 40, 20.0) for turn in turns),
        # Quick in the turns that do not choose only: whoever chose by all of them would take it.
        *(_reply("8", turn, 40, 90.0 if turn % 2 else 15.0) for turn in turns),
        *(_reply("auto", turn, *figures) for turn, figures in enumerate(auto)),
        _reply("auto", 1, 0, 0.0),
    ]
    found = compare_sets(replies)
    assert found is not None
    assert found["way"] == "4"
    ratio = (40 + 10 + 20 + 30) / (4.0 + 0.2 + 1.0 + 0.75) / 20.0
    assert found["ratio"]["median"] == pytest.approx(ratio)
    assert found["ratio"]["low"] < ratio < found["ratio"]["high"]
    assert compare_sets(replies) == found


def test_without_replies_of_auto_or_of_a_fixed_lookahead_nothing_is_compared() -> None:
    fixed, auto = ([_reply(way, turn, 40, 10.0) for turn in range(2)] for way in ("4", "auto"))
    assert compare_sets(fixed) is None
    assert compare_sets(auto) is None
    assert compare_sets([*fixed, *auto]) is not None


def test_the_tables_show_every_set_and_must() -> None:
    report = _report(code=(1.7, 0.9, 1.0), hostile=(0.9, 0.05, 1.0))
    reports = {"q8_0": {0.0: report}}
    text = show(reports, find_musts(reports))
    assert text.startswith("## ")
    assert (
        "| code | 30.0 (30.0–30.0) | 51.0 (51.0–51.0) | 1.70 (1.70–1.70) | 4 | 1.00 (1.00–1.00) | 1.00 | 0.90, 0.90 |"
        in text
    )
    assert "- q8_0: auto over plain decoding, hostile or drawn: 0.900, must 0.98: NOT met (below: hostile at 0)" in text


def test_the_tables_say_which_prompts_they_are_of() -> None:
    reports = {"q8_0": {0.0: _report(code=(1.7, 0.9, 1.0))}}
    own, familiar = (show(reports, find_musts(reports), familiar=familiar) for familiar in (False, True))
    assert "bundled sets" in own
    assert "familiar.json" in familiar
    assert own.splitlines()[0] != familiar.splitlines()[0]
    assert {prompt.category for prompt in read_prompts(FAMILIAR)} == {"by heart", "familiar"}


# Drawn tokens against greedy ones -------------------------------------------------------------------------------------


def test_the_gains_of_one_turn_are_compared_and_whole_turns_weighed_by_their_time() -> None:
    """A machine that is slow in a turn slows plain decoding alone, greedy and drawn: the ratio stays."""
    replies = []
    for turn, plain in enumerate((20.0, 40.0, 20.0, 40.0)):
        for drawn, auto in ((False, 100.0), (True, 80.0)):
            replies += [Reply(turn, drawn, "plain", 40, 40 / plain), Reply(turn, drawn, "auto", 40, 40 / auto)]
            replies.append(Reply(turn, drawn, "auto", 20, 20 / auto))
    found = find_gains(replies)
    average = 80 / (40 / 20.0 + 40 / 40.0)
    assert [found.greedy, found.drawn] == pytest.approx([100.0 / average, 80.0 / average])
    assert [found.ratio, found.low, found.high] == pytest.approx([0.8] * 3)
    assert find_gains(replies[:6]).ratio == pytest.approx(0.8)


def test_the_spread_is_that_of_turns() -> None:
    speeds = [100.0, 60.0, 90.0, 70.0]
    replies = [
        Reply(turn, drawn, way, 40, 40 / (speed if drawn and way == "auto" else 80.0 if way == "auto" else 20.0))
        for turn, speed in enumerate(speeds)
        for drawn in (False, True)
        for way in ("plain", "auto")
    ]
    found = find_gains(replies)
    assert found.ratio == pytest.approx(4 / sum(1 / speed for speed in speeds) / 80.0)
    assert 60 / 80 < found.low < found.ratio < found.high < 100 / 80
    assert find_gains(replies) == found


def test_the_verdict_is_about_the_sets_that_the_draft_foresees() -> None:
    args = Namespace(kind="q8_0", tokens=40, temperature=0.8, turns=8)
    rates = {"by heart": 0.92, "familiar": 0.7}
    missed = show_gains(args, rates, {"by heart": Gains(4.0, 3.5, 0.85, 0.9)})
    assert "| by heart | 0.92 | 4.00 | 3.50 | 0.875 (0.850–0.900) |" in missed
    assert "| familiar | 0.70 | – | – | – |" in missed
    assert missed.endswith("at least 0.9: NOT met (below: by heart).")
    assert show_gains(args, rates, {"by heart": Gains(4.0, 4.0 * DUE, 0.8, 1.0)}).endswith(": met.")
    assert show_gains(args, rates, {}).endswith(": no such set.")
