"""Compare the processor with the one for which the llama.cpp beside this program was compiled.

A llama.cpp that was compiled for one machine ends the process by a signal on a machine whose processor has less. So
`make setup` records the instruction sets beside its library. Other builds have no record and are not compared: those of
the installers choose among modules for all processors.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from engine.errors import NotAvailable
from engine.translatable import Translatable

RECORD = "outrider-processor.json"
_CPUINFO = Path("/proc/cpuinfo")
_SHOWN = 3


def record_processor(features: Iterable[str]) -> None:
    """Write for which instruction sets (as Linux names them) the installed llama.cpp was compiled. Raises OSError."""
    folder = library_folder()
    if folder is None:
        raise FileNotFoundError("llama_cpp")
    content = {"features": sorted(features), "library": _identity(folder)}
    (folder / RECORD).write_text(json.dumps(content), encoding="utf-8")


def check_processor() -> None:
    """Check that the installed llama.cpp runs on this processor, if that is known. Raises NotAvailable."""
    lacking = _lacking()
    if not lacking:
        return
    raise NotAvailable(
        Translatable("Running GGUF models"),
        "llama.cpp was compiled on another computer, for a processor with instructions that this one lacks "
        "({names}). Install Outrider again on this computer (from its sources: make setup).",
        names=", ".join([*lacking[:_SHOWN], *["…"] * (len(lacking) > _SHOWN)]),
    )


def _lacking() -> list[str]:
    """Return the recorded instruction sets that this processor does not have."""
    folder = library_folder()
    if folder is None or sys.platform != "linux":
        return []
    try:
        content = json.loads((folder / RECORD).read_bytes())
        # Whoever installs another llama.cpp leaves the record behind.
        wanted = content["features"] if content["library"] == _identity(folder) else []
        present = _features()
        return [name for name in wanted if name not in present] if present else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def library_stamp() -> list[list[object]]:
    """Return name, size in bytes and time of change in ns of each installed library of llama.cpp; empty without one."""
    folder = library_folder()
    return [] if folder is None else _stamps(folder, "*.*")


def library_folder() -> Path | None:
    """Return the folder of libllama, found without loading anything of it."""
    chosen = os.environ.get("LLAMA_CPP_LIB_PATH")  # llama-cpp-python looks there first.
    if chosen:
        return Path(chosen)
    try:
        spec = importlib.util.find_spec("llama_cpp")
    except (ImportError, ValueError):
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "lib"


def _identity(folder: Path) -> list[list[object]]:
    """Identify these libraries among those of other installations."""
    return _stamps(folder, "*ggml-cpu*")


def _stamps(folder: Path, pattern: str) -> list[list[object]]:
    found = sorted(path for path in folder.glob(pattern) if path.is_file())
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in found]


def _features() -> frozenset[str]:
    """Return the instruction sets of the first processor; none where Linux tells none."""
    with _CPUINFO.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, _, features = line.partition(":")
            if name.strip() in ("flags", "Features"):
                return frozenset(features.split())
    return frozenset()
