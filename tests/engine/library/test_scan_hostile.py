"""A folder with everything in it that a scan must survive: each is listed or left out, nothing is waited for."""

import json
import math
import os
import random
import socket
import struct
from pathlib import Path

import pytest

from engine.errors import FolderUnreadable
from engine.formats.gguf import types
from engine.formats.gguf.model import HeaderReader
from engine.library.scan import ModelFile, scan_folder
from engine.library.walk import MAX_DEPTH, find_models
from helpers.models.gguf_writer import Entry, tiny_draft
from helpers.models.header_models import HeaderModel
from helpers.powers import without_powers
from helpers.processes import own_clock

SECONDS = 5.0


def scan(folder: Path) -> dict[str, ModelFile]:
    """What a scan lists, by the names of files; quickly, twice the same."""
    started = own_clock()
    models = scan_folder(folder)
    assert own_clock() - started < SECONDS
    assert scan_folder(folder) == models
    for model in models:
        assert model.name.isprintable()
        assert (model.problem or "").isprintable()
        assert model.memory_needed() >= 0
    return {model.path.name: model for model in models}


def header(tensors: int, entries: int, rest: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, entries) + rest


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"G", "not a GGUF"),
        (b"GGUF", "incomplete"),
        (header(2**60, 2**60), "claims"),
        (header(1, 2**64 - 1), "claims"),
        (header(0, 1, struct.pack("<Q", 2**60)), "damaged"),
        (header(0, 1, text(b"a") + struct.pack("<IQ", types.STRING, 2**60)), "incomplete"),
        (header(0, 1, text(b"a") + struct.pack("<IIQ", types.ARRAY, types.STRING, 2**60)), "claims"),
        (header(0, 1, text(b"a") + struct.pack("<IIQ", types.ARRAY, types.UINT8, 2**60)), "incomplete"),
        (header(0, 1, text(b"a") + struct.pack("<IIQ", types.ARRAY, types.ARRAY, 2)), "unknown type"),
        (header(0, 1, text(b"\xff\xfe") + bytes(8)), "damaged"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(1000), "not a GGUF"),
        (b"PK\x03\x04" + bytes(1000), "not a GGUF"),
        (bytes(1000), "not a GGUF"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_claim_and_lie(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    model = scan(tmp_path)["x.gguf"]
    assert not model.usable
    assert words in (model.problem or "")


@pytest.mark.parametrize(
    "beginning",
    [
        b"GGUF",
        header(3, 1, text(b"a") + struct.pack("<IQ", types.STRING, 2**39)),
        header(3, 1, text(b"a") + struct.pack("<IIQ", types.ARRAY, types.STRING, 4 * 2**20)),
        header(3, 1, text(b"a") + struct.pack("<IIQ", types.ARRAY, types.UINT64, 2**36)),
        header(60_000, 60_000),
    ],
    ids=["nothing", "a text", "texts", "numbers", "tensors"],
)
def test_a_terabyte_of_nothing(tmp_path: Path, beginning: bytes) -> None:
    with (tmp_path / "x.gguf").open("wb") as file:
        file.write(beginning)
        try:
            file.truncate(2**40)
        except OSError:
            pytest.skip("no files of that size here")
    model = scan(tmp_path)["x.gguf"]
    assert not model.usable
    assert model.size_bytes == 2**40


def test_what_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    tiny_draft().write(folder / "good.gguf")
    os.mkfifo(folder / "pipe.gguf")
    (folder / "device.gguf").symlink_to("/dev/zero")
    (folder / "terminal.gguf").symlink_to("/dev/tty")
    (folder / "broken.gguf").symlink_to("nowhere")
    (folder / "itself.gguf").symlink_to("itself.gguf")
    (folder / "one.gguf").symlink_to("two.gguf")
    (folder / "two.gguf").symlink_to("one.gguf")
    (folder / "a folder.gguf").mkdir()
    tiny_draft().write(folder / "a folder.gguf" / "inner.gguf")
    (folder / "circle").symlink_to(folder)
    (folder / "up").symlink_to(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket.gguf"))
        found = scan(folder)
    for name in ("pipe.gguf", "device.gguf", "socket.gguf"):
        assert found[name].problem == "It is not a file."
    for name in ("terminal.gguf", "broken.gguf", "itself.gguf", "one.gguf", "two.gguf"):
        assert found[name].problem, name
    assert {name for name, model in found.items() if model.usable} == {"good.gguf", "inner.gguf"}
    assert "a folder.gguf" not in found


@pytest.mark.parametrize("value", [math.inf, math.nan, -1e30])
@pytest.mark.parametrize("key", ["attention.head_count", "attention.head_count_kv", "feed_forward_length"])
def test_lists_of_what_are_no_whole_numbers(tmp_path: Path, key: str, value: float) -> None:
    more: dict[str, Entry | None] = {f"llama.{key}": Entry(types.FLOAT32, [value] * 16)}
    HeaderModel("Odd", 50_000_000, more=more).write(tmp_path / "odd.gguf")
    assert "not a list of numbers" in (scan(tmp_path)["odd.gguf"].problem or "")


def test_what_nobody_foresaw_in_one_file_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bad", "good"):
        tiny_draft().write(tmp_path / f"{name}.gguf")
    read = HeaderReader.read

    def fail(reader: HeaderReader, path: Path) -> ModelFile:
        return read(reader, path) if path.stem == "good" else read(reader, path / str(1 // 0))

    monkeypatch.setattr(HeaderReader, "read", fail)
    found = scan(tmp_path)
    assert found["good.gguf"].usable
    assert found["bad.gguf"].problem == "It cannot be read (ZeroDivisionError)."
    monkeypatch.undo()
    assert scan(tmp_path)["bad.gguf"].usable, "and it is tried again"


def test_a_pipe_in_a_safetensors_folder(tmp_path: Path) -> None:
    for index, name in enumerate(
        ("config.json", "model.safetensors", "tokenizer.json", "model.safetensors.index.json")
    ):
        folder = tmp_path / str(index)
        folder.mkdir()
        (folder / "config.json").write_text('{"model_type": "llama"}')
        (folder / "model.safetensors").touch()
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
    found = scan(tmp_path)
    assert len(found) == 4
    assert not any(model.usable for model in found.values())


def test_names_that_are_no_text(tmp_path: Path) -> None:
    names = [b"\xff\xfe.gguf", b"new\nline.gguf", b"\x1b[2J.gguf", "\u202e.gguf".encode(), b"a" * 250 + b".gguf"]
    for name in names:
        tiny_draft(seed=len(name)).write(tmp_path / os.fsdecode(name))
        inner = tmp_path / os.fsdecode(name[:-5] + b" folder")
        if len(name) < 100:
            inner.mkdir()
            (inner / "config.json").write_text("{}")
            (inner / "model.safetensors").touch()
    found = scan(tmp_path)
    assert {os.fsencode(name) for name, model in found.items() if model.usable} == set(names)
    assert len(found) == 2 * len(names) - 1


@pytest.mark.skipif(os.name == "nt", reason="a folder may be called so there")
def test_the_home_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FolderUnreadable, match="no such folder"):
        scan_folder("~nobody of this name/models")


def test_every_file_has_a_name_to_be_shown(tmp_path: Path) -> None:
    for name in (b"\xff\xfe.gguf", "\u202e.gguf".encode(), b"x\xff.gguf"):
        (tmp_path / os.fsdecode(name)).touch()
    assert {model.name for model in scan_folder(tmp_path)} == {"\ufffd\ufffd", "\ufffd", "x\ufffd"}


def test_a_name_that_claims_many_parts(tmp_path: Path) -> None:
    for index in range(200):
        (tmp_path / f"{index}-00001-of-99999.gguf").write_bytes(b"GGUF")
    assert all("incomplete" in (model.problem or "") for model in scan(tmp_path).values())
    tiny_draft().write(tmp_path / "x-00001-of-00000.gguf")
    assert "part 1 of 0" in (scan(tmp_path)["x-00001-of-00000.gguf"].problem or "")


def test_deep_folders_end(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(MAX_DEPTH + 3):
        folder = folder / "x"
        folder.mkdir()
    tiny_draft().write(folder / "deep.gguf")
    (model,) = scan(tmp_path).values()
    assert "too deep" in (model.problem or "")


def test_a_folder_of_too_many_files_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.library.walk.MAX_ENTRIES", 3)
    folder = tmp_path / "models"
    folder.mkdir()
    for index in range(5):
        tiny_draft().write(folder / f"{index}.gguf")
    found = find_models(folder)
    assert [item.kind for item in found] == ["gguf", "gguf", "gguf", "folder"]
    assert "not listed" in found[-1].problem


def test_random_damage_never_raises(tmp_path: Path) -> None:
    content = tiny_draft().to_bytes()
    rng = random.Random(5)
    for index in range(300):
        damaged = bytearray(content)
        for _ in range(rng.randrange(1, 8)):
            damaged[rng.randrange(1500)] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        (tmp_path / f"{index}.gguf").write_bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
    assert len(scan(tmp_path)) == 300


def test_a_file_that_is_replaced_by_a_pipe_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny_draft().write(tmp_path / "x.gguf")
    real = os.open

    def swapped(name: str | Path, flags: int, *rest: int) -> int:
        if Path(name) == path and not path.is_fifo():
            path.unlink()
            os.mkfifo(path)
        return real(name, flags, *rest)

    monkeypatch.setattr(os, "open", swapped)
    (model,) = scan_folder(tmp_path)
    assert not model.usable


CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 4}


def stored(tensors: dict[str, object], data: bytes = b"") -> bytes:
    head = json.dumps(tensors).encode()
    return struct.pack("<Q", len(head)) + head + data


GOOD = stored({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(8))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (GOOD[:-1], "incomplete"),
        (GOOD[:20], "incomplete"),
        (GOOD + b"x", "extra bytes after its tensors"),
        (struct.pack("<Q", 2**63) + b"{}", "not a safetensors"),
        (struct.pack("<Q", 2**64 - 1) + b"{}", "not a safetensors"),
        (struct.pack("<Q", 4) + b"{no}", "damaged"),
        (struct.pack("<Q", 200_000) + b'{"a":' + b"[" * 199_995, "damaged"),
        (stored({"a": 7}), "damaged"),
        (stored({"a": {"dtype": "F32", "shape": [2**70], "data_offsets": [0, 8]}}, bytes(8)), "damaged"),
        (
            stored(
                {
                    "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                    "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
                },
                bytes(12),
            ),
            "wrong offset",
        ),
    ],
)
def test_safetensors_that_lie(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "model.safetensors").write_bytes(content)
    model = scan(tmp_path)[tmp_path.name]
    assert not model.usable
    assert words in (model.problem or "")
    assert model.file_format == "safetensors"


@pytest.mark.parametrize("name", ["a\0.safetensors", "\ud800.safetensors", "a" * 5000 + ".safetensors"])
def test_an_index_of_what_no_file_is_called(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    assert "it cannot be read" in (scan(tmp_path)[tmp_path.name].problem or "")


@pytest.mark.parametrize("kind", [[], {}, ["llama"], {"a": 1}])
def test_a_kind_of_model_that_is_no_text(tmp_path: Path, kind: object) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    assert "does not name the model type" in (scan(tmp_path)[tmp_path.name].problem or "")


def test_a_folder_that_may_be_listed_and_not_entered(tmp_path: Path) -> None:
    folder = tmp_path / "shut"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "model.safetensors").write_bytes(GOOD)
    tiny_draft().write(folder / "x.gguf")
    tiny_draft().write(tmp_path / "good.gguf")
    folder.chmod(0o444)
    try:
        with without_powers():
            found = scan(tmp_path)
    finally:
        folder.chmod(0o755)
    assert found["good.gguf"].usable
    assert "Permission denied" in (found["shut"].problem or "")
    assert "no permission to read it" in (found["x.gguf"].problem or "")


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/passwd", "a/b.safetensors", "..", 7])
def test_an_index_does_not_lead_outside(tmp_path: Path, name: object) -> None:
    (tmp_path / "secret.safetensors").write_bytes(GOOD)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    model = scan(tmp_path)["model"]
    assert not model.usable
    assert "not a safetensors file in the folder" in (model.problem or "")


@pytest.mark.parametrize("text", ["[" * 200_000, "", "nul", "[]", '{"model_type": 7}', '{"architectures": {"a": 1}}'])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_damaged_json_beside_the_weights(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    (tmp_path / name).write_text(text)
    model = scan(tmp_path)[tmp_path.name]
    assert model.usable is (model.problem is None)
    assert model.usable is (name != "config.json" and text.startswith("{"))


def test_numbers_in_a_configuration_that_cannot_be(tmp_path: Path) -> None:
    wild = {
        "num_hidden_layers": 2**70,
        "hidden_size": -3,
        "num_attention_heads": 0,
        "head_dim": "many",
        "vocab_size": None,
        "max_position_embeddings": True,
    }
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | wild))
    (tmp_path / "model.safetensors").write_bytes(GOOD)
    model = scan(tmp_path)[tmp_path.name]
    assert model.usable
    assert model.context_length == 0
