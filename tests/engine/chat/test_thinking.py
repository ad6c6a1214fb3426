"""Thinking: what a request asks for reaches the chat template in the words of its family."""

import json

import pytest

from engine.chat.inputs import TemplateInput
from engine.chat.render import Renderer
from engine.chat.template import encode_prompt
from engine.chat.thinking import thinking_input, thinking_of
from engine.cli.main import main
from engine.config import GenerationRequest
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.library.names import bundled_pair
from engine.messages.message import Message
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend, recite

EACH = "{% for m in messages %}{{ m.content }}{% endfor %}"
SWITCH = EACH + "{% if enable_thinking is defined and not enable_thinking %}-{% else %}+{% endif %}"
EFFORT = EACH + "{{ reasoning_effort | default('medium') }}"
PIECES = [letter.encode() for letter in "abcdefghijklmnopqrstuvwxyz+-! \n"]


def tokenizer(template: str) -> PieceTokenizer:
    return PieceTokenizer(PIECES, template)


def prompt(template: str, wanted: str) -> str:
    known, renderer = tokenizer(template), Renderer()
    given = thinking_input(wanted, known, renderer)  # type: ignore[arg-type]
    tokens = encode_prompt([Message("user", "hi")], known, raw=False, renderer=renderer, given=given)
    return b"".join(map(known.piece, tokens)).decode()


@pytest.mark.parametrize(("wanted", "text"), [("default", "hi+"), ("on", "hi+"), ("off", "hi-")])
def test_a_switch(wanted: str, text: str) -> None:
    assert thinking_of(tokenizer(SWITCH), Renderer()).switch == "on-off"
    assert prompt(SWITCH, wanted) == text


@pytest.mark.parametrize(("wanted", "text"), [("default", "himedium"), ("low", "hilow"), ("high", "hihigh")])
def test_an_effort(wanted: str, text: str) -> None:
    assert thinking_of(tokenizer(EFFORT), Renderer()).switch == "effort"
    assert prompt(EFFORT, wanted) == text


def test_what_a_template_cannot_do_is_said() -> None:
    renderer = Renderer()
    assert thinking_input("off", tokenizer(EACH), renderer) == TemplateInput()
    assert [str(note) for note in renderer.notes] == [
        "The chat template of this model has no switch that turns thinking on or off."
    ]
    for template, advice in ((EACH, "Omit thinking."), (SWITCH, "Use on or off.")):
        with pytest.raises(InvalidRequest, match=advice):
            thinking_input("high", tokenizer(template), Renderer())
    with pytest.raises(InvalidRequest, match="Thinking must be one of default, off, on, low, medium, high, not 'much'"):
        GenerationRequest("hi", thinking="much")  # type: ignore[arg-type]


def test_replies_and_questions_take_it() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(ScriptedBackend(PIECES, recite([0, 1], prompt_length=3), chat_template=SWITCH))
    assert decoder.thinking == "on-off"
    assert decoder.read_prompt([{"role": "user", "content": "hi"}], thinking="off").text == "hi-"
    assert decoder.fit([Message("user", "hi")], thinking="off").tokens == 3
    list(decoder.stream("hi", thinking="off", max_tokens=2))
    assert decoder.target is not None
    assert b"".join(map(decoder.target.tokenizer.piece, decoder.target.tokens)).startswith(b"hi-")
    result = decoder.generate("hi", raw=True, thinking="off", max_tokens=2)
    assert result.notes == ()


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--thinking", "off", "--max-tokens", "3", "--lookahead", "0", "--json", "Hi"]) == 0
    assert len(json.loads(capsys.readouterr().out)["notes"]) == 1
    assert main(["generate", "--thinking", "high", "--max-tokens", "3", "Hi"]) == 2
    assert "knows no thinking effort" in capsys.readouterr().err


def test_what_is_read_marks_control_tokens() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(bundled_pair()[0])
    read = decoder.read_prompt([Message("user", "Hi <|end|>")])
    marked = [read.text[begin:end] for begin, end in read.markers]
    decoder.close()
    assert "Hi <|end|>" in read.text
    assert marked
    assert marked.count("<|end|>") == read.text.count("<|end|>") - 1
