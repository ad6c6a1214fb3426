"""Form replies as OpenAI's chat and completions interfaces have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from engine.events import Event, Finished, GenerationResult, TokenEvent
from engine.server.interfaces.form import CUT, Form, ReplyContext, as_event, call_ids, error_body, facts, usage

Kind = Literal["chat", "text"]
_OBJECTS = {"chat": "chat.completion", "text": "text_completion"}


class ReplyForm(Form):
    """Form replies of /v1/chat/completions or of /v1/completions (`kind`).

    `with_usage`: a stream ends with its usage; `copies`: replies to each prompt; `echo`: with the continued text.
    """

    def __init__(
        self,
        kind: Kind,
        model: str,
        context: ReplyContext,
        *,
        with_usage: bool = False,
        copies: int = 1,
        echo: bool = False,
    ) -> None:
        super().__init__(model, context)
        self._kind, self._reports_usage, self._copies, self._echo = kind, with_usage, copies, echo
        self._probabilities: dict[int, list[dict[str, Any]]] = {}
        self._begun: set[int] = set()
        self._echoed: set[int] = set()

    def note(self, index: int, event: Event) -> None:
        super().note(index, event)
        if self.context.wanted and isinstance(event, TokenEvent) and (probabilities := self.logprob(event)):
            self._probabilities.setdefault(index, []).append(probabilities)

    def whole(self) -> dict[str, Any]:
        choices = [self._choice(index, result) for index, result in enumerate(self.results)]
        counted = usage(self.results, self.reasoning_tokens, self._copies)
        return {**self._head(), "choices": choices, "usage": counted, **facts(self.results[-1])}

    def _choice(self, index: int, result: GenerationResult) -> dict[str, Any]:
        logprobs = self._logprobs(self._probabilities.get(index, ()))
        choice: dict[str, Any] = {"index": index, "finish_reason": _reason(result), "logprobs": logprobs}
        begun = self.context.begun[index] if self._echo and index < len(self.context.begun) else ""
        if self._kind == "text":
            return choice | {"text": begun + result.text}
        return choice | {"message": _message(result, begun + self.continued(index, result.content))}

    def pieces(self, index: int, event: Event) -> Iterator[bytes]:
        if isinstance(event, TokenEvent):
            yield from map(as_event, self._added(index, event))
        elif isinstance(event, Finished):
            yield from map(as_event, self._last(index, event.result))

    def _added(self, index: int, event: TokenEvent) -> Iterator[dict[str, Any]]:
        yield from self._beginning(index)
        probabilities = (
            self._probabilities[index][-1:] if self.context.wanted and self.context.pieces.get(event.token) else []
        )
        logprobs = self._logprobs(probabilities)
        if self._kind == "text":
            if event.text or probabilities:
                yield self._chunk(index, {"text": event.text}, logprobs=logprobs)
            return
        for channel, text in event.added or ([("content", "")] if probabilities else []):
            name = "reasoning_content" if channel == "reasoning" else "content"
            yield self._chunk(index, {"delta": {**self._role(index), name: text}}, logprobs=logprobs)
            logprobs = None

    def _beginning(self, index: int) -> Iterator[dict[str, Any]]:
        """Yield the text that a reply continues, once, where that is wanted."""
        if self._echo and index not in self._echoed and index < len(self.context.begun):
            self._echoed.add(index)
            begun = self.context.begun[index]
            data = {"text": begun} if self._kind == "text" else {"delta": {**self._role(index), "content": begun}}
            yield self._chunk(index, data)

    def _last(self, index: int, result: GenerationResult) -> Iterator[dict[str, Any]]:
        yield from self._beginning(index)
        calls = [{"index": place, **call} for place, call in enumerate(_calls(result))]
        if self._kind == "chat" and calls:
            yield self._chunk(index, {"delta": {**self._role(index), "tool_calls": calls}})
        end: dict[str, Any] = {"text": ""} if self._kind == "text" else {"delta": self._role(index)}
        yield {**self._chunk(index, end, finish=_reason(result)), **facts(result)}

    def end(self) -> Iterator[bytes]:
        if self._reports_usage:
            counted = usage(self.results, self.reasoning_tokens, self._copies)
            yield as_event({**self._head(streamed=True), "choices": [], "usage": counted})
        yield as_event("[DONE]")

    def failed(self, message: str) -> Iterator[bytes]:
        yield as_event(error_body(message, "server_error"))
        yield as_event("[DONE]")

    def _role(self, index: int) -> dict[str, str]:
        if index in self._begun:
            return {}
        self._begun.add(index)
        return {"role": "assistant"}

    def _head(self, *, streamed: bool = False) -> dict[str, Any]:
        kind = _OBJECTS[self._kind] + (".chunk" if streamed and self._kind == "chat" else "")
        name = "chatcmpl" if self._kind == "chat" else "cmpl"
        return {"id": f"{name}-{self.id}", "object": kind, "created": self.created, "model": self.model}

    def _chunk(
        self, index: int, content: dict[str, Any], *, logprobs: Any = None, finish: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": index, **content, "logprobs": logprobs, "finish_reason": finish}
        return {**self._head(streamed=True), "choices": [choice]}

    def logprob(self, event: TokenEvent) -> dict[str, Any] | None:
        """Format a token; None for one without text."""
        if not self.context.pieces.get(event.token):
            return None
        return self._named(event.token, event.logprob) | {
            "top_logprobs": [self._named(token, logprob) for token, logprob in event.top]
        }

    def _named(self, token: int, logprob: float) -> dict[str, Any]:
        data = self.context.pieces.get(token, b"")
        return {"token": data.decode("utf-8", "replace"), "logprob": max(logprob, -9999.0), "bytes": list(data)}

    def _logprobs(self, entries: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        if not self.context.wanted:
            return None
        if self._kind == "chat":
            return {"content": list(entries)}
        return {
            "tokens": [each["token"] for each in entries],
            "token_logprobs": [each["logprob"] for each in entries],
            "top_logprobs": [{top["token"]: top["logprob"] for top in each["top_logprobs"]} for each in entries],
        }


class InfillForm(Form):
    """Form replies of /infill, with llama.cpp's names."""

    def whole(self) -> dict[str, Any]:
        return self._whole(self.results[-1], self.results[-1].text)

    def pieces(self, index: int, event: Event) -> Iterator[bytes]:
        if isinstance(event, TokenEvent) and event.text:
            yield as_event({"content": event.text, "tokens": [event.token], "stop": False})
        elif isinstance(event, Finished):
            yield as_event(self._whole(event.result, ""))

    def _whole(self, result: GenerationResult, text: str) -> dict[str, Any]:
        kind = "limit" if result.finish_reason in CUT else "word" if self.context.stopped_by else "eos"
        return {
            "content": text,
            "stop": True,
            "stop_type": kind,
            "stopping_word": self.context.stopped_by or "",
            "model": self.model,
            "tokens_predicted": len(result.tokens),
            "tokens_evaluated": result.prompt_tokens,
            "tokens_cached": result.prompt_tokens + len(result.tokens),
            **facts(result),
        }

    def end(self) -> Iterator[bytes]:
        return iter(())

    def failed(self, message: str) -> Iterator[bytes]:
        yield as_event(error_body(message, "server_error"))


def _message(result: GenerationResult, content: str) -> dict[str, Any]:
    calls = _calls(result)
    message: dict[str, Any] = {"role": "assistant", "content": content if content or not calls else None}
    message |= {"reasoning_content": result.reasoning} if result.reasoning else {}
    return message | ({"tool_calls": calls} if calls else {})


def _calls(result: GenerationResult) -> list[dict[str, Any]]:
    return [
        {"id": name, "type": "function", "function": {"name": call.name, "arguments": call.arguments_json}}
        for name, call in zip(call_ids(result), result.tool_calls, strict=True)
    ]


def _reason(result: GenerationResult) -> str:
    if result.tool_calls and result.finish_reason == "stop":
        return "tool_calls"
    return "length" if result.finish_reason in CUT else "stop"
