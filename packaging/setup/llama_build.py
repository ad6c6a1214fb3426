"""The build settings of llama.cpp, for `make setup` and the installers alike."""

import hashlib
import re
import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# By its path: the set-up runs where nothing is installed.
SETTINGS = ROOT / "engine" / "system" / "llama_settings.py"
_told = runpy.run_path(str(SETTINGS))
shared_settings: Callable[[], dict[str, str]] = _told["shared_settings"]
KERNELS = ROOT / "engine" / "backends" / "llama_cpp" / "kernels"
PROCESSOR = Path(__file__).parent / "processor.sh"
DOOR = ROOT / "engine" / "chat" / "door"
RULES = ROOT / "engine" / "sampling_rules.def"

_AMX = re.compile(rb"\s(tilezero|tileloadd|tilestored|tilerelease|ldtilecfg|sttilecfg|tdp[bf]\w+)\b")

KINDS: dict[str, dict[str, str]] = {
    "cpu": {},
    "vulkan": {"GGML_VULKAN": "ON"},
    "cuda": {"GGML_CUDA": "ON"},
    "metal": {"GGML_METAL": "ON"},
}
"""Devices that llama.cpp can use beside the processor, and CMake's settings for each."""


def settings(kind: str = "cpu") -> dict[str, str]:
    """CMake's settings by their names, for one of KINDS."""
    return shared_settings() | KINDS[kind]


def kernel_files() -> list[Path]:
    """List our sources that are compiled into llama.cpp, in a fixed order."""
    sources = (path for folder in (KERNELS, DOOR) for path in folder.iterdir())
    compiled = (path for path in sources if path.suffix in (".cmake", ".cpp", ".h"))
    return [*sorted(compiled, key=lambda path: path.name), RULES]


def with_amx(folder: Path) -> list[str]:
    """The libraries in a folder, and below it, that carry instructions of AMX. Raises OSError where objdump lacks.

    llama.cpp's own code for AMX ends the process on processors that have it; ggml.cmake leaves it out.
    """
    found = []
    for library in sorted(folder.rglob("*.so*")):
        if not library.is_symlink():
            told = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, check=True)
            found += [library.name] if _AMX.search(told.stdout) else []
    return found


def digest() -> str:
    """Changes with everything of ours that the result depends on, but not with folder or processor."""
    told = hashlib.sha256(repr(sorted(settings().keys())).encode())
    for path in kernel_files():
        told.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return told.hexdigest()[:12]


def processor() -> str:
    """The instruction sets of this processor that the compiler may use, in one line; empty where Linux tells none."""
    done = subprocess.run(["/bin/sh", str(PROCESSOR)], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def digest_for_here(kind: str = "cpu") -> str:
    """Extend the digest by the processor, whose instructions a local build uses."""
    here = f"{digest()}-{hashlib.sha256(processor().encode()).hexdigest()[:8]}"
    return here if kind == "cpu" else f"{here}-{kind}"
