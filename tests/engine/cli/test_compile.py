"""`outrider-engine compile`: the command that it runs, and its refusals. `make soak` runs it whole."""

import shlex
import sys
from importlib.metadata import version
from pathlib import Path

import llama_build
import pytest

from engine.cli.compile import compile_command
from engine.cli.main import main


def test_the_command_is_that_of_the_set_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "--print"]) == 0
    words = shlex.split(capsys.readouterr().out)
    assert words == compile_command()
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    assert words[-1] == f"llama-cpp-python=={version('llama-cpp-python')}"
    settings = dict(
        word.removeprefix("--config-settings=cmake.define.").split("=") for word in words if "define" in word
    )
    assert settings == llama_build.settings()
    assert Path(settings["CMAKE_PROJECT_ggml_INCLUDE"]).is_file()


def test_an_installed_program_refuses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr("engine.cli.main.check_installation", lambda: None)
    monkeypatch.setattr("engine.cli.main.run_hidden_command", lambda _argv: None)
    assert main(["compile"]) == 2
    assert "brings its own" in capsys.readouterr().err


def test_without_pip_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert main(["compile"]) == 2
    assert "ensurepip" in capsys.readouterr().err
