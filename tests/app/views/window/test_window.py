"""The window with a scripted decoder: writing, reading, choosing."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QWidget

from app.settings.settings import Settings
from app.state.chat.transcript import Exchange
from app.views.chat.question import QuestionEditor
from app.views.widgets.theme import Tokens
from app.words.figures import duration, percent, speed, summary
from engine import GenerationResult, GenerationStats, Message
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

LONG = "A sentence of a reply that goes on. " * 60


def test_enter_sends_and_shift_enter_breaks_the_line(open_window: OpenWindow) -> None:
    script = Script("Fine, **thanks**.")
    window = open_window(script)
    edit = window.prompt.edit
    one = edit.height()
    window.type("How are")
    window.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    window.type("you?")
    assert edit.toPlainText() == "How are\nyou?"
    assert edit.height() > one, "the box grows with the text"
    window.key(Qt.Key.Key_Return)
    exchange = window.first()
    window.ended(exchange)
    assert edit.toPlainText() == ""
    assert edit.height() == one
    assert exchange.question == "How are\nyou?"
    assert window.shown(exchange) == "Fine, thanks."
    assert script.prompts == [(Message("user", "How are\nyou?"),)]
    window.key(Qt.Key.Key_Up)
    assert edit.toPlainText() == "How are\nyou?", "Up brings the last prompt back"


def test_an_empty_prompt_is_not_sent(open_window: OpenWindow) -> None:
    window = open_window(Script())
    for text in ("", "  \n "):
        window.prompt.set_text(text)
        assert not window.prompt.button.isEnabled()
        window.key(Qt.Key.Key_Return)
    assert len(window.controller.transcript) == 0


def test_text_that_is_being_composed_is_not_sent(open_window: OpenWindow) -> None:
    window = open_window(Script())
    edit = window.prompt.edit
    QApplication.sendEvent(edit, QInputMethodEvent("にほん", []))
    assert edit.toPlainText() == ""
    commit = QInputMethodEvent()
    commit.setCommitString("日本")
    QApplication.sendEvent(edit, commit)
    assert edit.toPlainText() == "日本"
    assert window.prompt.button.isEnabled()


class InputMethod:
    """An input method that gives its word when it is asked to, or nothing: then the word is what was seen."""

    def __init__(self, field: QWidget, word: str) -> None:
        self._field, self._word = field, word

    def commit(self) -> None:
        """Give the word, once."""
        word, self._word = self._word, ""
        if word:
            event = QInputMethodEvent()
            event.setCommitString(word)
            QApplication.sendEvent(self._field, event)

    def reset(self) -> None:
        """Forget it."""
        self._word = ""


@pytest.mark.parametrize("gives", ["日本", ""])
def test_a_word_that_is_being_composed_goes_with_a_click(
    open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, gives: str
) -> None:
    script = Script()
    window = open_window(script)
    edit, word = window.prompt.edit, gives or "にほん"

    def compose(field: QWidget) -> None:
        method = InputMethod(field, gives)
        monkeypatch.setattr(QGuiApplication, "inputMethod", lambda: method)
        QApplication.sendEvent(field, QInputMethodEvent("にほん", []))

    for before in ("", "Where is "):
        edit.setPlainText(before)
        edit.moveCursor(QTextCursor.MoveOperation.End)
        compose(edit)
        window.click(window.prompt.button)
        window.wait(lambda: not window.controller.busy)
        assert script.prompts[-1][-1].content == before + word
        assert edit.toPlainText() == ""
        assert not edit.composing
    window.ended(window.first())
    editor = QuestionEditor("Where is ", window.program.theme, window.main)
    sent: list[str] = []
    editor.sent.connect(sent.append)
    compose(editor.edit)
    window.click(editor.send_button)
    assert sent == [f"Where is {word}"]
    search = window.main.left.search
    if gives:
        compose(search)
        window.qtbot.keyClick(search, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
        assert search.text() == gives
        search.clear()
        number = window.program.conversations.list.open_id
        assert number is not None
        window.main.left.rename(number)
        (field,) = window.main.left.list.findChildren(QLineEdit, "rename")
        field.clear()
        compose(field)
        window.qtbot.keyClick(field, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
        window.wait(lambda: window.program.conversations.list.rows[1].title == gives)  # type: ignore[union-attr]
    editor.deleteLater()


def test_the_whole_conversation_is_sent(open_window: OpenWindow) -> None:
    script = Script(lambda messages: f"Reply {len(messages)}")
    window = open_window(script)
    for number in range(3):
        window.ask(f"Question {number}")
    assert [message.content for message in script.prompts[-1]] == [
        "Question 0",
        "Reply 1",
        "Question 1",
        "Reply 3",
        "Question 2",
    ]
    window.main.left.new_chat_button.click()
    assert len(window.controller.transcript) == 0
    assert window.main.welcome.isVisible()
    window.ask("Afresh")
    assert script.prompts[-1] == (Message("user", "Afresh"),)


def test_one_button_sends_or_cancels(open_window: OpenWindow) -> None:
    window = open_window(Script(LONG, round_s=0.005))
    button = window.prompt.button
    assert button.accessibleName() == "Send"
    window.prompt.set_text("Go on")
    window.click(button)
    exchange = window.first()
    window.wait(lambda: exchange.reply)
    assert button.accessibleName() == "Cancel"
    assert button.isEnabled()
    window.prompt.set_text("A second one")
    window.key(Qt.Key.Key_Return)
    assert len(window.controller.transcript) == 1, "one reply at a time"
    assert [row.words.accessibleName() for row in window.main.waiting.rows.values()] == ["A second one"], "it waits"
    window.prompt.set_text("A third one")
    window.qtbot.wait(600)  # Earlier it would be the second click of a double click.
    window.click(button)
    window.ended(exchange)
    assert exchange.status == "cancelled"
    assert 0 < len(exchange.reply) < len(LONG)
    assert window.view(exchange).summary.text().endswith("cancelled")
    assert window.prompt.edit.toPlainText() == "A third one", "what was being written stays"
    assert len(window.main.waiting.rows) == 1
    assert button.accessibleName() == "Send"


def test_escape_cancels(open_window: OpenWindow) -> None:
    window = open_window(Script(LONG, round_s=0.005))
    exchange = window.send("Go on")
    window.wait(lambda: exchange.reply)
    window.main.activateWindow()
    window.key(Qt.Key.Key_Escape)
    window.ended(exchange)
    assert exchange.status == "cancelled"
    assert window.ask("And now?").status == "done"


def test_starters_are_sent_with_a_click(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    cards = window.main.welcome.cards
    assert len(cards) == 10
    window.click(cards[3])
    window.ended(window.first())
    assert script.prompts[0][0].content == cards[3].starter.prompt
    assert window.main.transcript.isVisible()


def test_figures_under_the_reply_and_at_the_side(open_window: OpenWindow) -> None:
    window = open_window(Script("x" * 4 * 30, round_s=0.005))
    exchange = window.ask("Count")
    view = window.view(exchange)
    stats = window.stats(exchange)
    assert view.summary.text() == f"30 tokens · {speed(stats.tokens_per_second)} · 50 % accepted · 0.1 s"
    panel = window.main.panel
    window.wait(lambda: panel.counters["rounds"].text() == "10" and panel.plots is not None and panel.is_drawn)
    counters = {name: label.text() for name, label in panel.counters.items()}
    assert counters.pop("first").endswith(" s"), "the time to the first token"
    assert counters == {"rounds": "10", "proposed": "40", "accepted": "20", "length": "3.00", "own": "0"}
    assert panel.rate_figure.text() == "50 % accepted"
    assert panel.plots is not None
    rate, _pace = panel.plots
    assert rate._line.getData()[1][-1] == 50.0


def test_a_few_probes_of_a_plain_reply_make_no_rate() -> None:
    def line(proposed: int) -> str:
        stats = GenerationStats(rounds=100, proposed=proposed, rejected=proposed, plain_tokens=100, total_ms=1000.0)
        exchange = Exchange("Why?")
        exchange.end(GenerationResult("So.", (1,) * 100, 5, 5, "stop", "draft-model", "auto", stats))
        return summary(exchange)

    assert line(0) == line(5) == "100 tokens · 100 tok/s · 1.0 s"
    assert line(6) == "100 tokens · 100 tok/s · 0 % accepted · 1.0 s"


def test_a_speedup_is_told_once_plain_speed_was_measured() -> None:
    stats = GenerationStats(rounds=50, proposed=60, accepted=50, rejected=10, corrections=50, total_ms=205_000.0)
    exchange = Exchange("Why?")
    exchange.end(GenerationResult("So.", (1,) * 100, 5, 5, "stop", "draft-model", 4, stats))
    assert summary(exchange) == "100 tokens · 0.5 tok/s · 83 % accepted · 3 min 25 s"
    exchange.stats = replace(stats, plain_tokens_per_second=0.3)
    assert summary(exchange).endswith(" · 3 min 25 s · 1.6×")
    assert [duration(seconds) for seconds in (0.01, 0.3, 9.96, 59.7, 61)] == [
        "under 0.1 s", "0.3 s", "10 s", "1 min 0 s", "1 min 1 s",
    ]  # fmt: skip


def test_figures_read_well() -> None:
    assert [percent(None), percent(0.0), percent(0.724)] == ["– %", "0 %", "72 %"]
    assert [speed(None), speed(3.21), speed(1234.5)] == ["– tok/s", "3.2 tok/s", "1,234 tok/s"]


def test_the_hidden_panel_is_not_drawn(open_window: OpenWindow) -> None:
    window = open_window(Script("x" * 400, round_s=0.002))
    panel = window.main.panel
    window.main.bar.right_button.click()
    assert panel.isHidden()
    drawn = panel._drawn
    window.ask("Count")
    assert panel._drawn == drawn
    window.main.bar.right_button.click()
    window.wait(lambda: panel.counters["rounds"].text() == "34")


def test_the_view_follows_unless_the_reader_scrolled_up(open_window: OpenWindow) -> None:
    window = open_window(Script("A line of its own.\n\n" * 150, round_s=0.004))
    transcript = window.main.transcript
    bar = transcript.verticalScrollBar()
    exchange = window.send("Write a lot")
    window.wait(lambda: bar.maximum() > 300)
    assert bar.value() == bar.maximum()
    bar.setValue(40)
    assert transcript.jump_button.isVisible()
    high = bar.maximum()
    window.wait(lambda: bar.maximum() > high + 100)
    assert bar.value() == 40, "the reader is left alone"
    transcript.jump_button.click()
    assert bar.value() == bar.maximum()
    assert not transcript.jump_button.isVisible()
    window.ended(exchange)
    assert bar.value() == bar.maximum()


def test_raw_html_is_text_and_nothing_is_loaded(open_window: OpenWindow) -> None:
    reply = '<b>bold</b> <img src="http://nowhere.invalid/a.png"> ![picture](file:///etc/hostname) [x](javascript:1)\n'
    window = open_window(Script(reply))
    exchange = window.ask("Show me")
    text = window.shown(exchange)
    assert "<b>bold</b>" in text
    assert '<img src="http://nowhere.invalid/a.png">' in text
    assert "[picture]" in text
    assert "\N{OBJECT REPLACEMENT CHARACTER}" not in text


def test_emoji_and_right_to_left_text_arrive_whole(open_window: OpenWindow) -> None:
    reply = "שלום עולם, 😀👩‍👩‍👧‍👦 \u202bمرحبا\u202c und 你好.\x00\x07 Ende"  # noqa: RUF001 - it is Arabic
    window = open_window(Script(reply))
    exchange = window.ask("שלום 😀")
    assert exchange.reply == reply
    assert window.shown(exchange) == reply.replace("\x00", "\ufffd").replace("\x07", "\ufffd")
    view = window.view(exchange)
    assert view.question.text.toPlainText() == "שלום 😀"
    view.copy_button.click()
    assert QGuiApplication.clipboard().text() == reply


def test_a_reply_of_ten_thousand_tokens(open_window: OpenWindow) -> None:
    paragraph = "## Part\n\nSome *words* and `code`, " + "on and on, " * 30 + "\n\n- one\n- two\n\n"
    reply = paragraph * (40_000 // len(paragraph) + 1)
    window = open_window(Script(reply))
    exchange = window.ask("All of it", timeout=60_000)
    assert exchange.reply == reply
    shown = window.shown(exchange)
    assert shown.count("Part") == reply.count("Part")
    assert shown.rstrip().endswith("two")
    view = window.view(exchange)
    assert view.reply.height() > 5_000
    assert view.reply.texts[0].page.verticalScrollBar().maximum() == 0, "as tall as its text"


def test_the_theme_changes_live(open_window: OpenWindow) -> None:
    window = open_window(Script("Some `code` here\n\n```\nand here\n```\n"), settings=Settings(theme="light"))
    exchange = window.ask("Code")
    before = window.shown(exchange)
    bright = window.main.grab().toImage().pixelColor(640, 500).lightness()
    window.main.commands.run("view.theme-dark")
    window.wait(lambda: window.shown(exchange) == before)
    dark = window.main.grab().toImage().pixelColor(640, 500).lightness()
    assert bright > 240
    assert dark < 40
    assert window.program.settings.theme == "dark"


DOUBTS = ("unsure", "more_unsure", "most_unsure")
CODE_COLORS = [each.name for each in fields(Tokens) if each.name.startswith("code_")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_ground(open_window: OpenWindow, theme: str) -> None:
    window = open_window(Script(), settings=Settings(theme=theme))
    tokens = window.program.theme.tokens
    for text, ground in (
        ("text", "background"),
        ("text", "surface"),
        ("text", "raised"),
        ("muted", "background"),
        ("muted", "surface"),
        ("muted", "raised"),
        ("on_accent", "accent"),
        ("accent", "background"),
        ("danger", "surface"),
        ("text", "accepted"),
        ("text", "correction"),
        ("text", "bonus"),
        *((text, ground) for text in ("text", "muted", "accent") for ground in DOUBTS),
        *((text, ground) for text in CODE_COLORS for ground in DOUBTS),
    ):
        assert contrast(getattr(tokens, text), getattr(tokens, ground)) >= 4.5, (text, ground)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_side_panels_fold_when_there_is_no_room(open_window: OpenWindow) -> None:
    window = open_window(Script())
    main = window.main
    assert main.left.isVisible()
    assert main.panel.isVisible()
    main.resize(720, 480)
    assert (main.width(), main.height()) == (720, 480)
    assert not main.left.isVisible()
    assert not main.panel.isVisible()
    chat = main.splitter.widget(1)
    assert chat is not None
    for button, panel in ((main.bar.right_button, main.panel), (main.bar.left_button, main.left)):
        button.click()
        window.wait(panel.isVisible)
        assert chat.width() >= 420
        assert main.width() == 720
        for child in main.bar.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
            assert main.bar.rect().contains(child.geometry()) or child.isHidden(), child.accessibleName()
    main.resize(1280, 800)
    assert main.left.isVisible()
    assert main.panel.isVisible()


def test_every_picker_has_a_tooltip(open_window: OpenWindow) -> None:
    assert all(picker.toolTip() for picker in open_window(Script()).main.findChildren(QComboBox))


def test_the_copy_button_appears_with_the_focus(open_window: OpenWindow) -> None:
    window = open_window(Script("Copy me"))
    exchange = window.ask("What?")
    button = window.view(exchange).copy_button
    assert not button.revealed
    button.setFocus(Qt.FocusReason.TabFocusReason)
    window.wait(lambda: button.hasFocus() and button.revealed)
    QApplication.sendEvent(button, QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier))
    QApplication.sendEvent(button, QKeyEvent(QEvent.Type.KeyRelease, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier))
    assert QGuiApplication.clipboard().text() == "Copy me"


def test_choices_and_layout_are_remembered(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    window.main.bar.lookahead.chosen.emit(9)
    window.main.bar.draft.chosen.emit(None)
    window.main.bar.left_button.click()
    window.main.commands.run("view.theme-light")
    assert window.close()
    again = open_window(Script())
    chosen = again.models.list.selection
    assert (chosen.lookahead, chosen.sources) == (9, ())
    assert chosen.target == tmp_path / "big.gguf"
    assert not again.main.left.isVisible()
    assert again.main.panel.isVisible()
    assert again.program.theme.mode == "light"
    assert again.main.bar.lookahead.currentText() == "9"
