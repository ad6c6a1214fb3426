"""The corpus: a mixture of conversations, from a seed, without the held-out prompts."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from demopair.texts import about, copying, everyday, followups, functions, markdown, smalltalk, stories
from demopair.texts.followups import Turn
from demopair.texts.grammar import Conversation, Exchange, expand

CATEGORIES = (
    smalltalk.CATEGORY,
    about.CATEGORY,
    stories.CATEGORY,
    everyday.CATEGORY,
    markdown.CATEGORY,
    functions.CATEGORY,
    followups.CATEGORY,
    copying.CATEGORY,
)
HELDOUT = Path(__file__).resolve().parent.parent / "heldout.json"
_SYSTEM = (
    "[You are a helpful assistant|You are a friendly assistant|You are Outrider|Be helpful|Be kind and clear|Answer briefly|"
    "You are the demo model of Outrider|Answer in simple words|You answer politely][.| and keep it simple.| in English.|]"
)
# Rough characters per token of this corpus; only the lengths of long conversations depend on it.
_CHARS_PER_TOKEN = 4.0


def normal(text: str) -> str:
    """A prompt without case, signs and spaces, so that trivial variants count as the same."""
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


Banned = frozenset[tuple[str, ...]]


def heldout_prompts(path: Path = HELDOUT) -> Banned:
    """The held-out prompts, each as the normalised user turns that must not follow each other in the corpus."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    turns = (
        [e["prompt"]] if "prompt" in e else [m["content"] for m in e["messages"] if m["role"] == "user"]
        for e in entries
    )
    return frozenset(tuple(normal(text) for text in asked) for asked in turns)


def holds_banned(made: Conversation, banned: Banned) -> bool:
    """True if the conversation has a held-out prompt, or the user turns of a held-out conversation in a row."""
    asked = [normal(text) for text in made.user_turns()]
    sizes = {len(turns) for turns in banned}
    return any(tuple(asked[at : at + size]) in banned for size in sizes for at in range(len(asked) - size + 1))


def _turns(made: Exchange) -> list[Turn]:
    return [("user", made.prompt), ("assistant", made.reply)]


def _long(rng: random.Random, tokens: int) -> Conversation:
    """Many exchanges of all kinds in a row, the last one a short one or a follow-up."""
    turns: list[Turn] = []
    size = 0.0
    while size < tokens:
        part = list(followups.generate(rng).messages) if rng.random() < 0.3 else _turns(followups.any_exchange(rng))
        turns += part
        size += sum(len(text) / _CHARS_PER_TOKEN + 2 for _, text in part)
    turns += list(followups.generate(rng).messages) if rng.random() < 0.3 else _turns(followups.any_exchange(rng))
    return Conversation("long", tuple(turns))


def _draw(rng: random.Random, long_share: float, drill_share: float) -> Conversation:
    if drill_share and rng.random() < drill_share:
        return Conversation(copying.CATEGORY, tuple(_turns(copying.drill(rng))))
    draw = rng.random()
    if draw < long_share:
        return _long(rng, rng.randrange(700, 1900))
    if draw < long_share + 0.05:
        return _long(rng, rng.randrange(200, 700))
    if draw < long_share + 0.23:
        return followups.generate(rng)
    made = followups.any_exchange(rng)
    return Conversation(made.category, tuple(_turns(made)))


def conversations(
    seed: int, long_share: float = 0.02, banned: Banned | None = None, drill_share: float = 0.0
) -> Iterator[Conversation]:
    """Endless conversations, the same for the same seed; none has a held-out prompt as a user turn.

    `long_share` of them fill much of the context; `drill_share` are drills in copying.
    """
    rng = random.Random(seed)
    if banned is None:
        banned = heldout_prompts()
    while True:
        made = _draw(rng, long_share, drill_share)
        if holds_banned(made, banned):
            continue
        if rng.random() < 0.08:
            made = Conversation(made.category, (("system", expand(rng, _SYSTEM)), *made.messages))
        yield made
