"""Builds of `kernels-check`, the program in tests/kernels that tries the kernels, and runs of it.

It is compiled against the installed library, or with llama.cpp's source and the kernels for any processor, with
sanitizers or with changed kernels. What is built stays in `build/kernels-check`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.upstream import LLAMA_CPP

SOURCES = ROOT / "tests" / "kernels"
KERNELS = ROOT / "engine" / "backends" / "llama_cpp" / "kernels"
BUILDS = ROOT / "build" / "kernels-check"
PARTS = ("main", "check", "products", "attention")
# As in tests/kernels/CMakeLists.txt, but sooner compiled.
FLAGS = ("-std=c++17", "-O2", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="guard pages and weak symbols as on Linux")
needs_llama_source = pytest.mark.skipif(
    not (LLAMA_CPP / "ggml").is_dir() or shutil.which("cmake") is None,
    reason="the source package of llama-cpp-python is not unpacked (OUTRIDER_LLAMA_SOURCE), or there is no cmake",
)


def processor_has(*flags: str) -> bool:
    """Return True if this processor has all these instruction sets, by their names in /proc/cpuinfo."""
    info = Path("/proc/cpuinfo")
    return info.is_file() and set(flags) <= set(info.read_text(encoding="utf-8").split())


def check_of_installed() -> Path:
    """Return the program on the installed library, compiled if its sources or that library changed, or skip."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    spec = find_spec("llama_cpp")
    if compiler is None or spec is None or spec.origin is None:
        pytest.skip("there is no C++ compiler, or no llama_cpp")
    libraries = Path(os.environ.get("LLAMA_CPP_LIB_PATH", Path(spec.origin).parent / "lib"))
    headers = Path(spec.origin).parents[1] / "include"
    if not (headers / "ggml-cpu.h").is_file() or not (libraries / "libggml-cpu.so").is_file():
        pytest.skip("the headers of the installed library are not there")
    sources = [SOURCES / f"{part}.cpp" for part in PARTS]
    told = hashlib.sha256(f"{compiler} {libraries} {(libraries / 'libggml-cpu.so').stat().st_mtime_ns}".encode())
    for path in sorted([*sources, *SOURCES.glob("*.h")]):
        told.update(path.read_bytes())
    program = BUILDS / f"installed-{told.hexdigest()[:12]}" / "kernels-check"
    if not program.is_file():
        program.parent.mkdir(parents=True, exist_ok=True)
        part = program.with_suffix(f".{os.getpid()}")
        linked = [f"-L{libraries}", "-lggml-cpu", "-lggml-base", f"-Wl,-rpath,{libraries}", "-pthread"]
        _run([compiler, *FLAGS, f"-I{headers}", *map(str, sources), *linked, "-o", str(part)])
        part.rename(program)
    return program


def build(
    name: str,
    settings: Mapping[str, str],
    *targets: str,
    kernels: Path = KERNELS,
    around: Mapping[str, str] | None = None,
) -> Path:
    """Build targets of tests/kernels with these settings of CMake; return the folder with the programs.

    `kernels` is the folder of the kernels, `around` what the environment has beside. What did not change is not
    compiled again. Raises CalledProcessError after printing what the compiler said.
    """
    place = BUILDS / name
    given = {"LLAMA_CPP": str(LLAMA_CPP), "OUTRIDER_KERNELS": str(kernels), "CMAKE_BUILD_TYPE": "Release", **settings}
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    if ccache := shutil.which("ccache"):
        given |= {"CMAKE_C_COMPILER_LAUNCHER": ccache, "CMAKE_CXX_COMPILER_LAUNCHER": ccache}
    environment = {**os.environ, **(around or {})}
    _run(
        ["cmake", "-S", str(SOURCES), "-B", str(place), *generator, *(f"-D{n}={v}" for n, v in given.items())],
        environment,
    )
    wanted = targets or ("kernels-check",)
    _run(["cmake", "--build", str(place), "--parallel", str(os.cpu_count() or 1), "--target", *wanted], environment)
    return place


def check(program: Path, *arguments: str, emulator: Sequence[str] = (), expected: int = 0) -> str:
    """Run the program; return what it said. Fails with that where it ends otherwise than `expected`."""
    done = _run([*emulator, str(program), *arguments], expected=expected)
    return done.stdout.strip() if expected == 0 else done.stderr.strip()


ARM_TOOLS = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64")


def lacks_arm_tools() -> str:
    """Name the missing tools to compile for ARM and emulate it; empty if none is."""
    return ", ".join(name for name in ARM_TOOLS if shutil.which(name) is None)


def settings_for_arm(features: str) -> dict[str, str]:
    """Return CMake's settings to compile for ARM with these features, as compilers spell them."""
    return {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_C_COMPILER": ARM_TOOLS[0],
        "CMAKE_CXX_COMPILER": ARM_TOOLS[1],
        "GGML_NATIVE": "OFF",
        "GGML_CPU_ARM_ARCH": features,
    }


def emulator_of_arm(processor: str) -> tuple[str, ...]:
    """Return the command that runs a program for this ARM processor."""
    return (ARM_TOOLS[2], "-L", "/usr/aarch64-linux-gnu", "-cpu", processor)


def copy_of_kernels(folder: Path, changed: str, old: str, new: str) -> Path:
    """Copy the kernels, with what they include, and replace a text in one of their files; return their new folder."""
    copy = folder / KERNELS.relative_to(ROOT)
    shutil.copytree(KERNELS, copy)
    shutil.copy(ROOT / "engine" / "sampling_rules.def", folder / "engine")
    path = copy / changed
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{changed} does not have this once: {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return copy


def _run(
    command: Iterable[str], environment: Mapping[str, str] | None = None, expected: int = 0
) -> subprocess.CompletedProcess[str]:
    # Threads of OpenMP that wait for each other would keep the processors busy.
    environment = {"OMP_WAIT_POLICY": "passive"} | dict(environment or os.environ)
    done = subprocess.run(list(command), env=environment, capture_output=True, text=True, check=False)
    said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert done.returncode == expected, f"{list(command)} ended with {done.returncode}:\n{said}"
    return done
