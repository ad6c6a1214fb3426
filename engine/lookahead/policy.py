"""Policies of the lookahead: their contract, a fixed number, one by the acceptance rate, and the automatic one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from time import perf_counter
from typing import Any

from engine.config import DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD, SpeculationConfig
from engine.drafting.base import Index
from engine.drafting.tree_prices import TreePrices
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel
from engine.lookahead.costs import MS, CostModel
from engine.methods import DRAFT_MODEL

Floats = Sequence[float]


class LookaheadPolicy(ABC):
    """Chooses K for each round and learns from its outcome.

    Attributes: speedup (expected of this round, in times of plain decoding; None: not estimated); source (the name of
    the source that is to propose; None: whoever can); follower (the only one that need follow each round among those
    that take time; None: all of them); asleep (this round and the next one are plain: neither policy nor drafter need
    be told of it); resting (nothing will be proposed for a while: none need follow each round); limit (how many tokens
    a draft may have that asks `goes_on`; None: it does not ask, and has as many as chosen); to_read (set by the loop:
    tokens that the follower would have to read first, and those that the reply may still have).
    """

    speedup: float | None = None
    source: str | None = None
    follower: str | None = None
    limit: int | None = None
    asleep = resting = False
    to_read: tuple[int, int] = (0, 0)

    @abstractmethod
    def choose(self) -> int:
        """Return K for the next round, 0..32; 0 is plain decoding."""

    def goes_on(self, proposed: int, confidence: float | None) -> bool:
        """Return whether a draft of so many tokens, which stay in it, should have one more; asked once for each.

        `confidence`: the probability that the draft gave the last one (None: it gave none).
        """
        return True

    def observe(  # noqa: B027 - a policy need not learn
        self,
        proposed: int,
        accepted: int,
        draft_ms: float,
        target_ms: float,
        sure: Floats = (),
        rest_ms: float = 0.0,
        *,
        nodes: int = 0,
    ) -> None:
        """Learn from a round: its times, and the probabilities `sure` that the drafter gave its proposals (or none).

        `nodes`: of a tree, whose first path has the `proposed` tokens.
        """

    def observe_read(self, tokens: int, ms: float | None) -> None:  # noqa: B027 - a policy need not learn
        """Learn, before the round is observed, that the drafter read tokens of the prompt in it.

        `ms`: the time that this took; None where it is known only together with drafting.
        """


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


class Allowance:
    """Time, in plain tokens, that rounds may lose to find something out: a share of all time. It outlives a reply."""

    SHARE, left, sleep = 0.01, 2.0, 0  # plain rounds to come without a look: short replies could not bear one each

    def spend(self, tokens: float) -> None:
        self.left = min(self.left - tokens, 2.0)


class AutoLookahead(LookaheadPolicy):
    """Proposes from the source, and as much, as promises the most tokens per second. See ARCHITECTURE.md, *Lookahead*.

    `drafts`: what was accepted of each source that takes time (None: of a draft model). A draft goes on while what it
    may still win, several tokens on, is worth more than its time. Only kept tokens and the promise of the `index`
    before any draw are looked at, so nothing is bent. Where nothing beats plain decoding, only rounds that the
    `allowance` bears propose (of the index what is likely); looks at the sources take no more than its share either.
    `costs_now` gives the costs that hold, others than `costs` beside other programs and in long texts; of a round in
    which they change no time is learned.
    """

    speedup: float
    AHEAD, HOPELESS, LIKELY = 8, 0.02, 0.75
    """Tokens that are thought through before a draft ends, if there is that chance to get there (they are also the
    rounds of a plan); the chance to get there with which tokens of the index are tried."""
    INDEX_LEAD, LOOK_MS = 1.6, 0.09
    """Times of the draft's rate that the index must promise, which is better itself where a text repeats; a look."""
    TRY_EVERY, SURPRISE = 24, 0.15
    """Rounds after which a larger size is tried that was not seen; a share by which costs change: then at once."""

    def __init__(
        self,
        costs: CostModel | None = None,
        drafts: Mapping[str, AcceptanceModel] | None = None,
        allowance: Allowance | None = None,
        *,
        index: Index | None = None,
        claims: ClaimModel | None = None,
        trees: TreePrices | None = None,
        costs_now: Callable[[], CostModel] | None = None,
    ) -> None:
        given, self.acceptance = costs or CostModel(), AcceptanceModel()
        self._costs_now = costs_now or (lambda: given)
        self.costs = self._costs_now()
        self._drafts = {DRAFT_MODEL.name: self.acceptance} if drafts is None else drafts
        self._allowance, self._claims = allowance or Allowance(), claims or ClaimModel()
        self._index, self._trees, self.lookahead, self.speedup, self._gain = index, trees, 0, 1.0, 1.0
        self._round = self._plan_at = self._look_at = self._try_at = self._proposed = 0
        self._seen: dict[int, int] = {}  # by K, the round in which it was proposed last
        self._used: dict[str, int] = {}  # by source that takes time, that in which it is known to have been no better
        self._finding_out = self._rival = self._surprised = self._scaled = False
        self._promised: Floats = ()
        self._exactly: int | None = None
        self._plain, self._learning_ms, self.limit = self._cost_of_plain(), 0.0, 0
        self.asleep = self.resting = self._allowance.sleep > 0
        if not self.asleep:
            self._make_plan()
        elif self._index:
            self._index.dozing = True
        self._ready = None if self.resting else self.follower

    def choose(self) -> int:
        if self._allowance.sleep:
            self._allowance.sleep -= 1
            self.asleep = self._allowance.sleep > 0
            self._plan_at = self._look_at = self._round
            self._ready = None if self.resting else self._ready
            return 0
        if self._round >= self._plan_at:
            self._make_plan()
        self._round += 1
        self._reach, self._exactly, self._finding_out, self._rival, self._promised = 1.0, None, False, False, ()
        self._idle = self.resting or not self._worth_reading(*self.to_read)
        chosen, self._worth = (0, 1.0 / self._plain) if self._idle else (self._best, self._rate)
        offered = self._look_at_index(self._index) if self._index and self._round > self._look_at else 0
        if offered:
            chosen = self._exactly = offered
        elif self.follower and self._allowance.left > 0.0 and self._idle == self.resting:
            chosen = self._find_out(chosen)
        if not chosen and self._pause and not self._allowance.sleep:
            self._allowance.sleep, self.asleep, self._proposed = self._pause, True, 0
            self._allowance.spend(-self._allowance.SHARE * self._pause)
        self.source = self._index.name if offered and self._index else self.follower
        self._gain, self.lookahead = max(self._worth * self._plain, 1.0), chosen
        measured = self._scaled and chosen + 1 in self.costs.seen and (offered > 0 or self.acceptance.is_known)
        self.speedup = self._gain if measured else 1.0  # What was not measured is not told.
        self.limit = chosen if not chosen or self._exactly is not None else MAX_LOOKAHEAD
        if self._trees and self.follower:
            rate, each = self._worth * (self.limit > chosen), self.costs.draft(self.follower)
            self._trees.begin(rate, self.costs.verify, each, self.acceptance, self.follower, chosen)
        return chosen

    def goes_on(self, proposed: int, confidence: float | None) -> bool:
        if proposed >= (MAX_LOOKAHEAD if self._exactly is None else self._exactly):
            return False
        model = self.acceptance
        chance = model.at(proposed - 1) if confidence is None else model.given(proposed - 1, confidence)
        self._reach *= chance
        if self._exactly is not None:
            return not self.resting or chance > 1.0 / 2.0
        if proposed not in self._rates:
            more = range(proposed, min(proposed + self.AHEAD, MAX_LOOKAHEAD))
            each = self.costs.draft(self.follower or "")
            _, self._rates[proposed] = self._best_size(map(model.at, more), each, proposed)
        return self._reach * self._rates[proposed] > self._worth

    def observe(
        self,
        proposed: int,
        accepted: int,
        draft_ms: float,
        target_ms: float,
        sure: Floats = (),
        rest_ms: float = 0.0,
        *,
        nodes: int = 0,
    ) -> None:
        began = perf_counter()
        before, self._proposed = self._proposed, proposed
        known, self.costs = self.costs, self._costs_now()
        same = self.costs is known
        if not same:
            self._seen, self._used, self._plan_at = {}, {}, self._round
        elif (
            proposed or not before
        ):  # A first plain round behind others takes longer, and plain decoding has none such.
            if self._finding_out and target_ms < (1.0 - self.SURPRISE) * self.costs.verify(proposed + 1):
                self._try_at = self._plan_at = self._round
                self._allowance.spend(-2.0)
            else:
                self._seen[proposed] = self._round
            self.costs.observe_verify(max(proposed, nodes) + 1, target_ms)
            self.costs.observe_rest(proposed, rest_ms + self._learning_ms * (proposed > 0))
        time, name = draft_ms + target_ms + rest_ms, self.follower or ""
        lost = time / self._plain - (accepted + 1) / self._gain if self._finding_out else 0.0
        if self._promised:
            self._claims.observe(proposed, accepted, self._promised)
        elif proposed:
            if name == self._ready and same:  # Otherwise the time is also that of catching up.
                self.costs.observe_draft(proposed, draft_ms, name)
            if lost >= 0.0 and name in self.costs.drafts:  # What turned out better is tried again at once.
                self._used[name] = self._round
            judged = self._scaled and same and not self.costs.beside and not self._rival
            expected = self._planned * time * judged
            self.acceptance.observe(proposed, accepted, sure, expected)
            for other in self._drafts.keys() - {name}:
                self._drafts[other].fade()
            self._judge()
            if accepted < proposed and (not self._pause or self.resting):
                self._plan_at = self._round
        self._ready = None if self.resting and (self._promised or not proposed) else self.follower
        if self._scaled:
            self._allowance.spend(lost - self._allowance.SHARE * time / self._plain)
        else:
            self._plan_at = self._round
        self._learning_ms = MS * (perf_counter() - began)

    def observe_read(self, tokens: int, ms: float | None) -> None:
        self._ready = None
        if ms is not None:
            self.costs.observe_read(tokens, ms, self.follower or "")

    def _worth_reading(self, unread: int, left: int) -> bool:
        """Return True if what the plan saves in the tokens left is more than the time that reading takes."""
        if not unread:
            return True
        saved = self._plain - 1.0 / self._rate if self._rate * self._plain > 1.0 else 0.0
        return left * saved > unread * self.costs.read(self.follower or "")

    def _make_plan(self) -> None:
        """Find the source that takes time, and its K, with the best rate, and whether it pays."""
        costs = self.costs
        self._scaled = costs.knows(1)  # otherwise only the proportions of times mean something
        before, self._plain = self._plain, self._cost_of_plain()
        if abs(self._plain - before) > self.SURPRISE * before:
            self._seen, self._surprised = {}, True
            self._allowance.spend(-2.0)
        self._pause = int(self.LOOK_MS / (self._plain * self._allowance.SHARE))
        self._plan_at = self._round + self.AHEAD
        self._plans = {
            name: self._best_size(map(model.at, range(MAX_LOOKAHEAD)), costs.draft(name))
            for name, model in self._drafts.items()
        }
        self._turn_to(max(self._plans, key=lambda name: self._plans[name][1] * self._drafts[name].gain, default=None))
        self._judge()

    def _turn_to(self, name: str | None) -> None:
        """Let a source draft that takes time, as its plan says. None: there is none."""
        self._rates: dict[int, float] = {}  # by tokens proposed, the best of going on if all are accepted
        self.follower, self.acceptance = name, self._drafts.get(name or "", self.acceptance)
        self._best, self._planned = self._plans.get(name or "", (0, 0.0))

    def _cost_of_plain(self) -> float:
        return self.costs.verify(1) + self.costs.rest[0]

    def _judge(self) -> None:
        """Correct the plan's rate by what rounds gave, and tell whether that is more than plain decoding."""
        self._rate = self._planned * self.acceptance.gain
        self.resting = self._rate * self._plain <= 1.0

    def _look_at_index(self, index: Index) -> int:
        """Return how many tokens of the index to take; 0 where it does not promise a rate that is clearly better."""
        index.dozing = index.trying = False
        promised = index.promise(MAX_LOOKAHEAD)
        best, rate = self._best_size(map(self._claims.given, range(len(promised)), promised), 0.0)
        if rate <= max(self._worth * (1.0 if self._idle else self.INDEX_LEAD), 1.0 / self._plain):
            if self.resting and self._allowance.left > 0.0 and (tried := self._try_index(index)):
                return tried
            index.dozing = self._pause > 0
            self._look_at = self._round + min(self._pause, self.AHEAD)
            return 0
        self._promised, self._worth = promised[:best], rate
        return best

    def _try_index(self, index: Index) -> int:
        """Return how many likely tokens of the index are tried though they do not promise to pay; 0: there are none.

        It may be wrong what they cost, or that its estimates are worth little: nothing else would ever tell.
        """
        likely, reach = list[float](), 1.0
        for chance in index.hopes:
            if (reach := reach * chance) < self.LIKELY:
                break
            likely.append(chance)
        if likely:
            index.trying, self._finding_out, self._promised = True, True, likely
        return len(likely)

    def _find_out(self, chosen: int) -> int:
        """Return what is tried in place of the best, or the best: where nothing pays, a short draft, new ones first.

        Otherwise a source not used for long, or the next larger size, or after a surprise plain decoding (twice: the
        first such round takes longer).
        """
        costs, other = self.costs, None
        rival = min(self._drafts, key=lambda name: self._used.get(name, -self.TRY_EVERY))
        if self._seen and not costs.knows(1):
            other = 0
        elif self.resting:
            self._turn_to(rival)
            self._plan_at = self._round
            cost = {k: costs.verify(k + 1) + k * costs.draft(rival) for k in range(1, DEFAULT_LOOKAHEAD + 1)}
            other = max(cost, key=lambda k: (not costs.knows(k + 1), (1.0 + k * self.acceptance.at(0)) / cost[k]))
        elif rival != self.follower and self._round - self._used.get(rival, -self.TRY_EVERY) >= self.TRY_EVERY:
            self._turn_to(rival)
            self._plan_at, self._rival, other = self._round, True, max(self._best, 1)
        elif self._round >= self._try_at:
            if self._surprised and 0 not in self._seen:
                other = 0
            elif self._surprised or self._round - self._seen.get(chosen + 1, 0) >= self.TRY_EVERY:
                other, self._surprised = chosen + 1, False
        if other is None or other > MAX_LOOKAHEAD:
            return chosen
        self._finding_out, self._exactly = True, other
        self._allowance.sleep, self._try_at = int(not other), self._round + self.AHEAD
        return other

    def _best_size(self, chances: Iterable[float], draft_ms: float, begun: int = 0) -> tuple[int, float]:
        """Return how many tokens behind `begun`, by their `chances`, give the most per millisecond, and that rate."""
        costs, best, rate, reach = self.costs, 0, 0.0, 1.0
        tokens, spent = (0.0, costs.verify(begun + 1)) if begun else (1.0, -costs.rest[1])
        for k, chance in enumerate(chances, 1):
            reach *= chance
            tokens += reach
            time = costs.verify(begun + k + 1) + k * draft_ms - spent
            if tokens > rate * time:
                best, rate = k, tokens / time if time > 0.0 else inf
            if reach < self.HOPELESS or k - best >= self.AHEAD:
                break
        return best, rate
