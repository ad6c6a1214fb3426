"""The command `calibrate`: what it prints, what it expects, and what it says of wrong usage."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.cli.calibrate import ACCEPTANCES, best_lookahead
from engine.cli.main import main
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import costs_place

Calibrate = Callable[..., dict[str, Any]]
STEPS = {1: 10.0, 2: 12.0, 3: 14.0, 4: 16.0, 5: 40.0, 9: 60.0, 17: 100.0}


@pytest.fixture
def pair(shared_gguf: Callable[[str], Path]) -> tuple[str, ...]:
    """Options that choose a small real pair and a short measurement."""
    target, draft = shared_gguf("stories260K-F32"), shared_gguf("stories-draft43K-F32")
    return ("--target", str(target), "--draft", str(draft), "--threads", "1", "--budget", "0.1")


@pytest.fixture
def calibrate(capsys: pytest.CaptureFixture[str]) -> Calibrate:
    """Run `calibrate --json` in this process and give what it prints."""

    def run(*arguments: str) -> dict[str, Any]:
        assert main(["calibrate", "--json", *arguments]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 1
        report: dict[str, Any] = json.loads(lines[0])
        return report

    return run


def test_the_lookahead_stays_below_a_step_in_the_cost() -> None:
    costs = CostModel(STEPS, 0.5)
    lookahead, speedup = best_lookahead(costs, 0.8, drafted=True)
    assert lookahead == 3
    assert speedup == pytest.approx(10.0 * (1 + 0.8 + 0.64 + 0.512) / (16.0 + 3 * 0.5))


def test_a_dear_draft_pays_with_few_or_none() -> None:
    assert best_lookahead(CostModel(STEPS, 9.0), 0.7, drafted=True) == (0, 1.0)
    assert best_lookahead(CostModel(STEPS, 9.0), 0.7, drafted=False)[0] == 3


def test_nothing_is_expected_of_what_was_not_measured() -> None:
    assert best_lookahead(CostModel({1: 10.0}, 0.1), 0.9, drafted=True) == (0, 1.0)
    assert best_lookahead(CostModel({1: 10.0, 2: 10.1, 4: 10.4}, 0.1), 0.99, drafted=True)[0] == 3


def test_json_says_what_was_measured_and_where_it_is_kept(calibrate: Calibrate, pair: tuple[str, ...]) -> None:
    report = calibrate(*pair)
    assert report["target"] == {"name": "stories260K-F32", "path": pair[1]}
    assert report["draft"] == {"name": "stories-draft43K-F32", "path": pair[3]}
    assert report["source"] == "measured"
    assert 0.0 < report["seconds"] < 60.0
    assert (report["device"], report["threads"], report["draft_threads"], report["threads_asked"]) == ("cpu", 1, 1, 1)
    first = report["verify"][0]
    assert first["tokens"] == 1
    assert first["times_of_one"] == 1.0
    sizes = [row["tokens"] for row in report["verify"]]
    assert sizes == sorted(set(sizes))
    for row in report["verify"]:
        assert row["ms"] > 0.0
        assert row["ms_per_token"] == pytest.approx(row["ms"] / row["tokens"], abs=1e-5)
    assert report["draft_ratio"] == pytest.approx(report["draft_ms"] / first["ms"], rel=0.01)
    assert [row["acceptance"] for row in report["expected"]] == list(ACCEPTANCES)
    assert all(row["speedup"] >= 1.0 for row in report["expected"])
    kept = json.loads(Path(report["kept"]).read_text())
    assert [int(size) for size in kept["verify_ms"]] == sizes


def test_what_is_remembered_is_shown_until_a_fresh_measurement_is_asked_for(
    calibrate: Calibrate, pair: tuple[str, ...]
) -> None:
    first = calibrate(*pair)
    again = calibrate(*pair)
    assert again["source"] == "remembered"
    assert again["seconds"] is None
    assert again["verify"] == first["verify"]
    assert calibrate(*pair, "--fresh")["source"] == "measured"
    assert calibrate(*pair, "--ctx", "128")["source"] == "measured"


def test_without_a_draft_proposals_cost_nothing(calibrate: Calibrate, pair: tuple[str, ...]) -> None:
    report = calibrate(*pair[:2], *pair[4:])
    assert report["draft"] is report["draft_ms"] is report["draft_ratio"] is None
    assert calibrate(*pair, "--draft", "none")["draft"] is None


def test_without_names_it_is_the_bundled_pair(calibrate: Calibrate, bundled_target: Path, bundled_draft: Path) -> None:
    report = calibrate("--budget", "0.1")
    assert report["threads_asked"] is None
    assert (report["threads"], report["draft_threads"]) == (1, 1), "tiny models"
    assert report["target"]["path"] == str(bundled_target)
    assert report["draft"]["path"] == str(bundled_draft)
    assert calibrate("--target", "demo", "--draft", "demo", "--budget", "0.1")["source"] == "remembered"


def test_tables_for_people(capsys: pytest.CaptureFixture[str], pair: tuple[str, ...]) -> None:
    assert main(["calibrate", *pair]) == 0
    out = capsys.readouterr().out
    for words in (
        "stories260K-F32 with stories-draft43K-F32",
        "1 thread, the draft 1 thread (as requested)",
        "measured in",
        "Relative to 1",
        "90 %",
    ):
        assert words in out
    assert "Expected speedup" in out
    assert str(costs_place("x").parent) in out
    assert main(["calibrate", *pair]) == 0
    assert "--fresh" in capsys.readouterr().out


def test_a_cache_that_cannot_be_written_is_said(
    calibrate: Calibrate, pair: tuple[str, ...], isolated_home: Path
) -> None:
    shutil.rmtree(isolated_home / "cache")
    (isolated_home / "cache").write_text("in the way")
    assert calibrate(*pair)["kept"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--target", "/nowhere/x.gguf"), "there is no such file"),
        (("--draft", "/nowhere/x.gguf"), "there is no such file"),
        (("--budget", "0"), "budget must be above 0"),
        (("--budget", "nan"), "budget must be above 0"),
        (("--budget", "1e9"), "at most 3600"),
        (("--budget", "x"), "--budget must be a number"),
        (("--threads", "0"), "Threads must be"),
        (("--ctx", "1"), "context must be"),
        (("surplus",), "unrecognized arguments"),
    ],
)
def test_one_clear_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str) -> None:
    try:
        code = main(["calibrate", *arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert says in err
