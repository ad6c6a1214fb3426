"""Folders of safetensors: what is loaded and how, and one clear sentence for everything that cannot be."""

import json
import socket
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import (
    Cancelled,
    EngineError,
    LoadFailed,
    ModelFileBroken,
    ModelNotSupported,
    ModelTooLarge,
    NotAvailable,
)
from engine.loading import open as registry
from engine.loading.open import open_backend
from helpers.models.tiny_models import (
    VOCABULARY,
    open_folder,
    rows_without_cache,
    silence,
    tiny_model,
    torch,
    write_tiny,
)

TENSOR = "model.layers.1.mlp.up_proj.weight"
Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("template") / "llama", "llama")


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    """A sound model, to be spoilt."""
    copy = tmp_path / "model"
    copy.mkdir()
    for path in template.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


def config(**changed: Any) -> Change:
    """Change entries of config.json; None takes one out."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        entries = json.loads(path.read_text()) | changed
        path.write_text(json.dumps({name: value for name, value in entries.items() if value is not None}))

    return change


def write(name: str, text: str) -> Change:
    return lambda folder: (folder / name).write_text(text)


def tensors(change: Callable[[dict[str, Any]], object]) -> Change:
    """Change the tensors of model.safetensors."""

    def rewrite(folder: Path) -> None:
        library = pytest.importorskip("safetensors.torch")
        found = {name: tensor.clone() for name, tensor in library.load_file(folder / "model.safetensors").items()}
        change(found)
        library.save_file(found, folder / "model.safetensors", {"format": "pt"})

    return rewrite


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def reason_of(folder: Path, kind: type[EngineError], **options: Any) -> str:
    with pytest.raises(kind) as caught:
        open_folder(folder, **options)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    return str(caught.value)


BROKEN: dict[str, tuple[Change, str]] = {
    "no-json": (write("config.json", "{"), "not valid JSON"),
    "no-object": (write("config.json", "[]"), "not a JSON object"),
    "no-kind": (config(model_type=None), "does not name the model type"),
    "wrong-type": (config(hidden_size="wide"), "cannot be used"),
    "negative": (config(num_attention_heads=-4), "cannot be used"),
    "unknown-function": (config(hidden_act="foo"), "'foo' is unknown"),
    "wider": (config(hidden_size=64, head_dim=16), "has the shape [97, 32], but config.json requires [97, 64]"),
    "more-tokens": (config(vocab_size=10**9), "requires [1000000000, 32]"),
    "more-layers": (config(num_hidden_layers=3), "lack the tensor 'model.layers.2.input_layernorm.weight' and 8 more"),
    "endless-layers": (config(num_hidden_layers=10**9), "gives 1000000000 for 'num_hidden_layers'"),
    "fewer-layers": (config(num_hidden_layers=1), "the layer of 'model.layers.1."),
    "cut-off": (cut, "100 bytes are missing"),
    "missing": (tensors(lambda found: found.pop(TENSOR)), f"lack the tensor '{TENSOR}'"),
    "misshapen": (
        tensors(lambda found: found.update({TENSOR: torch.ones(7, 32)})),
        "has the shape [7, 32], but config.json requires [48, 32]",
    ),
    "not-numbers": (tensors(lambda found: found.update({TENSOR: found[TENSOR] * torch.nan})), "are not numbers"),
    "settings": (write("generation_config.json", "{"), "not valid JSON"),
    "tokenizer": (write("tokenizer.json", "{"), "its tokenizer cannot be read"),
    "tokenizer-kind": (write("tokenizer.json", '{"version": "1.0", "model": {"type": "Foo"}}'), "cannot be read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(folder: Path, name: str) -> None:
    change, reason = BROKEN[name]
    change(folder)
    assert reason in reason_of(folder, ModelFileBroken)


UNSUPPORTED: dict[str, tuple[Change, str]] = {
    "unknown": (config(model_type="foo"), "does not support the model type 'foo'"),
    "own-code": (config(model_type="foo", auto_map={"AutoConfig": "a.B"}), "code from the model folder"),
    "translator": (config(model_type="t5", is_encoder_decoder=True), "encoder-decoder"),
    "picture": (config(model_type="vit", architectures=["ViTForImageClassification"]), "do not generate text"),
    "classifier": (config(architectures=["LlamaForSequenceClassification"]), "which does not generate text"),
    "embeddings": (config(architectures=["LlamaModel"]), "which does not generate text"),
    "quantised": (
        config(quantization_config={"quant_method": "gptq", "bits": 4}),
        "needs a package that is not installed",
    ),
    "pickled": (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "pickled"),
    "no-weights": (lambda folder: (folder / "model.safetensors").unlink(), "it has no weights"),
    "no-config": (lambda folder: (folder / "config.json").unlink(), "no config.json"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported(folder: Path, name: str) -> None:
    change, reason = UNSUPPORTED[name]
    change(folder)
    assert reason in reason_of(folder, ModelNotSupported)


def test_an_encoder_is_told_by_what_it_does(tmp_path: Path) -> None:
    assert "attends to later tokens" in reason_of(write_tiny(tmp_path / "bert", "bert"), ModelNotSupported)


def test_parts(tmp_path: Path) -> None:
    """Several files with an index; a path to one of them means the folder."""
    model = tiny_model("llama")
    folder = tmp_path / "parts"
    with silence():
        model.save_pretrained(folder, max_shard_size="20KB")
    parts = sorted(folder.glob("model-*.safetensors"))
    assert len(parts) > 1
    backend = open_folder(parts[1])
    assert backend.name == "parts"
    tokens = [5, 6, 7, 8]
    assert np.abs(backend.forward(tokens, 4) - rows_without_cache(model, tokens)).max() < 1e-3
    parts[1].write_bytes(parts[1].read_bytes()[:-1])
    assert f"Cannot load {parts[1].name}: the file is incomplete" in reason_of(folder, ModelFileBroken)
    parts[1].unlink()
    assert f"Cannot load {parts[1].name}: there is no such file" in reason_of(folder, ModelFileBroken)


def test_without_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    for name in [name for name in sys.modules if name.startswith("engine.backends.transformers.")]:
        monkeypatch.delitem(sys.modules, name)
    assert 'pip install "outrider[torch]"' in reason_of(folder, NotAvailable)


def test_other_import_errors_are_not_hidden(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BACKENDS, "transformers", ("engine.backends.nowhere", "Nothing"))
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        open_folder(folder)


@pytest.mark.parametrize("device", ["cuda:7", "cuda:99", "mps"])
def test_device_that_is_not_there(folder: Path, device: str) -> None:
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("there is such a device here")
    assert f"The device {device} is not available: this computer has " in reason_of(folder, NotAvailable, device=device)


@pytest.mark.parametrize(
    ("dtype", "itemsize"), [(None, 4), ("auto", 4), ("float32", 4), ("bfloat16", 2), ("float16", 2)]
)
def test_number_formats(folder: Path, dtype: str | None, itemsize: int) -> None:
    """float32 stays float32 unless another format is asked for; rows are float32 in any case."""
    backend = open_folder(folder, dtype=dtype)
    assert backend.weight_bytes == itemsize * backend.parameters
    rows = backend.forward([5, 6, 7], 2)
    assert rows.dtype == np.float32
    expected = rows_without_cache(tiny_model("llama"), [5, 6, 7])[1:]
    assert np.abs(rows - expected).max() < (1e-4 if itemsize == 4 else 0.2) * expected.std()


def test_files_in_16_bits_are_computed_in_32_where_they_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "half"
    half = tiny_model("llama").to(torch.bfloat16)
    with silence():
        half.save_pretrained(folder)
    backend = open_folder(folder)
    assert backend.weight_bytes == 4 * backend.parameters
    room = 64 * 2**20 + 3 * backend.parameters + 96 * 2 * 2 * 16 * 4
    monkeypatch.setattr("engine.backends.transformers.loading.available_memory", lambda: room)
    assert open_folder(folder).weight_bytes == 2 * backend.parameters
    monkeypatch.setattr("engine.backends.transformers.loading.available_memory", lambda: 2**20)
    with pytest.raises(ModelTooLarge, match=r"needs about 0\.1 GiB") as caught:
        open_folder(folder)
    assert caught.value.available == 2**20
    assert open_folder(folder, trusted=True).weight_bytes == 2 * backend.parameters


def test_memory_counts_the_context(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values of 2 layers with 2 heads of 8 numbers, in float32."""
    config(max_position_embeddings=10**6)(folder)
    monkeypatch.setattr("engine.backends.transformers.loading.available_memory", lambda: 0)
    with pytest.raises(ModelTooLarge) as small:
        open_folder(folder, context_length=1000)
    with pytest.raises(ModelTooLarge) as large:
        open_folder(folder, context_length=101_000)
    assert large.value.needed - small.value.needed == 100_000 * 2 * 2 * 2 * 8 * 4


def test_progress_and_cancel(folder: Path) -> None:
    seen: list[tuple[str, float]] = []
    open_backend(LoadConfig(folder), progress=lambda stage, fraction: seen.append((stage, fraction)))
    assert {stage for stage, _ in seen} == {"loading"}
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    cancel = CancelToken()
    looked = []

    def stop(_stage: str, fraction: float) -> None:
        looked.append(fraction)
        cancel.cancel()

    with pytest.raises(Cancelled):
        open_backend(LoadConfig(folder), progress=stop, cancel=cancel)
    assert 0 < looked[0] < 1
    with pytest.raises(Cancelled):
        open_backend(LoadConfig(folder), cancel=cancel)


def test_nothing_of_a_folder_is_run(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    code = f"open({str(mark)!r}, 'w').close()\n"
    for name in ("modeling_own.py", "configuration_own.py", "tokenization_own.py", "custom_generate/generate.py"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
    own = {"AutoConfig": "configuration_own.Own", "AutoModelForCausalLM": "modeling_own.Own"}
    config(auto_map=own, _attn_implementation="somebody/attention", transformers_weights="pickled.bin")(folder)
    write("pickled.bin", "not read")(folder)
    write("adapter_config.json", '{"base_model_name_or_path": "somebody/model"}')(folder)
    write("tokenizer_config.json", json.dumps({"auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}}))(folder)
    backend = open_folder(folder)
    assert backend.forward([5], 1).shape == (1, VOCABULARY)
    assert not mark.exists()


def test_nothing_is_said_and_nobody_is_asked(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No word on the terminal, no warning, no connection."""

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    tensors(lambda found: found.update({"model.something.else": torch.ones(3)}))(folder)
    config(unknown_entry=5, rope_scaling={"rope_type": "default", "what": 1})(folder)
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        backend = open_folder(folder)
        backend.forward([5, 6], 1)
    assert [str(warning.message) for warning in said] == []
    assert capfd.readouterr() == ("", "")


def test_end_tokens(folder: Path) -> None:
    """Of the configuration and of the settings for writing, as far as the vocabulary has them."""
    config(eos_token_id=[2, 7])(folder)
    write("generation_config.json", json.dumps({"eos_token_id": [9, 10**6]}))(folder)
    assert open_folder(folder).eos_token_ids == {2, 7, 9}


def test_weights_laid_out_anew_give_the_same_rows(tmp_path: Path) -> None:
    """Large products go through oneDNN, shared keys are not copied; the sums are the same but for the last bits."""
    wide: dict[str, Any] = {"hidden_size": 512, "intermediate_size": 1100, "vocab_size": 1100}
    wide |= {"initializer_range": 0.05, "num_attention_heads": 8, "num_key_value_heads": 2, "tie_word_embeddings": True}
    folder = write_tiny(tmp_path / "wide", "llama", **wide)
    backend: Any = open_folder(folder)
    assert backend._model.config._attn_implementation == "outrider"
    kinds = [type(module).__name__ for module in backend._model.modules()]
    if torch.backends.mkldnn.is_available():
        assert kinds.count("PackedLinear") == 2 * 3 + 1
    model = tiny_model("llama", **wide)
    tokens = list(range(3, 60))
    expected = rows_without_cache(model, tokens)
    for first in (0, 10, 30):
        backend.truncate(0)
        if first:
            backend.forward(tokens[:first], 0)
        rows = backend.forward(tokens[first : first + 12], 12)
        assert np.abs(rows - expected[first : first + 12]).max() < 1e-4 * expected.std()
    one = [backend.forward([token], 1)[0].copy() for token in tokens[42:]]
    assert np.abs(np.stack(one) - expected[42:]).max() < 1e-4 * expected.std()


def test_weights_that_others_look_at_stay_as_they_are(tmp_path: Path) -> None:
    """Mamba multiplies with the weights of its time steps itself."""
    wide = {"hidden_size": 1024, "intermediate_size": 2048, "time_step_rank": 300, "num_hidden_layers": 1}
    backend: Any = open_folder(write_tiny(tmp_path / "mamba", "mamba", **wide))
    layer = backend._model.backbone.layers[0].mixer
    assert type(layer.dt_proj) is torch.nn.Linear
    if torch.backends.mkldnn.is_available():
        assert type(layer.in_proj).__name__ == "PackedLinear"
    tokens = [5, 6, 7, 8]
    expected = rows_without_cache(tiny_model("mamba", **wide), tokens)
    assert np.abs(backend.forward(tokens, 4) - expected).max() < 1e-3 * expected.std()


def test_no_error_leaks_unnamed(folder: Path) -> None:
    """Whatever single entry of the configuration is nonsense, the answer is a model or one of our errors."""
    good = json.loads((folder / "config.json").read_text())
    for name, value in good.items():
        config(**good)(folder)
        config(**{name: -1 if type(value) is int else "x"})(folder)
        with suppress(LoadFailed):
            open_folder(folder).close()
