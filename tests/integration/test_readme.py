"""What the README says is so."""

import re

from helpers.paths import ROOT
from helpers.processes import run_engine, run_python

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_library_example_runs() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    done = run_python("-c", example)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\d+ of [1-9]\d* proposed tokens were accepted$", done.stdout, re.MULTILINE)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    rules = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert targets >= {"run", "test"}
    assert targets <= rules


def test_options_exist() -> None:
    usage = run_engine("generate", "--help").stdout
    options = set(re.findall(r"(?<= )--[a-z][a-z-]+", "\n".join(re.findall(r"outrider-engine generate.*", README))))
    assert options
    assert all(option in usage for option in options - {"--help"})


def test_files_exist() -> None:
    names = set(re.findall(r"`((?:packaging|resources)/[\w/.]+|LICENSE)`", README))
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []
