"""Take the other road: a new version of a reply that keeps everything before a token, and goes on with another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.state.chat.displayed_reply import shown_until
from app.state.chat.trace import TokenTrace
from app.state.chat.transcript import Exchange

Pieces = tuple[str | int, ...]
"""Tokens by their ids, and texts, as the engine takes them."""


Writer = Literal["same", "other", "server"]
"""The model that continues: the reply's writer, to which its tokens mean the same; another, which reads its text; or
a server, which cannot continue a given text."""


@dataclass(frozen=True, slots=True)
class Road:
    """Hold the kept beginning of a new version of a reply.

    `text`: what is kept of the reply, and `shown` of what is shown of it; `trace`: the record of the kept tokens, None
    where another model goes on. `prefix`: the same for the engine; `forced`: what comes next, which nobody draws.
    """

    text: str
    shown: str
    trace: TokenTrace | None
    prefix: Pieces
    forced: Pieces


def take_road(exchange: Exchange, index: int, given: str | int, writer: Writer) -> Road | None:
    """Return the road that leaves a reply before the token at `index`. None if its record does not tell.

    `given`: what comes in the place of that token, one of its alternatives or one's own words.
    """
    trace, reply = exchange.trace, exchange.reply
    if trace is None or not 0 <= index < len(trace) or not reply.endswith(trace.text):
        return None
    head = reply[: len(reply) - len(trace.text)]
    kept = trace.begun(index)
    text = head + kept.text
    shown = shown_until(reply, exchange.shown, len(text))
    name = next((other.text for other in trace[index].alternatives if other.token == given), None)
    words = given if isinstance(given, str) else name or ""
    forced: Pieces = (_spaced(words, trace.text_of(index)),) if isinstance(given, str) else (given,)
    if writer == "same":
        prefix: Pieces = (*((head,) if head else ()), *kept.tokens)
        return Road(text, shown, kept, prefix, forced)
    words = str(forced[0]) if isinstance(given, str) else words
    if writer == "server":
        return Road(text + words, shown + words, None, (text + words,), ())
    return Road(text, shown, None, (text,) if text else (), (words,) if words else ())


def steer(exchange: Exchange, words: str) -> Road:
    """Continue a stopped reply behind its end with words of the reader's.

    A call that it had begun is left out, and so is what ends a reply: they are not seen.
    """
    trace, reply = exchange.trace, exchange.reply
    if trace is None or not reply.endswith(trace.text):
        words = _apart(words, reply)
        return Road(reply + words, exchange.shown + words, None, (reply + words,), ())
    head, kept = reply[: len(reply) - len(trace.text)], trace.begun(exchange.shown_tokens)
    prefix = (*((head,) if head else ()), *kept.tokens)
    return Road(head + kept.text, exchange.shown, kept, prefix, (_apart(words, head + kept.text),))


def _apart(words: str, reply: str) -> str:
    """Return words with a space before them, where a reply does not end with one."""
    return words if not reply or reply[-1:].isspace() or words[:1].isspace() else f" {words}"


def _spaced(words: str, replaced: str) -> str:
    """Return the reader's words with the leading space of the token that they replace."""
    return words if words[:1].isspace() or replaced[:1] != " " else f" {words}"
