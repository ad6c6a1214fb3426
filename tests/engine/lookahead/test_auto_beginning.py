"""How a reply with auto begins: nothing of it may cost what a short reply of a tiny model would feel."""

from engine.cancel import CancelToken
from engine.drafting.ngram import NgramDrafter
from engine.lookahead.acceptance import AcceptanceModel
from engine.lookahead.costs import CostModel
from engine.lookahead.policy import Allowance, AutoLookahead
from engine.methods import DRAFT_MODEL


def test_a_reply_that_begins_is_no_surprise() -> None:
    """What surrounds a forward belongs to the cost of plain decoding from the first plan on."""
    costs, allowance = CostModel({n: 0.2 * n for n in range(1, 34)}, 0.2), Allowance()
    costs.rest[0] = 0.1
    allowance.spend(9.0)
    AutoLookahead(costs, {DRAFT_MODEL.name: AcceptanceModel(prior=0.1, weight=1_000.0)}, allowance)
    assert allowance.left == -7.0


def test_a_reply_that_begins_asleep_lets_its_index_doze() -> None:
    allowance, index = Allowance(), NgramDrafter()
    allowance.sleep = 3
    policy = AutoLookahead(allowance=allowance, index=index)
    index.begin([1, 2, 3] * 4, CancelToken())
    assert policy.asleep
    assert index.dozing


def test_a_reply_that_begins_asleep_wakes_without_an_index_too() -> None:
    allowance = Allowance()
    allowance.sleep = 3
    policy = AutoLookahead(allowance=allowance)
    assert [policy.choose() for _ in range(3)] == [0, 0, 0]
    assert not policy.asleep
