"""What this machine does with matrices of a format: measured with samples, kept, and what is forecast from it."""

from dataclasses import replace
from typing import Any

import pytest

from engine.bench import pace
from engine.formats.gguf.work import ForwardWork, forward_work
from engine.library.names import bundled_pair
from engine.library.speed_forecast import MachinePace, forecast
from engine.system.machine import OtherPrograms


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure one format, with small samples and few turns."""
    monkeypatch.setattr(pace, "USUAL", ("Q8_0",))
    monkeypatch.setattr(pace, "_BYTES", 1)
    monkeypatch.setattr(pace, "_MEGABYTES", (1, 2))
    monkeypatch.setattr(pace, "_BUDGET_S", 0.0)


def test_the_machine_is_measured_once_and_each_format_when_it_is_needed(
    short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pace.known_pace() is None
    monkeypatch.setattr(OtherPrograms, "cores", lambda _self: 1.0)
    pace.machine_pace()
    assert pace.known_pace() is None, "what was measured beside other programs is not kept"
    monkeypatch.setattr(OtherPrograms, "cores", lambda _self: 0.0)
    found = pace.machine_pace()
    assert pace.known_pace() == found
    assert list(found.matrices) == ["Q8_0"]
    assert all(ms > 0 for ms in found.matrices["Q8_0"].values())
    more = pace.machine_pace(["Q4_K", "F32", "of no format"])
    assert more.matrices["Q8_0"] == found.matrices["Q8_0"]
    assert list(more.matrices) == ["Q8_0", "Q4_K"]
    monkeypatch.setattr(pace, "_timed", None)  # Nothing is measured again.
    assert pace.machine_pace(["Q4_K"]) == more == pace.known_pace()


def test_a_damaged_file_of_what_was_measured_is_measured_again() -> None:
    times = {"Q8_0": {"1": 1.0}}
    files: list[dict[str, Any]] = [
        {},
        {"matrices": {}, "layer": {"1": 1}, "memory": {"1": 1}},
        {"matrices": {"Q8_0": {"one": 1}}, "layer": {"1": 1}, "memory": {"1": 1}},
        {"matrices": times, "layer": {"1": -1}, "memory": {"1": 1}},
        {"matrices": times, "layer": {"1": 1}, "memory": 3},
        {"matrices": [], "layer": {"1": 1}, "memory": {"1": 1}},
    ]
    for damaged in files:
        assert MachinePace.from_json(damaged) is None


def test_what_a_forward_reads() -> None:
    """Of the demo target all matrices but the table of embeddings, of which a row is read."""
    work = forward_work(bundled_pair()[0], 3)
    assert set(work.matrices) == {"Q8_0"}
    assert work.layers == 4
    assert 0.5 * bundled_pair()[0].stat().st_size < work.size < bundled_pair()[0].stat().st_size


def test_forecasts_go_with_sizes_formats_and_drafts() -> None:
    known = MachinePace(
        {"Q4_K": {1: 0.1, 4: 0.12, 8: 0.3}, "Q8_0": {1: 0.05, 8: 0.1}}, {1: 0.01, 8: 0.02}, {16: 0.02, 256: 0.04}
    )
    target, draft = ForwardWork({"Q4_K": 1_000_000_000}, 28), ForwardWork({"Q8_0": 50_000_000}, 12)
    alone = forecast(known, target)
    # Computing takes 100 ms and reading 40: they overlap, but not wholly.
    both = (100**3 + 40**3) ** (1 / 3)
    assert alone.drafted == alone.plain == pytest.approx(1000 / (both + 0.28 + 0.15))
    assert forecast(known, ForwardWork({"Q8_0": 1_000_000_000}, 28)).plain > alone.plain
    # What no cache holds is read from memory at its pace, however quickly it could be computed.
    slow = replace(known, memory={16: 0.02, 256: 0.5})
    assert forecast(slow, target).plain == pytest.approx(1000 / (500 + 0.28 + 0.15), rel=0.01)
    assert forecast(slow, ForwardWork({"Q4_K": 16_000_000})).plain > 500
    # A format that was not measured counts as the next in bits.
    assert known.forward_ms(ForwardWork({"IQ4_XS": 10**9})) == known.forward_ms(ForwardWork({"Q4_K": 10**9}))
    together = forecast(known, target, draft)
    assert together.plain == alone.plain
    assert 1.8 * alone.plain < together.drafted < 2.8 * alone.plain
    # A draft that costs as much as its target does not pay, and is not said to.
    assert forecast(known, target, target).drafted == alone.plain
