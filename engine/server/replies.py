"""Form replies as OpenAI's interface has them: whole, and in the pieces of a stream."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from engine.decoder import SpeculativeDecoder
from engine.events import FinishReason, GenerationResult, TokenEvent

Kind = Literal["chat", "text"]
_REASONS: dict[FinishReason, str] = {"stop": "stop", "length": "length", "context": "length", "cancelled": "stop"}
_OBJECTS = {"chat": "chat.completion", "text": "text_completion"}


@dataclass(slots=True)
class ReplyForm:
    """Form one reply. `kind`: of /v1/chat/completions or of /v1/completions; `model`: its name."""

    kind: Kind
    model: str
    decoder: SpeculativeDecoder
    logprobs: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(datetime.now(UTC).timestamp()))
    _told: list[dict[str, Any]] = field(default_factory=list)
    _begun: bool = False

    def note(self, event: TokenEvent) -> None:
        """Note a token for the log-probabilities of the whole reply."""
        if self.logprobs and (told := self._logprob(event)):
            self._told.append(told)

    def whole(self, result: GenerationResult) -> dict[str, Any]:
        """Return the reply."""
        choice: dict[str, Any] = {"index": 0, "finish_reason": _reason(result), "logprobs": self._logprobs(self._told)}
        if self.kind == "chat":
            choice["message"] = self._message(result)
        else:
            choice["text"] = result.text
        return {**self._head(), "choices": [choice], "usage": usage(result), "timings": timings(result)}

    def piece(self, event: TokenEvent) -> Iterator[dict[str, Any]]:
        """Return the pieces of a stream that a token gives."""
        told = self._logprob(event) if self.logprobs else None
        logprobs = self._logprobs([told] if told else [])
        if self.kind == "text":
            if event.text or told:
                yield self._chunk({"text": event.text}, logprobs=logprobs)
            return
        for channel, text in event.added or ([("content", "")] if told else []):
            name = "reasoning_content" if channel == "reasoning" else "content"
            yield self._chunk({"delta": {**self._role(), name: text}}, logprobs=logprobs)
            logprobs = None

    def last(self, result: GenerationResult, *, with_usage: bool) -> Iterator[dict[str, Any]]:
        """Return the pieces that end a stream."""
        calls = [{"index": index, **call} for index, call in enumerate(_calls(result))]
        if self.kind == "chat" and calls:
            yield self._chunk({"delta": {**self._role(), "tool_calls": calls}})
        end: dict[str, Any] = {"text": ""} if self.kind == "text" else {"delta": self._role()}
        yield {**self._chunk(end, finish=_reason(result)), "timings": timings(result)}
        if with_usage:
            yield {**self._head(streamed=True), "choices": [], "usage": usage(result)}

    def _role(self) -> dict[str, str]:
        begun, self._begun = self._begun, True
        return {} if begun else {"role": "assistant"}

    def _head(self, *, streamed: bool = False) -> dict[str, Any]:
        kind = _OBJECTS[self.kind] + (".chunk" if streamed and self.kind == "chat" else "")
        name = "chatcmpl" if self.kind == "chat" else "cmpl"
        return {"id": f"{name}-{self.id}", "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, content: dict[str, Any], *, logprobs: Any = None, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, **content, "logprobs": logprobs, "finish_reason": finish}
        return {**self._head(streamed=True), "choices": [choice]}

    def _message(self, result: GenerationResult) -> dict[str, Any]:
        calls = _calls(result)
        content = result.content if result.content or not calls else None
        message: dict[str, Any] = {"role": "assistant", "content": content}
        message |= {"reasoning_content": result.reasoning} if result.reasoning else {}
        return message | ({"tool_calls": calls} if calls else {})

    def _logprob(self, event: TokenEvent) -> dict[str, Any] | None:
        """Return what is told of a token; None for one that is no text."""
        if not self._bytes(event.token):
            return None
        return self._named(event.token, event.logprob) | {
            "top_logprobs": [self._named(token, logprob) for token, logprob in event.top]
        }

    def _named(self, token: int, logprob: float) -> dict[str, Any]:
        data = self._bytes(token)
        return {"token": data.decode("utf-8", "replace"), "logprob": max(logprob, -9999.0), "bytes": list(data)}

    def _bytes(self, token: int) -> bytes:
        target = self.decoder.target
        return b"" if target is None else target.tokenizer.piece(token)

    def _logprobs(self, told: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        if not self.logprobs:
            return None
        if self.kind == "chat":
            return {"content": list(told)}
        return {
            "tokens": [each["token"] for each in told],
            "token_logprobs": [each["logprob"] for each in told],
            "top_logprobs": [{top["token"]: top["logprob"] for top in each["top_logprobs"]} for each in told],
        }


def error_body(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
    """Return what says that a request failed."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def as_event(data: dict[str, Any] | str) -> bytes:
    """Return one event of a stream."""
    said = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"data: {said}\n\n".encode("utf-8", "replace")


def usage(result: GenerationResult) -> dict[str, Any]:
    """Return how many tokens were read and written."""
    read, written = result.prompt_tokens, len(result.tokens)
    cached = {"cached_tokens": read - result.prompt_evaluated}
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": cached,
    }


def timings(result: GenerationResult) -> dict[str, Any]:
    """Return what it took, with llama.cpp's names. Times in milliseconds."""
    stats = result.stats
    written_ms, read = stats.total_ms - stats.prompt_ms, result.prompt_evaluated
    return {
        "cache_n": result.prompt_tokens - read,
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


def _calls(result: GenerationResult) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id or f"call_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for index, call in enumerate(result.tool_calls)
    ]


def _reason(result: GenerationResult) -> str:
    if result.tool_calls and result.finish_reason == "stop":
        return "tool_calls"
    return _REASONS.get(result.finish_reason, "stop")
