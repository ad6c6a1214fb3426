"""Report a damaged program: with a dialog of Qt, else by the system's means, and on stderr.

Needs none of the program's own resources, as they may be what is damaged.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from app.system.console import message_box
from app.system.log_file import LOGGER, ProgramLog
from app.system.places import forget_qt_paths, log_folder, outside_environment
from engine import InstallationDamaged
from engine.host import EXIT_DAMAGED

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMessageBox

UNATTENDED_S = 3
"""The duration of the dialog if nobody can press its button."""
_INVISIBLE = ("offscreen", "minimal")
_QT = ("PySide6/", "shiboken6/", "libQt6", "libpyside6", "libshiboken6")
_SUMMARY = "Outrider is damaged and cannot start."


def report(damage: InstallationDamaged, *, attended: bool = True, has_screen: bool = True) -> int:
    """Report it in every possible way, and return the exit code. `attended`: somebody is there to press the button."""
    print(f"outrider: {damage}", file=sys.stderr, flush=True)  # noqa: T201 - for a start from a terminal
    log = ProgramLog(log_folder())
    log.begin()
    log.open()
    LOGGER.error("damaged: missing %s, changed %s", list(damage.missing[:100]), list(damage.changed[:100]))
    if has_screen:
        attended = attended and os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0] not in _INVISIBLE
        shown = _lost_qt(damage) and show_with_system(damage, attended=attended)
        if not shown and not _show_with_qt(damage, attended=attended):
            show_with_system(damage, attended=attended)
    log.close()
    return EXIT_DAMAGED


def explanation(damage: InstallationDamaged) -> str:
    """List the damaged files, one per line, with the advice."""
    more = [f"and {damage.more} more"] if damage.more else []
    return "\n".join([*damage.listed, *more, "", damage.ADVICE])


def _lost_qt(damage: InstallationDamaged) -> bool:
    """Return True if parts of Qt are lost, so that Qt may fail or end the process: then it is tried last."""
    return any(name.startswith(_QT) for name in (*damage.missing, *damage.changed))


def _show_with_qt(damage: InstallationDamaged, *, attended: bool) -> bool:
    """Return a dialog of Qt. False: Qt cannot be used."""
    try:
        from PySide6.QtCore import QTimer  # noqa: PLC0415 - Qt may be what is damaged
        from PySide6.QtWidgets import QApplication  # noqa: PLC0415

        from app.system.qt_messages import listen  # noqa: PLC0415
    except ImportError:
        return False

    def with_system() -> None:
        show_with_system(damage, attended=attended)
        os._exit(EXIT_DAMAGED)

    # The one line that says it all must not go down in what Qt has to say about a display.
    listen(before_the_end=with_system, aloud=False)
    app = QApplication.instance() or QApplication(["outrider"])
    forget_qt_paths()
    box = make_dialog(damage)
    if not attended:
        QTimer.singleShot(1000 * UNATTENDED_S, box.accept)
    box.exec()
    del app
    return True


def make_dialog(damage: InstallationDamaged) -> QMessageBox:
    """Return the dialog of Qt, with one button; not shown yet."""
    from PySide6.QtCore import Qt  # noqa: PLC0415 - Qt may be what is damaged
    from PySide6.QtWidgets import QMessageBox  # noqa: PLC0415 - as above

    box = QMessageBox(QMessageBox.Icon.Critical, "Outrider", _SUMMARY)
    box.setTextFormat(Qt.TextFormat.PlainText)
    *files, advice = explanation(damage).split("\n")
    box.setInformativeText("\n".join([*map(_in_one_line, files), advice]))
    button = box.addButton("Quit", QMessageBox.ButtonRole.AcceptRole)
    box.setDefaultButton(button)
    box.setEscapeButton(button)
    return box


def _in_one_line(text: str) -> str:
    """Return a text that is broken nowhere: each file has a line of its own."""
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "-\N{WORD JOINER}").replace("/", "/\N{WORD JOINER}")


def show_with_system(damage: InstallationDamaged, *, attended: bool) -> bool:
    """Return a dialog without Qt: whatever the system has. False: it has nothing."""
    text = f"{_SUMMARY}\n\n{explanation(damage)}"
    if sys.platform == "win32":
        return message_box(text, error=True)
    for command in _commands(text):
        if shutil.which(command[0]) and _run(command, None if attended else UNATTENDED_S):
            return True
    return False


def _commands(text: str) -> list[list[str]]:
    if sys.platform == "darwin":
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        script = f'display dialog "{quoted}" with title "Outrider" buttons {{"Quit"}} default button 1 with icon stop'
        return [["osascript", "-e", script]]
    old = ["-center", "-title", "Outrider", "-buttons", "Quit:0", "-default", "Quit", text]
    return [
        ["zenity", "--error", "--no-markup", "--title=Outrider", f"--text={text}"],
        ["kdialog", "--title", "Outrider", "--error", text],
        ["xmessage", *old],
        ["gmessage", *old],
    ]


def _run(command: list[str], seconds: float | None) -> bool:
    """Show a dialog and wait for it, at most so long. False: it could not be started."""
    quiet = subprocess.DEVNULL
    try:
        subprocess.run(
            command, stdin=quiet, stdout=quiet, stderr=quiet, env=outside_environment(), timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
    return True
