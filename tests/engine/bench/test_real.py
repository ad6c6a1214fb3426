"""The benchmark of published models: what it finds, what it concludes, and that it leaves nothing behind."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from benchmarks.peers.server_figures import AUTO, COMPARED, OURS, PLAIN, SERVER, SWEEP, Reply, Way
from benchmarks.real import against_server, real
from benchmarks.real.real_models import RealPair, find_pairs, fresh_caches
from engine import bundled_pair
from engine.bench.runs import NGRAM
from engine.system.cache_files import cache_folder
from helpers.paths import BENCH, ROOT, TESTS

PAIR = RealPair("qwen", "Target", Path("t.gguf"), "draft", Path("d.gguf"))
FILES = (
    "Qwen2.5-Coder-1.5B-instruct-q4_k_m.gguf",
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "gemma-3-270m-q4_k_m.gguf",
)


def test_pairs_are_found_by_the_names_of_their_files(tmp_path: Path) -> None:
    assert find_pairs(tmp_path / "none") == []
    for name in FILES:
        (tmp_path / name).write_bytes(b"x")
    qwen, smollm2, gemma = find_pairs(tmp_path)
    assert [pair.name for pair in (qwen, smollm2, gemma)] == ["qwen", "smollm2", "gemma"]
    assert (qwen.target.name, qwen.draft and qwen.draft.name, qwen.size) == (*FILES[:2], 2)
    assert smollm2.title == "SmolLM2 135M alone"
    assert gemma.draft == smollm2.target
    for name in FILES[1:3]:
        (tmp_path / name).unlink()
    qwen, gemma = find_pairs(tmp_path)
    assert (qwen.title, gemma.title) == ("Qwen2.5-Coder 1.5B alone", "Gemma 3 270M alone")


def test_fresh_caches_are_empty_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in ("/somewhere", None):
        if before is None:
            monkeypatch.delenv("XDG_CACHE_HOME")
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", before)
        folders: list[Path] = []
        with pytest.raises(RuntimeError, match="here"):
            _fail_within(folders)
        (folder,) = folders
        assert not folder.exists()
        assert os.environ.get("XDG_CACHE_HOME") == before


def _fail_within(folders: list[Path]) -> None:
    with fresh_caches() as folder:
        folders.append(folder)
        assert folder in cache_folder().parents
        assert not list(folder.iterdir())
        raise RuntimeError("here")


def test_loops_end_where_the_benchmark_is_killed() -> None:
    script = (
        "import psutil, os, signal\n"
        "from benchmarks.real.real_models import busy_loops\n"
        "with busy_loops(1):\n"
        "    print(*(child.pid for child in psutil.Process().children()), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(ROOT)])}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    (loop,) = map(int, done.stdout.split())
    given_up = monotonic() + 30.0
    while psutil.pid_exists(loop) and psutil.Process(loop).status() != psutil.STATUS_ZOMBIE:
        assert monotonic() < given_up
        sleep(0.05)


def _replies(way: Way, speed: float, proposed: int = 0, phase: str = COMPARED) -> list[Reply]:
    return [Reply(way, ("code", 0.0), phase, 0, turn, speed, proposed, proposed, (1, 2)) for turn in range(2)]


def test_the_readme_has_a_row_for_each_comparison() -> None:
    replies = [
        *_replies((SERVER, PLAIN), 10.0),
        *_replies((SERVER, 3), 16.0, 4),
        *_replies((SERVER, 3), 16.0, 4, SWEEP),
        *_replies((OURS, PLAIN), 20.0),
        *_replies((OURS, 4), 30.0, 4),
        *_replies((OURS, NGRAM), 19.0),
        *_replies((OURS, AUTO), 32.0, 4),
    ]
    found = against_server.Compared(PAIR, replies, {("code", 0.0): 3}, [0.0])
    best, plainly, plain = against_server.readme_rows(found)
    assert best.endswith("the same draft | 2.00 (2.00–2.00) |")
    assert plainly.endswith("| 2.00 (2.00–2.00) |")
    assert plain.endswith("| 1.60 (1.60–1.60) |")
    text = "\n".join(against_server.show(found))
    assert "| code, 0 | 10.0 | 16.0 (3) | 20.0 | 30.0 | 19.0 | 32.0 | 2.00 (2.00–2.00) |" in text
    assert "proposes nothing" not in text
    silent = replace(found, replies=[reply for reply in replies if reply.way != (SERVER, 3)], best={("code", 0.0): 0})
    assert "proposes nothing" in "\n".join(against_server.show(silent))
    assert next(iter(against_server.readme_rows(silent))).count("no draft")


def _real(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH), "real", *arguments]
    environment = os.environ | {"REAL_MODELS": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environment)


def test_without_models_it_says_so_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = _real(tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"None of the models is in {tmp_path}: REAL_MODELS names another folder.\n"
    monkeypatch.setenv("REAL_MODELS", str(tmp_path))
    for wrong in (("--only", "speed"), ("--turns", "0"), ("--turns", "1", "--only", "auto"), ("--pairs", "x")):
        monkeypatch.setattr(sys, "argv", ["real", *wrong])
        with pytest.raises(SystemExit, match="2"):
            real.main()


@pytest.mark.soak
def test_it_measures_small_models(tmp_path: Path) -> None:
    target, draft = bundled_pair()
    for name, path in zip(FILES[:2], (target, draft), strict=True):
        shutil.copy(path, tmp_path / name)
    options = ("--quick", "--patience", "0", "--sets", "code", "--server", "none", "--readme")
    done = _real(tmp_path, "--only", "speeds,busy,auto,memory", "--tokens", "8", *options)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.startswith("## Published models\n")
    assert "Not measured" not in done.stdout
    for title in ("Against llama.cpp", "Beside programs", "Auto from the first", "Memory", "Musts", "README's table"):
        assert title in done.stdout
    assert "no such set" not in done.stdout
