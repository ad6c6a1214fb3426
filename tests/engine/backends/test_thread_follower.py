"""How many threads compute while other programs take cores and give them back."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import LoadConfig, load
from engine.backends.threads import ThreadFollower
from engine.system.machine import BusyWatch, OtherPrograms

Share = Callable[[int], float]
"""Times of its quiet time that a forward takes, by threads."""
QUIET = {1: 1.8, 2: 1.0}
SLOW_ON_TWO = {1: 2.6, 2: 4.0}
SLOW_ON_ONE = {1: 3.6, 2: 2.2}


class World:
    """Forwards of 10 ms and 2 more for each further token, with a tenth of noise. `shares` may change meanwhile."""

    def __init__(self, busy: Callable[[], bool] = lambda: False) -> None:
        self.now, self.shares, self.random = 50.0, QUIET, random.Random(3)
        self.follower = ThreadFollower(2, busy, lambda: self.now)

    def run(self, forwards: int, sizes: tuple[int, ...] = (1, 5)) -> list[int]:
        """Compute forwards; the threads of each."""
        used = []
        for number in range(forwards):
            threads, size = self.follower.threads, sizes[number % len(sizes)]
            ms = (10.0 + 2.0 * (size - 1)) * self.shares[threads] * self.random.uniform(1.0, 1.1)
            self.now += ms / 1000.0
            self.follower.observe(size, ms)
            used.append(threads)
        return used


def test_a_quiet_machine_keeps_all_threads() -> None:
    assert set(World().run(500)) == {2}


def test_fewer_are_taken_where_they_are_quicker_and_all_again_when_the_others_end() -> None:
    world = World()
    world.run(60)
    world.shares = SLOW_ON_TWO
    busy = world.run(300)
    assert busy[30:].count(2) <= 0.1 * len(busy[30:])
    world.shares = QUIET
    after = world.run(400)
    assert after[150:].count(1) <= 0.1 * len(after[150:])


def test_all_are_taken_again_as_soon_as_the_others_have_ended() -> None:
    busy = [True]
    world = World(busy=lambda: busy[0])
    world.shares = SLOW_ON_TWO
    assert world.run(100)[-1] == 1
    world.shares, busy[0] = QUIET, False
    assert world.run(60)[5 * ThreadFollower.TRY :].count(1) == 0


def test_fewer_that_a_short_disturbance_had_taken_are_given_up_soon() -> None:
    """Where nobody takes cores: the time on one thread tells of nothing, it was the same all the while."""
    world = World()
    world.run(60)
    world.shares = {1: 1.8, 2: 4.0}
    while world.run(1) == [2]:
        pass
    world.run(ThreadFollower.TRY)
    world.shares = QUIET
    assert world.run(160)[100:].count(1) == 0


def test_all_stay_where_fewer_are_slower_too() -> None:
    world = World()
    world.run(60)
    world.shares = SLOW_ON_ONE
    assert world.run(400).count(1) <= 0.1 * 400


def test_a_first_reply_beside_others_tries_too() -> None:
    """No forward was ever quick, so that times alone tell of nothing."""
    world = World(busy=lambda: True)
    world.shares = SLOW_ON_TWO
    assert world.run(300)[30:].count(1) >= 0.9 * 270


def test_one_thread_stays_one() -> None:
    follower = ThreadFollower(1, lambda: True)
    for ms in range(1, 100):
        follower.observe(1, float(ms))
    assert follower.threads == 1


def test_what_somebody_asked_for_is_not_changed(bundled_target: Path) -> None:
    with load(LoadConfig(bundled_target, threads=2, trusted=True)) as decoder:
        assert decoder.target is not None
        assert decoder.target._follower is None  # type: ignore[attr-defined]


def test_a_real_target_writes_the_same_text_while_its_threads_change(
    bundled_target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with load(LoadConfig(bundled_target, trusted=True)) as decoder:
        target = decoder.target
        assert target is not None
        expected = decoder.generate("Tell me a story.", max_tokens=60, temperature=0, lookahead=0).tokens
        target.set_threads(2)
        follower = target._follower  # type: ignore[attr-defined]
        if follower is None:
            pytest.skip("this processor has no kernels of ours")
        counts = iter([1, 2] * 200)
        used: list[int] = []

        def observe(size: int, ms: float) -> None:
            used.append(follower.threads)
            follower.threads = next(counts)

        monkeypatch.setattr(follower, "observe", observe)
        found = decoder.generate("Tell me a story.", max_tokens=60, temperature=0, lookahead=0).tokens
    assert found == expected
    assert {1, 2} <= set(used)


def test_a_look_is_at_the_last_moments_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was long ago is no look: it begins anew, and what was known last holds until then."""
    monkeypatch.undo()  # `busy` itself is what is looked at here.
    now, taken = [100.0], [1.5]
    monkeypatch.setattr("engine.system.machine.perf_counter", lambda: now[0])
    monkeypatch.setattr(OtherPrograms, "cores", lambda _self: taken[0])
    watch = BusyWatch()

    def after(seconds: float) -> bool:
        now[0] += seconds
        return watch.busy()

    assert not after(0.1)
    assert after(0.2)
    taken[0] = 0.1
    assert after(0.1)
    assert after(60.0)
    assert not after(0.3)


@pytest.mark.parametrize("threads", [None, 2])
def test_streams_compute_with_as_many_threads_as_suit_the_machine(
    bundled_target: Path, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As their model does: with all of them a lone reply in a stream took three times as long beside its own client."""
    seen: list[int] = []
    monkeypatch.setattr(ThreadFollower, "observe", lambda follower, size, ms: seen.append(size))
    with load(bundled_target, threads=threads, trusted=True) as decoder:
        own = getattr(decoder.target, "own_kernels", False)
        (stream, _) = decoder.open_streams(2)
        seen.clear()
        stream.generate("Tell me a story of a fox.", max_tokens=4, lookahead=0)
    assert seen == ([1] * 4 if own and threads is None else [])
