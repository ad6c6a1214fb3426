"""What is learned of one source's proposals is not taken for another's, and outlives the reply."""

import pytest

from engine import SpeculativeDecoder
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge
from engine.methods import DRAFT_MODEL, DraftMethod
from helpers.decoding.fake_backend import FakeBackend


def test_the_targets_costs_are_shared_to_begin_with_and_the_drafts_are_not() -> None:
    pair = PairKnowledge(CostModel({1: 10.0, 5: 12.0}, 1.0))
    heads = pair.apart("heads")
    assert heads.costs.verify(5) == 12.0
    assert not heads.costs.knows_draft
    for _ in range(3):
        heads.costs.observe_draft(1, 4.0)
        heads.costs.observe_verify(1, 20.0)
    assert heads.costs.draft() == 4.0
    assert (pair.costs.draft(), pair.costs.verify(1)) == (1.0, 10.0)
    assert pair.apart("heads") is heads
    assert pair.apart("others") is not heads


@pytest.mark.parametrize("apart", [False, True])
def test_a_method_of_ones_own_goes_on_with_what_it_learned(apart: bool) -> None:
    own = DraftMethod("own", "Own", "A method of one's own.", DRAFT_MODEL.maker, needs="draft")
    decoder = SpeculativeDecoder()
    decoder.attach_target(FakeBackend(6, 11))
    decoder.attach_draft(FakeBackend(6, 23))
    learned = []
    for _ in range(2):
        decoder.generate("1 2 3", raw=True, max_tokens=20, method=own if apart else "draft-model", lookahead="auto")
        assert decoder._knowledge is not None
        learned.append(decoder._knowledge._apart.get("own"))
    assert learned[0] is learned[1]
    assert (learned[0] is not None and learned[0].costs.knows(1)) is apart
    assert decoder._knowledge is not None
    assert decoder._knowledge.costs.knows(1) is not apart
