"""`models FOLDER`, for people and for programs."""

import io
import json
import os
import time
from pathlib import Path

import pytest
from rich.console import Console

from engine.cli.models import run
from engine.errors import FolderUnreadable
from engine.formats.gguf import types
from engine.library.compat import rank_drafts
from engine.library.pairs import BEST_LISTED, MOST_LISTED
from engine.library.scan import scan_folder
from helpers.models.gguf_writer import Entry, tiny_draft
from helpers.paths import ROOT
from helpers.processes import run_engine, run_python


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models that fit, a third that fits neither, a broken one, and a projector."""
    target, draft, other, projector = tiny_draft(layers=3), tiny_draft(), tiny_draft(), tiny_draft()
    models = tmp_path / "models [1]"
    models.mkdir()
    target.entries["general.name"] = Entry(types.STRING, "Big [bold]one[/bold]")
    target.entries["general.size_label"] = Entry(types.STRING, "1.5B")
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
    assert report["pairs_shortened"] is False
    models = {Path(model["path"]).stem: model for model in report["models"]}
    assert set(models) == {"target", "draft", "other", "mmproj", "broken"}
    target = models["target"]
    assert set(target) == {
        *("path", "name", "format", "role", "architecture", "parameters", "quantisation", "context_length"),
        *("size_bytes", "memory_bytes", "chat_template", "vocabulary", "usable", "problem", "best_draft", "drafts"),
        *("recommended_sampling", "thinks", "turns", "heads", "size_label"),
    }
    assert target["name"] == "Big [bold]one[/bold]"
    assert (target["size_label"], models["draft"]["size_label"]) == ("1.5B", None)
    assert target["vocabulary"] == {"type": "SentencePiece", "size": 16}
    assert target["size_bytes"] == Path(target["path"]).stat().st_size < target["memory_bytes"]
    assert target["usable"] is True
    assert target["problem"] is None
    assert models["broken"]["usable"] is False
    assert "incomplete" in models["broken"]["problem"]
    assert models["broken"]["vocabulary"] is None
    assert (models["mmproj"]["usable"], models["mmproj"]["role"]) == (False, "projector")


def test_pairs_in_json(folder: Path) -> None:
    report = json.loads(output(folder, as_json=True))
    pairs = {(Path(pair["target"]).stem, Path(pair["draft"]).stem): pair for pair in report["pairs"]}
    assert len(pairs) == 4 * 3
    keys = {"target", "draft", "fits", "through_text", "how", "reason"}
    assert all(set(pair) == keys and pair["reason"] for pair in report["pairs"])
    assert {names for names, pair in pairs.items() if pair["fits"]} == {("target", "draft"), ("draft", "target")}
    assert pairs["target", "draft"]["how"] == "fits"
    assert pairs["target", "other"]["how"] == "fits through text"
    assert pairs["target", "other"]["through_text"] is True
    assert pairs["target", "broken"]["how"] == "does not fit"
    assert "cannot be used" in pairs["target", "broken"]["reason"]
    models = {Path(model["path"]).stem: model for model in report["models"]}
    assert models["target"]["best_draft"] == str(folder / "draft.gguf")
    assert models["target"]["drafts"] == {"fits": 1, "through_text": 1}
    assert models["draft"]["best_draft"] is None
    assert models["broken"]["drafts"] == {"fits": 0, "through_text": 0}


def test_tables(folder: Path) -> None:
    text = output(folder, as_json=False)
    for words in ("Big [bold]one[/bold]", "Small one", "F32", "incomplete", "vision part", "models [1]", "context 64"):
        assert words in text
    lines = text.partition("Best draft")[2].splitlines()
    (best,) = [line for line in lines if "target.gguf" in line]
    assert "draft.gguf" in best
    assert "fits" in best
    (alone,) = [line for line in lines if line.startswith("│ draft.gguf")]
    assert "none" in alone
    assert "smaller" in alone


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    name = b"odd\xff\n\x1b[31m.gguf"
    tiny_draft().write(tmp_path / os.fsdecode(name))
    report = json.loads(output(tmp_path, as_json=True))
    assert os.fsencode(report["models"][0]["path"]) == os.fsencode(tmp_path) + b"/" + name
    text = output(tmp_path, as_json=False)
    assert "\x1b[31m" not in text
    assert text.encode()
    done = run_engine("models", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "odd" in done.stdout


def test_many_models_have_only_their_best_drafts_listed(tmp_path: Path) -> None:
    for index in range(MOST_LISTED + 2):
        draft = tiny_draft(layers=1 + index % 31)
        draft.entries["general.name"] = Entry(types.STRING, f"model {index}")
        if index % 2:
            draft.entries["tokenizer.ggml.tokens"].value[5:] = [f"other{token}" for token in range(11)]
        draft.write(tmp_path / f"{index:02}.gguf")
    report = json.loads(output(tmp_path, as_json=True))
    assert report["pairs_shortened"] is True
    models = {model["path"]: model for model in report["models"]}
    assert len(models) == MOST_LISTED + 2
    assert 0 < len(report["pairs"]) <= BEST_LISTED * len(models)
    listed = {model: [pair for pair in report["pairs"] if pair["target"] == model] for model in models}
    all_models = scan_folder(tmp_path)
    for target in all_models:
        path = str(target.path)
        ranked = rank_drafts(target, [model for model in all_models if model is not target])
        best, fit = ranked[0]
        smaller = best.size_bytes < target.size_bytes
        assert models[path]["best_draft"] == (str(best.path) if smaller else None)
        assert models[path]["drafts"] == {
            "fits": sum(fit.fits for _, fit in ranked),
            "through_text": sum(fit.through_text for _, fit in ranked),
        }
        assert [pair["draft"] for pair in listed[path][:1]] == ([str(best.path)] if smaller else [])
        assert not smaller or listed[path][0]["reason"] == fit.reason


def test_json_needs_nothing_that_draws_tables(folder: Path) -> None:
    program = f"""
import sys, types
package = types.ModuleType("engine")
package.__path__ = [{str(ROOT / "engine")!r}]
sys.modules["engine"] = package
from engine.cli.models import run
class Console: file = sys.stdout
run({str(folder)!r}, True, Console)
assert not set(sys.modules) & {{"rich", "torch", "transformers", "jinja2"}}
"""
    done = run_python("-c", program)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["models"]) == 5


def test_a_change_is_seen_at_once(folder: Path) -> None:
    time.sleep(0.1)
    first = output(folder, as_json=True)
    assert output(folder, as_json=True) == first
    (folder / "broken.gguf").unlink()
    assert len(json.loads(output(folder, as_json=True))["models"]) == 4


def test_nothing_there(tmp_path: Path) -> None:
    assert "no models" in output(tmp_path, as_json=False)
    assert json.loads(output(tmp_path, as_json=True)) == {
        "folder": str(tmp_path),
        "models": [],
        "pairs": [],
        "pairs_shortened": False,
    }
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
