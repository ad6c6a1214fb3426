"""The joint distribution of the first tokens with real pairs: speculative against plain, through the decoder."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.decoder import SpeculativeDecoder
from engine.events import TokenEvent
from helpers.decoding.joint import PIECE, Prefix, two_sample_p
from helpers.models.pairs import open_files, open_shared

ENOUGH = 0.001
BROKEN = 1e-6
QUICK, LONG = 600, 20_000
"""The break shows with 200."""
SHARED = [
    ("stories260K-F32", "stories-draft43K-F32"),
    ("stories260K-F32", "stories-mamba131K-F32"),
    ("stories-mamba131K-F32", "stories-draft43K-F32"),
]
SAMPLINGS: list[dict[str, Any]] = [{"temperature": 1.0, "top_k": 8}, {"temperature": 0.7, "top_p": 0.9}]
BEGINNING = "They"
"""Nearly anything may follow, and the drafts disagree with the targets on what."""
NAMES = ["t1-top-k8", "t0.7-top-p0.9"]
QUICKLY = {(0, 0), (2, 1)}
"""Of `SHARED` and `SAMPLINGS`: both samplings, a recurrent target among them."""


def _draw(decoder: SpeculativeDecoder, samples: int, first_seed: int, **options: Any) -> Counter[Prefix]:
    """How often each beginning of three tokens came."""
    assert decoder.target is not None
    prompt = decoder.target.tokenizer.encode(BEGINNING, add_special=True, parse_special=False)

    def is_not_the_third(event: TokenEvent) -> bool:
        return event.position < 2

    # The reply may be longer, so that drafts are as long as they may be; it is ended with its third token.
    options |= {"max_tokens": 12, "on_token": is_not_the_third}
    return Counter(decoder.generate(prompt, seed=first_seed + seed, **options).tokens for seed in range(samples))


_PLAIN: dict[tuple[str, int, str], Counter[Prefix]] = {}
"""Plain draws, which do not depend on the draft, by target, samples and sampling: tests of one target share them."""


def _draw_plain(decoder: SpeculativeDecoder, samples: int, sampling: dict[str, Any]) -> Counter[Prefix]:
    assert decoder.target is not None
    key = decoder.target.name, samples, repr(sampling)
    if key not in _PLAIN:
        _PLAIN[key] = _draw(decoder, samples, 2 * 10**9, lookahead=0, **sampling)
    return _PLAIN[key]


def _p_value(decoder: SpeculativeDecoder, samples: int, lookahead: int, sampling: dict[str, Any]) -> float:
    plain = _draw_plain(decoder, samples, sampling)
    drawn = _draw(decoder, samples, 0, lookahead=lookahead, **sampling)
    assert decoder.stats.rejected > samples / 10, "the draft is too near to the target to show anything"
    value = two_sample_p(plain, drawn)
    print(f"\nsamples {samples}, lookahead {lookahead}, {sampling}, cells {len(plain)}: p = {value:.4f}")
    return value


@pytest.mark.parametrize(
    ("names", "sampling"),
    [
        pytest.param(
            names, sampling, id=f"{names[0]}-with-{names[1]}-{name}", marks=() if each in QUICKLY else pytest.mark.soak
        )
        for number, names in enumerate(SHARED)
        for place, (sampling, name) in enumerate(zip(SAMPLINGS, NAMES, strict=True))
        for each in ((number, place),)
    ],
)
def test_shared_pairs(shared_gguf: Callable[[str], Path], names: tuple[str, str], sampling: dict[str, Any]) -> None:
    shared_gguf(names[0])
    with open_shared(*names) as decoder:
        assert _p_value(decoder, QUICK, 2, sampling) >= ENOUGH


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("lookahead", [1, 4])
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=NAMES)
@pytest.mark.parametrize("names", SHARED, ids=lambda pair: f"{pair[0]}-with-{pair[1]}")
def test_shared_pairs_at_length(
    shared_gguf: Callable[[str], Path], names: tuple[str, str], sampling: dict[str, Any], lookahead: int
) -> None:
    shared_gguf(names[0])
    with open_shared(*names) as decoder:
        assert _p_value(decoder, LONG, lookahead, sampling) >= ENOUGH


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=NAMES)
def test_bundled_pair(bundled_target: Path, bundled_draft: Path, sampling: dict[str, Any]) -> None:
    with open_files(bundled_target, bundled_draft, context_length=64) as decoder:
        # A draft of its own temperature is far enough from a target that it was trained beside.
        assert _p_value(decoder, LONG, 4, {**sampling, "draft_temperature": 2.0}) >= ENOUGH


def test_accepting_always_is_noticed(shared_gguf: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    shared_gguf(SHARED[0][0])
    with open_shared(*SHARED[0]) as decoder:
        plain = _draw_plain(decoder, QUICK, SAMPLINGS[0])
        monkeypatch.setattr("engine.generation.verifier.accept", lambda *_: True)
        # Where the compiled functions judge, the rule in Python is not asked.
        monkeypatch.setattr("engine.sampling.native_rows.NativeRows.sampler", lambda *_: None)
        drawn: Counter[Prefix] = Counter()
        for seed in range(0, QUICK, PIECE):
            drawn += _draw(decoder, PIECE, seed, lookahead=2, **SAMPLINGS[0])
            if two_sample_p(plain, drawn) < BROKEN:
                break
        assert two_sample_p(plain, drawn) < BROKEN
