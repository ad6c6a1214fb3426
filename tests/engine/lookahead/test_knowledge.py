"""What a decoder knows of its pair: calibrated once, kept between runs, learned from in every reply."""

import random
from pathlib import Path

import pytest

import engine.lookahead.knowledge
from engine import Cancelled, EngineError, SpeculativeDecoder, bundled_pair, load
from engine.cancel import CancelToken
from engine.lookahead.acceptance import AcceptanceModel
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge, costs_for, learn_pair, remember, remembered_part
from engine.lookahead.policy import AutoLookahead
from engine.methods import DRAFT_MODEL
from helpers.decoding.fake_backend import FakeBackend


def test_greedy_and_drawn_tokens_are_learned_apart() -> None:
    known = PairKnowledge()
    known.acceptance("ngram", greedy=True).observe(4, 0)
    assert known.acceptance("ngram", greedy=True).at(0) < known.acceptance("ngram", greedy=False).at(0)
    assert known.acceptance("ngram", greedy=True) is known.acceptance("ngram", greedy=True)


def test_a_new_conversation_begins_with_what_the_pair_is_known_for() -> None:
    known = PairKnowledge()
    prompt = list(range(40))
    known.begin(prompt)
    for _ in range(30):
        known.acceptance("draft-model", greedy=True).observe(2, 2)
    of_the_pair = known.acceptance("draft-model", greedy=True).at(0)
    for _ in range(10):
        known.acceptance("draft-model", greedy=True).observe(2, 0)
    known.begin([*prompt, *range(100)])
    here = known.acceptance("draft-model", greedy=True).at(0)
    known.begin(list(range(50, 90)))
    anew = known.acceptance("draft-model", greedy=True).at(0)
    assert here + 0.05 < anew < of_the_pair


def test_a_few_rounds_do_not_outweigh_what_the_pair_is_known_for() -> None:
    """A short reply is over before what is guessed from so few rounds is worth anything."""
    rng = random.Random(1)
    known = PairKnowledge()
    known.begin(list(range(40)))
    for _ in range(400):
        known.acceptance("draft-model", greedy=True).observe(1, int(rng.random() < 0.8), (0.95,))
    known.begin(list(range(50, 90)))
    for _ in range(3):
        known.acceptance("draft-model", greedy=True).observe(1, 0, (0.95,))
    here = known.acceptance("draft-model", greedy=True)
    assert 0.6 < here.at(0) < 0.78
    assert 0.6 < here.given(0, 0.95) < 0.78
    for _ in range(60):
        here.observe(1, 0, (0.95,))
    assert here.given(0, 0.95) < 0.2


def test_what_an_index_is_worth_is_of_one_conversation() -> None:
    known = PairKnowledge()
    prompt = list(range(40))
    known.begin(prompt)
    for _ in range(20):
        known.claims("ngram", greedy=True).observe(1, 0, (0.7,))
    known.begin([*prompt, *range(100)])
    assert known.claims("ngram", greedy=True).given(0, 0.7) < 0.2
    known.begin(list(range(50, 90)))
    assert known.claims("ngram", greedy=True).given(0, 0.7) == pytest.approx(0.7)


def test_what_was_accepted_is_kept_beside_the_costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(engine.lookahead.knowledge, "costs_key", lambda *_: "key")
    remember("key", CostModel({1: 2.0}))
    known = learn_pair(FakeBackend(), FakeBackend(), (None, None), CancelToken())
    for _ in range(40):
        known.acceptance("draft-model", greedy=True).observe(1, 0)
    known.costs_now(5_000).observe_verify(5, 90.0)
    known.save(at_once=True)
    again = learn_pair(FakeBackend(), FakeBackend(), (None, None), CancelToken())
    assert again.acceptance("draft-model", greedy=True).at(0) < 0.3
    assert again.acceptance("draft-model", greedy=False).at(0) == pytest.approx(0.7)
    assert again.costs.measured == {1: 2.0}
    assert again.costs_now(5_000).knows(5)
    assert not again.costs_now(2_000).knows(5)
    # Costs that are measured anew leave it, and what is damaged is passed over.
    remember("key", CostModel({1: 3.0}))
    assert remembered_part("key", "acceptance").keys() == {"draft-model, greedy"}
    remember("key", CostModel({1: 3.0}), acceptance={"draft-model, greedy": {"shares": "?"}}, longer={"4096": {}})
    damaged = learn_pair(FakeBackend(), FakeBackend(), (None, None), CancelToken())
    assert damaged.acceptance("draft-model", greedy=True).at(0) == pytest.approx(0.7)


def test_models_that_are_not_files_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.lookahead.knowledge, "costs_for", lambda *_, **__: pytest.fail("measured"))
    known = learn_pair(FakeBackend(), FakeBackend(), (None, None), CancelToken())
    assert not known.costs.knows(1)


@pytest.mark.parametrize("error", [EngineError("broken"), Cancelled()])
def test_what_fails_in_a_calibration(monkeypatch: pytest.MonkeyPatch, error: EngineError) -> None:
    def fail(*_: object, **__: object) -> CostModel:
        raise error

    monkeypatch.setattr(engine.lookahead.knowledge, "costs_key", lambda *_: "key")
    monkeypatch.setattr(engine.lookahead.knowledge, "costs_for", fail)
    if isinstance(error, Cancelled):
        with pytest.raises(Cancelled):
            learn_pair(FakeBackend(), None, (None, None), CancelToken())
    else:
        assert not learn_pair(FakeBackend(), None, (None, None), CancelToken()).costs.knows(1)


def test_a_real_pair_is_measured_once_and_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seen = []

    def counted(*args: object, **options: object) -> CostModel:
        costs = costs_for(*args, **options)  # type: ignore[arg-type]
        seen.append(costs.measured)
        return costs

    monkeypatch.setattr(engine.lookahead.knowledge, "costs_for", counted)
    plain = []
    for _ in range(2):
        with load(*bundled_pair()) as decoder:
            texts = [
                decoder.generate("Tell me a story.", lookahead=way, max_tokens=40).text for way in (0, "auto", "auto")
            ]
            plain.append(texts[0])
            assert texts == [texts[0]] * 3
    assert len(seen) == 2
    assert {1, 2, 5} <= set(seen[0])
    # The second run began with what the first one had learned, not with a calibration of its own.
    assert seen[1].keys() == seen[0].keys()
    with load(*bundled_pair()) as decoder:
        decoder.generate("Tell me a story.", lookahead="auto", max_tokens=2)
        assert decoder._knowledge is not None
        assert decoder._knowledge.acceptance("draft-model", greedy=True).at(0) != pytest.approx(0.7)
    assert list(tmp_path.rglob("*.json"))


def test_other_models_are_learned_anew() -> None:
    with SpeculativeDecoder() as decoder:
        target, draft = bundled_pair()
        decoder.attach_target(target)
        decoder.attach_draft(draft)
        decoder.generate("Hello!", lookahead="auto", max_tokens=4)
        before = decoder._knowledge
        decoder.attach_draft(None)
        assert before is not None
        assert decoder._knowledge is None


class Machine:
    """A machine that other programs take over (`taken`): then five tokens cost seven times as much as one."""

    taken = False

    def busy(self) -> bool:
        return self.taken


def _reply(known: PairKnowledge, machine: Machine, rounds: int = 60) -> AutoLookahead:
    """Write a reply of which nine of ten proposals are accepted."""
    rng = random.Random(5)
    acceptance = known.acceptance(DRAFT_MODEL.name, greedy=True)
    policy = AutoLookahead(known.costs, {DRAFT_MODEL.name: acceptance}, known.allowance, costs_now=known.costs_now)
    for _ in range(rounds):
        proposed = 0
        if policy.choose():
            while policy.goes_on(proposed, None):
                proposed += 1
        accepted = next((n for n in range(proposed) if rng.random() > 0.9), proposed)
        each = 90.0 + 90.0 * proposed if machine.taken else 30.0 + 1.5 * proposed
        policy.observe(proposed, accepted, 4.0 * proposed, each * rng.uniform(1.0, 1.1))
    return policy


def test_a_busy_moment_is_not_learned_as_the_price_of_a_lookahead() -> None:
    machine = Machine()
    costs = CostModel({n: 30.0 + 1.5 * (n - 1) for n in range(1, 14)}, 4.0)
    known = PairKnowledge(costs, busy=machine.busy)
    before = _reply(known, machine).lookahead
    kept = known.costs.to_json()
    machine.taken = True
    beside = _reply(known, machine)
    assert beside.costs is not known.costs
    assert beside.costs.verify(1) > 60.0
    assert known.costs.to_json() == kept
    machine.taken = False
    after = _reply(known, machine)
    assert after.costs is known.costs
    assert min(before, after.lookahead) >= 6


def test_costs_change_in_the_middle_of_a_reply() -> None:
    machine = Machine()
    known = PairKnowledge(CostModel({n: 30.0 + 1.5 * (n - 1) for n in range(1, 14)}, 4.0), busy=machine.busy)
    policy = AutoLookahead(known.costs, costs_now=known.costs_now)
    policy.choose()
    machine.taken = True
    policy.observe(4, 4, 16.0, 3000.0)  # Nobody knows to which of them this time belongs.
    assert policy.costs is known.costs_now() is not known.costs
    assert policy.costs.verify(5) == known.costs.verify(5) == pytest.approx(36.0)


def test_what_rounds_cost_in_a_long_text_is_learned_apart() -> None:
    known = PairKnowledge(CostModel({n: 30.0 + 0.5 * n for n in range(1, 14)}, 4.0))
    short, long = known.costs_now(1_000), known.costs_now(5_000)
    assert short is known.costs
    assert long.verify(5) == short.verify(5), "what was never seen begins as what is known"
    for _ in range(12):
        long.observe_verify(5, 90.0)
    assert long.verify(5) == pytest.approx(90.0, rel=0.1)
    assert short.verify(5) == pytest.approx(32.5)
    assert known.costs_now(20_000).verify(5) == pytest.approx(90.0, rel=0.1), "the next shorter one is the first guess"
    assert known.costs_now(2_000).verify(5) == pytest.approx(32.5)


def test_no_speedup_is_told_of_a_length_that_was_not_seen() -> None:
    acceptance = AcceptanceModel(prior=0.9)
    for _ in range(40):
        acceptance.observe(4, 4)
    known = PairKnowledge(CostModel({n: 30.0 + 0.5 * n for n in range(1, 34)}, 4.0))
    lengths = iter([100] + [5_000] * 100)
    policy = AutoLookahead(
        known.costs, {DRAFT_MODEL.name: acceptance}, costs_now=lambda: known.costs_now(next(lengths))
    )
    told = []
    for _ in range(20):
        chosen = policy.choose()
        told.append(policy.speedup > 1.0)
        policy.observe(chosen, chosen, 4.0 * chosen, 30.0 + 0.5 * chosen)
    assert told[0]
    assert not told[1]
    assert told[-1]


def test_a_speedup_is_told_once_its_lookahead_was_measured() -> None:
    acceptance = AcceptanceModel(prior=0.9)
    policy = AutoLookahead(CostModel(), {DRAFT_MODEL.name: acceptance})
    told = []
    for _ in range(40):
        chosen = policy.choose()
        measured = policy.costs.knows(1) and policy.costs.knows(chosen + 1)
        told.append((policy.speedup, measured and acceptance.is_known))
        policy.observe(chosen, chosen, 2.0 * chosen, 30.0 + 3.0 * chosen)
    assert all(speedup == 1.0 for speedup, measured in told if not measured)
    assert told[-1][0] > 1.5


def test_the_speedup_that_is_told_follows_what_the_reply_gives() -> None:
    """In a text that the draft knows less well than others: the pair is known too well to be rethought for it."""
    acceptance = AcceptanceModel(memory=AcceptanceModel.LONG_MEMORY)
    for _ in range(60):
        acceptance.observe(4, 4)
        acceptance.observe(4, 2)
    policy = AutoLookahead(CostModel({n: 30.0 + 2.0 * n for n in range(1, 34)}, 9.0), {DRAFT_MODEL.name: acceptance})
    told, tokens, spent = [], 0, 0.0
    for _ in range(12):
        chosen = policy.choose()
        told.append(policy.speedup)
        took = 9.0 * chosen, 32.0 + 2.0 * chosen
        policy.observe(chosen, min(chosen, 1), *took)
        tokens, spent = tokens + min(chosen, 1) + 1, spent + sum(took)
    truth = 32.0 * tokens / spent
    assert told[0] > 1.2 * truth
    assert told[-1] == pytest.approx(truth, rel=0.1)
