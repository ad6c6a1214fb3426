"""The error report: what is in it, and that no word of a conversation is, in it or in the log."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices

from app.control.problems import describe, details, report
from app.state.chat.transcript import Problem
from app.system.log_file import ProgramLog
from app.views.window.error_dialog import ErrorDialog
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

WORDS = "my diary about Aunt Ottilie"


def raised(error: Exception) -> BaseException:
    """The error with a trace, as if it had happened."""

    def happen() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        happen()
    return caught.value


@pytest.mark.logs("builtins.ValueError")
def test_it_tells_the_place_and_no_text() -> None:
    cause = raised(KeyError(WORDS))
    error = ValueError(f"cannot digest {WORDS!r}")
    error.__cause__ = cause
    problem = describe(raised(error))
    text = report(problem, target="big", draft="", now=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    for told in ("Outrider ", "Python ", "Qt ", "Target: big", "Draft: none", "2026-01-02 03:04 UTC"):
        assert told in text
    assert "builtins.ValueError\n" in text
    assert "builtins.KeyError\n" in text
    assert 'test_error_report.py", line' in text
    assert "Ottilie" not in text + problem.text
    assert "in happen" in text


def test_the_users_folder_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(__file__).parent
    monkeypatch.setattr(Path, "home", lambda: here)
    text = details(raised(OSError(28, "No space left on device")))
    assert str(here) not in text
    assert "~" in text
    assert "No space left on device" in text, "what the system says is no text of ours"


def open_dialog(window: Window) -> ErrorDialog:
    """The report of the last problem, through its button."""
    exchange = window.ask(WORDS)
    window.press("Details…", window.problem(exchange))
    dialog = window.main.findChild(ErrorDialog)
    assert dialog is not None
    return dialog


@pytest.mark.logs("builtins.ValueError")
def test_in_the_window(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[QUrl] = []

    def note(url: QUrl) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", note)
    window = open_window(Script(reply_errors=[ValueError(WORDS)]), size=(720, 480))
    window.program.log = ProgramLog(tmp_path / "log")
    dialog = open_dialog(window)
    assert not dialog.isModal()
    text = dialog.report.toPlainText()
    assert "Target: big" in text
    assert "Draft: small" in text
    assert "scripted_decoder.py" in text
    assert "Ottilie" not in text
    dialog.log_button.click()
    assert not opened
    assert "no log in" in window.main.notice.text.text()
    (tmp_path / "log").mkdir()
    window.main.commands.run("program.log")
    assert [Path(url.toLocalFile()) for url in opened] == [tmp_path / "log"]
    assert dialog.width() <= 720
    assert dialog.height() <= 480
    window.wait(dialog.isActiveWindow)
    window.qtbot.keyClick(dialog.report, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert not dialog.isVisible()
    assert window.ask("Again").status == "done", "the chat goes on"


def test_where_no_folder_can_be_opened_it_is_told(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: False)
    window = open_window(Script())
    window.program.log.path.parent.mkdir(parents=True, exist_ok=True)
    window.main.commands.run("program.log")
    assert str(window.program.log.path.parent) in window.main.notice.text.text()


def test_a_problem_that_says_it_all_has_no_details(open_window: OpenWindow) -> None:
    assert "it is cut off" in report(Problem("it is cut off"), target="", draft="")
    window = open_window(Script())
    assert window.main.findChild(ErrorDialog) is None


def test_no_word_of_a_real_chat_comes_into_the_log(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions, files, replies, errors that quote them: the log has the errors and none of the texts."""
    log = ProgramLog(tmp_path / "log")
    log.begin()
    log.open()
    window = open_window(pair=demo_pair)
    (tmp_path / "ottilie.txt").write_text(f"{WORDS} and her cat", encoding="utf-8")
    window.program.attachments.add([tmp_path / "ottilie.txt"])
    window.wait(lambda: not window.program.attachments.pending)
    window.prompt.set_text(WORDS)
    window.key(Qt.Key.Key_Return)
    exchange = window.first()
    window.ended(exchange, 60_000)
    assert exchange.reply
    decoder = window.program.bridge._decoder

    def fail(*_: object, **__: object) -> None:
        raise ValueError(f"cannot digest {WORDS!r}, {exchange.reply!r}")

    monkeypatch.setattr(decoder, "stream", fail)
    failed = window.ask(WORDS)
    assert failed.problem is not None
    log.close()
    text = log.path.read_text(encoding="utf-8")
    assert "builtins.ValueError" in text
    assert "Outrider " in text
    for word in ("Ottilie", "ottilie", "diary", exchange.reply[:30]):
        assert word not in text
    assert "Ottilie" not in (failed.problem.details or "")
