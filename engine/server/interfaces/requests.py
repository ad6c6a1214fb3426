"""Read the bodies of requests: what OpenAI's interface says, as a request of the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from typing import Any

from engine.config import MAX_TOP, GenerationRequest, SamplingConfig, SpeculationConfig, freeze_messages
from engine.constraint import Constraint
from engine.errors import InvalidRequest
from engine.generation.questions import Infill
from engine.generation.request import make_request
from engine.messages.message import Message
from engine.messages.parts import ImagePart

_SAMPLING = tuple(each.name for each in fields(SamplingConfig))
_EFFORTS = {"none": "off", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}
_MOST_COPIES = 16
_DEEPEST = 100
_MOST_BIAS = 1e9
COMMON = {"model", "stream", "lookahead", "user", "metadata", *_SAMPLING}
_BOTH = COMMON | {"stream_options", "stop", "max_tokens", "n", "logprobs", "repetition_penalty"}
_CHAT = _BOTH | {
    *("messages", "max_completion_tokens", "top_logprobs", "response_format", "tools", "tool_choice"),
    *("reasoning_effort", "chat_template_kwargs", "parallel_tool_calls", "store"),
}
_COMPLETION = _BOTH | {"prompt", "echo", "suffix", "best_of"}
_INFILL = COMMON | {
    *("input_prefix", "input_suffix", "input_extra", "prompt", "n_predict", "max_tokens", "stop"),
    "repeat_penalty",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what one request asks for.

    `request`: for the engine; `stream`: as events; `copies`: how many replies; `usage`: whether a stream tells its
    usage at the end; `logprobs`; `ignored`: names in the body that mean nothing here; `body`: the body itself;
    `infill`: prefix, suffix and other files, where the prompt is yet to be made of the model's tokens.
    """

    request: GenerationRequest
    stream: bool
    copies: int
    usage: bool
    logprobs: bool
    ignored: tuple[str, ...]
    body: Mapping[str, Any]
    infill: Infill | None = None

    def requests(self) -> Iterator[GenerationRequest]:
        """Return a request for each reply; where a seed is given each has another one."""
        for index in range(self.copies):
            sampling = self.request.sampling
            seed = None if sampling.seed is None else (sampling.seed + index) % 2**64
            yield replace(self.request, sampling=replace(sampling, seed=seed))


@dataclass(frozen=True, slots=True)
class Defaults:
    """Hold how a reply is drawn and written where a request does not say."""

    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    speculation: SpeculationConfig = field(default_factory=SpeculationConfig)


def read_chat(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /v1/chat/completions asks for. Raises InvalidRequest and its kinds."""
    options = read_common(body, _CHAT)
    messages = read_messages(body.get("messages"))
    most = body.get("max_completion_tokens")
    options |= {} if most is None else {"max_tokens": most}
    logprobs = read_flag(body, "logprobs")
    if logprobs:
        options["top"] = read_top(body.get("top_logprobs"))
    options |= _thinking(body)
    options |= read_tools(body)
    constraint = read_format(body.get("response_format"))
    options |= {} if constraint is None else {"constraint": constraint}
    return make_asked(messages, options, body, defaults, logprobs=logprobs, known=_CHAT)


def read_completion(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /v1/completions asks for. Raises InvalidRequest and its kinds."""
    options = read_common(body, _COMPLETION) | {"raw": True}
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if not isinstance(prompt, str) and not (isinstance(prompt, list) and all(type(token) is int for token in prompt)):
        raise InvalidRequest('"prompt" must be one text, or one list of token ids.')
    for unable in ("echo", "suffix"):
        if body.get(unable):
            raise InvalidRequest(f'"{unable}" is not supported. Leave it out.')
    if body.get("best_of") not in (None, 1, body.get("n")):
        raise InvalidRequest('"best_of" must be the same as "n": replies are not ranked.')
    top = body.get("logprobs")
    logprobs = top is not None and top is not False
    if logprobs:
        options["top"] = read_top(None if top is True else top)
    return make_asked(prompt, options, body, defaults, logprobs=logprobs, known=_COMPLETION)


def read_infill(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /infill asks for. Raises InvalidRequest and its kinds."""
    options = read_common(body, _INFILL)
    most = body.get("n_predict")
    if most is not None and most != -1:
        options["max_tokens"] = most
    asked = make_asked([0], options, body, defaults, logprobs=False, known=_INFILL)
    return replace(asked, infill=read_infill_parts(body))


def read_infill_parts(body: Mapping[str, Any]) -> Infill:
    """Return the texts around the gap. Raises InvalidRequest."""
    prefix, suffix, begun = (body.get(name) or "" for name in ("input_prefix", "input_suffix", "prompt"))
    files = body.get("input_extra") or []
    if not all(isinstance(text, str) for text in (prefix, suffix, begun)):
        raise InvalidRequest('"input_prefix", "input_suffix" and "prompt" must be texts.')
    if not (prefix or suffix or begun):
        raise InvalidRequest('/infill needs "input_prefix" or "input_suffix".')
    if not isinstance(files, list) or not all(isinstance(each, Mapping) for each in files):
        raise InvalidRequest('"input_extra" must be a list of objects with "filename" and "text".')
    others = tuple((str(each.get("filename") or "tmp"), str(each.get("text") or "")) for each in files)
    return Infill(prefix, suffix, begun, others)


def read_messages(told: object) -> tuple[Message, ...]:
    """Return the messages of a conversation. Raises InvalidRequest."""
    if not isinstance(told, Sequence) or isinstance(told, str) or not told:
        raise InvalidRequest('"messages" must be a list of messages, at least one.')
    messages = tuple(freeze_messages(told))
    if any(isinstance(part, ImagePart) for message in messages for part in message.parts):
        raise InvalidRequest("This model cannot see pictures. Leave them out.")
    return messages


def make_asked(
    prompt: Any,
    options: dict[str, Any],
    body: Mapping[str, Any],
    defaults: Defaults,
    *,
    logprobs: bool,
    known: AbstractSet[str],
) -> Asked:
    """Return what a body asks for, of a prompt and the options of its request. Raises InvalidRequest and its kinds."""
    told = body.get("stream_options") if "stream_options" in known else None
    usage = isinstance(told, Mapping) and read_flag(told, "include_usage")
    request = make_request(prompt, options, defaults.sampling, defaults.speculation)
    ignored = tuple(sorted(name[:40] for name in body if name not in known))
    copies = body.get("n") if "n" in known else None
    copies = 1 if copies is None else copies
    if type(copies) is not int or not 1 <= copies <= _MOST_COPIES:
        raise InvalidRequest(f'"n" must be a whole number from 1 to {_MOST_COPIES}.')
    return Asked(request, read_flag(body, "stream"), copies, usage, logprobs, ignored, body)


def read_common(body: Mapping[str, Any], known: AbstractSet[str]) -> dict[str, Any]:
    """Return the options that interfaces share, as far as this one has them (`known`). Raises InvalidRequest."""
    if not isinstance(body.get("model", ""), str | type(None)):
        raise InvalidRequest('"model" must be the name of a model.')
    options = {rule: body[rule] for rule in _SAMPLING if body.get(rule) is not None}
    if "repetition_penalty" in known and body.get("repetition_penalty") is not None:
        options.setdefault("repeat_penalty", body["repetition_penalty"])
    if "logit_bias" in options:
        options["logit_bias"] = _bias(options["logit_bias"])
    for plain in ("max_tokens", "stop", "lookahead"):
        if plain in known and body.get(plain) is not None:
            options[plain] = body[plain]
    return options


def read_flag(body: Mapping[str, Any], name: str) -> bool:
    """Return a member that is true or false; false where it is not there. Raises InvalidRequest."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):  # 1 == True, but it is no flag.
        raise InvalidRequest(f'"{name}" must be true or false.')
    return value is True


def read_top(value: object) -> int:
    """Return how many alternatives a token are asked for. Raises InvalidRequest."""
    top = 0 if value is None else value
    if type(top) is not int or not 0 <= top <= MAX_TOP:
        raise InvalidRequest(f"At most {MAX_TOP} alternatives a token can be told.")
    return top


def _bias(value: object) -> dict[int, float]:
    try:
        amounts = {int(token): amount for token, amount in dict(value).items()}  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise InvalidRequest('"logit_bias" must be an object of token ids with numbers.') from None
    return {token: _bounded(amount) for token, amount in amounts.items()}


def _bounded(amount: Any) -> Any:
    """Return an amount that a logit can still be added to: what is meant by more is always, or never."""
    is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
    return max(-_MOST_BIAS, min(_MOST_BIAS, amount)) if is_number else amount


def _thinking(body: Mapping[str, Any]) -> dict[str, Any]:
    effort, told = body.get("reasoning_effort"), body.get("chat_template_kwargs")
    if effort is not None:
        return {"thinking": read_effort(effort)}
    if isinstance(told, Mapping) and told.get("enable_thinking") is not None:
        return {"thinking": "on" if read_flag(told, "enable_thinking") else "off"}
    return {}


def read_effort(effort: object) -> str:
    """Return how hard is to be thought, in the engine's words. Raises InvalidRequest."""
    if not isinstance(effort, str) or effort not in _EFFORTS:
        raise InvalidRequest(f'"reasoning_effort" must be one of {", ".join(_EFFORTS)}.')
    return _EFFORTS[effort]


def read_tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the functions that may be called. Raises InvalidRequest."""
    choice = body.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise InvalidRequest('"tool_choice" must be "auto" or "none": a call cannot be enforced.')
    tools = body.get("tools")
    return {} if not tools or choice == "none" else {"tools": tools}


def read_format(value: object) -> Constraint | None:
    """Return the constraint of a format of replies, None for plain text. Raises InvalidRequest."""
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
    """Return the object of a body: nothing in it is other than JSON can say again. Raises InvalidRequest."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON.") from None
    if not isinstance(body, dict):
        raise InvalidRequest("The body must be a JSON object.")
    if _is_deep(body):
        raise InvalidRequest(f"The body is nested too deeply: the limit is {_DEEPEST} levels.")
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("The body has half a character in it (a lone surrogate). Leave it out.") from None
    except ValueError:
        raise InvalidRequest("The body has a number that JSON does not have (NaN or infinity).") from None
    return body


def _is_deep(body: object) -> bool:
    """Return whether lists and objects are nested more deeply than whatever reads them can follow."""
    level: list[Any] = [body]
    for _ in range(_DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True
