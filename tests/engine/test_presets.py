"""Presets: every pair is backed by facts, and recognised among files that look like the real ones."""

import io
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from engine import gguf_types as types
from engine import library, presets
from engine.bundled import bundled_pair
from engine.decoder import load
from engine.errors import FolderUnreadable, ModelFileBroken, UnknownPreset
from engine.model_file import ModelFile
from engine.presets import Preset, PresetModel, all_presets, apply_preset, find_preset, match_presets
from engine.presets_command import run
from engine.vocabulary import vocabulary_from_tokens
from helpers.gguf_writer import Entry, GgufDraft, TensorData
from helpers.paths import ROOT

DATA = ROOT / "resources" / "presets"
FACTS = json.loads((DATA / "facts.json").read_text(encoding="utf-8"))
PRESETS = json.loads((DATA / "presets.json").read_text(encoding="utf-8"))
MOST_PADDING = 512
"""Token ids that a model may have beyond those of its tokenizer: families round up."""


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library._known.clear()
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def pairs() -> list[Preset]:
    return [preset for preset in all_presets() if preset.draft is not None and not preset.draft.bundled]


def facts_of(model: PresetModel) -> dict[str, Any]:
    facts: dict[str, Any] = FACTS["models"][model.name]
    return facts


def tokenizer_of(model: PresetModel) -> dict[str, Any]:
    tokenizer: dict[str, Any] = FACTS["tokenizers"][facts_of(model)["tokenizer"]]
    return tokenizer


# Facts --------------------------------------------------------------------------------------------------------------


def values(data: object) -> list[dict[str, Any]]:
    """Everything in the facts that names a source."""
    if isinstance(data, dict):
        inner = [found for value in data.values() for found in values(value)]
        return [data, *inner] if "source" in data else inner
    return [found for value in data for found in values(value)] if isinstance(data, list) else []


def test_every_fact_has_a_source_with_a_revision() -> None:
    for source in FACTS["sources"].values():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", source["repository"])
        assert source["file"]
        assert re.fullmatch(r"[0-9a-f]{40}", source["revision"])
    found = [*values(FACTS["tokenizers"]), *values(FACTS["models"])]
    assert len(found) > 150
    used = set()
    for fact in found:
        if fact["source"] is None:
            assert fact["value"] is None
        else:
            used.add(fact["source"])
    used |= {entry["sampling_source"] for entry in PRESETS["presets"] if "sampling_source" in entry}
    assert used == set(FACTS["sources"])


def test_hashes_are_hashes_and_equal_where_a_tokenizer_is_called_shared_for_it() -> None:
    for tokenizer in FACTS["tokenizers"].values():
        by_file: dict[str, set[str]] = {}
        for entry in tokenizer["hashes"]:
            assert re.fullmatch(r"[0-9a-f]{64}", entry["sha256"])
            assert entry["revision"] is None or re.fullmatch(r"[0-9a-f]{40}", entry["revision"])
            by_file.setdefault(entry["file"], set()).add(entry["sha256"])
        assert all(len(found) == 1 for found in by_file.values())


@pytest.mark.parametrize("preset", pairs(), ids=lambda preset: preset.name)
def test_a_pair_fits_by_what_is_known_of_it(preset: Preset) -> None:
    assert preset.draft is not None
    target, draft = facts_of(preset.target), facts_of(preset.draft)
    assert target["tokenizer"] == draft["tokenizer"]
    tokenizer = tokenizer_of(preset.target)
    assert tokenizer["shared"]["claim"]
    assert tokenizer["shared"]["source"] in FACTS["sources"]
    tokens, ends = tokenizer["text_tokens"]["value"], tokenizer["ends"]["value"]
    assert tokenizer["begin"]["source"] is not None
    for rows in (target["rows"]["value"], draft["rows"]["value"]):
        assert tokens <= rows <= tokens + MOST_PADDING
        assert max(ends) < rows
    assert target["parameters"]["value"][0] > 2 * draft["parameters"]["value"][1]
    assert set(preset.target.architectures) == set(preset.draft.architectures)
    assert preset.speculation.method == "draft-model"


@pytest.mark.parametrize("preset", all_presets(), ids=lambda preset: preset.name)
def test_a_preset_agrees_with_the_facts(preset: Preset) -> None:
    for model in (preset.target, preset.draft):
        if model is None or model.bundled:
            continue
        facts = facts_of(model)
        assert all(model.parameters[0] < number < model.parameters[1] for number in facts["parameters"]["value"])
        assert model.vocabulary[0] <= facts["rows"]["value"] <= model.vocabulary[1]
        assert tokenizer_of(model)["text_tokens"]["value"] is not None
    if preset.draft is None:
        assert preset.speculation.method == "ngram"
        assert preset.note
    assert (preset.sampling_source is None) is preset.sampling.greedy


def test_the_padded_vocabularies_of_qwen() -> None:
    preset = find_preset("qwen-2.5-7b")
    assert preset.draft is not None
    assert facts_of(preset.target)["rows"]["value"] == 152_064
    assert facts_of(preset.draft)["rows"]["value"] == 151_936


# Names --------------------------------------------------------------------------------------------------------------


def test_the_promised_names() -> None:
    drafts = {}
    for name in ("llama-3.1-8b", "qwen-2.5-7b", "mistral-7b", "phi-3.5-mini"):
        preset = find_preset(name)
        drafts[name] = None if preset.draft is None else preset.draft.name
    assert drafts == {
        "llama-3.1-8b": "meta-llama/Llama-3.2-1B-Instruct",
        "qwen-2.5-7b": "Qwen/Qwen2.5-0.5B-Instruct",
        "mistral-7b": None,
        "phi-3.5-mini": None,
    }
    assert find_preset("mistral-7b").speculation.method == find_preset("phi-3.5-mini").speculation.method == "ngram"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("LLAMA-3.1-8B", "llama-3.1-8b"),
        ("llama3.1:8b", "llama-3.1-8b"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("Qwen2.5-7B-Instruct", "qwen-2.5-7b"),
        ("qwen 2.5 coder 7b", "qwen-2.5-coder-7b"),
        ("Gemma_3_27b_it", "gemma-3-27b"),
        ("mistral", "mistral-7b"),
        ("Demo", "demo"),
    ],
)
def test_names_are_found_however_they_are_written(written: str, name: str) -> None:
    assert find_preset(written).name == name


def test_no_two_presets_answer_to_one_name() -> None:
    keys = [key for preset in all_presets() for key in {presets._key(n) for n in (preset.name, *preset.aliases)}]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", ["lama-3.1-8b", "qwen-2.5-8b", "", "x" * 1000, "../secret", "\x1b"])
def test_an_unknown_name_is_answered_with_near_ones(name: str) -> None:
    with pytest.raises(UnknownPreset) as error:
        find_preset(name)
    assert "There is no preset" in str(error.value)
    if name == "lama-3.1-8b":
        assert "llama-3.1-8b" in error.value.near
        assert "Did you mean llama-3.1-8b" in str(error.value)
    if not error.value.near:
        assert "Known: demo, llama-3.1-8b" in str(error.value)


# Recognising --------------------------------------------------------------------------------------------------------


def header_of(model: PresetModel, name: str, *, texts: list[str] | None = None, rows: int | None = None) -> GgufDraft:
    """A header with as many parameters and tokens as a model has; the tensors' bytes are a hole in the file."""
    facts = facts_of(model)
    rows = rows or facts["rows"]["value"]
    width = 256
    parameters = facts["parameters"]["value"][0]
    padding = rows - len(texts or [])

    def number(value: int) -> Entry:
        return Entry(types.UINT32, value)

    architecture = model.architectures[0]
    draft = GgufDraft(
        {
            "general.architecture": Entry(types.STRING, architecture),
            "general.name": Entry(types.STRING, name),
            f"{architecture}.context_length": number(4096),
            f"{architecture}.embedding_length": number(width),
            f"{architecture}.block_count": number(1),
            f"{architecture}.feed_forward_length": number(width),
            f"{architecture}.attention.head_count": number(4),
            f"{architecture}.attention.layer_norm_rms_epsilon": Entry(types.FLOAT32, 1e-5),
            "tokenizer.ggml.model": Entry(types.STRING, "llama"),
            "tokenizer.ggml.tokens": Entry(
                types.STRING, [*(texts or []), *(f"[PAD{index}]" for index in range(padding))]
            ),
            "tokenizer.ggml.token_type": Entry(types.INT32, [1] * len(texts or []) + [5] * padding),
            "tokenizer.ggml.scores": Entry(types.FLOAT32, [0.0] * rows),
            "tokenizer.ggml.bos_token_id": number(1),
            "tokenizer.ggml.eos_token_id": number(2),
            "tokenizer.chat_template": Entry(types.STRING, "{{ messages }}"),
        }
    )
    embedding = rows * width
    rest = (parameters - embedding) // 256 * 256
    draft.tensors["token_embd.weight"] = TensorData((width, rows), 12, b"", offset=0)
    draft.tensors["blk.0.ffn_up.weight"] = TensorData((256, rest // 256), 12, b"", offset=embedding // 256 * 144)
    return draft


def write(draft: GgufDraft, path: Path) -> Path:
    """Write a header and make the file as long as it says."""
    content = draft.header_bytes()
    elements = 0
    for tensor in draft.tensors.values():
        size = 1
        for length in tensor.shape:
            size *= length
        elements += size
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(content)
        file.truncate(len(content) + elements // 256 * 144)
    return path


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


# The bundled pair and the command -----------------------------------------------------------------------------------


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
    started = time.perf_counter()
    presets._load.cache_clear()
    assert len(all_presets()) >= 20
    assert time.perf_counter() - started < 0.5
