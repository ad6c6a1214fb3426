"""What is stored: its room, when it was used, what depends on it, and its way into the bin."""

import json
import shutil
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.errors import InvalidRequest
from engine.library.housekeeping import delete_model, note_used, stored_models
from engine.library.known import keep_alias
from helpers.models.gguf_writer import tiny_draft


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for downloads with a target and a draft that fits it."""
    for name in ("HOME", "HF_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "user"))
    folder = tmp_path / "downloads"
    folder.mkdir()
    monkeypatch.setenv("OUTRIDER_MODELS", str(folder))
    tiny_draft(layers=3).write(folder / "large.gguf")
    tiny_draft().write(folder / "small.gguf")
    return folder


@pytest.fixture
def binned(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What was moved to the bin, which deletes here."""
    found: list[Path] = []

    def to_bin(path: Path) -> None:
        if path.name == "stuck.gguf":
            raise OSError(1, "Not permitted")
        found.append(path)
        path.unlink()

    monkeypatch.setattr("send2trash.send2trash", to_bin)
    return found


def test_what_is_stored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_alias("coder", str(folder / "large.gguf"))
    note_used([folder / "small.gguf"])
    assert main(["stored", "--json"]) == 0
    large, small = json.loads(capsys.readouterr().out)["models"]
    assert [Path(name).name for name in (*large["files"], *small["files"])] == ["large.gguf", "small.gguf"]
    assert large["size_bytes"] == (folder / "large.gguf").stat().st_size > small["size_bytes"]
    assert large["needed_by"] == ["coder (alias)"]
    assert small["needed_by"] == ["large.gguf"], "it is the draft of the large one"
    assert small["used"]
    assert large["used"] is None
    assert main(["stored", "--unused", "1", "--json"]) == 0
    assert [Path(each["files"][0]).name for each in json.loads(capsys.readouterr().out)["models"]] == ["large.gguf"]
    assert main(["stored"]) == 0
    assert "coder (alias)" in capsys.readouterr().out
    assert main(["stored", "--unused", "-1"]) == 2


def test_a_model_goes_to_the_bin_with_all_of_its_files(
    folder: Path, binned: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["remove", "small"]) == 2
    assert "Add --yes" in capsys.readouterr().err
    assert binned == []
    assert main(["remove", "small", "--yes"]) == 0
    assert binned == [folder / "small.gguf"]
    assert "Moved to the bin" in capsys.readouterr().out
    shutil.copyfile(folder / "large.gguf", folder / "stuck.gguf")
    assert main(["remove", "stuck", "--yes"]) == 2
    assert "stuck.gguf cannot be moved to the bin: Not permitted." in capsys.readouterr().err
    assert main(["remove", "demo", "--yes"]) == 2
    assert "is a part of Outrider" in capsys.readouterr().err


def test_what_another_program_keeps_is_deleted_there(
    folder: Path, binned: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cached = tmp_path / "user" / "hub" / "models--me--tiny" / "snapshots" / "1" / "tiny.gguf"
    cached.parent.mkdir(parents=True)
    shutil.copyfile(folder / "small.gguf", cached)
    (stored,) = (each for each in stored_models() if each.model.path == cached)
    assert stored.kept_by == "Hugging Face"
    assert main(["remove", str(cached), "--yes"]) == 2
    assert "is kept by Hugging Face. Delete it there." in capsys.readouterr().err
    with pytest.raises(InvalidRequest):
        delete_model(stored)
    assert binned == []
