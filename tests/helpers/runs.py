"""How a run of the tests begins and ends: signals as a terminal has them, and no waiting for what is dead or hangs."""

import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

import pytest

_STDERR = pytest.StashKey[int]()
_HUNG_S = 60.0
"""How much longer than its limit a test may take before its process is ended: what waits in C is not interrupted."""
_SILENCE_S = 600.0
"""How long no worker may say anything: longer than any test but those of `make soak` may take."""


@pytest.fixture(scope="session", autouse=True)
def default_signals() -> Iterator[None]:
    """Let the children of tests be interrupted; they would ignore it as this process does if a script started it.

    What is ignored is inherited, a handler is not. The process that hands the tests out goes on ignoring it.
    """
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], object]]
    handlers = {signal.SIGINT: signal.default_int_handler}
    if sys.platform != "win32":
        handlers |= {signal.SIGHUP: _pass_over, signal.SIGQUIT: _pass_over}
    ignored = [each for each in handlers if signal.getsignal(each) is signal.SIG_IGN]
    for each in ignored:
        signal.signal(each, handlers[each])
    yield
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)


def _pass_over(_number: int, _frame: object) -> None:
    pass


def pytest_configure(config: pytest.Config) -> None:
    """Keep the standard error that tests do not capture."""
    config.stash[_STDERR] = os.dup(2)


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_STDERR])


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """End the process, with the stacks of all threads, where the limit's own interruption does not reach the test."""
    stderr = item.config.stash[_STDERR]
    faulthandler.dump_traceback_later(settings.timeout + _HUNG_S, exit=True, file=stderr)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_timeout_cancel_timer() -> None:
    """Take that back."""
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object | None) -> None:
    """End the run when a worker dies. Another one would begin the same test again, or wait for ever for its turn."""
    if error is not None:
        _give_up(node.config, [node], f"worker {node.gateway.id} died: {error}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """Begin to watch: a worker that is stopped never says anything."""
    _watch(node.config)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Go on watching."""
    if node := getattr(report, "node", None):
        _watch(node.config)


def _watch(config: pytest.Config) -> None:
    if sys.platform == "win32" or "not soak" not in config.option.markexpr:
        return

    def end(_number: int, _frame: object) -> None:
        workers = config.pluginmanager.getplugin("dsession").sched.nodes
        _give_up(config, workers, f"nothing heard of {', '.join(each.gateway.id for each in workers)}")

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, _SILENCE_S)


def _give_up(config: pytest.Config, workers: Sequence[Any], reason: str) -> NoReturn:
    """Count the tests that these workers run as failed, and end the run."""
    session = config.pluginmanager.getplugin("dsession")
    for worker in workers:
        running = session.sched.remove_node(worker) if worker in session.sched.nodes else None
        if running is not None:
            session.handle_crashitem(running, worker)
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, 0)
    pytest.exit(reason, returncode=pytest.ExitCode.TESTS_FAILED)
