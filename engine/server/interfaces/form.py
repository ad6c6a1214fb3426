"""Define the form of a reply for clients: the parts that every interface shares, and its counts."""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from engine.events import Event, Finished, FinishReason, GenerationResult, TokenEvent
from engine.methods import PREDICTION

CUT: frozenset[FinishReason] = frozenset({"length", "context", "time"})
"""The finish reasons of replies that a limit cut."""
_BROKEN: frozenset[FinishReason] = frozenset({"cancelled", "error"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


@dataclass(slots=True)
class ReplyContext:
    """Hold facts of the model while a reply is written: another one may be loaded later.

    `pieces`: the bytes of tokens, where they are `wanted`; `stops`: texts that end the reply, `stopped_by`: which did;
    `begun`: what each reply goes on with; `left_out`: what of the request this model cannot do.
    """

    wanted: bool = False
    stops: tuple[str, ...] = ()
    stopped_by: str | None = None
    pieces: dict[int, bytes] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


class Form(ABC):
    """Format the replies to one request: whole, or as the pieces of a stream.

    Attributes: media_type (of a stream); model (its name); context; id (made up); created (seconds since 1970); results
    (those that have ended).
    """

    media_type = "text/event-stream"

    def __init__(self, model: str, context: ReplyContext) -> None:
        self.model, self.context = model, context
        self.id = secrets.token_hex(12)
        self.created = int(datetime.now(UTC).timestamp())
        self.results: list[GenerationResult] = []
        self.reasoning_tokens = 0

    def continued(self, index: int, content: str) -> str:
        """Return the content of a reply without the text that it continues."""
        return content.removeprefix(self.context.begun[index]) if index < len(self.context.begun) else content

    def note(self, index: int, event: Event) -> None:
        """Take notice of an event of reply `index`. Call it before `pieces`."""
        if isinstance(event, TokenEvent):
            self.reasoning_tokens += event.channel == "reasoning"
        elif isinstance(event, Finished):
            self.results.append(event.result)

    @property
    def broken(self) -> bool:
        """Return True if the last reply that has ended broke off: no interface has a word for that."""
        return bool(self.results) and self.results[-1].finish_reason in _BROKEN

    @abstractmethod
    def whole(self) -> dict[str, Any]:
        """Return the replies, which have ended."""

    @abstractmethod
    def pieces(self, index: int, event: Event) -> Iterator[bytes]:
        """Format an event of reply `index` for a stream."""

    @abstractmethod
    def end(self) -> Iterator[bytes]:
        """Return the end of a stream, all replies of which have ended."""

    @abstractmethod
    def failed(self, message: str) -> Iterator[bytes]:
        """Return the end of a stream that broke off."""

    @staticmethod
    def refusal(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
        """Return the body with the reason of a refusal."""
        return error_body(message, kind, code)


def error_body(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
    """Format a failure as OpenAI's interface has it."""
    return {"error": {"message": sayable(message), "type": kind, "param": None, "code": code}}


def sayable(text: str) -> str:
    """Return a text that can be sent: half a character in it is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def as_json(data: Mapping[str, Any]) -> bytes:
    """Return JSON as bytes to send."""
    return _encode(data).encode("utf-8", "replace")


def as_event(data: Mapping[str, Any] | str, name: str | None = None) -> bytes:
    """Return one event of a stream, where need be with a name."""
    said = data if isinstance(data, str) else _encode(data)
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {said}\n\n".encode("utf-8", "replace")


def usage(results: Sequence[GenerationResult], reasoning_tokens: int, copies: int = 1) -> dict[str, Any]:
    """Count the tokens that were read and written. `copies`: so many replies to one prompt have read it once."""
    firsts = results[::copies]
    read, written = (sum(each.prompt_tokens for each in firsts), sum(len(result.tokens) for result in results))
    predicted = [each for result in results for each in result.stats.by_method if each.name == PREDICTION.name]
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": sum(map(cached_tokens, firsts))},
        "completion_tokens_details": {
            "reasoning_tokens": reasoning_tokens,
            "accepted_prediction_tokens": sum(each.accepted for each in predicted),
            "rejected_prediction_tokens": sum(each.proposed - each.accepted for each in predicted),
        },
    }


def cached_tokens(result: GenerationResult) -> int:
    """Return the number of prompt tokens that were in the cache."""
    return result.prompt_tokens - result.prompt_evaluated


def facts(result: GenerationResult) -> dict[str, Any]:
    """Return the timings and notes that go with a reply."""
    notes = [str(note) for note in result.notes]
    return {"timings": timings(result), **({"notes": notes} if notes else {})}


def timings(result: GenerationResult) -> dict[str, Any]:
    """Return the timings, with llama.cpp's names. Times in milliseconds."""
    stats = result.stats
    written_ms, read = stats.total_ms - stats.prompt_ms, result.prompt_evaluated
    return {
        "cache_n": cached_tokens(result),
        "prompt_n": read,
        "prompt_ms": stats.prompt_ms,
        "prompt_per_token_ms": stats.prompt_ms / read if read else 0.0,
        "prompt_per_second": 1000.0 * read / stats.prompt_ms if stats.prompt_ms else 0.0,
        "predicted_n": stats.emitted,
        "predicted_ms": written_ms,
        "predicted_per_token_ms": written_ms / stats.emitted if stats.emitted else 0.0,
        "predicted_per_second": stats.tokens_per_second,
        "draft_n": stats.proposed,
        "draft_n_accepted": stats.accepted,
    }


def call_ids(result: GenerationResult, prefix: str = "call_") -> list[str]:
    """Return an id for each tool call: its own, or one that is made up."""
    return [call.id or prefix + secrets.token_hex(12) for call in result.tool_calls]
