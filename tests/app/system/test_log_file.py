"""The log: what is in it, what never is, and what happens where it cannot be."""

import os
from pathlib import Path

import pytest

from app.control.problems import describe
from app.system.log_file import FILE_NAME, LOGGER, ProgramLog, note_error, without_quotes
from app.system.places import log_folder
from engine import ContextFull
from helpers.processes import run_python

TEXT = "my diary of 1999"
FATAL = """
from app.system.log_file import ProgramLog
from app.system.places import log_folder
from app.system.qt_messages import listen
from PySide6.QtCore import qInfo, qWarning
from PySide6.QtGui import QGuiApplication
log = ProgramLog(log_folder())
log.begin()
listen(log.open)
qInfo("only information")
qWarning("something odd")
QGuiApplication(["outrider", "-platform", "no-such-platform"])
"""


@pytest.fixture
def log(tmp_path: Path) -> ProgramLog:
    return ProgramLog(tmp_path / "state" / "log")


def fail(error: BaseException) -> BaseException:
    """The error with a trace, as if it had happened."""

    def happen() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        happen()
    return caught.value


def test_nothing_is_written_before_it_is_opened(log: ProgramLog) -> None:
    log.begin()
    LOGGER.warning("early")
    assert not log.path.parent.exists()
    log.open("6.1")
    LOGGER.warning("late")
    log.close()
    lines = log.path.read_text(encoding="utf-8").splitlines()
    assert "INFO Outrider" in lines[0]
    assert "Qt 6.1" in lines[0]
    assert [line.rpartition(" ")[2] for line in lines[1:]] == ["early", "late"]


def test_a_quiet_run_that_ends_early_leaves_no_file(log: ProgramLog) -> None:
    log.begin()
    log.close()
    assert not log.path.parent.exists()


def test_a_run_that_fails_early_is_logged(log: ProgramLog) -> None:
    log.begin()
    note_error(fail(RuntimeError(TEXT)))
    log.close()
    assert "builtins.RuntimeError" in log.path.read_text(encoding="utf-8")


def test_errors_tell_the_place_and_never_a_text(log: ProgramLog) -> None:
    log.begin()
    log.open()
    outer = RuntimeError(TEXT)
    outer.__cause__ = fail(KeyError(TEXT))
    describe(fail(outer))
    describe(fail(OSError(28, "No space left on device")))
    describe(fail(UnicodeEncodeError("utf-8", TEXT, 0, 1, TEXT)))
    describe(ContextFull(5000, 4096))
    log.close()
    text = log.path.read_text(encoding="utf-8")
    assert "diary" not in text
    assert text.count(" ERROR ") == 3, "our own errors are for the user, and in the window"
    assert "builtins.KeyError\n" in text
    assert 'test_log_file.py", line' in text
    assert "No space left on device" in text


def test_it_stays_small(log: ProgramLog) -> None:
    log.begin()
    log.open()
    for _ in range(40):
        LOGGER.warning("%s", "x" * 100_000)
    log.close()
    sizes = {path.name: path.stat().st_size for path in log.path.parent.iterdir()}
    assert set(sizes) == {FILE_NAME, f"{FILE_NAME}.1", f"{FILE_NAME}.2"}
    assert max(sizes.values()) <= 1_000_000


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_where_it_cannot_be_written_the_program_runs_without(
    tmp_path: Path, place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    log = ProgramLog(tmp_path / place)
    log.begin()
    log.open()
    LOGGER.error("into nothing")
    log.close()
    assert capfd.readouterr() == ("", "")


def test_a_file_that_cannot_be_opened_is_silent(log: ProgramLog, capfd: pytest.CaptureFixture[str]) -> None:
    log.path.mkdir(parents=True)
    log.begin()
    log.open()
    LOGGER.error("into nothing")
    log.close()
    assert capfd.readouterr() == ("", "")


def test_messages_of_qt_lose_addresses_and_quotations() -> None:
    found = without_quotes('Unable to launch \'https://example.org/?q=my+diary\' for "my diary" of "xcb" in ""')
    assert found == 'Unable to launch \'<address>\' for <text> of "xcb" in ""'
    kept = "qt.svg: Cannot open file 'icons/outrider.svg', because: No such file"
    assert without_quotes(kept) == kept


def test_what_qt_says_last_is_in_the_log() -> None:
    done = run_python("-c", FATAL)
    assert done.returncode != 0
    assert done.stderr.splitlines()[:2] == ["only information", "something odd"]
    assert "no Qt platform plugin could be initialized" in done.stderr
    text = (log_folder() / FILE_NAME).read_text(encoding="utf-8")
    assert "WARNING Qt: something odd" in text
    assert "CRITICAL Qt: This application failed to start" in text
    assert "only information" not in text


def test_nobody_reads_what_the_user_is_called(log: ProgramLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "ada"
    monkeypatch.setattr(Path, "home", lambda: home)
    log.begin()
    log.open()
    note_error(fail(FileNotFoundError(2, "No such file", str(home / "models" / "a.gguf"))))
    LOGGER.warning("Qt: inotify_add_watch(%s) failed", home / "models")
    LOGGER.warning("%s-two is somebody else", home)
    log.close()
    told = log.path.read_text(encoding="utf-8")
    assert "~/models/a.gguf".replace("/", os.sep) in told
    assert f"{home}{os.sep}" not in told
    assert f"{home}-two" in told
