"""Propose tokens with a drafter of one's own: here a list of phrases that replies often contain.

Whatever it proposes, the target verifies it: a bad drafter costs time and never changes what is written.
"""

import sys
from collections.abc import Sequence

from outrider import CancelToken, Draft, Drafter, DrafterContext, DraftMethod, GoesOn, bundled_pair, load

PHRASES = (" nice to meet you. What can I do for you?", " there lived a shy dragon called", "def add_numbers(a, b):\n")
PROMPTS = ("Tell me a story about a shy dragon.", "Hello!", "Write a Python function that adds two numbers.")


class PhraseDrafter(Drafter):
    """Propose the rest of a phrase once the text has begun it."""

    name = "phrases"

    def __init__(self, phrases: Sequence[Sequence[int]]) -> None:
        self._phrases = phrases
        self._text: list[int] = []

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        """Start on a new prompt, of which nothing is needed."""
        self._text = []

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        """Propose at most `n` tokens, or none. They were not drawn, so there are no probabilities to tell."""
        for phrase in self._phrases:
            for begun in range(min(len(phrase) - 1, len(self._text)), 0, -1):
                if self._text[-begun:] == list(phrase[:begun]):
                    return Draft(tuple(phrase[begun : begun + n]), source=self.name)
        return Draft()

    def observe(self, committed_tokens: Sequence[int]) -> None:
        """Learn the written tokens."""
        self._text += committed_tokens


def make_drafter(context: DrafterContext) -> PhraseDrafter:
    """Return the drafter of one reply."""
    tokenizer = context.target.tokenizer
    return PhraseDrafter([tokenizer.encode(each, add_special=False, parse_special=False) for each in PHRASES])


method = DraftMethod("phrases", "Phrases", "Proposes the rest of a known phrase.", make_drafter, lookahead=8)
target = sys.argv[1] if len(sys.argv) > 1 else bundled_pair()[0]
with load(target) as decoder:
    for prompt in PROMPTS:
        plain = decoder.generate(prompt, lookahead=0, max_tokens=40)
        drafted = decoder.generate(prompt, method=method, max_tokens=40)
        stats, same = drafted.stats, "the same" if drafted.tokens == plain.tokens else "not the same"
        print(f"{drafted.text.strip()}\n  {stats.accepted} of {stats.proposed} accepted, {same} as plain decoding")
