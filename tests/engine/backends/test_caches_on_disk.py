"""Caches that are kept on disk: taken up again bit by bit, and nothing else is ever taken up."""

import errno
import logging
import os
import secrets
import shutil
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.backends import caches_on_disk
from engine.backends.base import Backend
from engine.backends.caches_in_memory import SavedCaches
from engine.backends.caches_on_disk import DiskCaches
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.prefix import keep_prefix
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, InvalidRequest
from engine.events import Finished, PromptProgress, TokenEvent
from engine.host import forget_caches, forget_other_caches
from engine.library.names import bundled_pair, resolve_source
from helpers.models.pairs import open_files, open_shared
from helpers.paths import SHARED_MODELS
from helpers.weights.expert_model import TINY_GPT_OSS, write_expert_model

FIRST = [5 + index % 200 for index in range(600)]
SECOND = [7 + 3 * index % 200 for index in range(150)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Backend]]:
    """Loaded models: with a plain cache, a quantised one, and one of which half the layers see 128 tokens back."""
    loaded: dict[str, Backend] = {}

    def give(kind: str) -> Backend:
        if kind not in loaded and kind == "window":
            place = tmp_path_factory.mktemp("windows") / "window.gguf"
            config = LoadConfig(write_expert_model(place, TINY_GPT_OSS, "Q8_0", seed=3), threads=1, trusted=True)
            loaded[kind] = LlamaCppBackend.open(config)
        elif kind not in loaded:
            config = LoadConfig(bundled_pair()[0], threads=1, trusted=True, cache_type=None if kind == "f16" else kind)  # type: ignore[arg-type]
            loaded[kind] = LlamaCppBackend.open(config)
        loaded[kind].truncate(0)
        loaded[kind].keeper = None
        return loaded[kind]

    yield give
    for each in loaded.values():
        each.close()


@pytest.fixture
def model(models: Callable[[str], Backend]) -> Backend:
    return models("f16")


def kept(folder: Path, model: Backend, tokens: list[int] = FIRST, owner: str = "chat") -> DiskCaches:
    """Store a model's cache of a text, and let it read something else."""
    disk = DiskCaches(folder, "this model")
    model.keeper = None
    if list(model.tokens) != tokens:
        model.truncate(0)
        model.forward(tokens, 0)
    disk.keep(model, owner)
    model.truncate(0)
    model.forward(SECOND, 0)
    model.keeper = SavedCaches(0, disk)
    return disk


def parts(folder: Path) -> list[Path]:
    """The kept parts of a text, the first one first: each is named by the one before it."""
    by_parent = {path.name.partition("-")[0]: path for path in folder.glob("*/*.kv")}
    names = {path.stem.partition("-")[2] for path in by_parent.values()}
    found = [path for parent, path in by_parent.items() if parent not in names]
    while found and found[-1].stem.partition("-")[2] in by_parent:
        found.append(by_parent[found[-1].stem.partition("-")[2]])
    return found


@pytest.mark.parametrize("kind", ["f16", "q8_0", "window"])
def test_what_was_kept_comes_back_bit_by_bit(models: Callable[[str], Backend], kind: str, tmp_path: Path) -> None:
    model, text, earlier_from = models(kind), FIRST[:400], 140
    model.forward(text[:-5], 0)
    expected = model.forward(text[-5:], 5).copy()
    model.truncate(earlier_from)
    earlier = model.forward(text[earlier_from : earlier_from + 5], 5).copy()
    kept(tmp_path, model, text)
    assert keep_prefix(model, text[:-5]) == len(text) - 5
    assert np.array_equal(model.forward(text[-5:], 5), expected)
    model.truncate(earlier_from)
    assert np.array_equal(model.forward(text[earlier_from : earlier_from + 5], 5), earlier)


def test_it_is_for_its_owner_alone(model: Backend, tmp_path: Path) -> None:
    kept(tmp_path / "new", model)
    if sys.platform == "win32":
        return
    for path in (tmp_path / "new").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_what_is_added_to_a_text_is_one_more_part(model: Backend, tmp_path: Path) -> None:
    disk = kept(tmp_path, model, FIRST[:400])
    before = {path: path.stat().st_size for path in parts(tmp_path)}
    longer = FIRST[:400] + SECOND
    assert keep_prefix(model, longer) == 400
    model.forward(SECOND, 0)
    disk.keep(model, "chat")
    after = parts(tmp_path)
    assert after[:-1] == list(before)
    assert {path: path.stat().st_size for path in after[:-1]} == before
    model.truncate(0)
    assert keep_prefix(model, longer) == len(longer)
    assert keep_prefix(model, [*FIRST[:300], *SECOND]) == 300, "in the middle of a part"


def _flip(place: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[place] ^= 4
        path.write_bytes(content)

    return damage


def _cut(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "its mark": _flip(3),
    "its checksum": _flip(20),
    "its count": _flip(48),
    "a token": _flip(57),
    "its beginning": _flip(52 + 4 * 256 + 1),
    "its end": _flip(-1),
    "cut in its head": lambda path: _cut(path, 30),
    "cut in its tokens": lambda path: _cut(path, 200),
    "cut in its data": lambda path: _cut(path, 5000),
    "empty": lambda path: _cut(path, 0),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "something else": lambda path: path.write_bytes(secrets.token_bytes(5000)),
}


@pytest.mark.parametrize("which", DAMAGES)
def test_what_is_damaged_is_read_anew(
    model: Backend, tmp_path: Path, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept(tmp_path, model)
    there = parts(tmp_path)
    DAMAGES[which](there[1])
    with caplog.at_level(logging.WARNING):
        assert keep_prefix(model, FIRST) == 256, "the part before it is sound"
    assert [record.name for record in caplog.records] == ["outrider.caches"]
    assert not there[1].exists()
    model.forward(FIRST[model.length :], 0)
    assert list(model.tokens) == FIRST


def test_nothing_of_another_model_or_another_installation_is_taken(
    model: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept(tmp_path, model)
    model.keeper = SavedCaches(0, DiskCaches(tmp_path, "another model"))
    assert keep_prefix(model, FIRST) == 0
    assert not caplog.records
    model.keeper = SavedCaches(0, DiskCaches(tmp_path, "this model"))
    (tmp_path / "key").write_bytes(secrets.token_bytes(32))
    assert keep_prefix(model, FIRST) == 0
    kept(tmp_path, model)
    (tmp_path / "key").unlink()
    assert keep_prefix(model, FIRST) == 0
    assert len(caplog.records) == 2


HEAD, CELL = 16, 12
HOSTILE: dict[str, Callable[[bytearray], None]] = {
    "a text elsewhere": lambda state: struct.pack_into("<i", state, HEAD, 10**6),
    "a position twice": lambda state: struct.pack_into("<i", state, HEAD + CELL, 0),
    "a negative position": lambda state: struct.pack_into("<i", state, HEAD + CELL, -5),
    "several sequences": lambda state: struct.pack_into("<I", state, HEAD + 4, 4),
    "more cells": lambda state: struct.pack_into("<I", state, 12, 2**31),
    "more streams": lambda state: struct.pack_into("<I", state, 8, 3),
    "no cells": lambda state: struct.pack_into("<I", state, 12, 0),
    "many layers": lambda state: struct.pack_into("<I", state, HEAD + 256 * CELL + 4, 2**31),
    "long rows": lambda state: struct.pack_into("<Q", state, HEAD + 256 * CELL + 12, 2**62),
    "another type": lambda state: struct.pack_into("<i", state, HEAD + 256 * CELL + 8, 99),
    "not of llama.cpp": lambda state: struct.pack_into("<I", state, 0, 1),
    "a cache behind it": lambda state: state.extend(state[8:]),
    "nothing": lambda state: state.clear(),
}


@pytest.mark.parametrize("which", HOSTILE)
def test_a_hostile_part_with_a_right_checksum_is_refused(
    model: Backend, tmp_path: Path, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept(tmp_path, model)
    path = parts(tmp_path)[0]
    content = path.read_bytes()
    begin = 52 + 4 * 256
    state = bytearray(content[begin:])
    HOSTILE[which](state)
    parent = bytes.fromhex(path.name.partition("-")[0])
    checksum = caches_on_disk._checksum((tmp_path / "key").read_bytes(), parent, FIRST[:256], memoryview(state))
    path.write_bytes(content[:16] + checksum + content[48:begin] + state)
    with caplog.at_level(logging.WARNING, "outrider.caches"):
        assert keep_prefix(model, FIRST) == 0
    assert len([record for record in caplog.records if record.name == "outrider.caches"]) == 1
    assert not path.exists()
    model.forward(FIRST, 0)
    assert list(model.tokens) == FIRST


def test_the_folder_stays_within_its_limit_and_the_last_used_stays(model: Backend, tmp_path: Path) -> None:
    kept(tmp_path, model, owner="measure")
    size = sum(path.stat().st_size for path in parts(tmp_path))
    forget_caches(tmp_path, "measure")
    disk = DiskCaches(tmp_path, "this model", int(2.5 * size))
    for first in range(1, 5):
        text = [first, *FIRST[1:]]
        model.truncate(0)
        model.forward(text, 0)
        disk.keep(model, f"chat{first}")
        assert sum(path.stat().st_size for path in tmp_path.glob("*/*")) <= disk.most_bytes
        if first == 2:
            disk.bring_back(model, [1, *FIRST[1:]])
    model.truncate(0)
    disk.bring_back(model, [4, *FIRST[1:]])
    assert model.length == len(FIRST)
    disk.bring_back(model, [1, *FIRST[1:]])
    assert 0 < model.length < len(FIRST), "the end of the oldest went, not its beginning"
    tiny = DiskCaches(tmp_path / "tiny", "this model", 1000)
    tiny.keep(model, "chat")
    assert not parts(tmp_path / "tiny")


def test_a_full_disk_costs_one_line(
    model: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(caches_on_disk, "write_whole", full)
        kept(tmp_path, model)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
        kept(tmp_path, model)
    assert [record.name for record in caplog.records] == ["outrider.caches"] * 2
    assert keep_prefix(model, FIRST) == 0
    (tmp_path / "file").touch()
    kept(tmp_path / "file", model)
    assert len(caplog.records) == 3
    kept(tmp_path, model)
    assert keep_prefix(model, FIRST) == len(FIRST)


def test_a_killed_writing_leaves_nothing_that_is_read(model: Backend, tmp_path: Path) -> None:
    kept(tmp_path, model)
    left = tmp_path / "chat" / ".half-0123.part"
    left.write_bytes(parts(tmp_path)[0].read_bytes()[:5000])
    os.utime(left, (0, 0))
    assert keep_prefix(model, FIRST) == len(FIRST)
    kept(tmp_path, model, [3, *FIRST])
    assert not left.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_several_damaged_parts_are_one_line_and_a_pipe_is_not_waited_for(
    model: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept(tmp_path, model)
    first = next(
        path for path in parts(tmp_path) if path.name.startswith(DiskCaches(tmp_path, "this model")._model.hex())
    )
    for number in range(3):
        first.with_name(first.name.replace("-", f"-{number}")).write_bytes(b"damaged")
    os.mkfifo(first.with_name(first.name.replace("-", "-f")))
    assert keep_prefix(model, FIRST) == len(FIRST)
    assert len(caplog.records) == 1
    assert len(list(tmp_path.glob("*/*.kv"))) == 4, "three parts and the pipe"


def test_keeping_is_cancelled_between_two_parts_and_goes_on(model: Backend, tmp_path: Path) -> None:
    model.forward(FIRST, 0)
    disk, cancel, copies = DiskCaches(tmp_path, "this model"), CancelToken(), model.copy_part
    try:
        model.copy_part = lambda first, last: (cancel.cancel(), copies(first, last))[1]  # type: ignore[method-assign,func-returns-value]
        with pytest.raises(Cancelled):
            disk.keep(model, "chat", cancel)
    finally:
        del model.copy_part
    assert len(parts(tmp_path)) == 1
    disk.keep(model, "chat")
    assert len(parts(tmp_path)) == 3


def test_caches_go_with_their_owner(model: Backend, tmp_path: Path) -> None:
    kept(tmp_path, model, owner="one")
    kept(tmp_path, model, [3, *FIRST], owner="two")
    (tmp_path / "two" / "of somebody else").touch()
    forget_caches(tmp_path, "one")
    assert not (tmp_path / "one").exists()
    assert keep_prefix(model, FIRST) == 0
    forget_other_caches(tmp_path, ["three"])
    assert [path.name for path in (tmp_path / "two").iterdir()] == ["of somebody else"]
    assert keep_prefix(model, [3, *FIRST]) == 0
    for name in ("..", "a/b", "", "x" * 65, "a b"):
        if name:
            with pytest.raises(InvalidRequest):
                forget_caches(tmp_path, name)
    forget_caches(tmp_path / "nowhere", "one")
    forget_other_caches(tmp_path / "nowhere", [])


def test_a_tree_and_a_replay_are_not_kept(model: Backend, tmp_path: Path) -> None:
    model.forward(FIRST, 0)
    model.forward_tree([1, 2, 3, 4], [-1, 0, -1, 2])
    model.keep_path([2, 3])
    kept_tokens = list(model.tokens)
    DiskCaches(tmp_path, "this model").keep(model, "chat")
    expected = model.forward([5], 1).copy()
    model.truncate(0)
    model.forward(SECOND, 0)
    DiskCaches(tmp_path, "this model").bring_back(model, [*kept_tokens, 5])
    assert list(model.tokens) == FIRST
    assert np.array_equal(model.forward([3, 4, 5], 1), expected)


Asked = tuple[list[int], int]


def ask(decoder: SpeculativeDecoder, prompt: str, **options: Any) -> Asked:
    """The tokens of a reply, and how many of its prompt were read."""
    events = list(decoder.stream(prompt, raw=True, max_tokens=12, **{"temperature": 0.0, **options}))
    read = [event.total for event in events if isinstance(event, PromptProgress)]
    return [event.token for event in events if isinstance(event, TokenEvent)], read[-1]


def test_a_restart_goes_on_with_the_same_text(tmp_path: Path) -> None:
    target, draft = (Path(path) for path in bundled_pair())
    prompt = "Once there was a fox who lived by the river. " * 24
    with open_files(target, draft) as decoder:
        decoder.keep_caches(tmp_path)
        first, read = ask(decoder, prompt, lookahead=4)
        assert read > 200
        going_on = prompt + decoder.decode(first) + " And then the owl came, and said: "
        expected = ask(decoder, going_on, lookahead=4)[0]
        plain = ask(decoder, going_on, lookahead=0)[0]
    with open_files(target, draft) as decoder:
        decoder.keep_caches(tmp_path)
        again, read = ask(decoder, going_on, lookahead=4)
        assert read < 40
        assert decoder.draft is not None
        assert (again, ask(decoder, going_on, lookahead=0)[0]) == (expected, plain)
        decoder.keep_caches(None)
        ask(decoder, "Something else. " * 20)
        assert ask(decoder, going_on)[1] > 200, "it looks for nothing any more"
    with open_files(target, draft, context_length=1024) as decoder:
        decoder.keep_caches(tmp_path)
        assert ask(decoder, going_on)[1] > 200, "with other settings it is read anew"


def test_only_what_can_be_cut_anywhere_is_kept(tmp_path: Path) -> None:
    prompt = "Once there was a fox who lived by the river. " * 24
    with open_files(Path(bundled_pair()[0]), None) as decoder:
        decoder.attach_heads(resolve_source("demo-head"))
        decoder.keep_caches(tmp_path)
        tokens, _ = ask(decoder, prompt, lookahead=3)
        assert not parts(tmp_path)
        assert ask(decoder, prompt, lookahead=3)[0] == tokens
    if (SHARED_MODELS / "gguf" / "stories-mamba131K-F32.gguf").exists():
        with open_shared("stories-mamba131K-F32", None) as decoder:
            decoder.keep_caches(tmp_path)
            ask(decoder, prompt)
        assert not parts(tmp_path)


def test_a_decoder_keeps_when_it_is_told_to(tmp_path: Path) -> None:
    prompt = "Once there was a fox who lived by the river. " * 24
    with SpeculativeDecoder(cache_folder=tmp_path) as decoder:
        decoder.attach_target(LoadConfig(bundled_pair()[0], threads=1, trusted=True))
        decoder.keep_caches(tmp_path, each_reply=False)
        for event in decoder.stream(prompt, raw=True, max_tokens=2):
            if isinstance(event, Finished):
                break
        assert not parts(tmp_path)
        decoder.keep_cache("chat_5")
        assert {path.parent.name for path in parts(tmp_path)} == {"chat_5"}
        with pytest.raises(InvalidRequest):
            decoder.keep_cache("../chat")
        with pytest.raises(InvalidRequest):
            decoder.keep_caches(tmp_path, most_bytes=-1)
