"""Calibrating before the first reply asks for it, and calling that off."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine import Cancelled, CancelToken, InvalidRequest, ModelNotLoaded, SpeculativeDecoder
from engine.backends.base import Backend
from engine.host import cache_folder
from engine.library.names import resolve_source
from engine.lookahead import calibration, knowledge
from engine.lookahead.costs import CostModel

Calibrate = Callable[..., CostModel]


@pytest.fixture
def decoder(bundled_target: Path, bundled_draft: Path) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(bundled_target)
    decoder.attach_draft(bundled_draft)
    return decoder


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A word for each calibration that is begun."""
    begun: list[str] = []
    real: Calibrate = calibration.calibrate

    def calibrate(target: Backend, draft: Backend | None, *, budget_s: float = 2.0, **options: object) -> CostModel:
        begun.append("begun")
        return real(target, draft, budget_s=min(budget_s, 0.3), **options)

    monkeypatch.setattr(knowledge, "calibrate", calibrate)
    return begun


def costs_files() -> list[Path]:
    """What is remembered of pairs."""
    return list((cache_folder() / "costs").glob("*.json"))


def test_the_reply_uses_what_was_measured_ahead(decoder: SpeculativeDecoder, calls: list[str]) -> None:
    with decoder:
        decoder.calibrate()
        decoder.calibrate()
        assert calls == ["begun"]
        assert len(costs_files()) == 1
        assert decoder.generate("Hello!", max_tokens=8, lookahead="auto").stats.emitted == 8
        assert calls == ["begun"]
        decoder.attach_draft(None)
        decoder.calibrate()
        assert calls == ["begun", "begun"], "another pair"


def test_called_off_it_leaves_the_costs_to_the_replies(decoder: SpeculativeDecoder, calls: list[str]) -> None:
    with decoder:
        token = CancelToken()
        token.cancel()
        with pytest.raises(Cancelled):
            decoder.calibrate(cancel=token)
        assert not token.cancelled, "a token is used up"
        assert costs_files() == []
        assert calls == ["begun"]
        assert decoder.generate("Hello!", max_tokens=8, lookahead="auto").stats.emitted == 8
        assert calls == ["begun"], "the reply does not begin it again"
        decoder.calibrate(cancel=token)
        assert calls == ["begun", "begun"]
        assert len(costs_files()) == 1


def test_it_needs_a_target_and_a_decoder_that_is_not_writing(decoder: SpeculativeDecoder) -> None:
    with pytest.raises(ModelNotLoaded):
        SpeculativeDecoder().calibrate()
    with decoder:
        for _ in decoder.stream("Hello!", max_tokens=2):
            with pytest.raises(InvalidRequest, match="generating a reply"):
                decoder.calibrate()


def test_nothing_is_measured_behind_a_reply_that_has_streams_beside_it(
    decoder: SpeculativeDecoder, calls: list[str]
) -> None:
    with decoder:
        decoder.open_streams(2)
        decoder.generate("Hello!", max_tokens=4, lookahead="auto")
        assert calls == [], "they would wait for it"
        decoder.close_streams()
        decoder.generate("Hello!", max_tokens=4, lookahead="auto")
        assert calls == ["begun"]


def test_heads_see_nothing_of_what_is_measured_with(bundled_target: Path, calls: list[str]) -> None:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(bundled_target)
        decoder.attach_heads(resolve_source("demo-head"))
        result = decoder.generate("Tell me a story of a fox.", max_tokens=12, lookahead="auto", temperature=0.0)
        assert calls == ["begun"]
        assert decoder.target is not None
        assert decoder.heads is not None
        held = list(decoder.target.tokens)
        assert held[-11:] == list(result.tokens[:-1])
        assert list(decoder.heads.tokens)[: len(held)] == held
