"""What the README says is so. What holds for every page is in test_documents.py."""

import re

from helpers.paths import ROOT
from helpers.processes import run_engine, run_python

README = (ROOT / "README.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_library_example_shows_what_was_accepted() -> None:
    done = run_python("-c", EXAMPLES[0])
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 8
    assert re.search(r"^\d+ of [1-9]\d* proposed tokens were accepted$", done.stdout, re.MULTILINE)


def test_examples_are_short() -> None:
    for example in EXAMPLES:
        assert sum(bool(line) for line in example.splitlines()) <= 10


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 110


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
    names = set(re.findall(r"\(((?:packaging|docs)/[\w/.-]+|LICENSE)\)", README))
    assert {"LICENSE", "docs/library.md", "packaging/screenshots/colours-light.png"} <= names
    assert [name for name in names if not (ROOT / name).exists()] == []
