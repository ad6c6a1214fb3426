"""How many tokens to propose in the next round: fixed, adaptive, or chosen by measured cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf

from engine.config import DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD, SpeculationConfig
from engine.drafting.base import Index
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel
from engine.lookahead.costs import QUICK_MS, CostModel
from engine.lookahead.exploration import Exploration
from engine.methods import DRAFT_MODEL


class LookaheadPolicy(ABC):
    """Chooses K for each round and learns from what came of it.

    Attributes: speedup (what is expected of the round chosen last, in times of plain decoding; None: not estimated);
    source (the name of the source that is to propose; None: whoever has a proposal first); asleep (set by `choose`:
    this round and the next one are plain, so that the drafter need not even be told what was committed).
    """

    speedup: float | None = None
    source: str | None = None
    asleep: bool = False

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
    """The source and the K of the most expected tokens per second, by what was measured: costs, and what was accepted.

    K proposals are expected to give 1 + a1 + a1·a2 + … tokens (a: the chance of each position, given those before it)
    in verify(K + 1) + K · draft milliseconds; the best such rate says what a millisecond is worth. A draft goes on
    while what it may still win is worth more than the time it takes, looking several tokens on, since costs climb in
    steps; how sure the draft was of its tokens decides with them. Only tokens that were kept are looked at, so
    nothing is bent. Where the `index` has a proposal that promises a clearly better rate, that is taken instead: what
    it promises is known before anything is drawn.
    Where no K beats plain decoding, nothing is proposed, but for probes; now and then another size than the best is
    tried (see Exploration).

    `costs`, `acceptance`, `claims` (of the index), `exploration`: what is known already; all go on learning. `drafts`:
    whether the drafter named `draft` proposes too. Attributes: lookahead (what `choose` gave last), speedup, source.
    """

    MOST = MAX_LOOKAHEAD
    AHEAD = 8
    """How many further tokens are thought through before a draft ends."""
    HOPELESS = 0.02
    PLAN_EVERY, PLAN_EVERY_QUICK = 4, 8
    """Rounds that a plan holds for. The second where thinking is felt (QUICK_MS); a rejection does not end it there."""
    RESTING_ROUNDS = 8
    """Rounds, drafting and resting, between two looks at what pays: the look takes time too."""
    REST_AFTER = 8
    """Rounds that no draft pays in after which the drafter rests (from the first on where that one says so); before, it
    keeps up, and can go on at once."""
    INDEX_LEAD = 1.6
    """How many times the draft model's rate the index must promise: where a text repeats itself, the draft too is
    right more often than on average. (At 1.4 its rounds in rewriting gave 1.0 times the tokens of the draft's.)"""
    DOZE_AFTER, DOZE_MOST = 24, 128
    """Looks in a row that found nothing, after which even looking is left out for some rounds; and how many at most."""
    DOZE_SOON = 4
    """Such looks where thinking is felt: for 2 rounds then, and twice as many after each look that finds nothing."""
    INDEX_EVERY, LOOKS_BETWEEN = 8, 4
    """Where thinking is felt: rounds between two looks at an index that had nothing to offer in as many, while a draft
    pays; and looks at the index to one at the draft model, where looks are left out."""
    LOOK_MS, LOOK_SHARE = 0.045, 0.005
    """What a look at all sources takes, and its share of the time where nothing pays: a model without size feels it."""

    def __init__(
        self,
        costs: CostModel | None = None,
        acceptance: AcceptanceModel | None = None,
        exploration: Exploration | None = None,
        *,
        index: Index | None = None,
        claims: ClaimModel | None = None,
        drafts: bool = True,
        draft: str = DRAFT_MODEL.name,
    ) -> None:
        self.costs = CostModel() if costs is None else costs
        self.acceptance = AcceptanceModel() if acceptance is None else acceptance
        self.lookahead = 0
        self.speedup: float = 1.0
        self._exploration = Exploration() if exploration is None else exploration
        self._index, self._claims = index, ClaimModel() if claims is None else claims
        self._drafts, self._draft = drafts, draft
        self._promised: Sequence[float] = ()
        """What the index says of its proposals, where they were taken."""
        self._worth = 0.0
        self._reach = 1.0
        self._exactly: int | None = None
        self._plan: tuple[int, float] | None = None
        self._rounds = 0
        self._idle, self._pays, self._probing, self._trying = 0, True, False, False
        self._quick = self._speculated = False
        self._plan_at = self._look_at = 0
        """The rounds in which the plan is made anew, and in which a resting drafter is thought of."""
        self._least: dict[int, float] = {}
        """By tokens proposed: how likely they must be for one more to pay, in times of the worth of a millisecond."""
        self._dozes = self._dozed = self._missed = 0
        self._pays = self._best()[1] * self.costs.verify(1) > 1.0
        if not self._pays:
            self._idle = self.REST_AFTER

    def choose(self) -> int:
        if self._dozed < self._dozes:
            return self._stay_plain()
        slept, self._dozed, self._dozes = self._dozed, 0, 0
        tried = self._trying
        self._reach, self._exactly, self._probing, self._trying = 1.0, None, False, False
        plain = self.costs.verify(1)
        self._quick = plain < QUICK_MS
        best, rate = self._best(slept)
        self._pays = rate * plain > 1.0
        offered, offered_rate = self._offer()
        if offered_rate <= max(rate * self.INDEX_LEAD, 1.0 / plain):
            offered, offered_rate = 0, 0.0
        self._promised = self._promised[:offered]
        self._missed = 0 if offered else self._missed + 1
        self._worth = max(rate, offered_rate, 1.0 / plain)
        self.speedup = self._worth * plain
        if self._promised:
            best = self._exactly = offered
        elif self._drafts:
            best = self._explore(best, rate, plain, tried)
        self.source = self._index.name if self._promised and self._index is not None else self._draft
        self.lookahead = best
        paid = best > 0 and not self._probing
        useless = self._exploration.useless = 0 if paid else self._exploration.useless + 1
        if not best and useless > (self.DOZE_SOON if self._quick else self.DOZE_AFTER) and self.resting:
            self._doze(plain, useless)
        return best

    def _doze(self, plain: float, useless: int) -> None:
        """Look away for as many rounds as keep the looks within their share of the time; for fewer at first."""
        most = self.DOZE_MOST if useless > self.DOZE_AFTER else min(2 ** (useless - self.DOZE_SOON), self.DOZE_MOST)
        self._dozes = min(int(self.LOOK_MS / (self.LOOK_SHARE * plain)), most)
        self.asleep = self._dozes > 0
        if self._index is not None:
            self._index.dozing = self.asleep

    def _stay_plain(self) -> int:
        """A round without a look."""
        self._dozed += 1
        if self._dozed == self._dozes:
            self._exploration.pass_time(float(self._dozed))
            self.asleep = False
        return 0

    @property
    def limit(self) -> int:
        """Where the draft must end whatever `goes_on` says."""
        return self.lookahead if self._exactly is not None or self.lookahead == 0 else self.MOST

    @property
    def resting(self) -> bool:
        return self._idle >= self.REST_AFTER

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
        if self._dozed:
            return
        exploration, expected = self._exploration, self.costs.verify(proposed + 1)
        back, self._speculated = self._quick and self._speculated and not proposed, proposed > 0
        if not back:  # The first round of one token behind longer ones takes longer, and plain decoding has none such.
            if exploration.notice(proposed + 1, target_ms, expected, tried=self._trying or self._probing):
                self._plan = None
            self.costs.observe_verify(proposed + 1, target_ms)
        if proposed and accepted < proposed and not self._quick:
            self._plan = None
        if proposed and self._promised:
            self._claims.observe(accepted, self._promised[:proposed])
        elif proposed:
            if not self.resting:  # Otherwise the time is also that of catching up.
                self.costs.observe_draft(proposed, draft_ms)
            settle = not self._quick or self._rounds >= self._plan_at
            self.acceptance.observe(proposed, accepted, confidences, settle=settle)
        right = accepted == proposed > 0 and not self._promised
        self._idle = 0 if self._pays or right else self._idle + 1
        time = (draft_ms + target_ms) / self.costs.verify(1)
        exploration.pass_time(time)
        if self._probing and proposed:
            exploration.probes.spend(time - (accepted + 1))
        elif self._trying:
            exploration.pay_try(time - (accepted + 1) / self.speedup)

    def _best(self, slept: int = 0) -> tuple[int, float]:
        """The best K of the draft model above 0, and its expected tokens per millisecond; (0, 0): none, or it rests.

        `slept`: the rounds since the last look.
        """
        if not self._drafts or (self.resting and self._rounds < self._look_at):
            return 0, 0.0
        if self.resting:
            self._look_at = self._rounds + max(self.RESTING_ROUNDS, self.LOOKS_BETWEEN * slept)
        if self._rounds >= self._plan_at:
            self._plan_at = self._rounds + (self.PLAN_EVERY_QUICK if self._quick else self.PLAN_EVERY)
            self._plan = None
            self._least.clear()
        if self._plan is None:
            self._plan = self._make_plan()
        return self._plan

    def _make_plan(self) -> tuple[int, float]:
        costs, draft = self.costs, self.costs.draft()
        best, rate = 0, 0.0
        tokens = reach = 1.0
        for k in range(1, self.MOST + 1):
            reach *= self.acceptance.at(k - 1)
            tokens += reach
            cost = costs.verify(k + 1) + k * draft
            if tokens > rate * cost:
                best, rate = k, tokens / cost
            if reach < self.HOPELESS or k - best >= self.AHEAD:
                break
        return best, rate

    def _offer(self) -> tuple[int, float]:
        """How many tokens of the index promise the best rate, and that rate; (0, 0) where it has none."""
        best, rate = 0, 0.0
        if self._index is None:
            return best, rate
        self._index.dozing = (
            self._quick and self._pays and self._missed > self.INDEX_EVERY and self._missed % self.INDEX_EVERY != 0
        )
        if self._index.dozing:
            self._promised = ()
            return best, rate
        self._promised = self._index.promise(self.MOST)
        tokens = reach = 1.0
        for k, chance in enumerate(self._promised, 1):
            reach *= self._claims.given(chance)
            tokens += reach
            cost = self.costs.verify(k + 1)
            if tokens > rate * cost:
                best, rate = k, tokens / cost
        return best, rate

    def _goes_on(self, proposed: int, reach: float) -> bool:
        """Whether one token more pays, or several do: those before it hold with the chance `reach`."""
        least = self._least.get(proposed)
        if least is None:
            least = self._least[proposed] = self._make_least(proposed)
        return reach > self._worth * least

    def _make_least(self, proposed: int) -> float:
        """The fewest milliseconds for each token to be won by 1 to AHEAD tokens more, if those before them hold."""
        costs, draft = self.costs, self.costs.draft()
        so_far = costs.verify(proposed + 1)
        least, gain, reach = inf, 0.0, 1.0
        for more in range(1, min(self.AHEAD, self.MOST - proposed) + 1):
            reach *= self.acceptance.at(proposed + more - 1)
            gain += reach
            least = min(least, (costs.verify(proposed + more + 1) - so_far + more * draft) / gain)
            if reach < self.HOPELESS:
                break
        return least

    def _explore(self, best: int, rate: float, plain: float, tried: bool) -> int:
        """The best K, or what is tried in its place; where nothing pays nothing, or a probe."""
        if rate * plain <= 1.0:
            self._probing = best > 0
            best = self._exactly = self._probe(plain) if best else 0
            return best
        other = None if tried else self._exploration.other_size(best, self._price, self.costs.knows)
        if other is None:
            return best
        self._trying = True
        self._exploration.start_try(other, best)
        self._exactly = other
        return other

    def _price(self, lookahead: int) -> float:
        """What a round of this K is expected to lose against the best one, in times of a plain token."""
        tokens = reach = 1.0
        for position in range(lookahead):
            reach *= self.acceptance.at(position)
            tokens += reach
        cost = self.costs.verify(lookahead + 1) + lookahead * self.costs.draft()
        return (cost - tokens / self._worth) / self.costs.verify(1)

    def _probe(self, plain: float) -> int:
        """What to propose where nothing pays: nothing, or what costs least, if the allowance bears a failure."""
        draft = self.costs.draft()
        first = self.acceptance.at(0)
        sizes = (1, 2, 3) if self.costs.knows(1) else (1,)
        best = max(sizes, key=lambda k: (1.0 + first * k) / (self.costs.verify(k + 1) + k * draft))
        price = (self.costs.verify(best + 1) + best * draft) / plain - 1.0
        return best if self._exploration.probes.affords(price) else 0


def make_policy(config: SpeculationConfig) -> LookaheadPolicy:
    """The policy that a configuration asks for."""
    if config.lookahead == "adaptive":
        return AdaptiveLookahead(config)
    if config.lookahead == "auto":
        return AutoLookahead()
    return FixedLookahead(DEFAULT_LOOKAHEAD if config.lookahead == "default" else config.lookahead)
