"""On the same drawn tokens rejection sampling accepts more than exact match: Σ min(p, q) against Σ p·q."""

from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev

from benchmarks.policy.acceptance import rates
from helpers.models.pairs import open_shared


def test_rejection_accepts_more_than_exact_match(shared_gguf: Callable[[str], Path]) -> None:
    for name in ("stories260K-F32", "stories-draft43K-F32"):
        shared_gguf(name)
    with open_shared("stories260K-F32", "stories-draft43K-F32") as decoder:
        found = rates(decoder, ("Once upon a time", "One day"), 6)
    rejection, exact, best = found.values()
    assert mean(rejection) > mean(exact) + 3 * (stdev(rejection) + stdev(exact)) / len(exact) ** 0.5
    assert mean(rejection) > mean(exact) + 0.05
    assert mean(best) > mean(exact)
