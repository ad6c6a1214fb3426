"""A draft model and a head at once: auto asks the one that pays, the other catches up, and the text is the target's."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.drafting import vocabulary
from engine.errors import LoadFailed
from engine.events import RoundEvent, TokenEvent
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge
from engine.lookahead.policy import Allowance, AutoLookahead
from helpers.decoding.invariants import check_caches
from helpers.heads.eagle import write_eagle3, write_plain_target
from helpers.heads.replies import PROMPT, draws_alike, follow_heads, open_with_heads

FLAT = {n: 10.0 + 0.5 * n for n in range(1, 34)}


class _Turns(CostModel):
    """Costs of which nothing is measured: now one source is the cheaper one, now the other."""

    rounds = 0

    def observe_verify(self, n: int, ms: float) -> None:
        self.rounds += 1

    def observe_rest(self, proposed: int, ms: float) -> None: ...

    def observe_draft(self, tokens: int, ms: float, source: str = "") -> None: ...

    def draft(self, source: str = "draft-model") -> float:
        return 0.2 if (source == "eagle3") == (self.rounds // 8 % 2 == 0) else 9.0


@pytest.fixture(scope="module")
def decoder(target: Path, folder: Path) -> Iterator[SpeculativeDecoder]:
    draft = write_plain_target(folder / "draft.gguf", mixing=0.24)
    with open_with_heads(target, write_eagle3(folder / "head.gguf", target)) as opened:
        opened.attach_draft(LoadConfig(draft, threads=1, trusted=True))
        yield opened


def _knowing(decoder: SpeculativeDecoder) -> None:
    decoder._knowledge = PairKnowledge(_Turns(FLAT, 0.2))


def _same_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell the policy of the same time for each round: what it tries depends on no machine."""
    observe = AutoLookahead.observe

    def told(policy: AutoLookahead, proposed: int, accepted: int, *measured: Any, nodes: int) -> None:
        observe(policy, proposed, accepted, 0.1, 1.0, measured[2], nodes=nodes)

    monkeypatch.setattr(AutoLookahead, "observe", told)


def test_both_are_asked_and_the_text_is_the_targets(
    decoder: SpeculativeDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After every round: the target's cache has the text, those of the sources have a beginning of it."""
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=100, lookahead=0)
    monkeypatch.setattr(AutoLookahead, "_find_out", lambda _, chosen: chosen)
    _knowing(decoder)
    sources, tokens = Counter[str](), list[int]()
    events = decoder.stream(
        PROMPT, temperature=0.0, max_tokens=100, sources=("draft-model", "eagle3"), lookahead="auto"
    )
    for event in events:
        if isinstance(event, RoundEvent):
            sources[event.source] += event.proposed
            check_caches(decoder, [*PROMPT, *tokens], behind=200)
            assert decoder.heads is not None
            held = list(decoder.heads.tokens)
            assert held == [*PROMPT, *tokens][: len(held)]
        if isinstance(event, TokenEvent):
            tokens.append(event.token)
    assert tokens == list(plain.tokens)
    assert min(sources["eagle3"], sources["draft-model"]) > 3


def test_one_target_pass_a_round_and_no_setting_needed(decoder: SpeculativeDecoder) -> None:
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=100, lookahead=0)
    _knowing(decoder)
    result = decoder.generate(PROMPT, temperature=0.0, max_tokens=100)
    assert (result.tokens, result.method, result.lookahead) == (plain.tokens, "eagle3", "auto")
    assert result.stats.target_forwards == result.stats.rounds
    assert {method.name for method in result.stats.by_method} & {"eagle3", "draft-model"}


def test_a_draft_of_few_tokens_works_beside_a_head(
    decoder: SpeculativeDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "COMMON", 256)
    monkeypatch.setattr("engine.drafting.draft_model.LEAST", 0)
    vocabulary._of_models.clear()
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=60, lookahead=0)
    _knowing(decoder)
    result = decoder.generate(PROMPT, temperature=0.0, max_tokens=60)
    assert result.tokens == plain.tokens
    assert {method.name for method in result.stats.by_method} & {"eagle3", "draft-model"}
    assert decoder.draft is not None
    decoder.draft.truncate(0)
    assert np.isfinite(decoder.draft.forward(PROMPT, 1)).all(), "the model is whole again"


def test_the_distribution_is_the_targets(decoder: SpeculativeDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Allowance, "spend", lambda _self, _tokens: None)
    _same_times(monkeypatch)
    _knowing(decoder)
    assert draws_alike(decoder, method="auto", sources=("draft-model", "eagle3"), lookahead="auto") > 0.001
    used = {method.name: method.proposed for method in decoder.stats.by_method}
    assert min(used["eagle3"], used["draft-model"]) > 100


@pytest.mark.parametrize("sources", [("eagle3", "draft-model"), ("draft-model", "eagle3")])
def test_a_fixed_lookahead_asks_in_the_order_given(decoder: SpeculativeDecoder, sources: tuple[str, str]) -> None:
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
    result = follow_heads(decoder, method="auto", sources=sources, lookahead=3, max_tokens=40)
    assert result.tokens == plain.tokens
    proposed = {method.name: method.proposed for method in result.stats.by_method}
    assert proposed.get(sources[0], 0) > 10 * proposed.get(sources[1], 0)


def test_a_head_that_rests_computes_nothing(decoder: SpeculativeDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps what it is shown, and catches up when it is asked: from then on it proposes what it always does."""
    heads = decoder.heads
    assert heads is not None
    fixed: dict[str, Any] = {"temperature": 0.0, "max_tokens": 60, "method": "eagle3", "lookahead": 3}
    always = decoder.generate(PROMPT, **fixed)
    fed: list[int] = []
    original = heads._layers.feed

    def watched(first: int, tokens: list[int], *args: Any, **more: Any) -> Any:
        fed.extend(tokens)
        return original(first, tokens, *args, **more)

    monkeypatch.setattr(heads._layers, "feed", watched)
    decoder._knowledge = PairKnowledge(CostModel({n: 10.0 * n for n in range(1, 34)}, 5.0))
    heads.truncate(0)
    decoder._knowledge.allowance.spend(100.0)
    decoder._knowledge.acceptance("draft-model", greedy=True).observe(4, 0)
    for name in ("eagle3 head", "draft-model"):
        for _ in range(60):
            decoder._knowledge.acceptance(name, greedy=True).observe(1, 0)
    result = decoder.generate(PROMPT, temperature=0.0, max_tokens=60)
    assert (result.tokens, result.stats.proposed, fed) == (always.tokens, 0, [])
    assert decoder.generate(PROMPT, **fixed).stats.accepted == always.stats.accepted
    assert fed


def test_all_that_proposes_is_loaded_at_once(decoder: SpeculativeDecoder, target: Path, folder: Path) -> None:
    """Which of the files are heads the engine finds out; what is there stays, also where another one fails."""
    files = (target, folder / "head.gguf", folder / "draft.gguf")
    wanted, head, draft = (LoadConfig(path, threads=1, trusted=True) for path in files)
    with SpeculativeDecoder() as other:
        other.attach(wanted, [draft, head])
        assert [source.method.name for source in other.sources] == ["eagle3", "draft-model"]
        heads, model = other.heads, other.draft
        other.attach(None, [replace(head, despite_memory=True)])
        assert (other.heads, other.draft) == (heads, None), "what is checked before changes nothing"
        with pytest.raises(LoadFailed):
            other.attach(None, [replace(draft, path=folder / "gone.gguf")])
        assert other.heads is heads
        other.attach(None, [draft])
        assert other.heads is None
        assert other.draft not in (None, model)
        assert [source.config for source in other.sources] == [draft]
