"""What was dropped onto the window, by what it is."""

import zipfile
from pathlib import Path

import pytest

from app.state.conversations.dropped import kind_of, sort_out
from app.state.conversations.other_programs import find


def test_each_kind(tmp_path: Path, bundled_target: Path) -> None:
    names = {"a.gguf": b"GGUF", "chat.json": b"{}", "notes.txt": b"hello", "blob": b"GGUF\3\0\0\0", "other": b"hello"}
    for name, data in names.items():
        (tmp_path / name).write_bytes(data)
    folder = tmp_path / "folder"
    folder.mkdir()
    found = sort_out([tmp_path / name for name in [*names, "folder", "gone"]] + [bundled_target, bundled_target])
    assert found.models == (tmp_path / "a.gguf", tmp_path / "blob", bundled_target)
    assert found.folders == (folder,)
    assert found.conversations == (tmp_path / "chat.json",)
    assert found.files == (tmp_path / "notes.txt", tmp_path / "other")
    assert found.missing == (tmp_path / "gone",)


def test_an_archive_without_json_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    for name, kind in (("a.pdf", "file"), ("chats/conversations.json", "conversation")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, "x")
        assert kind_of(path) == (kind, path)


def test_names_that_no_file_can_have_are_missing(tmp_path: Path) -> None:
    odd = [tmp_path / name for name in ("a\0b.gguf", "a\ud83d.json", "x" * 5000 + ".gguf", "/".join("d" * 900))]
    assert sort_out(odd).missing == tuple(odd)


def test_of_a_large_folder_only_the_beginning_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "chat.json").touch()
    assert kind_of(tmp_path)[0] == "conversation"
    for number in range(20):
        (tmp_path / f"{number}.txt").touch()
    monkeypatch.setattr(find, "_LOOKED_AT", 10)
    assert kind_of(tmp_path)[0] == "folder"


def test_a_folder_of_weights_is_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "Qwen2.5-0.5B"
    folder.mkdir()
    weights = folder / "model.safetensors"
    weights.write_bytes(b"")
    assert kind_of(folder) == ("folder", folder)
    assert kind_of(weights) == ("file", weights)
    (folder / "config.json").write_text("{}")
    assert kind_of(folder) == ("model", folder)
    assert kind_of(weights) == ("model", folder)


def test_a_part_stands_for_the_first(tmp_path: Path) -> None:
    parts = [tmp_path / f"big-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for part in parts[1:]:
        part.write_bytes(b"GGUF")
    assert kind_of(parts[1]) == ("model", parts[1]), "the first is missing: loading says so"
    parts[0].write_bytes(b"GGUF")
    assert sort_out(parts).models == (parts[0],)
