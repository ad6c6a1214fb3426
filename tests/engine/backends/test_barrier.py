"""Threads of llama.cpp's processor library meet at a barrier of ours."""

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers.weights.kernels_check import KERNELS, SOURCES, needs_linux

pytestmark = needs_linux

_COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(_COMPILER is None, reason="there is no C++ compiler")

BROKEN = {
    "one that spins goes on": ("met.load(std::memory_order_acquire) != before", "met.load() != before || turn > 50"),
    "one that would sleep goes on": ("while (met.load(std::memory_order_seq_cst) == before)", "if (turns < 0)"),
}
"""Rules of the barrier, and what breaks them."""


def _run(folder: Path, kernels: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    program = folder / "barrier-check"
    compiled = [str(_COMPILER), "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", *flags, f"-I{kernels}"]
    subprocess.run([*compiled, str(SOURCES / "barrier.cpp"), "-pthread", "-o", str(program)], check=True)
    return subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=120)


@needs_compiler
def test_no_thread_goes_on_before_all_are_there(tmp_path: Path) -> None:
    done = _run(tmp_path, KERNELS)
    assert (done.returncode, done.stdout) == (0, "held\n")


@needs_compiler
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_barrier_is_found(tmp_path: Path, name: str) -> None:
    old, new = BROKEN[name]
    text = (KERNELS / "barrier.h").read_text(encoding="utf-8")
    assert text.count(old) == 1
    (tmp_path / "barrier.h").write_text(text.replace(old, new), encoding="utf-8")
    assert _run(tmp_path, tmp_path).returncode == 1


@needs_compiler
def test_a_sanitizer_of_threads_finds_nothing(tmp_path: Path) -> None:
    try:
        done = _run(tmp_path, KERNELS, "-fsanitize=thread")
    except subprocess.CalledProcessError:
        pytest.skip("this compiler has no sanitizer of threads")
    if "FATAL: ThreadSanitizer" in done.stderr:
        pytest.skip("the sanitizer of threads does not run on this system")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_installed_library_has_it() -> None:
    """Its calls of GNU's OpenMP go through ours."""
    spec = find_spec("llama_cpp")
    objdump = shutil.which("objdump")
    if spec is None or spec.origin is None or objdump is None:
        pytest.skip("there is no llama_cpp, or no objdump")
    symbols: set[str] = set()
    for library in (Path(spec.origin).parent / "lib").glob("libggml-cpu*.so"):
        told = subprocess.run([objdump, "-T", str(library)], capture_output=True, text=True, check=True).stdout
        symbols |= set(re.findall(r"\b\w*GOMP_\w+", told))
    if "GOMP_parallel" not in symbols:
        pytest.skip("it was compiled without GNU's OpenMP")
    assert {"__wrap_GOMP_parallel", "__wrap_GOMP_barrier"} <= symbols
