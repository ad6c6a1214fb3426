"""`make bench`: the page that it writes, and the parts that it runs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks import suite
from benchmarks.results import Setting
from benchmarks.suite import MEASURED, MUST_NOT_MET, NOT_MEASURED, ORDER, PARTS, Part, run_part
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


def test_a_section_is_renewed_in_its_place_and_the_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "FOLDER", tmp_path)
    monkeypatch.setattr(suite, "SECTIONS", tmp_path / "sections")
    for name, text in ((ORDER[1], "## B"), (ORDER[0], "## A"), ("gone", "## C"), (ORDER[1], "## B anew")):
        suite.keep(name, text, SETTING)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert page.endswith("\n\n## A\n\n## B anew\n")
    assert page.startswith("# What was measured")


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
