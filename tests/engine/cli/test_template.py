"""`template`, for people who debug chat templates."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.chat.render import Renderer
from engine.chat.thinking import Thinking, find_thinking, opens_thought
from engine.cli.main import main
from helpers.upstream import needs_source, template_named

_EACH = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
_OWN = _EACH + "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}<think>"


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["template", "--json", *arguments]) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.fixture
def template(tmp_path: Path) -> str:
    """A template that thinks unless it is told not to."""
    path = tmp_path / "own.jinja"
    path.write_text(_OWN, encoding="utf-8")
    return str(path)


def test_a_template_alone(template: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = _json(capsys, "--template", template)
    assert report == {
        "prompt": "<user>Hello!<think>",
        "tokens": None,
        "thinking": {"switch": "on-off", "open": True},
        "notes": [],
    }
    messages = tmp_path / "messages.json"
    messages.write_text('[{"role": "user", "content": "é"}, {"role": "assistant", "content": "Yes"}]', "utf-8")
    options = ("--messages", str(messages), "--thinking", "off", "--set", "bos_token=<s>")
    report = _json(capsys, "--template", template, *options)
    assert report["prompt"] == "<s><user>é<assistant>Yes<think></think><think>"
    assert report["notes"] == []
    assert _json(capsys, "--template", template, "--thinking", "low")["notes"]
    assert _json(capsys, "--template", template, "--set", "enable_thinking=false")["prompt"].endswith("</think><think>")


def test_tools_reach_the_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template, tools = tmp_path / "t.jinja", tmp_path / "tools.json"
    template.write_text("{{ tools | tojson }}")
    tools.write_text('[{"type": "function", "function": {"name": "f"}}]')
    report = _json(capsys, "--template", str(template), "--tools", str(tools))
    assert report["prompt"] == tools.read_text()


def test_a_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages = tmp_path / "messages.json"
    messages.write_text('[{"role": "user", "content": "Hi <|end|>"}, {"role": "assistant", "content": "So"}]')
    report = _json(capsys, "--target", "demo", "--messages", str(messages))
    assert report["prompt"] == "<|begin|><|user|>Hi <|end|><|end|><|assistant|>So"
    assert report["tokens"].count(4) == 1, "one end of a turn"
    assert len(report["notes"]) == 1
    assert main(["template", "--target", "demo", "--messages", str(messages)]) == 0
    shown = capsys.readouterr()
    assert shown.out == "⟦<|begin|>⟧⟦<|user|>⟧Hi <|end|>⟦<|end|>⟧⟦<|assistant|>⟧So\n"
    assert "goes on with it" in shown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Pass --target T or --template FILE"),
        (["--template", "/no/such.jinja"], "Cannot read /no/such.jinja"),
        (["--template", "OWN", "--messages", "OWN"], "is not JSON"),
        (["--template", "OWN", "--set", "x"], "--set takes NAME=VALUE"),
        (["--template", "OWN", "--set", "messages=[]"], "Use --messages"),
        (["--target", "/no/such.gguf"], "there is no such file"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], said: str, template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["template", *(template if each == "OWN" else each for each in arguments)]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert not shown.out


def test_what_a_value_does() -> None:
    both = Thinking("effort", {"enable_thinking": "on-off", "reasoning_effort": "effort"})
    assert both.arguments("low") == {"enable_thinking": True, "reasoning_effort": "low"}
    assert both.arguments("off") == {"enable_thinking": False}
    assert Thinking("effort", {"reasoning_effort": "effort"}).arguments("off") is None
    assert Thinking().arguments("on") is None


@needs_source
@pytest.mark.parametrize(
    ("name", "switch", "opened"),
    [
        ("Qwen-Qwen3-0.6B", "on-off", False),
        ("openai-gpt-oss", "effort", False),
        ("deepseek-ai-DeepSeek-V3.1", "on-off", False),
        ("Qwen-QwQ", "on-off", False),
        ("Qwen3.5-4B", "on-off", True),
        ("MiniMax-M2", "none", True),
        ("MiniMax-M3", "on-off", False),
        ("Seed-OSS", "on-off", False),
        ("google-gemma-2", "none", False),
        ("SmolLM3", "on-off", False),
    ],
)
def test_families(name: str, switch: str, opened: bool) -> None:
    template, renderer = template_named(name), Renderer()

    def render(arguments: Any) -> str:
        variables = {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True, **arguments}
        return renderer.render_variables(template, variables)

    assert find_thinking(template, render).switch == switch
    assert opens_thought(render({})) == opened


@pytest.mark.parametrize(
    ("prompt", "opened"),
    [
        ("<|open|>think<|sep|>", True),
        ("<|START_THINKING|>", True),
        ("<|START_THINKING|><|END_THINKING|>", False),
        ("<think>\n\n</think>\n\n", False),
        ("assistant\n<think>\n", True),
        ("<seed:think>", True),
    ],
)
def test_markers_at_the_end_of_a_prompt(prompt: str, opened: bool) -> None:
    assert opens_thought(prompt) == opened
