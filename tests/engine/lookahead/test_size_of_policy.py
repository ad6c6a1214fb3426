"""The choice of the lookahead stays small: its lines and its tuned constants are counted, wherever they lie."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine.lookahead
from engine.drafting import ngram
from engine.drafting.base import cautious_cost
from engine.generation import planner

ROOM = Path(engine.lookahead.__file__).parent
MOST_LINES, MOST_CONSTANTS = 900, 25
ELSEWHERE = (cautious_cost, planner._known, planner._make_policy, planner._cost)
"""What chooses the lookahead and lies in other rooms."""
ELSEWHERE_NAMES = ("_AUTO",)


def constants(source: str) -> Iterator[float]:
    """The numeric literals of a source but 0, 1 and 2."""
    for node in ast.walk(ast.parse(source)):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and value not in (0, 1, 2):
            yield float(value)


def sources() -> dict[str, str]:
    """All that chooses the lookahead, by name."""
    assert not [path for path in ROOM.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")], "data files"
    found = {path.name: path.read_text("utf-8") for path in ROOM.rglob("*.py")}
    found |= {function.__name__: inspect.getsource(function) for function in ELSEWHERE}
    for node in ast.parse(inspect.getsource(ngram)).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ELSEWHERE_NAMES:
            found[ast.unparse(node.targets[0])] = ast.unparse(node)
    assert found.keys() >= set(ELSEWHERE_NAMES)
    return found


def test_lines() -> None:
    counted = {name: len(source.splitlines()) for name, source in sources().items()}
    assert sum(counted.values()) <= MOST_LINES, counted


def test_constants() -> None:
    counted = {name: found for name, source in sources().items() if (found := sorted(constants(source)))}
    assert sum(map(len, counted.values())) <= MOST_CONSTANTS, counted


@pytest.mark.parametrize(("source", "expected"), [("x = 3 * 0.5 + 2", 2), ("f(1000.0, -7, True, '4')", 2), ("1", 0)])
def test_the_count_itself(source: str, expected: int) -> None:
    assert len(list(constants(source))) == expected
