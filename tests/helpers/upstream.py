"""Find test files of other projects: the source package of llama-cpp-python, if somebody unpacked it."""

import os
from pathlib import Path

import pytest

from helpers.paths import ROOT

_SOURCE = Path(os.environ.get("OUTRIDER_LLAMA_SOURCE", ROOT / "build" / "llama-cpp-python"))
LLAMA_CPP = _SOURCE / "vendor" / "llama.cpp"
_MODELS = LLAMA_CPP / "models"

TEMPLATES = sorted((_MODELS / "templates").glob("*.jinja"))
TEST_CHAT = LLAMA_CPP / "tests" / "test-chat.cpp"
VOCABULARIES = sorted(_MODELS.glob("ggml-vocab-*.gguf"))

needs_source = pytest.mark.skipif(
    not TEMPLATES, reason="the source package of llama-cpp-python is not unpacked (OUTRIDER_LLAMA_SOURCE)"
)


def template_named(part: str) -> str:
    """Return the text of the template whose name has `part` in it, or skip."""
    path = next((path for path in TEMPLATES if part in path.name), None)
    if path is None:
        pytest.skip(f"there is no template {part}")
    return path.read_text(encoding="utf-8")
