"""Counters, derived figures, and their JSON form both ways."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stats import GenerationStats, MethodStats, StatsRecorder
from helpers.properties import quick

PROMISED = (
    *("rounds", "proposed", "accepted", "rejected", "corrections", "bonus_tokens", "plain_tokens", "emitted"),
    *("n1_fallbacks", "overlapped_rounds", "target_forwards", "draft_forwards", "acceptance_rate", "mean_length"),
    *("average_lookahead", "acceptance_by_position", "draft_ms", "target_ms", "prompt_ms", "total_ms"),
    *("tokens_per_second", "speedup", "time_saved_ms"),
)

SOME = GenerationStats(
    rounds=4,
    proposed=10,
    accepted=6,
    rejected=4,
    corrections=2,
    bonus_tokens=1,
    plain_tokens=1,
    target_forwards=4,
    draft_forwards=10,
    lookahead_sum=12,
    draft_ms=4.0,
    target_ms=16.0,
    prompt_ms=100.0,
    total_ms=600.0,
    proposed_by_position=(4, 4, 2),
    accepted_by_position=(4, 2, 0),
    plain_tokens_per_second=10.0,
)


def test_derived_figures() -> None:
    assert SOME.emitted == 10
    assert SOME.acceptance_rate == 0.6
    assert SOME.mean_length == 2.5
    assert SOME.average_lookahead == 3.0
    assert SOME.acceptance_by_position == (1.0, 0.5, 0.0)
    assert SOME.tokens_per_second == 20.0
    assert SOME.speedup == 2.0
    assert SOME.time_saved_ms == 500.0


def test_no_acceptance_reads_zero() -> None:
    """A correction in every round is not an acceptance."""
    stats = GenerationStats(rounds=8, proposed=32, rejected=32, corrections=8)
    assert stats.acceptance_rate == 0.0
    assert stats.mean_length == 1.0
    assert stats.emitted == 8


def test_nothing_divides_by_zero() -> None:
    empty = GenerationStats()
    assert json.dumps(empty.to_dict(), allow_nan=False)
    assert (empty.acceptance_rate, empty.mean_length, empty.tokens_per_second) == (0.0, 0.0, 0.0)
    assert empty.speedup is None
    assert empty.time_saved_ms is None


def test_unmeasured_speedup_is_none() -> None:
    assert replace(SOME, plain_tokens_per_second=None).speedup is None
    assert replace(SOME, plain_tokens_per_second=None).time_saved_ms is None


def test_json_has_what_the_design_promises() -> None:
    assert set(PROMISED) <= set(SOME.to_dict())


counts = st.integers(0, 1000)
everything = st.builds(
    GenerationStats,
    rounds=counts,
    proposed=counts,
    accepted=counts,
    rejected=counts,
    corrections=counts,
    bonus_tokens=counts,
    plain_tokens=counts,
    target_forwards=counts,
    lookahead_sum=counts,
    draft_ms=st.floats(0, 1e6),
    total_ms=st.floats(0, 1e6),
    proposed_by_position=st.lists(counts, min_size=3, max_size=3).map(tuple),
    accepted_by_position=st.lists(counts, min_size=3, max_size=3).map(tuple),
    plain_tokens_per_second=st.none() | st.floats(0.1, 1e4),
)


@quick
@given(everything.filter(lambda stats: stats.rounds > 0))
def test_json_both_ways(stats: GenerationStats) -> None:
    assert GenerationStats.from_dict(json.loads(json.dumps(stats.to_dict(), allow_nan=False))) == stats


def test_unknown_keys_are_ignored() -> None:
    assert GenerationStats.from_dict({"rounds": 2, "of_another_version": 1}) == GenerationStats(rounds=2)


@quick
@given(everything, everything)
def test_sums_add_counters(first: GenerationStats, second: GenerationStats) -> None:
    total = first + second
    assert total.emitted == first.emitted + second.emitted
    assert total.proposed == first.proposed + second.proposed
    assert total.total_ms == pytest.approx(first.total_ms + second.total_ms)


def test_sum_of_different_depths() -> None:
    shallow = GenerationStats(proposed_by_position=(5,), accepted_by_position=(4,))
    total = SOME + shallow
    assert total.proposed_by_position == (9, 4, 2)
    assert total.accepted_by_position == (8, 2, 0)
    assert total.plain_tokens_per_second == 10.0


def test_recorder() -> None:
    recorder = StatsRecorder()
    recorder.add(rounds=1, proposed=2, accepted=1)
    recorder.add_draft(2, 1)
    before = recorder.snapshot()
    recorder.add(rounds=1, proposed=4, accepted=4)
    recorder.add_draft(4, 4)
    recorder.put(total_ms=7.0)
    stats = recorder.snapshot()
    assert before.rounds == 1
    assert (stats.rounds, stats.proposed, stats.accepted, stats.total_ms) == (2, 6, 5, 7.0)
    assert stats.proposed_by_position == (2, 2, 1, 1)
    assert stats.accepted_by_position == (2, 1, 1, 1)


def _recorded() -> GenerationStats:
    recorder = StatsRecorder()
    for proposed, accepted, emitted, ms in ((4, 4, 5, 30.0), (4, 1, 2, 34.0), (0, 0, 1, 10.0)):
        recorder.add(rounds=1, proposed=proposed, accepted=accepted, draft_ms=2.0, target_ms=ms)
        recorder.add_forward(1 + proposed, ms)
        recorder.add_method("draft-model" if proposed else "autoregressive", proposed, accepted, emitted, (2.0, ms))
    return recorder.snapshot()


def test_rounds_are_counted_under_the_method_that_proposed() -> None:
    draft, plain = _recorded().by_method
    assert (draft.name, draft.rounds, draft.proposed, draft.accepted, draft.emitted) == ("draft-model", 2, 8, 5, 7)
    assert (draft.draft_ms, draft.target_ms, draft.acceptance_rate) == (4.0, 64.0, 0.625)
    assert (plain.name, plain.rounds, plain.emitted, plain.acceptance_rate) == ("autoregressive", 1, 1, 0.0)


def test_forwards_are_counted_by_size() -> None:
    stats = _recorded()
    assert stats.forwards_by_size == (1, 0, 0, 0, 2)
    assert stats.target_ms_by_size == (10.0, 0.0, 0.0, 0.0, 64.0)


def test_estimate_by_the_formula() -> None:
    """E = 1 + 5/2 tokens; v = 32/10; K·c = 6/2/10."""
    assert _recorded().estimated_speedup == pytest.approx(3.5 / (3.2 + 0.3))


def test_estimate_needs_the_cost_of_one_token_and_drafts() -> None:
    stats = replace(_recorded(), forwards_by_size=(0, 0, 0, 0, 2), target_ms_by_size=(0.0, 0.0, 0.0, 0.0, 64.0))
    assert stats.estimated_speedup is None
    assert replace(stats, plain_tokens_per_second=100.0).estimated_speedup == pytest.approx(3.5 / 3.5)
    assert replace(stats, forwards_by_size=(3,), target_ms_by_size=(30.0,)).estimated_speedup is None


def test_methods_and_sizes_add_up() -> None:
    both = _recorded() + _recorded() + GenerationStats()
    assert [method.rounds for method in both.by_method] == [4, 2]
    assert both.forwards_by_size == (2, 0, 0, 0, 4)
    assert [method.name for method in (GenerationStats() + _recorded()).by_method] == ["draft-model", "autoregressive"]
    assert both.estimated_speedup == _recorded().estimated_speedup


def test_methods_survive_json() -> None:
    data = json.loads(json.dumps(_recorded().to_dict()))
    assert data["by_method"]["draft-model"]["acceptance_rate"] == 0.625
    assert GenerationStats.from_dict(data) == _recorded()


@pytest.mark.parametrize(("accepted", "advised"), [(0, True), (29, True), (30, False), (100, False)])
def test_advice_below_thirty_per_cent(accepted: int, advised: bool) -> None:
    advice = GenerationStats(proposed=100, accepted=accepted).advice
    assert (advice is not None) is advised
    if advice is not None:
        assert f"{accepted}%" in advice.replace("\N{NO-BREAK SPACE}", "")
        assert "smaller lookahead or another draft" in advice


def test_no_advice_where_no_draft_proposed_or_hardly_anything() -> None:
    def stats(source: str, proposed: int) -> GenerationStats:
        return GenerationStats(proposed=proposed, by_method=(MethodStats(source, 9, proposed),))

    assert stats("ngram", 100).advice is stats("constraint", 100).advice is stats("draft-model", 5).advice is None
    assert stats("draft-model", 100).advice is not None
    assert (stats("ngram", 100) + stats("eagle3", 100)).advice is not None


def test_no_advice_where_nothing_was_proposed() -> None:
    assert GenerationStats(plain_tokens=50).advice is None
