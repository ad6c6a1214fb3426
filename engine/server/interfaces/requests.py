"""Read the bodies of requests: what OpenAI's interface says, as a request of the engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from typing import Any

from engine.config import MAX_TOP, GenerationRequest, SamplingConfig, SpeculationConfig
from engine.constraint import Constraint, lark_of_gbnf
from engine.errors import InvalidRequest
from engine.generation.questions import Infill
from engine.generation.request import make_request
from engine.messages.message import Message
from engine.server.interfaces.bodies import read_flag
from engine.server.interfaces.conversation import NO_PICTURES, read_messages, text_of
from engine.server.interfaces.left_out import ANY_SEED, SILENT, NotDone, tidied
from engine.server.interfaces.tools import OfferedTool, read_tools

_SAMPLING = tuple(each.name for each in fields(SamplingConfig))
_EFFORTS = {"none": "off", "minimal": "low", "low": "low", "medium": "medium", "high": "high"}
_EFFORTS |= dict.fromkeys(("xhigh", "max", "maximum"), "high")
_MOST_COPIES = 16
_MOST_REPLIES = 128
_RESERVED = frozenset({"messages", "tools", "documents", "bos_token", "eos_token", "add_generation_prompt"})
"""Variables of chat templates that a request says in other ways."""
_PLAIN = ("max_tokens", "min_tokens", "ignore_eos", "stop_tokens", "stop", "lookahead")
"""Options of the engine that are fields of a body by the same names."""
COMMON = {"model", "stream", "chat_template_kwargs", "t_max_predict_ms", *_SAMPLING, *_PLAIN, *SILENT}
COMMON -= {"max_tokens", "stop"}  # Newer interfaces have names of their own for these.
_BOTH = COMMON | {"max_tokens", "stop", "n", "logprobs", "json_schema", "grammar", "response_format"}
_CHAT = _BOTH | {
    *("messages", "max_completion_tokens", "top_logprobs", "tools", "tool_choice", "functions", "function_call"),
    *(
        "reasoning_effort",
        "parallel_tool_calls",
        "echo",
        "continue_final_message",
        "add_generation_prompt",
        "prediction",
    ),
}
_COMPLETION = _BOTH | {"prompt", "echo", "suffix", "best_of"}
_INFILL = COMMON | {"max_tokens", "stop", "input_prefix", "input_suffix", "input_extra", "prompt"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what one request asks for.

    `request`: for the engine; `stream`: as events; `copies`: how many replies; `usage`: whether a stream tells its
    usage at the end; `logprobs`; `left_out`: what of the body is not done, in words; `body`: the body itself;
    `gaps`: prefix, suffix and other files, where the prompts are yet to be made of the model's tokens; `prompts`:
    further prompts, each of which is replied to as `request` is; `echo`: the replies are told with what they go on
    with; `silent`: the prompt is read, and nothing is told; `tools`: those of the client, by the names that the model
    is shown.
    """

    request: GenerationRequest
    stream: bool
    copies: int
    usage: bool
    logprobs: bool
    left_out: tuple[str, ...]
    body: Mapping[str, Any]
    gaps: tuple[Infill, ...] = ()
    prompts: tuple[str | tuple[int, ...], ...] = ()
    echo: bool = False
    silent: bool = False
    tools: Mapping[str, OfferedTool] = field(default_factory=dict)

    def requests(self) -> Iterator[tuple[GenerationRequest, Infill | None]]:
        """Return a request for each reply, with its gap; where a seed is given each has another one."""
        index = 0
        for place, prompt in enumerate((self.request.prompt, *self.prompts)):
            for _ in range(self.copies):
                sampling = self.request.sampling
                seed = None if sampling.seed is None else (sampling.seed + index) % 2**64
                wanted = replace(self.request, prompt=prompt, sampling=replace(sampling, seed=seed))
                yield wanted, self.gaps[place] if self.gaps else None
                index += 1


@dataclass(frozen=True, slots=True)
class Defaults:
    """Hold how a reply is drawn and written where a request does not say."""

    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    speculation: SpeculationConfig = field(default_factory=SpeculationConfig)


def read_chat(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /v1/chat/completions asks for. Raises InvalidRequest and its kinds."""
    told, left = tidied(body), NotDone()
    options = read_common(told, _CHAT, left)
    messages = read_messages(told.get("messages"), left)
    most = told.get("max_completion_tokens")
    options |= {} if most is None else {"max_tokens": most}
    if "logprobs" not in body and type(told.get("logprobs")) is int:  # How many: llama.cpp's `n_probs`.
        told |= {"top_logprobs": told["logprobs"], "logprobs": told["logprobs"] > 0}
    logprobs = read_flag(told, "logprobs")
    if logprobs:
        options["top"] = read_top(told.get("top_logprobs"))
    options |= _thinking(told)
    tools = told.get("tools") or told.get("functions")
    offered = read_tools(tools or None, left)
    choice = told.get("tool_choice")
    if choice is None and told.get("function_call") is not None:
        called = told["function_call"]
        choice = {"type": "function", **called} if isinstance(called, Mapping) else called
    options |= offered.options(choice, one_call=told.get("parallel_tool_calls") is False)
    options |= _constraint(told) | _prediction(told.get("prediction"))
    continues(told, messages)
    asked = make_asked(messages, options, told, defaults, left, logprobs=logprobs, known=_CHAT)
    return replace(asked, tools=offered.tools, echo=read_flag(told, "echo") and messages[-1].role == "assistant")


def continues(body: Mapping[str, Any], messages: Sequence[Message]) -> None:
    """Check what a body says of how the reply begins: it goes on with the assistant's last message, if that is one.

    Raises InvalidRequest.
    """
    wanted, opens = body.get("continue_final_message"), body.get("add_generation_prompt")
    written = len(messages) > 1 and messages[-1].role == "assistant"
    if wanted not in (None, False) and opens is True:
        raise InvalidRequest('"continue_final_message" and "add_generation_prompt" exclude each other.')
    if wanted not in (None, False) and not written:
        raise InvalidRequest('"continue_final_message" needs an assistant\'s message at the end of "messages".')
    if wanted is False and opens is True and written:
        raise InvalidRequest(
            'A reply goes on with the assistant\'s last message. Leave "continue_final_message" out, or add a question.'
        )
    if opens is False and not written:
        raise InvalidRequest('A reply begins a turn: leave "add_generation_prompt" out.')
    if written and messages[-1].tool_calls:
        raise InvalidRequest("A reply cannot go on with a message that calls tools. Add the results of the tools.")


def read_completion(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /v1/completions asks for. Raises InvalidRequest and its kinds."""
    told, left = tidied(body), NotDone()
    options = read_common(told, _COMPLETION, left) | {"raw": True}
    first, *others = _prompts(told.get("prompt"))
    echo, suffix = read_flag(told, "echo"), told.get("suffix")
    if told.get("best_of") not in (None, 1, told.get("n")):
        left.note("best_of: replies are not ranked")
    top = told.get("logprobs")
    logprobs = top is not None and top is not False
    if logprobs:
        if echo:
            raise InvalidRequest('No logprobs of prompts are computed: leave "echo" or "logprobs" out.')
        options["top"] = read_top(None if top is True else top)
    options |= _constraint(told)
    asked = make_asked(first, options, told, defaults, left, logprobs=logprobs, known=_COMPLETION)
    if asked.copies * (1 + len(others)) > _MOST_REPLIES:
        raise InvalidRequest(f"At most {_MOST_REPLIES} replies can be asked for at once.")
    gaps = tuple(_gap(prompt, suffix) for prompt in (first, *others)) if suffix else ()
    return replace(asked, gaps=gaps, prompts=tuple(others), echo=echo)


def _prompts(told: object) -> list[str | tuple[int, ...]]:
    """Return the prompts of a body, one at least: texts, or lists of token ids. Raises InvalidRequest."""
    listed = told if isinstance(told, list) and told and not all(type(each) is int for each in told) else [told]
    found: list[str | tuple[int, ...]] = []
    for prompt in listed:
        if isinstance(prompt, Mapping) and isinstance(prompt.get("prompt_string"), str):  # Beside it are pictures.
            if prompt.get("multimodal_data"):
                raise InvalidRequest(NO_PICTURES)
            found.append(prompt["prompt_string"])
        elif isinstance(prompt, str):
            found.append(prompt)
        elif isinstance(prompt, list) and prompt and all(type(token) is int for token in prompt):
            found.append(tuple(prompt))
        else:
            raise InvalidRequest('"prompt" must be a text, a list of token ids, or a list of these.')
    return found


def _gap(prompt: str | tuple[int, ...], suffix: object) -> Infill:
    if not isinstance(prompt, str) or not isinstance(suffix, str):
        raise InvalidRequest('"suffix" must be a text, and so must be the "prompt" before it.')
    return Infill(prompt, suffix)


def read_infill(body: Mapping[str, Any], defaults: Defaults) -> Asked:
    """Return what a body of /infill asks for. Raises InvalidRequest and its kinds."""
    told, left = tidied(body), NotDone()
    asked = make_asked([0], read_common(told, _INFILL, left), told, defaults, left, logprobs=False, known=_INFILL)
    return replace(asked, gaps=(read_infill_parts(told),))


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


def make_asked(
    prompt: Any,
    options: dict[str, Any],
    body: Mapping[str, Any],
    defaults: Defaults,
    left: NotDone,
    *,
    logprobs: bool,
    known: AbstractSet[str],
) -> Asked:
    """Return what a body asks for, of a prompt and the options of its request. Raises InvalidRequest and its kinds."""
    told = body.get("stream_options")
    usage = isinstance(told, Mapping) and read_flag(told, "include_usage")
    silent = options.get("max_tokens") == 0 and type(options["max_tokens"]) is int
    options |= {"max_tokens": 1} if silent else {}
    request = make_request(prompt, options, defaults.sampling, defaults.speculation)
    for name in sorted(body):
        if name not in known and body[name] not in (None, [], {}, "", False):
            left.note(name[:40])
    copies = body.get("n") if "n" in known else None
    copies = 1 if copies is None else copies
    if type(copies) is not int or not 1 <= copies <= _MOST_COPIES:
        raise InvalidRequest(f'"n" must be a whole number from 1 to {_MOST_COPIES}.')
    return Asked(request, read_flag(body, "stream"), copies, usage, logprobs, left.told, body, silent=silent)


def read_common(body: Mapping[str, Any], known: AbstractSet[str], left: NotDone) -> dict[str, Any]:
    """Return the options that interfaces share, as far as this one has them (`known`). Raises InvalidRequest."""
    if not isinstance(body.get("model", ""), str | type(None)):
        raise InvalidRequest('"model" must be the name of a model.')
    options = {rule: body[rule] for rule in _SAMPLING if body.get(rule) is not None}
    if options.get("seed") == ANY_SEED:
        options["seed"] = None
    if "logit_bias" in options:
        options["logit_bias"] = _bias(options["logit_bias"])
    options |= {plain: body[plain] for plain in _PLAIN if plain in known and body.get(plain) is not None}
    late = body.get("t_max_predict_ms")
    if isinstance(late, int | float) and late > 0:
        options["max_time"] = late / 1000
    variables = body.get("chat_template_kwargs")
    if isinstance(variables, Mapping):
        for name in sorted(_RESERVED & variables.keys()):
            left.note(f"chat_template_kwargs {name}")
        options["template_options"] = {name: variables[name] for name in variables if name not in _RESERVED}
    elif variables is not None:
        raise InvalidRequest('"chat_template_kwargs" must be an object.')
    return options


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
    return {token: -sys.float_info.max if amount is False else amount for token, amount in amounts.items()}


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


def _prediction(told: object) -> dict[str, Any]:
    """Return the reply that is expected, a text or parts that are texts. Raises InvalidRequest."""
    if told is None:
        return {}
    content = told.get("content") if isinstance(told, Mapping) and told.get("type") == "content" else None
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part if isinstance(part, str) else text_of(part) for part in parts]
    if None in texts:
        raise InvalidRequest('"prediction" must be {"type": "content", "content": …}, of a text or parts of text.')
    return {"prediction": "".join(filter(None, texts))}


def _constraint(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the reply must be, by OpenAI's name or llama.cpp's. Raises InvalidRequest."""
    constraint = read_format(body.get("response_format"))
    schema, grammar = body.get("json_schema"), body.get("grammar")
    if constraint is None and schema is not None:
        constraint = _of_schema(schema, '"json_schema" must be a JSON schema.')
    if constraint is None and grammar:
        if not isinstance(grammar, str):
            raise InvalidRequest('"grammar" must be a text.')
        constraint = Constraint.lark(lark_of_gbnf(grammar))
    return {} if constraint is None else {"constraint": constraint}


def read_format(value: object) -> Constraint | None:
    """Return the constraint of a format of replies, None for plain text. Raises InvalidRequest."""
    if value is None:
        return None
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind == "text":
        return None
    if kind == "json_object" and isinstance(value, Mapping):
        return _of_schema(value.get("schema") or {}, '"response_format" has a "schema" that is no JSON schema.')
    if kind == "json_schema" and isinstance(value, Mapping):
        told = value.get("json_schema")
        schema = told.get("schema") if isinstance(told, Mapping) else value.get("schema")
        return _of_schema(
            schema, '"response_format" of the type json_schema needs "json_schema" with a "schema".', empty=False
        )
    raise InvalidRequest('"response_format" must be of the type text, json_object or json_schema.')


def _of_schema(schema: object, wrong: str, *, empty: bool = True) -> Constraint:
    """Return the constraint of a schema; `empty`: one that says nothing means any object. Raises InvalidRequest."""
    if schema == {} and empty:
        return Constraint.json()
    if isinstance(schema, Mapping | bool):
        return Constraint.json_schema(schema)
    raise InvalidRequest(wrong)
