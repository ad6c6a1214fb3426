"""`outrider-engine parse`: a raw reply, parted; and what is said of bad input."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.chat import render
from engine.chat.reply_grammar import GrammarRequest, open_grammar
from engine.cli.main import main

TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
TOOLS = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}]
CALLING = """{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.tool_calls %}{%- for c in m.tool_calls %}
{{- '<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' }}
{{- c.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}{%- else %}{{- m.content }}{%- endif %}{{- '<|im_end|>\\n' }}{%- endfor %}
{%- if tools %}{{- tools | tojson }}{%- endif %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""


@pytest.fixture
def has_door() -> bool:
    render.keep_warm(main)
    try:
        return open_grammar(GrammarRequest(TEMPLATE)) is not None
    finally:
        render.release(main)


def parse(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reply: bytes, *options: str | Path
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(reply)))
    code = main(["parse", *map(str, options)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_thought_and_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], has_door: bool
) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text(CALLING.replace("assistant\\n", "assistant\\n<think>"), encoding="utf-8")
    reply = b"<think>so</think>Hello" if not has_door else b"so</think>Hello"
    code, out, err = parse(monkeypatch, capsys, reply, "--template", file, "--json")
    assert code == 0
    said: dict[str, Any] = json.loads(out)
    assert list(said) == ["reasoning", "content", "tool_calls"]
    if has_door:
        assert err == ""
    else:
        assert "think tags alone" in err
        assert said == {"reasoning": "so", "content": "Hello", "tool_calls": []}


def test_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], has_door: bool
) -> None:
    if not has_door:
        pytest.skip("llama.cpp was compiled without the door")
    file, tools = tmp_path / "chat.jinja", tmp_path / "tools.json"
    file.write_text(CALLING, encoding="utf-8")
    tools.write_text(json.dumps(TOOLS), encoding="utf-8")
    reply = b'Well.<tool_call>\n{"name": "look", "arguments": {"at": "you"}}\n</tool_call>'
    code, out, err = parse(monkeypatch, capsys, reply, "--template", file, "--tools", tools, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["tool_calls"] == [{"name": "look", "arguments": {"at": "you"}}]
    _, out, _ = parse(monkeypatch, capsys, reply, "--template", file, "--tools", tools)
    assert out == 'content:\nWell.\n\ntool calls:\nlook {"at": "you"}\n'


def test_a_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = parse(monkeypatch, capsys, b"Hello", "--target", "demo", "--json")
    assert (code, json.loads(out)) == (0, {"reasoning": "", "content": "Hello", "tool_calls": []})


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("{", "is not JSON"),
        ("{}", "must contain a JSON list"),
        ("[1]", 'Each function needs a "name"'),
        ('[{"name": "f", "parameters": 1}]', "must be a JSON schema"),
    ],
)
def test_bad_tools_are_one_sentence(
    tools: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    template, listed = tmp_path / "chat.jinja", tmp_path / "tools.json"
    template.write_text(TEMPLATE, encoding="utf-8")
    listed.write_text(tools, encoding="utf-8")
    code, out, err = parse(monkeypatch, capsys, b"Hello", "--template", template, "--tools", listed)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_bad_input_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "chat.jinja"
    template.write_text(TEMPLATE, encoding="utf-8")
    for reply, options, said in (
        (b"\xff", ("--template", template), "is not UTF-8 text"),
        (b"Hello", ("--template", tmp_path / "none"), "No such file"),
    ):
        code, out, err = parse(monkeypatch, capsys, reply, *options)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert said in err


def test_a_broken_template_is_said_and_tags_still_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], has_door: bool
) -> None:
    template = tmp_path / "chat.jinja"
    template.write_text("{% if", encoding="utf-8")
    code, out, err = parse(monkeypatch, capsys, b"<think>so</think>Hi", "--template", template, "--json")
    assert (code, json.loads(out)["reasoning"]) == (0, "so")
    assert "think tags alone" in err
    assert ("cannot use the chat template" in err) is has_door
