"""What is not sent says why and what helps, and what was refused does not stay for ever."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolTip

from app.settings.settings import Settings
from app.state.chat.context_use import ContextUse, longer_context
from app.views.widgets import notices
from app.words.context import context_figures, context_words
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


def test_a_message_that_does_not_fit_is_not_sent(open_window: OpenWindow) -> None:
    window = open_window(Script("Fine.", context=64))
    window.ask("Short")
    main = window.main
    text = "word " * 400
    main.prompt.set_text(text)
    window.wait(lambda: window.program.context.use is not None and not window.program.context.use.fits)
    main.prompt.button.click()
    assert main.context_notice.isVisible()
    assert "Shorten the message" in main.context_notice.text.text()
    assert main.prompt.edit.toPlainText() == text, "nothing is lost"
    assert not window.controller.busy
    asked = []
    main.context_wanted.connect(lambda: asked.append(True))
    main.context_notice.answer.click()
    assert asked
    main.prompt.set_text("Shorter")
    window.wait(lambda: not main.context_notice.isVisible())


def test_a_refused_file_is_told_for_a_while(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script("Fine."))
    binary = tmp_path / "picture.bin"
    binary.write_bytes(bytes(range(256)) * 10)
    window.program.attachments.add([binary])
    window.wait(window.main.notice.isVisible)
    assert "picture.bin" in window.main.notice.text.text()
    window.ask("Something else")
    assert not window.main.notice.isVisible()


def test_what_is_still_wrong_is_said_again(open_window: OpenWindow) -> None:
    bar = open_window(Script("Fine.")).main.notice
    bar.show_trouble("Saving fails.")
    bar.show_passing_trouble("That file is no text.")
    bar._timer.timeout.emit()
    assert bar.isVisible()
    assert bar.text.text() == "Saving fails."
    bar.button.click()
    assert not bar.isVisible()
    assert notices.TROUBLE_MS >= 10_000, "long enough to be read"


def test_a_failed_import_is_not_put_into_the_chat(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script("Fine."))
    window.ask("One")
    entries = list(window.controller.transcript.entries)
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    window.controller.import_(broken)
    window.wait(window.main.notice.isVisible)
    assert window.controller.transcript.entries == entries


def test_the_meter_is_never_cut(open_window: OpenWindow) -> None:
    meter = open_window(Script("Fine.")).main.meter
    use = ContextUse(used=12_345, available=131_072, typed=0, dropped=0, fits=True)
    meter.show_use(use)
    assert context_words(use) == "12,345 of 131,072 tokens"
    assert context_figures(use) == "12,345 / 131,072"
    assert meter.minimumSizeHint().width() >= meter.fontMetrics().horizontalAdvance(context_figures(use))


def test_no_help_stays_over_a_button_that_does_something_else(
    open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(Script("word " * 100, round_s=0.03))
    exchange = window.send("Write")
    window.wait(lambda: len(exchange.reply) > 4)
    hidden: list[bool] = []
    monkeypatch.setattr(QToolTip, "hideText", lambda: hidden.append(True))
    window.controller.cancel()
    window.wait(lambda: exchange.ended and bool(hidden))


def test_a_message_is_judged_by_the_target_that_was_chosen(open_window: OpenWindow, tmp_path: Path) -> None:
    """It is sent though the one before could not have read it."""
    script = Script("Fine.", context=350)
    window = open_window(script)
    window.prompt.edit.setPlainText("z" * 4_000)
    window.wait(lambda: window.program.context.use is not None and not window.program.context.use.fits)
    script.load_s = 0.5
    window.models.choose_target(tmp_path / "longer.gguf")
    window.key(Qt.Key.Key_Return)
    window.qtbot.wait(150)
    assert script.prompts == []
    assert not window.main.context_notice.isVisible()
    script.context = 8_000
    window.wait(lambda: window.controller.transcript.entries)
    window.ended(window.first())
    assert window.first().reply == "Fine."
    window.wait(lambda: window.program.context.use is not None)
    assert window.program.context.use is not None
    assert window.program.context.use.available == 8_000


def test_one_click_loads_the_context_that_a_message_needs_and_sends_it(
    open_window: OpenWindow, demo_pair: tuple[Path, Path]
) -> None:
    target, _draft = demo_pair
    window = open_window(pair=demo_pair, settings=Settings(load_options={str(target): {"context": 64}}))
    notice, context = window.main.context_notice, window.program.context
    text = "a red fox and a blue bird " * 20
    window.prompt.set_text(text)
    window.wait(lambda: context.use is not None and not context.use.fits)
    assert context.use is not None
    assert (context.use.available, context.use.used) == (64, context.use.used)
    needed = context.use.used
    window.key(Qt.Key.Key_Return)
    window.wait(notice.use.isVisible)
    offered = longer_context(context.use, 2_048)
    assert offered is not None
    assert needed <= offered - offered // 16 < 2 * needed
    assert notice.use.text() == f"Use {offered} and send"
    window.click(notice.use)
    assert not window.main.meter.isVisible(), "what is loaded is not what was chosen"
    exchange = window.first()
    window.wait(lambda: exchange.status == "writing" or exchange.ended)
    window.controller.cancel()
    window.ended(exchange)
    assert exchange.problem is None
    assert exchange.question == text.strip("\n")
    assert (window.prompt.edit.toPlainText(), notice.isVisible()) == ("", False)
    window.wait(lambda: context.use is not None and context.use.available == offered)
    assert window.models.settings.load_options[str(target)] == {"context": offered}, "so it stays"
    ask_again(window)


def ask_again(window: Window) -> None:
    """More than the model can hold is offered nothing; what was sent before it was counted, the same click."""
    notice, context = window.main.context_notice, window.program.context
    window.prompt.set_text("word " * 5_000)
    window.wait(lambda: context.use is not None and not context.use.fits)
    window.key(Qt.Key.Key_Return)
    window.wait(notice.isVisible)
    assert not notice.use.isVisible(), "more than the model was trained for"
    again = window.ask("a red fox and a blue bird " * 120)
    button = window.view(again).again_button
    assert again.problem is not None
    assert (again.problem.context, button.text()) == (1_024, "Use 1,024 and ask again")
    assert button.width() == button.sizeHint().width()
    window.click(button)
    last = window.last()
    window.wait(lambda: last.status == "writing" or last.ended)
    window.controller.cancel()
    window.ended(last)
    assert last.problem is None


@pytest.mark.parametrize(
    ("used", "available", "most", "offered"),
    [
        (9_800, 4_096, 32_768, 16_384),
        (3_900, 2_048, 32_768, 8_192),
        (3_840, 2_048, 32_768, 4_096),
        (20_000, 4_096, 24_000, 24_000),
        (24_000, 4_096, 24_000, None),
        (5_000, 4_096, 0, None),
        (5_000, 4_096, 4_096, None),
    ],
)
def test_which_context_is_offered(used: int, available: int, most: int, offered: int | None) -> None:
    assert longer_context(ContextUse(used, available, fits=False), most) == offered
    assert longer_context(ContextUse(used, available), most) is None
