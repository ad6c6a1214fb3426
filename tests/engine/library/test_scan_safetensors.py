"""What the scan says of folders for transformers: figures, roles, and what is wrong in words."""

import importlib.util
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelFileBroken, ModelNotSupported
from engine.formats.safetensors.reader import read_safetensors_model
from engine.library import scan as library
from engine.library.scan import ModelFile, inspect_model, scan_folder
from engine.system import installation
from engine.translatable import Translatable
from helpers.paths import ROOT

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 10,
    "max_position_embeddings": 2048,
}
TOKENIZER: dict[str, Any] = {
    "model": {"type": "BPE", "vocab": {f"t{index}": index for index in range(8)}, "merges": []},
    "decoder": {"type": "ByteLevel"},
}
BITS = {"F32": 32, "F16": 16, "BF16": 16, "I32": 32, "U8": 8, "F8_E4M3": 8}


def weights(tensors: dict[str, tuple[str, list[int]]]) -> bytes:
    head: dict[str, Any] = {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        elements = 1
        for length in shape:
            elements *= length
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + elements * BITS[dtype] // 8]}
        end += elements * BITS[dtype] // 8
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def make(folder: Path, config: dict[str, Any] | None = None, dtype: str = "BF16") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(weights({"a": (dtype, [10, 16]), "b": ("F32", [16])}))
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    return folder


def only(folder: Path) -> ModelFile:
    (model,) = scan_folder(folder)
    return model


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_figures(tmp_path: Path, dtype: str) -> None:
    folder = make(tmp_path / "some model", LLAMA, dtype)
    model = only(tmp_path)
    assert (model.path, model.name, model.architecture) == (folder, "some model", "llama")
    assert (model.parameters, model.quantisation, model.context_length) == (176, dtype, 2048)
    assert model.size_bytes == (folder / "model.safetensors").stat().st_size
    number_bytes = 4 if dtype == "F32" else 2
    assert model.cache_per_token == 2 * 2 * 2 * (16 // 4) * number_bytes
    assert model.memory_needed() > model.size_bytes
    assert model.file_format == "safetensors"
    assert not model.has_chat_template
    assert model.vocabulary is not None
    assert (model.vocabulary.kind, model.vocabulary.size) == ("byte-pair", 10)
    assert model.usable
    assert inspect_model(folder) == model


def test_a_model_in_several_files_is_one(tmp_path: Path) -> None:
    folder = make(tmp_path / "big", LLAMA)
    (folder / "model.safetensors").unlink()
    names = [f"model-{index}-of-00002.safetensors" for index in ("00001", "00002")]
    for name, tensor in zip(names, "ab", strict=True):
        (folder / name).write_bytes(weights({tensor: ("F16", [4, 4])}))
    index = {"weight_map": {"a": names[0], "b": names[1]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    model = only(tmp_path)
    assert model.usable, model.problem
    assert model.parameters == 32
    assert model.size_bytes == sum((folder / name).stat().st_size for name in names)
    (folder / names[1]).unlink()
    model = only(tmp_path)
    assert not model.usable
    assert names[1] in (model.problem or "")
    assert model.architecture == "llama"
    with pytest.raises(ModelFileBroken):
        inspect_model(folder)


@pytest.mark.parametrize("where", ["tokenizer_config.json", "chat_template.jinja", "chat_template.json"])
def test_chat_templates(tmp_path: Path, where: str) -> None:
    folder = make(tmp_path, LLAMA)
    text = "{{ messages }}" if where.endswith("jinja") else json.dumps({"chat_template": "{{ messages }}"})
    (folder / where).write_text(text)
    assert {model.has_chat_template for model in scan_folder(tmp_path)} == {True}


@pytest.mark.parametrize(
    ("settings", "tensors", "name", "parameters"),
    [
        (
            {"quant_method": "gptq", "bits": 4},
            {"l.qweight": ("I32", [2, 16]), "l.qzeros": ("I32", [1, 2]), "l.scales": ("F16", [1, 16])},
            "gptq",
            2 * 16 * 8,
        ),
        ({"quant_method": "awq", "bits": 4}, {"l.qweight": ("I32", [16, 2])}, "awq", 16 * 2 * 8),
        (
            {"quant_method": "bitsandbytes", "load_in_4bit": True},
            {"l.weight": ("U8", [128, 1]), "l.weight.absmax": ("U8", [4]), "n.weight": ("BF16", [16])},
            "bitsandbytes",
            256 + 16,
        ),
        ({"quant_method": "fp8"}, {"l.weight": ("F8_E4M3", [16, 16])}, "fp8", 256),
    ],
)
def test_quantised(
    tmp_path: Path, settings: dict[str, Any], tensors: dict[str, tuple[str, list[int]]], name: str, parameters: int
) -> None:
    make(tmp_path, LLAMA | {"quantization_config": settings})
    (tmp_path / "model.safetensors").write_bytes(weights(tensors))
    model = only(tmp_path)
    assert (model.quantisation, model.parameters) == (name, parameters)


@pytest.mark.parametrize(
    ("config", "role", "words"),
    [
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, "embedding", "embedding"),
        ({"model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"]}, "embedding", "embedding"),
        ({"model_type": "modernbert"}, "embedding", "embedding"),
        ({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}, "other", "encoder-decoder"),
        ({"model_type": "odd", "is_encoder_decoder": True}, "other", "encoder-decoder"),
        ({"model_type": "whisper"}, "other", "encoder-decoder"),
        ({"model_type": "vit", "architectures": ["ViTForImageClassification"]}, "other", "image or audio"),
        ({"model_type": "llama", "architectures": ["LlamaModel"]}, "other", "LlamaModel"),
        ({"model_type": "llama", "architectures": ["LlamaForSequenceClassification"]}, "other", "no output layer"),
        ({"_class_name": "UNet2DConditionModel"}, "other", "does not name the model type"),
        ({"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"]}, "draft-head", "draft head"),
        ({"model_type": "eagle", "architectures": ["EAGLEModel"]}, "draft-head", "draft head"),
        ({"medusa_num_heads": 4, "medusa_num_layers": 1}, "draft-head", "draft head"),
        ({"model_type": "llama", "draft_vocab_size": 32_000}, "draft-head", "draft head"),
    ],
)
def test_what_does_not_write_text(tmp_path: Path, config: dict[str, Any], role: str, words: str) -> None:
    folder = make(tmp_path, config)
    model = only(tmp_path)
    assert model.role == role
    assert words in (model.problem or "")
    assert not model.usable
    with pytest.raises(ModelNotSupported, match=words):
        inspect_model(folder)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_positions": 1024, "n_layer": 2, "n_head": 2},
        {"model_type": "mamba", "architectures": ["MambaForCausalLM"]},
        {"model_type": "bert", "architectures": ["BertLMHeadModel"], "is_decoder": True},
        {"model_type": "brand_new"},
        {
            "model_type": "gemma3",
            "architectures": ["Gemma3ForConditionalGeneration"],
            "text_config": {"max_position_embeddings": 131_072, "hidden_size": 16},
        },
    ],
)
def test_what_writes_text(tmp_path: Path, config: dict[str, Any]) -> None:
    make(tmp_path, config)
    assert only(tmp_path).usable
    if "text_config" in config:
        assert only(tmp_path).context_length == 131_072


def test_adapters(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "x"}')
    (tmp_path / "adapter_model.safetensors").write_bytes(weights({"a": ("F32", [2])}))
    model = only(tmp_path)
    assert model.role == "adapter"
    assert "adapter" in (model.problem or "")
    make(tmp_path, LLAMA)
    assert only(tmp_path).usable


def test_pickled_weights_are_listed_with_what_to_do(tmp_path: Path) -> None:
    for index, name in enumerate(("pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "consolidated.00.pth")):
        folder = tmp_path / str(index)
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(LLAMA))
        (folder / name).write_bytes(b"\x80\x04boom")
        (model,) = (found for found in scan_folder(tmp_path) if found.path == folder)
        assert not model.usable
        assert "Convert them to safetensors" in (model.problem or "")
        assert model.size_bytes == 6
        assert model.architecture == "llama"


def test_why_there_are_no_weights_can_be_said_in_another_language(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    reasons = []
    for name in (None, "odd.safetensors", "model-00001-of-00002.safetensors", "adapter_config.json", "model.bin"):
        if name is not None:
            (tmp_path / name).touch()
        with pytest.raises(ModelNotSupported) as caught:
            read_safetensors_model(tmp_path)
        assert isinstance(caught.value.reason, Translatable)
        reasons.append(caught.value.reason.template)
    assert len(set(reasons)) == 5


def test_what_lacks_something(tmp_path: Path) -> None:
    folder = make(tmp_path / "without", None)
    model = only(tmp_path)
    assert model.problem is not None
    assert "config.json" in model.problem
    (folder / "config.json").write_text(json.dumps(LLAMA))
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text("{}")
    assert "does not say where the tensors are" in (only(tmp_path).problem or "")
    (folder / "model.safetensors.index.json").unlink()
    assert scan_folder(tmp_path) == ()


def test_names_in_a_hugging_face_cache(tmp_path: Path) -> None:
    make(tmp_path / "models--some-owner--Some-Model-1.5B" / "snapshots" / "0123abcd", LLAMA)
    assert only(tmp_path).name == "some-owner/Some-Model-1.5B"


def test_without_the_extra_the_problem_says_what_to_install(
    shared_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "extra_installed", lambda: False)
    models = scan_folder(shared_models)
    folders = [model for model in models if model.file_format == "safetensors"]
    assert folders
    for model in folders:
        assert 'pip install "outrider[torch]"' in (model.problem or "")
        assert model.parameters > 0
    assert all(model.usable for model in models if model.file_format == "gguf")
    monkeypatch.setattr(library, "extra_installed", lambda: True)
    assert all(model.usable for model in scan_folder(shared_models))


def test_the_extra_is_looked_for_without_importing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else real(name))
    assert not installation.extra_installed()

    def broken(name: str) -> None:
        raise ValueError(f"{name}.__spec__ is None")

    monkeypatch.setattr(importlib.util, "find_spec", broken)
    assert not installation.extra_installed()


def test_a_scan_imports_no_model_library(shared_models: Path) -> None:
    program = f"""
import sys
from engine import scan_folder
assert len(scan_folder({str(shared_models)!r})) > 5
assert not set(sys.modules) & {{"torch", "transformers", "llama_cpp", "safetensors", "tokenizers"}}
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
