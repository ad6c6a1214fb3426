"""The process that renders chat templates: when it starts, what becomes of it, and what is not asked it twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from engine.chat import limited_child, render
from engine.chat.render import Renderer
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import ModelFileBroken
from engine.library.names import bundled_pair
from engine.messages.message import Message
from engine.system import child
from helpers.decoding.fake_backend import FakeBackend
from helpers.decoding.rendering import HI, SAID, answers, refuse, rendered
from helpers.models.hostile_templates import HOSTILE, awaiting
from helpers.paths import ROOT

ENDLESS = awaiting(HOSTILE["words"])


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[limited_child.ChildPool]:
    """A pool that no other test uses, which nobody keeps warm."""
    fresh = limited_child.ChildPool()
    monkeypatch.setattr(limited_child, "pool", fresh)
    monkeypatch.setattr(render, "_kept", render._Kept())
    yield fresh
    fresh.end()


def _process(pool: limited_child.ChildPool) -> subprocess.Popen[bytes]:
    assert pool._idle is not None
    return pool._idle._process


def test_a_child_stays_while_a_model_with_a_template_is_loaded(pool: limited_child.ChildPool) -> None:
    first, second = SpeculativeDecoder(), SpeculativeDecoder()
    config = LoadConfig(bundled_pair()[0], context_length=256, threads=1, trusted=True)
    first.attach_target(config)
    process = _process(pool)
    second.attach_target(config)
    first.generate("Hello!", max_tokens=2)
    second.generate("Hello?", max_tokens=2)
    assert _process(pool) is process
    first.close()
    assert process.poll() is None
    second.close()
    assert process.returncode is not None
    assert pool._idle is None


def test_no_child_stays_for_a_model_without_a_template_or_one_that_fails(pool: limited_child.ChildPool) -> None:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(FakeBackend(8))
        assert pool._idle is None
        with pytest.raises(ModelFileBroken):
            decoder.attach_target("/no/such/model.gguf")
        assert pool._idle is None


def test_nobody_who_keeps_it_no_child(pool: limited_child.ChildPool) -> None:
    assert answers(awaiting(""))
    assert pool._idle is None


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_that_was_killed_while_it_waited_is_replaced(
    pool: limited_child.ChildPool, how: signal.Signals
) -> None:
    render.keep_warm(pool)
    assert answers(awaiting(""))
    before = _process(pool)
    before.send_signal(how)
    before.wait()
    assert answers(awaiting("{{ 1 }}"))
    assert _process(pool) is not before
    render.release(pool)


def test_a_child_that_is_killed_at_work_is_one_clear_error(pool: limited_child.ChildPool) -> None:
    render.keep_warm(pool)
    assert answers(ENDLESS)
    timer = threading.Timer(0.3, _process(pool).kill)
    timer.start()
    words, seconds = refuse(ENDLESS, SAID)
    timer.join()
    assert "it crashes the process" in words
    assert seconds < 2.0
    render.release(pool)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["/no/such/program"], "No such file"),
        ([sys.executable, "-c", "raise SystemExit(7)"], "it ended with 7"),
        ([sys.executable, "-c", "print('x' * 99)"], "it ended with"),
    ],
)
def test_a_child_that_cannot_be_started(
    pool: limited_child.ChildPool, monkeypatch: pytest.MonkeyPatch, command: list[str], words: str
) -> None:
    monkeypatch.setattr(limited_child, "child_command", lambda _hidden: command)
    render.keep_warm(pool)
    said, _ = refuse(ENDLESS, HI)
    assert "the process that renders it cannot be started" in said
    assert words in said
    render.release(pool)


def test_a_child_that_starts_for_ever(pool: limited_child.ChildPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        limited_child, "child_command", lambda _hidden: [sys.executable, "-c", "import time; time.sleep(60)"]
    )
    monkeypatch.setattr(limited_child, "_START_LIMIT_S", 0.3)
    assert "it took too long" in refuse(ENDLESS, HI)[0]


def test_several_threads_at_once(pool: limited_child.ChildPool) -> None:
    """Who comes while the child is at work has one of its own; nobody gets the other's text."""
    render.keep_warm(pool)
    wrong: list[str] = []

    def work(name: str) -> None:
        for number in range(12):
            text = f"{name} {number}"
            if rendered("{{ messages[0].content }}", [Message("user", text)]) != text:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    render.release(pool)


def test_waiting_for_a_busy_machine_does_not_count(
    pool: limited_child.ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that other programs keep from computing has used none of its time."""
    monkeypatch.setattr(render, "LIMIT_S", 0.2)
    render.keep_warm(pool)
    assert answers(awaiting(""))
    process = _process(pool)
    process.send_signal(signal.SIGSTOP)
    resume = threading.Timer(0.6, process.send_signal, [signal.SIGCONT])
    resume.start()
    try:
        assert answers(awaiting("{{ 2 }}"))
    finally:
        resume.join()
    assert _process(pool) is process
    render.release(pool)


def test_where_a_process_cannot_limit_itself_it_is_watched(
    pool: limited_child.ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "LIMITS_ITSELF", False)
    monkeypatch.setattr(limited_child, "_MEMORY_BYTES", 120 * 2**20)
    slowly = awaiting(
        "{% set ns = namespace(x=[]) %}{% for i in range(999999) %}{% set ns.x = [ns.x] * 9999 %}{% endfor %}"
    )
    render.keep_warm(pool)
    assert answers(slowly)
    assert "too much memory" in refuse(slowly, SAID)[0]
    assert answers(slowly)
    render.release(pool)


def running(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize("at_work", [False, True])
def test_the_child_ends_with_its_parent(at_work: bool) -> None:
    """It notices while it waits; while it renders, its limit of time ends it."""
    code = f"""
import sys, threading, time
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests")!r}]
from engine.chat import limited_child, render
from engine.messages.message import Message
from helpers.models.hostile_templates import HOSTILE, WORD, awaiting
owner = threading.Thread()
render.LIMIT_S = 0.5
render.keep_warm(owner)
process = limited_child.pool._idle._process
template = awaiting(HOSTILE["words"])
render.Renderer().render(template, [Message("user", "Hi")], "", "")
print(process.pid, flush=True)
if {at_work}:
    render.Renderer().render(template, [Message("user", WORD)], "", "")
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        process = psutil.Process(int(parent.stdout.readline()))
        time.sleep(0.2)
        assert process.is_running()
        parent.send_signal(signal.SIGKILL)
    limit = time.monotonic() + 60
    while running(process) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not running(process)


def test_ctrl_c_in_a_terminal_does_not_reach_it(pool: limited_child.ChildPool) -> None:
    render.keep_warm(pool)
    assert answers(awaiting(""))
    process = _process(pool)
    assert os.getpgid(process.pid) == process.pid
    process.send_signal(signal.SIGINT)
    assert answers(awaiting("{{ 2 }}"))
    assert _process(pool) is process
    render.release(pool)


def test_the_same_is_not_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = render._Kept()
    monkeypatch.setattr(render, "_kept", kept)
    asked: list[render.Rendering] = []
    ask = Renderer._ask

    def note(self: Renderer, each: render.Rendering) -> str:
        asked.append(each)
        return ask(self, each)

    monkeypatch.setattr(Renderer, "_ask", note)
    template = awaiting("")
    for _ in range(3):
        assert answers(template)
    assert len(asked) == 1
    Renderer().render(template, HI, "<t>", "</s>")
    Renderer().render(template, SAID, "<s>", "</s>")
    assert len(asked) == 3
    for number in range(render._MOST_KEPT):
        rendered(template, [Message("user", str(number))])
    assert len(kept._texts) == render._MOST_KEPT
    answers(template)
    assert len(asked) == 4 + render._MOST_KEPT
    rendered(template, [Message("user", "x" * render._MOST_KEPT_LETTERS)])
    assert len(kept._texts) == render._MOST_KEPT


@pytest.mark.alone
def test_the_clock_of_a_template_goes_on() -> None:
    template = "{{ strftime_now('%H:%M:%S') }}"
    first = rendered(template, HI)
    time.sleep(1.05)
    assert rendered(template, HI) != first
