"""Hold the settings of a reply: sampling, its end, the system prompt, speculation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from app.state.conversations.conversation import clean
from app.state.models.selection import Lookahead
from app.state.settings.fields import GenerationField, Option, described, description
from engine import (
    DEFAULT_LOOKAHEAD,
    DRAFT_METHODS,
    PLAIN,
    Constraint,
    EngineError,
    GenerationRequest,
    Message,
    SamplingConfig,
    SpeculationConfig,
    ThinkingMode,
    Translatable,
    host,
)

MOST_STOPS = 32
LONGEST_STOP = 1_000
LONGEST_SYSTEM = 200_000
"""Characters."""


def _count(number: int) -> Translatable:
    """Return a number that is written with its groups of digits apart."""
    return Translatable("{count:,}", count=number)


METHODS = (
    Option(
        "auto",
        Translatable("Automatic"),
        Translatable(
            "Uses the draft that is chosen in the window. With lookahead auto it also uses the text so far, "
            "whichever promises more."
        ),
    ),
    *(
        Option(method.name, method.label, method.hint)
        for method in DRAFT_METHODS
        if method.available and method.needs in ("nothing", "draft")
    ),
    Option(PLAIN, Translatable("Plain"), Translatable("Proposes nothing: the target generates one token at a time.")),
)
"""Methods that can be chosen in the window: those that it has the models for."""
NEEDS_DRAFT = frozenset(method.name for method in DRAFT_METHODS if method.needs == "draft")
_INDEXES = frozenset(method.name for method in DRAFT_METHODS if method.is_index)
ACCEPTANCES = (
    Option(
        "rejection",
        Translatable("Rejection sampling"),
        Translatable("Keeps a proposed token with probability target / draft, at most 1. Accepts the most tokens."),
    ),
    Option(
        "exact",
        Translatable("Exact match"),
        Translatable(
            "Keeps a proposed token if the target samples the same one. Accepts fewer tokens; with a seed, a "
            "reply repeats at any lookahead."
        ),
    ),
)
OVERLAPS = (
    Option("auto", Translatable("Automatic"), Translatable("On if draft and target do not run on the same cores.")),
    Option("on", Translatable("On"), Translatable("The draft keeps proposing while the target verifies.")),
    Option("off", Translatable("Off"), Translatable("The draft waits for the target.")),
)


@dataclass(frozen=True, slots=True)
class GenerationChoice:
    """Hold the settings of a reply. The default is greedy.

    Sampling as in the engine's SamplingConfig (`temperature` 0: greedy; `seed` None: another one each time).
    `max_tokens`: new tokens at most, None: until the end of the context; `stop`: texts that end a reply; `system`: what
    the model is told before everything else, "": nothing; `schema`: the JSON schema that a reply is held to (see
    constraint_of). `method`, `acceptance`, `overlap` as in SpeculationConfig.
    `thinking`: as in GenerationRequest; it is chosen beside the prompt, for a model and for a conversation.
    `variables`: further ones of the chat template, chosen for a model.
    Raises InvalidRequest and its kinds, UnknownMethod.
    """

    temperature: float = described(
        0.0,
        "sampling",
        "number",
        Translatable("Temperature"),
        Translatable("0 = greedy: always the most likely token"),
        Translatable("Enter a number from 0 to 100."),
    )
    top_n_sigma: float = described(
        0.0,
        "sampling",
        "number",
        Translatable("Top-n-sigma"),
        Translatable("drop tokens this many standard deviations below the best one · 0 = off"),
        Translatable("Enter a number from 0 to 100."),
    )
    top_k: int = described(
        0,
        "sampling",
        "whole",
        Translatable("Top-k"),
        Translatable("sample from this many of the most likely tokens · 0 = off"),
        Translatable("Enter 0 or a whole number above 0."),
    )
    typical: float = described(
        1.0,
        "sampling",
        "number",
        Translatable("Typical"),
        Translatable("sample from the most typical tokens up to this total probability · 1 = off"),
        Translatable("Enter a number above 0, at most 1."),
    )
    top_p: float = described(
        1.0,
        "sampling",
        "number",
        Translatable("Top-p"),
        Translatable("sample from the likeliest tokens up to this total probability · 1 = off"),
        Translatable("Enter a number above 0, at most 1."),
    )
    min_p: float = described(
        0.0,
        "sampling",
        "number",
        Translatable("Min-p"),
        Translatable("drop tokens below this share of the best one's probability · 0 = off"),
        Translatable("Enter a number from 0 to 1."),
    )
    repeat_penalty: float = described(
        1.0,
        "sampling",
        "number",
        Translatable("Repeat penalty"),
        Translatable("weakens tokens already used by this factor · 1 = off"),
        Translatable("Enter a number above 0, at most 100."),
    )
    presence_penalty: float = described(
        0.0,
        "sampling",
        "number",
        Translatable("Presence penalty"),
        Translatable("subtracted once for every token already used · 0 = off"),
        Translatable("Enter a number from -100 to 100."),
    )
    frequency_penalty: float = described(
        0.0,
        "sampling",
        "number",
        Translatable("Frequency penalty"),
        Translatable("subtracted for every use of a token · 0 = off"),
        Translatable("Enter a number from -100 to 100."),
    )
    penalty_window: int = described(
        64,
        "sampling",
        "whole",
        Translatable("Penalty window"),
        Translatable("number of recent tokens that penalties apply to · 0 = all"),
        Translatable("Enter 0 or a whole number above 0."),
    )
    seed: int | None = described(
        None,
        "sampling",
        "whole",
        Translatable("Seed"),
        Translatable("the same seed gives the same reply · empty = a new seed each time"),
        Translatable("Enter a whole number from 0 to 2⁶⁴ − 1, or leave this empty."),
        optional=True,
    )
    max_tokens: int | None = described(
        None,
        "reply",
        "whole",
        Translatable("Max tokens"),
        Translatable("new tokens per reply · empty = until the context is full"),
        Translatable("Enter a whole number above 0, or leave this empty."),
        optional=True,
    )
    stop: tuple[str, ...] = described(
        (),
        "reply",
        "lines",
        Translatable("Stop strings"),
        Translatable("Texts that end a reply, one per line. Write \\n for a line break and \\t for a tab."),
        Translatable(
            "Enter at most {count} stop strings of up to {length} characters each.",
            count=MOST_STOPS,
            length=_count(LONGEST_STOP),
        ),
    )
    schema: str = described(
        "",
        "system",
        "text",
        Translatable("Format"),
        Translatable(
            "A JSON schema that replies are held to, or the word json for any JSON object. Empty = free text."
        ),
    )
    system: str = described(
        "",
        "system",
        "text",
        Translatable("System prompt"),
        Translatable("Instructions that the model reads before every chat"),
        Translatable("Enter at most {length} characters.", length=_count(LONGEST_SYSTEM)),
    )
    method: str = described("auto", "speculation", "option", Translatable("Method"), options=METHODS)
    acceptance: str = described(
        "rejection", "speculation", "option", Translatable("Acceptance rule"), options=ACCEPTANCES
    )
    overlap: str = described("auto", "speculation", "option", Translatable("Overlap"), options=OVERLAPS)
    thinking: ThinkingMode = "default"
    variables: Mapping[str, Any] = field(default_factory=dict, hash=False)
    _sampling: SamplingConfig = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sampling = SamplingConfig(**{name: getattr(self, name) for name in SAMPLING})
        object.__setattr__(self, "_sampling", sampling)
        constraint_of(self.schema)
        GenerationRequest("-", sampling=sampling, max_tokens=self.max_tokens, stop=self.stop, thinking=self.thinking)
        SpeculationConfig(method=self.method, acceptance=self.acceptance, overlap=self.overlap)  # type: ignore[arg-type]

    # What the engine takes --------------------------------------------------------------------------------------------

    def sampling(self) -> SamplingConfig:
        return self._sampling

    def options(self, lookahead: Lookahead) -> dict[str, Any]:
        """Return the engine's named arguments, beside the messages. `lookahead`: from `lookahead_for`."""
        return {
            **{name: getattr(self, name) for name in SAMPLING},
            "max_tokens": self.max_tokens,
            "stop": self.stop,
            "method": self.method,
            "acceptance": self.acceptance,
            "overlap": "off" if self.repeats and self.overlap == "auto" else self.overlap,
            "lookahead": lookahead,
            **({"constraint": constraint_of(self.schema)} if self.schema.strip() else {}),
            **self.template_options,
            **self.thinking_options,
        }

    @property
    def template_options(self) -> dict[str, Any]:
        """Return the further variables of the chat template, by name, as the engine takes them; nothing for none."""
        return {"template_options": dict(self.variables)} if self.variables else {}

    @property
    def thinking_options(self) -> dict[str, Any]:
        """Return the thinking option of the engine; none if it is left to the model."""
        return {} if self.thinking == "default" else {"thinking": self.thinking}

    @property
    def repeats(self) -> bool:
        """Return True if a reply that is drawn is to come out the same again."""
        return self.seed is not None and self.temperature > 0

    def lookahead_for(self, lookahead: Lookahead, *, has_draft: bool) -> Lookahead:
        """Return the lookahead that is asked for where `lookahead` is chosen.

        None with plain decoding. For a reply that is to come out the same again, auto is a fixed one where what is
        drawn would depend on the timing (see SpeculationConfig on 'default').
        """
        if self.method == PLAIN:
            return 0
        judged = has_draft and self.acceptance == "rejection" and self.method not in _INDEXES
        return DEFAULT_LOOKAHEAD if lookahead == "auto" and self.repeats and judged else lookahead

    def messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages for the model: the system prompt first, if there is one, and a hint after a result."""
        hinted = tuple(host.with_hint(messages))
        return (Message("system", self.system), *hinted) if self.system.strip() else hinted

    # As it is kept ----------------------------------------------------------------------------------------------------

    def to_mapping(self, names: tuple[str, ...] | None = None) -> dict[str, Any]:
        """Return the named fields as JSON can say them."""
        values = {name: getattr(self, name) for name in (CONVERSATION if names is None else names)}
        if "stop" in values:
            values["stop"] = list(self.stop)
        return values

    @classmethod
    def from_mapping(cls, data: object, base: GenerationChoice | None = None) -> GenerationChoice:
        """Read a stored choice; invalid or missing values are those of `base` (None: the default)."""
        choice = cls() if base is None else base
        if not isinstance(data, Mapping):
            return choice
        values = {name: data[name] for name in FIELDS if name in data}
        whole = choice.with_values(values)
        if whole is not None:
            return whole
        for name, value in values.items():
            choice = choice.with_value(name, value) or choice
        return choice

    def with_value(self, name: str, value: object) -> GenerationChoice | None:
        """Return it with another value of one field, as JSON says it. None if that makes no sense."""
        return self.with_values({name: value})

    def with_values(self, given: Mapping[str, object]) -> GenerationChoice | None:
        """Return it with other values of these fields, as JSON says them. None if one of them makes no sense."""
        values: dict[str, Any] = {
            name: _stops(value) if GENERATION[name].kind == "lines" else value for name, value in given.items()
        }
        if not all(_may_be(GENERATION[name], value) for name, value in values.items()):
            return None
        if all(_same(value, getattr(self, name)) for name, value in values.items()):
            return self
        try:
            return replace(self, **values)
        except (EngineError, TypeError, ValueError):
            return None


def _may_be(known: GenerationField, value: object) -> bool:
    """Return True for a possible value of a field, before the engine checks it."""
    if isinstance(value, str):
        return clean(value) == value and len(value) <= LONGEST_SYSTEM
    return known.kind not in ("text", "option") and (value is not None or known.optional)


def _same(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


def _described() -> Mapping[str, GenerationField]:
    found = {each.name: description(each.metadata) for each in fields(GenerationChoice)}
    return {name: replace(entry, name=name) for name, entry in found.items() if entry is not None}


def _named(*groups: str) -> tuple[str, ...]:
    return tuple(name for name, each in GENERATION.items() if each.group in groups)


GENERATION = _described()
"""The register of the fields, by name, in their order."""
FIELDS = tuple(GENERATION)
SAMPLING = _named("sampling")
"""The fields of a SamplingConfig."""
PRESET = _named("sampling", "reply")
"""The fields of a preset."""
CONVERSATION = _named("sampling", "reply", "system")
"""The fields that each conversation has of its own."""
THINKING = "thinking"
"""The key of the thinking mode in the settings of a conversation."""
CHOSEN = "chosen"
"""Marks, beside them, a sampling that a person chose, were it the one that everything begins with."""
SPECULATION = _named("speculation")
"""The fields that all conversations share."""


def _stops(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or len(value) > MOST_STOPS:
        return None
    good = all(isinstance(each, str) and each and len(each) <= LONGEST_STOP and clean(each) == each for each in value)
    return tuple(dict.fromkeys(value)) if good else None


@lru_cache(maxsize=8)
def constraint_of(schema: str) -> Constraint | None:
    """Return the constraint that a format means: a JSON schema, "json" for any object, "" for none.

    Raises InvalidRequest.
    """
    typed = schema.strip()
    if typed in ("", "json"):
        return Constraint.json() if typed else None
    return Constraint("json-schema", typed)
