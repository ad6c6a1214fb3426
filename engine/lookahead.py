"""How many tokens to propose in the next round: fixed, adaptive, or chosen by measured cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from engine.acceptance_model import AcceptanceModel
from engine.config import DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD, SpeculationConfig
from engine.costs import CostModel


class LookaheadPolicy(ABC):
    """Chooses K for each round and learns from what came of it.

    Attributes: speedup (what is expected of the round chosen last, in times of plain decoding; None: not estimated).
    """

    speedup: float | None = None

    @abstractmethod
    def choose(self) -> int:
        """K for the next round, 0..32; 0 is plain decoding."""

    @property
    def limit(self) -> int | None:
        """How many tokens this round's draft may have where it asks `goes_on`; None: what `choose` gave."""
        return None

    @property
    def resting(self) -> bool:
        """Whether nothing will be proposed for a while, so that the drafter need not follow each round."""
        return False

    def goes_on(self, proposed: int, confidence: float | None) -> bool:
        """Whether a draft of `proposed` tokens should have one more.

        Asked once for each token, with the probability that the draft gave the last one (None: it gave none). Every
        token that it is asked about stays in the draft.
        """
        return True

    @abstractmethod
    def observe(
        self,
        proposed: int,
        accepted: int,
        draft_ms: float,
        target_ms: float,
        confidences: Sequence[float] = (),
    ) -> None:
        """Learn from a finished round.

        Its draft had `proposed` tokens, to which the drafter gave the probabilities `confidences` (or none); times in
        milliseconds.
        """


class FixedLookahead(LookaheadPolicy):
    """Always the same K."""

    def __init__(self, lookahead: int) -> None:
        self._lookahead = lookahead

    def choose(self) -> int:
        return self._lookahead

    def observe(
        self,
        proposed: int,
        accepted: int,
        draft_ms: float,
        target_ms: float,
        confidences: Sequence[float] = (),
    ) -> None:
        """Nothing to learn."""


class AdaptiveLookahead(LookaheadPolicy):
    """One more after a round accepted above `adaptive_raise`, one less after one below `adaptive_lower`."""

    def __init__(self, config: SpeculationConfig) -> None:
        self._config = config
        self._lookahead = min(config.adaptive_start, config.adaptive_max)

    def choose(self) -> int:
        return self._lookahead

    def observe(
        self,
        proposed: int,
        accepted: int,
        draft_ms: float,
        target_ms: float,
        confidences: Sequence[float] = (),
    ) -> None:
        if not proposed:
            return
        rate = accepted / proposed
        if rate > self._config.adaptive_raise:
            self._lookahead = min(self._lookahead + 1, self._config.adaptive_max)
        elif rate < self._config.adaptive_lower:
            self._lookahead = max(self._lookahead - 1, 1)


class AutoLookahead(LookaheadPolicy):
    """The K of the most expected tokens per second, by what was measured: costs, and what was accepted.

    K proposals are expected to give 1 + a1 + a1·a2 + … tokens (a: the chance of each position, given those before it)
    in verify(K + 1) + K · draft milliseconds; the best such rate says what a millisecond is worth. A draft goes on
    while what it may still win is worth more than the time it takes, looking several tokens on, since costs climb in
    steps; how sure the draft was of its tokens decides with them. Only tokens that were kept are looked at, so
    nothing is bent.

    Where no K beats plain decoding, nothing is proposed, but for probes whose measured cost stays within an allowance:
    SHARE of the time, and BEGINNING plain tokens at first. Sizes whose cost was not seen for a while are tried.

    `costs`, `acceptance`: what is known already; both go on learning. Attributes: lookahead (what `choose` gave last),
    speedup (what it is expected to bring against plain decoding).
    """

    MOST = MAX_LOOKAHEAD
    AHEAD = 8
    """How many further tokens are thought through before a draft ends."""
    HOPELESS = 0.02
    SHARE = 0.01
    BEGINNING = 2.0
    LARGEST = 8.0
    """Plain tokens that the allowance may hold."""
    TRY_EVERY = (6, 12, 24)
    """Rounds between two tries of other sizes: at first and after a surprise, soon, and after QUIET tries in a row."""
    QUIET = 8
    SURPRISE = 0.15
    PLAN_EVERY = 4
    RESTING_ROUNDS = 8
    """Rounds, drafting and resting, between two looks at what pays: the look takes time too."""
    REST_AFTER = 8
    """Plain rounds after which the drafter rests; before, it keeps up, and can go on at once."""

    def __init__(self, costs: CostModel | None = None, acceptance: AcceptanceModel | None = None) -> None:
        self.costs = CostModel() if costs is None else costs
        self.acceptance = AcceptanceModel() if acceptance is None else acceptance
        self.lookahead = 0
        self.speedup: float = 1.0
        self._worth = 0.0
        self._reach = 1.0
        self._exactly: int | None = None
        self._allowance: float | None = None
        self._pause, self._since, self._tries = self.TRY_EVERY[0], 0, 0
        self._seen_at: dict[int, int] = {}
        """By size of a forward, the round in which it was seen last."""
        self._promising: list[int] = []
        self._plan: tuple[int, float, float] | None = None
        self._surprised, self._quiet, self._dear = False, 0, False
        self._rounds = 0
        self._plain_rounds, self._probing = 0, False

    def choose(self) -> int:
        tried, self._reach, self._exactly = self._exactly is not None, 1.0, None
        if self.resting and self._rounds % self.RESTING_ROUNDS:
            self.lookahead = 0
            return 0
        plain = self.costs.verify(1)
        if self._plan is None or self._rounds % self.PLAN_EVERY == 0:
            self._plan = self._best()
        best, expected, hoped = self._plan
        self._worth = max(expected, 1.0 / plain)
        self.speedup = self._worth * plain
        self._probing = hoped * plain <= 1.0
        if self._probing:
            best = self._probe(plain)
        elif expected * plain <= 1.0:
            self._exactly = best
        elif not tried and (other := self._other_size(best)) is not None:
            best = self._exactly = other
        self.lookahead = best
        return best

    @property
    def limit(self) -> int:
        """Where the draft must end whatever `goes_on` says."""
        return self.lookahead if self._exactly is not None or self.lookahead == 0 else self.MOST

    @property
    def resting(self) -> bool:
        return self._plain_rounds >= self.REST_AFTER

    def goes_on(self, proposed: int, confidence: float | None) -> bool:
        if proposed >= self.MOST:
            return False
        position = proposed - 1
        model = self.acceptance
        self._reach *= model.at(position) if confidence is None else model.given(position, confidence)
        if self._exactly is not None:
            return proposed < self._exactly
        return self._goes_on(proposed, self._reach)

    def observe(
        self,
        proposed: int,
        accepted: int,
        draft_ms: float,
        target_ms: float,
        confidences: Sequence[float] = (),
    ) -> None:
        self._rounds += 1
        plain = self.costs.verify(1)
        self._notice(proposed + 1, target_ms)
        self.costs.observe_verify(proposed + 1, target_ms)
        if proposed and accepted < proposed:
            self._plan = None
        if proposed:
            if self._plain_rounds < self.REST_AFTER:  # Otherwise the time is also that of catching up.
                self.costs.observe_draft(proposed, draft_ms)
            self.acceptance.observe(proposed, accepted, confidences)
        self._plain_rounds = 0 if proposed else self._plain_rounds + 1
        allowance = self.BEGINNING * plain if self._allowance is None else self._allowance
        allowance += self.SHARE * (draft_ms + target_ms)
        if self._probing and proposed:
            allowance -= draft_ms + target_ms - (accepted + 1) * plain
        self._allowance = min(allowance, self.LARGEST * plain)

    def _best(self) -> tuple[int, float, float]:
        """The best K above 0, its expected rate in tokens per millisecond, and the best rate that may be hoped for."""
        costs, draft = self.costs, self.costs.draft()
        best, rate, hoped_rate = 0, 0.0, 0.0
        tokens = reach = hoped_tokens = hoped = 1.0
        for k in range(1, self.MOST + 1):
            reach *= self.acceptance.at(k - 1)
            hoped *= self.acceptance.hopefully_at(k - 1)
            tokens += reach
            hoped_tokens += hoped
            cost = costs.verify(k + 1) + k * draft
            hoped_rate = max(hoped_rate, hoped_tokens / cost)
            if tokens > rate * cost:
                best, rate = k, tokens / cost
            if reach < self.HOPELESS or k - best >= self.AHEAD:
                break
        return best, rate, hoped_rate

    def _goes_on(self, proposed: int, reach: float) -> bool:
        """Whether one token more pays, or several do: those before it hold with the chance `reach`."""
        costs, draft = self.costs, self.costs.draft()
        so_far = costs.verify(proposed + 1)
        gain = 0.0
        for more in range(1, min(self.AHEAD, self.MOST - proposed) + 1):
            reach *= self.acceptance.at(proposed + more - 1)
            gain += reach
            if gain > self._worth * (costs.verify(proposed + more + 1) - so_far + more * draft):
                return True
            if reach < self.HOPELESS:
                break
        return False

    def _probe(self, plain: float) -> int:
        """What to propose where nothing pays: nothing, or what costs least, if the allowance bears a failure."""
        draft = self.costs.draft()
        first = self.acceptance.at(0)
        sizes = (1, 2, 3) if self.costs.knows(1) else (1,)
        best = max(sizes, key=lambda k: (1.0 + first * k) / (self.costs.verify(k + 1) + k * draft))
        price = self.costs.verify(best + 1) + best * draft - plain
        if self._allowance is not None and self._allowance < price:
            return 0
        self._exactly = best
        return best

    def _other_size(self, best: int) -> int | None:
        """A K to be tried now in place of the best one, as its cost was not seen for a while; mostly None."""
        if self._promising:
            return self._promising.pop(0)
        self._since += 1
        if self._since < self._pause:
            return None
        self._since = 0
        self._quiet += 1
        self._pause = self.TRY_EVERY[2] if self._quiet > self.QUIET else self.TRY_EVERY[1]
        if self._is_stale(0, self.TRY_EVERY[1] if self._surprised else 4 * self.TRY_EVERY[1]):
            self._surprised = False
            return 0
        self._tries += 1
        # A larger size may have become cheap unseen; smaller ones are seen where drafts end early.
        for other in (best - 1, best + 1) if self._tries % 3 == 0 else (best + 1, best - 1):
            if 0 < other <= self.MOST and self._is_stale(other, self.TRY_EVERY[1]):
                return other
        return None

    def _is_stale(self, lookahead: int, rounds: int) -> bool:
        seen = self._seen_at.get(lookahead + 1)
        return seen is None or self._rounds - seen >= rounds

    def _notice(self, size: int, target_ms: float) -> None:
        """After a surprise other sizes are tried soon; one that has become cheaper again at once, and the next one.

        A round of the usual size lies between two tries: it tells whether all sizes have changed, or this one.
        """
        self._seen_at[size] = self._rounds
        expected = self.costs.verify(size)
        dear, self._dear = self._dear, target_ms > (1.0 + self.SURPRISE) * expected
        # Nothing is quicker by chance; slower it may be once.
        if target_ms < (1.0 - self.SURPRISE) * expected or (dear and self._dear):
            if target_ms > expected and not self._surprised:
                # Have all sizes become dear, or this one? The small ones tell.
                self._promising = [1, 0]
            elif target_ms < expected and self._exactly:
                self._promising = [size - 1, min(size, self.MOST)]
            self._pause, self._quiet, self._surprised, self._plan = self.TRY_EVERY[0], 0, True, None


def make_policy(config: SpeculationConfig) -> LookaheadPolicy:
    """The policy that a configuration asks for."""
    if config.lookahead == "adaptive":
        return AdaptiveLookahead(config)
    if config.lookahead == "auto":
        return AutoLookahead()
    return FixedLookahead(DEFAULT_LOOKAHEAD if config.lookahead == "default" else config.lookahead)
