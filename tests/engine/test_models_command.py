"""`models FOLDER`, for people and for programs."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from engine import gguf_types as types
from engine.errors import FolderUnreadable
from engine.models_command import run
from helpers.gguf_writer import Entry, tiny_draft
from helpers.processes import run_engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models that fit, a third that fits neither, a broken one, and a projector."""
    target, draft, other, projector = tiny_draft(layers=3), tiny_draft(), tiny_draft(), tiny_draft()
    models = tmp_path / "models [1]"
    models.mkdir()
    target.entries["general.name"] = Entry(types.STRING, "Big [bold]one[/bold]")
    target.write(models / "target.gguf")
    draft.entries["general.name"] = Entry(types.STRING, "Small one")
    draft.write(models / "draft.gguf")
    other.entries["general.name"] = Entry(types.STRING, "Other")
    other.entries["tokenizer.ggml.tokens"].value[5:] = [f"other{index}" for index in range(11)]
    other.write(models / "other.gguf")
    projector.entries["general.architecture"] = Entry(types.STRING, "clip")
    projector.write(models / "mmproj.gguf")
    (models / "broken.gguf").write_bytes(b"GGUF")
    return models


def output(folder: Path, *, as_json: bool, width: int = 160) -> str:
    console = Console(file=io.StringIO(), width=width)
    assert run(folder, as_json, console) == 0
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_json(folder: Path) -> None:
    report = json.loads(output(folder, as_json=True, width=20))
    assert report["folder"] == str(folder)
    models = {Path(model["path"]).stem: model for model in report["models"]}
    assert set(models) == {"target", "draft", "other", "mmproj", "broken"}
    target = models["target"]
    assert set(target) == {
        *("path", "name", "architecture", "parameters", "quantisation", "context_length", "size_bytes"),
        *("memory_bytes", "chat_template", "vocabulary", "usable", "problem"),
    }
    assert target["name"] == "Big [bold]one[/bold]"
    assert target["vocabulary"] == {"type": "SentencePiece", "size": 16}
    assert target["size_bytes"] == Path(target["path"]).stat().st_size < target["memory_bytes"]
    assert target["usable"] is True
    assert target["problem"] is None
    assert models["broken"]["usable"] is False
    assert "cut off" in models["broken"]["problem"]
    assert models["broken"]["vocabulary"] is None
    assert models["mmproj"]["usable"] is False
    pairs = {(Path(pair["target"]).stem, Path(pair["draft"]).stem): pair for pair in report["pairs"]}
    assert len(pairs) == 4 * 3
    assert all(set(pair) == {"target", "draft", "fits", "reason"} and pair["reason"] for pair in report["pairs"])
    assert {names for names, pair in pairs.items() if pair["fits"]} == {("target", "draft"), ("draft", "target")}
    assert "cannot be used" in pairs["target", "broken"]["reason"]


def test_tables(folder: Path) -> None:
    text = output(folder, as_json=False)
    for words in ("Big [bold]one[/bold]", "Small one", "F32", "cut off", "image part", "models [1]"):
        assert words in text
    assert "Big [bold]one[/bold] ← Small one" in text
    lines = text.splitlines()
    assert any("← Other" in line and " no " in line for line in lines)
    assert any("Big [bold]one[/bold] ← Small one" in line and " yes " in line for line in lines)


def test_many_pairs_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    for index in range(8):
        draft = tiny_draft()
        draft.entries["tokenizer.ggml.tokens"].value[5:] = [f"{index}-{token}" for token in range(11)]
        draft.write(tmp_path / f"{index}.gguf")
    assert "26 more pairs that do not fit" in output(tmp_path, as_json=False)


def test_nothing_there(tmp_path: Path) -> None:
    assert "no models" in output(tmp_path, as_json=False)
    assert json.loads(output(tmp_path, as_json=True)) == {"folder": str(tmp_path), "models": [], "pairs": []}
    with pytest.raises(FolderUnreadable):
        output(tmp_path / "missing", as_json=True)


def test_one_model_alone(tmp_path: Path) -> None:
    tiny_draft().write(tmp_path / "a.gguf")
    assert "no two models" in output(tmp_path, as_json=False)


def test_as_a_command(folder: Path) -> None:
    done = run_engine("models", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["models"]) == 5
    done = run_engine("models", str(folder / "missing"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "no such folder" in done.stderr
