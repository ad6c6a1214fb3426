"""Commands: menus, the palette and the shortcut sheet show the same ones, and their keys work."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from app.views.commands.palette import CommandPalette
from app.views.commands.shortcut_sheet import ShortcutSheet
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window
from helpers.window.chats import ECHO, questions

CONTROL = Qt.KeyboardModifier.ControlModifier


def press(window: Window, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press a key wherever the keyboard is."""
    QTest.keyClick(QApplication.focusWidget() or window.main, key, modifiers)


def palette_of(window: Window) -> CommandPalette:
    press(window, Qt.Key.Key_K, CONTROL)
    palette = window.main.findChild(CommandPalette)
    assert palette is not None
    assert palette.isVisible()
    assert palette.field.hasFocus()
    return palette


def texts(palette: CommandPalette) -> list[str]:
    return [line.text for line in palette.rows.lines]


def test_every_command_is_listed_and_no_key_is_taken_twice(open_window: OpenWindow) -> None:
    window = open_window(Script())
    commands = window.main.commands
    assert {command.section for command in commands} <= set(commands.sections())
    keys = [keys.toString() for command in commands for keys in command.action.shortcuts()]
    assert len(keys) == len(set(keys))
    shown = texts(palette_of(window))
    assert shown == [each.text for section in commands.sections() for each in commands.of(section) if not each.quiet]
    assert len(set(shown)) == len(shown)


def test_some_letters_and_enter(open_window: OpenWindow) -> None:
    window = open_window(Script())
    palette = palette_of(window)
    QTest.keyClicks(palette.field, "theme dark")
    assert texts(palette)[0] == "Theme: dark"
    press(window, Qt.Key.Key_Return)
    assert not palette.isVisible()
    assert window.program.theme.mode == "dark"
    assert window.prompt.edit.hasFocus(), "the keyboard is back where it was"
    palette = palette_of(window)
    assert palette.field.text() == ""
    assert [line.text for line in palette.rows.lines if line.checked and line.text.startswith("Theme")] == [
        "Theme: dark"
    ]
    press(window, Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_what_destroys_is_never_first(open_window: OpenWindow) -> None:
    window = open_window(Script(ECHO))
    window.ask("About ravens")
    palette = palette_of(window)
    for query in ("this", "delete"):
        palette.field.setText(query)
        assert palette.rows.lines[-1].destroys
        assert not palette.rows.lines[0].destroys
    palette.field.setText("delete this chat")
    press(window, Qt.Key.Key_Return)
    assert palette.isVisible(), "Enter alone does not choose it"
    press(window, Qt.Key.Key_Down)
    press(window, Qt.Key.Key_Return)
    window.wait(lambda: not questions(window))


def test_the_arrows_pass_over_what_is_not_possible(open_window: OpenWindow) -> None:
    window = open_window(Script())
    palette = palette_of(window)
    QTest.keyClicks(palette.field, "chat")
    seen = []
    for _ in palette.rows.lines:
        seen.append(palette.rows.lines[palette.list.currentIndex().row()])
        press(window, Qt.Key.Key_Down)
    assert all(line.possible for line in seen)
    assert "Delete this chat" in texts(palette)
    assert "Delete this chat" not in [line.text for line in seen]
    QTest.keyClicks(palette.field, " zzzzz")
    assert palette.nothing.isVisible()
    press(window, Qt.Key.Key_Return)
    assert palette.isVisible(), "there is nothing to do"


def test_conversations_are_opened_by_their_titles(open_window: OpenWindow) -> None:
    window = open_window(Script(ECHO))
    for text in ("About ravens", "About whales"):
        window.controller.new_chat()
        window.ask(text)
    palette = palette_of(window)
    assert texts(palette)[-2:] == ["About whales", "About ravens"]
    QTest.keyClicks(palette.field, "raven")
    press(window, Qt.Key.Key_Return)
    assert questions(window) == ["About ravens"]


def test_the_mouse_chooses_and_a_click_beside_closes(open_window: OpenWindow) -> None:
    window = open_window(Script())
    palette = palette_of(window)
    QTest.keyClicks(palette.field, "colour")
    place = palette.list.visualRect(palette.rows.index(0)).center()
    before = window.main.bar.tokens_button.isChecked()
    QTest.mouseClick(palette.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert window.main.bar.tokens_button.isChecked() is not before
    palette = palette_of(window)
    QTest.mouseClick(palette, Qt.MouseButton.LeftButton, pos=QPoint(5, palette.height() - 5))
    assert not palette.isVisible()


def test_escape_in_the_palette_cancels_no_reply(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 200, round_s=0.02))
    exchange = window.send("Go on")
    window.wait(lambda: exchange.reply)
    palette_of(window)
    press(window, Qt.Key.Key_Escape)
    assert window.controller.busy
    press(window, Qt.Key.Key_Escape)
    window.ended(exchange)
    assert exchange.status == "cancelled"


def test_the_palette_stays_in_a_small_window(open_window: OpenWindow) -> None:
    window = open_window(Script(), size=(720, 480))
    palette = palette_of(window)
    assert window.main.rect().contains(palette.card.geometry())
    window.main.resize(1000, 700)
    assert palette.size() == window.main.size()
    assert window.main.rect().contains(palette.card.geometry())


def test_keys_that_a_field_would_take_reach_the_window(open_window: OpenWindow) -> None:
    window = open_window(Script())
    for field in (window.prompt.edit, window.main.left.search):
        field.setFocus()
        palette = palette_of(window)
        press(window, Qt.Key.Key_K, CONTROL)
        assert not palette.isVisible(), "the same keys close it"


def test_the_sheet_shows_every_key(open_window: OpenWindow) -> None:
    window = open_window(Script())
    press(window, Qt.Key.Key_F1)
    sheet = window.main.findChild(ShortcutSheet)
    assert sheet is not None
    said = {label.text() for label in sheet.findChildren(QLabel)}
    for command in window.main.commands:
        for keys in command.shortcuts:
            assert any(keys in text.split(", ") for text in said), f"{command.text}: {keys}"
    window.wait(sheet.isActiveWindow)
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()
    window.main.commands.run("program.shortcuts")
    window.main.commands.run("program.shortcuts")
    shown = [each for each in window.main.findChildren(ShortcutSheet) if each.isVisible()]
    assert len(shown) == 1


def test_a_command_that_is_not_possible_does_nothing(open_window: OpenWindow) -> None:
    window = open_window(Script())
    done: list[str] = []
    possible = False
    commands = window.main.commands
    commands.add("test", "Test", lambda: done.append("x"), shortcut="Ctrl+F9", enabled=lambda: possible)
    press(window, Qt.Key.Key_F9, CONTROL)
    assert done == []
    menu = QMenu(window.main)
    commands.put_into(menu, ["test"])
    menu.aboutToShow.emit()
    assert not commands["test"].action.isEnabled()
    menu.aboutToHide.emit()
    possible = True
    press(window, Qt.Key.Key_F9, CONTROL)
    assert done == ["x"]
    commands.remove("test")
    assert "test" not in commands


def test_next_and_previous_conversation(open_window: OpenWindow) -> None:
    window = open_window(Script(ECHO))
    for text in ("One", "Two", "Three"):
        window.controller.new_chat()
        window.ask(text)
    press(window, Qt.Key.Key_PageDown, CONTROL)
    assert questions(window) == ["Two"]
    press(window, Qt.Key.Key_PageDown, CONTROL)
    press(window, Qt.Key.Key_PageDown, CONTROL)
    assert questions(window) == ["One"]
    press(window, Qt.Key.Key_PageUp, CONTROL)
    assert questions(window) == ["Two"]


def test_panels_and_focus(open_window: OpenWindow) -> None:
    window = open_window(Script(ECHO))
    window.ask("Hello")
    for key, modifiers, panel in (
        (Qt.Key.Key_B, CONTROL, window.main.left),
        (Qt.Key.Key_B, CONTROL | Qt.KeyboardModifier.ShiftModifier, window.main.panel),
    ):
        press(window, key, modifiers)
        assert panel.isHidden()
        press(window, key, modifiers)
        assert panel.isVisible()
    press(window, Qt.Key.Key_R, CONTROL)
    assert window.main.transcript.hasFocus()
    press(window, Qt.Key.Key_L, CONTROL)
    assert window.prompt.edit.hasFocus()
