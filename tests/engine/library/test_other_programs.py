"""What other programs keep, laid out exactly as they lay it out: found, named as they name it, and left as it is."""

import json
import os
import shutil
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.library.other_programs import described, find_elsewhere
from engine.library.scan import scan_folder
from helpers.models.gguf_writer import tiny_draft

DIGEST = "a" * 64
OTHER = "b" * 64
LAYER = "application/vnd.ollama.image.model"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has none of the programs."""
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("OLLAMA_MODELS", "JAN_DATA_FOLDER", "LLAMA_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    tiny_draft().write(path)
    return path


def put(model: Path, *places: Path) -> None:
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(model, place)


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def manifest(root: Path, name: str, digest: str, size: int = 0, kind: str = LAYER) -> None:
    config = {"mediaType": "application/vnd.docker.container.image.v1+json", "digest": f"sha256:{OTHER}", "size": 487}
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": f"sha256:{OTHER}", "size": 1},
        {"mediaType": kind, "digest": f"sha256:{digest}", "size": size},
    ]
    write(root / "manifests" / name, {"schemaVersion": 2, "config": config, "layers": layers})


def names(program: str) -> dict[str, str]:
    """The models of a program that were found, with their problems."""
    places = [place for place in find_elsewhere() if place.program == program]
    return {model.name: model.problem or "" for place in places for model in described(place.models)}


def test_nothing_is_there(home: Path) -> None:
    assert find_elsewhere() == ()


@pytest.mark.parametrize("moved", [False, True])
def test_lm_studio(home: Path, model: Path, *, moved: bool) -> None:
    root = home / ".lmstudio"
    if moved:
        root = home / "elsewhere"
        write(home / ".lmstudio-home-pointer", f"{root}\n")
        write(root / "settings.json", {"downloadsFolder": str(root / "models")})
    first = root / "models" / "lmstudio-community" / "Tiny-GGUF"
    put(
        model,
        first / "Tiny-Q8_0.gguf",
        root / "models" / "me" / "Two" / "a.gguf",
        root / "models" / "me" / "Two" / "b.gguf",
    )
    assert names("LM Studio") == {"lmstudio-community/Tiny-GGUF": "", "me/Two/a.gguf": "", "me/Two/b.gguf": ""}


def test_ollama(home: Path, model: Path) -> None:
    root = home / ".ollama" / "models"
    size = model.stat().st_size
    put(model, root / "blobs" / f"sha256-{DIGEST}")
    manifest(root, "registry.ollama.ai/library/tiny/latest", DIGEST, size)
    manifest(root, "registry.ollama.ai/someone/tiny/1b", DIGEST, size)
    manifest(root, "hf.co/owner/Tiny-GGUF/Q8_0", DIGEST, size)
    manifest(root, "registry.ollama.ai/library/gone/7b", "c" * 64)
    manifest(root, "registry.ollama.ai/library/short/7b", DIGEST, size + 1)
    manifest(root, "registry.ollama.ai/library/cloud/480b", DIGEST, size, kind="application/vnd.ollama.image.other")
    library = root / "manifests" / "registry.ollama.ai" / "library"
    write(library / "broken/1b", "{")
    write(library / "broken/endless", f'{{"layers": [{{"mediaType": "{LAYER}", "digest": "x", "size": 1e999}}]}}')
    os.mkfifo(library / "broken" / "pipe")
    found = names("Ollama")
    assert [name for name, problem in found.items() if not problem] == [
        "hf.co/owner/Tiny-GGUF:Q8_0",
        "someone/tiny:1b",
        "tiny:latest",
    ]
    assert found["gone:7b"] == "Its file is missing. Get it again: ollama pull gone:7b"
    assert "incomplete" in found["short:7b"]
    assert "names no GGUF file" in found["cloud:480b"]
    for tag in ("1b", "endless", "pipe"):
        assert "manifest cannot be read" in found[f"broken:{tag}"]
    # As a models folder it is the same, each file once.
    scanned = {each.name: each for each in scan_folder(root)}
    assert scanned["hf.co/owner/Tiny-GGUF:Q8_0"].usable
    assert not scanned["gone:7b"].usable
    assert not any(name.startswith("sha256") for name in scanned)


def test_jan(home: Path, model: Path) -> None:
    data = home / "moved" / "jan"
    write(home / ".local/share/Jan/settings.json", {"data_folder": str(data)})
    put(model, data / "llamacpp/models/owner/Tiny_Q8/model.gguf", home / "Downloads" / "own.gguf")
    yml = 'model_path: llamacpp/models/owner/Tiny_Q8/model.gguf\nname: "Tiny: Q8"\nsize_bytes: 1 # so many\n'
    write(data / "llamacpp/models/owner/Tiny_Q8/model.yml", yml)
    write(data / "llamacpp/models/imported/model.yml", f"model_path: {home / 'Downloads' / 'own.gguf'}\n")
    write(data / "llamacpp/models/gone/model.yml", "model_path: llamacpp/models/gone/model.gguf\nname: gone\n")
    write(data / "llamacpp/models/broken/model.yml", "\x00:")
    found = names("Jan")
    assert [name for name, problem in found.items() if not problem] == ["imported", "Tiny: Q8"]
    assert "llamacpp/models/gone/model.gguf is missing" in found["gone"]
    assert "model.yml cannot be read" in found["broken"]


def test_text_gen(home: Path, model: Path) -> None:
    root = home / "Downloads" / "text-generation-webui-3.2"
    put(model, root / "user_data/models/tiny-Q8_0.gguf", root / "user_data/models/big/big.gguf")
    write(root / "user_data/models/place-your-models-here.txt", "")
    assert names("TextGen") == {"tiny-Q8_0.gguf": "", "big/big.gguf": ""}


def test_what_earlier_versions_left_is_found_beside_the_new(home: Path, model: Path) -> None:
    jan, text_gen = home / ".local/share/Jan/data", home / "text-generation-webui"
    put(
        model,
        *(home / root / "models/me/Tiny/tiny.gguf" for root in (".lmstudio", ".cache/lm-studio")),
        jan / "models/early/early.gguf",
        jan / "models/taken/taken.gguf",
        *(text_gen / below / "tiny.gguf" for below in ("models/early", "user_data/models")),
    )
    write(jan / "llamacpp/models/taken/model.yml", "model_path: models/taken/taken.gguf\nname: taken\n")
    places = [place for place in find_elsewhere() if place.program == "LM Studio"]
    assert [place.folder.parent.name for place in places] == [".lmstudio", "lm-studio"]
    assert names("Jan") == {"taken": "", "early/early.gguf": ""}
    assert names("TextGen") == {"tiny.gguf": "", "early/tiny.gguf": ""}


def test_kobold(home: Path, model: Path) -> None:
    put(model, home / "koboldcpp" / "tiny.gguf", home / "shelf" / "told.gguf")
    write(home / "koboldcpp" / "mine.kcpps", {"model_param": str(home / "shelf" / "told.gguf"), "port_param": 5001})
    write(home / "koboldcpp" / "old.kcpps", {"model": [str(home / "shelf" / "gone.gguf")]})
    write(home / "koboldcpp" / "broken.kcpps", "{")
    found = names("KoboldCpp")
    assert [name for name, problem in found.items() if not problem] == ["koboldcpp/told", "koboldcpp/tiny"]
    assert found["koboldcpp/gone"] == "old.kcpps names it, but there is no such file."
    assert "cannot be read" in found["broken"]


def test_llama_cpp(home: Path, model: Path) -> None:
    cache = home / ".cache" / "llama.cpp"
    put(model, cache / "owner_tiny-GGUF_tiny-Q8_0.gguf", cache / "own.gguf")
    write(cache / "owner_tiny-GGUF_tiny-Q8_0.gguf.json", {"etag": "x", "url": "y"})
    write(cache / "manifest=owner=tiny-GGUF=Q8_0.json", {"ggufFile": {"rfilename": "tiny-Q8_0.gguf", "size": 1}})
    write(cache / "manifest=owner=gone=latest.json", {"ggufFile": {"rfilename": "gone.gguf"}})
    write(cache / "manifest=owner=broken=latest.json", "<html>")
    found = names("llama.cpp")
    assert [name for name, problem in found.items() if not problem] == ["owner/tiny-GGUF:Q8_0", "own.gguf"]
    assert found["owner/gone:latest"] == "Its file is missing. Get it again: llama-server -hf owner/gone:latest"
    assert "manifest cannot be read" in found["owner/broken:latest"]


def test_hugging_face(home: Path, model: Path) -> None:
    hub = home / ".cache" / "huggingface" / "hub"
    for repository, files in (("owner--one", ("a-Q8_0.gguf",)), ("owner--two", ("b-Q4_0.gguf", "c/c.gguf"))):
        place = hub / f"models--{repository}"
        for file in files:
            put(model, place / "blobs" / file.replace("/", ""))
            link = place / "snapshots" / "0123" / file
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(place / "blobs" / file.replace("/", ""))
        write(place / "refs" / "main", "0123")
    write(hub / "models--owner--begun" / "blobs" / "abc.incomplete", "x")
    loop = hub / "models--owner--loop" / "snapshots" / "0123" / "loop.gguf"
    loop.parent.mkdir(parents=True)
    loop.symlink_to(loop.name)
    write(hub / "models--owner--tokenizer" / "snapshots" / "1" / "tokenizer.json", "{}")
    found = names("Hugging Face")
    assert found.pop("owner/begun").startswith("It is only partly downloaded.")
    assert "symbolic links" in found.pop("owner/loop")
    assert found == {"owner/one": "", "owner/two/b-Q4_0.gguf": "", "owner/two/c/c.gguf": ""}


def test_the_command(home: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(model, home / ".lmstudio/models/me/Draft/draft.gguf")
    tiny_draft(layers=3).write(home / ".lmstudio/models/me/Draft/target.gguf")
    before = sorted(home.rglob("*"))
    assert main(["models", "--found", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (place,) = told["places"]
    assert place["program"] == "LM Studio"
    assert {each["name"] for each in place["models"]} == {"me/Draft/draft.gguf", "me/Draft/target.gguf"}
    assert Path(told["best_pair"]["target"]).name == "target.gguf"
    assert main(["models", "--found"]) == 0
    assert "Best pair: me/Draft/target.gguf with me/Draft/draft.gguf" in capsys.readouterr().out
    assert [path for path in sorted(home.rglob("*")) if ".cache" not in path.parts] == before
    assert main(["models"]) == 2
    assert main(["models", "--found", str(home)]) == 2
    assert "Name a folder, or --found" in capsys.readouterr().err


def test_folders_that_were_copied_from_another_machine_are_recognised(tmp_path: Path, model: Path) -> None:
    """A copy of a home folder, and one of a cache whose links were lost on the way."""
    put(model, tmp_path / "laptop" / ".lmstudio" / "models" / "me" / "Tiny" / "lm.gguf")
    root = tmp_path / "laptop" / ".ollama" / "models"
    manifest(root, "registry.ollama.ai/library/tiny/latest", DIGEST, model.stat().st_size)
    put(model, root / "blobs" / f"sha256-{DIGEST}")
    put(model, tmp_path / "laptop" / ".other" / "left-out.gguf")
    put(model, tmp_path / "laptop" / "hub" / "models--me--Lost" / "blobs" / DIGEST)
    found = {each.path.name: each for each in scan_folder(tmp_path / "laptop")}
    assert set(found) == {"lm.gguf", f"sha256-{DIGEST}", "models--me--Lost"}
    assert "without its names (the folder snapshots)" in str(found["models--me--Lost"].problem)
