"""Read the bodies of requests: what OpenAI's interface says, as a request of the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from engine.config import MAX_TOP, GenerationRequest, SamplingConfig, SpeculationConfig, freeze_messages
from engine.constraint import Constraint
from engine.errors import InvalidRequest
from engine.generation.planner import make_request
from engine.messages.parts import ImagePart

_SAMPLING = tuple(each.name for each in fields(SamplingConfig))
_EFFORTS = {"none": "off", "minimal": "low", "low": "low", "medium": "medium", "high": "high"}
_COMMON = {
    *("model", "stream", "stream_options", "stop", "max_tokens", "logit_bias", "seed", "temperature", "n", "user"),
    *("logprobs", "lookahead", *_SAMPLING),
}
_CHAT = _COMMON | {
    *("messages", "max_completion_tokens", "top_logprobs", "response_format", "tools", "tool_choice"),
    *("reasoning_effort", "chat_template_kwargs"),
}
_COMPLETION = _COMMON | {"prompt", "echo", "suffix", "best_of"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what one request asks for.

    `request`: for the engine; `stream`: as events; `usage`: whether a stream tells its usage at the end; `logprobs`;
    `ignored`: names in the body that mean nothing here.
    """

    request: GenerationRequest
    stream: bool
    usage: bool
    logprobs: bool
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Defaults:
    """Hold what requests begin with: the `name` of the model, and how a reply is drawn where they do not say."""

    name: str
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    speculation: SpeculationConfig = field(default_factory=SpeculationConfig)


class NoSuchModel(InvalidRequest):
    """Report that another model was asked for than the one that is there."""

    def __init__(self, name: object, there: str) -> None:
        super().__init__(f"The model {name!r} is not loaded. This server has {there!r}.")


def read_chat(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /v1/chat/completions asks for. Raises InvalidRequest and its kinds."""
    options = _common(body, defaults.name)
    told = body.get("messages")
    if not isinstance(told, Sequence) or isinstance(told, str) or not told:
        raise InvalidRequest('"messages" must be a list of messages, at least one.')
    messages = tuple(freeze_messages(told))
    if any(isinstance(part, ImagePart) for message in messages for part in message.parts):
        raise InvalidRequest("This model cannot see pictures. Leave them out.")
    most = body.get("max_completion_tokens")
    options |= {} if most is None else {"max_tokens": most}
    logprobs = _flag(body, "logprobs")
    if logprobs:
        options["top"] = _top(body.get("top_logprobs"))
    options |= _thinking(body)
    options |= _tools(body)
    constraint = _constraint(body.get("response_format"))
    options |= {} if constraint is None else {"constraint": constraint}
    return _asked(messages, options, body, defaults, logprobs=logprobs, known=_CHAT)


def read_completion(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /v1/completions asks for. Raises InvalidRequest and its kinds."""
    options = _common(body, defaults.name) | {"raw": True}
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if not isinstance(prompt, str) and not (isinstance(prompt, list) and all(type(token) is int for token in prompt)):
        raise InvalidRequest('"prompt" must be one text, or one list of token ids.')
    for unable in ("echo", "suffix"):
        if body.get(unable):
            raise InvalidRequest(f'"{unable}" is not supported. Leave it out.')
    top = body.get("logprobs")
    logprobs = top is not None and top is not False
    if logprobs:
        options["top"] = _top(None if top is True else top)
    return _asked(prompt, options, body, defaults, logprobs=logprobs, known=_COMPLETION)


def _asked(
    prompt: Any,
    options: dict[str, Any],
    body: Mapping[str, Any],
    defaults: Defaults,
    *,
    logprobs: bool,
    known: set[str],
) -> Asked:
    told = body.get("stream_options")
    usage = isinstance(told, Mapping) and told.get("include_usage") is True
    request = make_request(prompt, options, defaults.sampling, defaults.speculation)
    ignored = tuple(sorted(name[:40] for name in body if name not in known))
    return Asked(request, _flag(body, "stream"), usage, logprobs, ignored)


def _common(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    asked = body.get("model")
    if asked not in (None, "", name):
        raise NoSuchModel(asked, name)
    if body.get("n") not in (None, 1):
        raise InvalidRequest('"n" must be 1: ask once for each reply.')
    options = {rule: body[rule] for rule in _SAMPLING if body.get(rule) is not None}
    if "logit_bias" in options:
        options["logit_bias"] = _bias(options["logit_bias"])
    for plain in ("max_tokens", "stop", "lookahead"):
        if body.get(plain) is not None:
            options[plain] = body[plain]
    return options


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value not in (None, True, False):
        raise InvalidRequest(f'"{name}" must be true or false.')
    return value is True


def _top(value: object) -> int:
    top = 0 if value is None else value
    if not isinstance(top, int) or not 0 <= top <= MAX_TOP:
        raise InvalidRequest(f"At most {MAX_TOP} alternatives a token can be told.")
    return top


def _bias(value: object) -> dict[int, float]:
    try:
        return {int(token): amount for token, amount in dict(value).items()}  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise InvalidRequest('"logit_bias" must be an object of token ids with numbers.') from None


def _thinking(body: Mapping[str, Any]) -> dict[str, Any]:
    effort, told = body.get("reasoning_effort"), body.get("chat_template_kwargs")
    if effort is not None:
        if effort not in _EFFORTS:
            raise InvalidRequest(f'"reasoning_effort" must be one of {", ".join(_EFFORTS)}.')
        return {"thinking": _EFFORTS[effort]}
    if isinstance(told, Mapping) and isinstance(told.get("enable_thinking"), bool):
        return {"thinking": "on" if told["enable_thinking"] else "off"}
    return {}


def _tools(body: Mapping[str, Any]) -> dict[str, Any]:
    choice = body.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise InvalidRequest('"tool_choice" must be "auto" or "none": a call cannot be enforced.')
    tools = body.get("tools")
    return {} if not tools or choice == "none" else {"tools": tools}


def _constraint(value: object) -> Constraint | None:
    if value is None:
        return None
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind == "text":
        return None
    if kind == "json_object":
        return Constraint.json()
    if kind == "json_schema" and isinstance(value, Mapping):
        told = value.get("json_schema")
        schema = told.get("schema") if isinstance(told, Mapping) else None
        if isinstance(schema, Mapping | bool):
            return Constraint.json_schema(schema)
        raise InvalidRequest('"response_format" of the type json_schema needs "json_schema" with a "schema".')
    raise InvalidRequest('"response_format" must be of the type text, json_object or json_schema.')


def read_json(data: bytes) -> Mapping[str, Any]:
    """Return the object of a body. Raises InvalidRequest."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON.") from None
    if not isinstance(body, dict):
        raise InvalidRequest("The body must be a JSON object.")
    return body
