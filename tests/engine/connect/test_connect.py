"""Other programs are told of the server: as text, in their settings, and by a round trip."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import main
from engine.connect.programs import PROGRAMS, ServerPlace, json_with, toml_with, yaml_list_with, yaml_with
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.library.names import bundled_pair
from engine.server.guard import Limits
from helpers.decoding.serving import NAME, served
from helpers.models.pairs import open_files

NOBODY = "http://127.0.0.1:9"
PLACE = ServerPlace("http://127.0.0.1:8642", "demo", "")
SETTINGS = {
    "codex": (".codex/config.toml", 'model = "gpt"\n# mine\n[tui]\ntheme = "dark"\n'),
    "claude-code": (".claude/settings.json", '{"env": {"A": "b"}, "permissions": {"allow": ["x"]}}'),
    "continue": (
        ".continue/config.yaml",
        "name: Mine\nversion: 0.1\nmodels:\n  - name: Other\n    model: x\nrules:\n  - a\n",
    ),
    "zed": (".config/zed/settings.json", '{"theme": "One"}'),
    "aider": (".aider.conf.yml", "# mine\nmodel: gpt\ndark-mode: true\n"),
    "llm": (".config/io.datasette.llm/extra-openai-models.yaml", "- model_id: other\n  model_name: x\n"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "LLM_USER_PATH", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture(scope="module")
def decoder() -> Iterator[SpeculativeDecoder]:
    with open_files(*bundled_pair()) as loaded:
        yield loaded


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["connect", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_what_to_set_is_told_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    names = [program.name for program in PROGRAMS]
    assert names == ["codex", "claude-code", "continue", "cline", "zed", "aider", "open-webui", "llm"]
    code, out, err = run(capsys, *names, "--url", f"{NOBODY}/v1", "--model", "demo")
    assert (code, err) == (0, "")
    for program in PROGRAMS:
        part = out.partition(f"{program.title}")[2]
        assert NOBODY in part
    assert out.count("demo") > len(names)


def test_the_found_ones_are_told_by_themselves(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--url", NOBODY)
    assert (code, "None of the programs was found. Name some: codex, claude-code, continue" in err) == (2, True)
    (home / ".codex").mkdir()
    (home / "bin").mkdir()
    (home / "bin" / "aider").write_text("")
    (home / "bin" / "aider").chmod(0o700)
    code, out, _ = run(capsys, "--url", NOBODY)
    assert code == 0
    assert [title for title in ("Codex", "Claude", "Aider", "Zed") if title in out] == ["Codex", "Aider"]


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_written_beside_what_is_there(name: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, old = SETTINGS[name]
    path = home / where
    for there in (None, old):
        if there is not None:
            path.write_text(there)
        code, _, err = run(capsys, name, "--write", "--url", NOBODY, "--model", "demo")
        assert code == 0, err
        assert "127.0.0.1:9" in path.read_text()
        copies = list(path.parent.glob("*.before-outrider*"))
        assert [copy.read_text() for copy in copies] == ([] if there is None else [there])
    written = path.read_text()
    assert run(capsys, name, "--write", "--url", NOBODY, "--model", "demo")[0] == 0
    assert path.read_text() == written, "it is there already"
    assert len(list(path.parent.glob("*.before-outrider*"))) == 1
    if path.suffix == ".toml":
        told = tomllib.loads(written)
        assert (told["tui"], told["model"], told["model_provider"]) == ({"theme": "dark"}, "demo", "outrider")
        assert told["model_providers"]["outrider"]["wire_api"] == "responses"
        assert "# mine" in written
    elif path.suffix == ".json":
        assert json_of(old).items() - json_of(written).items() == set()
    else:
        yaml: Any = pytest.importorskip("yaml")
        told = yaml.safe_load(written)
        if name == "aider":
            assert told == {"model": "openai/demo", "dark-mode": True, "openai-api-base": f"{NOBODY}/v1",
                            "openai-api-key": "none"}  # fmt: skip
        else:
            items = told["models"] if name == "continue" else told
            assert [item.get("name", item.get("model_id")) for item in items] in (
                ["Other", "Outrider"], ["other", "outrider"],
            )  # fmt: skip
            assert name == "llm" or told["rules"] == ["a"]


def json_of(text: str) -> dict[str, str]:
    """The members of a JSON text that are no objects, by their paths."""
    found, left = {}, [("", json.loads(text))]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            left += [(f"{path}/{key}", inner) for key, inner in value.items()]
        else:
            found[path] = json.dumps(value)
    return found


def test_files_in_a_form_of_their_own_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    cases: list[tuple[str, Any]] = [
        ('{"a": 1, // mine\n}', lambda: json_with(path, {"b": 1})),
        ("[1]", lambda: json_with(path, {"b": 1})),
        ("a = ", lambda: toml_with(path, {}, "t", {})),
        ("[t] # mine\na = 1\n", lambda: toml_with(path, {}, "t", {"b": "c"})),
        ("model: {a: b}\nother:\n  - model: x\n- y\n", lambda: yaml_with(path, {"model": "x"})),
        ("model:\n  nested: a\n", lambda: yaml_with(path, {"model": "x"})),
        ("models: [{name: a}]\n", lambda: yaml_list_with(path, "models", {"name": "x"}, {})),
        ("other: a\n", lambda: yaml_list_with(path, "models", {"name": "x"}, {})),
        ("a: b\n---\nc: d\n", lambda: yaml_with(path, {"model": "x"})),
    ]
    for text, make in cases:
        path.write_text(text)
        with pytest.raises(InvalidRequest, match="Copy what to set by hand"):
            make()
        assert path.read_text() == text
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidRequest, match="no text"):
        json_with(path, {})


def test_wrong_wishes_are_one_sentence(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (("emacs",), "no program 'emacs'"),
        (("--write",), "Name the programs"),
        (("codex", "--url", "here"), "no address of a server"),
        (("codex", "--model", 'a"b'), "without quotes"),
        (("codex", "--test", "--url", NOBODY), "did not answer every program"),
    ):
        code, _, err = run(capsys, *arguments)
        assert code == 2
        assert said in err
    assert not (home / ".codex").exists()
    code, _, err = run(capsys, "cline", "--write", "--url", NOBODY)
    assert (code, "enter it by hand" in err) == (0, True)


def test_a_round_trip_is_made_as_each_program_does(
    decoder: SpeculativeDecoder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text("right\n")
    with served(decoder, Limits(key="right")) as url:
        for name in ("codex", "claude-code", "aider"):
            code, out, err = run(capsys, name, "--test", "--url", url, "--api-key-file", str(tmp_path / "key"))
            assert code == 0, err
            assert f"{NAME} answered in " in err
            assert NAME in out, "the server's own name of its model"
        code, _, err = run(capsys, "codex", "--test", "--url", url)
        assert code == 2
        assert "key" in err
