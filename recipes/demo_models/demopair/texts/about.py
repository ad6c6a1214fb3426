"""Questions on Outrider and on every word of its screen."""

from __future__ import annotations

import random

from .grammar import Exchange, cap, expand, material, pick, roughen

_TEXTS = material("about")

CATEGORY = "outrider"

# word on the screen → ways to explain it
_MEANINGS: dict[str, list[str]] = _TEXTS["meanings"]

_ASK: list[str] = _TEXTS["ask"]
_TAIL: list[str] = _TEXTS["tail"]

# Questions on the whole, each with answers.
_GENERAL: list[tuple[str, list[str]]] = _TEXTS["general"]


def _numbers(rng: random.Random) -> tuple[str, str]:
    """A small sum on the counters, with numbers that come out even."""
    if rng.random() < 0.6:
        proposed, percent = rng.choice(
            [
                (4, 25),
                (4, 50),
                (4, 75),
                (8, 25),
                (8, 50),
                (8, 75),
                (10, 10),
                (10, 20),
                (10, 30),
                (10, 40),
                (10, 50),
                (10, 60),
                (10, 70),
                (10, 80),
                (10, 90),
                (20, 50),
                (20, 75),
                (20, 80),
                (100, 60),
                (100, 75),
                (100, 85),
                (100, 40),
                (200, 50),
                (40, 50),
            ]
        )
        accepted = proposed * percent // 100
        ask = expand(
            rng,
            "[If|When|Say] {p} tokens were proposed and {a} [were |]accepted, what is the acceptance rate?"
            if rng.random() < 0.7
            else "[Proposed|proposed] {p}, accepted {a}. [What is the acceptance rate|Acceptance rate]?",
            p=str(proposed),
            a=str(accepted),
        )
        return ask, f"The acceptance rate is {accepted} / {proposed} = {percent} %."
    rounds, mean = rng.choice([(10, 2), (10, 3), (10, 4), (5, 2), (5, 3), (5, 4), (20, 2), (20, 3), (100, 2), (100, 3)])
    emitted = rounds * mean
    ask = expand(
        rng,
        "[If|When|Say] {e} tokens were emitted in {r} rounds, what is the mean length?",
        e=str(emitted),
        r=str(rounds),
    )
    return ask, f"The mean length is {emitted} / {rounds} = {mean} tokens per round."


def generate(rng: random.Random) -> Exchange:
    """One exchange about Outrider."""
    draw = rng.random()
    if draw < 0.08:
        ask, reply = _numbers(rng)
        return Exchange(CATEGORY, roughen(rng, ask), reply)
    if draw < 0.5:
        asks, replies = pick(rng, _GENERAL)
        return Exchange(CATEGORY, roughen(rng, expand(rng, asks)), expand(rng, pick(rng, replies)), topic="Outrider")
    word = pick(rng, list(_MEANINGS))
    shown = word + ("s" if word in ("round", "correction", "token", "draft") and rng.random() < 0.1 else "")
    if word == "draft" and rng.random() < 0.4:
        shown = "draft model"
    if word == "bonus" and rng.random() < 0.3:
        shown = "bonus token"
    quoted = pick(rng, [shown, shown, f'"{shown}"', cap(shown)])
    prompt = roughen(rng, expand(rng, pick(rng, _ASK), word=quoted))
    meaning = expand(rng, pick(rng, _MEANINGS[word]))
    subject = (
        word if word in ("tokens/s", "plain decoding", "lookahead") or meaning.startswith("counts") else f"the {word}"
    )
    if word in ("proposed", "accepted", "rejected"):
        subject = f'"{word}"'
    if word in ("round", "token"):
        subject = f"a {word}"
    start = pick(rng, ["{S} ", "{S} ", "{S} ", "In Outrider, {s} ", "[On the screen|Here], {s} "])
    lead = expand(rng, start.replace("{S}", cap(subject)).replace("{s}", subject)).rstrip() + " "
    return _finish(rng, prompt, lead + meaning, word)


def _finish(rng: random.Random, prompt: str, reply: str, word: str) -> Exchange:
    tail = expand(rng, pick(rng, _TAIL))
    full = f"{reply} {tail}" if tail else reply
    short = cap(f"{reply.split('. ', 1)[0].rstrip('.')}.") if ". " in reply else None
    return Exchange(CATEGORY, prompt, full, short, word)
