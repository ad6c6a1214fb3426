"""Presets in a folder: recognised among files that look like the real ones, and told by the command."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from engine.cli.presets import run
from engine.errors import FolderUnreadable, ModelFileBroken
from engine.formats.gguf import types
from engine.formats.model_file import ModelFile
from engine.formats.vocabulary import vocabulary_from_tokens
from engine.library import presets
from engine.library.names import bundled_pair
from engine.library.presets import PresetModel, all_presets, apply_preset, find_preset, match_presets
from engine.loaded import load
from helpers.models.gguf_writer import Entry
from helpers.models.preset_files import facts_of, header_of, write
from helpers.processes import own_clock


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with the sizes of Qwen2.5 7B, in two quantisations, and 0.5B, padded as theirs are."""
    folder = tmp_path_factory.mktemp("qwen")
    preset = find_preset("qwen-2.5-7b")
    assert preset.draft is not None
    texts = ["<unk>", "<s>", "</s>", *(f"t{index:x}" for index in range(151_662))]
    target = header_of(preset.target, "Qwen2.5 7B Instruct", texts=texts)
    target.entries["general.file_type"] = Entry(types.UINT32, 7)
    write(target, folder / "qwen2.5-7b-instruct-q8_0.gguf")
    target.entries["general.file_type"] = Entry(types.UINT32, 15)
    write(target, folder / "qwen2.5-7b-instruct-q4_k_m.gguf")
    draft = header_of(preset.draft, "Qwen2.5 0.5B Instruct", texts=texts)
    write(draft, folder / "small" / "Qwen2.5-0.5B-Instruct-Q8_0.gguf")
    return folder


def test_a_folder_that_can_run_a_preset(qwen: Path) -> None:
    found = {item.preset.name: item for item in match_presets(all_presets(), qwen)}
    ready = [name for name, item in found.items() if item.problem is None]
    assert ready == ["demo", "qwen-2.5-7b"]
    item = found["qwen-2.5-7b"]
    assert item.target == qwen / "qwen2.5-7b-instruct-q4_k_m.gguf"
    assert item.draft == qwen / "small" / "Qwen2.5-0.5B-Instruct-Q8_0.gguf"
    assert found["qwen-2.5-coder-7b"].target is None
    assert "hf download Qwen/Qwen2.5-14B-Instruct" in (found["qwen-2.5-14b"].problem or "")
    target, draft, speculation, sampling = apply_preset("Qwen2.5 7B", qwen)
    assert (target, draft) == (item.target, item.draft)
    assert (speculation.method, sampling.greedy) == ("draft-model", True)


def test_a_pair_whose_real_vocabularies_differ_is_refused(qwen: Path, tmp_path: Path) -> None:
    preset = find_preset("qwen-2.5-7b")
    assert preset.draft is not None
    texts = ["<unk>", "<s>", "</s>", *(f"other{index:x}" for index in range(151_662))]
    folder = tmp_path / "models"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "target.gguf").symlink_to(qwen / "qwen2.5-7b-instruct-q8_0.gguf")
    write(header_of(preset.draft, "Qwen2.5 0.5B Instruct", texts=texts), folder / "draft.gguf")
    (found,) = match_presets((preset,), folder)
    assert found.problem is not None
    assert "does not fit" in found.problem
    with pytest.raises(ModelFileBroken, match="does not fit"):
        apply_preset("qwen-2.5-7b", folder)
    (folder / "draft.gguf").unlink()
    (found,) = match_presets((preset,), folder)
    assert "hf download Qwen/Qwen2.5-0.5B-Instruct" in (found.problem or "")
    assert found.target is not None


def model_like(model: PresetModel, path: str, name: str = "", **changes: Any) -> ModelFile:
    """A scanned model with the figures of a preset's."""
    facts = facts_of(model)
    vocabulary = vocabulary_from_tokens("byte-pair", {5: b"x"}, None, None, facts["rows"]["value"])
    figures: dict[str, Any] = {
        "architecture": model.architectures[0],
        "parameters": facts["parameters"]["value"][1],
        "vocabulary": vocabulary,
    }
    return ModelFile(Path(path), name or Path(path).stem, **(figures | changes))


@pytest.mark.parametrize(
    ("preset", "path", "name"),
    [
        ("llama-3.1-8b", "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "Meta Llama 3.1 8B Instruct"),
        ("llama-3.1-8b", "model.gguf", "Llama 3.1 8B Instruct"),
        ("llama-3.1-8b", "hermes.gguf", "Llama-3.1-8B"),
        ("qwen-2.5-7b", "qwen2.5-7b-instruct-q4_k_m-00001-of-00002.gguf", "qwen2.5-7b-instruct"),
        ("qwen-2.5-coder-7b", "Qwen2.5-Coder-7B-Instruct-Q8_0.gguf", "Qwen2.5 Coder 7B Instruct"),
        ("qwen-3-8b", "Qwen3-8B-Q8_0.gguf", "Qwen3 8B Instruct"),
        ("mistral-7b", "Mistral-7B-Instruct-v0.3.Q4_K_M.gguf", "models--mistralai--Mistral-7B-Instruct-v0.3"),
        ("phi-3.5-mini", "Phi-3.5-mini-instruct-Q4_K_M.gguf", "Phi 3.5 Mini Instruct"),
        ("gemma-3-27b", "google_gemma-3-27b-it-Q4_K_M.gguf", "Gemma 3 27b It"),
        ("smollm2-1.7b", "SmolLM2-1.7B-Instruct-Q8_0.gguf", "SmolLM2 1.7B Instruct"),
        ("tinyllama", "tinyllama-1.1b-chat-v1.0.Q4_0.gguf", "tinyllama_tinyllama-1.1b-chat-v1.0"),
        ("deepseek-r1-distill-llama-8b", "DeepSeek-R1-Distill-Llama-8B-Q4_K_M.gguf", "DeepSeek R1 Distill Llama 8B"),
    ],
)
def test_models_are_recognised_by_the_names_that_files_have(preset: str, path: str, name: str) -> None:
    wanted = find_preset(preset).target
    assert wanted.matches(model_like(wanted, path, name))
    recognised = [found.name for found in all_presets() if found.target.matches(model_like(wanted, path, name))]
    assert recognised == [preset]


@pytest.mark.parametrize(
    ("preset", "path", "name"),
    [
        ("llama-3.1-8b", "DeepSeek-R1-Distill-Llama-8B-Q4_K_M.gguf", "DeepSeek R1 Distill Llama 3.1 8B"),
        ("llama-3.1-8b", "Llama-Guard-3.1-8B.gguf", "Llama-3.1-8B"),
        ("llama-3.1-8b", "Llama-3.1-80B.gguf", ""),
        ("llama-3.1-8b", "Llama-3-8B-Instruct.gguf", ""),
        ("llama-3.1-8b", "EAGLE-Llama-3.1-8B.gguf", ""),
        ("qwen-2.5-7b", "Qwen2.5-Coder-7B.gguf", ""),
        ("qwen-2.5-7b", "Qwen2-7B-Instruct.gguf", ""),
        ("qwen-3-8b", "Qwen3-Embedding-8B.gguf", "Qwen3-8B"),
        ("gemma-3-4b", "gemma-3n-E4B-it.gguf", ""),
    ],
)
def test_other_models_are_not_taken_for_them(preset: str, path: str, name: str) -> None:
    wanted = find_preset(preset).target
    assert not wanted.matches(model_like(wanted, path, name))


def test_a_name_alone_is_not_enough() -> None:
    wanted = find_preset("llama-3.1-8b").target
    path = "Llama-3.1-8B-Instruct.gguf"
    assert wanted.matches(model_like(wanted, path))
    assert not wanted.matches(model_like(wanted, path, parameters=1_200_000_000))
    assert not wanted.matches(model_like(wanted, path, architecture="qwen2"))
    assert not wanted.matches(model_like(wanted, path, vocabulary=None))
    assert not wanted.matches(model_like(wanted, path, role="draft-head"))
    small = model_like(find_preset("llama-2-7b").target, path)
    assert not wanted.matches(small)


def test_a_model_that_cannot_be_used_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    preset = find_preset("mistral-7b")
    broken = model_like(preset.target, "Mistral-7B-v0.3.gguf", problem="It is cut off.")
    monkeypatch.setattr(presets, "scan_folder", lambda _folder: (broken,))
    (found,) = match_presets((preset,), tmp_path)
    assert found.problem == "Mistral-7B-v0.3 cannot be used. It is cut off."
    monkeypatch.setattr(presets, "scan_folder", lambda _folder: (broken, model_like(preset.target, "Mistral-7B.gguf")))
    (found,) = match_presets((preset,), tmp_path)
    assert (found.problem, found.target, found.draft) == (None, Path("Mistral-7B.gguf"), None)


def test_without_a_folder_the_hugging_face_cache_is_searched(
    qwen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelFileBroken, match="in the Hugging Face cache"):
        apply_preset("qwen-2.5-7b")
    snapshot = tmp_path / "hub" / "models--someone--Qwen2.5-GGUF" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (snapshot / "qwen2.5-7b-instruct-q8_0.gguf").symlink_to(qwen / "qwen2.5-7b-instruct-q8_0.gguf")
    (snapshot / "q.gguf").symlink_to(qwen / "small" / "Qwen2.5-0.5B-Instruct-Q8_0.gguf")
    target, draft, _, _ = apply_preset("qwen-2.5-7b")
    assert target == snapshot / "qwen2.5-7b-instruct-q8_0.gguf"
    assert draft == snapshot / "q.gguf"


def test_the_demo_runs() -> None:
    target, draft, speculation, sampling = apply_preset("demo")
    assert (target, draft) == bundled_pair()
    with load(target, draft, speculation=speculation, sampling=sampling, threads=1) as decoder:
        result = decoder.generate("Tell me a story about a dog.", max_tokens=24)
        # What pays on this machine is auto's to say: a target this small may well be quicker alone.
        fixed = decoder.generate("Tell me a story about a dog.", max_tokens=24, lookahead=3)
    assert result.method == "draft-model"
    assert result.text == fixed.text
    assert fixed.stats.accepted > 0


def test_the_demo_is_there_whatever_the_folder(tmp_path: Path) -> None:
    assert apply_preset("demo", tmp_path / "missing")[:2] == bundled_pair()
    with pytest.raises(FolderUnreadable):
        apply_preset("mistral-7b", tmp_path / "missing")


def output(folder: Path | None, *, as_json: bool) -> str:
    console = Console(file=io.StringIO(), width=120)
    assert run(folder, as_json, console) == 0
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_json(qwen: Path) -> None:
    report = json.loads(output(qwen, as_json=True))
    assert report["folder"] == str(qwen)
    found = {entry["name"]: entry for entry in report["presets"]}
    assert len(found) == len(all_presets())
    assert {name for name, entry in found.items() if entry["available"]} == {"demo", "qwen-2.5-7b"}
    entry = found["qwen-2.5-7b"]
    assert entry["target_path"] == str(qwen / "qwen2.5-7b-instruct-q4_k_m.gguf")
    assert entry["problem"] is None
    assert found["llama-3.1-8b"]["target_path"] is None
    assert found["llama-3.1-8b"]["sampling"] == {"temperature": 0.6, "top_k": 0, "top_p": 0.9, "min_p": 0.0}
    assert found["llama-3.1-8b"]["sampling_source"].startswith("meta-llama/llama-models, models/llama3/")
    assert json.loads(output(None, as_json=True))["folder"] is None


def test_table(qwen: Path) -> None:
    text = output(qwen, as_json=False)
    for words in ("Qwen2.5-7B-Instruct ←", "n-gram index", "qwen2.5-7b-instruct-q4_k_m.gguf", "There is no", "2 of"):
        assert words in text
    assert "Hugging Face cache" in output(None, as_json=False)


@pytest.mark.alone
def test_presets_need_no_scan_to_be_known() -> None:
    started = own_clock()
    all_presets.cache_clear()
    assert len(all_presets()) >= 20
    assert own_clock() - started < 0.5
