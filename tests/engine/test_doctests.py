"""The examples in the docstrings are true."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import engine

LIGHT = [
    found.name
    for found in pkgutil.walk_packages(engine.__path__, "engine.")
    if not found.name.startswith("engine.backends.") and found.name != "engine.__main__"
]


@pytest.mark.parametrize("name", ["engine", *LIGHT])
def test_examples(name: str, request: pytest.FixtureRequest) -> None:
    module = importlib.import_module(name)
    examples = [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]
    if any("bundled_pair" in example.source for test in examples for example in test.examples):
        for part in ("bundled_target", "bundled_draft"):
            assert isinstance(request.getfixturevalue(part), Path)
    assert doctest.testmod(module).failed == 0


def test_the_front_door_has_examples() -> None:
    assert "engine.decoder" in LIGHT
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert any(test.examples for test in finder.find(engine))
