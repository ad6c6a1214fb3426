"""Fixtures for every test: what the program leaves behind or says unasked is a failure."""

import logging
import re
import threading
import time
from collections.abc import Iterator

import pytest

THREAD_GRACE_S = 2.0


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


def _new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    # A foreign thread that once ran Python code stays listed as a dummy for ever.
    dummy = threading._DummyThread
    return [t for t in threading.enumerate() if t not in before and not isinstance(t, dummy)]
