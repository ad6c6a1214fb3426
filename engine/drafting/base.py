"""Define the contract of a drafter: a lifecycle of begin, propose, observe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import GenerationRequest, SamplingConfig
from engine.drafting.tree_prices import TreePrices
from engine.loading.source import Source
from engine.sampling.masking import MaskSource
from engine.sampling.rows import Rows


class Draft(NamedTuple):
    """Hold proposed tokens.

    `probs`: for each token the distribution from which it was drawn, shape (target vocab_size,), or None if
    tokens were chosen without a draw (greedy). `logprobs`: natural logarithm of the model's own probability of each
    token, or empty. `parents` makes a tree of them: the index of each one's parent in `tokens`, a smaller one, or -1
    for the committed tokens; None: a chain. Siblings are different tokens, and verified in their order; the
    distribution of a drawn one excludes those before it. `source` names the method that
    proposed them. `whole`: tokens past the end of the reply count as proposed too.
    """

    tokens: tuple[int, ...] = ()
    probs: Sequence[NDArray[np.float64]] | None = None
    logprobs: tuple[float, ...] = ()
    parents: tuple[int, ...] | None = None
    source: str = ""
    whole: bool = False

    @property
    def by_depth(self) -> tuple[int, ...]:
        """Return the number of tokens at each depth."""
        if self.parents is None:
            return (1,) * len(self.tokens)
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return tuple(depths.count(depth) for depth in range(max(depths, default=-1) + 1))


def cautious_cost(n: int) -> float:
    """Return the cost of verifying `n` tokens, in times of one, where nothing is measured: as in llama.cpp."""
    return (n + 1) / 2


GoesOn = Callable[[int, float | None], bool]
"""Called after each token of a draft: their number, and the draft's probability of the last one."""


class Drafter(ABC):
    """Propose tokens that may follow the committed ones.

    Attributes: name (the source, for statistics); forwards (model passes since `begin`, without
    those that read the prompt); resting (set by the loop: while True, nothing or little is proposed, and prompt and
    committed tokens are only recorded, without a model pass).
    """

    name: str
    forwards: int = 0
    resting: bool = False

    @property
    def works_ahead(self) -> bool:
        """Return True if `propose_ahead` does anything."""
        return False

    @property
    def unread(self) -> int:
        """Return the number of tokens it would have to read before it proposes."""
        return 0

    @abstractmethod
    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        """Start on a new prompt. Raises Cancelled."""

    @abstractmethod
    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        """Propose at most `n` next tokens, or a tree of as many levels.

        `goes_on`: called once after each token, in order; True asks for one more. The token is in the draft in either
        case, so the answer does not bias the output.
        """

    def propose_ahead(self, n: int, stop: Callable[[], bool]) -> Draft:
        """Continue after the tokens of the last `propose` as if all were accepted, until `stop` returns True.

        Returns the further proposals, at most `n`, including those of an earlier call. Called on another thread while
        the target verifies; no other method is called meanwhile. Those that are valid after `observe` begin the next
        draft.
        """
        return Draft()

    @abstractmethod
    def observe(self, committed_tokens: Sequence[int]) -> None:
        """Learn the tokens committed in the round since `propose`: accepted tokens, then a correction or bonus.

        Without tokens: the reply has ended, live proposals are dropped.
        """


SHORT_PROMPT = 512
"""Tokens of a prompt that are read before the reply's first token. A longer one is read behind it: nobody waits."""
LONG_PROMPT, BEGINNING, STEP = 1_280, 64, 128
"""Tokens from which a prompt is not read whole: its beginning is, and of the end one to two steps. With more of it
about as many proposals are accepted, and reading would pay for long replies alone. What lies between is whole steps, so
that the next prompt of a conversation finds the cache as it was left."""


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Limit a tree: nodes at each depth (2 or more), depths, and the positions of the target's cache.

    `prices`: the tree follows one path, and its siblings are chosen by cost.
    """

    width: int
    depth: int
    context: int
    prices: TreePrices | None = None


@dataclass(frozen=True, slots=True)
class DrafterContext:
    """Hold the inputs from which the drafter of one reply is made.

    Attributes: target; source (the source of the proposals); request (with its settings for sampling and speculation);
    seed (of this reply); stop_tokens (those that end it); cost (`cost(n)`: the cost of verifying n tokens, in units of
    one token's); rows (the sampler of logit rows); masks (those of a constraint, which the draft obeys too).
    """

    target: Backend
    source: Source
    request: GenerationRequest
    seed: int
    stop_tokens: frozenset[int]
    cost: Callable[[int], float]
    rows: Rows
    masks: MaskSource | None = None
    tree: TreeShape | None = None

    @property
    def sampling(self) -> SamplingConfig:
        """Return the sampler of proposals."""
        speculation = self.request.speculation
        sampling = speculation.draft_sampling or self.request.sampling
        temperature = speculation.draft_temperature
        return sampling if temperature is None else replace(sampling, temperature=temperature)


@runtime_checkable
class Index(Protocol):
    """Define a source whose proposals are known before it is asked for them, and cost nothing.

    Attributes: name; dozing (set by the policy: no query for a few rounds, it need not follow each token); hopes (the
    chances of its first tokens, regardless of cost, at the last `promise`); trying (set by the policy: the next draft
    measures their cost, so it has the tokens of the hopes).
    """

    name: str
    dozing: bool
    trying: bool

    @property
    def hopes(self) -> Sequence[float]: ...

    def promise(self, n: int) -> Sequence[float]:
        """Return for each token that it would propose now, at most `n`, the chance that it holds if those before do."""
