"""Convert between the stored and the shown conversation: figures as JSON, a path of messages as exchanges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from functools import partial
from typing import Any, get_args

from app.state.chat.transcript import Entry, Exchange, Problem
from app.state.conversations.conversation import Conversation, StoredMessage
from engine import FinishReason, GenerationStats, MethodStats

_DROPPED = "dropped_turns"
_MOST = 2**53
_METHOD_COUNTS = frozenset(field.name for field in fields(MethodStats)) - {"name"}
_KINDS = {
    field.name: "methods" if field.name == "by_method" else "numbers" if field.default == () else "number"
    for field in fields(GenerationStats)
}


def stats_to_kept(exchange: Exchange) -> dict[str, Any] | None:
    """Return the figures of a reply, as JSON can say them."""
    if exchange.stats is None:
        return None
    return {**asdict(exchange.stats), _DROPPED: exchange.dropped_turns}


def stats_from_kept(kept: Mapping[str, Any] | None) -> GenerationStats | None:
    """Return the figures that were kept.

    It gives None if they make no sense: they may come from a file that anybody wrote.
    """
    if not kept:
        return None
    values: dict[str, Any] = {}
    for name, value in kept.items():
        kind = _KINDS.get(name)
        if value is None or kind is None:
            continue
        if kind == "methods":
            value = _methods(value)  # noqa: PLW2901 - as it is read
        elif kind == "numbers":
            value = tuple(value) if _numbers(value) else None  # noqa: PLW2901
        elif not _number(value):
            return None
        if value is None:
            return None
        values[name] = value
    return GenerationStats(**values) if _agree(values) else None


def _agree(values: Mapping[str, Any]) -> bool:
    """Return True if figures by position or size come in pairs of the same length."""
    pairs = (("proposed_by_position", "accepted_by_position"), ("forwards_by_size", "target_ms_by_size"))
    return all(len(values.get(one, ())) == len(values.get(other, ())) for one, other in pairs)


def _number(value: object) -> bool:
    return type(value) in {int, float} and 0 <= value < _MOST  # type: ignore[operator]


def _numbers(value: object) -> bool:
    return isinstance(value, list | tuple) and all(_number(each) for each in value)


def _methods(value: object) -> tuple[MethodStats, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    methods = []
    for each in value:
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
            return None
        known = {key: number for key, number in each.items() if key in _METHOD_COUNTS}
        if not all(_number(number) for number in known.values()):
            return None
        methods.append(MethodStats(each["name"], **known))
    return tuple(methods)


def exchanges(conversation: Conversation, shown: Iterable[Entry] = ()) -> list[Exchange]:
    """Return the path through a conversation, question by question.

    `shown`: exchanges that are there already, of this conversation or of another: one of the same messages is taken
    over as it is, for it may know more (a reply that is being written, a problem with its details).
    """
    known = {
        (entry.question_id, entry.reply_id): entry
        for entry in shown
        if isinstance(entry, Exchange) and entry.question_id is not None
    }
    path = conversation.path
    found: list[Exchange] = []
    for place, message in enumerate(path):
        if message.role != "user":
            continue
        below = path[place + 1] if place + 1 < len(path) else None
        reply = below if below is not None and below.role == "assistant" else None
        exchange = known.get((message.id, None if reply is None else reply.id)) or _exchange(message, reply)
        exchange.question_branch = conversation.branch(message.id)
        exchange.question_draft = conversation.drafts.get(message.id, "")
        exchange.reply_draft = "" if reply is None else conversation.drafts.get(reply.id, "")
        exchange.reply_branch = (1, 1) if reply is None else conversation.branch(reply.id)
        found.append(exchange)
    return found


def _exchange(question: StoredMessage, reply: StoredMessage | None) -> Exchange:
    exchange = Exchange(
        question.text, question_id=question.id, created=question.created, question_messages=question.messages
    )
    if question.damaged:
        exchange.damaged |= {"question"}
    if reply is None:
        exchange.cancel()
        return exchange
    if reply.damaged:
        exchange.damaged |= {"reply"}
    exchange.reply_id, exchange.reply_messages = reply.id, reply.messages
    exchange.models = models(reply.target, reply.draft)
    exchange.add(reply.text)
    # One that says it is being written, and is not: a program that wrote it has been killed.
    exchange.status = "interrupted" if reply.status in ("waiting", "writing") else reply.status
    exchange.read_stats_later(partial(stats_from_kept, reply.stats))
    dropped = (reply.stats or {}).get(_DROPPED)
    exchange.dropped_turns = int(dropped) if isinstance(dropped, int) and dropped > 0 else 0
    if reply.finish_reason in get_args(FinishReason):
        exchange.finish_reason = reply.finish_reason  # type: ignore[assignment]
    if reply.problem:
        exchange.problem = Problem(reply.problem)
    return exchange


def models(target: str, draft: str) -> str:
    """Return the names of the models that wrote a reply."""
    return f"{target} + {draft}" if target and draft else target
