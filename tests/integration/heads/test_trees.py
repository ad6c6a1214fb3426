"""Trees of proposals on real targets: the text is the target's, in one pass a round, on both backends."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.decoding.invariants import follow
from helpers.heads.replies import PROMPT
from helpers.models.pairs import assert_same_greedy, open_files, open_shared
from helpers.weights.expert_model import TINY_GPT_OSS, write_expert_model


@pytest.mark.usefixtures("shared_models")
@pytest.mark.parametrize(
    ("target", "draft"), [("stories260K-F32", "stories-draft43K-F32"), ("stories260K-Q8_0", "stories260K-Q4_0")]
)
def test_a_draft_model_that_hesitates(target: str, draft: str) -> None:
    """Other people's models: more of a tree is accepted than of a chain of its depth."""
    with open_shared(target, draft) as decoder:
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=80, lookahead=0)
        options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 80, "method": "draft-model"}
        chain = decoder.generate(PROMPT, lookahead=4, **options)
        seen = follow(decoder, PROMPT, decoder.stream(PROMPT, tree="4x4", **options))
        assert seen.result is not None
        assert decoder.target is not None
        # A node beside the first path is computed from other cells: rows of quantised weights are not alike to the bit.
        assert_same_greedy(decoder.target, PROMPT, plain, seen.result, close=0.05)
        assert seen.result.stats.target_forwards == seen.result.stats.rounds < chain.stats.rounds
        text = list(decoder.target.tokens)
        rows = [decoder.target.forward([50], 1)[0].copy()]
        decoder.target.truncate(0)
        for token in text:
            decoder.target.forward([token], 1)
        last = decoder.target.forward([50], 1)
        # What was kept stands in the cache as plain decoding would have left it.
        if decoder.target.row_difference == 0.0:
            assert np.array_equal(rows[0], last[0])
        assert np.abs(rows[0] - last[0]).max() < 0.05


def test_a_target_with_sliding_windows(tmp_path: Path) -> None:
    """Behind a text that is longer than the window."""
    target = write_expert_model(tmp_path / "target.gguf", TINY_GPT_OSS, "Q8_0", seed=3)
    draft = write_expert_model(tmp_path / "draft.gguf", TINY_GPT_OSS, "Q8_0", seed=3, noise=0.1)
    prompt = [3 + (7 * place) % 300 for place in range(200)]
    with open_files(target, draft) as decoder:
        plain = decoder.generate(prompt, temperature=0.0, max_tokens=40, lookahead=0)
        options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 40, "method": "draft-model", "tree": "3x4"}
        seen = follow(decoder, prompt, decoder.stream(prompt, **options))
        assert seen.result is not None
        assert decoder.target is not None
        assert_same_greedy(decoder.target, prompt, plain, seen.result, close=0.05)
        assert seen.result.stats.accepted > 3
        assert seen.result.notes == ()
