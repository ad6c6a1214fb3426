"""The campaigns' options and their record: a share, a seed, what is passed over, what a failure leaves."""

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.campaigns import Campaign
from helpers.paths import TESTS

_TESTS = """
import pytest

@pytest.mark.soak
def test_many(campaign):
    seed, share = campaign
    campaign.note(seen=[seed, share], drawn=campaign.draw("abcdefgh"))

@pytest.mark.soak
def test_wrong(campaign):
    assert campaign.share > 0.5

@pytest.mark.soak
def test_long():
    pass

def test_short():
    pass
"""


class Runs:
    """Runs of a small set of soak tests in a folder of their own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # They take longer to load than it runs.
        pytester.makepyfile(test_it=_TESTS)
        pytester.makeini(f"[pytest]\npythonpath = {TESTS} {TESTS.parent}\nmarkers = soak\naddopts = -m 'not soak'")
        pytester.makeconftest('pytest_plugins = ["helpers.campaigns"]')
        self.summary = pytester.path / "build" / "summary.jsonl"

    def __call__(self, *arguments: str, soak: bool = True) -> tuple[int, dict[str, int]]:
        """Give the exit code, and how many passed, failed and were passed over."""
        marked = ["-m", "soak"] if soak else []
        done = self._pytester.runpytest_inprocess(f"--soak-summary={self.summary}", *marked, *arguments)
        return int(done.ret), done.parseoutcomes()

    def lines(self) -> dict[str, Any]:
        """What the record tells, by test."""
        lines = map(json.loads, self.summary.read_text("utf-8").splitlines())
        return {line["name"].rpartition("::")[2]: line for line in lines}


@pytest.fixture
def runs(pytester: pytest.Pytester) -> Runs:
    return Runs(pytester)


def test_a_campaign_leaves_a_line(runs: Runs) -> None:
    assert runs("--seed=7", "--share=0.25") == (1, {"passed": 2, "failed": 1, "deselected": 1})
    lines = runs.lines()
    assert set(lines) == {"test_many", "test_long"}, "none of what failed"
    many = lines["test_many"]
    assert (many["seed"], many["share"], many["tries"]) == (7, 0.25, 2)
    assert many["figures"]["seen"] == [7, 0.25]
    assert len(many["figures"]["drawn"]) == 2
    assert many["seconds"] >= 0
    assert lines["test_long"]["share"] is None


def test_what_has_finished_is_passed_over(runs: Runs) -> None:
    runs("--seed=7", "--share=0.25")
    assert runs("--share=0.25", "--resume") == (1, {"failed": 1, "deselected": 3}), "what failed is tried again"
    assert runs("--share=0.9", "--resume") == (0, {"passed": 2, "deselected": 2}), "another share is another campaign"
    assert runs.lines()["test_many"]["share"] == 0.9
    assert runs("--share=0.9", "--resume") == (0, {"deselected": 4}), "nothing left to do is no failure"
    assert runs("--share=0.9", "--resume", "--seed=3", "-k", "many") == (0, {"passed": 1, "deselected": 3})
    assert runs.lines()["test_many"]["seed"] == 3


def test_a_new_run_begins_anew(runs: Runs) -> None:
    runs("--share=0.9")
    runs("--share=0.9", "-k", "long")
    assert set(runs.lines()) == {"test_many", "test_wrong", "test_long"}, "what was not asked for stays"
    runs.summary.write_text(runs.summary.read_text("utf-8") + '{"name": "half a li', "utf-8")
    runs("--share=0.1", "-x", "-k", "wrong")
    assert set(runs.lines()) == {"test_many", "test_long"}
    assert runs(soak=False) == (0, {"passed": 1, "deselected": 3})
    assert set(runs.lines()) == {"test_many", "test_long"}, "ordinary tests leave it alone"


def test_a_share_has_at_least_one_try() -> None:
    campaign = Campaign(7, 0.001)
    assert (campaign.tries(200), campaign.draw("abc")) == (1, Campaign(7, 0.1).draw("abc"))
    assert campaign.made == 2
    assert Campaign(7, 1.0).draw("abc") == ["a", "b", "c"]
    seed, share = campaign
    assert (seed, share) == (7, 0.001)


def test_the_record_is_below_build(request: pytest.FixtureRequest) -> None:
    place: Path = request.config.getoption("--soak-summary")
    assert place == TESTS.parent / "build" / "soak" / "summary.jsonl"
