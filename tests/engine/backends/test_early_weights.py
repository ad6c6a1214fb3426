"""Weights that are read while a process still imports: taken by the load that wants them so, freed by any other."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from engine.backends.llama_cpp import weights
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled
from helpers.paths import ROOT

_CHILD = """\
import sys
from pathlib import Path
from engine.loading.passed import remember_passed, state_of
import engine.backends.llama_cpp.weights as weights

path = Path(sys.argv[1])
if "passed" in sys.argv:
    remember_passed(state_of(path))
taken, take = [], weights.take_early

def watched(*arguments):
    taken.append(take(*arguments))
    return taken[-1]

weights.take_early = watched
assert "engine.decoder" not in sys.modules and "numpy" not in sys.modules
from engine import load

with load(path, context_length=256) as decoder:
    text = decoder.generate("Once", max_tokens=8, temperature=0.0).text
print([each is not None for each in taken], weights._early, repr(text))
"""


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    assert not weights._early


def test_a_load_takes_what_was_read_early(bundled_target: Path) -> None:
    config = LoadConfig(bundled_target, 128)
    weights.read_early(bundled_target)
    model = weights._early[bundled_target]
    with closing(LlamaCppBackend.open(config)) as early, closing(LlamaCppBackend.open(config)) as late:
        assert model.take() is None, "the first load has it"
        tokens = early.tokenizer.encode("Once upon a time", add_special=True, parse_special=False)
        assert early.forward(tokens, 1).tobytes() == late.forward(tokens, 1).tobytes()


def test_what_is_loaded_otherwise_is_not_taken(bundled_target: Path) -> None:
    weights.read_early(bundled_target)
    assert weights.take_early(LoadConfig(bundled_target, in_memory=True)) is None
    assert weights.take_early(LoadConfig(bundled_target)) is None, "it is freed"


def test_what_nobody_takes_is_freed(bundled_target: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(40))
    weights.read_early(bundled_target)
    weights.read_early(broken)
    assert weights.take_early(LoadConfig(broken)) is None, "who loads it says what is wrong"
    weights.drop_early()


def test_a_load_that_is_cancelled_waits_for_no_weights(bundled_target: Path) -> None:
    weights.read_early(bundled_target)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        LlamaCppBackend.open(LoadConfig(bundled_target, 128), cancel=cancel)


@pytest.mark.parametrize("passed", [True, False])
def test_a_process_that_starts(bundled_target: Path, tmp_path: Path, passed: bool) -> None:
    """Only of a file that passed its trial: another one may end the process."""
    file = tmp_path / "model.gguf"
    file.write_bytes(bundled_target.read_bytes())
    command = [sys.executable, "-c", _CHILD, str(file), *(["passed"] if passed else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said, text = done.stdout.split(" ", 1)
    assert said == f"[{passed}]"
    assert text.startswith("{}")
