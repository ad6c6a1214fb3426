"""The events of a reply, and drafts: immutable values, told apart by their kind."""

from copy import deepcopy
from typing import Any

import pytest

from engine.config import SamplingConfig
from engine.drafting.base import Draft
from engine.drafting.none import NoDrafter
from engine.events import Finished, PromptProgress, RoundEvent, TokenEvent
from engine.generation.loop import GenerationLoop
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.loop_plans import loop_plan

TOKEN = TokenEvent(5, "ab", "accepted", 3, 7, -0.5)
ROUND = RoundEvent(3, "ngram", 4, 4, 2, 0.5, 9.0)


def test_the_events_of_a_reply_are_frozen() -> None:
    plan = loop_plan(FakeBackend(seed=1), NoDrafter(), SamplingConfig(), [1, 2, 3], length=3)
    kinds = set()
    for event in GenerationLoop(plan).run():
        kinds.add(type(event))
        for name in (event._fields[0], "other"):
            with pytest.raises(AttributeError):
                setattr(event, name, 7)
    assert kinds == {PromptProgress, TokenEvent, RoundEvent, Finished}


@pytest.mark.parametrize("value", [TOKEN, ROUND, Draft((1, 2), source="ngram")])
def test_equal_values_are_equal(value: Any) -> None:
    assert deepcopy(value) == value == type(value)(**value._asdict())
    assert value._replace(**{value._fields[0]: 9}) != value
    assert repr(value).startswith(f"{type(value).__name__}({value._fields[0]}=")


def test_optional_fields() -> None:
    assert (TOKEN.draft_logprob, TOKEN.top, ROUND.speedup) == (None, (), None)
    assert Draft() == Draft((), None, (), None, "")


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="token"):
        TokenEvent()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="other"):
        RoundEvent(*ROUND, other=1)  # type: ignore[call-arg]
