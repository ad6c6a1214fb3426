"""The other pages of the settings, and the file that keeps them."""

import gc
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QComboBox, QGridLayout, QWidgetItem

from app.settings.settings import Settings
from app.state.settings.generation import GenerationChoice
from app.views.settings.generation import GenerationPage
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow
from helpers.window.settings_window import open_settings, saved, windows


def choose(picker: QComboBox, row: int) -> None:
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
    choose(fields["method"].picker, fields["method"].picker.count() - 1)
    window.ask("Plainly")
    assert script.lookaheads[-1] == 0
    dialog.tabs.setCurrentIndex(2)
    dialog.reset_button.click()
    assert fields["method"].picker.currentText() == "Automatic"
    assert window.controller.choices.own == GenerationChoice()


def test_no_wrapper_outlives_what_folding_deletes(open_window: OpenWindow) -> None:
    """Qt deletes the items of a grid whose widgets move; PySide would take what comes to their addresses for them."""
    window = open_window(Script())
    page = open_settings(window).generation
    before = _wrapped_items()
    another = GenerationPage(window.program.theme, page.presets.saved, page.prompts.saved, window.main)
    grid = another.findChild(QGridLayout)
    assert grid is not None
    # Those of rows that stay as they are. What is deleted must not be asked: that ends the process.
    assert _wrapped_items() - before < grid.count()


def _wrapped_items() -> int:
    return sum(type(each) is QWidgetItem for each in gc.get_objects())


def test_the_general_page_takes_effect_at_once(open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(theme="light"))
    dialog = open_settings(window, "program.settings")
    pickers = {name: field.picker for name, field in dialog.general.fields.items()}
    choose(pickers["theme"], 2)
    assert window.program.theme.mode == "dark"
    size = window.main.font().pointSizeF()
    choose(pickers["font_points"], pickers["font_points"].findText("20 pt"))
    assert window.program.theme.points == 20
    assert pickers["font_points"].currentText() == "20 pt"
    choose(pickers["notify"], 1)
    choose(pickers["language"], pickers["language"].findText("Deutsch"))
    window.wait(lambda: (saved(window).theme, saved(window).font_points, saved(window).notify) == ("dark", 20, False))
    assert saved(window).language == "de"
    dialog.tabs.setCurrentIndex(0)
    dialog.reset_button.click()
    window.wait(lambda: saved(window) == window.program.settings)
    assert (saved(window).theme, saved(window).font_points, saved(window).notify) == ("system", 0, True)
    assert saved(window).language == ""
    assert window.main.font().pointSizeF() == size


def test_a_damaged_file_is_told_in_the_window(open_window: OpenWindow, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_bytes(b'{"theme": "dark"')
    window = open_window(Script())
    assert window.program.settings.theme == "system"
    (said,) = window.notices()
    assert said.startswith("The settings file was damaged, so Outrider uses the default settings.")
    assert str(tmp_path / "settings.json.damaged") in said
    assert (tmp_path / "settings.json.damaged").read_bytes() == b'{"theme": "dark"'
    assert window.ask("Hello").status == "done"


def test_settings_that_cannot_be_saved_are_told(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    (tmp_path / "file").touch()
    window.program.settings_file.path = tmp_path / "file" / "settings.json"
    window.program.settings.theme = "dark"
    window.wait(window.main.notice.isVisible)
    assert window.main.notice.text.text().startswith("The settings cannot be saved")


def test_nothing_of_it_is_made_before_it_is_asked_for(open_window: OpenWindow) -> None:
    window = open_window(Script())
    assert windows(window).dialog is None
    assert isinstance(windows(window), QObject)
