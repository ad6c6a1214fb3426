"""A target and its draft are loaded at the same time, and end as if they were loaded one after the other."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, LoadFailed, ModelFileBroken
from engine.events import Event, Finished, LoadProgress
from engine.library import scan
from engine.loaded import load
from engine.loading import open as opening
from engine.loading import source, trial
from engine.loading.open import may_load_together, open_backend
from engine.lookahead import knowledge
from engine.lookahead.calibration import calibrate
from engine.system.machine import BusyWatch
from helpers.paths import ROOT

Find = Callable[[str], Path]


@pytest.fixture
def pair(shared_gguf: Find) -> tuple[LoadConfig, LoadConfig]:
    target, draft = shared_gguf("stories260K-F32"), shared_gguf("stories-draft43K-F32")
    return LoadConfig(target, threads=1, trusted=True), LoadConfig(draft, threads=1, trusted=True)


def test_both_are_loaded_at_once(pair: tuple[LoadConfig, LoadConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=20)

    def open_with_the_other(*args: object, **options: object) -> Backend:
        both.wait()  # One after the other they would never meet.
        return open_backend(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "open_backend", open_with_the_other)
    told: list[LoadProgress] = []
    with load(*pair, progress=told.append) as decoder:
        assert decoder.warnings == ()
        assert decoder.generate("Once upon a time", max_tokens=12, lookahead=4, temperature=0.0).stats.proposed
        plain = decoder.generate("Once upon a time", max_tokens=12, lookahead=0, temperature=0.0)
    parts = [each.part for each in told]
    assert parts == sorted(parts, reverse=True), "the draft is told of when the target is there"
    monkeypatch.undo()
    with load(pair[0]) as alone:
        assert alone.generate("Once upon a time", max_tokens=12, lookahead=0, temperature=0.0).tokens == plain.tokens


@pytest.mark.parametrize("failing", ["target", "draft"])
def test_one_that_fails(pair: tuple[LoadConfig, LoadConfig], failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Backend] = []

    def fail_one(config: LoadConfig, **options: object) -> Backend:
        if (config.path == pair[0].path) == (failing == "target"):
            raise ModelFileBroken(config.path, "it is broken.")
        opened.append(open_backend(config, **options))  # type: ignore[arg-type]
        return opened[-1]

    monkeypatch.setattr(opening, "open_backend", fail_one)
    with SpeculativeDecoder() as decoder:
        with pytest.raises(ModelFileBroken, match="it is broken") as caught:
            decoder.attach_pair(*pair)
        assert caught.value.path == (pair[0] if failing == "target" else pair[1]).path
        assert (decoder.target is None, decoder.draft) == (failing == "target", None)
        assert all(backend.closed for backend in opened) is (failing == "target"), "what nobody holds is freed"
        monkeypatch.setattr(opening, "open_backend", open_backend)
        decoder.attach_pair(*pair)
        assert decoder.generate("Once", max_tokens=4).tokens


@pytest.mark.parametrize("slow", ["target", "draft"])
def test_both_are_cancelled(pair: tuple[LoadConfig, LoadConfig], slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token, ended = CancelToken(), list[str]()

    def wait_for_the_end(config: LoadConfig, *, cancel: CancelToken, **options: object) -> Backend:
        part = "target" if config.path == pair[0].path else "draft"
        if part == slow:
            token.cancel()
            while not cancel.cancelled:
                pass
            ended.append(part)
            raise Cancelled
        return open_backend(config, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "open_backend", wait_for_the_end)
    with SpeculativeDecoder() as decoder:
        with pytest.raises(Cancelled):
            decoder.attach_pair(*pair, cancel=token)
        assert ended == [slow]
        assert not token.cancelled, "it can be used again"
        assert decoder.draft is None
        monkeypatch.setattr(opening, "open_backend", open_backend)
        decoder.attach_pair(*pair, cancel=token)
        assert decoder.draft is not None


def test_a_closed_decoder_loads_neither(pair: tuple[LoadConfig, LoadConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, opened = SpeculativeDecoder(), list[Backend]()

    def close_meanwhile(config: LoadConfig, **options: object) -> Backend:
        decoder.close()
        opened.append(open_backend(config, **options))  # type: ignore[arg-type]
        return opened[-1]

    monkeypatch.setattr(opening, "open_backend", close_meanwhile)
    with pytest.raises(Cancelled):
        decoder.attach_pair(*pair)
    assert decoder.target is None
    assert all(backend.closed for backend in opened)


def test_memory_is_counted_for_both(pair: tuple[LoadConfig, LoadConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_load_together(*pair)
    needs = [trial.needs_of(trial.check_model_header(each.path), each).in_memory for each in pair]
    for free, together in ((sum(needs), False), (2 * sum(needs), True)):
        monkeypatch.setattr(opening, "available_memory", lambda free=free: free)
        assert may_load_together(*pair) is together
    assert not may_load_together(pair[0], LoadConfig(pair[1].path, despite_memory=True))
    assert not may_load_together(pair[0], pair[1].path.parent / "missing.gguf")


def test_a_file_that_is_known_is_not_read_again(
    pair: tuple[LoadConfig, LoadConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.gguf"
    shutil.copyfile(pair[0].path, path)
    reads: list[Path] = []
    real = scan.inspect_model

    def inspect(path: Path) -> object:
        reads.append(path)
        return real(path)

    monkeypatch.setattr(scan, "inspect_model", inspect)
    monkeypatch.setattr(scan, "_SETTLED_NS", 0)
    first = trial.check_model_header(path)
    again = trial.check_model_header(path)
    assert len(reads) == 1
    assert again == first
    assert (again.vocabulary.special, again.vocabulary.control) == (  # type: ignore[union-attr]
        first.vocabulary.special,  # type: ignore[union-attr]
        first.vocabulary.control,  # type: ignore[union-attr]
    )
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(LoadFailed):
        trial.check_model_header(path)
    assert len(reads) == 2


def test_what_the_header_marks_is_all_that_llama_cpp_calls_special(shared_models: Path) -> None:
    for path in sorted((shared_models / "gguf").glob("*.gguf")):
        try:
            model = trial.check_model_header(path)
        except LoadFailed:
            continue
        with closing(open_backend(LoadConfig(path, threads=1, trusted=True))) as backend:
            told = backend.tokenizer
            everything = type(told)(told._model)  # type: ignore[call-arg, attr-defined]
            assert model.vocabulary is not None
            assert backend.eos_token_ids == everything.eos_token_ids, path  # type: ignore[attr-defined]
            assert told.added_tokens == everything.added_tokens, path


def test_a_start_imports_nothing_before_somebody_asks_for_it() -> None:
    script = (
        "import engine.backends.llama_cpp.library, engine.cli.generate, sys\n"
        "from engine.system.machine import describe_machine\n"
        "assert describe_machine()['libraries']['numpy'] == sys.modules['numpy'].__version__\n"
        "seldom = {'jinja2', 'llama_cpp.llama', 'rich', 'numpy.ma', 'importlib.metadata', 'engine.documents.read'}\n"
        "assert not seldom & sys.modules.keys(), seldom & sys.modules.keys()\n"
        "from llama_cpp import Llama\n"
        "assert Llama.__module__ == 'llama_cpp.llama'\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=60)


def test_what_llama_cpp_says_of_one_load_is_not_told_of_another() -> None:
    from engine.backends.llama_cpp.library import prepare_library  # noqa: PLC0415 - it loads llama.cpp

    log = prepare_library()
    log.clear()
    log._keep(4, b"error of this thread", None)
    found: list[str | None] = []

    def other() -> None:
        found.append(log.error)
        log.clear()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [None]
    assert log.error == "error of this thread"
    log.clear()
    assert log.error is None


def test_a_load_that_nobody_waits_for_is_let_go(pair: tuple[LoadConfig, LoadConfig]) -> None:
    holder = source.Holder()
    with pytest.raises(KeyError), holder.opening(pair[1], "draft", None):
        raise KeyError
    assert not any(holder in held for held in source._holders.values())


def test_a_first_reply_begins_before_anything_is_measured(
    pair: tuple[LoadConfig, LoadConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []

    def measure(*models: object, **options: object) -> object:
        measured.append("measured")
        return calibrate(*models, budget_s=0.05, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(knowledge, "calibrate", measure)
    with load(*pair) as decoder:
        told = decoder.stream("Once upon a time", max_tokens=12, temperature=0.0)
        last: Event = next(told)
        while not isinstance(last, Finished):
            last = next(told)
        assert (measured, last.result.lookahead) == ([], "auto"), "behind the last event"
        told.close()
        assert measured == [], "nobody waited for it"
        guess = decoder._knowledge
        decoder.generate("Once upon a time", max_tokens=12, temperature=0.0)
        assert measured == ["measured"]
        assert decoder._knowledge is not guess
        assert decoder._knowledge._pair.keys() >= guess._pair.keys()  # type: ignore[union-attr]
        decoder.generate("Once upon a time", max_tokens=12, temperature=0.0)
    with load(*pair) as decoder:
        decoder.generate("Once upon a time", max_tokens=4)
        decoder.calibrate()
    assert measured == ["measured"], "the next run knows it"


def test_nothing_is_measured_beside_other_programs(
    pair: tuple[LoadConfig, LoadConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge, "calibrate", pytest.fail)
    monkeypatch.setattr(BusyWatch, "busy", lambda _watch: True)
    with load(*pair) as decoder:
        decoder.calibrate()
        decoder.generate("Once upon a time", max_tokens=12)
        decoder.generate("Once upon a time", max_tokens=12)
