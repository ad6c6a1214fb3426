"""The demo target's sibling with an MTP layer, and the code that trained it."""

import json

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.library.names import resolve_source
from helpers.models.pairs import HELD_OUT, assert_same_greedy

PROMPTS = [each["prompt"] for each in json.loads(HELD_OUT.read_text("utf-8")) if "prompt" in each][::20]


def test_the_sibling_finds_its_own_layer_and_writes_what_it_would_alone() -> None:
    """A round gives two tokens at least in the mean, with nothing named but the target."""
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(resolve_source("demo-mtp"), threads=1, trusted=True))
        decoder.attach_heads(resolve_source("demo-mtp"))
        assert decoder.target is not None
        rounds = emitted = 0
        for prompt in PROMPTS:
            plain = decoder.generate(prompt, lookahead=0, temperature=0.0, max_tokens=60)
            result = decoder.generate(prompt, lookahead=4, temperature=0.0, max_tokens=60)
            assert result.method == "mtp"
            assert_same_greedy(decoder.target, decoder.encode(prompt), plain, result)
            assert result.stats.target_forwards == result.stats.rounds
            rounds += result.stats.rounds
            emitted += result.stats.emitted
    assert emitted / rounds > 2.0
