"""The compiled functions for rows of logits, where this machine's llama.cpp has them."""

import pytest

from engine.config import SamplingConfig
from engine.sampling.native_rows import NativeRows


def compiled_rows(*, whole_drafts: bool = False) -> NativeRows:
    """Skips the test where they are missing. `whole_drafts`: those that draw and judge in one call too."""
    pytest.importorskip("llama_cpp")
    from engine.backends.llama_cpp.library import prepare_library, processor_library  # noqa: PLC0415 - loads llama.cpp

    prepare_library()
    try:
        found = NativeRows(processor_library())
    except AttributeError:
        pytest.skip("llama.cpp was compiled without the functions, or this processor has none of the registers")
    if whole_drafts and found.sampler(SamplingConfig(), 0) is None:
        pytest.skip("llama.cpp was compiled without the functions for whole drafts")
    return found
