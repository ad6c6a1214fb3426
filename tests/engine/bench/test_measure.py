"""The public entry to the measurement of `bench`: its figures, its progress, and how it is cancelled."""

import json
from typing import Any

import pytest

from engine import CancelToken, SpeculativeDecoder, WaysProgress, bundled_pair, measure_ways
from engine.bench.measure import Measured, make_ways_report
from engine.bench.runs import AUTO, NEAR_TIE, PLAIN, SAME, UNEXAMINED, Equality
from engine.cli.main import main
from engine.config import LoadConfig, SamplingConfig
from engine.errors import Cancelled, InvalidLookahead, InvalidRequest, ModelNotLoaded
from helpers.decoding.fake_backend import FakeBackend

QUESTION = "Tell me a story about a shy dragon."


def _decoder(*, draft: bool = True) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(FakeBackend(8, seed=1, name="big"))
    if draft:
        decoder.attach_draft(FakeBackend(8, seed=1, name="small"))
    return decoder


def _measure(ways: Any = (2, 4, "auto"), decoder: SpeculativeDecoder | None = None, **options: Any) -> Any:
    return measure_ways(decoder or _decoder(), ["abc"], ways, **{"repeats": 3, "max_tokens": 20, **options})


def test_figures_of_every_way() -> None:
    report = _measure()
    assert [way.name for way in report.ways] == [PLAIN, "2", "4", AUTO]
    for way in report.ways:
        assert way.replies == way.tokens_per_second.values == way.speedup.values == 3
        assert way.tokens == (20,)
        assert way.equality == (Equality(SAME, 20, 20),) * 3
        assert way.tokens_per_second.least <= way.tokens_per_second.median <= way.tokens_per_second.most
    plain, four = report.way(PLAIN), report.way("4")
    assert plain is not None
    assert plain.speedup is not None
    assert plain.speedup.median == 1.0
    assert four is not None
    assert four.acceptance_rate == 1.0
    assert (report.target.name, *(each.name for each in report.sources)) == ("big", "small")
    assert (report.repeats, report.max_tokens, report.prompt_tokens) == (3, 20, 3)
    assert report.machine["processor"]
    assert report.notes
    assert report.way("7") is None


def test_plain_decoding_is_measured_once_whatever_is_asked_for() -> None:
    assert [way.name for way in _measure((0, PLAIN, 3, 3)).ways] == [PLAIN, "3"]
    assert [way.name for way in _measure(("auto", "ngram"), _decoder(draft=False)).ways] == [PLAIN, AUTO, "ngram"]


def test_drawn_tokens_are_not_compared() -> None:
    report = _measure(sampling=SamplingConfig(temperature=0.8))
    assert all(way.equality == () for way in report.ways)


@pytest.mark.parametrize(
    ("ways", "options", "error"),
    [
        ((33,), {}, InvalidLookahead),
        (("fast",), {}, InvalidRequest),
        ((4,), {"max_tokens": 0}, InvalidRequest),
        ((4,), {"decoder": SpeculativeDecoder()}, ModelNotLoaded),
    ],
)
def test_wrong_usage(ways: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        _measure(ways, **options)


def test_progress() -> None:
    seen: list[WaysProgress] = []

    def note(now: WaysProgress) -> None:
        assert now.report.notes == ()
        seen.append(now)

    report = _measure(progress=note)
    assert [each.done for each in seen if each.stage == "warming up"] == [0, 1, 2, 3, 4]
    assert [each.done for each in seen if each.stage == "measuring"] == list(range(13))
    assert {each.total for each in seen if each.stage == "measuring"} == {12}
    lefts = [each.seconds_left for each in seen if each.stage == "measuring"]
    assert lefts[0] is not None
    assert lefts[-1] == 0.0
    assert seen[-1].stage == "comparing"
    assert seen[-1].report.ways[1].tokens_per_second == report.ways[1].tokens_per_second


def test_cancelled_midway_it_keeps_what_there_is() -> None:
    report = _measure(progress=lambda now: not (now.stage == "measuring" and now.done == 6))
    assert report.partial
    assert sum(way.replies for way in report.ways) == 6
    assert all(each.verdict in (SAME, UNEXAMINED) for way in report.ways for each in way.equality)
    token = CancelToken()
    report = _measure(cancel=token, progress=lambda now: token.cancel() if now.done == 6 else None)
    assert report.partial
    assert sum(way.replies for way in report.ways) == 6
    assert not token.cancelled


@pytest.mark.parametrize("stage", ["warming up", "measuring"])
def test_cancelled_before_anything_was_measured(stage: str) -> None:
    decoder = _decoder()
    with pytest.raises(Cancelled):
        _measure(decoder=decoder, progress=lambda now: now.stage != stage)
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        _measure(decoder=decoder, cancel=token)
    assert _measure(decoder=decoder).way("4") is not None


def test_cancelled_while_comparing() -> None:
    report = _measure(progress=lambda now: now.stage != "comparing")
    assert report.partial
    assert sum(way.replies for way in report.ways) == 12


def test_a_tie_is_told_with_its_gap() -> None:
    """Equality is the bench's own: here only how it comes through."""
    kept: list[Measured] = []
    _measure(progress=lambda now: kept.append(now.measured))
    measured = kept[0]
    tie = Equality(NEAR_TIE, 7, 20, 0.0004)
    pairs = zip(measured.replies, measured.compared, strict=True)
    measured.compared = [tie if reply.way == "4" else each for reply, each in pairs]
    report = make_ways_report(measured)
    four = report.way("4")
    assert four is not None
    assert four.equality == (tie,) * 3
    assert any("too close to call" in note for note in report.notes)


def test_demo_pair_gives_the_figures_of_bench(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The same replies: their numbers of tokens, rounds and acceptance are those of the command; speeds are timings."""
    prompts = tmp_path / "prompts.json"
    prompts.write_text(json.dumps([QUESTION]), "utf-8")
    sizes = ("--lookaheads", "3", "--no-ngram", "--repeats", "3", "--max-tokens", "24", "--threads", "1")
    assert main(["bench", "--json", "--prompts", str(prompts), *sizes]) == 0
    command = json.loads(capsys.readouterr().out)
    target, draft = bundled_pair()
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(target, threads=1, trusted=True))
        decoder.attach_draft(LoadConfig(draft, threads=1, trusted=True))
        report = measure_ways(decoder, [QUESTION], [3], repeats=3, max_tokens=24)
    for way in report.ways:
        theirs = command["ways"][way.name]
        assert way.acceptance_rate == theirs["acceptance_rate"]
        assert way.mean_length == theirs["mean_length"]
        assert way.replies == theirs["replies"] == 3
        assert way.tokens_per_second is not None
        ratio = way.tokens_per_second.most / theirs["tokens_per_second"]["least"]
        assert 0.1 < ratio < 10.0
        assert {each.verdict for each in way.equality} <= {SAME, NEAR_TIE}
    mine = [reply["emitted"] for reply in command["replies"] if reply["way"] == "3"]
    assert report.ways[1].tokens == tuple(sorted(set(mine)))
    assert report.prompt_tokens == command["prompts"][0]["tokens"]
