"""The scan of a folder: what is listed, what is not usable and why, and how long it takes."""

import json
import os
import threading
from pathlib import Path

import pytest

from engine.cancel import CancelToken
from engine.errors import Cancelled, FolderUnreadable, ModelFileBroken
from engine.formats.gguf import types
from engine.formats.gguf.parts import split_parts
from engine.library.compat import judge_pair
from engine.library.scan import inspect_model, scan_folder
from helpers.models.gguf_writer import Entry, GgufDraft, tiny_draft
from helpers.processes import own_clock


def make(path: Path, name: str | None = None, **entries: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = tiny_draft()
    if name is not None:
        draft.entries["general.name"] = Entry(types.STRING, name)
    for key, value in entries.items():
        draft.entries[key.replace("__", ".")] = Entry(types.STRING, value)
    return draft.write(path)


def split(folder: Path, parts: int) -> list[Path]:
    whole = tiny_draft()
    names = list(whole.tensors)
    paths = []
    for part in range(parts):
        draft = GgufDraft(dict(whole.entries) if part == 0 else {})
        draft.entries["split.no"] = Entry(types.UINT16, part)
        draft.entries["split.count"] = Entry(types.UINT16, parts)
        draft.entries["split.tensors.count"] = Entry(types.INT32, len(names))
        draft.tensors = {name: whole.tensors[name] for name in names[part::parts]}
        paths.append(draft.write(folder / f"big-{part + 1:05}-of-{parts:05}.gguf"))
    return paths


def test_figures_of_a_model(tmp_path: Path) -> None:
    path = make(tmp_path / "one.gguf", "One", tokenizer__chat_template="{{ messages }}")
    (model,) = scan_folder(tmp_path)
    assert model == inspect_model(path)
    assert (model.path, model.name, model.architecture) == (path, "One", "llama")
    assert (model.quantisation, model.context_length) == ("F32", 64)
    assert model.size_bytes == path.stat().st_size
    assert model.parameters == 16 * 8 + 8 + 8 + 8 * 8 * 2 + 8 * 4 * 2 + 8 + 3 * 8 * 16
    assert model.has_chat_template
    assert model.vocabulary is not None
    assert (model.vocabulary.kind, model.vocabulary.size) == ("SentencePiece", 16)
    assert model.usable
    assert model.problem is None


def test_names_are_fit_to_be_shown(tmp_path: Path) -> None:
    make(tmp_path / "a.gguf", "evil \x1b[31m\nname\u202e" + "x" * 500)
    make(tmp_path / "b.gguf", " \t ")
    first, second = scan_folder(tmp_path)
    assert first.name == "b"
    assert second.name.startswith("evil [31m name xxx")
    assert second.name.isprintable()
    assert len(second.name) <= 120


def test_quantisation_is_the_name_in_the_file_or_the_commonest_type(tmp_path: Path) -> None:
    draft = tiny_draft()
    draft.entries["general.file_type"] = Entry(types.UINT32, 15)
    assert inspect_model(draft.write(tmp_path / "a.gguf")).quantisation == "Q4_K_M"
    del draft.entries["general.file_type"]
    draft.tensors["token_embd.weight"].kind = 1
    draft.tensors["token_embd.weight"].data = bytes(16 * 8 * 2)
    assert inspect_model(draft.write(tmp_path / "a.gguf")).quantisation == "F32"


def test_memory_is_weights_and_cache_and_room(tmp_path: Path) -> None:
    model = inspect_model(make(tmp_path / "a.gguf"))
    layers, shared, width, both, float32 = 1, 1, 4, 2, 4
    heads, batch = 2, 128
    assert model.cache_per_token == layers * shared * width * both * float32 + heads * batch * float32
    assert model.memory_needed(64) - model.memory_needed(32) == 32 * model.cache_per_token
    assert model.memory_needed(10**6) == model.memory_needed(64) == model.memory_needed()
    assert model.memory_needed() > model.size_bytes


def test_recurrent_models_have_no_cache_that_grows(shared_models: Path) -> None:
    for name in ("stories-mamba131K-F32", "rwkv7-834K-F32"):
        model = inspect_model(shared_models / "gguf" / f"{name}.gguf")
        assert model.cache_per_token == 0
        assert model.state_bytes > 0


def test_real_models(shared_models: Path) -> None:
    models = {model.path.stem: model for model in scan_folder(shared_models) if model.path.is_file()}
    quantised = models["stories260K-Q4_0"]
    assert (quantised.quantisation, quantised.context_length) == ("Q4_0", 512)
    assert quantised.parameters == models["stories260K-F32"].parameters
    assert models["babyllama105-F32"].usable
    folders = [model for model in scan_folder(shared_models) if model.path.is_dir()]
    assert {model.name for model in folders} == {path.parent.name for path in shared_models.glob("hf/*/config.json")}
    for model in folders:
        assert model.usable, model.problem
        assert model.quantisation == "F32"
        assert model.size_bytes == (model.path / "model.safetensors").stat().st_size


def test_a_folder_and_a_file_of_the_same_model_agree(shared_models: Path) -> None:
    found = {model.path.name: model for model in scan_folder(shared_models)}
    for name in ("stories260K", "stories-draft43K", "babyllama361", "babyllama105as361", "stories-mamba131K"):
        file, folder = found[f"{name}-F32.gguf"], found[name]
        assert file.architecture == folder.architecture
        # Converters write out an output layer that is tied to the table of tokens.
        assert folder.parameters <= file.parameters < 1.5 * folder.parameters
        assert file.has_chat_template == folder.has_chat_template
        assert file.vocabulary is not None
        assert folder.vocabulary is not None
        assert file.vocabulary.digest == folder.vocabulary.digest
        if file.cache_per_token:
            assert file.context_length == folder.context_length
            assert folder.cache_per_token <= file.cache_per_token


def test_a_folder_without_a_tokenizer_reads_bytes(shared_models: Path) -> None:
    found = {model.path.name: model for model in scan_folder(shared_models)}
    folder, file = found["rwkv4-660K"], found["rwkv7-834K-F32.gguf"]
    assert judge_pair(folder, file).fits
    assert judge_pair(folder, found["babyllama-byte256-F32.gguf"]).fits
    assert not judge_pair(folder, found["stories260K"]).fits
    assert folder.cache_per_token == 0
    assert folder.state_bytes > 0


def test_sorted_by_name_and_searched_below(tmp_path: Path) -> None:
    make(tmp_path / "z.gguf", "beta")
    make(tmp_path / "deep" / "er" / "a.gguf", "Alpha")
    make(tmp_path / "b.GGUF", "gamma")
    (tmp_path / "notes.txt").write_text("no model")
    assert [model.name for model in scan_folder(tmp_path)] == ["Alpha", "beta", "gamma"]


def test_hidden_things_are_left_out(tmp_path: Path) -> None:
    make(tmp_path / ".cache" / "a.gguf")
    make(tmp_path / ".hidden.gguf")
    assert scan_folder(tmp_path) == ()


def test_links_are_followed_once(tmp_path: Path) -> None:
    real = make(tmp_path / "blobs" / "x.gguf", "linked")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "one.gguf").symlink_to(real)
    (folder / "two.gguf").symlink_to(real)
    (folder / "loop").symlink_to(folder)
    (folder / "outside").symlink_to(tmp_path / "blobs")
    (folder / "dangling.gguf").symlink_to(tmp_path / "nowhere")
    found = scan_folder(folder)
    assert [model.name for model in found] == ["dangling", "linked"]
    assert "no such file" in (found[0].problem or "")


def test_broken_files_are_listed_with_what_is_wrong(tmp_path: Path) -> None:
    good = make(tmp_path / "good.gguf", "good")
    (tmp_path / "cut.gguf").write_bytes(good.read_bytes()[:1000])
    (tmp_path / "empty.gguf").touch()
    make(tmp_path / "odd.gguf", "odd", tokenizer__ggml__model="klingon")
    found = {model.name: model for model in scan_folder(tmp_path)}
    assert found["good"].usable
    assert "incomplete" in (found["cut"].problem or "")
    assert found["empty"].problem == "It is empty. Download or copy it again."
    assert "klingon" in (found["odd"].problem or "")
    assert found["odd"].vocabulary is not None
    assert not any(found[name].usable for name in ("cut", "empty", "odd"))


@pytest.mark.parametrize(
    ("entries", "role", "words"),
    [
        ({"general__architecture": "clip"}, "projector", "vision part"),
        ({"general__type": "mmproj"}, "projector", "vision part"),
        ({"general__architecture": "bert"}, "embedding", "embedding"),
        ({"general__architecture": "nomic-bert"}, "embedding", "embedding"),
        ({"general__architecture": "t5"}, "other", "encoder-decoder"),
        ({"general__architecture": "dream"}, "other", "diffusion"),
        ({"general__architecture": "eagle3"}, "draft-head", "draft head"),
        ({"general__type": "adapter"}, "adapter", "adapter"),
        ({"general__type": "imatrix"}, "other", "imatrix data"),
    ],
)
def test_what_is_no_text_model(tmp_path: Path, entries: dict[str, str], role: str, words: str) -> None:
    make(tmp_path / "x.gguf", **entries)
    (model,) = scan_folder(tmp_path)
    assert model.role == role
    assert words in (model.problem or "")
    assert not model.usable


def test_a_split_model_is_one(tmp_path: Path) -> None:
    paths = split(tmp_path, 3)
    (model,) = scan_folder(tmp_path)
    assert model.path == paths[0]
    assert model.usable, model.problem
    assert model.size_bytes == sum(path.stat().st_size for path in paths)
    assert model.parameters == inspect_model(make(tmp_path / "sub" / "whole.gguf")).parameters
    assert split_parts(paths[0]) == paths
    with pytest.raises(ModelFileBroken, match="part 2 of 3"):
        inspect_model(paths[1])


def test_a_split_model_with_a_part_missing_or_broken(tmp_path: Path) -> None:
    paths = split(tmp_path, 3)
    whole = paths[2].read_bytes()
    paths[2].write_bytes(whole[:-40])
    (model,) = scan_folder(tmp_path)
    assert not model.usable
    assert "incomplete" in (model.problem or "")
    paths[2].unlink()
    (model,) = scan_folder(tmp_path)
    assert model.problem == f"Part of it is missing: {paths[2].name}."
    with pytest.raises(ModelFileBroken):
        inspect_model(paths[0])
    paths[0].unlink()
    (model,) = scan_folder(tmp_path)
    assert "part 2 of 3" in (model.problem or "")


def test_safetensors_folders_wait_for_their_backend(tmp_path: Path) -> None:
    folder = tmp_path / "some-model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(bytes(100))
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3", "max_position_embeddings": 4096}))
    (model,) = scan_folder(tmp_path)
    assert (model.name, model.architecture, model.context_length) == ("some-model", "qwen3", 4096)
    assert model.size_bytes == 100
    assert not model.usable
    (folder / "config.json").write_text("[" * 100_000)
    assert scan_folder(tmp_path)[0].architecture == ""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_folders(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    secret.chmod(0)
    try:
        (problem,) = scan_folder(tmp_path)
        assert problem.role == "folder"
        assert "cannot be read" in (problem.problem or "")
        with pytest.raises(FolderUnreadable, match="no permission"):
            scan_folder(secret)
    finally:
        secret.chmod(0o700)


def test_folders_that_fail_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "good.gguf")
    (tmp_path / "secret").mkdir()
    real = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "secret":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    good, secret = sorted(scan_folder(tmp_path), key=lambda model: model.usable, reverse=True)
    assert good.usable
    assert secret.role == "folder"
    assert secret.problem == "This folder cannot be read: Permission denied."
    with pytest.raises(FolderUnreadable, match="no permission to read it"):
        scan_folder(tmp_path / "secret")


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FolderUnreadable, match="no such folder"):
        scan_folder(tmp_path / "missing")
    path = make(tmp_path / "a.gguf")
    with pytest.raises(FolderUnreadable, match="not a folder"):
        scan_folder(path)


def test_cancel(tmp_path: Path) -> None:
    for index in range(20):
        make(tmp_path / f"{index}.gguf")
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        scan_folder(tmp_path, cancel=cancel)
    cancel.clear()
    assert len(scan_folder(tmp_path, cancel=cancel)) == 20


def test_what_changed_is_read_again(tmp_path: Path) -> None:
    path = make(tmp_path / "a.gguf", "before")
    assert scan_folder(tmp_path)[0].name == "before"
    replacement = make(tmp_path / "b.tmp", "after!")
    replacement.replace(path)
    assert scan_folder(tmp_path)[0].name == "after!"


@pytest.mark.alone
def test_two_thousand_headers_in_five_seconds(tmp_path: Path) -> None:
    draft = tiny_draft(tokens=16, layers=4)
    texts = ["<unk>", "<s>", "</s>", *(f"t{index}" for index in range(509))]
    draft.entries["tokenizer.ggml.tokens"] = Entry(types.STRING, texts)
    for key in ("scores", "token_type"):
        entry = draft.entries[f"tokenizer.ggml.{key}"]
        entry.value = [*entry.value, *[entry.value[-1]] * 496]
    draft.tensors["token_embd.weight"].shape = (8, 512)
    draft.tensors["token_embd.weight"].data = bytes(8 * 512 * 4)
    content = draft.to_bytes()
    for index in range(2000):
        (tmp_path / f"{index}.gguf").write_bytes(content)
    started = own_clock()
    models = scan_folder(tmp_path)
    seconds = own_clock() - started
    assert sum(model.usable for model in models) == 2000
    assert seconds < 5.0
    started = own_clock()
    assert scan_folder(tmp_path) == models
    assert own_clock() - started < seconds


@pytest.mark.alone
def test_cancel_from_another_thread(tmp_path: Path) -> None:
    content = tiny_draft(layers=4).to_bytes()
    for index in range(800):
        (tmp_path / f"{index}.gguf").write_bytes(content)
    cancel = CancelToken()
    timer = threading.Timer(0.02, cancel.cancel)
    timer.start()
    started = own_clock()
    with pytest.raises(Cancelled):
        scan_folder(tmp_path, cancel=cancel)
    assert own_clock() - started < 0.5
    timer.join()
