"""A chat with thoughts, tool calls, results and images in the window: imported, asked on, edited, reopened."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.state.chat.intents import Edit, Regenerate
from app.state.chat.transcript import Exchange
from engine import GenerationResult, ImagePart, Message, OtherField, TextPart
from helpers.chats import FIVE_TURNS
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder
from helpers.window.app_window import OpenWindow, Window

READ = tuple(Message.from_mapping(each) for each in FIVE_TURNS)


def _exchange(window: Window, place: int) -> Exchange:
    exchange = window.controller.transcript.entries[place]
    assert isinstance(exchange, Exchange)
    return exchange


def test_the_model_reads_an_imported_chat_as_it_was(open_window: OpenWindow, tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(FIVE_TURNS), encoding="utf-8")
    script = Script()
    window = open_window(script)
    window.import_(path)
    window.ask("And now?")
    assert script.prompts[-1] == (*READ, Message("user", "And now?"))
    answered = script.prompts[-1] + (Message("assistant", _exchange(window, 5).reply),)
    assert window.close()

    script = Script()
    window = open_window(script)
    window.ask("Still there?")
    assert script.prompts[-1] == (*answered, Message("user", "Still there?")), "it was reopened as it was"

    picture = _exchange(window, 2)
    window.controller.carry_out(Regenerate(picture))
    window.ended(_exchange(window, 2))
    before = READ[: READ.index(picture.question_messages[0])]
    assert script.prompts[-1] == (*before, *picture.question_messages)

    window.controller.carry_out(Edit(_exchange(window, 2), "What is that?"))
    window.ended(_exchange(window, 2))
    image = ImagePart("data:image/png;base64,AAAA", "low")
    asked = Message("user", [TextPart("What is that?"), image, OtherField("name", "Ann")])
    assert script.prompts[-1] == (*before, asked), "what lies beside the text of a question goes with it"


def test_what_the_engine_notes_of_prompts_is_shown_once(
    open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ScriptedDecoder._result

    def noted(decoder: ScriptedDecoder, *told: Any) -> GenerationResult:
        return replace(plain(decoder, *told), notes=("It was joined.",))

    monkeypatch.setattr(ScriptedDecoder, "_result", noted)
    window = open_window(Script())
    for question in ("Who?", "Why?"):
        window.ask(question)
    shown = [window.view(_exchange(window, place)).summary.text().splitlines()[1:] for place in (0, 1)]
    assert shown == [["It was joined."], []]
