"""Read the texts and counts in a server's answer."""

from __future__ import annotations

from engine.translatable import Translatable

_MOST_COUNT = 2**53


class NotUnderstood(Exception):
    """Report a piece that is not as OpenAI's interface says. Its text is the reason."""


def text_of(value: object) -> str:
    """Return a text, also one given as a list of parts; '' for None. Raises NotUnderstood."""
    if value is None:
        return ""
    if isinstance(value, list):
        texts = [part.get("text", "") for part in value if isinstance(part, dict) and part.get("type") == "text"]
        value = "".join(text for text in texts if isinstance(text, str))
    if not isinstance(value, str):
        raise NotUnderstood(Translatable("a text in it is something else"))
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not value.isascii() else value


def count_of(value: object) -> int | None:
    """Return a whole number that counts something; None for anything else, and for impossible counts."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST_COUNT:
        return None
    return int(value) if value == int(value) else None
