"""The benchmark of published models: what it finds, what it concludes, and that it leaves nothing behind."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import psutil
import pytest

from benchmarks.peers import llama_programs
from benchmarks.peers.server_figures import AUTO, COMPARED, OURS, PLAIN, SERVER, SWEEP, Reply, Way
from benchmarks.peers.serving import NotServed, served
from benchmarks.real import against_server, beside_loops, first_replies, peak_memory, real
from benchmarks.real.beside_loops import Afterwards, Beside, Later, told_speedup
from benchmarks.real.figures import Must
from benchmarks.real.real_models import RealPair, busy_loops, find_pairs, fresh_caches, real_prompts
from engine import RoundEvent, bundled_pair
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


def test_each_set_has_prompts() -> None:
    found = real_prompts(["editing", "German"], 2)
    assert [(prompt.category, prompt.number) for prompt in found] == [
        *(("editing", 0), ("editing", 1)),
        *(("German", 0), ("German", 1)),
    ]


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


def test_loops_end_with_an_error_too() -> None:
    loops: list[psutil.Process] = []
    with pytest.raises(RuntimeError, match="here"):
        _fail_beside(loops)
    assert len(loops) == 2
    assert not any(loop.is_running() for loop in loops)


def _fail_beside(loops: list[psutil.Process]) -> None:
    before = set(psutil.Process().children())
    with busy_loops(2):
        loops += set(psutil.Process().children()) - before
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


def test_a_server_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotServed, match=r"none\.gguf"), served(tmp_path / "none.gguf"):
        pass


@pytest.mark.parametrize("amx", [True, False])
def test_llama_cpp_is_built_without_amx_where_the_processor_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, amx: bool
) -> None:
    information = tmp_path / "cpuinfo"
    information.write_text(f"flags\t\t: fpu avx512f{' amx_bf16 amx_tile' if amx else ''}\n", encoding="utf-8")
    assert llama_programs.has_amx(information) == amx
    assert not llama_programs.has_amx(tmp_path / "none")
    ran: list[list[str]] = []

    def tool(command: list[str]) -> None:
        ran.append(command)
        objects = next((tmp_path / f"{path}" for path in command if path.endswith(".build")), tmp_path)
        (objects / "bin").mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(llama_programs, "has_amx", lambda: amx)
    monkeypatch.setattr(llama_programs, "_fetch_source", lambda folder: folder)
    monkeypatch.setattr(llama_programs, "_run_tool", tool)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    program = llama_programs.build_server(tmp_path)
    assert ("-DCMAKE_CXX_FLAGS=-mno-amx-tile -mno-amx-int8 -mno-amx-bf16" in ran[0]) == amx
    assert ("without-amx" in str(program)) == amx


def _by_name(musts: list[Must], name: str) -> Must:
    return next(must for must in musts if name in must.name)


def test_auto_is_compared_in_the_first_reply_and_later() -> None:
    table = {way: np.array([[64.0, 64.0 / speed]] * 4) for way, speed in (("3", 30.0), ("4", 40.0), ("auto", 38.0))}
    single = [(35.0, {"3": 50.0, "4": 40.0, "auto": 40.0}), (37.0, {"3": 30.0, "4": 40.0, "auto": 40.0})]
    near = first_replies.conclude(PAIR, table, single)
    assert near.best == "4"
    assert near.first == pytest.approx([35.0 / 40.0, 37.0 / 40.0])
    musts = first_replies.musts_of([near])
    assert [must.met for must in musts] == [False, True]
    assert _by_name(musts, "second reply").measured == {PAIR.title: pytest.approx(0.95)}


def _beside(**speeds: tuple[float, float]) -> Beside:
    """Two turns in which each state has these speeds, plain and auto, on both sides."""
    return Beside(
        PAIR,
        {
            (side, state, way): [speed, speed]
            for side in (beside_loops.LIBRARY, beside_loops.SERVER)
            for state, both in speeds.items()
            for way, speed in zip(beside_loops.WAYS, both, strict=True)
        },
    )


def test_what_is_left_beside_loops() -> None:
    states = {beside_loops.QUIET: (100.0, 200.0), beside_loops.BUSY_LATER: (50.0, 100.0)}
    good = beside_loops.musts_of([_beside(**states, **{beside_loops.BUSY_AT_ONCE: (46.0, 95.0)})], [])
    assert all(must.met for must in good)
    bad = beside_loops.musts_of([_beside(**states, **{beside_loops.BUSY_AT_ONCE: (46.0, 40.0)})], [])
    assert _by_name(bad, "busy over quiet").misses == [
        f"{PAIR.title} auto {side} busy at once" for side in (beside_loops.LIBRARY, beside_loops.SERVER)
    ]
    assert not _by_name(bad, "auto over plain").met


def test_what_stays_afterwards_counts_from_the_second_reply_on() -> None:
    fresh = [[Later(place, 100.0, 50.0, 2.0) for place in range(3)]] * 2
    after = [[Later(0, 10.0, 50.0, 9.0), Later(1, 98.0, 50.0, 2.2), Later(2, 96.0, 50.0, 1.5)]] * 2
    found = Afterwards(PAIR, after, fresh)
    assert found.ratios == pytest.approx([0.98, 0.96] * 2)
    musts = beside_loops.musts_of([], [found])
    assert all(must.met for must in musts)
    off = [[*turn[:2], replace(turn[2], told=3.0)] for turn in after]
    told = _by_name(beside_loops.musts_of([], [Afterwards(PAIR, off, fresh)]), "told")
    assert told.misses == [f"{PAIR.title} after reply 3"]


def test_a_reply_told_what_its_rounds_did() -> None:
    drafted, plain = (RoundEvent(1, "draft-model", 4, n, n, 1.0, 1.0, 2.0 if n else 1.0, ()) for n in (4, 0))
    assert told_speedup([drafted, drafted, plain]) == 2.0
    assert told_speedup([drafted, plain, plain]) == 1.0
    assert told_speedup([]) == 1.0


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


def test_tables_say_what_was_not_compared() -> None:
    target, draft = bundled_pair()
    pair = RealPair("qwen", "Target", target, "draft", draft)
    assert peak_memory.show([peak_memory.Memory(pair, 2**30, None)])[-1].endswith("| 1,024 | – | – |")
    plain = peak_memory.show([peak_memory.Memory(pair, 2**30, 2**29)])
    assert plain[-1].endswith("| 512 (without the draft) | 2.00 |")
    assert peak_memory.peak_of(os.getpid()) > 2**20


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
