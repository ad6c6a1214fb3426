"""Fixtures for every test: what the program leaves behind or says unasked is a failure."""

import logging
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import pytest

from engine.chat import limited_child, render
from engine.system import machine

THREAD_GRACE_S = 10.0
_popen = subprocess.Popen.__init__
_started: WeakSet[subprocess.Popen[Any]] = WeakSet()


class _Recorder(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@pytest.fixture(autouse=True)
def no_unexpected_logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail on records at WARNING or above, unless `logs(pattern)` announces them.

    A test that takes `caplog` looks at the records itself and is left alone.
    """
    if "caplog" in request.fixturenames:
        yield
        return
    recorder = _Recorder()
    root = logging.getLogger()
    root.addHandler(recorder)
    try:
        yield
    finally:
        root.removeHandler(recorder)
    patterns = [str(mark.args[0]) for mark in request.node.iter_markers("logs")]
    surprising = [m for m in recorder.messages if not any(re.search(p, m) for p in patterns)]
    unseen = [p for p in patterns if not any(re.search(p, m) for m in recorder.messages)]
    if surprising:
        pytest.fail("unexpected log records:\n  " + "\n  ".join(surprising), pytrace=False)
    if unseen:
        pytest.fail("announced, but not logged: " + ", ".join(unseen), pytrace=False)


@pytest.fixture(autouse=True)
def no_threads_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail when a thread that the test started still runs two seconds after it."""
    before = set(threading.enumerate())
    yield
    if request.node.get_closest_marker("leaves_threads"):
        return
    deadline = time.monotonic() + THREAD_GRACE_S
    while (left := _new_threads(before)) and time.monotonic() < deadline:
        time.sleep(0.01)
    if left:
        pytest.fail(f"threads left behind: {', '.join(t.name for t in left)}", pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def renderer() -> Iterator[None]:
    """Keep the process that renders chat templates from test to test: starting it takes longer than most tests."""
    owner = _Recorder()
    limited_child.pool._keepers.add(owner)  # It starts with the first test that needs it.
    yield
    render.release(owner)


@pytest.fixture(autouse=True)
def no_other_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test learn otherwise because another one runs beside it."""
    monkeypatch.setattr(machine.BusyWatch, "busy", lambda _watch: False)


@pytest.fixture(autouse=True)
def no_processes_left() -> Iterator[None]:
    """Fail when a process that the test started still runs two seconds after it."""
    before = set(_started)

    def start(self: subprocess.Popen[Any], *arguments: Any, **options: Any) -> None:
        _popen(self, *arguments, **options)
        _started.add(self)

    # Fixtures that the test shares with others have started theirs before.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", start)
        yield
        kept = limited_child.pool._idle
        new = [each for each in _started if each not in before and (kept is None or each is not kept._process)]
        deadline = time.monotonic() + THREAD_GRACE_S
        while (left := [each for each in new if each.poll() is None]) and time.monotonic() < deadline:
            time.sleep(0.01)
    if left:
        pytest.fail(f"processes left behind: {[each.args for each in left]}", pytrace=False)


def _new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    # A foreign thread that once ran Python code stays listed as a dummy for ever.
    dummy = threading._DummyThread
    return [t for t in threading.enumerate() if t not in before and not isinstance(t, dummy)]
