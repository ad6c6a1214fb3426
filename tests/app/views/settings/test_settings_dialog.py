"""What replies are asked with, as it is chosen in the settings: it is checked while it is typed, and kept."""

import json
from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.chat.intents import Continue
from app.state.settings.generation import GenerationChoice
from engine import Constraint, Message
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow
from helpers.window.settings_window import open_settings, put, saved, windows


def first_option(script: Script, name: str) -> object:
    """What the engine was last asked with."""
    return script.options[-1][name]


def test_where_nothing_was_chosen_it_is_greedy(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    exchange = window.ask("Hello")
    assert first_option(script, "temperature") == 0.0
    assert first_option(script, "max_tokens") is None
    assert script.prompts[-1] == (Message("user", "Hello"),)
    assert exchange.reply_id is not None
    dialog = open_settings(window)
    assert dialog.generation.drawing.text().startswith("Greedy, the default")
    assert dialog.generation.presets.picker.currentText() == "Greedy"


def test_what_is_typed_is_what_the_next_reply_is_asked_with(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script, settings=Settings(lookahead=4))
    page = open_settings(window).generation
    put(page, temperature="0,8", top_k="40", seed="7", max_tokens="99", stop="END\n\\n\\n", system="Be brief.")
    exchange = window.ask("Hello")
    asked = {"temperature": 0.8, "top_k": 40, "seed": 7, "max_tokens": 99, "stop": ("END", "\n\n")}
    assert {name: script.options[-1][name] for name in asked} == asked
    assert script.prompts[-1] == (Message("system", "Be brief."), Message("user", "Hello"))
    conversation = window.program.conversations.open
    assert conversation is not None
    assert exchange.reply_id is not None
    kept = conversation[exchange.reply_id].settings
    assert kept["lookahead"] == 4
    assert kept["system"] == "Be brief."
    assert GenerationChoice.from_mapping(kept).seed == 7
    put(page, temperature="0.5")
    window.ask("More")
    assert first_option(script, "temperature") == 0.5
    assert conversation[exchange.reply_id].settings == kept, "what wrote a reply stays with it"


def test_each_conversation_has_its_own(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    page = open_settings(window).generation
    put(page, temperature="0.8", system="First.")
    window.ask("One")
    first = window.program.conversations.open
    assert first is not None
    window.controller.new_chat()
    assert page.fields["temperature"].text == "0", "a new one begins with the defaults"
    put(page, temperature="0.3", system="Second.")
    window.ask("Two")
    window.controller.open(first.id)
    assert page.fields["temperature"].text == "0.8"
    assert page.fields["system"].text == "First."
    window.ask("Again")
    assert script.prompts[-1][0] == Message("system", "First.")
    window.controller.new_chat()
    window.ask("Three")
    assert first_option(script, "temperature") == 0.0
    assert script.prompts[-1] == (Message("user", "Three"),)
    # and all of it after a restart
    assert window.close()
    again = open_window(script)
    again.controller.open(first.id)
    again.ask("After")
    assert first_option(script, "temperature") == 0.8
    assert script.prompts[-1][0] == Message("system", "First.")


def test_what_was_chosen_before_the_first_question_is_not_lost(open_window: OpenWindow) -> None:
    window = open_window(Script())
    put(open_settings(window).generation, temperature="0.8", system="First.")
    window.wait(lambda: saved(window).next_sampling)
    assert window.close()
    script = Script()
    again = open_window(script)
    assert open_settings(again).generation.fields["system"].text == "First."
    again.ask("Hello")
    assert first_option(script, "temperature") == 0.8
    assert script.prompts[-1][0] == Message("system", "First.")
    again.wait(lambda: saved(again).next_sampling == {})


def test_nor_is_it_when_the_reply_of_another_chat_ends(open_window: OpenWindow) -> None:
    window = open_window(Script(reply="All right. " * 20, round_s=0.02))
    exchange = window.send("Hello")
    window.wait(lambda: exchange.reply)
    window.main.new_chat_wanted.emit()
    put(open_settings(window).generation, temperature="0.8")
    window.wait(lambda: exchange.ended and not window.program.conversations.list.writing)
    assert window.controller.choices.own.temperature == 0.8
    assert saved(window).next_sampling


def test_new_conversations_begin_with_the_defaults(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    window.ask("Before")
    page = open_settings(window).generation
    page.new.click()
    put(page, temperature="0.9", system="Always.")
    assert page.own.isEnabled()
    window.ask("The same conversation")
    assert first_option(script, "temperature") == 0.0, "it has its own"
    window.controller.new_chat()
    window.ask("Another")
    assert first_option(script, "temperature") == 0.9
    assert script.prompts[-1][0] == Message("system", "Always.")
    window.wait(lambda: saved(window).sampling["temperature"] == 0.9)
    page.own.click()
    assert page.fields["temperature"].text == "0.9"


def test_a_reply_that_is_continued_takes_what_is_chosen_now(open_window: OpenWindow) -> None:
    script = Script("One two three four five six seven eight.", round_s=0.05)
    window = open_window(script)
    exchange = window.send("Hello")
    window.wait(lambda: exchange.reply)
    window.controller.cancel()
    window.ended(exchange)
    put(open_settings(window).generation, temperature="0.8")
    window.controller.carry_out(Continue(exchange))
    window.ended(exchange)
    assert first_option(script, "temperature") == 0.8
    conversation = window.program.conversations.open
    assert conversation is not None
    assert exchange.reply_id is not None
    assert conversation[exchange.reply_id].settings["temperature"] == 0.8


def test_it_goes_with_an_export(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    put(open_settings(window).generation, temperature="0.8", system="First.", stop="END")
    window.ask("One")
    conversation = window.program.conversations.open
    assert conversation is not None
    window.export(conversation.id, "json", tmp_path / "one.json")
    assert window.main.notice.text.text() == "Exported as one.json"
    told = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert told["settings"]["system"] == "First."
    window.import_(tmp_path / "one.json")
    window.ask("Two")
    assert window.program.conversations.open is not conversation
    assert first_option(script, "stop") == ("END",)
    # one of an older version has none: it is asked as new ones are
    del told["settings"]
    (tmp_path / "old.json").write_text(json.dumps(told), encoding="utf-8")
    window.import_(tmp_path / "old.json")
    window.ask("Three")
    assert first_option(script, "temperature") == 0.0


def test_what_makes_no_sense_is_said_beside_the_field(open_window: OpenWindow, qtbot: QtBot) -> None:
    script = Script()
    window = open_window(script)
    page = open_settings(window).generation
    put(page, temperature="0.8")
    field = page.fields["temperature"]
    for text in ("0.8x", "", "-1", "101", "nan"):
        put(page, temperature=text)
        assert field.error is not None
        assert field.hint.text() == "Enter a number from 0 to 100."
        assert field.hint.objectName() == "fieldError"
        assert field.edit.accessibleDescription() == field.hint.text()
    put(page, top_k="7")
    assert field.text == "nan", "what is wrong stays to be put right"
    window.ask("Hello")
    assert first_option(script, "temperature") == 0.8, "the last that made sense"
    assert first_option(script, "top_k") == 7
    put(page, temperature="0.70")
    assert field.error is None
    assert field.hint.objectName() == "hint"
    assert field.text == "0.70", "not changed under the hands of who types"
    put(page, temperature="0.7x")
    dialog = windows(window).dialog
    assert dialog is not None
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert not dialog.isVisible()
    open_settings(window)
    assert field.text == "0.7"
    assert field.error is None


def test_the_format_is_a_schema_and_says_what_is_wrong_with_one(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    page = open_settings(window).generation
    field = page.fields["schema"]
    put(page, schema="json")
    window.ask("Hello")
    assert script.options[-1]["constraint"] == Constraint.json()
    put(page, schema='{"not": {}}')
    assert "keywords that cannot be enforced: not" in field.hint.text()
    window.ask("And now?")
    assert script.options[-1]["constraint"] == Constraint.json(), "the last that made sense"
    put(page, schema='{"type": "object"}')
    window.ask("And now?")
    assert script.options[-1]["constraint"] == Constraint("json-schema", '{"type": "object"}')
    put(page, schema="")
    window.ask("Free text.")
    assert "constraint" not in script.options[-1]


def test_reset_to_defaults(open_window: OpenWindow) -> None:
    window = open_window(Script())
    dialog = open_settings(window)
    page = dialog.generation
    page.new.click()
    put(page, temperature="0.9")
    page.own.click()
    put(page, temperature="0.3", top_k="x", system="Mine.")
    dialog.reset_button.click()
    assert page.fields["temperature"].text == "0.9", "of a conversation: as new ones are"
    assert page.fields["top_k"].error is None
    assert page.fields["system"].text == ""
    page.new.click()
    dialog.reset_button.click()
    assert page.fields["temperature"].text == "0"
    assert window.controller.choices.defaults == GenerationChoice()
