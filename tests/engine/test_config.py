"""Configurations check themselves when they are made, and say what is allowed."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config import (
    GenerationRequest,
    LoadConfig,
    SamplingConfig,
    SpeculationConfig,
    check_lookahead,
    freeze_prompt,
)
from engine.errors import InvalidLookahead, InvalidRequest, InvalidSampling, UnknownMethod
from engine.messages.message import Message
from engine.translatable import Translatable


def test_what_is_valid_builds_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make = Translatable._made

    def note(template: str, fields: dict[str, object], capital: bool | None) -> Translatable:
        made.append(template)
        return make(template, fields, capital)

    monkeypatch.setattr(Translatable, "_made", note)
    sampling = SamplingConfig(
        temperature=0.7,
        top_k=40,
        top_p=0.9,
        min_p=0.1,
        typical=0.9,
        repeat_penalty=1.1,
        presence_penalty=0.5,
        frequency_penalty=0.5,
        penalty_window=32,
        logit_bias=((3, -1.0),),
        banned_tokens=(5,),
        seed=7,
    )
    speculation = SpeculationConfig(
        "draft-model", 4, ("draft-model",), "on", "exact", draft_sampling=sampling, draft_temperature=0.5
    )
    GenerationRequest(freeze_prompt("Hello"), False, sampling, speculation, 32, ("END",), (2,), 5)
    GenerationRequest(freeze_prompt([{"role": "user", "content": "Hello"}, Message("assistant", "Hi")]))
    LoadConfig(Path("model.gguf"), 2048, 2, -1, device="cuda:1", dtype="float16", cache_type="q8_0")
    assert not made
    with pytest.raises(InvalidSampling):
        SamplingConfig(top_k=-1)
    assert made == ["{parameter} must be {allowed}, not {value!r}."]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("temperature", value) for value in (-0.1, math.nan, math.inf, "hot", None, True, 101, 10**400)),
        *(("top_k", value) for value in (-1, 1.5, "5", True)),
        *(("top_p", value) for value in (0.0, -0.5, 1.01, math.nan)),
        *(("min_p", value) for value in (-0.1, 1.1)),
        *(("typical", value) for value in (0.0, 1.5)),
        *(("repeat_penalty", value) for value in (0.0, -1.0, math.inf)),
        *(("presence_penalty", value) for value in (math.nan, 101.0, -(10**400))),
        *(("banned_tokens", value) for value in ((-1,), (2**64,), (True,), "1")),
        ("logit_bias", {2**64: 1.0}),
        *(("logit_bias", {1: value}) for value in (math.nan, -math.inf, 10**400, "1", True)),
        *(("frequency_penalty", value) for value in (math.nan, -101.0)),
        *(("penalty_window", value) for value in (-1, 0.5)),
        *(("seed", value) for value in (-1, 2**64, 1.0, "1")),
    ],
)
def test_sampling_says_what_is_allowed(name: str, value: object) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(InvalidSampling, match=rf"^{name} must be .*, not ") as caught:
        SamplingConfig(**options)
    assert caught.value.parameter == name
    assert str(caught.value).endswith(".")


def test_sampling_edges_that_are_allowed() -> None:
    SamplingConfig(0, 0, top_p=1.0, min_p=1.0, typical=1, seed=2**64 - 1)
    SamplingConfig(100, 2**31 - 1, top_p=1e-9, seed=0)


def test_greedy_and_penalised() -> None:
    assert SamplingConfig().greedy
    assert not SamplingConfig(0.1).greedy
    assert not SamplingConfig(penalty_window=3).penalised
    assert SamplingConfig(repeat_penalty=1.1).penalised
    assert SamplingConfig(presence_penalty=-1.0).penalised
    assert SamplingConfig(frequency_penalty=0.1).penalised


@pytest.mark.parametrize("value", [-1, 33, 1.0, "4", "fast", None, True])
def test_bad_lookahead(value: Any) -> None:
    with pytest.raises(InvalidLookahead, match="whole number from 0 to 32, 'adaptive' or 'auto', not"):
        SpeculationConfig(lookahead=value)


@pytest.mark.parametrize("value", [0, 1, 32, "adaptive", "auto"])
def test_good_lookahead(value: Any) -> None:
    assert check_lookahead(value) == value
    assert SpeculationConfig(lookahead=value).lookahead == value


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: SpeculationConfig(method="magic"), UnknownMethod),
        (lambda: SpeculationConfig(acceptance="typical"), InvalidRequest),  # type: ignore[arg-type]
        (lambda: SpeculationConfig(draft_temperature=-1.0), InvalidSampling),
        (lambda: SpeculationConfig(min_draft_confidence=1.5), InvalidSampling),
        (lambda: SpeculationConfig(adaptive_start=0), InvalidLookahead),
        (lambda: SpeculationConfig(adaptive_max=40), InvalidLookahead),
        (lambda: LoadConfig(Path("m.gguf"), context_length=4), InvalidRequest),
        (lambda: LoadConfig(Path("m.gguf"), threads=0), InvalidRequest),
        (lambda: LoadConfig(Path("m.gguf"), gpu_layers=-2), InvalidRequest),
        (lambda: LoadConfig(Path("m.gguf"), device="gpu"), InvalidRequest),
        (lambda: LoadConfig(Path("m.gguf"), device="cuda:x"), InvalidRequest),
        (lambda: LoadConfig(Path("m.gguf"), dtype="int8"), InvalidRequest),
        (lambda: GenerationRequest(""), InvalidRequest),
        (lambda: GenerationRequest(()), InvalidRequest),
        (lambda: GenerationRequest("a", max_tokens=0), InvalidRequest),
        (lambda: GenerationRequest("a", max_tokens=2.5), InvalidRequest),  # type: ignore[arg-type]
        (lambda: GenerationRequest("a", stop=("",)), InvalidRequest),
        (lambda: GenerationRequest("a", top=21), InvalidRequest),
        (lambda: Message("robot", "x"), InvalidRequest),
        (lambda: Message("user", None), InvalidRequest),  # type: ignore[arg-type]
    ],
)
def test_nonsense_is_refused(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("kind", [SamplingConfig, SpeculationConfig, LoadConfig, GenerationRequest, Message])
def test_configurations_are_frozen(kind: type) -> None:
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_three_kinds_of_prompt() -> None:
    assert freeze_prompt("text") == "text"
    assert freeze_prompt([1, np.int32(2)]) == (1, 2)
    turns = freeze_prompt([{"role": "user", "content": "hi"}, Message("assistant", "yes")])
    assert turns == (Message("user", "hi"), Message("assistant", "yes"))


@pytest.mark.parametrize(
    "prompt",
    [b"bytes", 5, None, [1, "two"], [{"role": "user"}], [{"role": "user", "content": 1}], [["user", "hi"]], [1.5]],
)
def test_other_prompts_are_refused(prompt: object) -> None:
    with pytest.raises(InvalidRequest):
        freeze_prompt(prompt)
