"""Acceptance by rule: rejection, exact match on the same drawn tokens, exact match on the draft's best token.

make bench ARGS="acceptance [--target FILE --draft FILE] [--seeds N]"
"""

import argparse
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from engine import SpeculativeDecoder, bundled_pair, load

RULES: dict[str, dict[str, Any]] = {
    "rejection, drawn tokens": {"acceptance": "rejection"},
    "exact match, drawn tokens": {"acceptance": "exact"},
    "exact match, best token": {"acceptance": "exact", "draft_temperature": 0.0},
}


def rates(
    decoder: SpeculativeDecoder, prompts: Sequence[str], seeds: int, lookahead: int = 4
) -> dict[str, list[float]]:
    """Return, by rule, each seed's acceptance rate over all prompts, at temperature 1."""
    found: dict[str, list[float]] = {rule: [] for rule in RULES}
    for seed in range(seeds):
        for rule, options in RULES.items():
            decoder.reset_stats()
            for prompt in prompts:
                decoder.generate(
                    prompt, raw=True, temperature=1.0, seed=seed, lookahead=lookahead, max_tokens=120, **options
                )
            found[rule].append(decoder.stats.acceptance_rate)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", default=None)
    parser.add_argument("--draft", default=None)
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args(arguments)
    target, draft = (args.target, args.draft) if args.target else bundled_pair()
    print("## Acceptance by rule, at temperature 1\n")
    whose = "files given" if args.target else "bundled pair"
    print(f"The {whose}, lookahead 4; mean and deviation of {args.seeds} seeds.\n")
    print("| rule | acceptance rate, % |\n|---|---|")
    with load(target, draft) as decoder:
        for rule, values in rates(decoder, ("Once upon a time", "One day a dog", "The sun"), args.seeds).items():
            print(f"| {rule} | {100 * mean(values):.1f} ± {100 * stdev(values):.1f} |")


if __name__ == "__main__":
    main()
