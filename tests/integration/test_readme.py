"""What the README says is so. What holds for every page is in test_documents.py."""

import re

from helpers.paths import ROOT
from helpers.processes import run_python

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
