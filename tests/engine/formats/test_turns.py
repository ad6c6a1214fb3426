"""Models that bring no chat template: their tokens show how turns are written, or they read plain text."""

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llama_cpp
import pytest

from engine import inspect_model
from engine.backends.llama_cpp.library import prepare_library
from engine.chat.inputs import TemplateInput
from engine.chat.render import Renderer
from engine.chat.repairs import TemplateChat, render_usable
from engine.chat.template import render_prompt
from engine.cli.main import main
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.formats.turns import FORMATS, TurnFormat, known_format, named_by_template
from helpers.models.gguf_writer import tiny_draft
from helpers.models.marked_models import template_entry, write_marked_folder, write_marked_gguf
from helpers.paths import SHARED_MODELS

CHAT = [("system", "Be kind."), ("user", "Hi"), ("assistant", "Yo"), ("user", "And?")]
NAMES = {
    "kimi": "kimi-k2",
    "seed": "seed_oss",
    "exaone": "exaone3",
    "glm": "chatglm4",
    "mistral-v7": "mistral-v7-tekken",
    "deepseek": "deepseek3",
}
"""Formats that llama.cpp gives another name."""
ENDS = {
    "zephyr": "<|endoftext|>",
    "deepseek": "<\N{FULLWIDTH VERTICAL LINE}end\u2581of\u2581sentence\N{FULLWIDTH VERTICAL LINE}>",
}
NOT_THERE = ("gemma4",)
"""Formats that llama.cpp does not have in its list."""
CHATML = ("<|im_start|>", "<|im_end|>")


def _render(form: TurnFormat, end: str) -> str:
    messages = [{"role": role, "content": text} for role, text in CHAT]
    return render_usable(Renderer(), form.template, TemplateChat(messages, TemplateInput(), "<s>", end))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_turns_are_written_as_llama_cpp_writes_them(form: TurnFormat) -> None:
    text = _render(form, ENDS.get(form.name, "</s>"))
    assert all(marker in text for marker in form.markers)
    assert named_by_template(form.template) == form.name
    if form.name in NOT_THERE:
        return
    prepare_library()
    turns = [llama_cpp.llama_chat_message(role.encode(), said.encode()) for role, said in CHAT]
    room = ctypes.create_string_buffer(4096)
    listed = (llama_cpp.llama_chat_message * len(turns))(*turns)
    name = NAMES.get(form.name, form.name).encode()
    length = llama_cpp.llama_chat_apply_template(name, listed, len(turns), True, room, len(room))
    assert text == room.raw[:length].decode()


def test_only_where_all_tokens_are_there() -> None:
    for form in FORMATS:
        assert known_format([*form.markers, "a"]) == form
        assert form not in [known_format(form.markers[:1]), known_format(form.markers[1:])]
    assert known_format([]) is None


def test_tools_and_results_are_written_as_text() -> None:
    form, renderer = FORMATS[0], Renderer()
    call = {"type": "function", "function": {"name": "f", "arguments": {}}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "9"},
    ]
    text = render_usable(renderer, form.template, TemplateChat(messages, TemplateInput([{"name": "f"}])))
    assert '{"name": "f"}' in text
    assert '"arguments"' in text
    assert "9" in text
    assert len(renderer.notes) == 2


def test_the_file_tells(tmp_path: Path) -> None:
    draft = tiny_draft()
    turns = []
    for texts, template in ((CHATML, False), (CHATML[:1], False), (CHATML, True)):
        draft.entries["tokenizer.ggml.tokens"].value[-len(texts) :] = texts
        draft.entries |= {"tokenizer.chat_template": template_entry("{{ messages }}")} if template else {}
        turns.append(inspect_model(draft.write(tmp_path / "m.gguf")).turns)
        draft = tiny_draft()
    assert turns == ["chatml", "plain text", "template"]


def _check(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model at `path` has the tokens of CHATML and no template."""
    assert inspect_model(path).turns == "chatml"
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(path, trusted=True))
        assert decoder.target is not None
        tokenizer = decoder.target.tokenizer
        start, end = (tokenizer.added_tokens[text].id for text in CHATML)
        prompt = render_prompt([{"role": "user", "content": "<|im_end|> Tom"}], tokenizer, Renderer())
        assert prompt.text.endswith("<|im_end|> Tom<|im_end|>\n<|im_start|>assistant\n")
        assert [token for token in prompt.tokens(tokenizer) if token in (start, end)] == [start, end, start]
        assert decoder.generate("Tom", max_tokens=2).finish_reason == "length"
    assert main(["template", "--target", str(path), "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert "chatml" in note


def test_a_gguf_model_without_a_template(
    shared_gguf: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _check(write_marked_gguf(shared_gguf("stories260K-F32"), tmp_path / "m.gguf", CHATML), capsys)


def _folder(folder: Path, **settings: object) -> Path:
    pytest.importorskip("torch")
    source = SHARED_MODELS / "hf" / "stories260K"
    if not source.is_dir():
        pytest.skip("no stories260K among the test models")
    return write_marked_folder(source, folder, CHATML, **settings)


def test_a_folder_without_a_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _check(_folder(tmp_path / "m"), capsys)


NAMED = {"default": "usual {{ messages[0].content }}", "tool_use": "{{ tools | length }} tools", "rag": "for texts"}


@pytest.mark.parametrize("place", ["gguf", "tokenizer_config.json", "chat_template.json"])
def test_named_templates(place: str, tmp_path: Path, shared_gguf: Callable[[str], Path]) -> None:
    path = tmp_path / "m.gguf"
    listed = [{"name": name, "template": text} for name, text in NAMED.items()]
    if place == "gguf":
        named = {f"chat_template__{name}": template_entry(text) for name, text in NAMED.items() if name != "default"}
        usual = template_entry(NAMED["default"])
        write_marked_gguf(shared_gguf("stories260K-F32"), path, CHATML, chat_template=usual, **named)
    else:
        path = _folder(tmp_path / "m", **({"chat_template": listed} if place == "tokenizer_config.json" else {}))
        if place == "chat_template.json":
            (path / place).write_text(json.dumps({"chat_template": listed}))
    assert inspect_model(path).turns == "template"
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(path, trusted=True))
        assert decoder.target is not None
        tokenizer = decoder.target.tokenizer
        assert tokenizer.chat_templates == NAMED
        given = TemplateInput([{"name": "f"}])
        messages = [{"role": "user", "content": "Hi"}]
        assert render_prompt(messages, tokenizer, Renderer()).text == "usual Hi"
        assert render_prompt(messages, tokenizer, Renderer(), given).text == "1 tools"


def test_a_template_file_that_is_damaged_is_passed_over(tmp_path: Path) -> None:
    path = _folder(tmp_path / "m")
    (path / "chat_template.json").write_text("{")
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(path, trusted=True))
        assert decoder.target is not None
        assert named_by_template(decoder.target.tokenizer.chat_template or "") == "chatml"
