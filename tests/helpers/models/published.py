"""Models that people publish, where this machine has them. REAL_MODELS: the folder that they are in."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("REAL_MODELS", "~/.cache/real-models")).expanduser()
QWEN, QWEN_DRAFT, SMOL, GEMMA = "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "SmolLM2-135M", "gemma-3-270m"


def published(*names: str) -> list[Path]:
    """Find the files whose names begin so, each the first one, or skip the test."""
    found = [next(iter(sorted(FOLDER.glob(f"{name}*.gguf"))), None) for name in names]
    there = [path for path in found if path is not None]
    if len(there) < len(names):
        pytest.skip(f"not all of {', '.join(names)} are in {FOLDER}")
    return there
