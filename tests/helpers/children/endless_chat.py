"""Chat with real models in a small context until so many tokens were written: the oldest turns leave it.

Run as `python -m helpers.children.endless_chat TARGET DRAFT SEED TOKENS`. It tells one line of JSON: emitted, replies,
shifts (replies whose prompt left turns out), differing (replies of the fixed kind that a new decoder did not write
alike), grown_mib (of memory, after the first tenth), tokens_per_s.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from engine import LoadConfig, Message, SpeculativeDecoder
from helpers.processes import memory_in_use

_CONTEXT = 192
_WORDS = ("tide", "river", "lantern", "ferry", "harbour", "salt", "gull", "rope", "mist", "tower", "bell", "island")
_MOST_TURNS = 40
_COMPARED_EVERY = 40


class EndlessChat:
    """Asks and is answered; what no longer fits is left out by the engine."""

    def __init__(self, target: str, draft: str, seed: int) -> None:
        self.emitted = self.replies = self.shifts = self.differing = 0
        self._paths = target, draft
        self._draw = random.Random(seed)
        self._messages: list[Message] = []
        self.decoder = self._open()

    def _open(self) -> SpeculativeDecoder:
        decoder = SpeculativeDecoder()
        decoder.attach_target(LoadConfig(Path(self._paths[0]), threads=1, trusted=True, context_length=_CONTEXT))
        decoder.attach_draft(LoadConfig(Path(self._paths[1]), threads=1, trusted=True, context_length=_CONTEXT))
        return decoder

    def once(self) -> None:
        """Ask, and keep what was said."""
        question = " ".join(self._draw.choices(_WORDS, k=self._draw.randrange(1, 9)))
        self._messages = [*self._messages[-_MOST_TURNS:], Message("user", question)]
        self.shifts += self.decoder.fit(self._messages).dropped_turns > 0
        compared = self.replies % _COMPARED_EVERY == 0
        target = self.decoder.target
        assert target is not None
        options: dict[str, Any] = {
            "temperature": 0.0 if compared else 1.0,
            "lookahead": self._draw.choice([0, 1, 4, 8] if compared else ["auto", 0, 1, 4, 8]),
            "banned_tokens": target.eos_token_ids,
            "seed": self.replies,
        }
        result = self.decoder.generate(self._messages, **options)
        assert result.finish_reason == "context", result.finish_reason
        if compared:
            with self._open() as fresh:
                again = fresh.generate(self._messages, **options | {"lookahead": 0})
            self.differing += again.tokens != result.tokens
        self.emitted += len(result.tokens)
        self.replies += 1
        self._messages.append(Message("assistant", result.text))


def main(target: str, draft: str, seed: int, tokens: int) -> None:
    chat = EndlessChat(target, draft, seed)
    before, began = 0, time.perf_counter()
    while chat.emitted < tokens:
        if not before and chat.emitted >= tokens / 10:
            before = memory_in_use()
        chat.once()
    seconds = time.perf_counter() - began
    told = {name: getattr(chat, name) for name in ("emitted", "replies", "shifts", "differing")}
    told |= {"grown_mib": round((memory_in_use() - before) / 2**20, 1)}
    chat.decoder.close()
    sys.stdout.write(json.dumps(told | {"tokens_per_s": round(chat.emitted / seconds)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
