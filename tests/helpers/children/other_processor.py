"""A llama.cpp that was compiled for another processor."""

from pathlib import Path

import pytest

from engine.system import processor

DEADLY = "import os\nos.kill(os.getpid(), 4)\n"
ELSEWHERE = ("avx512_future", "amx_future", "avx", "sve9", "sve99")
SAID = "for a processor with instructions that this one lacks (amx_future, avx512_future, sve9, …)"


def deadly_llama(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a llama.cpp that ends whoever imports it, on a processor with little; gives the folder of the package."""
    package = folder / "elsewhere" / "llama_cpp"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text(DEADLY)
    (package / "lib" / "libggml-cpu.so").write_bytes(b"\x7fELF")
    cpuinfo = folder / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu avx fma\n")
    monkeypatch.setattr(processor, "library_folder", lambda: package / "lib")
    monkeypatch.setattr(processor, "_CPUINFO", cpuinfo)
    return package
