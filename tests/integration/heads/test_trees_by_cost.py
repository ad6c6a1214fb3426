"""Trees chosen by cost, on real heads: the text is the target's, one pass a round, and caches hold the text alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge
from engine.lookahead.policy import AutoLookahead
from helpers.heads.dflash import write_dflash
from helpers.heads.eagle import write_eagle3
from helpers.heads.medusa import write_medusa
from helpers.heads.replies import PROMPT, draws_alike, follow_heads, open_in_folder, open_with_heads
from helpers.heads.torch_eagle import write_torch_eagle
from helpers.models.pairs import assert_same_greedy

BY_COST: dict[str, Any] = {"tree": "auto", "lookahead": "auto", "method": "auto"}


class _Flat(CostModel):
    """Verification that costs the same for all sizes, whatever a round took."""

    def __init__(self) -> None:
        super().__init__({n: 10.0 + 0.02 * n for n in range(1, 34)}, 0.3)

    def observe_verify(self, n: int, ms: float) -> None: ...

    def observe_rest(self, proposed: int, ms: float) -> None: ...

    def observe_draft(self, tokens: int, ms: float, source: str = "") -> None: ...

    def draft(self, source: str = "draft-model") -> float:
        return 0.3


@pytest.fixture(autouse=True)
def _at_their_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds take what their costs say, however busy the machine is: what they gain for their time is learned too."""
    observe = AutoLookahead.observe

    def observed(policy: AutoLookahead, proposed: int, accepted: int, *told: Any, nodes: int = 0) -> None:
        drafted, verified = policy.costs.draft() * proposed, policy.costs.verify(max(proposed, nodes) + 1)
        observe(policy, proposed, accepted, drafted, verified, told[2], nodes=nodes)

    monkeypatch.setattr(AutoLookahead, "observe", observed)


@pytest.fixture(scope="module", params=["eagle3-gguf", "dflash-gguf", "eagle3", "medusa"])
def decoder(request: pytest.FixtureRequest, target: Path, folder: Path) -> Iterator[SpeculativeDecoder]:
    kind = str(request.param)
    if kind.endswith("gguf"):
        make = write_dflash if kind.startswith("dflash") else write_eagle3
        with open_with_heads(target, make(folder / f"{kind}.gguf", target)) as opened:
            yield opened
        return
    target = request.getfixturevalue("torch_target")
    write = write_medusa if kind == "medusa" else write_torch_eagle
    with open_in_folder(target, write(folder / kind, target)) as opened:
        yield opened


def test_the_text_is_the_targets(decoder: SpeculativeDecoder) -> None:
    assert decoder.target is not None
    choices: list[dict[str, Any]] = [{}, {"repeat_penalty": 1.3}]
    for rules in choices:
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0, **rules)
        decoder._knowledge = PairKnowledge(_Flat())
        result = follow_heads(decoder, max_tokens=40, **BY_COST, **rules)
        assert_same_greedy(decoder.target, PROMPT, plain, result)
        assert result.stats.target_forwards == result.stats.rounds
        assert result.stats.accepted > 3
        assert max(result.stats.proposed_by_position) > 1.3 * result.stats.rounds, "there were trees"


@pytest.mark.parametrize("decoder", ["eagle3-gguf"], indirect=True)
def test_the_distribution_is_the_targets(decoder: SpeculativeDecoder) -> None:
    decoder._knowledge = PairKnowledge(_Flat())
    assert draws_alike(decoder, **BY_COST) > 0.001
    assert decoder.stats.proposed_by_position[0] > 1.3 * decoder.stats.rounds


@pytest.mark.parametrize("decoder", ["eagle3-gguf"], indirect=True)
def test_constraints_and_conversations(decoder: SpeculativeDecoder) -> None:
    decoder._knowledge = PairKnowledge(_Flat())
    constraint = Constraint.regex("( w[0-9]{1,3}){12,40}")
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=60, lookahead=0, constraint=constraint)
    first = follow_heads(decoder, constraint=constraint, **BY_COST)
    assert first.tokens == plain.tokens
    longer = [*PROMPT, *first.tokens, 50, 51]
    plain = decoder.generate(longer, temperature=0.0, max_tokens=30, lookahead=0)
    for options in (BY_COST, {"lookahead": 3}, BY_COST):
        assert follow_heads(decoder, longer, max_tokens=30, **options).tokens == plain.tokens
    room = follow_heads(decoder, max_tokens=None, **BY_COST)
    assert room.tokens == decoder.generate(PROMPT, temperature=0.0, lookahead=0).tokens
    assert room.finish_reason == "context"
