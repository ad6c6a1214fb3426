"""Keys wherever the keyboard is, words that are being put together, and letters that grow while a dialog is open."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.state.chat.attachments import join_question, read_attachment
from app.views.chat.question import QuotedFile
from app.views.commands.palette import CommandPalette
from helpers.decoding.scripted_decoder import Script
from helpers.window.access import tab_stops, without_visible_focus
from helpers.window.app_window import OpenWindow, Window

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
CONTROL = Qt.KeyboardModifier.ControlModifier


def dialog_of(window: Window, command: str) -> Any:
    """The dialog that a command opens, with the keyboard in it."""
    window.main.commands.run(command)
    shown = [each for each in QApplication.topLevelWidgets() if each.isVisible() and each is not window.main]
    dialog = next(each for each in shown if each.width() > 1)
    dialog.activateWindow()
    window.wait(dialog.isActiveWindow)
    return dialog


def compose(field: QWidget, word: str) -> None:
    """Begin a word with an input method; it is not in the text yet."""
    QApplication.sendEvent(field, QInputMethodEvent(word, []))


def test_enter_ends_a_word_that_is_put_together_and_sends_nothing(open_window: OpenWindow) -> None:
    window = open_window(Script())
    window.type("hello ")
    compose(window.prompt.edit, "にほん")
    window.key(Qt.Key.Key_Return)
    assert not window.controller.transcript.entries
    assert window.prompt.edit.toPlainText() == "hello にほん"
    window.key(Qt.Key.Key_Return)
    assert window.first().question == "hello にほん"


@pytest.mark.parametrize("command", ["program.settings", "models.library", "program.shortcuts"])
def test_letters_grow_from_within_a_dialog(command: str, open_window: OpenWindow) -> None:
    window = open_window(Script())
    before = window.program.theme.points
    dialog = dialog_of(window, command)
    QTest.keyClick(QApplication.focusWidget() or dialog, Qt.Key.Key_Plus, CONTROL)
    assert window.program.settings.font_points == round(before) + 1
    QTest.keyClick(QApplication.focusWidget() or dialog, Qt.Key.Key_0, CONTROL)
    assert window.program.settings.font_points == 0


def test_an_open_dialog_has_room_for_larger_letters(open_window: OpenWindow) -> None:
    window = open_window(Script())
    dialog = dialog_of(window, "program.settings")
    dialog.open_at("generation")
    fields = dialog.generation.fields
    before = [fields["seed"].edit.width(), fields["stop"].edit.height(), dialog.generation.maximumWidth()]
    scale = window.program.theme.points
    window.main.set_font_points(18)
    scale = window.program.theme.points / scale
    after = [fields["seed"].edit.width(), fields["stop"].edit.height(), dialog.generation.maximumWidth()]
    assert all(grown > 0.75 * scale * old for old, grown in zip(before, after, strict=True)), (before, after)
    dialog.close()
    window.main.set_font_points(0)
    dialog = dialog_of(window, "program.settings")
    assert fields["seed"].edit.width() == before[0], "it was closed meanwhile"


def test_a_name_is_left_with_escape_and_the_dialog_stays(open_window: OpenWindow) -> None:
    window = open_window(Script())
    dialog = dialog_of(window, "program.settings")
    dialog.open_at("generation")
    bar, said = dialog.generation.presets, ""
    for name in ("Mine", "Mine"):
        bar.save.click()
        QTest.keyClicks(bar.name, name)
        said = bar.said.text()
        assert bar.name.accessibleDescription() == said
        QTest.keyClick(bar.name, Qt.Key.Key_Return)
        assert bar.naming.isHidden() is (said == "")
    assert said, "the name is taken"
    QTest.keyClick(bar.name, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert bar.naming.isHidden()
    assert bar.save.hasFocus()
    bar.save.click()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    dialog = dialog_of(window, "program.settings")
    assert bar.naming.isHidden(), "what was begun is over"


def test_a_screen_reader_hears_what_is_wrong_with_an_option(open_window: OpenWindow) -> None:
    window = open_window(Script())
    dialog = dialog_of(window, "models.options")
    edit, usual = dialog.edits["context"], dialog.edits["context"].accessibleDescription()
    edit.setText("many")
    assert edit.accessibleDescription() == dialog.problems["context"].text() != usual
    edit.setText("")
    assert edit.accessibleDescription() == usual


def test_a_screen_reader_hears_the_figures_not_only_their_names(open_window: OpenWindow) -> None:
    window = open_window(Script())
    window.ask("Hello")
    panel = window.main.panel
    window.wait(lambda: panel.is_drawn and panel.counters["rounds"].text() != "0")
    for figure in (*panel.counters.values(), panel.rate_figure, panel.speed_figure, panel.lookahead):
        assert figure.accessibleName().endswith(figure.text())
        assert len(figure.accessibleName()) > len(figure.text())


def test_what_has_gone_by_in_a_plot_is_reached_with_the_arrows(open_window: OpenWindow) -> None:
    window = open_window(Script())
    plots = window.main.panel.plots
    assert plots is not None
    plot = plots[0]
    window.ask("Hello!")  # Charts are folded until there is a reply.
    window.wait(lambda: not window.main.panel.hint.isVisible() and window.main.panel.is_drawn)
    window.main.panel.tools.paused.emit(True)
    window.wait(lambda: not window.main.panel._left)
    numbers = [float(place) for place in range(400)]
    plot.draw((numbers, numbers))
    plot.show_bar()
    window.main.activateWindow()
    window.wait(window.main.isActiveWindow)
    assert plot.bar in tab_stops(window.main)
    assert without_visible_focus(window.main) == []
    plot.bar.setFocus()
    before = plot.shown_range
    QTest.keyClick(plot.bar, Qt.Key.Key_Left)
    assert plot.shown_range < before


def test_questions_and_their_files_grow_with_the_letters(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    (tmp_path / "notes.txt").write_text("Some lines.\n" * 9, encoding="utf-8")
    attachment = read_attachment(tmp_path / "notes.txt")
    exchange = window.send(join_question("Short?", [attachment]))
    window.ended(exchange)
    question = window.view(exchange).question
    (file,) = question.files
    assert isinstance(file, QuotedFile)
    file.header.click()
    body = file.body
    assert body is not None
    window.prompt.show_files([attachment])
    window.main.set_font_points(24)
    chip = window.prompt.chips.chips[0]
    window.wait(lambda: body.font().pointSizeF() == pytest.approx(24.0))
    window.wait(lambda: body.height() >= body.document().size().height())
    assert question.text.document().idealWidth() <= question.text.width()
    assert question.text.document().lineCount() == 1
    assert chip.height() >= chip.sizeHint().height()
    assert window.prompt.chips.height() >= chip.height()


def test_the_palette_outlives_what_had_the_keyboard(open_window: OpenWindow) -> None:
    window = open_window(Script())
    exchange = window.ask("Hello")
    window.view(exchange).reply.texts[0].page.setFocus()
    window.main.commands.run("program.palette")
    palette = window.main.findChild(CommandPalette)
    assert palette is not None
    window.controller.new_chat()
    window.qtbot.wait(20)
    QTest.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_enter_ends_a_word_in_the_palette_too(open_window: OpenWindow) -> None:
    window = open_window(Script())
    window.main.commands.run("program.palette")
    palette = window.main.findChild(CommandPalette)
    assert palette is not None
    QTest.keyClicks(palette.field, "dark")
    compose(palette.field, "にほん")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    assert not window.program.theme.dark
    compose(palette.field, "")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert window.program.theme.dark


def test_the_palette_fits_larger_letters(open_window: OpenWindow) -> None:
    window = open_window(Script())
    window.main.commands.run("program.palette")
    palette = window.main.findChild(CommandPalette)
    assert palette is not None
    # Four commands alone: without the colon more of them fit than the palette shows without scrolling.
    QTest.keyClicks(palette.field, "theme:")
    assert palette.rows.rowCount() == 4
    for points in (24, 0):
        window.main.set_font_points(points)
        window.wait(lambda: palette.list.height() == palette.rows.rowCount() * palette.list.sizeHintForRow(0))


@pytest.mark.parametrize("is_open", [True, False])
def test_code_and_prompts_grow_in_dialogs_too(is_open: bool, open_window: OpenWindow) -> None:
    window = open_window(Script())
    about = dialog_of(window, "program.about")
    about.tabs.setCurrentIndex(1)
    assert about.text.font().pointSizeF() == pytest.approx(window.program.theme.points)
    window.main.set_font_points(18)
    window.wait(lambda: about.text.font().pointSizeF() == pytest.approx(18.0))
    about.close()
    compare = dialog_of(window, "proof.compare")
    height = compare.prompt.height()
    compare.setVisible(is_open)
    window.main.set_font_points(9)
    assert compare.prompt.height() < 0.8 * height
    compare.close()


@pytest.mark.parametrize(
    ("command", "name"),
    [("models.library", "close_button"), ("models.options", "cancel"), ("program.settings", "close_button")],
)
def test_enter_presses_the_button_that_has_the_keyboard(command: str, name: str, open_window: OpenWindow) -> None:
    window = open_window(Script())
    main = window.main
    main.bar.left_button.setFocus()
    shown = main.left.isVisible()
    QTest.keyClick(main.bar.left_button, Qt.Key.Key_Return)
    assert main.left.isVisible() is not shown
    dialog = dialog_of(window, command)
    button = getattr(dialog, name)
    saved: list[object] = []
    if command == "models.options":
        dialog.chosen.connect(saved.append)
        dialog.edits["context"].setText("512")
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    assert saved == [], "Cancel does not save"
