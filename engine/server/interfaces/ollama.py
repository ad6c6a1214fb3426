"""Read and answer requests of Ollama's interface /api."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from engine._version import __version__
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.events import Event, Finished, GenerationResult, TokenEvent
from engine.generation.questions import Infill
from engine.server.interfaces.bodies import read_flag
from engine.server.interfaces.conversation import read_messages
from engine.server.interfaces.form import CUT, Form, ReplyContext, as_json, sayable
from engine.server.interfaces.requests import COMMON, Defaults, ParsedRequest, make_parsed, read_common, read_format
from engine.server.interfaces.tools import read_tools
from engine.server.interfaces.unsupported import NotDone, tidied

OllamaKind = Literal["chat", "generate"]
VERSION = {"version": f"0.0.0-outrider-{__version__}"}
_KNOWN = COMMON | {
    *("max_tokens", "stop", "messages", "prompt", "suffix", "system", "raw", "format", "options", "think", "tools"),
    *("name", "images"),
}
_NS = 1_000_000


def read_ollama_chat(body: Mapping[str, Any], defaults: Defaults) -> ParsedRequest:
    """Parse a body of /api/chat. Raises InvalidRequest and its kinds."""
    fields, options, left = _read(body)
    messages = fields.get("messages")
    if not messages:  # It asks for the model to be loaded.
        return make_parsed("a", {"raw": True, "max_tokens": 0}, fields, defaults, left, logprobs=False, known=_KNOWN)
    offered = read_tools(fields.get("tools"), left)
    options |= offered.options(None, left, one_call=False)
    read = read_messages([_message(each) for each in messages] if isinstance(messages, list) else messages, left)
    return make_parsed(read, options, fields, defaults, left, logprobs=False, known=_KNOWN)


def read_ollama_text(body: Mapping[str, Any], defaults: Defaults) -> ParsedRequest:
    """Parse a body of /api/generate. Raises InvalidRequest and its kinds."""
    fields, options, left = _read(body)
    prompt, suffix, system = (fields.get(name) or "" for name in ("prompt", "suffix", "system"))
    if not all(isinstance(text, str) for text in (prompt, suffix, system)):
        raise InvalidRequest('"prompt", "suffix" and "system" must be texts.')
    for name, instead in (("template", "/v1/completions"), ("context", "/api/chat")):
        if fields.get(name):
            raise InvalidRequest(f'"{name}" is not read. Leave it out, or use {instead}.')
    if not prompt and not suffix:
        return make_parsed("a", {"raw": True, "max_tokens": 0}, fields, defaults, left, logprobs=False, known=_KNOWN)
    if suffix or read_flag(fields, "raw"):
        parsed = make_parsed(
            prompt or "a", options | {"raw": True}, fields, defaults, left, logprobs=False, known=_KNOWN
        )
        return replace(parsed, unsaid=(Infill(prompt, suffix),) if suffix else ())
    messages = [{"role": "system", "content": system}] if system else []
    read = read_messages(
        [*messages, _message({"role": "user", "content": prompt, "images": fields.get("images")})], left
    )
    return make_parsed(read, options, fields, defaults, left, logprobs=False, known=_KNOWN)


def _read(body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], NotDone]:
    """Return a body with its options beside the rest, the options of the engine, and the ignored parts."""
    left, chosen = NotDone(), body.get("options") or {}
    if not isinstance(chosen, Mapping):
        raise InvalidRequest('"options" must be an object.')
    fields = tidied({**chosen, "stream": True, **body}, left)
    options = read_common(fields, _KNOWN, left)
    think, form = fields.get("think"), fields.get("format")
    if isinstance(think, bool):
        options["thinking"] = "on" if think else "off"
    elif think is not None:
        if think not in ("low", "medium", "high"):
            raise InvalidRequest('"think" must be true, false, low, medium or high.')
        options["thinking"] = think
    if form:
        kind = {"type": "json_object"} if form == "json" else {"type": "json_schema", "schema": form}
        options["constraint"] = read_format(kind, left)
    return fields, options, left


def _message(data: Any) -> Any:
    """Return a message in the form of the chat interface. Raises InvalidRequest."""
    if not isinstance(data, Mapping):
        return data
    made = {
        name: data[name] for name in ("role", "content", "tool_calls", "tool_call_id") if data.get(name) is not None
    }
    made.setdefault("content", "" if not made.get("tool_calls") else None)
    if images := data.get("images"):
        if not isinstance(images, list) or not all(isinstance(each, str) for each in images):
            raise InvalidRequest('"images" must be a list of pictures in base64.')
        pictures = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{each}"}} for each in images]
        made["content"] = [*pictures, {"type": "text", "text": made["content"] or ""}]
    made |= {"name": data["tool_name"]} if data.get("tool_name") else {}
    return made | ({"reasoning_content": data["thinking"]} if data.get("thinking") else {})


class OllamaForm(Form):
    """Form replies of /api/chat or of /api/generate (`kind`). `loads`: the model was to be loaded, and no more."""

    media_type = "application/x-ndjson"

    def __init__(self, kind: OllamaKind, model: str, context: ReplyContext, *, loads: bool = False) -> None:
        super().__init__(model, context)
        self._kind, self._loads = kind, loads

    def whole(self) -> dict[str, Any]:
        result = self.results[0]
        text = self.continued(0, result.content) if self._kind == "chat" else result.content or result.text
        return {**self._piece(text, result.reasoning, result), **self._ending(result)}

    def pieces(self, index: int, event: Event) -> Iterator[bytes]:
        if isinstance(event, TokenEvent):
            for channel, text in event.added:
                yield self._line(self._piece("", text) if channel == "reasoning" else self._piece(text))
        elif isinstance(event, Finished):
            if event.result.tool_calls and self._kind == "chat":
                yield self._line(self._piece("", "", event.result))
            yield self._line({**self._piece(""), **self._ending(event.result)})

    def end(self) -> Iterator[bytes]:
        return iter(())

    def failed(self, message: str) -> Iterator[bytes]:
        yield self._line(self.refusal(message))

    @staticmethod
    def refusal(message: str, kind: str = "", code: str | None = None) -> dict[str, Any]:  # noqa: ARG004 - not told
        return {"error": sayable(message)}

    def _line(self, said: Mapping[str, Any]) -> bytes:
        return as_json(said) + b"\n"

    def _piece(self, text: str, thought: str = "", calling: GenerationResult | None = None) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        head = {"model": self.model, "created_at": now, "done": False}
        thinking = {"thinking": thought} if thought else {}
        if self._kind == "generate":
            return {**head, "response": text, **thinking}
        calls = () if calling is None else calling.tool_calls
        listed = [{"function": {"name": call.name, "arguments": call.arguments}} for call in calls]
        message = {"role": "assistant", "content": text, **thinking, **({"tool_calls": listed} if listed else {})}
        return {**head, "message": message}

    def _ending(self, result: GenerationResult) -> dict[str, Any]:
        stats = result.stats
        reason = "load" if self._loads else "length" if result.finish_reason in CUT else "stop"
        return {
            "done": True,
            "done_reason": reason,
            "total_duration": int(stats.total_ms * _NS),
            "load_duration": 0,
            "prompt_eval_count": result.prompt_tokens,
            "prompt_eval_duration": int(stats.prompt_ms * _NS),
            "eval_count": len(result.tokens),
            "eval_duration": int((stats.total_ms - stats.prompt_ms) * _NS),
        }


def describe_tag(described: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a model for a list, by its known facts."""
    name = described["id"]
    return {
        "name": name,
        "model": name,
        "modified_at": "1970-01-01T00:00:00Z",
        "size": described.get("size", 0),
        "digest": "",
        "details": _details(),
    }


def describe_model(described: Mapping[str, Any], decoder: SpeculativeDecoder | None) -> dict[str, Any]:
    """Describe one model. `decoder` None: it is not loaded."""
    target = None if decoder is None else decoder.target
    template = "" if target is None else target.tokenizer.chat_template or ""
    able = ["completion"] + (["tools"] if "tools" in template else [])
    able += ["insert"] if target is not None and target.gap_tokens is not None else []
    able += ["vision"] if target is not None and target.sees else []
    able += ["thinking"] if decoder is not None and target is not None and decoder.thinking_modes else []
    information = {
        "general.architecture": "llama",
        "llama.context_length": described.get("context_length", 0),
        "general.parameter_count": 0 if target is None else target.parameters,
    }
    return {
        "modelfile": "",
        "parameters": "",
        "template": template,
        "details": _details(),
        "model_info": information,
        "capabilities": able,
    }


def _details() -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": "",
        "families": [],
        "parameter_size": "",
        "quantization_level": "",
    }
