"""Define a caller's options: frozen dataclasses that validate themselves when they are made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from engine.checks import (
    TreeWish,
    bias_pairs,
    check_length,
    check_number,
    check_prediction,
    check_prefix,
    check_tree,
    check_whole,
    is_whole,
    machine_addresses,
    token_ids,
)
from engine.constraint import Constraint, as_constraint
from engine.errors import InvalidLookahead, InvalidRequest, UnknownMethod
from engine.messages.message import Message
from engine.messages.tools import Tool, freeze_tools
from engine.methods import DRAFT_MODEL, METHODS, SOURCES, DraftMethod
from engine.sampling_rules import RULES
from engine.translatable import Translatable

MAX_LOOKAHEAD = 32
LONGEST_TEMPLATE = 500_000
"""Characters of a chat template that somebody gives."""
DEFAULT_LOOKAHEAD = DRAFT_MODEL.lookahead
MAX_TOP = 20
DTYPES = ("auto", "float32", "bfloat16", "float16")
CacheType = Literal["f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
CACHE_TYPES: tuple[CacheType, ...] = ("f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
ThinkingMode = Literal["default", "off", "on", "low", "medium", "high"]
THINKING_MODES: tuple[ThinkingMode, ...] = ("default", "off", "on", "low", "medium", "high")
# Made once: a configuration is checked far more often than it is wrong.
_RANGES = {
    "[0, 1]": Translatable("a number from 0 to 1"),
    "[0, 100]": Translatable("a number from 0 to 100"),
    "[-100, 100]": Translatable("a number from -100 to 100"),
    "(0, 1]": Translatable("a number above 0, at most 1"),
    "(0, 100]": Translatable("a number above 0, at most 100"),
}
"""The allowed values of the numbers in sampling_rules.def, in words."""
_LEAST_PENALTY = 1e-6
_OFF, _ALL = Translatable("0 (off) or a whole number above 0"), Translatable("0 (all) or a whole number above 0")
_SEED = Translatable("a whole number from 0 to 2^64 - 1")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:[0-9]{1,3})?")

Lookahead = int | Literal["adaptive", "auto", "default"]
Acceptance = Literal["rejection", "exact"]
Overlap = Literal["on", "off", "auto"]

Prompt = str | Sequence[Message | Mapping[str, Any]] | Sequence[int]


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """Hold the rules that turn the target's logits into its distribution. Temperature 0 is greedy.

    The numbers, their defaults and ranges are defined in sampling_rules.def. The rules apply in this order: penalties,
    logit bias and banned tokens, temperature, top-n-sigma, top-k, typical, top-p, min-p. A rule is off at:
    `top_n_sigma` 0, `top_k` 0, `top_p` 1, `min_p` 0, `typical` 1, `repeat_penalty` 1, presence and frequency 0.
    `penalty_window` is the number of last tokens that the penalties count (0: all). `logit_bias` (a mapping, or pairs)
    is added to the logits of token ids; `banned_tokens` are never written. `seed` None draws a new one for each
    request. Raises InvalidSampling.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical: float = 1.0
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64
    logit_bias: tuple[tuple[int, float], ...] = ()
    banned_tokens: tuple[int, ...] = ()
    seed: int | None = None
    top_n_sigma: float = 0.0

    def __post_init__(self) -> None:
        for rule in RULES:
            value = getattr(self, rule.name)
            if rule.type == "int64_t":
                check_whole(rule.name, value, _ALL if rule.off else _OFF, rule.most)
            else:
                check_number(rule.name, value, _RANGES[rule.range], rule.least, rule.most, above=rule.above)
        # By less no logit can be divided and stay a number.
        object.__setattr__(self, "repeat_penalty", max(self.repeat_penalty, _LEAST_PENALTY))
        object.__setattr__(self, "logit_bias", bias_pairs(self.logit_bias))
        object.__setattr__(self, "banned_tokens", token_ids("banned_tokens", self.banned_tokens))
        if self.seed is not None:
            check_whole("seed", self.seed, _SEED, 2**64 - 1)

    @property
    def greedy(self) -> bool:
        """Return True if the next token is the best one, without a draw."""
        return self.temperature == 0.0

    @property
    def penalised(self) -> bool:
        """Return True if the distribution depends on the history by a penalty."""
        return self.repeat_penalty != 1.0 or self.presence_penalty != 0.0 or self.frequency_penalty != 0.0

    @property
    def reshaped(self) -> bool:
        """Return True if the logits are changed before anything else: even the best token may be another one then."""
        return self.penalised or bool(self.logit_bias) or bool(self.banned_tokens)


class SamplingOptions(TypedDict, total=False):
    """Name the fields of a SamplingConfig, as calls take them."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    typical: float
    repeat_penalty: float
    presence_penalty: float
    frequency_penalty: float
    penalty_window: int
    logit_bias: Mapping[int, float] | Sequence[tuple[int, float]]
    banned_tokens: Sequence[int] | AbstractSet[int]
    seed: int | None
    top_n_sigma: float


@dataclass(frozen=True, slots=True)
class SpeculationConfig:
    """Hold the settings of speculation: the proposals, their number and their acceptance.

    `lookahead` is the number of proposed tokens per round: 0 (plain decoding) to 32, 'adaptive', or 'auto': the
    measured optimum, 0 if plain decoding is fastest. 'default' is 'auto', with these exceptions: 4 for a draft model
    and 16 for an n-gram index if an index is requested by name, with `force_n1`, and for a seed with rejection sampling
    of a draft model's tokens: there the seed repeats the reply, as with any fixed lookahead without overlap. With
    'auto' a seed repeats the reply only if acceptance is 'exact': otherwise the draw among the possible replies depends
    on the timing (its distribution never does).
    `method`: one of METHODS, or the caller's own DraftMethod. 'auto' is the method of loaded heads, or else of the
    draft model if there is one, and with the lookahead 'auto' an n-gram index beside it.
    `sources` are asked in turn, and the first non-empty draft is used ('ngram' before 'draft-model'); with the
    lookahead 'auto', the one with the most expected tokens per second. Empty: the sources of the method.
    `overlap`: the draft proposes while the target verifies; 'auto': if the two compute on different cores.
    `draft_sampling` None: the draft samples like the target. `draft_temperature` changes only its temperature.
    `min_draft_confidence`: a draft ends before a token whose best probability is below it (independent of the draw,
    so the output stays exact). `force_n1` verifies one token at a time.
    `tree`: width and depth, (3, 4) or '3x4': a model or a head proposes up to `width` tokens (1 to 4) at each of
    `depth` positions (1 to 8), which the target verifies in one pass; the depth replaces the lookahead. None: chains.
    Raises InvalidLookahead, InvalidSampling, UnknownMethod, InvalidRequest.
    """

    method: str | DraftMethod = "auto"
    lookahead: Lookahead = "default"
    sources: tuple[str, ...] = ()
    overlap: Overlap = "auto"
    acceptance: Acceptance = "rejection"
    force_n1: bool = False
    draft_sampling: SamplingConfig | None = None
    draft_temperature: float | None = None
    min_draft_confidence: float = 0.0
    tree: TreeWish | None = None
    adaptive_start: int = 4
    adaptive_max: int = 8
    adaptive_raise: float = 0.8
    adaptive_lower: float = 0.5

    def __post_init__(self) -> None:
        check_lookahead(self.lookahead)
        if self.draft_sampling is not None:
            require("draft_sampling", self.draft_sampling, SamplingConfig)
        object.__setattr__(self, "sources", _sources(self.sources))
        if self.overlap not in ("on", "off", "auto"):
            raise InvalidRequest("Overlap must be 'on', 'off' or 'auto', not {overlap!r}.", overlap=self.overlap)
        if not isinstance(self.method, DraftMethod) and self.method not in METHODS:
            raise UnknownMethod(self.method, METHODS)
        if self.acceptance not in ("rejection", "exact"):
            raise InvalidRequest(
                "Acceptance must be 'rejection' or 'exact', not {acceptance!r}.", acceptance=self.acceptance
            )
        if self.draft_temperature is not None:
            check_number("draft_temperature", self.draft_temperature, _RANGES["[0, 100]"], 0.0, 100.0)
        object.__setattr__(self, "tree", check_tree(self.tree))
        check_number("min_draft_confidence", self.min_draft_confidence, _RANGES["[0, 1]"], 0.0, 1.0)
        check_number("adaptive_raise", self.adaptive_raise, _RANGES["[0, 1]"], 0.0, 1.0)
        check_number("adaptive_lower", self.adaptive_lower, _RANGES["[0, 1]"], 0.0, 1.0)
        for bound in (self.adaptive_start, self.adaptive_max):
            if check_lookahead(bound) in (0, "adaptive", "auto", "default"):
                raise InvalidLookahead(bound)


@dataclass(frozen=True, slots=True)
class LoadConfig:
    """Hold the settings for loading one model.

    `context_length` in tokens; None: the model's own, limited to a tenth of the free memory, but at least 8,192.
    `threads` None: one for each physical core, one in all for a model of a few megabytes, until a calibration
    (lookahead "auto") finds a faster number (GGUF models). `gpu_layers` None: all if the build has a GPU; -1: all.
    `trusted` skips the trial in a child process.
    `device`: "cpu", "cuda", "cuda:1" or "mps"; None or "auto": a GPU that the build can use, or else the CPU. `dtype`:
    the number format of the computation, "float32", "bfloat16" or "float16" (safetensors models only); None or "auto":
    chosen by files and device. `cache_type`: the number format of the cache (GGUF models), "f16", or "q8_0", "q5_1",
    "q5_0", "q4_1", "q4_0" or "iq4_nl", which take half to a quarter of the memory and round more; None: float16, or
    float32 for a model with float32 weights. `despite_memory`: try to load even if memory seems too short. `in_memory`:
    read all weights into memory, if they fit, instead of mapping the file (GGUF models): unplugging the disk or
    overwriting the file is then harmless.
    `rpc`: machines that compute the layers, "host:port" of an rpc-server each (GGUF models). `chat_template`: a Jinja
    template that replaces the file's own; None: the file's. `projector`: the file with a GGUF model's vision part
    (mmproj); None: the one beside it, if there is one. Raises InvalidRequest.
    """

    path: Path
    context_length: int | None = None
    threads: int | None = None
    gpu_layers: int | None = None
    trusted: bool = False
    device: str | None = None
    dtype: str | None = None
    cache_type: CacheType | None = None
    despite_memory: bool = False
    in_memory: bool = False
    rpc: str | Sequence[str] = ()
    chat_template: str | None = None
    projector: Path | None = None

    if TYPE_CHECKING:  # A path may be given as text; it is a Path from then on.

        def __init__(  # noqa: PLR0913, PLR0917 - the fields, in their order
            self,
            path: str | Path,
            context_length: int | None = None,
            threads: int | None = None,
            gpu_layers: int | None = None,
            trusted: bool = False,
            device: str | None = None,
            dtype: str | None = None,
            cache_type: CacheType | None = None,
            despite_memory: bool = False,
            in_memory: bool = False,
            rpc: str | Sequence[str] = (),
            chat_template: str | None = None,
            projector: str | Path | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path):
            raise InvalidRequest(f"The path of a model must be text or a Path, not {type(self.path).__name__}.")
        object.__setattr__(self, "path", Path(self.path))
        if self.projector is not None:
            if not isinstance(self.projector, str | Path):
                raise InvalidRequest(f"A projector must be text or a Path, not {type(self.projector).__name__}.")
            object.__setattr__(self, "projector", Path(self.projector))
        object.__setattr__(self, "rpc", machine_addresses(self.rpc))
        if self.context_length is not None and (not is_whole(self.context_length) or self.context_length < 8):
            raise InvalidRequest(
                "The context must be a whole number of 8 tokens or more, not {context_length!r}.",
                context_length=self.context_length,
            )
        if self.threads is not None and (not is_whole(self.threads) or not 1 <= self.threads <= 512):
            raise InvalidRequest("Threads must be a whole number from 1 to 512, not {threads!r}.", threads=self.threads)
        if self.gpu_layers is not None and (not is_whole(self.gpu_layers) or self.gpu_layers < -1):
            raise InvalidRequest(
                "GPU layers must be a whole number, -1 for all, not {gpu_layers!r}.", gpu_layers=self.gpu_layers
            )
        if self.device is not None and _DEVICE.fullmatch(str(self.device)) is None:
            raise InvalidRequest(
                "The device must be auto, cpu, cuda, cuda:0 (or another number) or mps, not {device!r}.",
                device=self.device,
            )
        if self.dtype is not None and self.dtype not in DTYPES:
            raise InvalidRequest(
                "The number format must be one of {dtypes}, not {dtype!r}.", dtypes=", ".join(DTYPES), dtype=self.dtype
            )
        own = self.chat_template
        letters = len(own.strip()) if isinstance(own, str) else 0
        if own is not None and not 0 < letters <= LONGEST_TEMPLATE:
            raise InvalidRequest("A chat template must have 1 to {most:,} characters.", most=LONGEST_TEMPLATE)
        if self.cache_type is not None and self.cache_type not in CACHE_TYPES:
            raise InvalidRequest(
                "The cache type must be one of {cache_types}, not {cache_type!r}.",
                cache_types=", ".join(CACHE_TYPES),
                cache_type=self.cache_type,
            )


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Describe one reply to be generated.

    `prompt` is text, a tuple of messages, or a tuple of token ids. Text goes through the chat template as one user
    turn unless `raw`. `max_tokens` counts new tokens; None: until the end of the context. `stop` (texts) and
    `stop_tokens` (token ids) end the reply. `top` adds the best alternatives (0..20) to each TokenEvent.
    `thinking`: reasoning before the answer, "on" or "off", or its effort, "low", "medium" or "high", if the chat
    template supports it; "default": the template's own choice. `tools`: the functions that the model may call, in the
    form of OpenAI's chat interface; calls are returned in the result, and nothing is run. `must_call`: names of tools;
    the reply consists of calls and contains at least one of these. `one_call`: at most one call.
    `constraint`: the form of the reply after its reasoning: a Constraint, a JSON schema as a mapping, or "json";
    together with tools: the form of a reply without calls, JSON only. `template_options`: further variables of the
    chat template, by name.
    `prediction`: the expected reply, or much of it, as text or token ids: matching parts are written faster, and the
    reply stays the same. Plain decoding ignores it.
    `prefix`: the beginning of the reply, as a text or a list of token ids and texts; the result is its continuation.
    Token ids are kept as given. `forced`: text written first, after the prefix, in the same form: a part of the result,
    as tokens of the origin "forced".
    `min_tokens`: no token that ends the reply is drawn before so many; with `ignore_eos`, none of the model's own ever.
    `max_time`: seconds from the call after which no further round begins. `drop_turns` False: raise ContextFull
    instead of dropping old turns.
    Raises InvalidRequest.
    """

    prompt: str | tuple[Message, ...] | tuple[int, ...]
    raw: bool = False
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    speculation: SpeculationConfig = field(default_factory=SpeculationConfig)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    stop_tokens: tuple[int, ...] = ()
    top: int = 0
    thinking: ThinkingMode = "default"
    tools: tuple[Tool, ...] = field(default=(), hash=False)
    must_call: tuple[str, ...] = ()
    one_call: bool = False
    constraint: Constraint | None = None
    template_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    min_tokens: int = 0
    ignore_eos: bool = False
    max_time: float | None = None
    drop_turns: bool = True
    prediction: str | tuple[int, ...] = ""
    prefix: str | tuple[str | int, ...] = ()
    forced: str | tuple[str | int, ...] = ()

    @property
    def has_pictures(self) -> bool:
        """True if any of its messages has a picture."""
        messages = () if isinstance(self.prompt, str) else self.prompt
        return any(isinstance(message, Message) and message.pictures for message in messages)

    def __post_init__(self) -> None:
        check_thinking(self.thinking)
        object.__setattr__(self, "tools", freeze_tools(self.tools))
        if self.tools and (self.raw or not _is_chat(self.prompt)):
            raise InvalidRequest(Translatable("Tools need the chat template: omit raw, and pass text or messages."))
        object.__setattr__(self, "constraint", as_constraint(self.constraint))
        if self.tools and self.constraint is not None and self.constraint.kind not in ("json", "json-schema"):
            raise InvalidRequest(Translatable("Tools and a constraint exclude each other, but for JSON."))
        object.__setattr__(self, "must_call", _called(self.must_call, self.tools))
        object.__setattr__(self, "template_options", _plain_options(self.template_options))
        object.__setattr__(self, "prediction", check_prediction(self.prediction))
        object.__setattr__(self, "prefix", check_prefix("prefix", self.prefix))
        object.__setattr__(self, "forced", check_prefix("forced", self.forced))
        check_length(self.max_tokens, self.min_tokens, self.max_time)
        if self.ignore_eos and (self.constraint is not None or self.must_call):
            raise InvalidRequest("ignore_eos and a constraint exclude each other: what fits it has an end.")
        if not self.prompt:
            raise InvalidRequest(Translatable("The prompt is empty: it must have some text."))
        if not _all_are(_is_stop, self.stop):
            raise InvalidRequest(Translatable("A stop string must be text and must not be empty."))
        if not _all_are(is_whole, self.stop_tokens):
            raise InvalidRequest("Stop tokens must be token ids, whole numbers.")
        for name, kind in (("sampling", SamplingConfig), ("speculation", SpeculationConfig)):
            require(name, getattr(self, name), kind)
        if not is_whole(self.top) or not 0 <= self.top <= MAX_TOP:
            raise InvalidRequest(
                "top must be a whole number from 0 to {max_top}, not {top!r}.", max_top=MAX_TOP, top=self.top
            )


def _called(names: object, tools: Sequence[Tool]) -> tuple[str, ...]:
    """Return the names of tools that must be called. Raises InvalidRequest for a name without a tool."""
    wanted = (names,) if isinstance(names, str) else names
    there = [tool["function"]["name"] for tool in tools]
    if not isinstance(wanted, Sequence) or any(name not in there for name in wanted):
        raise InvalidRequest("must_call must name tools of this request: {names}.", names=", ".join(there) or "-")
    return tuple(wanted)


def _plain_options(options: object) -> dict[str, Any]:
    """Return variables of a chat template, copied. Raises InvalidRequest for values outside JSON."""
    try:
        copied = json.loads(json.dumps(dict(options), allow_nan=False))  # type: ignore[call-overload]
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest("template_options must be a mapping of names to plain JSON values.") from None
    return dict(copied)


def _is_chat(prompt: object) -> bool:
    """Return True if it is text or messages, not token ids."""
    return isinstance(prompt, str) or (isinstance(prompt, Sequence) and all(isinstance(m, Message) for m in prompt))


def check_thinking(value: object) -> ThinkingMode:
    """Return the thinking mode itself, or raise InvalidRequest."""
    for mode in THINKING_MODES:
        if value == mode:
            return mode
    raise InvalidRequest(
        "Thinking must be one of {modes}, not {value!r}.", modes=", ".join(THINKING_MODES), value=value
    )


def require(name: str, value: object, kind: type) -> None:
    """Raise InvalidRequest if an option is of another class."""
    if not isinstance(value, kind):
        raise InvalidRequest(f"{name} must be a {kind.__name__}, not {type(value).__name__}.")


def _all_are(test: Callable[[object], bool], values: object) -> bool:
    return isinstance(values, Sequence) and all(map(test, values))


def _is_stop(value: object) -> bool:
    return isinstance(value, str) and value != ""


def freeze_messages(messages: object) -> list[Message]:
    """Return messages, also of mappings. Raises InvalidRequest."""
    return [*map(Message.from_mapping, messages if isinstance(messages, Sequence) else [messages])]


def freeze_prompt(prompt: object) -> str | tuple[Message, ...] | tuple[int, ...]:
    """Return a prompt in the form of a request. Raises InvalidRequest if it is none of the three kinds."""
    if isinstance(prompt, str):
        return prompt
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes):
        raise InvalidRequest(Translatable("A prompt must be text, a list of messages or a list of token ids."))
    items: list[Any] = list(prompt)
    if all(is_whole(item) for item in items):
        return tuple(int(item) for item in items)
    return tuple(Message.from_mapping(item) for item in items)


def check_lookahead(value: object) -> Lookahead:
    """Return the lookahead itself, or InvalidLookahead."""
    if value == "adaptive":
        return "adaptive"
    if value == "auto":
        return "auto"
    if value == "default":
        return "default"
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_LOOKAHEAD:
        return value
    raise InvalidLookahead(value)


def _sources(value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Sequence) or any(name not in SOURCES for name in names) or len(set(names)) < len(names):
        raise InvalidRequest(
            "Sources must be different names out of {sources}, not {value!r}.",
            sources=", ".join(SOURCES),
            value=", ".join(map(str, names)) if isinstance(names, list | tuple) else value,
        )
    return tuple(names)
