"""Check the answers of a program in its smoke test: their JSON, and the replies' defects."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

Problems = Iterator[str]


def reply_problems(report: dict[str, Any], ends: Sequence[str] = ("stop", "length", "context")) -> Problems:
    """List the defects of a reply and its statistics."""
    if not str(report.get("text") or "").strip():
        yield "the reply is empty"
    if report.get("finish_reason") not in ends:
        yield f"the reply ended with {report.get('finish_reason')}"
    stats = report.get("stats")
    names = ("accepted", "corrections", "bonus_tokens", "plain_tokens")
    if not isinstance(stats, dict) or not {"emitted", *names} <= stats.keys():
        yield "there are no statistics"
    elif stats["emitted"] != sum(stats[name] for name in names) or stats["emitted"] < 1:
        yield "the tokens do not add up: " + ", ".join(f"{name} {stats[name]}" for name in ("emitted", *names))


def only_json(text: str, *, one_line: bool = True) -> dict[str, Any] | None:
    """Parse a text that is one JSON object and nothing else; None otherwise."""
    if one_line and (text.count("\n") != 1 or not text.endswith("\n")):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def short(text: str, length: int = 300) -> str:
    """The text in quotes, as much of it as goes into a message."""
    return repr(text if len(text) <= length else f"{text[:length]}…")
