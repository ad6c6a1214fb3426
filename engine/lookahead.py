"""How many tokens to propose in the next round: fixed, adaptive, or chosen by measured cost."""

from __future__ import annotations

from abc import ABC, abstractmethod

from engine.config import DEFAULT_LOOKAHEAD, SpeculationConfig


class LookaheadPolicy(ABC):
    """Chooses K for each round and learns from what came of it."""

    @abstractmethod
    def choose(self) -> int:
        """K for the next round, 0..32; 0 is plain decoding."""

    @abstractmethod
    def observe(self, proposed: int, accepted: int, draft_ms: float, target_ms: float) -> None:
        """Learn from a finished round: its draft had `proposed` tokens, times in milliseconds."""


class FixedLookahead(LookaheadPolicy):
    """Always the same K."""

    def __init__(self, lookahead: int) -> None:
        self._lookahead = lookahead

    def choose(self) -> int:
        return self._lookahead

    def observe(self, proposed: int, accepted: int, draft_ms: float, target_ms: float) -> None:
        """Nothing to learn."""


class AdaptiveLookahead(LookaheadPolicy):
    """One more after a round accepted above `adaptive_raise`, one less after one below `adaptive_lower`."""

    def __init__(self, config: SpeculationConfig) -> None:
        self._config = config
        self._lookahead = min(config.adaptive_start, config.adaptive_max)

    def choose(self) -> int:
        return self._lookahead

    def observe(self, proposed: int, accepted: int, draft_ms: float, target_ms: float) -> None:
        if not proposed:
            return
        rate = accepted / proposed
        if rate > self._config.adaptive_raise:
            self._lookahead = min(self._lookahead + 1, self._config.adaptive_max)
        elif rate < self._config.adaptive_lower:
            self._lookahead = max(self._lookahead - 1, 1)


class AutoLookahead(LookaheadPolicy):
    """The K of the most expected tokens per second, by what was measured in this conversation.

    Keeps moving averages of the time of a draft token, of a verification of n tokens for each n seen, and of the
    acceptance at each position. Expected tokens of K proposals: 1 + a1 + a1·a2 + … ; their time: verify(K + 1) +
    K · draft. Sizes not seen yet are interpolated between their neighbours; every few rounds a neighbour of the best
    K is tried, so that the estimates stay fresh. Plain decoding (K = 0) is measured the same way.
    """

    MOST = 16
    PROBE_EVERY = 8
    WEIGHT = 0.2

    def __init__(self, start: int = 4) -> None:
        self._first = [start, 0, 2, 8, 1]
        self._verify_ms: dict[int, float] = {}
        self._draft_ms: float | None = None
        self._accepted = [0.7] * self.MOST
        self._rounds = 0
        self._last_plain = 0
        self._pause = self.PROBE_EVERY

    def choose(self) -> int:
        if self._rounds < len(self._first):
            return self._first[self._rounds]
        best = max(range(self.MOST + 1), key=self.speed)
        if best == 0:
            return self._probe_from_plain()
        self._pause = self.PROBE_EVERY
        if self._rounds % self.PROBE_EVERY == 0:
            return min(best + 1, self.MOST)
        if self._rounds % self.PROBE_EVERY == self.PROBE_EVERY // 2:
            return max(best - 1, 1)
        return best

    def _probe_from_plain(self) -> int:
        """Plain decoding is faster: propose again after a pause that doubles each time."""
        self._last_plain += 1
        if self._last_plain < self._pause:
            return 0
        self._last_plain = 0
        self._pause = min(2 * self._pause, 512)
        return max(range(1, self.MOST + 1), key=self.speed)

    def speed(self, lookahead: int) -> float:
        """Expected tokens per millisecond with K = `lookahead`."""
        expected, kept = 1.0, 1.0
        for rate in self._accepted[:lookahead]:
            kept *= rate
            expected += kept
        cost = self._verify(lookahead + 1) + lookahead * (self._draft_ms or 0.0)
        return expected / max(cost, 1e-6)

    def _verify(self, n: int) -> float:
        """Milliseconds of a verification of n tokens, interpolated between measured sizes."""
        if n in self._verify_ms:
            return self._verify_ms[n]
        below = max((size for size in self._verify_ms if size < n), default=None)
        above = min((size for size in self._verify_ms if size > n), default=None)
        if below is None or above is None:
            nearest = below if below is not None else above
            if nearest is None:
                return 1.0
            per_token = self._verify_ms[nearest] / nearest
            return max(self._verify_ms[nearest] + (n - nearest) * per_token, 1e-6)
        share = (n - below) / (above - below)
        return (1 - share) * self._verify_ms[below] + share * self._verify_ms[above]

    def observe(self, proposed: int, accepted: int, draft_ms: float, target_ms: float) -> None:
        self._rounds += 1
        size = proposed + 1
        self._verify_ms[size] = self._blend(self._verify_ms.get(size), target_ms)
        if not proposed:
            return
        self._draft_ms = self._blend(self._draft_ms, draft_ms / proposed)
        for index in range(min(accepted + 1, proposed, self.MOST)):
            kept = 1.0 if index < accepted else 0.0
            self._accepted[index] += self.WEIGHT * (kept - self._accepted[index]) / 2
        deepest = min(accepted + 1, proposed, self.MOST)
        for index in range(deepest, self.MOST):
            self._accepted[index] += 0.05 * (self._accepted[deepest - 1] - self._accepted[index])

    def _blend(self, old: float | None, new: float) -> float:
        return new if old is None else old + self.WEIGHT * (new - old)


def make_policy(config: SpeculationConfig) -> LookaheadPolicy:
    """The policy that a configuration asks for."""
    if config.lookahead == "adaptive":
        return AdaptiveLookahead(config)
    if config.lookahead == "auto":
        return AutoLookahead()
    return FixedLookahead(DEFAULT_LOOKAHEAD if config.lookahead == "default" else config.lookahead)
