"""An interrupt during a load is an interrupt, at once, wherever it falls; nothing is kept of it."""

import json
import signal
import sys
import threading
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.errors import Cancelled
from engine.loading.interrupts import Progress, load_apart
from helpers.processes import run_python

_PRESSED = """
import json, os, signal, sys, threading, time
from collections import Counter
from engine import load

ends, slowest = Counter(), 0.0
path, tries = sys.argv[1], int(sys.argv[2])
began = time.perf_counter()
load(path, trusted=True).close()
usual = time.perf_counter() - began
for number in range(tries):
    pressed = []
    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(usual * number / tries, press)
    try:
        timer.start()
        load(path, trusted=True).close()
        timer.join()
        ends["loaded"] += 1
    except KeyboardInterrupt:
        slowest = max(slowest, time.perf_counter() - pressed[0])
        ends["interrupt"] += 1
    except Exception as error:
        ends[repr(error)] += 1
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()
with load(path, trusted=True) as decoder:
    assert decoder.generate("Hello", max_tokens=2).stats.emitted == 2
print(json.dumps([ends, slowest, threading.active_count()]))
"""


class _Loaded:
    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.kill with SIGINT")
def test_pressed_at_any_moment_of_a_load(bundled_target: Path) -> None:
    done = run_python("-c", _PRESSED, str(bundled_target), "20")
    assert done.returncode == 0, done.stderr[-3000:]
    ends, slowest, threads = json.loads(done.stdout)
    assert set(ends) <= {"loaded", "interrupt"}, ends
    assert ends["interrupt"] >= 5
    assert slowest < 5
    assert threads == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs signal.pthread_kill")
def test_an_interrupt_cancels_the_work_and_closes_what_it_loads() -> None:
    loaded, main = _Loaded(), threading.main_thread().ident
    assert main is not None

    def work(_told: Progress | None, cancel: CancelToken) -> _Loaded:
        signal.pthread_kill(main, signal.SIGINT)
        while not cancel.cancelled:
            pass
        return loaded

    with pytest.raises(KeyboardInterrupt):
        load_apart(work, None, None)
    assert loaded.closed


def test_an_error_of_the_progress_is_the_callers() -> None:
    loaded = _Loaded()

    def work(told: Progress | None, _cancel: CancelToken) -> _Loaded:
        assert told is not None
        told(0.5)
        return loaded

    def refuse(fraction: float) -> None:
        raise LookupError(fraction)

    with pytest.raises(LookupError):
        load_apart(work, refuse, None)
    assert loaded.closed


def test_a_cancel_reaches_the_work() -> None:
    token = CancelToken()
    token.cancel()

    def work(_told: Progress | None, cancel: CancelToken) -> _Loaded:
        while not cancel.cancelled:
            pass
        raise Cancelled

    with pytest.raises(Cancelled):
        load_apart(work, None, token)


def test_what_was_loaded_in_spite_of_a_cancel_is_closed() -> None:
    loaded, token = _Loaded(), CancelToken()

    def work(_told: Progress | None, _cancel: CancelToken) -> _Loaded:
        token.cancel()
        return loaded

    with pytest.raises(Cancelled, match="Loading the model"):
        load_apart(work, None, token)
    assert loaded.closed
