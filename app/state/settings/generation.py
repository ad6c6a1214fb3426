"""Hold the settings of a reply: sampling, its end, the system prompt, speculation."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from app.state.conversations.conversation import clean
from app.state.models.models import Lookahead
from engine import DEFAULT_LOOKAHEAD, EngineError, GenerationRequest, Message, SamplingConfig, SpeculationConfig

METHODS = ("auto", "draft-model", "ngram", "autoregressive")
"""Methods that can be chosen in the window: those that it has the models for."""
ACCEPTANCES = ("rejection", "exact")
OVERLAPS = ("auto", "on", "off")
SAMPLING = (
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "penalty_window",
    "seed",
)
"""What a SamplingConfig is made of."""
SPECULATION = ("method", "acceptance", "overlap")
"""What is the same for all conversations."""
CONVERSATION = (*SAMPLING, "max_tokens", "stop", "system")
"""What each conversation has of its own."""
PRESET = (*SAMPLING, "max_tokens", "stop")
"""What a preset holds."""
MOST_STOPS = 32
LONGEST_STOP = 1_000
LONGEST_SYSTEM = 200_000
"""Characters."""


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

    def __post_init__(self) -> None:
        GenerationRequest("-", sampling=self.sampling(), max_tokens=self.max_tokens, stop=self.stop)
        SpeculationConfig(method=self.method, acceptance=self.acceptance, overlap=self.overlap)  # type: ignore[arg-type]

    # What the engine takes --------------------------------------------------------------------------------------------

    def sampling(self) -> SamplingConfig:
        """Return the sampling settings."""
        return SamplingConfig(**{name: getattr(self, name) for name in SAMPLING})

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

    def to_mapping(self, names: tuple[str, ...] = CONVERSATION) -> dict[str, Any]:
        """As JSON can say it: those of its fields."""
        told = {name: getattr(self, name) for name in names}
        if "stop" in told:
            told["stop"] = list(self.stop)
        return told

    @classmethod
    def from_mapping(cls, data: object, base: GenerationChoice | None = None) -> GenerationChoice:
        """From what was kept: what makes no sense, or is not there, is as in `base` (None: the default)."""
        choice = cls() if base is None else base
        if not isinstance(data, Mapping):
            return choice
        for name in FIELDS:
            if name in data:
                choice = choice.with_value(name, data[name]) or choice
        return choice

    def with_value(self, name: str, value: object) -> GenerationChoice | None:
        """With another value of one field, as JSON says it. None where it makes no sense."""
        if name == "stop":
            value = _stops(value)
        if name in ("system", *SPECULATION) and not isinstance(value, str):
            return None
        if value is None and name not in ("seed", "max_tokens"):
            return None
        if isinstance(value, str) and (clean(value) != value or len(value) > LONGEST_SYSTEM):
            return None
        try:
            return replace(self, **{name: value})  # type: ignore[arg-type]
        except (EngineError, TypeError, ValueError):
            return None


FIELDS = tuple(each.name for each in fields(GenerationChoice))
_WHOLE = ("top_k", "penalty_window", "seed", "max_tokens")
_MAY_BE_EMPTY = ("seed", "max_tokens", "stop", "system")


def _stops(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or len(value) > MOST_STOPS:
        return None
    good = all(isinstance(each, str) and each and len(each) <= LONGEST_STOP and clean(each) == each for each in value)
    return tuple(dict.fromkeys(value)) if good else None


# What is typed ------------------------------------------------------------------------------------------------------


def parse(name: str, text: str) -> Any:
    r"""Parse the text of a field. Raises InvalidRequest and its kinds, in the engine's words.

    A number may be written with a comma. Stop strings: one a line; \n, \t and \\ are a line's end, a tab, a backslash.
    """
    value: Any = text
    if name == "stop":
        value = tuple(_unescape(line) for line in text.split("\n") if line)
    elif name in (*SAMPLING, "max_tokens"):
        value = _number(text.strip(), whole=name in _WHOLE)
        if value is None and name not in _MAY_BE_EMPTY:
            value = ""
    replace(GenerationChoice(), **{name: value})
    return value


def check(name: str, text: str) -> str | None:
    """Return what is wrong with the text of a field, by the engine's own checks. None: nothing."""
    try:
        value = parse(name, text)
    except EngineError as error:
        return error.message
    if GenerationChoice().with_value(name, value) is None:
        most = {"stop": f"{MOST_STOPS} of {LONGEST_STOP:,} characters", "system": f"{LONGEST_SYSTEM:,} characters"}
        return f"{name} must be text, at most {most.get(name, 'short')}."
    return None


def show(name: str, choice: GenerationChoice) -> str:
    """The value of a field as it is typed: `parse` reads it again."""
    value = getattr(choice, name)
    if value is None:
        return ""
    if name == "stop":
        return "\n".join(_escape(each) for each in value)
    if isinstance(value, float):
        return json.dumps(value).removesuffix(".0")
    return str(value)


def _number(text: str, *, whole: bool) -> float | int | str | None:
    """A number; text that is none stays text, which the engine refuses; None where nothing was typed."""
    if not text:
        return None
    try:
        if whole:
            return int(text)
        number = float(text.replace(",", ".", 1))
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


def _unescape(line: str) -> str:
    found, rest = "", line
    while rest:
        sign, rest = rest[0], rest[1:]
        if sign == "\\" and rest[:1] in _SIGNS and rest:
            sign, rest = _SIGNS[rest[0]], rest[1:]
        found += sign
    return found
