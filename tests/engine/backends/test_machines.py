"""A target whose layers lie on two other machines: the same greedy text, and machines that go away."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest

from engine import (
    BackendFailure,
    Cancelled,
    CancelToken,
    InvalidRequest,
    LoadConfig,
    LoadFailed,
    ModelNotSupported,
    SpeculativeDecoder,
    TokenEvent,
    load,
)
from helpers.models.machines import Machine, machines
from helpers.paths import ROOT
from helpers.processes import run_engine
from helpers.seldom import often

QUESTION = "Tell me a story about a shy dragon."
GREEDY: Any = {"temperature": 0.0, "max_tokens": 40}


@pytest.fixture(scope="module")
def two() -> Iterator[list[Machine]]:
    with machines(2) as running:
        yield running


def addresses(running: list[Machine]) -> str:
    """As a person names them."""
    return ", ".join(machine.address for machine in running)


def test_greedy_text_is_that_of_this_machine(two: list[Machine], bundled_target: Path, bundled_draft: Path) -> None:
    asked = [
        (question, lookahead)
        for question in (QUESTION, "What is Outrider?", "Count from one to ten. " * 40)
        for lookahead in (0, 4)
    ]
    with load(bundled_target, bundled_draft, threads=1) as local:
        expected = [local.generate(question, lookahead=k, **GREEDY).tokens for question, k in asked]
    with load(bundled_target, bundled_draft, threads=1, rpc=addresses(two)) as decoder:
        target = decoder.target
        assert target is not None
        assert target.device == "+".join(machine.address for machine in two)
        assert target.parameters > 8_000_000
        replies = [decoder.generate(question, lookahead=k, **GREEDY) for question, k in asked]
        assert [reply.tokens for reply in replies] == expected
        assert replies[1].stats.accepted > 0
        conversation = [{"role": "user", "content": QUESTION}]
        first = decoder.generate(conversation, lookahead=4, **GREEDY)
        conversation += [{"role": "assistant", "content": first.content}, {"role": "user", "content": "Go on."}]
        again = decoder.generate(conversation, lookahead=4, **GREEDY).tokens
    with load(bundled_target, bundled_draft, threads=1) as local:
        assert local.generate(conversation, lookahead=4, **GREEDY).tokens == again, "the cache goes back and on"


@pytest.mark.parametrize("name", often(["stories-mamba131K-F32", "stories260K-Q4_0"], "stories-mamba131K-F32"))
def test_models_of_other_people(two: list[Machine], shared_gguf: Callable[[str], Path], name: str) -> None:
    begun = "Once upon a time there was"
    with load(shared_gguf(name), draft=None, threads=1) as local:
        expected = local.generate(begun, raw=True, lookahead=0, **GREEDY).tokens
    with load(shared_gguf(name), draft=None, threads=1, rpc=addresses(two)) as decoder:
        for lookahead in (4, 0, 4):
            reply = decoder.generate(begun, raw=True, method="ngram", lookahead=lookahead, **GREEDY)
            assert reply.tokens == expected


def test_cancel_and_go_on(two: list[Machine], bundled_target: Path) -> None:
    with load(bundled_target, draft=None, threads=1, rpc=addresses(two)) as decoder:
        whole = decoder.generate(QUESTION, lookahead=0, **GREEDY).tokens
        cancel, written = CancelToken(), []
        for event in decoder.stream(QUESTION, lookahead=0, cancel=cancel, **GREEDY):
            if isinstance(event, TokenEvent):
                written.append(event.token)
                if len(written) == 3:
                    cancel.cancel()
        assert 3 <= len(written) < len(whole)
        timer = threading.Timer(0.05, cancel.cancel)
        timer.start()
        with suppress(Cancelled):
            decoder.generate("word " * 1_500, lookahead=0, max_tokens=300, cancel=cancel)
        timer.join()
        cancel.clear()
        assert decoder.generate(QUESTION, lookahead=0, **GREEDY).tokens == whole


def test_a_machine_that_goes_away(two: list[Machine], bundled_target: Path, bundled_draft: Path) -> None:
    with machines(1) as (third,), SpeculativeDecoder() as decoder:
        decoder.attach_draft(LoadConfig(bundled_draft, threads=1))
        decoder.attach_target(LoadConfig(bundled_target, threads=1, rpc=(two[0].address, third.address)))
        written: list[str] = []
        with pytest.raises(BackendFailure) as failed:  # noqa: PT012 - it is some time in the middle of it
            for event in decoder.stream(QUESTION, lookahead=4, **GREEDY):
                if isinstance(event, TokenEvent):
                    written.append(event.text)
                    if len(written) == 3:
                        third.end()
        assert len(written) >= 3, "what was written is kept"
        said = str(failed.value)
        assert third.address in said
        assert "\n" not in said
        assert said.endswith("load the model again, or choose another one.")
        for again in (lambda: decoder.generate(QUESTION, **GREEDY), lambda: decoder.encode("Hi")):
            with pytest.raises(BackendFailure) as later:
                again()
            assert str(later.value) == said, "not only that it was closed"
        decoder.attach_target(LoadConfig(bundled_target, threads=1))
        local = decoder.generate(QUESTION, lookahead=4, **GREEDY)
        assert local.text.startswith("".join(written[:3]))


@pytest.mark.parametrize("lookahead", often(["auto", 0], "auto"))
def test_a_machine_that_goes_away_before_the_first_token(
    two: list[Machine],
    bundled_target: Path,
    lookahead: Literal["auto", 0],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Also while it is found out what tokens cost, or the prompt is read, the sentence says what was lost."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # Nothing is known of what tokens cost.
    with machines(1) as (third,), SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(bundled_target, threads=1, rpc=(two[0].address, third.address)))
        third.end()
        with pytest.raises(BackendFailure) as failed:
            decoder.generate("word " * 900, lookahead=lookahead, max_tokens=4)
        assert third.address in str(failed.value)


def test_what_cannot_be_loaded_is_said(two: list[Machine], bundled_target: Path, tmp_path: Path) -> None:
    with machines(1) as (gone,):
        pass
    with pytest.raises(LoadFailed, match=f"{gone.address} does not answer"):
        load(bundled_target, draft=None, rpc=[two[0].address, gone.address])
    assert LoadConfig(bundled_target, rpc=" h:1,h:1 ,k:2,").rpc == ("h:1", "k:2"), "the same one twice is one"
    many = [f"h:{port}" for port in range(1, 18)]
    for wrong in ("here", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "a b:1", ["x:1", 2], 7, many):
        with pytest.raises(InvalidRequest, match="Machines must be addresses"):
            LoadConfig(bundled_target, rpc=wrong)  # type: ignore[arg-type]
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelNotSupported, match="only GGUF models"):
        load(tmp_path, draft=None, rpc=two[0].address)


def test_the_command_line(two: list[Machine], bundled_target: Path) -> None:
    asked = ("generate", "--target", str(bundled_target), "--temperature", "0", "--max-tokens", "20", QUESTION)
    there = run_engine(*asked, "--rpc", addresses(two))
    assert there.returncode == 0, there.stderr
    assert there.stdout == run_engine(*asked).stdout
    taken = run_engine("rpc-server", "--port", two[0].address.partition(":")[2])
    assert taken.returncode == 2
    assert "Choose another port." in taken.stderr
    assert taken.stderr.count("\n") == 1


def test_a_child_ends_with_its_parent(two: list[Machine], bundled_target: Path) -> None:
    program = (
        "import sys, psutil, engine\n"
        "decoder = engine.load(sys.argv[1], draft=None, rpc=sys.argv[2])\n"
        "print(*[child.pid for child in psutil.Process().children(recursive=True)], flush=True)\n"
        "input()\n"
    )
    command = [sys.executable, "-c", program, os.fspath(bundled_target), two[0].address]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert children
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive


def test_a_machine_that_does_not_answer(
    two: list[Machine], bundled_target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It computes for another program, and lets this one wait.
    with load(bundled_target, draft=None, rpc=two[0].address):
        monkeypatch.setattr("engine.backends.llama_cpp.apart._GREETING_S", 3.0)
        with pytest.raises(LoadFailed, match="It may be computing for another program"):
            load(bundled_target, draft=None, rpc=two[0].address)


def test_cancel_while_a_machine_keeps_silent(bundled_target: Path) -> None:
    with machines(0), socket.create_server(("127.0.0.1", 0)) as silent:
        cancel = CancelToken()
        timer = threading.Timer(1.0, cancel.cancel)
        timer.start()
        with pytest.raises(Cancelled):
            load(bundled_target, draft=None, rpc=f"127.0.0.1:{silent.getsockname()[1]}", cancel=cancel)
        timer.join()
