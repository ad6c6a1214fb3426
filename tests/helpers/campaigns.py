"""Campaigns: soak tests that try something at random as often as `--share` of the whole has it, from a seed.

A test that takes the fixture `campaign` is one. Each soak test that passes leaves a line of JSON in
`build/soak/summary.jsonl`: name, seed, share, tries, seconds, figures, date. `--resume` passes over those that are
there with the same share (and seed, where one is asked for); without it they begin anew.
"""

import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from helpers.paths import ROOT

SUMMARY = pytest.StashKey[Path]()
_PASSED_OVER = pytest.StashKey[int]()
_DONE = pytest.StashKey[list[dict[str, Any]]]()


class _Asked(NamedTuple):
    seed: int
    share: float


class Campaign(_Asked):
    """What a campaign is asked for, `seed, share`, and what it did.

    Attributes: made (tries; None if nobody asked for their number), figures (what it measured, by name).
    """

    def __init__(self, seed: int, share: float) -> None:
        del seed, share
        self.made: int | None = None
        self.figures: dict[str, Any] = {}

    def tries(self, whole: int) -> int:
        """Return the number of tries to make of so many, at least one."""
        number = max(1, round(whole * self.share))
        self.made = (self.made or 0) + number
        return number

    def draw(self, among: Iterable[str]) -> list[str]:
        """Return as many of these as are to be tried, in their order."""
        every = list(among)
        drawn = set(random.Random(self.seed).sample(range(len(every)), min(len(every), self.tries(len(every)))))
        return [each for number, each in enumerate(every) if number in drawn]

    def note(self, **figures: object) -> None:
        """Keep figures for the summary: numbers, texts, or lists and dictionaries of them."""
        self.figures |= figures


_ASKED = pytest.StashKey[Campaign]()
_PASSED = pytest.StashKey[float | None]()


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Campaign:
    """Return a campaign's options; its results are reported at its end."""
    seed = request.config.getoption("--seed")
    asked = Campaign(random.randrange(2**32) if seed is None else seed, request.config.getoption("--share"))
    request.node.stash[_ASKED] = asked
    return asked


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let campaigns be repeated, shortened and resumed."""
    group = parser.getgroup("campaigns")
    group.addoption("--seed", type=int, default=None, help="seed of the campaigns (default: another one each time)")
    group.addoption("--share", type=float, default=1.0, help="share of a campaign's tries that is made (default: 1)")
    group.addoption("--resume", action="store_true", help="pass over soak tests that finished with the same share")
    group.addoption("--soak-summary", type=Path, default=ROOT / "build" / "soak" / "summary.jsonl", help="their record")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with nothing done."""
    config.stash[SUMMARY] = config.getoption("--soak-summary")
    config.stash[_PASSED_OVER] = 0
    config.stash[_DONE] = []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Pass over what has finished, where that is wanted; else forget that it has."""
    soaks = {item.nodeid for item in items if item.get_closest_marker("soak")}
    if config.getoption("--collect-only") or not soaks:
        return
    path = config.stash[SUMMARY]
    if not config.getoption("--resume"):
        _write(path, [line for line in _read(path) if line["name"] not in soaks])
        return
    finished = {line["name"] for line in _read(path) if _is_the_same(line, config)}
    over = [item for item in items if item.nodeid in finished]
    items[:] = [item for item in items if item.nodeid not in finished]
    config.stash[_PASSED_OVER] = len(over)
    config.hook.pytest_deselected(items=over)


def _is_the_same(line: dict[str, Any], config: pytest.Config) -> bool:
    """True if what is told in this line is what would be done again; tests that are no campaigns have no share."""
    if line["share"] is None:
        return True
    seed = config.getoption("--seed")
    return bool(line["share"] == config.getoption("--share")) and seed in (None, line["seed"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Write the line of a soak test that has passed, and left nothing behind."""
    report: pytest.TestReport = yield
    if call.when == "call":
        item.stash[_PASSED] = report.duration if report.passed else None
    seconds = item.stash.get(_PASSED, None)
    if call.when == "teardown" and report.passed and seconds is not None and item.get_closest_marker("soak"):
        line = _line_of(item.nodeid, item.stash.get(_ASKED, None), seconds)
        path = item.config.stash[SUMMARY]
        _write(path, [*(each for each in _read(path) if each["name"] != line["name"]), line])
        item.config.stash[_DONE].append(line)
    return report


def _line_of(name: str, asked: Campaign | None, seconds: float) -> dict[str, Any]:
    seed, share = (None, None) if asked is None else asked
    tries, figures = (None, {}) if asked is None else (asked.made, asked.figures)
    done = {"name": name, "seed": seed, "share": share, "tries": tries, "seconds": round(seconds, 1)}
    return done | {"figures": figures, "date": datetime.now(UTC).strftime("%Y-%m-%d")}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report the campaigns' results."""
    told = [line for line in config.stash[_DONE] if line["share"] is not None]
    if told:
        terminalreporter.section("campaigns")
    for line in told:
        tries = "" if line["tries"] is None else f"{line['tries']} tries, "
        figures = ", ".join(f"{name} {value}" for name, value in line["figures"].items())
        began = f"{line['name']}: {tries}seed {line['seed']}, share {line['share']:g}, {line['seconds']:.0f} s"
        terminalreporter.write_line(f"{began}: {figures}" if figures else began)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where all that was asked for has finished before, nothing is wrong."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.stash[_PASSED_OVER]:
        session.exitstatus = pytest.ExitCode.OK


def _read(path: Path) -> list[dict[str, Any]]:
    """The lines that are there and whole: a killed run may have left half of one."""
    lines = []
    for text in path.read_text("utf-8").splitlines() if path.is_file() else []:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and {"name", "seed", "share", "tries", "seconds", "figures"} <= line.keys():
            lines.append(line)
    return lines


def _write(path: Path, lines: list[dict[str, Any]]) -> None:
    if lines or path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        part.replace(path)
