"""Calibration: what is measured in which budget, that caches are left as they were, and what is remembered."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.backends.base import Logits, Rewind
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import BackendFailure, Cancelled, RewindNotSupported
from engine.lookahead import knowledge
from engine.lookahead.calibration import SIZES, calibrate
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import PairKnowledge, costs_for, costs_key, costs_place, remember, remembered
from helpers.decoding.fake_backend import FakeBackend

STEPS = {1: 10.0, 2: 19.0, 3: 21.0, 4: 25.0, 5: 29.0}


def steps(n: int) -> float:
    """Milliseconds of a forward of n tokens, which jump at 5."""
    return STEPS.get(n, 24.0 + n)


class Clock:
    """Seconds, which go on only where somebody works."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Timed(FakeBackend):
    """A fake whose forwards take `cost(n)` milliseconds of the clock; `rows` notes the rows asked of each.

    The first forward of a size takes `first` times as long.
    """

    def __init__(
        self, clock: Clock, cost: Callable[[int], float] = steps, first: float = 1.0, **options: object
    ) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.clock = clock
        self.cost = cost
        self.row_counts: list[int] = []
        self.watched: list[CancelToken | None] = []
        self._first = first

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        seldom = self._first if len(tokens) not in self.forwards else 1.0
        self.clock.now += self.cost(len(tokens)) * seldom / 1000.0
        self.row_counts.append(n_outputs)
        return super().forward(tokens, n_outputs)

    def watch(self, cancel: CancelToken | None) -> None:
        self.watched.append(cancel)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setattr(knowledge, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def test_with_time_enough_every_size_is_measured_as_it_is(clock: Clock) -> None:
    target, draft = Timed(clock, first=3.0), Timed(clock, lambda n: 2.0 * n, first=5.0)
    costs = calibrate(target, draft, budget_s=60.0, clock=clock)
    assert costs.measured == pytest.approx({1: 10.0, **{n: steps(n) for n in sorted(SIZES)}})
    assert costs.draft() == pytest.approx(2.0)
    assert target.row_counts == target.forwards
    assert set(draft.forwards) == set(draft.row_counts) == {1}


def test_the_budget_is_kept_and_the_most_useful_sizes_come_first(clock: Clock) -> None:
    costs = CostModel()
    for budget in (0.05, 0.1, 0.2, 0.5, 2.0):
        target, draft = Timed(clock), Timed(clock, lambda n: 2.0 * n)
        began = clock.now
        costs = calibrate(target, draft, budget_s=budget, clock=clock)
        behind_the_first = clock.now - began - 0.010 - 0.002
        assert behind_the_first <= budget
        known = [n for n in SIZES if costs.knows(n)]
        assert known == list(SIZES[: len(known)])
        assert costs.knows(1)
        assert costs.knows_draft
    assert costs.knows(33)


def test_a_slow_first_forward_is_not_taken_from_the_budget(clock: Clock) -> None:
    target = Timed(clock, lambda n: 5000.0 if not target.forwards else steps(n))
    costs = calibrate(target, None, budget_s=1.0, clock=clock)
    assert costs.measured[1] == pytest.approx(10.0)
    assert costs.knows(4)


def test_a_machine_too_slow_for_the_budget_tells_the_cost_of_one_token(clock: Clock) -> None:
    target = Timed(clock, lambda n: 3000.0 * n)
    costs = calibrate(target, None, budget_s=2.0, clock=clock)
    assert target.forwards == [1, 1]
    assert costs.measured == pytest.approx({1: 3000.0})


def test_what_was_disturbed_for_a_while_is_measured_right(clock: Clock) -> None:
    """Another program takes the core, for both forwards of most sizes, and is gone in the passes after that."""

    def disturbed(n: int) -> float:
        return steps(n) * (4.0 if 10 < len(target.forwards) < 30 else 1.0)

    target = Timed(clock, disturbed)
    costs = calibrate(target, None, budget_s=60.0, clock=clock)
    assert costs.measured == pytest.approx({n: steps(n) for n in sorted((1, *SIZES))})


@pytest.mark.parametrize("at", range(40, 900, 60))
def test_a_burst_of_what_disturbs_makes_no_size_look_dear(clock: Clock, at: int) -> None:
    """Whatever is measured just then: all lasts half as long again for a tenth of a second. No time is to spare."""
    began = clock.now

    def cost(n: int) -> float:
        return (20.0 + n) * (1.5 if at <= 1000.0 * (clock.now - began) < at + 100 else 1.0)

    measured = calibrate(Timed(clock, cost), None, budget_s=1.0, clock=clock).measured
    assert {n: ms for n, ms in measured.items() if n <= 9 and ms > 1.1 * (20.0 + n)} == {}


def test_a_size_that_is_dearer_than_a_larger_one_stays_so_and_is_not_looked_at_for_ever(clock: Clock) -> None:
    backend = Timed(clock, lambda n: 60.0 if n == 6 else 20.0 + n)
    measured = calibrate(backend, None, budget_s=1.5, clock=clock).measured
    assert measured[6] == pytest.approx(60.0)
    assert measured[9] == pytest.approx(29.0)
    assert backend.row_counts.count(6) <= 9


def test_a_short_context_has_fewer_sizes(clock: Clock) -> None:
    target = Timed(clock, context_length=12)
    target.forward([1, 2, 3], 0)
    costs = calibrate(target, None, budget_s=60.0, clock=clock)
    assert max(costs.measured) == 9
    target.forward([0] * 9, 0)
    assert calibrate(target, None, budget_s=60.0, clock=clock).measured == {}
    assert target.length == 12


def test_a_size_that_fails_ends_the_measurement_but_not_what_was_measured(clock: Clock) -> None:
    class Fails(Timed):
        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            if n_outputs > 8:
                raise BackendFailure("memory is full")
            return super().forward(tokens, n_outputs)

    costs = calibrate(Fails(clock), None, budget_s=60.0, clock=clock)
    assert sorted(costs.measured) == [1, 2, 3, 4, 5, 8]

    class Broken(Timed):
        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            raise BackendFailure("it is broken")

    with pytest.raises(BackendFailure):
        calibrate(Broken(clock), None, clock=clock)


HELD = [3, 1, 4, 1, 5, 2, 6]
REWINDS = [Rewind("any"), Rewind("window", 6), Rewind("snapshots", 1)]


@pytest.mark.parametrize("rewind", REWINDS, ids=lambda rewind: rewind.kind)
@pytest.mark.parametrize("held", [[], HELD], ids=["empty", "in use"])
def test_caches_are_left_as_they_were(clock: Clock, rewind: Rewind, held: list[int]) -> None:
    target, draft = Timed(clock, rewind=rewind), Timed(clock, rewind=rewind, seed=1)
    for backend in (target, draft):
        if held:
            backend.forward(held, 0)
    costs = calibrate(target, draft, budget_s=60.0, clock=clock)
    assert list(target.tokens) == list(draft.tokens) == held
    assert costs.knows(5)
    assert costs.knows(9) == (rewind.kind != "window")
    assert costs.knows_draft
    assert target.watched[-1] is None


def test_a_cache_that_cannot_go_back_has_one_size_or_none(clock: Clock) -> None:
    target = Timed(clock, rewind=Rewind("none"))
    assert calibrate(target, None, budget_s=60.0, clock=clock).measured == pytest.approx({1: 10.0})
    assert target.length == 0
    target.forward(HELD, 0)
    assert calibrate(target, None, budget_s=60.0, clock=clock).measured == {}
    assert list(target.tokens) == HELD


def test_a_cache_that_breaks_its_promise_is_emptied(clock: Clock) -> None:
    class Liar(Timed):
        def truncate(self, length: int) -> None:
            if length not in (0, self.length):
                raise RewindNotSupported(length, self.length)
            super().truncate(length)

    target = Liar(clock)
    target.forward(HELD, 0)
    with pytest.raises(RewindNotSupported):
        calibrate(target, None, clock=clock)
    assert target.length == 0


@pytest.mark.parametrize("after", [0, 1, 5, 20])
def test_cancelling_is_heard_within_one_forward(clock: Clock, after: int) -> None:
    cancel = CancelToken()

    class Cancels(Timed):
        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            rows = super().forward(tokens, n_outputs)
            if len(self.forwards) > after:
                cancel.cancel()
            return rows

    target = Cancels(clock)
    target.forward(HELD, 0)
    target.forwards.clear()
    cancel.clear()
    with pytest.raises(Cancelled):
        calibrate(target, None, budget_s=60.0, cancel=cancel, clock=clock)
    assert len(target.forwards) == after + 1
    assert list(target.tokens) == HELD
    assert cancel in target.watched


def test_it_feeds_ordinary_tokens_that_the_model_has(clock: Clock) -> None:
    seen: set[int] = set()

    class Notes(Timed):
        def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
            seen.update(tokens)
            return super().forward(tokens, n_outputs)

    calibrate(Notes(clock, vocab_size=100), None, budget_s=60.0, clock=clock)
    assert len(seen) > 10


def test_what_was_measured_is_remembered(clock: Clock, cache: Path) -> None:
    target = Timed(clock)
    costs = costs_for(target, None, "key")
    count = len(target.forwards)
    again = costs_for(target, None, "key")
    assert len(target.forwards) == count
    assert again.measured == pytest.approx(costs.measured)
    assert costs_place("key").is_relative_to(cache)
    costs_for(target, None, "other")
    assert len(target.forwards) > count


def test_without_a_key_nothing_is_written(clock: Clock, cache: Path) -> None:
    costs_for(Timed(clock), None, None)
    assert not cache.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": 1}'])
def test_a_damaged_file_is_as_none(cache: Path, content: bytes) -> None:
    remember("key", CostModel({1: 2.0}))
    assert remembered("key") is not None
    costs_place("key").write_bytes(content)
    assert remembered("key") is None


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(knowledge, "cache_folder", lambda: tmp_path / "file")
    remember("key", CostModel({1: 2.0}))
    assert remembered("key") is None


def test_not_too_many_pairs_are_remembered(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "MOST_REMEMBERED", 3)
    for index in range(6):
        remember(str(index), CostModel({1: 2.0}))
    assert len(list((cache / "costs").iterdir())) == 3
    assert remembered("5") is not None


def test_nothing_measured_is_not_remembered(cache: Path) -> None:
    remember("key", CostModel(None, 2.0))
    assert not cache.exists()


def test_what_was_learned_is_written_back_but_not_all_the_time(cache: Path, clock: Clock) -> None:
    costs = CostModel({1: 2.0})
    remember("key", costs)
    keeper = PairKnowledge(costs, "key", clock=clock)

    def kept() -> float:
        found = remembered("key")
        assert found is not None
        return found.verify(1)

    for _ in range(3):
        costs.observe_verify(1, 2.2)
    keeper.save()
    assert kept() == 2.0
    clock.now += 31.0
    keeper.save()
    assert kept() == pytest.approx(costs.verify(1)) != 2.0
    costs.observe_verify(1, 2.2)
    keeper.save()
    assert kept() < costs.verify(1)
    keeper.save(at_once=True)
    assert kept() == pytest.approx(costs.verify(1))
    written = costs_place("key").stat().st_mtime_ns
    keeper.save(at_once=True)
    assert costs_place("key").stat().st_mtime_ns == written
    PairKnowledge(costs, clock=clock).save(at_once=True)


def test_the_key_changes_with_all_that_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, draft_file = tmp_path / "target.gguf", tmp_path / "draft.gguf"
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (file, draft_file, folder / "model.safetensors"):
        path.write_bytes(b"one")
    target, draft = FakeBackend(), FakeBackend()
    config, draft_config = LoadConfig(file), LoadConfig(draft_file)

    def key() -> str | None:
        return costs_key({"target": (target, config), "draft": (draft, draft_config)})

    keys = [key(), costs_key({"target": (target, config)}), costs_key({"target": (target, LoadConfig(folder))})]
    assert key() == keys[0]
    keys.append(costs_key({"target": (target, LoadConfig(file, gpu_layers=3)), "draft": (draft, draft_config)}))
    keys.append(costs_key({"target": (target, LoadConfig(file, threads=7)), "draft": (draft, draft_config)}))
    target.threads = 7
    assert key() == keys[0], "a number that was chosen is remembered under the key"
    for name, value in (("context_length", 99), ("device", "cuda:0")):
        monkeypatch.setattr(target, name, value)
        keys.append(key())
    draft_file.write_bytes(b"other")
    keys.append(key())
    (folder / "model.safetensors").write_bytes(b"other")
    keys.append(costs_key({"target": (target, LoadConfig(folder))}))
    machine = SimpleNamespace(processor="X", outrider="1")
    monkeypatch.setattr(knowledge, "describe_machine", lambda: {**vars(machine), "cores": 2, "libraries": {}})
    keys.append(key())
    machine.processor = "Y"
    keys.append(key())
    machine.outrider = "2"
    keys.append(key())
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert costs_key({"target": (target, None)}) is None
    draft_file.unlink()
    assert key() is None


def test_the_file_is_plain_json(cache: Path) -> None:
    remember("key", CostModel({1: 2.0, 4: 5.0}, 0.5))
    assert json.loads(costs_place("key").read_text()) == {
        "format": 1,
        "verify_ms": {"1": 2.0, "4": 5.0},
        "draft_ms": 0.5,
    }
