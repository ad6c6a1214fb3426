"""What `bench` measures and how it reckons: sizes, turns, equality, medians, and what is noise."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from time import sleep
from typing import Any

import numpy as np
import pytest

from engine.backends.base import Logits
from engine.bench.figures import count_equal, make_notes, ratios, spread, summarise, told_apart, unsteadiness
from engine.bench.prompts import ALL
from engine.bench.runs import (
    AUTO,
    CLOSE,
    DIFFERENT,
    NEAR_TIE,
    NGRAM,
    PLAIN,
    SAME,
    UNEXAMINED,
    Bench,
    LeftOut,
    Pace,
    PreparedPrompt,
    Reply,
    balanced_order,
    choose_sizes,
    compare_replies,
    make_ways,
)
from engine.config import SamplingConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled
from engine.events import GenerationResult
from engine.stats import GenerationStats
from engine.system.machine import OtherPrograms, describe_machine
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.fakes import ScriptedBackend, letters, recite

FIVE = [PreparedPrompt(ALL, number, (1,) * 60, 128) for number in range(5)]


def test_sizes_of_a_fast_machine_are_full() -> None:
    sizes = choose_sizes(Pace(0.4, 0.2), FIVE, 11)
    assert (sizes.repeats, sizes.max_tokens) == (3, 64)
    assert sizes.seconds == pytest.approx((11 * 300 * 0.2 + 3 * 11 * 5 * 64 * 0.4) / 1000)


def test_a_slow_machine_gets_shorter_replies_and_then_fewer_turns() -> None:
    shorter, fewer = choose_sizes(Pace(90.0, 25.0), FIVE, 11), choose_sizes(Pace(200.0, 60.0), FIVE, 11)
    assert shorter.repeats == 3
    assert 24 <= shorter.max_tokens < 64
    assert shorter.seconds <= 480
    assert (fewer.repeats, fewer.max_tokens) == (1, 24)


def test_given_sizes_stay() -> None:
    sizes = choose_sizes(Pace(500.0, 200.0), FIVE, 11, repeats=7, max_tokens=100)
    assert (sizes.repeats, sizes.max_tokens) == (7, 100)
    assert choose_sizes(Pace(1.0, 1.0), FIVE, 3, repeats=2).repeats == 2


def test_ways() -> None:
    assert [way.name for way in make_ways((4, 2, 0, 4), "draft-model", ngram=True)] == ["plain", "2", "4", AUTO, NGRAM]
    assert [way.name for way in make_ways((4,), None, ngram=True)] == [PLAIN, NGRAM]
    assert [way.name for way in make_ways((4,), None, ngram=False)] == [PLAIN]


def _bench(**changes: Any) -> Bench:
    decoder = SpeculativeDecoder()
    decoder.attach_target(FakeBackend(8, seed=1))
    decoder.attach_draft(FakeBackend(8, seed=1))
    prompts = [PreparedPrompt("a", 0, (1, 2, 3), 6), PreparedPrompt("b", 0, (4, 5, 6, 7), 99)]
    return Bench(decoder, make_ways((1, 3), "draft-model", ngram=True), prompts, **changes)


def test_each_way_is_at_each_place_equally_often() -> None:
    bench = _bench()
    replies = list(bench.replies(10, 8))
    places = {(index, way.name, order): 0 for index in range(2) for way in bench.ways for order in range(5)}
    assert len(replies) == 10 * 2 * 5
    for reply in replies:
        places[reply.prompt, reply.way, reply.order] += 1
    assert set(places.values()) == {2}, "for each prompt"
    assert {reply.result.stats.emitted for reply in replies if reply.prompt == 0} == {6}
    assert {reply.result.stats.emitted for reply in replies if reply.prompt == 1} == {8}


@pytest.mark.parametrize("count", range(1, 13))
def test_no_way_has_a_better_place_or_a_better_way_before_it(count: int) -> None:
    rounds = count if count % 2 == 0 else 2 * count
    orders = [balanced_order(count, number) for number in range(rounds)]
    assert all(sorted(order) == list(range(count)) for order in orders)
    places = Counter((way, place) for order in orders for place, way in enumerate(order))
    assert set(places.values()) == {rounds // count}
    behind = Counter(pair for order in orders for pair in pairwise(order))
    assert len(behind) == count * (count - 1)
    assert len(set(behind.values())) <= 1


def test_the_first_turn_reads_every_prompt_anew() -> None:
    replies = list(_bench().replies(2, 4))
    fresh = [reply for reply in replies if reply.fresh]
    assert {reply.turn for reply in fresh} == {0}
    assert len(fresh) == len(replies) / 2
    assert all(reply.result.prompt_evaluated == reply.result.prompt_tokens for reply in fresh)
    assert any(reply.result.prompt_evaluated < reply.result.prompt_tokens for reply in replies if not reply.fresh)


def test_time_to_the_first_token() -> None:
    ticks = iter(range(10_000))
    replies = list(_bench(clock=lambda: float(next(ticks))).replies(1, 4))
    # The clock is asked when the reply begins and when its first token comes, never again.
    assert {reply.first_token_ms for reply in replies} == {1000.0}
    assert next(ticks) == 2 * len(replies)


def test_warm_up_measures_plain_decoding() -> None:
    bench = _bench()
    pace = bench.warm_up()
    assert pace.token_ms > 0.0
    assert pace.prompt_token_ms > 0.0
    assert bench.decoder.target is not None
    assert bench.decoder.target.length > 0


def test_a_reply_that_is_cancelled_midway_does_not_count() -> None:
    bench = _bench(sampling=SamplingConfig(temperature=0.8))
    replies = bench.replies(1, 4)
    done = [next(replies)]
    bench.cancel.cancel()
    with pytest.raises(Cancelled):
        done += replies
    assert len(done) == 1


def test_draws_repeat_and_change_with_the_turn() -> None:
    def replies() -> list[Reply]:
        return list(_bench(sampling=SamplingConfig(temperature=1.0)).replies(2, 8))

    first, again = (
        # What auto proposes, and with it what is drawn, depends on how long things take.
        [reply.result.tokens for reply in once if reply.way != AUTO]
        for once in (replies(), replies())
    )
    assert first == again
    plain = {reply.turn: reply.result.tokens for reply in replies() if reply.way == PLAIN and reply.prompt == 1}
    assert plain[0] != plain[1]


class TwoBest(ScriptedBackend):
    """Behind the token 3, the tokens 1 and 2 lie `gap` apart; `several` tokens at once `alters` one of them."""

    gap = 0.0
    alters = 0.0
    several = 2

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        rows = super().forward(tokens, n_outputs).copy()
        rows[:, 1] -= self.alters * (len(tokens) >= self.several)
        return rows

    def row(self, history: Sequence[int]) -> Logits:
        row = super().row(history)
        if history[-1] == 3:
            row[:] = 0.0
            row[1], row[2] = 5.0 + self.gap, 5.0
        return row


def _reply(way: str, tokens: Sequence[int] = (), *, prompt: int = 0, turn: int = 0, speed: float = 10.0) -> Reply:
    stats = GenerationStats(rounds=20, plain_tokens=20, total_ms=1000.0 * 20 / speed + 50.0, prompt_ms=50.0)
    result = GenerationResult("", tuple(tokens), 5, 5, "length", "m", 0, stats)
    return Reply(way, f"c{prompt}", prompt, turn, 0, turn == 0, 60.0, result)


def _compared(tokens: Sequence[int], gap: float, *, alters: float | None = None, **changes: Any) -> str | None:
    """`alters`: the target is known to compute other logits for several tokens at once, by so much."""
    target = TwoBest(letters(), recite((3, 1, 4)))
    target.gap = gap
    if alters is not None:
        target.row_difference, target.alters = 1e-6, alters
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(target)
        sampling = changes.pop("sampling", SamplingConfig())
        bench = Bench(decoder, (), [PreparedPrompt(ALL, 0, (0,), 9)], sampling)
        found = compare_replies(bench, [_reply(PLAIN, (3, 1, 4)), _reply("4", tokens)], **changes)
        verdicts = [None if each is None else each.verdict for each in found]
        assert verdicts[0] == (SAME if sampling.greedy else None)
        return verdicts[1]


def test_replies_are_compared_with_the_plain_one() -> None:
    assert _compared((3, 1, 4), 9.0) == SAME
    assert _compared((3, 2, 7), 0.5 * CLOSE) == NEAR_TIE
    assert _compared((3, 2, 7), 2.0 * CLOSE) == DIFFERENT
    # Not one of the two that lie close, elsewhere than where they do, or only a beginning.
    assert _compared((3, 5, 7), 0.5 * CLOSE) == DIFFERENT
    assert _compared((3, 1, 5), 0.5 * CLOSE) == DIFFERENT
    assert _compared((3, 1), 0.5 * CLOSE) == DIFFERENT
    assert _compared((3, 2, 7), 0.5 * CLOSE, examine=False) == UNEXAMINED


def test_where_rows_depend_on_the_batch_a_tie_is_what_that_changes() -> None:
    assert _compared((3, 2, 7), 0.1, alters=0.07) == NEAR_TIE
    assert _compared((3, 2, 7), 0.1, alters=0.04) == DIFFERENT
    assert _compared((3, 5, 7), 0.1, alters=0.07) == DIFFERENT
    assert _compared((3, 2, 7), 0.5 * CLOSE, alters=0.0) == NEAR_TIE


@pytest.mark.parametrize("several", [9, 17])
def test_what_only_long_drafts_change_makes_a_tie_too(several: int) -> None:
    target, plain = TwoBest(letters(), recite((3, 1, *[4] * 20))), (3, 1, *[4] * 20)
    target.gap, target.row_difference, target.alters, target.several = 0.1, 1e-6, 0.07, several
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(target)
        bench = Bench(decoder, (), [PreparedPrompt(ALL, 0, (0,), 40)], SamplingConfig())
        found = compare_replies(bench, [_reply(PLAIN, plain), _reply("16", (3, 2, 7))])
    assert [each and each.verdict for each in found] == [SAME, NEAR_TIE]


def test_what_is_drawn_is_not_compared_and_what_is_penalised_not_excused() -> None:
    assert _compared((3, 2), 0.0, sampling=SamplingConfig(temperature=0.5)) is None
    assert _compared((3, 2), 0.0, sampling=SamplingConfig(repeat_penalty=1.2)) == DIFFERENT


def test_real_decoding_of_a_fake_is_equal() -> None:
    bench = _bench()
    assert {each and each.verdict for each in compare_replies(bench, list(bench.replies(2, 8)))} == {SAME}


def test_spread() -> None:
    assert spread([]) is None
    one = spread([4.0])
    assert one == {"median": 4.0, "low": 4.0, "high": 4.0, "least": 4.0, "most": 4.0, "values": 1}
    many = spread([1.0, 2.0, 3.0, 4.0, 100.0])
    assert many == {"median": 3.0, "low": 2.0, "high": 4.0, "least": 1.0, "most": 100.0, "values": 5}


def test_ratios_are_of_the_same_prompt_and_turn() -> None:
    ours, theirs = {(0, 0): 6.0, (0, 1): 3.0, (1, 0): 8.0}, {(0, 0): 2.0, (0, 1): 3.0, (2, 0): 1.0}
    assert ratios(ours, theirs) == [3.0, 1.0]
    assert ratios(ours, theirs, lambda turn: turn == 1) == [1.0]


def test_told_apart_takes_pairs_and_a_middle_half_on_one_side() -> None:
    assert told_apart([1.1, 1.2, 1.3])
    assert told_apart([0.9, 0.8, 0.95, 1.05])
    assert not told_apart([1.1, 1.2])
    assert not told_apart([0.8, 0.9, 1.1, 1.2])


def _speeds(table: dict[str, list[float]], prompts: int = 1) -> list[Reply]:
    """Replies with the given speeds, one a turn, for each prompt."""
    return [
        _reply(way, prompt=prompt, turn=turn, speed=speed)
        for prompt in range(prompts)
        for way, speeds in table.items()
        for turn, speed in enumerate(speeds)
    ]


def test_speedups_are_medians_of_paired_ratios() -> None:
    # The machine became three times slower after the first turn: medians of speeds alone would say nothing.
    table = {PLAIN: [30.0, 10.0, 10.0], "2": [45.0, 15.0, 14.0], AUTO: [60.0, 20.0, 21.0]}
    summary = summarise(_speeds(table), list(table))
    assert summary["ways"]["2"]["speedup"]["median"] == pytest.approx(1.5)
    assert summary["ways"][AUTO]["speedup"]["median"] == pytest.approx(2.0)
    assert summary["ways"][PLAIN]["speedup"]["most"] == 1.0
    assert summary["ways"]["2"]["tokens_per_second"]["median"] == pytest.approx(15.0)
    assert summary["ways"]["2"]["first_token_ms"] == spread([60.0])
    assert summary["ways"]["2"]["prompt_tokens_per_second"]["median"] == pytest.approx(100.0)
    assert summary["best_fixed"] == {"way": "2", "not_told_apart": []}


def test_best_lookahead_within_the_spread_is_no_winner() -> None:
    table = {PLAIN: [10.0] * 4, "2": [15.0, 12.0, 16.0, 13.0], "4": [14.5, 13.0, 14.5, 14.5], "8": [5.0] * 4}
    summary = summarise(_speeds(table), list(table))
    assert summary["best_fixed"]["not_told_apart"] == ["2"]
    assert summary["auto_to_best"] is None
    notes = make_notes(_speeds(table), summary, count_equal([SAME]), [])
    assert "No best fixed lookahead: 4 has the highest median, but its lead over 2 is within the spread." in notes


def test_plain_decoding_may_be_the_best_fixed_lookahead() -> None:
    table = {PLAIN: [10.0] * 3, "2": [7.0] * 3, AUTO: [9.9] * 3}
    summary = summarise(_speeds(table), list(table))
    assert summary["best_fixed"] == {"way": PLAIN, "not_told_apart": []}
    assert summary["auto_to_best"]["ratio"]["median"] == pytest.approx(0.99)


def test_auto_is_compared_on_other_turns_than_the_best_is_chosen_on() -> None:
    # "2" wins the odd turns (the first and the third) and loses the even ones.
    table = {PLAIN: [10.0] * 4, "2": [30.0, 10.0, 30.0, 10.0], "4": [20.0] * 4, AUTO: [20.0] * 4}
    auto = summarise(_speeds(table, prompts=2), list(table))["auto_to_best"]
    assert (auto["way"], auto["split"], auto["told_apart"]) == ("2", True, True)
    assert auto["ratio"]["median"] == pytest.approx(2.0)
    assert auto["ratio"]["values"] == 4
    once = summarise(_speeds({name: speeds[:1] for name, speeds in table.items()}), list(table))["auto_to_best"]
    assert (once["way"], once["split"], once["told_apart"]) == ("2", False, False)
    assert once["ratio"]["median"] == pytest.approx(2 / 3)


def test_rates_are_of_all_replies_together() -> None:
    def reply(proposed: int, accepted: int, rounds: int) -> Reply:
        stats = GenerationStats(
            rounds=rounds,
            proposed=proposed,
            accepted=accepted,
            corrections=rounds,
            lookahead_sum=4 * rounds,
            total_ms=9.0,
        )
        return Reply("4", ALL, 0, 0, 0, True, 1.0, GenerationResult("", (), 1, 1, "stop", "m", 4, stats))

    row = summarise([_reply(PLAIN), reply(100, 50, 25), reply(4, 4, 1)], [PLAIN, "4"])["ways"]["4"]
    assert row["acceptance_rate"] == 54 / 104
    assert row["mean_length"] == 80 / 26
    assert row["average_lookahead"] == 4.0


def test_noise_is_named() -> None:
    steady, busy = _speeds({PLAIN: [10.0, 10.5]}), _speeds({PLAIN: [10.0, 14.0]})
    assert unsteadiness(steady) == pytest.approx(0.05)
    assert unsteadiness(busy) == pytest.approx(0.4)
    notes = [make_notes(r, summarise(r, [PLAIN]), count_equal([SAME]), []) for r in (steady, busy)]
    assert notes[0] == ["Every reply equals the plain reply, token for token."]
    assert "varied by up to 40%" in notes[1][0]
    disturbed = make_notes(steady, summarise(steady, [PLAIN]), count_equal([SAME]), [], 0.31)
    assert "Other programs used 31% of the processors" in disturbed[0]


def test_auto_from_too_few_pairs_says_so() -> None:
    table = {PLAIN: [10.0], "2": [20.0], AUTO: [10.0]}
    notes = make_notes([], summarise(_speeds(table), list(table)), count_equal([SAME]), [])
    assert notes[1].endswith("0.50× (interquartile range 0.50–0.50), but there are too few measurements to tell.")


def test_other_programs_are_noticed() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        watched = OtherPrograms()
        sleep(0.5)
        share = watched.share()
    finally:
        busy.kill()
        busy.wait()
    assert share > 0.2 / (os.cpu_count() or 1)


def test_differences_are_reported_plainly() -> None:
    equal = count_equal([SAME, NEAR_TIE, DIFFERENT, DIFFERENT, UNEXAMINED])
    assert equal == {"checked": True, "same": 1, "parted_at_a_near_tie": 1, "different": 2, "not_examined": 1}
    summary = {"best_fixed": None, "auto_to_best": None}
    notes = make_notes([], summary, equal, [LeftOut("a", 2, "why")])
    assert "2 replies DIFFER from the plain reply" in notes[1]
    assert notes[-1] == "Left out: prompt 3 of a: why"
    assert make_notes([], summary, count_equal([None]), [])[0].startswith("Tokens were sampled")
    same = count_equal([SAME])
    assert make_notes([], summary, same, [], 0.0, 0.0) == make_notes([], summary, same, [])
    assert "Not batch-invariant: computing several tokens at once changes logits, by up to 0.003" in "".join(
        make_notes([], summary, same, [], 0.0, 0.003)
    )


def test_machine() -> None:
    machine = describe_machine()
    assert machine["processor"]
    assert machine["cores"] >= 1
    assert machine["memory_gib"] > 0
    assert machine["libraries"]["numpy"] == np.__version__
