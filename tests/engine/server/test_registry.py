"""Models by name, loaded when they are asked for, from a folder and by the command."""

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from engine.backends.base import Embedder
from engine.cancel import CancelToken
from engine.decoder import SpeculativeDecoder
from engine.errors import BackendClosed, ModelNotSupported
from engine.library.names import bundled_pair
from engine.server.folder import folder_offers
from engine.server.guard import Limits
from engine.server.registry import ModelRegistry
from helpers.decoding.serving import asked, served
from helpers.models.pairs import open_files
from helpers.paths import ROOT, SHARED_MODELS

STORIES, DRAFT, OTHER = "stories260K-F32", "stories-draft43K-F32", "babyllama361-F32"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three real models; one of them can draft for another."""
    for name in (STORIES, DRAFT, OTHER):
        source = SHARED_MODELS / "gguf" / f"{name}.gguf"
        if not source.exists():
            pytest.skip("the shared models are not here")
        shutil.copy(source, tmp_path)
    return tmp_path


class Loads:
    """Loads without a trial, and notes what was loaded."""

    def __init__(self) -> None:
        self.loaded: list[tuple[str, str | None]] = []

    def load(self, target: Path, draft: Path | None, _: CancelToken) -> SpeculativeDecoder:
        self.loaded.append((target.stem, None if draft is None else draft.stem))
        return open_files(target, draft)

    def embed(self, path: Path, _: CancelToken) -> Embedder:
        raise ModelNotSupported(path, "it is no embedding model.")


def written(url: str, model: str | None = None) -> tuple[int, Any]:
    body = {"prompt": "Once upon a time", "max_tokens": 6} | ({} if model is None else {"model": model})
    return asked(url, "/v1/completions", json.dumps(body).encode())


def test_models_of_a_folder_are_loaded_by_name(folder: Path) -> None:
    loads = Loads()
    registry = ModelRegistry(folder_offers(folder, loads.load, loads.embed), idle_s=2.0)
    with served(registry, Limits()) as url:
        listed = asked(url, "/v1/models")[1]["data"]
        assert sorted(model["id"] for model in listed) == sorted((STORIES, DRAFT, OTHER))
        assert not any(model["loaded"] for model in listed)
        texts: dict[str, str] = {}
        for name in (STORIES, OTHER, STORIES):
            status, reply = written(url, name)
            assert (status, reply["model"]) == (200, name)
            assert texts.setdefault(name, reply["choices"][0]["text"]) == reply["choices"][0]["text"]
        assert texts[STORIES] != texts[OTHER]
        assert loads.loaded == [(STORIES, DRAFT), (OTHER, None), (STORIES, DRAFT)], "one at a time, with its draft"
        assert written(url)[1]["model"] == STORIES, "nobody is named: the loaded one"
        assert [model["id"] for model in asked(url, "/v1/models")[1]["data"] if model["loaded"]] == [STORIES]
        assert written(url, "../secret")[0] == 404
        assert asked(url, "/v1/embeddings", json.dumps({"model": OTHER, "input": "a"}).encode())[0] == 400
        deadline = time.monotonic() + 60
        while registry.loaded and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not registry.loaded, "unloaded, for nobody used it"
        assert written(url, STORIES)[1]["choices"][0]["text"] == texts[STORIES]


def test_a_model_that_is_gone_leaves_the_others(folder: Path) -> None:
    loads = Loads()
    with served(ModelRegistry(folder_offers(folder, loads.load, loads.embed)), Limits()) as url:
        (folder / f"{OTHER}.gguf").unlink()
        status, answer = written(url, OTHER)
        assert status == 500, "the client did nothing wrong"
        assert OTHER in answer["error"]["message"]
        assert written(url, STORIES)[0] == 200


def test_the_command_serves_a_folder_until_it_is_ended(folder: Path) -> None:
    command = [sys.executable, "-m", "engine", "serve", "--folder", str(folder), "--port", "0", "--idle-unload", "60"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert f"3 models of {folder} on http://127.0.0.1:" in line
        url = line.partition(" on ")[2].partition("/v1")[0]
        try:
            status, reply = written(url, STORIES)
        finally:
            process.send_signal(signal.SIGINT)
        assert status == 200
        assert reply["usage"]["completion_tokens"] == 6
        assert process.wait(20) in (0, 130)


def test_models_of_one_name_are_all_offered(folder: Path) -> None:
    """Each has as many of the folders around it in its name as tell it from the others."""
    source = folder / f"{STORIES}.gguf"
    for place in ("a/quants", "b/quants", "c", "c/d/quants"):
        (folder / place).mkdir(parents=True)
        shutil.copy(source, folder / place)
    source.unlink()
    loads = Loads()
    offers = folder_offers(folder, loads.load, loads.embed)
    names = [offer.name for offer in offers]
    assert len(set(names)) == len(names) == 6
    same = {name for name in names if STORIES in name}
    assert same == {f"{place}/{STORIES}" for place in ("a/quants", "b/quants", f"{folder.name}/c", "d/quants")}
    assert {DRAFT, OTHER} <= set(names)
    paths = set()
    for offer in offers:
        if offer.load is not None and STORIES in offer.name:
            paths.add(offer.load.args[0])  # type: ignore[attr-defined]
    assert len(paths) == 4


def test_questions_about_long_texts_keep_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is tokenised, others are, replies are written, and tokens have their texts."""
    began, over = threading.Event(), threading.Event()
    with open_files(*bundled_pair()) as decoder, served(ModelRegistry(decoder=decoder, name="demo"), Limits()) as url:
        tokenizer: Any = decoder.target.tokenizer  # type: ignore[union-attr]
        tokenize = tokenizer._tokenize

        def slowly(text: str, *flags: bool) -> list[int]:
            if len(text) > 100_000:
                began.set()
                assert over.wait(60)
            found: list[int] = tokenize(text, *flags)
            return found

        monkeypatch.setattr(tokenizer, "_tokenize", slowly)
        long = json.dumps({"content": "a b " * 50_000}).encode()
        told: list[Any] = []
        thread = threading.Thread(target=lambda: told.append(asked(url, "/tokenize", long)))
        thread.start()
        try:
            assert began.wait(60)
            assert asked(url, "/tokenize", b'{"content": "a", "with_pieces": true}')[0] == 200
            middle = json.dumps({"content": "a b " * 10_000}).encode()
            assert asked(url, "/tokenize", middle)[1]["count"] > 1000, "another long one has a stack of its own"
            assert written(url)[0] == 200
        finally:
            over.set()
            thread.join(60)
        assert told[0][1]["count"] > 50_000


def test_a_model_is_not_freed_while_its_tokenizer_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    began, over = threading.Event(), threading.Event()
    decoder = open_files(*bundled_pair())
    tokenizer: Any = decoder.target.tokenizer  # type: ignore[union-attr]
    read = tokenizer._tokenize

    def slowly(text: str, *flags: bool) -> list[int]:
        began.set()
        assert over.wait(60)
        found: list[int] = read(text, *flags)
        return found

    def encode() -> list[int]:
        found: list[int] = tokenizer.encode("a fox", add_special=False, parse_special=False)
        return found

    monkeypatch.setattr(tokenizer, "_tokenize", slowly)
    read_tokens: list[list[int]] = []
    reading = threading.Thread(target=lambda: read_tokens.append(encode()))
    closing = threading.Thread(target=decoder.close)
    reading.start()
    assert began.wait(60)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive(), "it waits"
    with pytest.raises(BackendClosed):
        encode()
    over.set()
    for thread in (reading, closing):
        thread.join(60)
        assert not thread.is_alive()
    assert read_tokens[0]
