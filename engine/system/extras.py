"""Is what runs safetensors models installed, and can llama.cpp use a GPU? Asked without importing any of it."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from engine.system.installation import installation_folder
from engine.translatable import Phrase

_LIBRARIES = ("torch", "transformers", "safetensors", "tokenizers")
_GPU_LIBRARIES = ("cuda", "vulkan", "metal", "hip", "sycl", "opencl", "musa", "cann")


def extra_advice() -> str:
    """What is missing and what to do about it: nothing can be added to a frozen program."""
    if installation_folder() is not None:
        return Phrase(
            "This build of Outrider does not include PyTorch and transformers. Install the full flavour of Outrider."
        )
    return Phrase('PyTorch and transformers are not installed. Install them with: pip install "outrider[torch]"')


def extra_installed() -> bool:
    """Whether the libraries of the extra `torch` are there."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)
    except (ImportError, ValueError):
        return False


@cache
def gpu_library_installed() -> bool:
    """Whether the installed llama.cpp comes with code for graphics cards."""
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        return False
    found = [path.name.lower() for path in Path(spec.origin).parent.glob("lib/*ggml-*")]
    return any(name in file for name in _GPU_LIBRARIES for file in found)
