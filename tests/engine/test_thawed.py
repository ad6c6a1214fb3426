"""What `thawed` makes is what the frozen dataclass itself makes."""

from copy import deepcopy
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from engine.backends.fake import FakeBackend
from engine.config import SamplingConfig
from engine.drafting.base import Draft
from engine.drafting.none import NoDrafter
from engine.events import RoundEvent, TokenEvent
from engine.generation.loop import GenerationLoop
from engine.thawed import thawed
from helpers.decoding.loop_jobs import loop_job


@dataclass(frozen=True, slots=True)
class Kept:
    """With every sort of default."""

    name: str
    size: int = 3
    parts: list[int] = field(default_factory=list)


def test_it_is_the_same_in_every_way() -> None:
    made, own = thawed(Kept)("a", size=4), Kept("a", 4)
    assert type(made) is Kept
    assert made == own
    assert repr(made) == repr(own)
    assert asdict(made) == asdict(own)
    assert replace(made, size=5) == Kept("a", 5)
    assert deepcopy(made) == own
    assert thawed(Kept)("a").parts is not thawed(Kept)("a").parts


def test_it_stays_frozen() -> None:
    made = thawed(Kept)("a")
    with pytest.raises(FrozenInstanceError):
        made.size = 5  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        made.other = 5  # type: ignore[attr-defined]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="name"):
        thawed(Kept)()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="other"):
        thawed(Kept)("a", other=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="dataclass"):
        thawed(str)


def test_the_events_of_a_reply_are_frozen() -> None:
    job = loop_job(FakeBackend(seed=1), NoDrafter(), SamplingConfig(), [1, 2, 3], length=3)
    kinds = set()
    for event in GenerationLoop(job).run():
        kinds.add(type(event))
        with pytest.raises(FrozenInstanceError):
            setattr(event, fields(event)[0].name, 7)
    assert {TokenEvent, RoundEvent} < kinds


@pytest.mark.parametrize("kind", [TokenEvent, RoundEvent, Draft])
def test_those_of_the_loop_have_nothing_to_do_after_init(kind: type) -> None:
    assert not hasattr(kind, "__post_init__")
    assert all(each.init and not each.kw_only for each in fields(kind))
