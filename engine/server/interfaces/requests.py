"""Read the bodies of requests: OpenAI's interface, as a request of the engine."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from engine.chat.inputs import ALWAYS_GIVEN
from engine.config import MAX_TOP, GenerationRequest, SamplingConfig, SpeculationConfig
from engine.constraint import Constraint, lark_of_gbnf
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.generation.questions import Infill
from engine.generation.request import make_request
from engine.messages.message import Message
from engine.server.interfaces.bodies import read_flag
from engine.server.interfaces.conversation import read_messages, text_of
from engine.server.interfaces.texts import in_tokens
from engine.server.interfaces.tools import OfferedTool, read_tools
from engine.server.interfaces.unsupported import ANY_SEED, SILENT, NotDone, tidied

_SAMPLING = tuple(each.name for each in fields(SamplingConfig))
_EFFORTS = {"none": "off", "minimal": "low", "low": "low", "medium": "medium", "high": "high"}
_EFFORTS |= dict.fromkeys(("xhigh", "max", "maximum"), "high")
_MOST_COPIES = 16
_MOST_REPLIES = 128
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


InTokens = Callable[[GenerationRequest, SpeculativeDecoder], GenerationRequest]
Unsaid = Infill | tuple[str | int, ...] | None
"""A gap, or texts and token ids, of which a prompt is yet to be made."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """Hold a parsed request.

    `request`: for the engine; `stream`: as events; `copies`: number of replies; `usage`: report the usage at a stream's
    end; `left_out`: the body's unsupported fields, in words; `body`: the body itself; `unsaid`: texts that each prompt
    still needs as the model's tokens, or (); `biased`: texts whose tokens are biased; `prompts`: further prompts,
    answered like `request`; `echo`: replies are returned with the text they continue; `silent`: the prompt is read, and
    no reply is sent; `tools`: the client's tools, by the names that the model sees.
    """

    request: GenerationRequest
    stream: bool
    copies: int
    usage: bool
    logprobs: bool
    left_out: tuple[str, ...]
    body: Mapping[str, Any]
    unsaid: tuple[Unsaid, ...] = ()
    biased: tuple[tuple[str, float], ...] = ()
    prompts: tuple[str | tuple[int, ...], ...] = ()
    echo: bool = False
    silent: bool = False
    tools: Mapping[str, OfferedTool] = field(default_factory=dict)

    def requests(self) -> Iterator[tuple[GenerationRequest, InTokens]]:
        """Yield a request for each reply, and its converter to the model's tokens; with a seed each has another."""
        index = 0
        for place, prompt in enumerate((self.request.prompt, *self.prompts)):
            for _ in range(self.copies):
                sampling = self.request.sampling
                seed = None if sampling.seed is None else (sampling.seed + index) % 2**64
                wanted = replace(self.request, prompt=prompt, sampling=replace(sampling, seed=seed))
                yield wanted, partial(self._in_tokens, self.unsaid[place] if self.unsaid else None)
                index += 1

    def _in_tokens(self, unsaid: Unsaid, request: GenerationRequest, decoder: SpeculativeDecoder) -> GenerationRequest:
        """Return one of the requests in the model's tokens. Raises the errors of finding them."""
        prompt, size = request.prompt, 0 if decoder.target is None else decoder.target.vocab_size
        if isinstance(unsaid, Infill):
            prompt = tuple(decoder.infill_prompt(unsaid))
        elif unsaid is not None:
            prompt = tuple(in_tokens(unsaid, decoder, add_special=True, parse_special=True))
        bias = {token: amount for token, amount in request.sampling.logit_bias if token < size}
        bias |= {token: amount for text, amount in self.biased for token in decoder.encode(text)}
        return replace(request, prompt=prompt, sampling=replace(request.sampling, logit_bias=tuple(bias.items())))


@dataclass(frozen=True, slots=True)
class Defaults:
    """Hold the settings of a reply where a request does not set them."""

    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    speculation: SpeculationConfig = field(default_factory=SpeculationConfig)


def read_chat(body: Mapping[str, Any], defaults: Defaults) -> ParsedRequest:
    """Read a body of /v1/chat/completions. Raises InvalidRequest and its kinds."""
    left = NotDone()
    fields = tidied(body, left)
    options = read_common(fields, _CHAT, left)
    messages = read_messages(fields.get("messages"), left)
    most = fields.get("max_completion_tokens")
    options |= {} if most is None else {"max_tokens": most}
    if type(fields.get("logprobs")) is int:  # How many: llama.cpp's `n_probs`.
        fields |= {"top_logprobs": fields["logprobs"], "logprobs": fields["logprobs"] > 0}
    logprobs = read_flag(fields, "logprobs")
    if logprobs:
        options["top"] = read_top(fields.get("top_logprobs"), left)
    options |= _thinking(fields, left)
    tools = fields.get("tools") or fields.get("functions")
    offered = read_tools(tools or None, left)
    choice = fields.get("tool_choice")
    if choice is None and fields.get("function_call") is not None:
        called = fields["function_call"]
        choice = {"type": "function", **called} if isinstance(called, Mapping) else called
    options |= offered.options(choice, left, one_call=fields.get("parallel_tool_calls") is False)
    options |= _constraint(fields, left) | _prediction(fields.get("prediction"))
    if not continues(fields, messages):
        options["template_options"] = {**options.get("template_options", {}), "add_generation_prompt": False}
    parsed = make_parsed(messages, options, fields, defaults, left, logprobs=logprobs, known=_CHAT)
    return replace(parsed, tools=offered.tools, echo=read_flag(fields, "echo") and messages[-1].role == "assistant")


def continues(body: Mapping[str, Any], messages: Sequence[Message]) -> bool:
    """Check a body's options on continuing the assistant's last message, and return True if the reply continues it.

    Return False if the template is not to begin a turn for it. Raises InvalidRequest.
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
    if written and messages[-1].tool_calls:
        raise InvalidRequest("A reply cannot go on with a message that calls tools. Add the results of the tools.")
    return written or opens is not False


def read_completion(body: Mapping[str, Any], defaults: Defaults) -> ParsedRequest:
    """Read a body of /v1/completions. Raises InvalidRequest and its kinds."""
    left = NotDone()
    fields = tidied(body, left)
    options = read_common(fields, _COMPLETION, left) | {"raw": True}
    found = _prompts(fields.get("prompt"))
    mixed = [each if isinstance(each, tuple) and str in map(type, each) else None for each in found]
    first, *others = (each if isinstance(each, str) else _ids(each) for each in found)
    echo, suffix = read_flag(fields, "echo"), fields.get("suffix")
    if fields.get("best_of") not in (None, 1, fields.get("n")):
        left.note("best_of: replies are not ranked")
    if echo and any(mixed):
        raise InvalidRequest('"echo" needs prompts that are texts, or token ids alone.')
    top = fields.get("logprobs")
    logprobs = top is not None and top is not False
    if logprobs:
        if echo:
            raise InvalidRequest('No logprobs of prompts are computed: leave "echo" or "logprobs" out.')
        options["top"] = read_top(None if top is True else top, left)
    options |= _constraint(fields, left)
    parsed = make_parsed(first, options, fields, defaults, left, logprobs=logprobs, known=_COMPLETION)
    if parsed.copies * (1 + len(others)) > _MOST_REPLIES:
        raise InvalidRequest(f"At most {_MOST_REPLIES} replies can be asked for at once.")
    unsaid = tuple(_gap(prompt, suffix) for prompt in found) if suffix else tuple(mixed) if any(mixed) else ()
    return replace(parsed, unsaid=unsaid, prompts=tuple(others), echo=echo)


def _ids(pieces: Sequence[int | str]) -> tuple[int, ...]:
    """Return the token ids of a prompt, and for a text among them another one, which stands for it."""
    return tuple(piece if isinstance(piece, int) else 0 for piece in pieces)


def _prompts(value: object) -> list[str | tuple[int | str, ...]]:
    """Return the prompts of a body, one at least: texts, or lists of token ids, maybe with texts between them.

    Raises InvalidRequest.
    """
    listed = value if isinstance(value, list) and value and not any(type(each) is int for each in value) else [value]
    found: list[str | tuple[int | str, ...]] = []
    for prompt in listed:
        if isinstance(prompt, Mapping) and isinstance(prompt.get("prompt_string"), str):  # Beside it are pictures.
            if prompt.get("multimodal_data"):
                raise InvalidRequest("Pictures are read in messages only: use /v1/chat/completions.")
            found.append(prompt["prompt_string"])
        elif isinstance(prompt, str):
            found.append(prompt)
        elif isinstance(prompt, list) and prompt and all(type(piece) in (int, str) for piece in prompt):
            found.append(tuple(prompt))
        else:
            raise InvalidRequest('"prompt" must be a text, a list of token ids, or a list of these.')
    return found


def _gap(prompt: str | tuple[int | str, ...], suffix: object) -> Infill:
    if not isinstance(prompt, str) or not isinstance(suffix, str):
        raise InvalidRequest('"suffix" must be a text, and so must be the "prompt" before it.')
    return Infill(prompt, suffix)


def read_infill(body: Mapping[str, Any], defaults: Defaults) -> ParsedRequest:
    """Read a body of /infill. Raises InvalidRequest and its kinds."""
    left = NotDone()
    fields = tidied(body, left)
    parsed = make_parsed([0], read_common(fields, _INFILL, left), fields, defaults, left, logprobs=False, known=_INFILL)
    return replace(parsed, unsaid=(read_infill_parts(fields),))


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


def make_parsed(
    prompt: Any,
    options: dict[str, Any],
    body: Mapping[str, Any],
    defaults: Defaults,
    left: NotDone,
    *,
    logprobs: bool,
    known: AbstractSet[str],
) -> ParsedRequest:
    """Parse the options of a body beside its prompt. Raises InvalidRequest and its kinds."""
    stream_options = body.get("stream_options")
    usage = isinstance(stream_options, Mapping) and read_flag(stream_options, "include_usage")
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
    biased = tuple((text, bias) for text, bias in _bias(body.get("logit_bias") or {}, left) if isinstance(text, str))
    how: dict[str, Any] = {"biased": biased, "silent": silent}
    return ParsedRequest(request, read_flag(body, "stream"), copies, usage, logprobs, left.ignored, body, **how)


def read_common(body: Mapping[str, Any], known: AbstractSet[str], left: NotDone) -> dict[str, Any]:
    """Return the options that interfaces share, as far as this one has them (`known`). Raises InvalidRequest."""
    if not isinstance(body.get("model", ""), str | type(None)):
        left.note("model: it is no name")
    options = {rule: body[rule] for rule in _SAMPLING if body.get(rule) is not None}
    if options.get("seed") == ANY_SEED:
        options["seed"] = None
    if "logit_bias" in options:
        options["logit_bias"] = {
            token: bias for token, bias in _bias(options["logit_bias"], left) if type(token) is int
        }
    options |= {plain: body[plain] for plain in _PLAIN if plain in known and body.get(plain) is not None}
    late = body.get("t_max_predict_ms")
    if isinstance(late, int | float) and late > 0:
        options["max_time"] = late / 1000
    variables = body.get("chat_template_kwargs")
    if isinstance(variables, Mapping):
        for name in sorted(ALWAYS_GIVEN & variables.keys()):
            left.note(f"chat_template_kwargs {name}")
        options["template_options"] = {name: variables[name] for name in variables if name not in ALWAYS_GIVEN}
    elif variables is not None:
        left.note("chat_template_kwargs: it is no object")
    return options


def read_top(value: object, left: NotDone) -> int:
    """Read the number of alternatives a token. Raises InvalidRequest."""
    top = 0 if value is None else value
    if type(top) is not int or top < 0:
        raise InvalidRequest('"top_logprobs" must be a whole number.')
    if top > MAX_TOP:
        left.note(f"{top} alternatives a token: {MAX_TOP} are told")
    return min(top, MAX_TOP)


def _bias(value: object, left: NotDone) -> Iterator[tuple[int | str, float]]:
    """Yield the valid entries of a logit bias: of token ids, or of texts, whose tokens are meant."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
    for pair in pairs:
        token, amount = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
        number: Any = -sys.float_info.max if amount is False else amount
        if not isinstance(number, int | float) or isinstance(number, bool):
            token = None
        if isinstance(token, str) and not re.fullmatch(r"-?\d{1,9}", token):
            yield token, number
        elif isinstance(token, str | int) and not isinstance(token, bool) and int(token) >= 0:
            yield int(token), number
        else:
            left.note("logit_bias: what is no token with a number")


def _thinking(body: Mapping[str, Any], left: NotDone) -> dict[str, Any]:
    effort, arguments = body.get("reasoning_effort"), body.get("chat_template_kwargs")
    if effort is not None:
        return read_effort(effort, left)
    if isinstance(arguments, Mapping) and arguments.get("enable_thinking") is not None:
        return {"thinking": "on" if read_flag(arguments, "enable_thinking") else "off"}
    return {}


def read_effort(effort: object, left: NotDone) -> dict[str, Any]:
    """Return the option for the thinking effort; none if the wish is unknown."""
    if isinstance(effort, str) and effort in _EFFORTS:
        return {"thinking": _EFFORTS[effort]}
    left.note(f"reasoning_effort {str(effort)[:40]}: known are {', '.join(_EFFORTS)}")
    return {}


def _prediction(value: object) -> dict[str, Any]:
    """Return the reply that is expected, a text or parts that are texts. Raises InvalidRequest."""
    if value is None:
        return {}
    content = value.get("content") if isinstance(value, Mapping) and value.get("type") == "content" else None
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part if isinstance(part, str) else text_of(part) for part in parts]
    if None in texts:
        raise InvalidRequest('"prediction" must be {"type": "content", "content": …}, of a text or parts of text.')
    return {"prediction": "".join(filter(None, texts))}


def _constraint(body: Mapping[str, Any], left: NotDone) -> dict[str, Any]:
    """Read the constraint, by OpenAI's name or llama.cpp's. Raises InvalidRequest."""
    constraint = read_format(body.get("response_format"), left)
    schema, grammar = body.get("json_schema"), body.get("grammar")
    if constraint is None and schema is not None:
        constraint = _of_schema(schema, '"json_schema" must be a JSON schema.')
    if constraint is None and isinstance(grammar, str) and grammar:
        constraint = Constraint.lark(lark_of_gbnf(grammar))
    elif grammar and not isinstance(grammar, str):
        left.note("grammar: it is no text")
    return {} if constraint is None else {"constraint": constraint}


def read_format(value: object, left: NotDone) -> Constraint | None:
    """Return the constraint of a format of replies, None for plain text. Raises InvalidRequest."""
    kind = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or kind in (None, "", "text"):
        if value is not None and kind != "text":
            left.note("response_format: it has no type")
        return None
    if kind == "json_object":
        return _of_schema(value.get("schema") or {}, '"response_format" has a "schema" that is no JSON schema.')
    if kind == "json_schema":
        inner = value.get("json_schema")
        schema = (inner if isinstance(inner, Mapping) else value).get("schema")
        return _of_schema({} if schema is None else schema, '"json_schema" has a "schema" that is no JSON schema.')
    raise InvalidRequest('"response_format" must be of the type text, json_object or json_schema.')


def _of_schema(schema: object, wrong: str) -> Constraint:
    """Return the constraint of a schema: one that says nothing means any object. Raises InvalidRequest."""
    if schema == {}:
        return Constraint.json()
    if isinstance(schema, Mapping | bool):
        return Constraint.json_schema(schema)
    raise InvalidRequest(wrong)
