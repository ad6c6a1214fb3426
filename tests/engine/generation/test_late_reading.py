"""A draft reads a long prompt behind the reply's first token, and only where that pays."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import SpeculativeDecoder, bundled_pair, load
from engine.drafting.base import LONG_PROMPT, SHORT_PROMPT, STEP
from engine.events import TokenEvent
from engine.lookahead.acceptance import AcceptanceModel
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge
from engine.lookahead.policy import Allowance, AutoLookahead
from engine.methods import DRAFT_MODEL

_COSTS = {n: 30.0 + 0.5 * n for n in range(1, 34)}


def _policy() -> AutoLookahead:
    acceptance = AcceptanceModel(prior=0.9)
    return AutoLookahead(CostModel(_COSTS, 3.0), {DRAFT_MODEL.name: acceptance})


def test_a_long_prompt_is_read_for_a_long_reply() -> None:
    policy = _policy()
    policy.to_read = 1_000, 10
    assert policy.choose() == 0
    assert policy.speedup == 1.0
    policy.to_read = 1_000, 256
    assert policy.choose() > 0
    policy.to_read = 0, 1
    assert policy.choose() > 0


def test_what_reading_costs_is_learned() -> None:
    policy = _policy()
    policy.to_read = 500, 256
    policy.choose()
    policy.observe_read(128, 12_800.0)
    policy.observe(0, 0, 12_800.0, 30.5)
    assert policy.costs.read() == pytest.approx(100.0)
    assert policy.choose() == 0
    assert policy.costs.draft() == pytest.approx(3.0), "reading is no drafting"


@pytest.mark.parametrize("drafted", [0, 1])
def test_what_is_read_in_a_trial_is_no_cost_of_the_trial(drafted: int) -> None:
    """Else no other one followed for hundreds of rounds, whatever the first rounds behind it gave."""
    costs, allowance = CostModel({1: 30.0, 2: 30.5}, 3.0), Allowance()
    policy = AutoLookahead(costs, {DRAFT_MODEL.name: AcceptanceModel()}, allowance)
    policy.to_read = 128, 256
    policy.choose()
    assert policy._trial.finding_out
    costs.observe_read(128, 400.0)
    policy.observe_read(128, None if drafted else 400.0)  # Behind it a token may be drafted in the same time.
    policy.observe(drafted, 0, 400.0 + 3.0 * drafted, 30.5)
    assert allowance.left == pytest.approx(2.0, abs=0.5)


@pytest.fixture(scope="module")
def pair() -> Iterator[SpeculativeDecoder]:
    with load(*bundled_pair()) as decoder:
        yield decoder


@pytest.mark.parametrize("size", [SHORT_PROMPT + 60, LONG_PROMPT + 200])
@pytest.mark.parametrize("options", [{}, {"lookahead": 4}, {"tree": (2, 3)}])
def test_a_real_pair_writes_the_same_text(pair: SpeculativeDecoder, size: int, options: dict[str, Any]) -> None:
    story = pair.encode("Once a shy dragon lived behind the hill. It counted the clouds. ")
    prompt = (story * (size // len(story) + 1))[:size]
    plain = pair.generate(prompt, lookahead=0, max_tokens=200)
    assert pair.draft is not None
    pair.draft.truncate(0)
    held, cheap = [], CostModel({n: 30.0 + 0.1 * n for n in range(1, 34)}, 0.1)
    pair._knowledge = PairKnowledge(cheap)
    tokens = []
    for event in pair.stream(prompt, max_tokens=200, method="draft-model", **options):
        if isinstance(event, TokenEvent):
            held.append(pair.draft.length)
            tokens.append(event.token)
    assert tuple(tokens) == plain.tokens
    assert held[0] == 0, "the first token does not wait"
    assert max(held) > STEP, "it is read at last"
    if size > LONG_PROMPT:
        assert max(held) < size


def _prompt(pair: SpeculativeDecoder, story: str, size: int) -> list[int]:
    told = pair.encode(story)
    return (told * (size // len(told) + 1))[:size]


def test_streams_read_late_too(pair: SpeculativeDecoder) -> None:
    asked: dict[str, Any] = {"max_tokens": 40, "method": "draft-model", "lookahead": 4}
    prompts = [_prompt(pair, story, SHORT_PROMPT + 60) for story in ("A fox ran home. ", "The clouds were grey. ")]
    plain = [pair.generate(prompt, lookahead=0, max_tokens=40).tokens for prompt in prompts]
    written: dict[int, Any] = {}

    def write(number: int, stream: SpeculativeDecoder) -> None:
        written[number] = stream.generate(prompts[number], **asked)

    try:
        threads = [threading.Thread(target=write, args=each) for each in enumerate(pair.open_streams(2))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        pair.close_streams()
    assert [written[number].tokens for number in (0, 1)] == plain
    assert min(each.stats.proposed for each in written.values()) > 0


def test_what_was_read_late_is_kept_and_taken_up(pair: SpeculativeDecoder, tmp_path: Path) -> None:
    """The draft holds the ends of a long prompt alone, or nothing yet: on the disk too."""
    long = _prompt(pair, "A fox ran over the hill and came home. ", LONG_PROMPT + 200)
    asked: dict[str, Any] = {"max_tokens": 24, "method": "draft-model", "lookahead": 4}
    plain = pair.generate(long, lookahead=0, max_tokens=24)
    pair.keep_caches(tmp_path, each_reply=True)
    try:
        first = pair.generate(long, **asked)
        pair.generate(_prompt(pair, "The clouds were grey. ", SHORT_PROMPT + 60), **asked)
        again = pair.generate(long, **asked)
        longer = pair.generate([*long, *plain.tokens], **asked)
    finally:
        pair.keep_caches(None, each_reply=True)
    assert first.tokens == again.tokens == plain.tokens
    assert again.prompt_evaluated < 10
    assert again.stats.accepted == first.stats.accepted
    assert longer.tokens == pair.generate([*long, *plain.tokens], lookahead=0, max_tokens=24).tokens
