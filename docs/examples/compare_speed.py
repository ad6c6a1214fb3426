"""Measure plain decoding, two fixed lookaheads and auto in turns, as `outrider-engine bench` does; print the medians.

With the bundled pair plain decoding may win: its target is tiny. Try it with a pair of your own.
"""

import sys

from outrider import WaysProgress, bundled_pair, load, measure_ways

PROMPTS = ("Tell me a story about a shy dragon.", "Write a Python function that adds two numbers.")


def show(progress: WaysProgress) -> None:
    """Print the progress on standard error."""
    print(f"\r{progress.stage}: {progress.done} of {progress.total}  ", end="", file=sys.stderr)


target, draft = sys.argv[1:3] if len(sys.argv) > 2 else bundled_pair()
with load(target, draft) as decoder:
    report = measure_ways(decoder, PROMPTS, (2, 4, "auto"), repeats=2, max_tokens=32, progress=show)
print(file=sys.stderr)
for way in report.ways:
    if way.tokens_per_second is not None and way.speedup is not None:
        speed, times = way.tokens_per_second, way.speedup
        spread = f"{times.low:.2f}–{times.high:.2f}"
        print(f"{way.name:>6}: {speed.median:7.1f} tokens/s, {times.median:.2f} × plain ({spread})")
