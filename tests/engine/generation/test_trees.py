"""Trees of proposals: the joint distribution of a reply is the target's own, and notices when a rule is broken.

Target and draft depend on the whole history and are far apart, as in test_joint_distribution.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.config import SamplingConfig, SpeculationConfig
from engine.drafting.base import Draft, TreeShape
from engine.drafting.draft_model import DraftModelDrafter
from engine.drafting.trees import ROOT, NextTokens, Tree, grow
from engine.errors import InvalidRequest
from engine.events import Finished, RoundEvent
from engine.generation.loop import GenerationLoop
from engine.sampling.acceptance import accept_sibling
from engine.sampling.candidates import Candidates
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.joint import BROKEN, ENOUGH, PROMPT, Setting
from helpers.decoding.loop_plans import loop_plan

SAMPLES, FEWER = 1_500, 600
MANY = 12_000
VOCABULARY = 6
HOT = SamplingConfig(temperature=0.8)
CUT = SamplingConfig(temperature=0.8, top_p=0.9, repeat_penalty=1.3)
GREEDY = SamplingConfig()


class Bushy(DraftModelDrafter):
    """Looks behind every node of a level, as a head that computes trees does."""

    def _look(self, tree: Tree, level: list[int]) -> list[NextTokens | None]:
        rows = (self._fake.row([*self._committed, *(tree.path(node) if node != ROOT else ())]) for node in level)
        paths = [[] if node == ROOT else tree.path(node) for node in level]
        return [self._next_tokens(row, path) for row, path in zip(rows, paths, strict=True)]

    @property
    def _fake(self) -> FakeBackend:
        assert isinstance(self._backend, FakeBackend)
        return self._backend


def _setting(tree: str, sampling: SamplingConfig = HOT, **speculation: Any) -> Setting:
    target = FakeBackend(VOCABULARY, 11, trees=True)
    wanted = SpeculationConfig(lookahead=int(tree[-1]), tree=tree, **speculation)  # type: ignore[arg-type]
    return Setting(target, FakeBackend(VOCABULARY, 23), sampling, wanted, make_drafter=Bushy)


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(_setting("3x3"), id="bushy"),
        pytest.param(replace(_setting("3x3"), make_drafter=DraftModelDrafter), id="one-path"),
        pytest.param(_setting("4x2", CUT), id="cut"),
        pytest.param(replace(_setting("3x3"), draft_sampling=GREEDY), id="by-rank"),
    ],
)
@pytest.mark.parametrize("samples", [SAMPLES, pytest.param(MANY, marks=pytest.mark.soak)])
def test_the_distribution_is_the_targets(setting: Setting, samples: int) -> None:
    assert setting.p_value(samples) >= ENOUGH


@pytest.mark.soak
@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(_setting("2x4", acceptance="exact"), id="exact-match"),
        pytest.param(_setting("2x3", min_draft_confidence=0.4), id="confidence"),
        pytest.param(_setting("4x8"), id="large"),
    ],
)
def test_other_ways_to_propose_trees(setting: Setting) -> None:
    assert setting.p_value(MANY) >= ENOUGH


Siblings = Iterable[tuple[int | None, NDArray[np.float64], float]]


def _without_residual(siblings: Siblings, target: NDArray[np.float64]) -> tuple[int | None, NDArray[np.float64]]:
    """Each sibling against the whole target, which loses only what the last one takes."""
    found = None
    for index, sibling in enumerate(siblings):
        kept, left = accept_sibling([sibling], target)
        found = left
        if kept is not None:
            return index, left
    return None, target if found is None else found


def _from_the_target(siblings: Siblings, target: NDArray[np.float64]) -> tuple[int | None, NDArray[np.float64]]:
    kept, _ = accept_sibling(siblings, target)
    return kept, target


@pytest.mark.parametrize("broken", [_without_residual, _from_the_target])
def test_leaving_out_the_residual_fails(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[[Siblings, NDArray[np.float64]], Any]
) -> None:
    monkeypatch.setattr("engine.generation.verifier.accept_sibling", broken)
    assert _setting("3x3").broken_p_value(FEWER) < BROKEN


def test_siblings_of_the_whole_distribution_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn without replacement, but told to be drawn with it."""

    class Untold(Bushy):
        def propose(self, n: int, goes_on: object = None) -> Draft:
            draft = super().propose(n)
            first: dict[int, Any] = {}
            assert draft.probs is not None
            assert draft.parents is not None
            told = [first.setdefault(parent, probs) for parent, probs in zip(draft.parents, draft.probs, strict=True)]
            return draft._replace(probs=told)

    assert replace(_setting("3x3"), make_drafter=Untold).broken_p_value(FEWER) < BROKEN


def test_dropping_unlikely_nodes_fails() -> None:
    class Drops(Bushy):
        def propose(self, n: int, goes_on: object = None) -> Draft:
            draft = super().propose(n)
            assert draft.probs is not None
            assert draft.parents is not None
            kept = [i for i, parent in enumerate(draft.parents) if draft.probs[i][draft.tokens[i]] > 0.35]
            kept = [i for i in kept if draft.parents[i] < 0]
            return Draft(
                tuple(draft.tokens[i] for i in kept),
                [draft.probs[i] for i in kept],
                (),
                (-1,) * len(kept) if kept else None,
            )

    assert replace(_setting("3x3"), make_drafter=Drops).broken_p_value(FEWER) < BROKEN


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("depth", [1, 3, 8])
def test_greedy_replies_are_the_same(width: int, depth: int) -> None:
    """In one pass a round, with counters that add up, and a cache that holds the text alone."""
    target, prompt = FakeBackend(VOCABULARY, 11, trees=True, context_length=60), [1, 2, 3]
    plain: list[int] = []
    for _ in range(40):
        plain.append(int(target.row([*prompt, *plain]).argmax()))
    drafter = Bushy(FakeBackend(VOCABULARY, 11, sharpness=1.3), VOCABULARY, GREEDY, 1, tree=TreeShape(width, depth, 60))
    rounds = 0
    for event in GenerationLoop(loop_plan(target, drafter, GREEDY, prompt, lookahead=depth)).run():
        if isinstance(event, RoundEvent):
            rounds += 1
            assert list(target.tokens) == [*prompt, *plain][: target.length]
            assert len(event.rejected) == event.proposed - event.accepted
        if isinstance(event, Finished):
            stats = event.result.stats
            assert list(event.result.tokens) == plain
            assert stats.target_forwards == stats.rounds == rounds
            assert sum(stats.proposed_by_position) == stats.proposed
            assert sum(stats.accepted_by_position) == stats.accepted > 0
            assert max(stats.proposed_by_position) <= width * rounds
            assert stats.advice is None
    assert list(target.tokens) == [*prompt, *plain][:-1]


def test_a_tree_takes_the_likeliest_paths() -> None:
    """By the product of their probabilities, as many as there is room for on a level."""
    known = {(): [0.6, 0.3, 0.1], (0,): [0.1, 0.2, 0.7], (1,): [0.9, 0.1, 0.0]}

    def look(tree: Tree, level: list[int]) -> Sequence[NextTokens | None]:
        paths = [() if node == ROOT else tuple(tree.path(node)) for node in level]
        return [_next_tokens(known[path]) if path in known else None for path in paths]

    def _next_tokens(probs: list[float]) -> NextTokens:
        return NextTokens(Candidates(3, np.array(probs)).best(2), lambda token: float(np.log(probs[token])))

    tree = grow(TreeShape(2, 8, 100), 8, 32, look, lambda probs, node: 0)
    # The first path comes first, which costs a cache the least.
    assert tree.draft("x") == Draft((0, 2, 1, 0), None, tuple(np.log([0.6, 0.7, 0.3, 0.9])), (-1, 0, -1, 2), "x")
    assert grow(TreeShape(2, 8, 100), 8, 3, look, lambda probs, node: 0).tokens == [0, 1, 2]


def test_the_context_ends_a_tree() -> None:
    target = FakeBackend(VOCABULARY, 11, trees=True, context_length=14)
    drafter = Bushy(FakeBackend(VOCABULARY, 11), VOCABULARY, GREEDY, 1, tree=TreeShape(4, 8, 14))
    last = [*GenerationLoop(loop_plan(target, drafter, GREEDY, PROMPT, length=40)).run()][-1]
    assert isinstance(last, Finished)
    assert last.result.finish_reason == "context"


@pytest.mark.parametrize("wrong", ["3", "0x4", "5x2", "2x9", "axb", (1,), 7, (2.5, 2), "2x2x2"])
def test_trees_that_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidRequest, match="A tree must be its width"):
        SpeculationConfig(tree=wrong)
