"""Overlapped drafting against the ideal: target and draft that only wait, each for a known time a forward.

make bench ARGS="overlap"
"""

import argparse
import time
from collections.abc import Sequence
from statistics import median

from engine import RoundEvent, SpeculativeDecoder
from engine.backends.base import Logits
from engine.config import Overlap
from helpers.decoding.fake_backend import FakeBackend

CASES = ((0.04, 0.005, 4, 1.5), (0.04, 0.01, 4, 1.5), (0.06, 0.01, 3, 0.7), (0.02, 0.002, 4, 0.7))
"""Seconds of a target forward and of a draft forward, lookahead, and sharpness of the draft."""
ALWAYS_RIGHT = 1.5
"""A draft as sharp as the target."""


class Delayed(FakeBackend):
    """A fake whose forwards take a given time, during which other threads run."""

    def __init__(self, delay: float, sharpness: float = 1.5) -> None:
        super().__init__(8, 3, sharpness=sharpness)
        self.delay = delay

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        time.sleep(self.delay)
        return super().forward(tokens, n_outputs)


def measure(target: float, draft: float, lookahead: int, sharpness: float, overlap: Overlap) -> tuple[float, float]:
    """Seconds that 120 tokens took behind the prompt, and the least they could take, with the same rounds."""
    ideal = 0.0
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(Delayed(target))
        decoder.attach_draft(Delayed(draft, sharpness))
        events = decoder.stream(
            [1, 2, 3], lookahead=lookahead, overlap=overlap, temperature=1.0, seed=1, max_tokens=120
        )
        begun = ended = 0.0
        ahead = False
        for event in events:
            if not begun and type(event).__name__ == "PromptProgress" and decoder.target and decoder.target.length:
                begun = time.perf_counter()
            if isinstance(event, RoundEvent):
                ended = time.perf_counter()
                ideal += max(target, (lookahead + 1) * draft) + (0.0 if ahead else lookahead * draft)
                ahead = overlap == "on" and event.accepted == event.proposed == lookahead + 1
    return ended - begun, ideal


def main() -> None:
    """Print for each case the ratio of the overlapped time to the ideal one."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    print("## Overlapped drafting against the ideal\n")
    print(
        "A target and a draft that only wait, each for a known time a forward. Medians (least to most) of 3 replies.\n"
    )
    print("| target, ms | draft, ms | lookahead | draft | of the ideal speed | against no overlap |")
    print("|---|---|---|---|---|---|")
    for target, draft, lookahead, sharpness in CASES:
        taken = [measure(target, draft, lookahead, sharpness, "on") for _ in range(3)]
        shares = [ideal / seconds for seconds, ideal in taken]
        plain = measure(target, draft, lookahead, sharpness, "off")[0]
        cells = [f"{1000 * target:.0f}", f"{1000 * draft:.0f}", str(lookahead)]
        cells += ["always right" if sharpness >= ALWAYS_RIGHT else "sometimes wrong"]
        cells += [f"{median(shares):.2f} ({min(shares):.2f}–{max(shares):.2f})"]
        cells += [f"{plain / median(seconds for seconds, _ in taken):.2f}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
