"""The examples in the docstrings are true."""

import doctest
import importlib
from pathlib import Path

import pytest

import engine

FOLDER = Path(engine.__file__).parent
LIGHT = [
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(FOLDER.rglob("*.py"))
    if ">>>" in path.read_text("utf-8") and "backends" not in path.parts
]


@pytest.mark.parametrize("name", LIGHT)
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
