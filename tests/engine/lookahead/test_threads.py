"""The number of threads: what is tried, what is taken, and that it is remembered with the costs."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engine import LoadConfig, bundled_pair, load
from engine.backends import threads
from engine.backends.base import Backend, Logits, Rewind
from engine.backends.threads import Meter, candidates, choose_threads
from engine.cancel import CancelToken
from engine.errors import BackendFailure, Cancelled
from engine.lookahead import knowledge
from engine.lookahead.calibration import calibrate, free_models
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import costs_for, costs_place, learn_pair, recall, remember
from helpers.decoding.fake_backend import FakeBackend

Cost = Callable[[int, int], float]
"""Milliseconds of a forward, by threads and tokens."""
LARGE = 2**30


class Clock:
    """Seconds, which go on only where somebody works."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Threaded(FakeBackend):
    """A fake whose forwards take `cost(threads, n)` milliseconds of the clock. `tried`: threads of each forward."""

    threads_adjustable = True

    def __init__(self, clock: Clock, cost: Cost, weight_bytes: int = LARGE, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.clock = clock
        self.cost = cost
        self.weight_bytes = weight_bytes
        self.tried: list[int] = []

    def set_threads(self, n: int) -> None:
        self.threads = n

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        self.tried.append(self.threads)
        self.clock.now += self.cost(self.threads, len(tokens)) / 1000.0
        return super().forward(tokens, n_outputs)


class Others:
    """Other programs, which take `taken` cores."""

    taken = 0.0

    def cores(self) -> float:
        return self.taken


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight physical cores, sixteen logical ones, and nobody else."""
    monkeypatch.setattr(threads, "physical_cores", lambda: 8)
    monkeypatch.setattr(threads, "logical_cores", lambda: 16)
    monkeypatch.setattr(knowledge, "logical_cores", lambda: 16)
    monkeypatch.setattr("engine.system.machine.physical_cores", lambda: 8)
    monkeypatch.setattr(threads, "OtherPrograms", Others)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setattr(knowledge, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def table(**shares: float) -> Cost:
    """100 ms at the usual eight threads, 30 more for each token behind the first; by count ("t4") times a share."""

    def cost(threads: int, n: int) -> float:
        return (100.0 + 30.0 * (n - 1)) * (1.0 if threads == 8 else shares.get(f"t{threads}", 3.0))

    return cost


def choose(backend: Threaded, budget_s: float = 60.0, *, draft: bool = False) -> int:
    meter = Meter(backend, CancelToken(), backend.clock)
    found = choose_threads(backend, meter, budget_s, drafts=draft)
    assert backend.threads == found
    assert backend.length == 0
    return found


@pytest.mark.parametrize(
    ("physical", "logical", "usual", "expected"),
    [
        (1, 1, 1, ()),
        (2, 2, 2, (1,)),
        (2, 2, 1, (2,)),
        (2, 4, 2, (1, 4)),
        (4, 8, 4, (2, 8, 1)),
        (8, 16, 8, (4, 16, 2)),
        (1, 2, 1, (2,)),
        (6, 12, 6, (3, 12, 2)),
    ],
)
def test_the_counts_next_to_the_usual_one_are_tried(
    monkeypatch: pytest.MonkeyPatch, physical: int, logical: int, usual: int, expected: tuple[int, ...]
) -> None:
    monkeypatch.setattr(threads, "physical_cores", lambda: physical)
    monkeypatch.setattr(threads, "logical_cores", lambda: logical)
    assert tuple(candidates(usual)) == expected


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({}, 8),
        ({"t4": 0.97}, 8),
        ({"t4": 0.93}, 4),
        ({"t4": 0.93, "t2": 0.7}, 2),
        ({"t16": 0.9}, 8),
        ({"t16": 0.8}, 16),
        ({"t16": 0.8, "t4": 0.9}, 16),
    ],
)
def test_another_count_is_taken_where_it_is_clearly_quicker(
    clock: Clock, shares: dict[str, float], expected: int
) -> None:
    assert choose(Threaded(clock, table(**shares))) == expected
    assert choose(Threaded(clock, table(**shares)), draft=True) == expected


def test_a_count_that_slows_plain_decoding_is_not_taken(clock: Clock) -> None:
    def cost(threads: int, n: int) -> float:
        usual = table()(8, n)
        return usual if threads == 8 else usual * (1.03 if n == 1 else 0.6) if threads == 4 else 3.0 * usual

    assert choose(Threaded(clock, cost)) == 8


def test_a_tiny_model_keeps_its_one_thread(clock: Clock) -> None:
    backend = Threaded(clock, lambda threads, n: n / threads, weight_bytes=2**20)
    assert choose(backend) == 1
    assert choose(backend, draft=True) == 1
    assert set(backend.tried) == set()


def test_one_disturbed_pass_decides_nothing(clock: Clock) -> None:
    def cost(threads: int, n: int) -> float:
        held_up = threads == 8 and len(backend.tried) < 12
        return table(t4=1.02)(threads, n) * (2.0 if held_up else 1.0)

    backend = Threaded(clock, cost)
    assert choose(backend) == 8


@pytest.mark.parametrize(("taken", "expected"), [(0.2, 4), (0.3, 8)])
def test_beside_other_programs_nothing_is_changed(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, taken: float, expected: int
) -> None:
    monkeypatch.setattr(Others, "taken", taken)
    assert choose(Threaded(clock, table(t4=0.5))) == expected


def test_without_time_for_three_passes_it_is_the_usual_count(clock: Clock) -> None:
    began = clock.now
    assert choose(Threaded(clock, table(t4=0.5, t2=0.5, t16=0.5)), budget_s=1.5) == 8
    assert clock.now - began <= 1.5


def test_what_is_hopeless_at_one_token_is_not_tried_with_five(clock: Clock) -> None:
    backend = Threaded(clock, table(t4=0.9, t2=1.1, t16=1.1))
    assert choose(backend) == 4
    assert [backend.tried.count(threads) for threads in (8, 4, 2, 16)] == [6, 6, 1, 1]
    backend = Threaded(clock, table())
    assert choose(backend) == 8
    assert len(backend.tried) == 1 + 3


def test_a_forward_that_fails_leaves_the_usual_count(clock: Clock) -> None:
    class Fails(Threaded):
        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            if self.threads == 4:
                raise BackendFailure("no memory for more")
            return super().forward(tokens, n_outputs)

    assert choose(Fails(clock, table(t4=0.5))) == 8


def test_cancelled_it_leaves_the_usual_count(clock: Clock) -> None:
    cancel = CancelToken()

    def cost(threads: int, n: int) -> float:
        if threads == 4:
            cancel.cancel()
        return 100.0

    backend = Threaded(clock, cost)
    with pytest.raises(Cancelled):
        choose_threads(backend, Meter(backend, cancel, clock), 60.0)
    assert backend.threads == 8


@pytest.mark.parametrize("rewind", [Rewind("window", 3), Rewind("snapshots", 1), Rewind("none")])
def test_caches_that_go_back_little_are_judged_by_what_they_can_do(clock: Clock, rewind: Rewind) -> None:
    assert choose(Threaded(clock, table(t4=0.5), rewind=rewind)) == 4
    full = Threaded(clock, table(t4=0.5), rewind=rewind, context_length=2)
    full.forward([1, 1], 0)
    tried = len(full.tried)
    assert choose_threads(full, Meter(full, CancelToken(), clock), 60.0) == 8
    assert len(full.tried) == tried


def test_the_costs_are_those_of_the_chosen_threads_and_the_budget_is_kept(clock: Clock) -> None:
    for budget in (0.2, 1.0, 2.0, 8.0):
        target = Threaded(clock, lambda threads, n: table(t4=0.5)(threads, n) / 10.0)
        draft = Threaded(clock, lambda threads, n: {1: 1.0, 2: 2.0}.get(threads, 9.0), weight_bytes=2**20)
        began = clock.now
        costs = calibrate(target, draft, budget_s=budget, clock=clock, free={"target": target, "draft": draft})
        behind_the_first = clock.now - began - 0.010 - 0.001
        assert behind_the_first <= budget
        assert draft.threads == 1
        assert costs.draft() == pytest.approx(1.0)
        if budget >= 2.0:
            assert target.threads == 4
            assert costs.verify(1) == pytest.approx(5.0)
            assert costs.verify(5) == pytest.approx(11.0)
        else:
            assert costs.verify(1) == pytest.approx(10.0 if target.threads == 8 else 5.0)


def test_who_is_not_free_keeps_the_threads(clock: Clock) -> None:
    target, draft = Threaded(clock, table(t4=0.5)), Threaded(clock, table(t4=0.5))
    target.threads = draft.threads = 8
    calibrate(target, draft, budget_s=60.0, clock=clock, free={"draft": draft})
    assert (target.threads, draft.threads) == (8, 4)
    assert set(target.tried) == {8}


def test_free_is_who_can_change_and_was_not_told(clock: Clock) -> None:
    able, fixed = Threaded(clock, table()), FakeBackend()
    told, untold = LoadConfig(Path("x.gguf"), threads=3), LoadConfig(Path("x.gguf"))
    assert free_models({"target": (able, untold), "draft": (fixed, untold)}) == {"target": able}
    assert free_models({"target": (able, told), "draft": (None, None)}) == {}
    assert free_models({"draft": (able, None)}) == {}
    fixed.set_threads(5)
    assert fixed.threads == 1


def test_the_choice_is_remembered_with_the_costs(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    target, draft = Threaded(clock, table(t4=0.5)), Threaded(clock, table(t2=0.5))
    free: dict[str, Backend] = {"target": target, "draft": draft}

    def with_the_clock(*models: Backend | None, **options: object) -> CostModel:
        return calibrate(models[0], models[1], clock=clock, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(knowledge, "calibrate", with_the_clock)
    costs = costs_for(target, draft, "key", budget_s=60.0, free=free)
    assert json.loads(costs_place("key").read_text())["threads"] == {"target": 4, "draft": 2}
    remember("key", costs, acceptance={"draft-model, greedy": {}})
    target.threads = draft.threads = 8
    count = len(target.tried)
    costs_for(target, draft, "key", free=free)
    assert (target.threads, draft.threads) == (4, 2)
    assert len(target.tried) == count
    # Those who are told keep what they were told.
    target.threads = draft.threads = 8
    assert recall("key", {}) is not None
    assert (target.threads, draft.threads) == (8, 8)


@pytest.mark.parametrize("threads", [None, [], {}, {"target": 0}, {"target": "4"}, {"target": True}, {"target": 513}])
def test_costs_without_a_usable_choice_are_measured_anew(clock: Clock, cache: Path, threads: object) -> None:
    remember("key", CostModel({1: 2.0}))
    content = json.loads(costs_place("key").read_text()) | {"threads": threads}
    costs_place("key").write_text(json.dumps(content))
    target = Threaded(clock, table())
    assert recall("key", {"target": target}) is None
    assert recall("key", {}) is not None
    assert target.threads == 1


def test_real_models_are_given_a_choice_that_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled pair, taken for a large one: it gets what was tried, writes the same, and keeps it."""
    target, draft = bundled_pair()
    with load(LoadConfig(target, threads=1, trusted=True)) as decoder:
        plain = decoder.generate("Tell me a story.", lookahead=0, max_tokens=8).text
    monkeypatch.setattr("engine.system.machine._TINY_MODEL", 0)
    monkeypatch.setattr("engine.system.machine.physical_cores", lambda: 2)
    monkeypatch.setattr(threads, "physical_cores", lambda: 2)
    monkeypatch.setattr(threads, "logical_cores", lambda: 2)
    chosen = []
    for _ in range(2):
        with load(LoadConfig(target, trusted=True), LoadConfig(draft, trusted=True)) as decoder:
            models = decoder.target, decoder.draft
            assert [model.threads for model in models if model is not None] == [2, 2]
            decoder.calibrate()
            chosen.append([model.threads for model in models if model is not None])
            assert decoder.generate("Tell me a story.", lookahead="auto", max_tokens=8).text == plain
    assert chosen[0] == chosen[1]
    assert set(chosen[0]) <= {1, 2}


def test_real_models_keep_what_was_asked_for() -> None:
    target, draft = bundled_pair()
    with load(LoadConfig(target, threads=2, trusted=True), LoadConfig(draft, trusted=True)) as decoder:
        decoder.calibrate()
        assert decoder.target is not None
        assert decoder.draft is not None
        assert (decoder.target.threads, decoder.draft.threads) == (2, 1)


def test_rows_of_a_real_model_do_not_depend_on_the_threads() -> None:
    with load(LoadConfig(bundled_pair()[0], trusted=True)) as decoder:
        target = decoder.target
        assert target is not None
        assert target.threads_adjustable
        rows = set()
        for threads in (1, 2, 3):
            target.set_threads(threads)
            assert target.threads == threads
            target.forward([token % target.vocab_size for token in range(7, 207)], 0)
            rows.add(target.forward([5], 1).tobytes() + target.forward([6, 7, 8, 9, 10], 5).tobytes())
            target.truncate(0)
        assert len(rows) == 1


def test_learning_a_pair_counts_who_was_told(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def costs_of(*_: object, free: object, **__: object) -> CostModel:
        seen.append(free)
        return CostModel({1: 2.0})

    monkeypatch.setattr("engine.lookahead.knowledge.costs_key", lambda *_: "key")
    monkeypatch.setattr("engine.lookahead.knowledge.costs_for", costs_of)
    target, draft = Threaded(clock, table()), Threaded(clock, table())
    configs = LoadConfig(Path("t.gguf"), threads=2), LoadConfig(Path("d.gguf"))
    learn_pair(target, draft, configs, CancelToken())
    assert seen == [{"draft": draft}]
