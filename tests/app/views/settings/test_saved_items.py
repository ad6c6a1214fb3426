"""Presets and system prompts in the settings: saved, renamed, deleted, taken to another machine."""

from pathlib import Path

from PySide6.QtWidgets import QAbstractButton

from app.views.settings.saved_items import SavedItemsBar
from engine import Message
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow
from helpers.window.settings_window import open_settings, put, saved, windows


def pick(bar: SavedItemsBar, name: str) -> None:
    row = bar.picker.findText(name)
    assert row >= 0
    bar.picker.setCurrentIndex(row)
    bar.picker.activated.emit(row)


def call_it(bar: SavedItemsBar, button: QAbstractButton, name: str) -> None:
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
    assert bar.picker.placeholderText() == "Custom values"
    bar.save.click()
    bar.name.setText("greedy")
    assert not bar.use.isEnabled()
    assert bar.said.text() == "This name is already taken."
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
    opener.export(page.presets, tmp_path / "mine.json")
    assert page.presets.said.text() == f"Exported to {tmp_path / 'mine.json'}."
    page.presets.delete.click()
    opener.import_(page.presets, tmp_path / "mine.json")
    assert page.presets.said.text() == "Imported: 1."
    assert page.presets.picker.currentText() == "Mine"
    whole = (tmp_path / "mine.json").read_bytes()
    before = page.presets.saved.to_list()
    for name, data, says in (
        ("cut.json", whole[:-20], "it is not valid JSON"),
        ("wrong.json", whole.replace(b"0.65", b"650"), "entry 1 has an invalid value for “Temperature”"),
        ("prompts.json", whole.replace(b"presets", b"prompts"), "it contains something else"),
        (
            "newer.json",
            whole.replace(b'"version": 1', b'"version": 2'),
            "it was written by a newer version of Outrider",
        ),
    ):
        (tmp_path / name).write_bytes(data)
        opener.import_(page.presets, tmp_path / name)
        assert page.presets.said.text().startswith(f"Cannot import {name}: {says}")
        assert page.presets.said.text().endswith("Nothing was changed.")
        assert page.presets.saved.to_list() == before
    opener.import_(page.presets, tmp_path / "none.json")
    assert page.presets.said.text().startswith("Cannot read none.json")
    opener.export(page.presets, tmp_path / "no folder" / "mine.json")
    assert page.presets.said.text().startswith("Cannot write mine.json")
