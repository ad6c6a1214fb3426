"""`make bench`: the page that it writes, the parts that it runs, and what it says of auto."""

import ast
import os
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks import suite
from benchmarks.machine import has_own_kernels
from benchmarks.policy.auto import FAMILIAR
from benchmarks.policy.auto_figures import Must, compare_sets, find_musts, show
from benchmarks.policy.drawn import DUE, Gains, Reply, find_gains, show_gains
from benchmarks.results import (
    Setting,
    compose,
    make_head,
    read_sections,
    replace_sections,
    same_hardware,
    with_origin,
    write_whole,
)
from benchmarks.suite import MEASURED, MUST_NOT_MET, NOT_MEASURED, ORDER, PARTS, Part, run_part
from engine.bench.prompts import read_prompts
from engine.system.machine import describe_machine
from helpers.paths import ROOT

MACHINE = {
    "processor": "A processor",
    "cores": 2,
    "physical_cores": 1,
    "memory_gib": 8.0,
    "system": "A system",
    "python": "3.11.7",
    "outrider": "0.1.0",
    "libraries": {"llama-cpp-python": "0.3.36", "torch": "2.13.0"},
}
SETTING = Setting(MACHINE, own_kernels=True, commit="abc1234")
SECTIONS = {"a": "## A\n\n| x |\n|---|\n| 1 |", "b": "## B\n\ntext", "c": "## C"}


# The page -------------------------------------------------------------------------------------------------------------


def test_the_head_names_the_machine_and_what_runs_on_it() -> None:
    head = make_head(SETTING)
    for row in (
        "| processor | A processor, 2 cores (1 physical) |",
        "| memory | 8.0 GiB |",
        "| llama-cpp-python | 0.3.36, with this project's kernels |",
        "| torch, transformers | 2.13.0, none |",
        "| Outrider | 0.1.0, commit abc1234 |",
    ):
        assert row in head.splitlines()
    assert "without this project's kernels" in make_head(Setting(MACHINE, own_kernels=False, commit="x"))
    assert make_head(Setting(describe_machine(), own_kernels=has_own_kernels(), commit="x")).startswith("# What was")


def test_sections_come_back_as_they_were_written() -> None:
    page = compose(make_head(SETTING), SECTIONS)
    assert read_sections(page) == SECTIONS
    assert replace_sections(page, make_head(SETTING), {}, ("a", "b", "c")) == page


def test_a_section_is_renewed_in_its_place_and_the_others_stay() -> None:
    page = compose("# old", SECTIONS)
    new = replace_sections(page, "# new", {"b": "## B anew"}, ("a", "b", "c"))
    assert read_sections(new) == SECTIONS | {"b": "## B anew"}
    assert list(read_sections(new)) == ["a", "b", "c"]
    assert new.startswith("# new\n")
    assert "# old" not in new


def test_what_is_no_part_goes() -> None:
    page = compose("# old", SECTIONS) + "\n## Written by hand\n"
    new = replace_sections(page, "# new", {"d": "## D"}, ("d", "a"))
    assert list(read_sections(new)) == ["d", "a"]
    assert "by hand" not in new
    assert list(read_sections(replace_sections(page, "# new", {"d": "## D"}, ("d", "a"), keep=False))) == ["d"]


def test_another_machine_is_told_by_processor_and_memory() -> None:
    page = compose(make_head(SETTING), SECTIONS)
    later = Setting(MACHINE | {"python": "3.12.1"}, own_kernels=False, commit="def5678")
    assert same_hardware(page, make_head(later))
    assert not same_hardware(page, make_head(Setting(MACHINE | {"memory_gib": 16.0}, own_kernels=True, commit="x")))
    assert not same_hardware("# written by hand\n", make_head(SETTING))


def test_a_page_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "RESULTS.md"
    write_whole(path, "one\n")

    def full(self: Path, text: str, encoding: str) -> int:
        with self.open("w", encoding=encoding) as file:
            file.write(text[:1])
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="space"):
        write_whole(path, "two\n")
    assert path.read_text(encoding="utf-8") == "one\n"


def test_a_section_says_how_and_when_it_was_measured() -> None:
    text = with_origin("## A\n\nfigures\n", 'make bench ARGS="a"', "2026-01-02 03:04 UTC", 2.4, 1.0, SETTING)
    heading, _, origin, _, *rest = text.split("\n")
    assert (heading, rest) == ("## A", ["figures"])
    for said in ('`make bench ARGS="a"`', "2026-01-02 03:04 UTC", "2 min", "abc1234", "with this", "1 % busy before"):
        assert said in origin


# The parts ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without watching the processors for some seconds before each part."""
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: 0.0)


def _part(tmp_path: Path, script: str, **more: float) -> Part:
    (tmp_path / "some.py").write_text(script, encoding="utf-8")
    return Part("some", "Some title", f"{tmp_path / 'some.py'}", "", 1.0, **more)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("script", "status", "found"),
    [
        ("print('## T\\n\\nfigures')", MEASURED, "## T\n\nfigures"),
        ("print('## T'); exit(1)", MUST_NOT_MET, "## T"),
        ("import sys; print('## T'); sys.exit(2)", NOT_MEASURED, "Not measured: it ended without a word"),
        ("import sys; sys.exit('No room.')", NOT_MEASURED, "Not measured: No room."),
        ("print('nothing that is a section')", NOT_MEASURED, "Not measured"),
    ],
)
def test_a_part_is_measured_or_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, status: int, found: str
) -> None:
    part = _part(tmp_path, script)
    monkeypatch.setattr(suite, "RUN", Path(part.options))
    outcome = run_part(part, part.options, SETTING)
    assert outcome.status == status
    assert outcome.text.startswith("## T\n" if status != NOT_MEASURED else "## Some title\n")
    assert found.removeprefix("## T").strip() in outcome.text


@pytest.mark.usefixtures("at_once")
def test_a_part_without_room_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = _part(tmp_path, "print('## T')", memory_gib=10.0**6)
    monkeypatch.setattr(suite, "RUN", Path(part.options))
    outcome = run_part(part, part.options, SETTING)
    assert outcome.status == NOT_MEASURED
    assert "it needs 1e+06 GiB of free memory" in outcome.text


def _told_commands(source: str) -> tuple[set[str], set[str]]:
    """Return what a benchmark's docstring has people type: names behind `make bench`, and files behind `python`."""
    text = ast.get_docstring(ast.parse(source)) or ""
    return set(re.findall(r'make bench ARGS="(\w+)', text)), set(re.findall(r"python (\S+\.py)", text))


def test_every_benchmark_tells_how_it_is_called() -> None:
    folder = ROOT / "tests" / "benchmarks"
    scripts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name != "run.py"}
    assert len({path.stem for path in scripts}) == len(scripts), "`make bench` looks for names, in all folders"
    for path, source in scripts.items():
        if '__name__ == "__main__"' in source:
            names, files = _told_commands(source)
            assert names <= {path.stem}, path
            assert files <= {path.relative_to(ROOT).as_posix()}, path
            assert names | files, path


def test_a_wrong_command_would_be_seen() -> None:
    told = '"""Speed.\n\n    make bench ARGS="speed --json"\n    python tests/benchmarks/old.py [--json]\n"""\n'
    assert _told_commands(told) == ({"speed"}, {"tests/benchmarks/old.py"})


def test_every_part_is_a_benchmark_that_takes_its_options() -> None:
    """Their names are those of files, each name is there once, and all of it takes some 100 minutes."""
    for part in PARTS:
        assert list((ROOT / "tests" / "benchmarks").rglob(f"{part.options.split()[0]}.py"))
        assert not part.quick or part.quick.split()[0] == part.options.split()[0]
    assert len(set(ORDER)) == len(ORDER)
    assert sum(part.minutes for part in PARTS) < 95


def _suite(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tests" / "benchmarks" / "run.py", "suite", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_command(tmp_path: Path) -> None:
    assert _suite("--list").stdout.count("make bench ARGS=") == len(PARTS)
    strange = _suite("--only", "acceptance,none")
    assert strange.returncode == 2
    assert "parts are decoding," in strange.stderr
    page = tmp_path / "RESULTS.md"
    page.write_text(compose(make_head(SETTING), SECTIONS), encoding="utf-8")
    refused = _suite("--only", "acceptance", "--results", page)
    assert refused.returncode == NOT_MEASURED
    assert "another machine" in refused.stderr
    assert read_sections(page.read_text(encoding="utf-8")) == SECTIONS


def test_a_real_part_is_printed_and_not_kept(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    done = _suite("--quick", "--only", "acceptance", "--results", page)
    assert done.returncode == MEASURED, done.stderr
    assert done.stdout.startswith("## Acceptance by rule")
    assert "| rejection, drawn tokens |" in done.stdout
    assert not page.exists()


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
