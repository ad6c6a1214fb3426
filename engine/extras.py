"""Is what runs safetensors models installed? Asked without importing any of it."""

from __future__ import annotations

import importlib.util

from engine.integrity import installation_folder

_LIBRARIES = ("torch", "transformers", "safetensors", "tokenizers")


def extra_advice() -> str:
    """What is missing and what to do about it: nothing can be added to a frozen program."""
    if installation_folder() is not None:
        return "This build of Outrider comes without PyTorch and transformers. Install the full flavour of Outrider."
    return 'PyTorch and transformers are not installed. Install them with: pip install "outrider[torch]"'


def extra_installed() -> bool:
    """Whether the libraries of the extra `torch` are there."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)
    except (ImportError, ValueError):
        return False
