"""Is what runs safetensors models installed? Asked without importing any of it."""

from __future__ import annotations

import importlib.util

EXTRA_MISSING = 'It needs PyTorch and transformers, which are not installed: pip install "outrider[torch]"'
_LIBRARIES = ("torch", "transformers", "safetensors", "tokenizers")


def extra_installed() -> bool:
    """Whether the libraries of the extra `torch` are there."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)
    except (ImportError, ValueError):
        return False
