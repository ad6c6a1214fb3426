"""The settings as they are used: what is typed is checked, takes effect with the next reply, and is there again."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.settings import Settings, SettingsFile
from app.settings_windows import SettingsWindows
from app.state.generation import GenerationChoice
from app.state.transcript import Exchange
from app.views.settings_dialog import SettingsDialog
from app.views.settings_generation import GenerationPage
from app.views.settings_shelf import ShelfBar
from engine import Message
from helpers.app_window import OpenWindow, Window
from helpers.scripted_decoder import Script


def windows(window: Window) -> SettingsWindows:
    """What opens the settings."""
    found = window.main.findChild(SettingsWindows)
    assert isinstance(found, SettingsWindows)
    return found


def open_settings(window: Window, command: str = "chat.generation") -> SettingsDialog:
    """Open the settings as a person does."""
    window.main.commands.run(command)
    dialog = windows(window).dialog
    assert dialog is not None
    assert dialog.isVisible()
    return dialog


def put(page: GenerationPage, **texts: str) -> None:
    """Type something into fields."""
    for name, text in texts.items():
        edit = page.fields[name].edit
        if isinstance(edit, QLineEdit):
            edit.setText(text)
        else:
            edit.setPlainText(text)


def saved(window: Window) -> Settings:
    """What is in the file now."""
    path = window.parts.settings_file.path
    assert path is not None
    return SettingsFile(path).load()


def first_option(script: Script, name: str) -> object:
    """What the engine was last asked with."""
    return script.options[-1][name]


# What a reply is asked with -----------------------------------------------------------------------------------------


def test_where_nothing_was_chosen_it_is_greedy(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    exchange = window.ask("Hello")
    assert first_option(script, "temperature") == 0.0
    assert first_option(script, "max_tokens") is None
    assert script.prompts[-1] == (Message("user", "Hello"),)
    assert exchange.reply_id is not None
    dialog = open_settings(window)
    assert dialog.generation.drawing.text().startswith("Greedy, as Outrider does it unless you choose otherwise")
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
    conversation = window.parts.conversations.open
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
    first = window.parts.conversations.open
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
    window.controller.go_on(exchange)
    window.ended(exchange)
    assert first_option(script, "temperature") == 0.8
    conversation = window.parts.conversations.open
    assert conversation is not None
    assert exchange.reply_id is not None
    assert conversation[exchange.reply_id].settings["temperature"] == 0.8


def test_it_goes_with_an_export(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    put(open_settings(window).generation, temperature="0.8", system="First.", stop="END")
    window.ask("One")
    conversation = window.parts.conversations.open
    assert conversation is not None
    window.parts.conversations.export(conversation.id, "json", tmp_path / "one.json")
    told = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert told["settings"]["system"] == "First."
    window.controller.bring_in(tmp_path / "one.json")
    window.ask("Two")
    assert window.parts.conversations.open is not conversation
    assert first_option(script, "stop") == ("END",)
    # one of an older version has none: it is asked as new ones are
    del told["settings"]
    (tmp_path / "old.json").write_text(json.dumps(told), encoding="utf-8")
    window.controller.bring_in(tmp_path / "old.json")
    window.ask("Three")
    assert first_option(script, "temperature") == 0.0


# Checked while it is typed ------------------------------------------------------------------------------------------


def test_what_makes_no_sense_is_said_beside_the_field(open_window: OpenWindow, qtbot: QtBot) -> None:
    script = Script()
    window = open_window(script)
    page = open_settings(window).generation
    put(page, temperature="0.8")
    field = page.fields["temperature"]
    for text in ("0.8x", "", "-1", "101", "nan"):
        put(page, temperature=text)
        assert field.error is not None
        assert field.hint.text() == "Write a number from 0 to 100."
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


# Presets and system prompts -----------------------------------------------------------------------------------------


def pick(bar: ShelfBar, name: str) -> None:
    """Choose a line, as the mouse does."""
    row = bar.picker.findText(name)
    assert row >= 0
    bar.picker.setCurrentIndex(row)
    bar.picker.activated.emit(row)


def call_it(bar: ShelfBar, button: QAbstractButton, name: str) -> None:
    """Press Save or Rename, and write a name."""
    button.click()
    bar.name.setText(name)
    bar.use.click()


def test_presets_are_saved_renamed_and_deleted(open_window: OpenWindow) -> None:
    window = open_window(Script())
    page = open_settings(window).generation
    bar = page.presets
    pick(bar, "Creative")
    assert page.fields["temperature"].text == "1"
    assert not bar.delete.isEnabled(), "it comes with the program"
    put(page, temperature="0.65", seed="3")
    assert bar.picker.currentText() == ""
    assert bar.picker.placeholderText() == "Own values"
    bar.save.click()
    bar.name.setText("greedy")
    assert not bar.use.isEnabled()
    assert bar.said.text() == "There is one of this name."
    bar.name.setText("Mine")
    bar.use.click()
    assert bar.picker.currentText() == "Mine"
    call_it(bar, bar.rename, "Yours")
    assert bar.picker.currentText() == "Yours"
    window.wait(lambda: [each["name"] for each in saved(window).presets] == ["Yours"])
    assert saved(window).presets[0]["seed"] == 3
    pick(bar, "Greedy")
    assert page.fields["temperature"].text == "0"
    pick(bar, "Yours")
    assert page.fields["seed"].text == "3"
    assert window.close()
    again = open_window(Script())
    bar = open_settings(again).generation.presets
    pick(bar, "Yours")
    bar.delete.click()
    assert bar.picker.findText("Yours") < 0
    again.wait(lambda: saved(again).presets == [])


def test_a_library_of_system_prompts(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    page = open_settings(window).generation
    bar = page.prompts
    assert not bar.save.isEnabled(), "there is none to be saved"
    pick(bar, "Brief")
    assert page.fields["system"].text == "Answer briefly and to the point."
    put(page, system="Talk like a pirate.")
    call_it(bar, bar.save, "Pirate")
    pick(bar, "Brief")
    pick(bar, "Pirate")
    window.ask("Hello")
    assert script.prompts[-1][0] == Message("system", "Talk like a pirate.")
    window.wait(lambda: saved(window).prompts == [{"name": "Pirate", "text": "Talk like a pirate."}])


def test_presets_go_to_another_machine(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    page = open_settings(window).generation
    put(page, temperature="0.65")
    call_it(page.presets, page.presets.save, "Mine")
    opener = windows(window)
    opener.put_out(page.presets, tmp_path / "mine.json")
    assert page.presets.said.text() == f"Exported to {tmp_path / 'mine.json'}."
    page.presets.delete.click()
    opener.bring_in(page.presets, tmp_path / "mine.json")
    assert page.presets.said.text() == "Imported: 1."
    assert page.presets.picker.currentText() == "Mine"
    whole = (tmp_path / "mine.json").read_bytes()
    before = page.presets.shelf.to_list()
    for name, data, says in (
        ("cut.json", whole[:-20], "it is no JSON, or damaged"),
        ("wrong.json", whole.replace(b"0.65", b"650"), "in entry 1 “Temperature” makes no sense"),
        ("prompts.json", whole.replace(b"presets", b"prompts"), "it holds something else"),
        ("newer.json", whole.replace(b'"version": 1', b'"version": 2'), "a newer version of Outrider wrote it"),
    ):
        (tmp_path / name).write_bytes(data)
        opener.bring_in(page.presets, tmp_path / name)
        assert page.presets.said.text().startswith(f"Cannot import {name}: {says}")
        assert page.presets.said.text().endswith("Nothing was changed.")
        assert page.presets.shelf.to_list() == before
    opener.bring_in(page.presets, tmp_path / "none.json")
    assert page.presets.said.text().startswith("Cannot read none.json")
    opener.put_out(page.presets, tmp_path / "no folder" / "mine.json")
    assert page.presets.said.text().startswith("Cannot write mine.json")


# The other pages ----------------------------------------------------------------------------------------------------


def choose(picker: QComboBox, row: int) -> None:
    """Choose a line, as the mouse does."""
    picker.setCurrentIndex(row)
    picker.activated.emit(row)


def test_speculation_is_the_same_for_all(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script, settings=Settings(lookahead=4))
    dialog = open_settings(window, "program.settings")
    fields = dialog.speculation.fields
    choose(fields["method"].picker, 2)
    choose(fields["acceptance"].picker, 1)
    choose(fields["overlap"].picker, 2)
    window.ask("Hello")
    asked = {"method": "ngram", "acceptance": "exact", "overlap": "off"}
    assert {name: script.options[-1][name] for name in asked} == asked
    window.controller.new_chat()
    window.ask("Hello")
    assert {name: script.options[-1][name] for name in asked} == asked
    window.wait(lambda: (saved(window).method, saved(window).overlap) == ("ngram", "off"))
    choose(fields["method"].picker, 3)
    window.ask("Plainly")
    assert script.lookaheads[-1] == 0
    dialog.tabs.setCurrentIndex(2)
    dialog.reset_button.click()
    assert fields["method"].picker.currentText() == "Automatic"
    assert window.controller.choices.own == GenerationChoice()


def test_the_general_page_takes_effect_at_once(open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(theme="light"))
    dialog = open_settings(window, "program.settings")
    general = dialog.general
    choose(general.theme, 2)
    assert window.parts.theme.mode == "dark"
    size = window.main.font().pointSizeF()
    choose(general.font_size, general.font_size.findText("20 pt"))
    assert window.parts.theme.points == 20
    assert general.font_size.currentText() == "20 pt"
    choose(general.notify, 1)
    choose(general.language, general.language.findText("Deutsch"))
    window.wait(lambda: (saved(window).theme, saved(window).font_points, saved(window).notify) == ("dark", 20, False))
    assert saved(window).language == "de"
    dialog.tabs.setCurrentIndex(0)
    dialog.reset_button.click()
    window.wait(lambda: saved(window) == window.parts.settings)
    assert (saved(window).theme, saved(window).font_points, saved(window).notify) == ("system", 0, True)
    assert saved(window).language == ""
    assert window.main.font().pointSizeF() == size


def test_every_control_has_a_name_and_a_place(open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(theme="light"))
    dialog = open_settings(window)
    dialog.resize(700, 460)
    for index in range(dialog.tabs.count()):
        dialog.tabs.setCurrentIndex(index)
        window.wait(lambda: dialog.tabs.currentWidget().isVisible())
        page = dialog.tabs.currentWidget()
        for widget in page.findChildren(QWidget):
            if isinstance(widget, QAbstractButton | QLineEdit | QPlainTextEdit | QComboBox) and widget.isVisible():
                text = widget.text() if isinstance(widget, QAbstractButton) else ""
                assert widget.accessibleName() or text, widget
                assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget
                right = widget.mapTo(page, widget.rect().topRight()).x()
                assert right < page.width(), "nothing is cut at the side"


# The file -----------------------------------------------------------------------------------------------------------


def test_a_damaged_file_is_told_in_the_window(open_window: OpenWindow, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_bytes(b'{"theme": "dark"')
    window = open_window(Script())
    assert window.parts.settings.theme == "system"
    (said,) = window.notices()
    assert said.startswith("The settings file was damaged: the usual settings are used.")
    assert str(tmp_path / "settings.json.damaged") in said
    assert (tmp_path / "settings.json.damaged").read_bytes() == b'{"theme": "dark"'
    assert window.ask("Hello").status == "done"


def test_settings_that_cannot_be_saved_are_told(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    (tmp_path / "file").touch()
    window.parts.settings_file.path = tmp_path / "file" / "settings.json"
    window.parts.settings.theme = "dark"
    window.wait(window.main.notice.isVisible)
    assert window.main.notice.text.text().startswith("The settings cannot be saved")


def test_nothing_of_it_is_made_before_it_is_asked_for(open_window: OpenWindow) -> None:
    window = open_window(Script())
    assert windows(window).dialog is None
    assert isinstance(windows(window), QObject)


# Real models --------------------------------------------------------------------------------------------------------


ASKED = "Tell me about something else."


def once_more(window: Window, **texts: str) -> Exchange:
    """Have the question answered again, with something else in the fields."""
    dialog = windows(window).dialog
    assert dialog is not None
    put(dialog.generation, **texts)
    window.controller.regenerate(window.first())
    exchange = window.first()
    window.ended(exchange, 60_000)
    return exchange


@pytest.mark.timeout(120)
def test_real_sampling(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    put(open_settings(window).generation, temperature="0.8", seed="11", max_tokens="24")
    first = window.ask(ASKED, 60_000)
    assert first.finish_reason == "length"
    assert window.stats(first).emitted == 24
    assert once_more(window).reply == first.reply, "the same seed"
    assert once_more(window, seed="12").reply != first.reply, "another seed"
    assert once_more(window, temperature="0").reply == once_more(window, seed="11").reply, "greedy needs no seed"
    # a stop string ends it, and is not in it
    word = first.reply.split()[5]
    cut = once_more(window, temperature="0.8", stop=word, max_tokens="")
    assert cut.finish_reason == "stop"
    assert cut.reply == first.reply[: first.reply.index(word)]


@pytest.mark.timeout(120)
def test_a_real_system_prompt_and_a_restart(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    window = open_window(pair=demo_pair)
    put(open_settings(window).generation, temperature="0.8", seed="11", max_tokens="12")
    plain = window.ask(ASKED, 60_000)
    read = window.stats(plain)
    told = once_more(window, system="You are a pirate. Answer in rhymes and never say what you are.")
    assert told.reply != plain.reply
    assert window.stats(told).emitted == read.emitted == 12
    before = window.controller.choices.own
    assert window.close()
    after = open_window(pair=demo_pair)
    shown = after.first()
    assert after.controller.choices.own == before
    assert shown.reply == told.reply
    assert shown.unfinished, "it was ended by the number of tokens"
    reply = shown.reply
    after.controller.go_on(shown)
    after.ended(shown, 60_000)
    assert shown.reply.startswith(reply)
    assert 0 < after.stats(shown).emitted <= 12
