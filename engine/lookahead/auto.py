"""The lookahead that promises the most tokens per second, by what rounds cost and what was accepted."""

from __future__ import annotations

from time import perf_counter

from engine.config import DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD
from engine.drafting.base import Index
from engine.lookahead.acceptance import AcceptanceModel, ClaimModel
from engine.lookahead.costs import MS, CostModel
from engine.lookahead.policy import Floats, LookaheadPolicy
from engine.methods import DRAFT_MODEL


class Allowance:
    """Time, in plain tokens, that rounds may lose to find something out: a share of all time. It outlives a reply.

    A round is allowed while anything is left; its loss may leave a debt, and what it wins is put back.
    """

    SHARE = 0.01

    def __init__(self) -> None:
        self.left = 2.0

    def spend(self, tokens: float) -> None:
        self.left = min(self.left - tokens, 2.0)


class AutoLookahead(LookaheadPolicy):
    """Proposes from the source, and as much, as promises the most tokens per second.

    K proposals are expected to give 1 + a1 + a1·a2 + … tokens (a: the chance of each position, given those before it)
    in the time of their round; the best rate, corrected by what rounds gave, says what a millisecond is worth. A draft
    goes on while what it may still win, several tokens on, is worth more than its time; how sure the draft was decides
    with it. Only kept tokens are looked at, so nothing is bent. The promise of the `index` is known before any draw.

    Where nothing beats plain decoding, only rounds that the `allowance` bears propose; and where a look at the sources
    is felt, plain rounds follow until it has taken no more than the allowance's share.
    """

    speedup: float
    MOST = MAX_LOOKAHEAD
    AHEAD, HOPELESS = 8, 0.02
    """Tokens that are thought through before a draft ends, if there is that chance to get there; rounds of a plan."""
    INDEX_LEAD = 1.6
    """Times of the draft's rate that the index must promise: where a text repeats itself, the draft too is better."""
    LOOK_MS = 0.09
    """What a look at all sources takes, with following what is committed."""
    TRY_EVERY, SURPRISE = 24, 0.15
    """Rounds after which a larger size is tried that was not seen; a share by which costs change: then at once."""

    def __init__(
        self,
        costs: CostModel | None = None,
        acceptance: AcceptanceModel | None = None,
        allowance: Allowance | None = None,
        *,
        index: Index | None = None,
        claims: ClaimModel | None = None,
        drafts: bool = True,
        draft: str = DRAFT_MODEL.name,
    ) -> None:
        self.costs, self.acceptance = costs or CostModel(), acceptance or AcceptanceModel()
        self._allowance, self._claims = allowance or Allowance(), claims or ClaimModel()
        self._index, self._drafts, self._draft = index, drafts, draft
        self.lookahead, self.speedup = 0, 1.0
        self._round = self._plan_at = self._look_at = self._try_at = self._proposed = self._sleep = 0
        self._seen: dict[int, int] = {}
        """By K, the round in which it was proposed last."""
        self._finding_out = self._surprised = False
        self._promised: Floats = ()
        self._exactly: int | None = None
        self._plain, self._learning_ms = self.costs.verify(1), 0.0
        self._make_plan()

    def choose(self) -> int:
        if self._sleep:
            self._sleep -= 1
            self.asleep = self._sleep > 0
            self._plan_at = self._look_at = self._round
            return 0
        if self._round >= self._plan_at:
            self._make_plan()
        self._round += 1
        self._reach, self._exactly, self._finding_out, self._promised = 1.0, None, False, ()
        chosen, self._worth = (0, 1.0 / self._plain) if self.resting else (self._best, self._rate)
        offered = self._look_at_index(self._index) if self._index and self._round > self._look_at else 0
        if offered:
            chosen = self._exactly = offered
        elif self._drafts and self._allowance.left > 0.0:
            chosen = self._find_out(chosen)
        if not chosen and self._pause and not self._sleep:
            self._sleep, self.asleep = self._pause, True
            self._allowance.spend(-self._allowance.SHARE * self._pause)
        self.source = self._index.name if offered and self._index else self._draft
        self.speedup, self.lookahead = max(self._worth * self._plain, 1.0), chosen
        self.limit = chosen if not chosen or self._exactly is not None else self.MOST
        return chosen

    def goes_on(self, proposed: int, confidence: float | None) -> bool:
        if proposed >= (self.MOST if self._exactly is None else self._exactly):
            return False
        model = self.acceptance
        chance = model.at(proposed - 1) if confidence is None else model.given(proposed - 1, confidence)
        self._reach *= chance
        if self._exactly is not None:
            return not self.resting or chance > 1.0 / 2.0
        if proposed not in self._least:
            self._least[proposed] = self._make_least(proposed)
        return self._reach > self._worth * self._least[proposed]

    def observe(
        self, proposed: int, accepted: int, draft_ms: float, target_ms: float, sure: Floats = (), rest_ms: float = 0.0
    ) -> None:
        before, self._proposed = self._proposed, proposed
        if self.asleep:
            if before:  # What a draft costs too: the first plain round behind it takes longer.
                self._allowance.spend(target_ms / self._plain - 1.0)
            elif self._sleep % self.AHEAD == 1:
                self.costs.observe_verify(1, target_ms)
            return
        began = perf_counter()
        if proposed or not before:  # A first plain round behind others takes longer, and plain decoding has none such.
            if self._finding_out and target_ms < (1.0 - self.SURPRISE) * self.costs.verify(proposed + 1):
                self._try_at = self._plan_at = self._round
                self._allowance.spend(-2.0)
            else:
                self._seen[proposed] = self._round
            self.costs.observe_verify(proposed + 1, target_ms)
            self.costs.observe_rest(proposed, rest_ms + self._learning_ms * (proposed > 0))
        time = draft_ms + target_ms + rest_ms
        if self._promised:
            self._claims.observe(proposed, accepted, self._promised)
        elif proposed:
            if not self.resting:  # Otherwise the time is also that of catching up.
                self.costs.observe_draft(proposed, draft_ms)
            self.acceptance.observe(proposed, accepted, sure, self._planned * time * self._scaled)
            self._judge()
            if accepted < proposed and (not self._pause or self.resting):
                self._plan_at = self._round
        if self._scaled:
            lost = time / self._plain - (accepted + 1) / self.speedup if self._finding_out else 0.0
            self._allowance.spend(lost - self._allowance.SHARE * time / self._plain)
        else:
            self._plan_at = self._round
        self._learning_ms = MS * (perf_counter() - began)

    def _make_plan(self) -> None:
        """Find the K of the draft model with the best rate, and whether it pays."""
        costs, draft = self.costs, self.costs.draft()
        self._scaled = costs.knows(1)
        """Whether times are milliseconds; without any of plain decoding only their proportions mean something."""
        before, self._plain = self._plain, costs.verify(1) + costs.rest[0]
        if abs(self._plain - before) > self.SURPRISE * before:
            self._seen, self._surprised = {}, True
            self._allowance.spend(-2.0)
        self._pause = int(self.LOOK_MS / (self._plain * self._allowance.SHARE))
        self._plan_at = self._round + self.AHEAD
        self._least: dict[int, float] = {}
        """By tokens proposed: how likely they must be for one more to pay, in times of the worth of a millisecond."""
        self._best, self._planned, tokens, reach = 0, 0.0, 1.0, 1.0
        for k in range(1, self.MOST + 1 if self._drafts else 1):
            reach *= self.acceptance.at(k - 1)
            tokens += reach
            rate = tokens / (costs.verify(k + 1) + k * draft + costs.rest[1])
            if rate > self._planned:
                self._best, self._planned = k, rate
            if reach < self.HOPELESS or k - self._best >= self.AHEAD:
                break
        self._judge()

    def _judge(self) -> None:
        """Correct the plan's rate by what rounds gave, and tell whether that is more than plain decoding."""
        self._rate = self._planned * self.acceptance.gain
        self.resting = self._rate * self._plain <= 1.0

    def _look_at_index(self, index: Index) -> int:
        """Return how many tokens of the index to take; 0 where it does not promise a rate that is clearly better."""
        index.dozing = False
        promised = index.promise(self.MOST)
        best, rate, tokens, reach = 0, 0.0, 1.0, 1.0
        for k, chance in enumerate(promised, 1):
            reach *= self._claims.given(k - 1, chance)
            tokens += reach
            if tokens > rate * self.costs.verify(k + 1):
                best, rate = k, tokens / self.costs.verify(k + 1)
        if rate <= max(self._worth * (1.0 if self.resting else self.INDEX_LEAD), 1.0 / self._plain):
            index.dozing = self._pause > 0
            self._look_at = self._round + min(self._pause, self.AHEAD)
            return 0
        self._promised, self._worth = promised[:best], rate
        return best

    def _find_out(self, chosen: int) -> int:
        """Return what is tried in place of the best, or the best.

        Where nothing pays, a short draft, of a size that was never measured if there is one. Otherwise the next larger
        size; and plain decoding after a surprise (twice, as the first such round takes longer).
        """
        costs, other = self.costs, None
        if self._seen and not costs.knows(1):
            other = 0
        elif self.resting:
            cost = {k: costs.verify(k + 1) + k * costs.draft() for k in range(1, DEFAULT_LOOKAHEAD + 1)}
            other = max(cost, key=lambda k: (not costs.knows(k + 1), (1.0 + k * self.acceptance.at(0)) / cost[k]))
        elif self._round >= self._try_at:
            if self._surprised and 0 not in self._seen:
                other = 0
            elif self._surprised or self._round - self._seen.get(chosen + 1, 0) >= self.TRY_EVERY:
                other, self._surprised = chosen + 1, False
        if other is None or other > self.MOST:
            return chosen
        self._finding_out, self._exactly = True, other
        self._sleep, self._try_at = int(not other), self._round + self.AHEAD
        return other

    def _make_least(self, proposed: int) -> float:
        """Return the fewest milliseconds for each token to be won by 1 to AHEAD tokens more, if those before hold."""
        so_far, gain, reach, found = self.costs.verify(proposed + 1), 0.0, 1.0, []
        for more in range(1, min(self.AHEAD, self.MOST - proposed) + 1):
            reach *= self.acceptance.at(proposed + more - 1)
            gain += reach
            found.append((self.costs.verify(proposed + more + 1) - so_far + more * self.costs.draft()) / gain)
        return min(found)
