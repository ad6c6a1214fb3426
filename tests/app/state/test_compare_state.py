"""The proof's state and its text, without a window."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bridge.bridge import EngineBridge, ModelsChanged
from app.state.compare.compare import (
    CompareProgress,
    CompareRequest,
    CompareRun,
    CompareSettings,
    best_lookahead,
    doubts,
    figures,
    outcome,
    rivals,
    speculative,
    sweep_points,
    verdict,
    ways_to_compare,
    ways_to_sweep,
)
from app.state.compare.text import compare_text, sweep_text
from app.state.models.selection import Loaded
from engine import Cancelled, Equality, SamplingConfig
from helpers.decoding.scripted_compare import report, spread, way
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder

REQUEST = CompareRequest("Why?", (4,), Loaded(), CompareSettings(repeats=5, tokens=72))
SAME = Equality("same", 96, 96)


def test_what_is_compared_and_swept() -> None:
    assert ways_to_compare(4, has_draft=True) == (4,)
    assert ways_to_compare("auto", has_draft=True) == ("auto",)
    assert ways_to_compare(0, has_draft=True) == ("auto",)
    assert ways_to_compare(4, has_draft=False) == ("auto",), "without a draft a number means plain decoding"
    assert ways_to_sweep() == (*range(1, 17), "auto")


def test_a_run_from_start_to_figures() -> None:
    run = CompareRun()
    assert not run.running
    run.begin(REQUEST)
    assert (run.status, run.running, run.fraction) == ("waiting", True, None)
    run.wait("loading")
    seen = run.version
    run.wait("loading")
    assert run.version == seen
    run.take(CompareProgress("warming up", 1, 2))
    assert run.fraction == pytest.approx(0.5 * 8 / (8 + 360))
    assert run.seconds_left is None
    partial = report(way("plain", 50.0), way("4", None))
    run.take(CompareProgress("measuring", 5, 10, 3.0, partial))
    assert run.fraction == pytest.approx(8 / 368 + 0.5 * 360 / 368)
    assert run.report is partial
    assert run.seconds_left == 3.0
    whole = report(way("plain", 50.0), way("4", 60.0, 1.2))
    run.finish(whole)
    assert (run.status, run.running, run.fraction, run.seconds_left) == ("done", False, None, None)
    assert run.report is whole
    run.begin(REQUEST)
    assert run.report is None


def test_a_run_that_ends_otherwise() -> None:
    run = CompareRun()
    run.begin(REQUEST)
    run.finish(report(way("plain", 50.0), partial=True))
    assert run.status == "cancelled"
    run.begin(REQUEST)
    run.fail("The model has left.")
    assert (run.status, run.problem) == ("failed", "The model has left.")
    run.begin(REQUEST)
    assert run.problem == ""
    run.cancel()
    assert run.status == "cancelled"


@pytest.mark.parametrize(
    ("equality", "kind", "alike"),
    [
        ((SAME, SAME), "identical", 96),
        ((SAME, Equality("near tie", 40, 96, 0.0004)), "tie", 40),
        ((Equality("near tie", 40, 96, 0.0004), Equality("near tie", 20, 96, 0.0001)), "tie", 20),
        ((Equality("not examined", 7, 96), SAME), "unexamined", 7),
        ((Equality("near tie", 40, 96, 0.0004), Equality("different", 60, 96, 0.4)), "different", 60),
        ((), "none", 0),
    ],
)
def test_verdict_is_that_of_the_worst_reply(equality: tuple[Equality, ...], kind: str, alike: int) -> None:
    found = verdict(report(way("plain", 50.0), way("4", 60.0, 1.2, equality=equality)))
    assert (found.kind, found.alike) == (kind, alike)


def test_no_verdict_on_what_is_drawn_or_not_there() -> None:
    drawn = report(way("plain", 50.0), way("4", 60.0, equality=()), sampling=SamplingConfig(temperature=0.7))
    assert verdict(drawn).kind == "drawn"
    assert verdict(None).kind == "none"
    assert verdict(report(way("plain", 50.0), way("4", None))).kind == "none"
    assert speculative(None) is None


def test_faster_only_beyond_the_spread() -> None:
    assert outcome(way("4", 60.0, 1.2)) == "faster"
    assert outcome(way("4", 60.0, 0.8)) == "slower"
    assert outcome(way("4", 60.0, 1.01)) == "level"
    few = replace(way("4", 60.0), speedup=spread(1.2, values=2))
    assert outcome(few) == "unknown"
    assert outcome(None) == "unknown"


def test_points_of_a_sweep() -> None:
    fixed = way("plain", 50.0), way("10", None), way("2", 70.0, 1.4), way("1", 60.0, 1.2)
    told = report(*fixed, way("auto", 69.0, 1.38))
    assert [(point.lookahead, point.speed.median) for point in sweep_points(told)] == [(0, 50.0), (1, 60.0), (2, 70.0)]
    assert sweep_points(None) == []
    assert figures(told, "10") is None
    assert figures(told, "2") is told.ways[2]


def test_the_best_is_told_once_all_are_measured_or_it_was_cancelled() -> None:
    ways = way("plain", 50.0), way("2", 70.0, 1.4), way("10", None)
    assert best_lookahead(report(*ways, best_fixed="2")) is None
    assert best_lookahead(report(*ways, best_fixed="2", partial=True)) == 2
    whole = report(*ways[:2], way("10", 60.0), best_fixed="plain", not_told_apart=("10", "2"))
    assert best_lookahead(whole) == 0
    assert rivals(whole) == [2, 10]
    assert best_lookahead(None) is None
    assert rivals(None) == []


def test_doubts() -> None:
    ways = way("plain", 50.0), way("4", 60.0, 1.2)
    assert doubts(report(*ways)) == []
    assert doubts(report(*ways, other_programs=0.2, unsteady=0.3)) == ["busy", "unsteady"]
    assert doubts(report(way("plain", 50.0, replies=1), ways[1])) == ["few"]
    assert doubts(report(way("plain", None))) == doubts(None) == []


def test_text_of_a_comparison() -> None:
    told = report(way("plain", 50.0), way("4", 68.5, 1.37), other_programs=0.03)
    assert compare_text(told, "Why is\nthe sky blue?") == (
        "Outrider: plain against speculative decoding\ntarget big (8.2M, 1 thread, cpu), draft small (795K, 1 "
        "thread, cpu)\ngreedy, 5 runs of up to 96 tokens, prompt of 13 tokens\nA processor, 2 cores, 8.0 GiB, A "
        "system\nOutrider 0.1.0, Python 3.11, llama-cpp-python 0.3\n\nplain   50.0 (49.0–51.0) tok/s\nK = 4   "
        "68.5 (67.1–69.9) tok/s, speedup 1.37 (1.34–1.40), 72 % accepted, 3.10 tokens per round\n\nOutputs: "
        "identical, 96 of 96 tokens.\nFigures are medians; the range is half of the runs.\nOther programs used "
        "3 % of the processors meanwhile.\nPlain decoding varied by 1 % between runs.\nPrompt: Why is the sky "
        "blue?\n"
    )


def test_text_of_a_partial_drawn_comparison_without_a_draft() -> None:
    sampling = SamplingConfig(temperature=0.7)
    changes: dict[str, Any] = {"sources": (), "partial": True, "sampling": sampling, "machine": {}}
    text = compare_text(report(way("plain", 50.0), way("auto", 60.0, 1.2, equality=()), **changes), "word " * 100)
    for part in ("temperature 0.7", "PARTIAL", "sampled from the same distribution", "lookahead 4.0 on average", "…"):
        assert part in text
    assert "draft" not in text
    assert max(map(len, text.splitlines())) < 220


@pytest.mark.parametrize(
    ("equality", "said"),
    [
        (Equality("near tie", 40, 96, 0.0004), "a tie after 40 of 96 tokens (the two best logits are too close"),
        (Equality("different", 60, 96, 0.4), "DIFFERENT after 60 of 96"),
        (Equality("not examined", 7, 96), "differ after 7 of 96"),
    ],
)
def test_text_of_outputs_that_part(equality: Equality, said: str) -> None:
    assert said in compare_text(report(way("plain", 50.0), way("4", 60.0, 1.2, equality=(equality,))), "Why?")


def test_text_of_a_sweep() -> None:
    ways = way("plain", 50.0), way("1", 60.0, 1.2), way("2", None), way("auto", 61.0, 1.22)
    text = sweep_text(report(*ways, best_fixed="1", not_told_apart=("plain",), partial=True), "Why?")
    lines = text.splitlines()
    assert "    K    tok/s     half of runs  speedup" in lines
    assert "    0     50.0        49.0–51.0  1.00x" in lines
    assert " auto     61.0        59.8–62.2  1.22x" in lines
    assert "Fastest lookahead: 1; no measurable difference from 0." in lines
    assert not any(line.lstrip().startswith("2 ") for line in lines)


def test_other_models_than_those_asked_for_are_not_measured(loop: asyncio.AbstractEventLoop, qtbot: Any) -> None:
    bridge = EngineBridge(loop, make_decoder=lambda: ScriptedDecoder(Script()))  # type: ignore[arg-type, return-value]
    try:
        job = bridge.measure_ways(CompareRequest("Why?", (4,), Loaded(Path("a")), CompareSettings()), lambda _now: None)
        qtbot.waitUntil(job.result.done)
        assert isinstance(job.result.exception(), ModelsChanged)
    finally:
        assert bridge.close(5.0)


def test_a_job_that_is_cancelled_before_its_turn_ends_at_once(loop: asyncio.AbstractEventLoop, qtbot: Any) -> None:
    script = Script(load_s=1.0)
    bridge = EngineBridge(loop, make_decoder=lambda: ScriptedDecoder(script))  # type: ignore[arg-type, return-value]
    try:
        first = bridge.load(Loaded(Path("a")))
        second = bridge.load(Loaded(Path("b")))
        second.cancel()
        qtbot.waitUntil(second.result.done)
        assert isinstance(second.result.exception(), Cancelled)
        assert not first.result.done()
        qtbot.waitUntil(first.result.done)
        assert first.result.result().target == Path("a")
        assert ("target", Path("b")) not in script.loads
    finally:
        assert bridge.close(5.0)
