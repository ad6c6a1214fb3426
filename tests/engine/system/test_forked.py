"""A process that was forked behind a load says so, and does not wait for threads that it has not."""

import os
from pathlib import Path

import pytest

from helpers.processes import run_python

_FORKED = """
import os, sys
from engine import EngineError, load

decoder = load(sys.argv[1], threads=2, trusted=True)
decoder.generate("Hello", max_tokens=4)
for ask in (
    lambda: decoder.generate("Hello", max_tokens=4),
    lambda: decoder.calibrate(),
    lambda: load(sys.argv[1], threads=2, trusted=True),
):
    if not (child := os.fork()):
        try:
            ask()
            os._exit(1)
        except EngineError as error:
            os._exit(0 if "spawn" in str(error) else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
decoder.generate("Hello", max_tokens=4)
"""
_BEFORE = """
import os, sys
from engine import load

if not (child := os.fork()):
    load(sys.argv[1], threads=2, trusted=True).generate("Hello", max_tokens=4)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.parametrize("program", [_FORKED, _BEFORE])
def test_forked_behind_and_before_a_load(program: str, bundled_target: Path) -> None:
    done = run_python("-c", program, str(bundled_target), timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
