"""The trial of a file where memory runs out, in whatever form that shows: the file is not to blame."""

import io
import json
import sys
from pathlib import Path

import pytest

from engine.config import LoadConfig
from engine.errors import LoadFailed
from engine.loading import trial as probe
from engine.loading import trial_child, trial_steps
from engine.loading.trial import check_model_file
from engine.system import hidden_commands


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be kept from memory")
def test_where_memory_runs_out_no_file_is_to_blame(bundled_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os, resource, sys; size = int(sys.argv.pop(1)); resource.setrlimit(resource.RLIMIT_AS, (size, size));"
    )
    code += "os.execv(sys.argv[1], sys.argv[1:])"
    real, said = probe._command, dict[int, LoadFailed]()
    for megabytes in (60, 120, 131, 160, 172, 200, 216, 230):
        limited = [sys.executable, "-c", code, str(megabytes * 2**20)]
        monkeypatch.setattr(probe, "_command", lambda limited=limited: [*limited, *real()])
        try:
            check_model_file(LoadConfig(bundled_target, context_length=300 + megabytes))
        except LoadFailed as error:
            said[megabytes] = error
    monkeypatch.setattr(probe, "_command", real)
    assert len(said) > 4
    others = {size: str(error) for size, error in said.items() if "memory ran out" not in str(error)}
    blamed = {size: str(error) for size, error in said.items() if type(error) is not LoadFailed}
    assert not blamed, "\n".join(f"{size} MB: {words}" for size, words in blamed.items())
    assert len(others) <= len(said) // 3, "\n".join(f"{size} MB: {words}" for size, words in others.items())
    check_model_file(LoadConfig(bundled_target, context_length=300))


@pytest.mark.parametrize(
    "complaint",
    [
        "error loading model: unable to allocate CPU buffer",
        "failed to allocate buffer for kv cache",
        "graph allocation: failed to reserve memory",
        "ggml_aligned_malloc: insufficient memory (attempted to allocate 8192.00 MB)",
        "terminate called: what():  Resource temporarily unavailable",
        "can't start new thread",
    ],
)
def test_what_llama_cpp_says_where_memory_runs_out(complaint: str) -> None:
    assert trial_child._explained(complaint)[0] == "no memory"


def test_where_memory_is_short_no_complaint_counts(bundled_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> None:
        raise trial_steps.Failed("it computes no usable numbers")

    said = list[str]()
    monkeypatch.setattr(trial_child, "own_output", io.BytesIO)
    monkeypatch.setattr(trial_child, "be_harmless", lambda: None)
    monkeypatch.setattr(trial_child, "_end_with_parent", lambda: None)
    monkeypatch.setattr(trial_steps, "try_model", damaged)
    monkeypatch.setattr(trial_child, "_say", lambda _out, **words: said.append(words.get("verdict", "begins")))
    for short in (False, True):
        monkeypatch.setattr(trial_child, "memory_is_short", lambda short=short: short)
        assert (
            trial_child.run(
                json.dumps(probe._settings(LoadConfig(bundled_target), probe.check_model_header(bundled_target)))
            )
            == 0
        )
    assert said == ["begins", "broken", "begins", "no memory"]


def test_memory_that_is_there_is_not_short(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hidden_commands.memory_is_short()
    monkeypatch.setattr(hidden_commands, "_SHORT", sys.maxsize - 100)
    assert hidden_commands.memory_is_short()
