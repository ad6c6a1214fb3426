"""The engine stands alone: no Qt, no app, and nothing heavy before it is needed."""

import json

import pytest

from helpers.no_qt import BLOCKED
from helpers.processes import run_python

HEAVY = ("torch", "transformers", "llama_cpp", "numpy")

GENERATE = """
import sys
from helpers import no_qt
no_qt.install()
from engine.__main__ import main
sys.exit(main(["generate", "--json", "--temperature", "0", "--max-tokens", "12", "Hello!"]))
"""


def test_the_block_blocks() -> None:
    blocked = run_python("-c", "from helpers import no_qt; no_qt.install(); import PySide6.QtCore")
    assert blocked.returncode == 1
    assert "blocked: the engine must work without Qt" in blocked.stderr


def test_generates_without_qt() -> None:
    done = run_python("-c", GENERATE)
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    assert reply["stats"]["emitted"] == len(reply["tokens"]) > 0
    assert reply["stats"]["proposed"] > 0


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_engine_tests_pass_without_qt() -> None:
    done = run_python(
        *("-m", "pytest", "tests/engine", "-q", "-p", "no:cacheprovider"),
        *("-p", "no:pytest-qt", "-p", "helpers.no_qt"),
        timeout=1700,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["engine", "engine.__main__", "engine.cli.get"])
def test_import_is_light(module: str) -> None:
    unwanted = [*HEAVY, *sorted(BLOCKED)]
    listing = f"print(json.dumps([m for m in {unwanted!r} if m in sys.modules]))"
    code = f"import json, sys, {module}; {listing}"
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
