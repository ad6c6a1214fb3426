"""Policies of the lookahead: their contract, a fixed number, one by the acceptance rate, and the automatic one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

from engine.config import DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD, SpeculationConfig
from engine.drafting.base import Index
from engine.drafting.tree_prices import TreePrices
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel, Share
from engine.lookahead.costs import MS, CostModel
from engine.methods import DRAFT_MODEL

Floats = Sequence[float]


class LookaheadPolicy(ABC):
    """Chooses K for each round and learns from its outcome.

    Attributes: speedup (this round's estimate, as a multiple of plain decoding's speed; None: no estimate); source (the
    name of the proposing source; None: any); asleep (this round and the next one are plain: policy and drafter need no
    update); limit (the maximum length of a draft that calls `goes_on`; None: it does not call it and has the chosen
    length); to_read (set by the loop: tokens that the follower would have to read first, and those that the reply may
    still have).
    """

    speedup: float | None = None
    source: str | None = None
    limit: int | None = None
    asleep = False
    to_read: tuple[int, int] = (0, 0)

    @property
    def follower(self) -> str | None:
        """The only source that need follow each round among those that take time; None: all of them."""
        return None

    @property
    def resting(self) -> bool:
        """True if nothing will be proposed for a while: none need follow each round."""
        return False

    @abstractmethod
    def choose(self) -> int:
        """Return K for the next round, 0..32; 0 is plain decoding."""

    def goes_on(self, proposed: int, confidence: float | None) -> bool:
        """Return True if a draft of so many tokens, which stay in it, should have one more; called once for each.

        `confidence`: the draft's probability of the last one (None: unknown).
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
        """Learn from a round: its times, and `sure`, the drafter's probabilities of its proposals (or none).

        `nodes`: of a tree, whose first path has the `proposed` tokens.
        """

    def observe_read(self, tokens: int, ms: float | None) -> None:  # noqa: B027 - a policy need not learn
        """Learn, before the round is observed, that the drafter read tokens of the prompt in it.

        `ms`: the time that this took; None if it is known only together with drafting.
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
    """Time budget of exploration, in plain tokens: a share of all time. It outlives a reply.

    Attributes: left; sleep (plain rounds until the next exploration, since short replies cannot afford one each).
    """

    SHARE = 0.01

    def __init__(self) -> None:
        self.left, self.sleep = 2.0, 0

    def spend(self, tokens: float) -> None:
        self.left = min(self.left - tokens, 2.0)


_AHEAD = 8
"""Tokens that are thought through before a draft ends, and rounds for which a plan holds."""
_HOPELESS = 0.02
"""The chance to get there below which no further token is thought through."""
_LIKELY = 0.75
"""The chance to get there with which tokens of the index are tried that do not promise to pay."""
_LOOK_MS = 0.09
"""The milliseconds of a look at the sources."""
_TRY_EVERY = 24
"""Rounds after which a larger size, or another source, is tried that was not seen for so long."""
_SURPRISE = 0.15
"""The share by which costs change for them to be found out at once."""
_LONGEST_AT_FIRST = 2 * DEFAULT_LOOKAHEAD
"""The most tokens of a draft whose probabilities were not yet compared with outcomes."""
_EXPECTED = 6.0
"""Expected tokens after which a speedup is told as much by what this reply's rounds gave as by what was expected."""


class Belief:
    """Hold the policy's beliefs: costs, acceptance of the sources that take time, and the plan that follows from both.

    Attributes: costs; drafts (the chances of each source); plain (milliseconds of a plain round); scaled (False: only
    ratios of times are meaningful); surprised (costs changed and were not measured again); seen (by K, the round of its
    last proposal); used (by source, the round of its last evidence of being no better). Of the plan: follower (the
    source with the best rate), acceptance (its chances), best (its K), planned (its rate, in tokens per millisecond),
    rate (corrected by the rounds' outcome), resting (True if the rate is no more than plain decoding's).
    """

    def __init__(self, costs: CostModel, drafts: Mapping[str, AcceptanceModel] | None) -> None:
        self.costs, self.acceptance = costs, AcceptanceModel()
        self.drafts = {DRAFT_MODEL.name: self.acceptance} if drafts is None else drafts
        self.plain = self._cost_of_plain()
        self.scaled = self.surprised = self.resting = False
        self.seen: dict[int, int] = {}
        self.used: dict[str, int] = {}
        self.follower: str | None = None
        self._plans: dict[str, tuple[int, float]] = {}
        self.turn_to(None)

    def plan(self) -> None:
        """Find the slow source, and its K, with the best rate, and judge that rate against plain decoding."""
        costs, before, scaled = self.costs, self.plain, self.scaled
        self.scaled, self.plain = costs.knows(1), self._cost_of_plain()
        if scaled and abs(self.plain - before) > _SURPRISE * before:
            self.seen, self.surprised = {}, True
        self._plans = {
            name: self.best_size(map(model.at, range(MAX_LOOKAHEAD)), costs.draft(name))
            for name, model in self.drafts.items()
        }
        self.turn_to(max(self._plans, key=lambda name: self._plans[name][1] * self.drafts[name].gain, default=None))
        self.judge()

    def turn_to(self, name: str | None) -> None:
        """Draft with a source that takes time, by its plan. None: there is none."""
        self._rates: dict[int, float] = {}
        self.follower, self.acceptance = name, self.drafts.get(name or "", self.acceptance)
        self.best, self.planned = self._plans.get(name or "", (0, 0.0))

    def judge(self) -> None:
        """Correct the plan's rate by the outcomes of rounds, and compare it with plain decoding."""
        self.rate = self.planned * self.acceptance.gain
        self.resting = self.rate * self.plain <= 1.0

    def forget(self, costs: CostModel) -> None:
        """Switch to the costs of other circumstances."""
        self.costs, self.seen, self.used = costs, {}, {}

    def pays_to_read(self, unread: int, left: int) -> bool:
        """Return True if the plan saves more in the tokens left than reading takes."""
        if not unread:
            return True
        saved = self.plain - 1.0 / self.rate if self.rate * self.plain > 1.0 else 0.0
        return left * saved > unread * self.costs.read(self.follower or "")

    def rate_behind(self, proposed: int) -> float:
        """Return the best rate of going on behind so many tokens if all of them are accepted."""
        if proposed not in self._rates:
            more = range(proposed, min(proposed + _AHEAD, MAX_LOOKAHEAD))
            each = self.costs.draft(self.follower or "")
            _, self._rates[proposed] = self.best_size(map(self.acceptance.at, more), each, proposed)
        return self._rates[proposed]

    def rival(self, now: int) -> tuple[str, bool]:
        """Return the source that was not better for longest, and True if it is time to try it in round `now`."""
        name = min(self.drafts, key=lambda name: self.used.get(name, -_TRY_EVERY))
        return name, name != self.follower and now - self.used.get(name, -_TRY_EVERY) >= _TRY_EVERY

    def best_size(self, chances: Iterable[float], draft_ms: float, begun: int = 0) -> tuple[int, float]:
        """Return the best number of tokens behind `begun` by their `chances`, and its tokens per millisecond."""
        costs, best, rate, reach = self.costs, 0, 0.0, 1.0
        tokens, spent = (0.0, costs.verify(begun + 1)) if begun else (1.0, -costs.rest[1])
        for k, chance in enumerate(chances, 1):
            reach *= chance
            tokens += reach
            time = costs.verify(begun + k + 1) + k * draft_ms - spent
            if tokens > rate * time:
                best, rate = k, tokens / time if time > 0.0 else inf
            if reach < _HOPELESS or k - best >= _AHEAD:
                break
        return best, rate

    def tokens(self, proposed: int) -> float:
        """Return the tokens that a round of so many proposals is expected to give."""
        tokens = reach = 1.0
        for position in range(proposed):
            reach *= self.acceptance.at(position)
            tokens += reach
        return tokens * self.acceptance.gain

    def _cost_of_plain(self) -> float:
        """Return the milliseconds of a plain round: at most those of two tokens, which are seen more often."""
        one = self.costs.verify(1)
        return (min(one, self.costs.verify(2)) if self.costs.knows(2) else one) + self.costs.rest[0]


@dataclass(slots=True)
class Trial:
    """Plan one round.

    `idle`: no source that takes time proposes. `worth`: expected tokens per millisecond; `gain`: the same as a multiple
    of plain decoding's, at least 1. `promised`: the chances of the index's tokens, if it proposes. `exactly`: number
    of proposed tokens (None: as long as one more pays); `reach`: the chance that all of them so far are kept.
    `finding_out`: exploration, not the expected best; `rival`: the trial of a source unused for long.
    """

    idle: bool = False
    worth: float = 0.0
    gain: float = 1.0
    promised: Floats = ()
    exactly: int | None = None
    reach: float = 1.0
    finding_out: bool = False
    rival: bool = False


class AutoLookahead(LookaheadPolicy):
    """Choose the source and K with the most expected tokens per second. See ARCHITECTURE.md, *Lookahead*.

    `drafts`: the acceptance of each source that takes time (None: of a draft model). A draft continues while its
    expected gain, several tokens ahead, exceeds its time. Decisions use only kept tokens and the promise of the `index`
    before any draw, so the output is not biased. If nothing beats plain decoding, only rounds within the `allowance`
    propose (of the index, its likely tokens); exploration of the sources stays within it too. `costs_now` returns the
    current costs, which differ from `costs` beside other programs and in long texts; no time is learned from a round
    in which they change.
    """

    speedup: float
    INDEX_LEAD = 1.6
    """Times of the draft's rate that the index must promise, which is better itself where a text repeats."""

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
        given = costs or CostModel()
        self._costs_now = costs_now or (lambda: given)
        self._belief, self._trial = Belief(self._costs_now(), drafts), Trial()
        self._allowance, self._claims = allowance or Allowance(), claims or ClaimModel()
        self._index, self._trees, self.lookahead, self.speedup, self.limit = index, trees, 0, 1.0, 0
        self._round = self._plan_at = self._look_at = self._try_at = self._proposed = 0
        self._learning_ms, self._read_ms, self._given = 0.0, 0.0, Share(AcceptanceModel.MEMORY)
        self.asleep = self._belief.resting = self._allowance.sleep > 0
        if not self.asleep:
            self._make_plan()
        elif self._index:
            self._index.dozing = True
        self._ready = None if self._belief.resting else self.follower

    @property
    def costs(self) -> CostModel:
        """The costs that hold now."""
        return self._belief.costs

    @property
    def acceptance(self) -> AcceptanceModel:
        """The acceptance of the follower's tokens."""
        return self._belief.acceptance

    @property
    def follower(self) -> str | None:
        return self._belief.follower

    @property
    def resting(self) -> bool:
        """Not before anything was measured: the draft is tried soon, and should have read the prompt then."""
        return self._belief.resting and self._belief.scaled

    def choose(self) -> int:
        belief, allowance, index = self._belief, self._allowance, self._index
        if allowance.sleep:
            allowance.sleep -= 1
            self.asleep = allowance.sleep > 0
            self._plan_at = self._look_at = self._round
            self._ready = None if belief.resting else self._ready
            return 0
        if self._round >= self._plan_at:
            self._make_plan()
        self._round += 1
        idle = belief.resting or not belief.pays_to_read(*self.to_read)
        chosen, worth = (0, 1.0 / belief.plain) if idle else (belief.best, belief.rate)
        trial = self._trial = Trial(idle, worth)
        offered = self._look_at_index(index) if index and self._round > self._look_at else 0
        if offered:
            chosen = trial.exactly = offered
        elif belief.follower and allowance.left > 0.0 and idle == belief.resting:
            chosen = self._find_out(chosen)
        if not chosen and self._pause and not allowance.sleep:
            allowance.sleep, self.asleep, self._proposed = self._pause, True, 0
            allowance.spend(-allowance.SHARE * self._pause)
        self.source = index.name if offered and index else belief.follower
        trial.gain, self.lookahead = max(trial.worth * belief.plain, 1.0), chosen
        measured = belief.scaled and chosen + 1 in belief.costs.seen and (offered > 0 or belief.acceptance.is_known)
        told = trial.gain * self._given.mean(1.0, _EXPECTED)
        # Unmeasured speedups are not reported.
        self.speedup = max(told, 1.0) if measured and trial.gain > 1.0 else 1.0
        longest = MAX_LOOKAHEAD if belief.acceptance.is_known else _LONGEST_AT_FIRST
        self.limit = chosen if not chosen or trial.exactly is not None else max(chosen, longest)
        if self._trees and belief.follower:
            rate, each = trial.worth * (self.limit > chosen), belief.costs.draft(belief.follower)
            self._trees.begin(rate, belief.costs.verify, each, belief.acceptance, belief.follower, chosen)
        return chosen

    def goes_on(self, proposed: int, confidence: float | None) -> bool:
        trial, model = self._trial, self._belief.acceptance
        if proposed >= (MAX_LOOKAHEAD if trial.exactly is None else trial.exactly):
            return False
        chance = model.at(proposed - 1) if confidence is None else model.given(proposed - 1, confidence)
        trial.reach *= chance
        if trial.exactly is not None:
            return not self._belief.resting or chance > 1.0 / 2.0
        return trial.reach * self._belief.rate_behind(proposed) > trial.worth

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
        began, belief, trial = perf_counter(), self._belief, self._trial
        before, self._proposed = self._proposed, proposed
        costs = self._costs_now()
        same = belief.costs is costs
        if not same:
            belief.forget(costs)
            self._plan_at = self._round
        elif (
            proposed or not before
        ):  # A first plain round behind others takes longer, and plain decoding has none such.
            if trial.finding_out and target_ms < (1.0 - _SURPRISE) * costs.verify(proposed + 1):
                self._try_at = self._plan_at = self._round
                self._allowance.spend(-2.0)
            else:
                belief.seen[proposed] = self._round
            costs.observe_verify(max(proposed, nodes) + 1, target_ms)
            costs.observe_rest(proposed, rest_ms + self._learning_ms * (proposed > 0))
        time = draft_ms + target_ms + rest_ms
        round_ms, self._read_ms = time - min(self._read_ms, draft_ms), 0.0  # Later rounds are to pay for reading, too.
        lost = round_ms / belief.plain - (accepted + 1) / trial.gain if trial.finding_out else 0.0
        paid = lost
        if trial.finding_out and proposed and not trial.promised and belief.resting:
            # By what was expected of it: by its outcome, one unlucky trial would put off the next for long.
            paid = round_ms / belief.plain - belief.tokens(proposed)
        if proposed and trial.gain > 1.0:
            self._given.add(accepted + 1.0, trial.worth * time)
        if trial.promised:
            self._claims.observe(proposed, accepted, trial.promised)
        elif proposed:
            self._observe_draft(proposed, accepted, sure, draft_ms, round_ms * same)
            if lost >= 0.0 and belief.follower in costs.drafts:  # What turned out better is tried again at once.
                belief.used[belief.follower] = self._round
        # Then its next time is also that of reading what it did not propose.
        behind = trial.promised or (belief.resting and not proposed)
        self._ready = None if behind else belief.follower
        if belief.scaled:
            self._allowance.spend(paid - self._allowance.SHARE * time / belief.plain)
        else:
            self._plan_at = self._round
        self._learning_ms = MS * (perf_counter() - began)

    def _observe_draft(self, proposed: int, accepted: int, sure: Floats, draft_ms: float, time: float) -> None:
        """Learn from a round of the follower. `time`: milliseconds; 0 if its costs are other ones now."""
        belief, trial, name = self._belief, self._trial, self._belief.follower or ""
        if name == self._ready and time:  # Otherwise the time is also that of catching up.
            belief.costs.observe_draft(proposed, draft_ms, name)
        planned = not trial.rival and (not trial.finding_out or proposed <= belief.best)
        judged = belief.scaled and planned and not belief.costs.disturbed
        belief.acceptance.observe(proposed, accepted, sure, belief.planned * time * judged)
        for other in belief.drafts.keys() - {name}:
            belief.drafts[other].fade()
        belief.judge()
        if accepted < proposed and (not self._pause or belief.resting):
            self._plan_at = self._round

    def observe_read(self, tokens: int, ms: float | None) -> None:
        self._ready, costs, name = None, self._belief.costs, self.follower or ""
        if ms is not None:
            costs.observe_read(tokens, ms, name)
        self._read_ms = tokens * costs.read(name) if ms is None else ms

    @property
    def _pause(self) -> int:
        """The number of plain rounds that a look at the sources must be worth."""
        return int(_LOOK_MS / (self._belief.plain * self._allowance.SHARE))

    def _make_plan(self) -> None:
        before = self._belief.plain
        self._belief.plan()
        if abs(self._belief.plain - before) > _SURPRISE * before:
            self._allowance.spend(-2.0)
        self._plan_at = self._round + _AHEAD

    def _look_at_index(self, index: Index) -> int:
        """Return the tokens of the index to take; 0 if it does not promise a rate that is clearly better."""
        belief, trial = self._belief, self._trial
        index.dozing = index.trying = False
        promised = index.promise(MAX_LOOKAHEAD)
        best, rate = belief.best_size(map(self._claims.given, range(len(promised)), promised), 0.0)
        if rate <= max(trial.worth * (1.0 if trial.idle else self.INDEX_LEAD), 1.0 / belief.plain):
            if belief.resting and self._allowance.left > 0.0 and (tried := self._try_index(index)):
                return tried
            index.dozing = self._pause > 0
            self._look_at = self._round + min(self._pause, _AHEAD)
            return 0
        trial.promised, trial.worth = promised[:best], rate
        return best

    def _try_index(self, index: Index) -> int:
        """Return the number of the index's likely tokens to try although they seem not to pay; 0: none.

        Their cost or the index's estimates may be wrong: only a trial shows it.
        """
        likely, reach = list[float](), 1.0
        for chance in index.hopes:
            if (reach := reach * chance) < _LIKELY:
                break
            likely.append(chance)
        if likely:
            index.trying, self._trial.finding_out, self._trial.promised = True, True, likely
        return len(likely)

    def _find_out(self, chosen: int) -> int:
        """Choose a trial instead of the best round, or the best: if nothing pays, a short draft, new ones first.

        Otherwise a source unused for long, or the next larger K (at once where it was never measured), or after a
        surprise plain decoding (twice: the first such round takes longer).
        """
        belief, costs, other = self._belief, self._belief.costs, None
        rival, is_due = belief.rival(self._round)
        is_new = not costs.knows(chosen + 2)
        if belief.seen and not costs.knows(1):
            other = 0
        elif belief.resting:
            belief.turn_to(rival)
            self._plan_at = self._round
            cost = {k: costs.verify(k + 1) + k * costs.draft(rival) for k in range(1, DEFAULT_LOOKAHEAD + 1)}
            other = max(cost, key=lambda k: (not costs.knows(k + 1), belief.tokens(k) / cost[k]))
        elif is_due:
            belief.turn_to(rival)
            self._plan_at, self._trial.rival, other = self._round, True, max(belief.best, 1)
        elif self._round >= self._try_at:
            if belief.surprised and 0 not in belief.seen:
                other = 0
            elif belief.surprised or is_new or self._round - belief.seen.get(chosen + 1, 0) >= _TRY_EVERY:
                other, belief.surprised = chosen + 1, False
        if other is None or other > MAX_LOOKAHEAD:
            return chosen
        self._trial.finding_out, self._trial.exactly = True, other
        self._allowance.sleep = int(not other)
        self._try_at = self._round + (_AHEAD if costs.knows(other + 1) else 1)
        return other
