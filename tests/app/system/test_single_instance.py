"""A second start brings the first window to the front, and never opens the conversations twice."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.shell.bootstrap import _hear_calls
from app.store.store import Store
from app.system import single_instance
from app.system.single_instance import Call, NoAnswer, claim_or_call
from helpers.decoding.scripted_decoder import Script
from helpers.paths import ROOT
from helpers.processes import run_python
from helpers.window.app_window import OpenWindow

RUNNING = "Outrider is already running: its window was brought to the front.\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "data" / "conversations.sqlite3"


def test_the_first_holds_and_the_next_has_it_after_it(store: Path) -> None:
    first = claim_or_call(store, Call())
    assert first is not None
    with pytest.raises(NoAnswer):
        claim_or_call(store, Call(), patience=0.1)
    assert first.take_call() is None, "nobody is calling any more"
    first.release()
    second = claim_or_call(store, Call())
    assert second is not None
    second.release()


def test_a_call_that_nobody_took_is_not_for_the_next(store: Path) -> None:
    store.parent.mkdir()
    store.with_name(f"{store.name}.call").write_text("{}", "utf-8")
    claim = claim_or_call(store, Call())
    assert claim is not None
    assert claim.take_call() is None
    claim.release()


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"model": 7, "no": "such"}', "\udcff", "[" * 10_000])
def test_a_senseless_call_asks_for_the_window_at_most(store: Path, text: str) -> None:
    claim = claim_or_call(store, Call())
    assert claim is not None
    path = store.with_name(f"{store.name}.call")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    call = claim.take_call()
    assert call is None or call.models_folder == ""
    assert not path.exists()
    claim.release()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="about a folder that its user may not write")
def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    claim = claim_or_call(tmp_path / "data" / "c.sqlite3", Call())
    assert claim is not None
    assert claim.lock_file is None
    tmp_path.chmod(0o700)


@pytest.mark.qt_log_ignore("does not support raise", extend=True)
def test_a_second_start_shows_the_window_and_takes_its_models(
    open_window: OpenWindow, store: Path, tmp_path: Path
) -> None:
    claim = claim_or_call(store, Call())
    assert claim is not None
    window = open_window(Script(), store=store, ready=False)
    _hear_calls(window.program, claim)
    window.ready()
    folder = tmp_path / "models"
    folder.mkdir()
    window.main.showMinimized()
    assert window.main.isMinimized()
    second = start(store, "--models-folder", str(folder))
    window.wait(lambda: second.poll() is not None, 30_000)
    out, err = second.communicate()
    assert (second.returncode, out, err) == (0, RUNNING, "")
    window.wait(lambda: not window.main.isMinimized())
    window.wait(lambda: window.models.list.folder == folder)
    window.main.close()
    claim.release()


def test_two_real_starts_and_one_after_a_kill(store: Path) -> None:
    with running(store) as first:
        began = time.monotonic()
        done = run_python("-m", "app", "--conversations", str(store), env=offscreen())
        assert (done.returncode, done.stdout, done.stderr) == (0, RUNNING, "")
        assert time.monotonic() - began < 15.0
        assert first.poll() is None, "the first one goes on"
        first.kill()
        first.wait()
    with running(store) as third:
        assert run_python("-m", "app", "--conversations", str(store), env=offscreen()).stdout == RUNNING
        third.send_signal(signal.SIGTERM)
        out, err = third.communicate(timeout=20)
    assert (third.returncode, out) == (0, "")
    assert err in {"", "This plugin does not support raise()\n"}
    Store.open(store).close()


def test_other_conversations_are_another_program(store: Path, tmp_path: Path) -> None:
    with running(store), running(tmp_path / "other.sqlite3") as second:
        assert second.poll() is None


def test_who_does_not_answer_is_told_about(store: Path) -> None:
    claim = claim_or_call(store, Call())
    assert claim is not None
    code = (
        "import sys, app.system.single_instance as s\n"
        "s.claim_or_call.__defaults__ = (0.2,)\n"
        "from app.__main__ import main\n"
        f"sys.exit(main(['--conversations', {str(store)!r}]))\n"
    )
    done = run_python("-c", code, env=offscreen())
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not respond" in done.stderr
    assert done.stderr.count("\n") == 1
    claim.release()


def offscreen() -> dict[str, str]:
    """The environment for a window that nobody sees."""
    return os.environ | {"QT_QPA_PLATFORM": "offscreen"}


def start(store: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "app", "--conversations", str(store), *more]
    return subprocess.Popen(
        command, cwd=ROOT, env=offscreen(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def running(store: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that has its window and its conversations."""
    with start(store) as process:
        try:
            deadline = time.monotonic() + 30.0
            while not (store.exists() and store.stat().st_size) and time.monotonic() < deadline:
                assert process.poll() is None
                time.sleep(0.05)
            time.sleep(0.5)
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.parametrize("taken", [True, False])
def test_a_lock_that_fails_now_and_then_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    store = tmp_path / "c.sqlite3"
    first = claim_or_call(store, Call()) if taken else None
    lock, failures = single_instance._lock, iter(range(3))

    def fail_at_first(handle: int) -> bool:
        if next(failures, None) is not None:
            raise OSError(errno.ENOLCK, "No locks available")
        return lock(handle)

    monkeypatch.setattr(single_instance, "_lock", fail_at_first)
    if taken:
        assert first is not None
        with pytest.raises(NoAnswer):
            claim_or_call(store, Call(), patience=0.3)
        first.release()
    else:
        claim = claim_or_call(store, Call())
        assert claim is not None
        assert claim.lock_file is not None
        claim.release()
    assert next(failures, None) is None
