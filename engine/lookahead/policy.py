"""Policies of the lookahead: their contract, a fixed number, and one that follows the acceptance rate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from engine.config import DEFAULT_LOOKAHEAD, SpeculationConfig

Floats = Sequence[float]


class LookaheadPolicy(ABC):
    """Chooses K for each round and learns from its outcome.

    Attributes: speedup (expected of this round, in times of plain decoding; None: not estimated); source (the name of
    the source that is to propose; None: whoever can); asleep (this round and the next one are plain: the drafter need
    not even be told what was committed); resting (nothing will be proposed for a while: it need not follow each round);
    limit (how many tokens a draft may have that asks `goes_on`; None: it does not ask, and has as many as chosen).
    """

    speedup: float | None = None
    source: str | None = None
    asleep = resting = False
    limit: int | None = None

    @abstractmethod
    def choose(self) -> int:
        """Return K for the next round, 0..32; 0 is plain decoding."""

    def goes_on(self, proposed: int, confidence: float | None) -> bool:
        """Return whether a draft of so many tokens, which stay in it, should have one more; asked once for each.

        `confidence`: the probability that the draft gave the last one (None: it gave none).
        """
        return True

    def observe(  # noqa: B027 - a policy need not learn
        self, proposed: int, accepted: int, draft_ms: float, target_ms: float, sure: Floats = (), rest_ms: float = 0.0
    ) -> None:
        """Learn from a round: its times, and the probabilities `sure` that the drafter gave its proposals (or none)."""


class FixedLookahead(LookaheadPolicy):
    """Always chooses the same K."""

    def __init__(self, lookahead: int) -> None:
        self._lookahead = lookahead

    def choose(self) -> int:
        return self._lookahead


class AdaptiveLookahead(FixedLookahead):
    """Chooses one more after a round accepted above `adaptive_raise`, one less after one below `adaptive_lower`."""

    def __init__(self, config: SpeculationConfig) -> None:
        super().__init__(min(config.adaptive_start, config.adaptive_max))
        self._config = config

    def observe(self, proposed: int, accepted: int, *_: Any, **__: Any) -> None:
        if proposed and accepted / proposed > self._config.adaptive_raise:
            self._lookahead = min(self._lookahead + 1, self._config.adaptive_max)
        elif proposed and accepted / proposed < self._config.adaptive_lower:
            self._lookahead = max(self._lookahead - 1, 1)


def make_policy(config: SpeculationConfig) -> LookaheadPolicy:
    """Return the policy that a configuration asks for where that is not 'auto', which knows the models."""
    if config.lookahead == "adaptive":
        return AdaptiveLookahead(config)
    return FixedLookahead(config.lookahead if isinstance(config.lookahead, int) else DEFAULT_LOOKAHEAD)
