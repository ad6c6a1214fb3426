"""What a person may call a model, and what is said where there is none."""

import json
import os
from pathlib import Path

import pytest

from engine.errors import ModelFileBroken
from engine.library.names import bundled_pair, hub_cache, resolve_source

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Hugging Face cache."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def put(cache: Path, repository: str, *files: str, revision: str = REVISION, main: bool = True) -> Path:
    """A model in the cache as huggingface_hub leaves it: links into blobs. Gives the snapshot."""
    place = cache / ("models--" + repository.replace("/", "--"))
    snapshot = place / "snapshots" / revision
    for folder in (snapshot, place / "blobs", place / "refs"):
        folder.mkdir(parents=True, exist_ok=True)
    if main:
        (place / "refs" / "main").write_text(revision)
    for index, name in enumerate(files):
        blob = place / "blobs" / f"{revision[:8]}{index:056x}"
        blob.write_text(name)
        link = snapshot / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot


def refused(name: str | Path, *words: str) -> None:
    with pytest.raises(ModelFileBroken) as error:
        resolve_source(name)
    for word in words:
        assert word in str(error.value)


def test_the_bundled_pair() -> None:
    target, draft = bundled_pair()
    assert resolve_source("demo") == resolve_source("demo-target") == target
    assert resolve_source("demo", "draft") == resolve_source("demo-draft") == resolve_source("demo-draft", "draft")
    assert resolve_source("demo", "draft") == draft
    for name in ("demo-head", "demo-medusa", "demo-mtp"):
        assert resolve_source(name).parent.name == "heads", "not beside the pair, which drafts with its model"


def test_paths(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a model.gguf"
    path.touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_source(path) == resolve_source(str(path)) == path
    assert resolve_source("~/a model.gguf") == path
    assert resolve_source("a model.gguf") == Path("a model.gguf")
    refused("other.gguf", "no such file")
    refused("/nowhere/at/all.gguf", "no such file")
    refused("a\0b", "no such file")
    (tmp_path / "dangling.gguf").symlink_to("nowhere")
    assert resolve_source("dangling.gguf") == Path("dangling.gguf")


def test_a_path_wins_over_the_cache(cache: Path, tmp_path: Path) -> None:
    snapshot = put(cache, "owner/model", "config.json", "model.safetensors")
    assert resolve_source("owner/model") == snapshot
    local = tmp_path / "owner" / "model"
    local.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (local / name).touch()
    assert resolve_source("owner/model") == Path("owner/model")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert hub_cache() == tmp_path / ".cache" / "huggingface" / "hub"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert hub_cache() == Path("/xdg/huggingface/hub")
    monkeypatch.setenv("HF_HOME", "~/hf")
    assert hub_cache() == tmp_path / "hf" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", "$HOME/cache")
    assert hub_cache() == tmp_path / "cache"


def test_a_name_in_the_cache(cache: Path) -> None:
    older = put(cache, "owner/Model-1.5B", "config.json", "model.safetensors", revision="a" * 40)
    newer = put(cache, "owner/Model-1.5B", "config.json", "model.safetensors", revision="b" * 40)
    assert resolve_source("owner/Model-1.5B") == newer
    (cache / "models--owner--Model-1.5B" / "refs" / "main").write_text("a" * 40)
    assert resolve_source("owner/Model-1.5B") == older
    assert resolve_source("OWNER/model-1.5b") == older
    assert resolve_source(cache / "models--owner--Model-1.5B") == older
    assert resolve_source(put(cache, "gpt2", "config.json", "model.safetensors").parents[1]).name == REVISION
    assert resolve_source("gpt2").name == REVISION


@pytest.mark.parametrize("ref", ["../../../..", "", "missing", "\xff\n", "a/b"])
def test_a_revision_that_is_not_there(cache: Path, ref: str) -> None:
    snapshot = put(cache, "owner/model", "config.json", "model.safetensors")
    (cache / "models--owner--model" / "refs" / "main").write_bytes(ref.encode("latin-1"))
    assert resolve_source("owner/model") == snapshot
    (cache / "models--owner--model" / "refs" / "main").unlink()
    assert resolve_source("owner/model") == snapshot


def test_quantisations(cache: Path) -> None:
    snapshot = put(
        cache,
        "owner/Model-GGUF",
        *("Model-IQ2_M.gguf", "Model-Q8_0.gguf", "Model-Q4_K_M.gguf", "mmproj-Model-F16.gguf", "README.md"),
        *("BF16/Model-BF16-00001-of-00002.gguf", "BF16/Model-BF16-00002-of-00002.gguf"),
    )
    assert resolve_source("owner/Model-GGUF") == snapshot / "Model-Q4_K_M.gguf"
    assert resolve_source("owner/Model-GGUF:q8_0") == snapshot / "Model-Q8_0.gguf"
    assert resolve_source("owner/Model-GGUF:IQ2_M", "draft") == snapshot / "Model-IQ2_M.gguf"
    assert resolve_source("owner/Model-GGUF:BF16") == snapshot / "BF16" / "Model-BF16-00001-of-00002.gguf"
    assert resolve_source("owner/Model-GGUF/Model-Q8_0.gguf") == snapshot / "Model-Q8_0.gguf"
    split = "BF16/Model-BF16-00001-of-00002.gguf"
    assert resolve_source(f"owner/Model-GGUF/{split}") == snapshot / split
    refused("owner/Model-GGUF:Q4", "no Q4 file", "Model-Q4_K_M.gguf")
    refused("owner/Model-GGUF/Model-Q5_0.gguf", "hf download owner/Model-GGUF Model-Q5_0.gguf")
    refused("owner/Model-GGUF/../../x.gguf", "outside")
    (snapshot / "Model-Q4_K_M.gguf").unlink()
    assert resolve_source("owner/Model-GGUF") == snapshot / "Model-Q8_0.gguf"


def test_other_quantisations_than_the_known(cache: Path) -> None:
    snapshot = put(cache, "owner/model", "model-z.gguf", "model-a.gguf")
    assert resolve_source("owner/model") == snapshot / "model-a.gguf"


def test_what_was_not_downloaded_to_its_end(cache: Path) -> None:
    snapshot = put(cache, "owner/a", "config.json", "model-00001-of-00002.safetensors")
    blob = (cache / "models--owner--a" / "blobs" / "x").resolve()
    blob.write_text(json.dumps({"weight_map": {"t": "model-00002-of-00002.safetensors", "u": "../../../x"}}))
    (snapshot / "model.safetensors.index.json").symlink_to(blob)
    refused("owner/a", "lacks model-00002-of-00002.safetensors", "hf download owner/a")
    blob.write_text("[" * 100_000)
    assert resolve_source("owner/a") == snapshot
    split = put(cache, "owner/b", "x-Q4_K_M-00001-of-00003.gguf", "x-Q4_K_M-00002-of-00003.gguf")
    refused("owner/b", "lacks x-Q4_K_M-00003-of-00003.gguf")
    refused(f"owner/b/{min(split.iterdir()).name}", "lacks")
    broken = put(cache, "owner/c", "x.gguf")
    (broken / "x.gguf").resolve().unlink()
    refused("owner/c", "lacks x.gguf")
    put(cache, "owner/d", "README.md")
    refused("owner/d", "has no weights")
    (cache / "models--owner--d" / "blobs" / "abc.incomplete").touch()
    refused("owner/d", "only partly downloaded", "hf download owner/d")
    (cache / "models--owner--e").mkdir()
    refused("owner/e", "has no files")
    broken = put(cache, "owner/f", "config.json", "model.safetensors")
    (broken / "model.safetensors").resolve().unlink()
    refused("owner/f", "lacks model.safetensors")


def test_what_is_nowhere(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused("owner/model", "no owner/model in the Hugging Face cache", str(cache), "hf download owner/model")
    refused("owner/model:Q8_0", "hf download owner/model")
    monkeypatch.setenv("HF_HUB_CACHE", "/nowhere")
    refused("owner/model", "/nowhere")


def test_a_folder_of_files(cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    assert resolve_source(folder) == folder
    for name in ("Model-Q8_0.gguf", "Model-Q4_K_M.gguf", "mmproj-Model.gguf"):
        (folder / name).touch()
    assert resolve_source(folder) == folder / "Model-Q4_K_M.gguf"
    (folder / "Other-Q4_K_M.gguf").touch()
    refused(folder, "several models", "Other-Q4_K_M.gguf")


def test_real_folders(shared_models: Path) -> None:
    folder = shared_models / "hf" / "stories260K"
    assert resolve_source(folder) == folder
