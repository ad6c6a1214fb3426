"""Names of models instead of paths: of their files, parts of those, aliases, and what was downloaded."""

import json
import shutil
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.errors import InvalidRequest, LoadFailed, ModelFileBroken
from engine.library.known import aliases, keep_alias
from engine.library.names import resolve_source
from helpers.models.gguf_writer import tiny_draft


@pytest.fixture
def models(isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    downloads, chosen = tmp_path / "downloads", tmp_path / "chosen"
    monkeypatch.setenv("OUTRIDER_MODELS", str(downloads))
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(variable, raising=False)
    settings = isolated_home / "config" / "outrider" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"models_folders": [str(chosen)]}), "utf-8")
    (downloads / "owner" / "Other-GGUF").mkdir(parents=True)
    chosen.mkdir()
    tiny_draft().write(chosen / "SmolLM2-135M-Instruct.Q4_1.gguf")
    for name in ("coder-1.5b-Q4_K_M", "coder-1.5b-Q8_0", "coder-0.5b-Q4_K_M", "mmproj-coder-1.5b-F16"):
        shutil.copyfile(chosen / "SmolLM2-135M-Instruct.Q4_1.gguf", chosen / f"{name}.gguf")
    for name in ("Other-Q8_0", "Other-Q2_K"):
        shutil.copyfile(chosen / "SmolLM2-135M-Instruct.Q4_1.gguf", downloads / "owner" / "Other-GGUF" / f"{name}.gguf")
    return chosen


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        ("135m", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        ("coder-1.5b", "coder-1.5b-Q4_K_M.gguf"),
        ("coder-1.5b:q8_0", "coder-1.5b-Q8_0.gguf"),
        ("coder-1.5b-Q8_0", "coder-1.5b-Q8_0.gguf"),
        ("other", "Other-Q8_0.gguf"),
        ("hf:owner/Other-GGUF:Q2_K", "Other-Q2_K.gguf"),
        ("owner/Other-GGUF", "Other-Q8_0.gguf"),
    ],
)
def test_a_part_of_the_name_is_enough(name: str, file: str, models: Path) -> None:
    assert resolve_source(name).name == file


def test_what_is_not_one_model_is_said(models: Path) -> None:
    with pytest.raises(ModelFileBroken, match=r"several models are called like this: coder-0\.5b-Q4_K_M, coder-1\.5b"):
        resolve_source("coder")
    with pytest.raises(ModelFileBroken, match="it has no Q2_K file"):
        resolve_source("smollm2:Q2_K")
    with pytest.raises(LoadFailed, match="no such file"):
        resolve_source("nothing-like-it")


def test_aliases(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alias", "coder", "coder-1.5b:Q8_0"]) == 0
    assert resolve_source("coder").name == "coder-1.5b-Q8_0.gguf"
    assert main(["alias"]) == 0
    assert capsys.readouterr().out == "coder = coder-1.5b:Q8_0\n"
    assert main(["alias", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"aliases": {"coder": "coder-1.5b:Q8_0"}}
    keep_alias("round", "coder")
    assert resolve_source("round").name == "coder-1.5b-Q8_0.gguf"
    keep_alias("circle", "circle")
    with pytest.raises(LoadFailed, match="no such file"):
        resolve_source("circle")
    keep_alias("circle", None)
    for wrong in ("a/b", "", "demo", "a b"):
        with pytest.raises(InvalidRequest):
            keep_alias(wrong, "x")
    assert main(["alias", "--remove", "coder"]) == 0
    assert list(aliases()) == ["round"]
    assert main(["alias", "--remove", "coder"]) == 2
    assert main(["alias", "nothing"]) == 2


@pytest.mark.usefixtures("models")
def test_what_is_missing_is_named_with_the_command_that_gets_it(capsys: pytest.CaptureFixture[str]) -> None:
    keep_alias("far", "hf:maker/far:Q4_0")
    for name in ("hf:maker/far:Q4_0", "far"):
        assert main(["generate", "-m", name, "x"]) == 2
        assert "maker/far:Q4_0 is not here. Get it: outrider-engine get maker/far:Q4_0" in capsys.readouterr().err
