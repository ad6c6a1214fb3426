"""`make bench`: the page that it writes, and the parts that it runs."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks import machine, suite
from benchmarks.machine import has_own_kernels
from benchmarks.results import Setting, make_head, with_origin, write_whole
from benchmarks.suite import MEASURED, MUST_NOT_MET, NOT_MEASURED, ORDER, PARTS, Part, run_part
from engine.system.machine import describe_machine
from helpers.paths import BENCH, ROOT

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


def test_a_section_is_renewed_in_its_place_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "FOLDER", tmp_path)
    monkeypatch.setattr(suite, "SECTIONS", tmp_path / "sections")
    for name, text in ((ORDER[1], "## B"), (ORDER[0], "## A"), ("gone", "## C"), (ORDER[1], "## B anew")):
        suite.keep(name, text, SETTING)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert page.endswith("\n\n## A\n\n## B anew\n")
    assert page.startswith("# What was measured")


def test_a_page_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.md"
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


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without watching the processors for some seconds before each part."""
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: 0.0)


def _part(tmp_path: Path, script: str, memory_gib: float = 1.0) -> Part:
    (tmp_path / "some.py").write_text(script, encoding="utf-8")
    return Part("some", "Some title", f"{tmp_path / 'some.py'}", "", 1.0, memory_gib)


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
    """Return the commands of a benchmark's docstring: names behind `make bench`, files behind `python`."""
    text = ast.get_docstring(ast.parse(source)) or ""
    return set(re.findall(r'make bench ARGS="(\w+)', text)), set(re.findall(r"python (\S+\.py)", text))


def test_every_benchmark_tells_how_it_is_called() -> None:
    folder = ROOT / "benchmarks"
    scripts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name != "run.py"}
    assert len({path.stem for path in scripts}) == len(scripts), "`make bench` looks for names, in all folders"
    for path, source in scripts.items():
        if '__name__ == "__main__"' in source:
            names, files = _told_commands(source)
            assert names <= {path.stem}, path
            assert files <= {path.relative_to(ROOT).as_posix()}, path
            assert names | files, path


def test_a_wrong_command_would_be_seen() -> None:
    told = '"""Speed.\n\n    make bench ARGS="speed --json"\n    python benchmarks/old.py [--json]\n"""\n'
    assert _told_commands(told) == ({"speed"}, {"benchmarks/old.py"})


def test_every_part_is_a_benchmark_that_takes_its_options() -> None:
    """Their names are those of files, and each name is there once."""
    for part in PARTS:
        assert list((ROOT / "benchmarks").rglob(f"{part.options.split()[0]}.py"))
        assert not part.quick or part.quick.split()[0] == part.options.split()[0]
    assert len(set(ORDER)) == len(ORDER)


def _suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, BENCH, "suite", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["suite", "--list"])
    assert suite.main() == MEASURED
    assert capsys.readouterr().out.count("make bench ARGS=") == len(PARTS)
    monkeypatch.setattr(sys, "argv", ["suite", "--only", "acceptance,none"])
    with pytest.raises(SystemExit, match="2"):
        suite.main()
    assert "parts are overhead," in capsys.readouterr().err


def test_a_real_part_is_printed() -> None:
    done = _suite("--quick", "--only", "acceptance")
    assert done.returncode == MEASURED, done.stderr
    assert done.stdout.startswith("## Acceptance by rule")
    assert "| rejection, drawn tokens |" in done.stdout


def test_waiting_for_other_programs_goes_by_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shares, results = iter([0.5, 0.2, 0.01, 0.3]), iter("abcd")
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: 0.0)
    monkeypatch.setattr(machine, "_watched", lambda work, _helping_s: (next(shares), work()))
    quiet = machine.Quiet()
    assert quiet.measure(lambda: next(results)) == "c"
    assert (quiet.repeated, quiet.others) == (2, [0.01])
    quiet.patience_s = 0.0
    assert quiet.measure(lambda: next(results)) == "d"
    assert (quiet.repeated, quiet.others) == (2, [0.01, 0.3])
