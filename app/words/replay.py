"""Describe the visible state of a replay."""

from __future__ import annotations

from app.state.replay.timeline import Pace, Replay
from app.system.translation import number, tr
from app.words.figures import SEPARATOR, times

_SIGNS = {"\n": "↵", "\t": "⇥"}


def round_words(replay: Replay, index: int) -> str:
    """Describe a round: draft guessed 4 · 3 kept · target wrote “near” · 38 ms for 4 tokens."""
    shown = replay.rounds[index]
    parts: list[str] = []
    if shown.guessed:
        parts.append(tr("Replay", "draft guessed {count}").format(count=number(shown.guessed)))
    if shown.guessed or shown.kept:
        parts.append(tr("Replay", "{count} kept").format(count=number(shown.kept)))
    if shown.ending is not None:
        word = "".join(_SIGNS.get(sign, sign) for sign in replay.texts[shown.end - 1].strip(" "))
        wrote = tr("Replay", "target wrote “{word}”").format(word=word)
        parts.append(wrote if word else tr("Replay", "target ended the reply"))
    if shown.milliseconds is not None:
        parts.append(_time_words(shown.milliseconds, shown.end - shown.start, replay.plain_ms))
    return SEPARATOR.join(parts)


def _time_words(milliseconds: float, tokens: int, plain_ms: float | None) -> str:
    took = tr("Replay", "{time} ms for %Ln tokens", None, tokens).format(time=_ms(milliseconds))
    if plain_ms is None:
        return took
    plain = tr("Replay", "plain: {time} ms").format(time=_ms(plain_ms * tokens))
    return f"{took}, {plain}"


def _ms(milliseconds: float) -> str:
    return number(milliseconds, 1 if milliseconds < 10 else 0)


def place_words(index: int, count: int) -> str:
    """Describe the position of a replay: round 7 of 41."""
    return tr("Replay", "round {number} of {count}").format(number=number(index), count=number(count))


def pace_words(pace: Pace) -> str:
    """Name a pace: 0.25×, 1×, real time."""
    if pace == "real":
        return tr("Replay", "real time")
    return f"{number(pace, 2)}×" if pace < 1 else times(pace).replace(number(pace, 1), number(pace))
