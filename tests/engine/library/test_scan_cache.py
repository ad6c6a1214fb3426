"""What a scan keeps on disk for the next one: used while nothing changed, and never trusted."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import LoadFailed
from engine.formats.gguf import types
from engine.formats.gguf.model import HeaderReader
from engine.library import scan as library
from engine.library import scan as library_cache
from engine.library.scan import ModelFile, scan_folder
from engine.library.walk import FoundModel, find_models
from engine.system.cache_files import library_place
from helpers.models.gguf_writer import Entry, tiny_draft
from helpers.paths import ROOT

SETTLED = 0.1
"""Seconds after which a file counts as settled."""


@pytest.fixture
def folder(tmp_path: Path, shared_models: Path) -> Path:
    """Two models of one vocabulary, one of another, one that is broken, one folder of safetensors."""
    models = tmp_path / "models"
    models.mkdir()
    for index in range(2):
        tiny_draft(layers=1 + index).write(models / f"{index}.gguf")
    other = tiny_draft()
    other.entries["tokenizer.ggml.tokens"].value[5:] = [f"other{index}" for index in range(11)]
    other.write(models / "other.gguf")
    (models / "broken.gguf").write_bytes((models / "0.gguf").read_bytes()[:900])
    (models / "folder").symlink_to(shared_models / "hf" / "stories260K")
    time.sleep(SETTLED)
    return models


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is read, not remembered."""
    names: list[str] = []
    real = library._Scan._read

    def read(scan: library._Scan, found: FoundModel) -> tuple[ModelFile, bool]:
        names.append(Path(found.path).name)
        return real(scan, found)

    monkeypatch.setattr(library._Scan, "_read", read)
    return names


def scan_anew(folder: Path) -> tuple[ModelFile, ...]:
    """A scan by a process that knows only what is on disk."""
    library._known.clear()
    return scan_folder(folder)


def test_a_disk_that_is_pulled_out_during_a_scan_says_nothing_of_its_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = folder.with_name("elsewhere")
    found = find_models(folder)
    folder.rename(away)
    with monkeypatch.context() as patch:
        patch.setattr(library, "find_models", lambda *_args, **_options: found)
        models = scan_folder(folder)
    assert len(models) == len(found)
    assert not any(model.usable for model in models)
    away.rename(folder)
    assert {model.path.name for model in scan_folder(folder) if not model.usable} == {"broken.gguf"}
    assert {model.path.name for model in scan_anew(folder) if not model.usable} == {"broken.gguf"}


def test_what_did_not_change_is_not_read_again(folder: Path, reads: list[str]) -> None:
    first = scan_folder(folder)
    assert sorted(reads) == ["0.gguf", "1.gguf", "broken.gguf", "folder", "other.gguf"]
    reads.clear()
    again = scan_anew(folder)
    assert reads == []
    assert again == first
    for ours, theirs in zip(again, first, strict=True):
        assert (ours.vocabulary is None) is (theirs.vocabulary is None)
        if ours.vocabulary is not None and theirs.vocabulary is not None:
            np.testing.assert_array_equal(ours.vocabulary.fingerprints, theirs.vocabulary.fingerprints)
            assert ours.vocabulary.fingerprints.dtype == np.uint32
    assert scan_folder(folder) == first
    assert reads == []


def test_every_vocabulary_is_stored_once(folder: Path) -> None:
    models = scan_folder(folder)
    assert len({model.vocabulary.digest for model in models if model.vocabulary}) == 3
    assert len(list(library_place().glob("*.vocabulary"))) == 3


def test_what_changed_is_read_again(folder: Path, reads: list[str]) -> None:
    scan_folder(folder)
    reads.clear()
    path = folder / "0.gguf"
    content, before = path.read_bytes(), path.stat()
    path.write_bytes(content.replace(b"tiny", b"tidy"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert {model.name for model in scan_anew(folder) if model.path == path} == {"tidy"}
    assert reads == ["0.gguf"]
    reads.clear()
    (folder / "1.gguf").rename(folder / "2.gguf")
    (folder / "other.gguf").unlink()
    assert {model.path.name for model in scan_anew(folder)} == {"0.gguf", "2.gguf", "broken.gguf", "folder"}
    assert "2.gguf" in reads


def test_what_has_just_been_written_is_read_again(tmp_path: Path, reads: list[str]) -> None:
    path = tmp_path / "x.gguf"
    for name in ("one", "two", "six"):
        draft = tiny_draft()
        draft.entries["general.name"] = Entry(types.STRING, name)
        path.write_bytes(draft.to_bytes())
        assert [model.name for model in scan_anew(tmp_path)] == [name]
    assert len(reads) == 3


def test_what_the_system_refuses_is_asked_again(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_draft().write(tmp_path / "x.gguf")
    time.sleep(SETTLED)
    with monkeypatch.context() as patch:

        def refuse(_reader: HeaderReader, path: Path) -> ModelFile:
            error = LoadFailed(path, "Outrider has no permission to read it.")
            error.__context__ = PermissionError(13, "Permission denied")
            raise error

        patch.setattr(HeaderReader, "read", refuse)
        (model,) = scan_anew(tmp_path)
        assert model.problem == "Outrider has no permission to read it."
    (model,) = scan_anew(tmp_path)
    assert model.usable
    assert reads == ["x.gguf", "x.gguf"]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"\xff" * 50, b'{"version": 1}', b"[" * 100_000, b'{"version": [1], "models": {}}']
)
def test_a_damaged_cache_costs_one_scan(folder: Path, reads: list[str], damage: bytes) -> None:
    first = scan_folder(folder)
    (stored,) = library_place().glob("*.json")
    stored.write_bytes(damage)
    reads.clear()
    assert scan_anew(folder) == first
    assert len(reads) == 5
    reads.clear()
    assert scan_anew(folder) == first
    assert reads == []


def test_entries_that_are_not_what_they_should_be(folder: Path) -> None:
    first = scan_folder(folder)
    (stored,) = library_place().glob("*.json")
    good = json.loads(stored.read_text())
    path = str(folder / "0.gguf")
    for entry in (
        None,
        7,
        {},
        {**good["models"][path], "files": 3},
        {**good["models"][path], "files": [["0.gguf", [1, 2, 3, 4]]]},
        {**good["models"][path], "figures": []},
        {**good["models"][path], "vocabulary": "../../x"},
        {**good["models"][path], "vocabulary": 7},
    ):
        stored.write_text(json.dumps({**good, "models": {**good["models"], path: entry}}))
        assert scan_anew(folder) == first


@pytest.mark.parametrize("change", ["missing", "empty", "cut", "flipped", "folder", "of another"])
def test_a_damaged_vocabulary_costs_one_reading(folder: Path, reads: list[str], change: str) -> None:
    first = scan_folder(folder)
    stored = sorted(library_place().glob("*.vocabulary"))
    contents = [path.read_bytes() for path in stored]
    for path, content, other in zip(stored, contents, contents[1:] + contents[:1], strict=True):
        path.unlink()
        if change == "folder":
            path.mkdir()
        elif change != "missing":
            flipped = content[:-1] + bytes([content[-1] ^ 1])
            path.write_bytes({"empty": b"", "cut": content[:-4], "flipped": flipped, "of another": other}[change])
    reads.clear()
    found = scan_anew(folder)
    assert found == first
    assert sorted(reads) == ["0.gguf", "1.gguf", "folder", "other.gguf"]
    for ours, theirs in zip(found, first, strict=True):
        if ours.vocabulary is not None and theirs.vocabulary is not None:
            np.testing.assert_array_equal(ours.vocabulary.fingerprints, theirs.vocabulary.fingerprints)
    if change != "folder":
        reads.clear()
        assert scan_anew(folder) == first
        assert reads == []


def test_nowhere_to_write(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    first = scan_folder(folder)
    assert scan_anew(folder) == first
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert scan_anew(folder) == first


def test_another_version_does_not_read_it(folder: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    scan_folder(folder)
    reads.clear()
    monkeypatch.setattr(library_cache, "_VERSION", ["another"])
    scan_anew(folder)
    assert len(reads) == 5


def test_the_cache_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_cache, "_MOST_FOLDERS", 3)
    monkeypatch.setattr(library_cache, "_MOST_VOCABULARIES", 2)
    for index in range(6):
        folder = tmp_path / str(index)
        folder.mkdir()
        draft = tiny_draft()
        draft.entries["tokenizer.ggml.tokens"].value[6] = f"token {index}"
        draft.write(folder / "x.gguf")
    time.sleep(SETTLED)
    for index in range(6):
        (model,) = scan_anew(tmp_path / str(index))
        assert model.usable
    assert len(list(library_place().glob("*.json"))) == 3
    assert len(list(library_place().glob("*.vocabulary"))) == 2
    assert not list(library_place().glob(".*"))
    size = next(library_place().glob("*.vocabulary")).stat().st_size
    monkeypatch.setattr(library_cache, "_MOST_VOCABULARY_BYTES", size + 1)
    (tmp_path / "0" / "x.gguf").rename(tmp_path / "0" / "y.gguf")
    time.sleep(SETTLED)
    scan_anew(tmp_path / "0")
    assert len(list(library_place().glob("*.vocabulary"))) == 1


def test_an_unchanged_cache_is_not_written_again(folder: Path) -> None:
    scan_folder(folder)
    (stored,) = library_place().glob("*.json")
    before = stored.stat()
    scan_anew(folder)
    assert stored.stat().st_mtime_ns == before.st_mtime_ns
    assert stored.stat().st_ino == before.st_ino


def test_scans_at_the_same_time_do_not_harm_each_other(folder: Path) -> None:
    program = f"""
import sys
from engine.library import scan
from engine.library.scan import scan_folder
for _ in range(6):
    scan._known.clear()
    models = scan_folder({str(folder)!r})
    assert sum(model.usable for model in models) >= 3
"""

    def scan() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )

    with ThreadPoolExecutor(3) as threads:
        done = [threads.submit(scan) for _ in range(3)]
        for index in range(20):
            os.utime(folder / "0.gguf", ns=(index, 10**15 + index))
            for path in library_place().glob("*"):
                if index % 3 == 0:
                    path.unlink(missing_ok=True)
            time.sleep(0.05)
    for finished in done:
        assert finished.result().returncode == 0, finished.result().stderr
    for stored in library_place().glob("*.json"):
        json.loads(stored.read_text())


def test_figures_come_back_as_they_were(folder: Path) -> None:
    """Every field of a model: one that cannot be stored as JSON would be lost silently."""
    for model in scan_folder(folder):
        for name in library_cache._FIGURES:
            value = getattr(model, name)
            if name == "recommended":
                continue
            if name == "shared":
                assert all(type(number) is int for pair in value for number in pair)
                continue
            assert value is None or isinstance(value, str | int | bool), name
        assert replace(model) == model
