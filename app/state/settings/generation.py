"""Hold the settings of a reply: sampling, its end, the system prompt, speculation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from app.state.conversations.conversation import clean
from app.state.models.models import Lookahead
from app.state.settings.fields import GenerationField, Option, described, description
from engine import (
    DEFAULT_LOOKAHEAD,
    EngineError,
    GenerationRequest,
    Message,
    Phrase,
    SamplingConfig,
    SpeculationConfig,
)

MOST_STOPS = 32
LONGEST_STOP = 1_000
LONGEST_SYSTEM = 200_000
"""Characters."""


def _count(number: int) -> Phrase:
    """Return a number that is written with its groups of digits apart."""
    return Phrase("{count:,}", count=number)


METHODS = (
    Option(
        "auto",
        Phrase("Automatic"),
        Phrase(
            "Uses the draft that is chosen in the window. With lookahead auto it also uses the text so far, "
            "whichever promises more."
        ),
    ),
    Option("draft-model", Phrase("Draft model"), Phrase("Only the draft model proposes tokens, if one is chosen.")),
    Option(
        "ngram",
        Phrase("N-gram"),
        Phrase("Proposes what followed earlier in the text when it begins to repeat. Needs no draft model."),
    ),
    Option("autoregressive", Phrase("Plain"), Phrase("Proposes nothing: the target generates one token at a time.")),
)
"""Methods that can be chosen in the window: those that it has the models for."""
ACCEPTANCES = (
    Option(
        "rejection",
        Phrase("Rejection sampling"),
        Phrase("Keeps a proposed token with probability target / draft, at most 1. Accepts the most tokens."),
    ),
    Option(
        "exact",
        Phrase("Exact match"),
        Phrase(
            "Keeps a proposed token if the target samples the same one. Accepts fewer tokens; with a seed, a "
            "reply repeats at any lookahead."
        ),
    ),
)
OVERLAPS = (
    Option("auto", Phrase("Automatic"), Phrase("On if draft and target do not run on the same cores.")),
    Option("on", Phrase("On"), Phrase("The draft keeps proposing while the target verifies.")),
    Option("off", Phrase("Off"), Phrase("The draft waits for the target.")),
)


@dataclass(frozen=True, slots=True)
class GenerationChoice:
    """Hold the settings of a reply. The default is what the program does if nothing was chosen: greedy.

    Sampling as in the engine's SamplingConfig (`temperature` 0: greedy; `seed` None: another one each time).
    `max_tokens`: new tokens at most, None: until the end of the context; `stop`: texts that end a reply; `system`: what
    the model is told before everything else, "": nothing. `method`, `acceptance`, `overlap` as in SpeculationConfig.
    Raises InvalidRequest and its kinds, UnknownMethod.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    system: str = ""
    method: str = "auto"
    acceptance: str = "rejection"
    overlap: str = "auto"
    _sampling: SamplingConfig = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sampling = SamplingConfig(**{name: getattr(self, name) for name in SAMPLING})
        object.__setattr__(self, "_sampling", sampling)
        GenerationRequest("-", sampling=sampling, max_tokens=self.max_tokens, stop=self.stop)
        SpeculationConfig(method=self.method, acceptance=self.acceptance, overlap=self.overlap)  # type: ignore[arg-type]

    # What the engine takes --------------------------------------------------------------------------------------------

    def sampling(self) -> SamplingConfig:
        """Return how tokens are chosen."""
        return self._sampling

    def options(self, lookahead: Lookahead) -> dict[str, Any]:
        """All that the engine takes by name, beside the messages. `lookahead`: what `lookahead_for` gives."""
        return {
            **{name: getattr(self, name) for name in SAMPLING},
            "max_tokens": self.max_tokens,
            "stop": self.stop,
            "method": self.method,
            "acceptance": self.acceptance,
            "overlap": "off" if self.repeats and self.overlap == "auto" else self.overlap,
            "lookahead": lookahead,
        }

    @property
    def repeats(self) -> bool:
        """Return whether a reply that is drawn is to come out the same again."""
        return self.seed is not None and self.temperature > 0

    def lookahead_for(self, lookahead: Lookahead, *, has_draft: bool) -> Lookahead:
        """The lookahead that is asked for where `lookahead` is chosen.

        None with plain decoding. For a reply that is to come out the same again, auto is a fixed one where what is
        drawn would depend on the timing (see SpeculationConfig on 'default').
        """
        if self.method == "autoregressive":
            return 0
        judged = has_draft and self.acceptance == "rejection" and self.method != "ngram"
        return DEFAULT_LOOKAHEAD if lookahead == "auto" and self.repeats and judged else lookahead

    def messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages that the model reads: the system prompt first, if there is one."""
        return (Message("system", self.system), *messages) if self.system.strip() else tuple(messages)

    # As it is kept ----------------------------------------------------------------------------------------------------

    def to_mapping(self, names: tuple[str, ...] | None = None) -> dict[str, Any]:
        """As JSON can say it: those of its fields."""
        told = {name: getattr(self, name) for name in (CONVERSATION if names is None else names)}
        if "stop" in told:
            told["stop"] = list(self.stop)
        return told

    @classmethod
    def from_mapping(cls, data: object, base: GenerationChoice | None = None) -> GenerationChoice:
        """Return what was kept: what makes no sense, or is not there, is as in `base` (None: the default)."""
        choice = cls() if base is None else base
        if not isinstance(data, Mapping):
            return choice
        told = {name: data[name] for name in FIELDS if name in data}
        whole = choice.with_values(told)
        if whole is not None:
            return whole
        for name, value in told.items():
            choice = choice.with_value(name, value) or choice
        return choice

    def with_value(self, name: str, value: object) -> GenerationChoice | None:
        """Return it with another value of one field, as JSON says it. None where that makes no sense."""
        return self.with_values({name: value})

    def with_values(self, told: Mapping[str, object]) -> GenerationChoice | None:
        """Return it with other values of these fields, as JSON says them. None where one of them makes no sense."""
        values: dict[str, Any] = {name: _stops(value) if name == "stop" else value for name, value in told.items()}
        if not all(_may_be(name, value) for name, value in values.items()):
            return None
        if all(_same(value, getattr(self, name)) for name, value in values.items()):
            return self
        try:
            return replace(self, **values)
        except (EngineError, TypeError, ValueError):
            return None


FIELDS = tuple(each.name for each in fields(GenerationChoice) if each.init)
_WHOLE = ("top_k", "penalty_window", "seed", "max_tokens")
_MAY_BE_EMPTY = ("seed", "max_tokens", "stop", "system")


def _may_be(name: str, value: object) -> bool:
    """Return whether this could be a value of a field, before the engine looks at it."""
    if isinstance(value, str):
        return clean(value) == value and len(value) <= LONGEST_SYSTEM
    return name not in ("system", *SPECULATION) and (value is not None or name in ("seed", "max_tokens"))


def _same(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


def _stops(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or len(value) > MOST_STOPS:
        return None
    good = all(isinstance(each, str) and each and len(each) <= LONGEST_STOP and clean(each) == each for each in value)
    return tuple(dict.fromkeys(value)) if good else None
