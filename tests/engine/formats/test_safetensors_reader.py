"""The reader of safetensors headers, on good files, on files that are wrong in one place, and on noise."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import LoadFailed, ModelFileBroken, ModelNotSupported
from engine.formats.safetensors.reader import INDEX, SINGLE, model_folder, read_safetensors, read_safetensors_model
from engine.formats.safetensors.values import read_rows

ONE = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
TWO = {"dtype": "BF16", "shape": [5], "data_offsets": [24, 34]}
RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def content(header: object, data: int = 34) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(data)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def reason_of(action: Callable[[], object], kind: type[LoadFailed] = ModelFileBroken) -> str:
    with pytest.raises(kind) as caught:
        action()
    assert type(caught.value) is kind
    return caught.value.reason


def test_reads_names_formats_shapes_and_places(tmp_path: Path) -> None:
    header = {"__metadata__": {"format": "pt"}, "one": ONE, "two": TWO, "none": TWO | {"shape": [0]}}
    header["none"] = {"dtype": "I64", "shape": [0, 4], "data_offsets": [34, 34]}
    path = write(tmp_path / SINGLE, content(header))
    found = read_safetensors(path)
    start = path.stat().st_size - 34
    assert found.metadata == {"format": "pt"}
    assert found.tensors["one"] == ("one", "F32", (2, 3), start, 24)
    assert found.tensors["two"] == ("two", "BF16", (5,), start + 24, 10)
    assert found.tensors["none"].elements == 0
    model = read_safetensors_model(tmp_path)
    assert (model.parameters, model.weight_bytes, model.size_bytes, model.dtype) == (11, 34, found.size, "F32")


def test_reads_what_the_library_writes(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path / SINGLE
    library.save_file({"a": numpy.ones((3, 4), "float16"), "b": numpy.arange(7)}, path, {"format": "pt"})
    tensors = read_safetensors(path).tensors
    assert {name: (t.dtype, t.shape) for name, t in tensors.items()} == {"a": ("F16", (3, 4)), "b": ("I64", (7,))}


BROKEN: list[tuple[bytes, str]] = [
    (b"", "empty"),
    (b"\x05", "not a safetensors file"),
    (b"GGUF" + bytes(60), "not a safetensors file"),
    (content({"one": ONE, "two": TWO})[:40], "ends within its header"),
    (content({"one": ONE, "two": TWO}, 30), "4 bytes are missing"),
    (content({"one": ONE, "two": TWO}, 40), "6 extra bytes"),
    (content({"one": ONE | {"shape": [2, 4]}}, 24), "does not match its shape"),
    (content({"one": ONE | {"shape": [2, -3]}}, 24), "damaged at the tensor 'one'"),
    (content({"one": ONE | {"shape": [2.0, 3]}}, 24), "damaged at the tensor 'one'"),
    (content({"one": ONE | {"data_offsets": [0]}}, 24), "damaged at the tensor 'one'"),
    (content({"one": []}, 24), "damaged at the tensor 'one'"),
    (content({"one": ONE, "two": TWO | {"data_offsets": [22, 32]}}, 32), "wrong offset"),
    (content({"one": ONE, "two": TWO | {"data_offsets": [26, 36]}}, 36), "wrong offset"),
    (content({"__metadata__": {"a": 1}, "one": ONE}, 24), "header is damaged"),
    (content(b'{"a": ' * 50_000), "header is damaged"),
    (content(b'{"one": 1, "one": 1}'), "header is damaged"),
    (content(b'{"one"\xff'), "header is damaged"),
]


@pytest.mark.parametrize(("data", "reason"), BROKEN, ids=[reason for _, reason in BROKEN])
def test_broken_files(tmp_path: Path, data: bytes, reason: str) -> None:
    path = write(tmp_path / SINGLE, data)
    assert reason in reason_of(lambda: read_safetensors(path))
    assert reason in reason_of(lambda: read_safetensors_model(tmp_path))


def test_unknown_number_format(tmp_path: Path) -> None:
    path = write(tmp_path / SINGLE, content({"one": ONE | {"dtype": "F5"}}))
    assert "'F5'" in reason_of(lambda: read_safetensors(path), ModelNotSupported)


def test_not_a_file(tmp_path: Path) -> None:
    (tmp_path / SINGLE).mkdir()
    assert "not a file" in reason_of(lambda: read_safetensors_model(tmp_path))
    assert "no such file" in reason_of(lambda: read_safetensors(tmp_path / "other.safetensors"))


@RELAXED
@given(noise=st.binary(max_size=200), cut=st.integers(0, 200), place=st.integers(0, 120), byte=st.integers(0, 255))
def test_noise_gives_a_clear_error_or_a_header(tmp_path: Path, noise: bytes, cut: int, place: int, byte: int) -> None:
    good = content({"one": ONE, "two": TWO})
    changed = good[:place] + bytes([byte]) + good[place + 1 :]
    for data in (noise, good[:cut], changed):
        path = write(tmp_path / SINGLE, data)
        with suppress(LoadFailed):
            found = read_safetensors(path)
            assert all(tensor.offset + tensor.size <= found.size for tensor in found.tensors.values())


def _parts(folder: Path, weight_map: Any) -> Callable[[], object]:
    write(folder / "model-00001-of-00002.safetensors", content({"one": ONE}, 24))
    write(folder / "model-00002-of-00002.safetensors", content({"two": TWO | {"data_offsets": [0, 10]}}, 10))
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return lambda: read_safetensors_model(folder)


GOOD_MAP = {"one": "model-00001-of-00002.safetensors", "two": "model-00002-of-00002.safetensors"}


def test_parts(tmp_path: Path) -> None:
    _parts(tmp_path, GOOD_MAP)
    model = read_safetensors_model(tmp_path)
    assert sorted(model.tensors) == ["one", "two"]
    assert [path.name for path in model.files] == sorted(GOOD_MAP.values())
    assert model.parameters == 11


@pytest.mark.parametrize(
    ("weight_map", "reason"),
    [
        (GOOD_MAP | {"three": GOOD_MAP["one"]}, "lacks the tensor 'three'"),
        (GOOD_MAP | {"two": GOOD_MAP["one"]}, "lacks the tensor 'two'"),
        (GOOD_MAP | {"three": "model-00003-of-00003.safetensors"}, "no such file"),
        (GOOD_MAP | {"three": "../model.safetensors"}, "not a safetensors file in the folder"),
        (GOOD_MAP | {"three": "weights.bin"}, "not a safetensors file in the folder"),
        ({"one": 5}, "not a safetensors file in the folder"),
        ([], "does not say where"),
    ],
)
def test_index_that_does_not_fit(tmp_path: Path, weight_map: Any, reason: str) -> None:
    assert reason in reason_of(_parts(tmp_path, weight_map))


def test_index_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / INDEX).write_text('{"weight_map": ')
    assert "not valid JSON" in reason_of(lambda: read_safetensors_model(tmp_path))
    (tmp_path / INDEX).write_text("[]")
    assert "not a JSON object" in reason_of(lambda: read_safetensors_model(tmp_path))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pytorch_model.bin", "Convert them to safetensors"),
        ("model.pt", "Convert them to safetensors"),
        ("consolidated.00.pth", "Convert them to safetensors"),
        ("adapter_config.json", "adapter"),
        ("weights.safetensors", "do not have the names that transformers expects"),
        ("readme.md", "no weights"),
    ],
)
def test_folder_without_readable_weights(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / name).touch()
    assert reason in reason_of(lambda: read_safetensors_model(tmp_path), ModelNotSupported)


def test_folder_that_a_path_means(tmp_path: Path) -> None:
    weights = write(tmp_path / SINGLE, content({"one": ONE}, 24))
    assert model_folder(tmp_path) is None
    (tmp_path / "config.json").write_text("{}")
    assert model_folder(tmp_path) == model_folder(weights) == tmp_path
    assert model_folder(tmp_path / "config.json") is None


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_values_are_those_that_torch_reads(tmp_path: Path, kind: str) -> None:
    """Of eight bits every one of them; of the others what is drawn."""
    torch, library = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    dtype = getattr(torch, kind)
    stored = torch.arange(256, dtype=torch.uint8).view(dtype) if dtype.itemsize == 1 else torch.randn(256).to(dtype)
    path = tmp_path / SINGLE
    library.save_file({"a": stored.view(16, 16).clone(), "b": stored}, path)
    tensors = read_safetensors(path).tensors
    wanted = stored.view(16, 16).float().numpy()
    numpy.testing.assert_array_equal(read_rows(path, tensors["a"], 0, 16), wanted)
    numpy.testing.assert_array_equal(read_rows(path, tensors["a"], 5, 2), wanted[5:7])
    numpy.testing.assert_array_equal(read_rows(path, tensors["b"], 0, 1), wanted.reshape(1, 256))


def test_values_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = write(
        tmp_path / SINGLE, content({"two": TWO | {"dtype": "F8_E5M2", "shape": [34], "data_offsets": [0, 34]}})
    )
    tensor = read_safetensors(path).tensors["two"]
    reason = reason_of(lambda: read_rows(path, tensor, 0, 1), ModelNotSupported)
    assert "'two' is stored as F8_E5M2" in reason
