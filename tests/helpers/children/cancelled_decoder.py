"""Cancel real models at random moments of whatever they do, and use them after each.

Run as `python -m helpers.children.cancelled_decoder TARGET DRAFT SEED NUMBER`. It tells one line of JSON: ends (how
often what ended how), slowest_end_s (from the cancel to the end), grown_mib (of memory, after the first tenth).
"""

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine import Cancelled, CancelToken, LoadConfig, load
from helpers.processes import memory_in_use

_PROMPT = "Tell me a story. "
_SHORT: dict[str, Any] = {"max_tokens": 6, "temperature": 0.0, "lookahead": 4}


class Cancelling:
    """Does things with a decoder, and is cancelled."""

    def __init__(self, target: str, draft: str, seed: int) -> None:
        self.ends: Counter[str] = Counter()
        self.slowest_end_s = 0.0
        self._paths = target, draft
        self._draw = random.Random(seed)
        self.decoder = load(target, draft, threads=1)
        self._expected = self._ask()

    def _ask(self) -> str:
        return self.decoder.generate("What is a ferry?", **_SHORT).text

    def _ways(self, cancel: CancelToken) -> dict[str, Callable[[], object]]:
        decoder, draw = self.decoder, self._draw
        target = decoder.target
        assert target is not None
        options: dict[str, Any] = {
            "temperature": 1.0,
            "lookahead": draw.choice(["auto", 0, 1, 3, 8, 20]),
            "overlap": draw.choice(["on", "off"]),
            "banned_tokens": target.eos_token_ids,  # It goes on until it is cancelled.
            "method": draw.choice(["auto", "draft-model", "ngram"]),
        }
        prompt = _PROMPT * draw.choice([1, 1, 1, 60])

        def stream() -> str:
            reason = "nothing"
            for event in decoder.stream(prompt, cancel=cancel, **options):
                reason = getattr(getattr(event, "result", None), "finish_reason", reason)
            return reason

        def abandon() -> str:
            events = decoder.stream(prompt, cancel=cancel, **options)
            for _ in range(draw.randrange(1, 30)):
                next(events, None)  # The cancel may come first.
            events.close()
            return "abandoned"

        return {
            "generate": lambda: decoder.generate(prompt, cancel=cancel, **options).finish_reason,
            "stream": stream,
            "abandon": abandon,
            "calibrate": lambda: decoder.calibrate(cancel=cancel),
            "fit": lambda: decoder.fit(
                [{"role": "user", "content": prompt} for _ in range(draw.randrange(1, 200))], cancel=cancel
            ),
            "attach target": lambda: decoder.attach_target(self._config(0), cancel=cancel),
            "attach draft": lambda: decoder.attach_draft(self._config(1), cancel=cancel),
        }

    def _config(self, place: int) -> LoadConfig:
        return LoadConfig(Path(self._paths[place]), threads=1, trusted=True)

    def once(self) -> None:
        """Do something, cancel it, and answer a question."""
        cancel = self.decoder.cancel_token if self._draw.random() < 0.5 else CancelToken()
        way = self._draw.choices(
            ["generate", "stream", "abandon", "calibrate", "fit", "attach target", "attach draft"],
            [8, 8, 2, 1, 1, 1, 1],
        )[0]
        pressed: list[float] = []

        def press() -> None:
            pressed.append(time.monotonic())
            cancel.cancel()

        timer = threading.Timer(self._draw.uniform(0.0, 0.12), press)
        act = self._ways(cancel)[way]
        timer.start()
        try:
            end = act()
            reason = end if isinstance(end, str) else "done"
        except Cancelled:
            reason = "Cancelled"
        ended = time.monotonic()
        timer.cancel()
        timer.join()
        if pressed:
            self.slowest_end_s = max(self.slowest_end_s, ended - pressed[0])
        cancel.clear()
        self.ends[f"{way}: {reason}"] += 1
        self._use()

    def _use(self) -> None:
        """Whatever was cancelled: the next question is answered as ever, by both models."""
        if self.decoder.target is None:
            self.decoder.attach_target(self._config(0))
        if self.decoder.draft is None:
            self.decoder.attach_draft(self._config(1))
        text = self._ask()
        assert text == self._expected, (text, self._expected)


def main(target: str, draft: str, seed: int, number: int) -> None:
    cancelling = Cancelling(target, draft, seed)
    before = 0
    for count in range(number):
        if count == min(100, number // 2):
            before = memory_in_use()
        cancelling.once()
    grown = (memory_in_use() - before) / 2**20
    cancelling.decoder.close()
    told = {"ends": dict(sorted(cancelling.ends.items())), "slowest_end_s": round(cancelling.slowest_end_s, 2)}
    sys.stdout.write(json.dumps(told | {"grown_mib": round(grown, 1)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
