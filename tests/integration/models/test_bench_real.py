"""`bench` with the bundled pair, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.processes import run_engine

SMALL = ("--lookaheads", "2,8", "--repeats", "2", "--max-tokens", "24")


def test_the_bundled_pair(bundled_target: Path, bundled_draft: Path, tmp_path: Path) -> None:
    plot = tmp_path / "bench.png"
    done = run_engine("bench", "--json", "--plot", str(plot), *SMALL)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert len(report["replies"]) == 5 * 5 * 2
    assert report["equal"]["different"] == report["equal"]["not_examined"] == 0
    assert report["equal"]["same"] >= 25
    assert report["memory"]["loaded"] - report["memory"]["before_load"] > report["target"]["weight_bytes"]
    assert report["load_s"] > 0
    assert report["machine"]["libraries"]["llama-cpp-python"]
    rates = {name: report["categories"][name]["ways"]["8"]["acceptance_rate"] for name in report["categories"]}
    assert rates["hostile"] < 0.15 < rates["rewriting"]
    assert 1.0 < report["ways"]["2"]["mean_length"] <= 3.0
    assert report["ways"]["plain"]["mean_length"] == 1.0
    for reply in report["replies"]:
        assert 0 < reply["emitted"] <= 24
        assert reply["prompt_ms"] < reply["total_ms"]
        if reply["fresh"]:
            assert reply["prompt_evaluated"] == reply["prompt_tokens"]
            assert reply["prompt_ms"] < reply["first_token_ms"] < reply["total_ms"]
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_people_get_tables(bundled_target: Path, bundled_draft: Path) -> None:
    done = run_engine("bench", "--temperature", "0.8", "--per-category", "1", *SMALL[:2], "--repeats", "1")
    assert done.returncode == 0, done.stderr
    assert "Speedup and acceptance rate by category" in done.stdout
    assert "Tokens were sampled" in done.stdout
    assert "Warming up" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl+C reaches every process of the console")
def test_ctrl_c_shows_what_there_is(bundled_target: Path, bundled_draft: Path) -> None:
    command = [sys.executable, "-m", "engine", "bench", *SMALL[:2], "--repeats", "500", "--max-tokens", "24"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(3)]
        assert "Ctrl+C stops" in said[-1]
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "PARTIAL" in out
    assert "plain" in out
