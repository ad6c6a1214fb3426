"""The joint distribution of a reply's first tokens: drawn through the loop, computed exactly, and compared."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import llguidance
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from engine.backends.base import Logits
from engine.checks import TreeWish
from engine.config import GenerationRequest, SamplingConfig, SpeculationConfig
from engine.constraint import Constraint
from engine.drafting.base import Drafter, TreeShape
from engine.drafting.draft_model import DraftModelDrafter
from engine.drafting.none import NoDrafter
from engine.events import TokenEvent
from engine.generation.loop import GenerationLoop
from engine.generation.verifier import Verifier
from engine.lookahead.policy import make_policy
from engine.masks.reply_masks import ReplyMasks
from engine.sampling.candidates import Candidates
from engine.sampling.distribution import candidates, distribution
from engine.sampling.masking import Mask
from engine.sampling.rows import NUMPY, Rows
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.loop_plans import plan_of

PROMPT = (1, 2)
LENGTH = 3
LEAST_EXPECTED = 5.0
ENOUGH, BROKEN = 0.001, 1e-6
"""A p-value of what is right, and one of what is broken on purpose."""
PIECE = 100
"""After so many replies each it is asked whether they are enough."""

Prefix = tuple[int, ...]
MakeDrafter = Callable[..., Drafter]


@dataclass(frozen=True)
class Setting:
    """One way to draw replies. `make_drafter` is for drafters that are broken on purpose; `rows`: what draws.

    A reply of a `constraint` must have the tokens that are looked at.
    """

    target: FakeBackend
    draft: FakeBackend | None
    sampling: SamplingConfig
    speculation: SpeculationConfig = field(default_factory=SpeculationConfig)
    draft_sampling: SamplingConfig | None = None
    make_drafter: MakeDrafter = DraftModelDrafter
    rows: Rows = NUMPY
    constraint: Constraint | None = None

    def draw(self, seed: int, length: int = LENGTH) -> Prefix:
        """The first tokens of a reply through the generation loop, which goes on: drafts are as long as they may be."""
        size, masks = self.target.vocab_size, None
        if self.constraint is not None:
            masks = ReplyMasks(self.constraint, self.target.tokenizer, size, self.target.eos_token_ids)
        rule = self.speculation.acceptance
        policy = make_policy(self.speculation if self.draft else replace(self.speculation, lookahead=0))
        request = GenerationRequest(PROMPT, sampling=self.sampling, speculation=self.speculation)
        verifier = Verifier(self.target, self.sampling, rule, seed, 0, rows=self.rows, masks=masks)
        drafter = self._drafter(seed, masks)
        plan = plan_of(self.target, request, drafter, policy, verifier, stop_tokens=frozenset(), masks=masks)
        tokens: list[int] = []
        with closing(GenerationLoop(plan).run()) as events:
            while len(tokens) < length:
                event = next(events)
                if isinstance(event, TokenEvent):
                    tokens.append(event.token)
        return tuple(tokens)

    def p_value(self, samples: int) -> float:
        """Return the p-value of so many draws having the target's own distribution."""
        return chi_square_p(draw_many(self, samples), exact_joint(self.target, self.sampling))

    def broken_p_value(self, most: int) -> float:
        """Return the same of as few draws as leave no doubt that something is broken, at most so many."""
        return p_of_broken(self, exact_joint(self.target, self.sampling), most)

    def _shape(self, size: TreeWish) -> TreeShape:
        assert size != "auto"
        return TreeShape(*size, self.target.context_length)

    def _drafter(self, seed: int, masks: ReplyMasks | None) -> Drafter:
        if self.draft is None:
            return NoDrafter()
        return self.make_drafter(
            self.draft,
            self.target.vocab_size,
            self.draft_sampling or self.sampling,
            seed,
            min_confidence=self.speculation.min_draft_confidence,
            **({} if self.speculation.tree is None else {"tree": self._shape(self.speculation.tree)}),
            **({} if self.rows is NUMPY else {"rows": self.rows}),
            **({} if masks is None else {"masks": masks}),
        )


def draw_many(setting: Setting, samples: int, first_seed: int = 0) -> Counter[Prefix]:
    """How often each beginning of a reply came, over fixed seeds."""
    with remembered_distributions(), without_threads():
        return Counter(setting.draw(first_seed + seed) for seed in range(samples))


def p_of_broken(setting: Setting, joint: Mapping[Prefix, float], most: int, enough: float = BROKEN) -> float:
    """The p-value of something that is broken on purpose, of as few replies as leave no doubt: below `enough`.

    `most`: of so many it is told in any case.
    """
    counts: Counter[Prefix] = Counter()
    with remembered_distributions(), without_threads():
        for seed in range(most):
            counts[setting.draw(seed)] += 1
            if (seed + 1) % PIECE == 0 and (p := chi_square_p(counts, joint)) < enough:
                return p
    return chi_square_p(counts, joint)


class KeepsRejected(FakeBackend):
    """A cache that is rewound one token short, so that the rejected token stays in it."""

    def truncate(self, length: int) -> None:
        """Go back, nearly."""
        super().truncate(length if length < len(PROMPT) else min(length + 1, self.length))


class OneRowLate(FakeBackend):
    """The rows of a verification moved by one: the probability of a token is read a position late."""

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        """Compute, and move the rows."""
        rows = super().forward(tokens, n_outputs)
        return np.concatenate([rows[1:], rows[-1:]]) if n_outputs > 1 else rows


@contextmanager
def remembered_distributions() -> Iterator[None]:
    """Compute each distribution of a fake once: it is a pure function, and most of the time goes into it."""
    known: dict[tuple[bytes, SamplingConfig, Prefix, int | None, bytes | None], Candidates] = {}

    def remembered(
        logits: Logits,
        config: SamplingConfig,
        history: Sequence[int],
        size: int | None = None,
        rows: Rows = NUMPY,
        mask: Mask | None = None,
    ) -> Candidates:
        key = logits.tobytes(), config, tuple(history), size, None if mask is None else mask.tobytes()
        if key not in known:
            known[key] = candidates(logits, config, history, size, rows, mask)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        for user in ("engine.generation.verifier", "engine.drafting.draft_model"):
            patch.setattr(f"{user}.candidates", remembered)
        patch.setattr(llguidance, "LLMatcher", _RememberedMatchers())
        yield


class _RememberedMatchers:
    """Compile each grammar once for a vocabulary: each reply begins with a copy."""

    def __init__(self) -> None:
        self._make = llguidance.LLMatcher
        self._known: dict[tuple[int, str], tuple[object, Any]] = {}

    def __call__(self, vocabulary: Any, grammar: str, **options: Any) -> Any:
        key = id(vocabulary), grammar
        if key not in self._known:
            self._known[key] = vocabulary, self._make(vocabulary, grammar, **options)
        return self._known[key][1].deep_copy()


class _AtOnce:
    """In place of a pool of one thread: what is submitted is done at once."""

    def __init__(self, *_: object) -> None: ...

    def submit(self, work: Callable[..., Any], *arguments: object) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done

    def shutdown(self) -> None:
        """Nothing to end."""


@contextmanager
def without_threads() -> Iterator[None]:
    """Overlapped drafting without its thread, where thousands of replies are drawn: most of the time went into waking.

    The drafts are the same (`test_overlap_draws_the_same_on_its_thread`).
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.generation.overlap.ThreadPoolExecutor", _AtOnce)
        yield


def exact_joint(target: FakeBackend, sampling: SamplingConfig, length: int = LENGTH) -> dict[Prefix, float]:
    """The probability of every beginning of a reply, by enumeration of the target alone."""
    joint: dict[Prefix, float] = {(): 1.0}
    for _ in range(length):
        longer: dict[Prefix, float] = {}
        for prefix, probability in joint.items():
            history = [*PROMPT, *prefix]
            for token, share in enumerate(distribution(target.row(history), sampling, history)):
                if share > 0.0:
                    longer[*prefix, token] = probability * float(share)
        joint = longer
    return joint


def chi_square_p(counts: Mapping[Prefix, int], joint: Mapping[Prefix, float]) -> float:
    """The p-value of counts against probabilities. Cells with under 5 expected are pooled; an impossible one: 0."""
    if any(prefix not in joint for prefix in counts):
        return 0.0
    samples = sum(counts.values())
    pairs = [(float(counts.get(prefix, 0)), samples * probability) for prefix, probability in joint.items()]
    cells = [pair for pair in pairs if pair[1] >= LEAST_EXPECTED]
    rare = [pair for pair in pairs if pair[1] < LEAST_EXPECTED]
    pooled = (sum(seen for seen, _ in rare), sum(expected for _, expected in rare))
    if pooled[1] >= LEAST_EXPECTED or not cells:
        cells.append(pooled)
    elif rare:
        seen, expected = cells.pop(cells.index(min(cells, key=lambda pair: pair[1])))
        cells.append((seen + pooled[0], expected + pooled[1]))
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    return float(chi2.sf(statistic, len(cells) - 1))


def two_sample_p(first: Mapping[Prefix, int], second: Mapping[Prefix, int]) -> float:
    """The p-value of two sets of counts having one distribution. Cells with under 5 expected in either are pooled."""
    one, two = sum(first.values()), sum(second.values())
    share = one / (one + two)
    table: list[tuple[int, int]] = []
    rare = (0, 0)
    for prefix in {*first, *second}:
        pair = first.get(prefix, 0), second.get(prefix, 0)
        if min(share, 1.0 - share) * sum(pair) >= LEAST_EXPECTED:
            table.append(pair)
        else:
            rare = rare[0] + pair[0], rare[1] + pair[1]
    if sum(rare):
        table.append(rare)
    statistic = 0.0
    for pair in table:
        for seen, expected in zip(pair, (share * sum(pair), (1.0 - share) * sum(pair)), strict=True):
            statistic += (seen - expected) ** 2 / expected
    return float(chi2.sf(statistic, len(table) - 1))


def total_variation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Half the summed difference of two distributions of one shape."""
    return 0.5 * float(np.abs(first - second).sum())
