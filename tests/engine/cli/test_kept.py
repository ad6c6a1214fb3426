"""Options out of the settings file: for the commands that have them, and behind what is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.cli.arguments.kept import settings_place, with_kept
from engine.cli.main import main, make_parser
from engine.errors import InvalidRequest


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    place = settings_place()
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def kept(*argv: str) -> list[str]:
    return with_kept(argv, make_parser(argv[:1]))


def test_options_stand_in_front_of_what_is_written(place: Path) -> None:
    assert kept("alias", "x") == ["alias", "x"]
    told: dict[str, Any] = {"*": {"json": True, "limit": "5M", "replace": False}, "recommend": {"memory": "16G"}}
    place.write_text(json.dumps(told))
    assert kept("recommend", "--memory", "8G") == ["recommend", "--json", "--memory=16G", "--memory", "8G"]
    assert kept("get", "a/b") == ["get", "--json", "--limit=5M", "a/b"]
    assert kept("--version") == ["--version"]
    assert kept("none") == ["none"]


def test_it_holds_for_a_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place.write_text('{"recommend": {"memory": "1G"}}')
    assert main(["recommend"]) == 0
    assert "No model of the catalogue fits" in capsys.readouterr().out
    assert main(["recommend", "--memory", "16G", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory"] == 16 * 2**30


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"get": 3}', '{"get": {"none": 1}}', '{"get": {"limit": {}}}', '{"get": {"limit": [true]}}']
)
def test_what_is_wrong_with_it_is_said(place: Path, content: str) -> None:
    place.write_text(content)
    with pytest.raises(InvalidRequest, match=r"engine\.json"):
        kept("get", "a/b")
