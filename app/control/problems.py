"""Turn errors into messages for a person."""

from __future__ import annotations

from datetime import UTC, datetime

from PySide6 import __version__ as qt_version
from PySide6.QtCore import QCoreApplication

from app.state.chat.transcript import Action, Problem
from app.system.log_file import about, note_error, trace_of, without_home
from app.system.resources import ResourceDamaged
from app.system.translation import say_error
from engine import ContextFull, EngineError, FolderUnreadable, LoadFailed


class NothingChosen(EngineError):
    """Report a question that was asked while no target is chosen."""


def describe(error: BaseException) -> Problem:
    """Return the message for an error.

    Ours say it all themselves; any other is logged and comes with details to report.
    """
    if isinstance(error, EngineError | ResourceDamaged):
        return Problem(say_error(error), None, _action(error))
    note_error(error)
    if isinstance(error, MemoryError):
        text = QCoreApplication.translate(
            "Errors", "There is not enough memory. Choose a smaller model or close other programs."
        )
        return Problem(text, details(error))
    text = QCoreApplication.translate(
        "Errors", "An unexpected error occurred ({error}). You can continue working. To report it, copy the details."
    ).format(error=type(error).__name__)
    return Problem(text, details(error))


def _action(error: BaseException) -> Action | None:
    if isinstance(error, ContextFull):
        return "longer-context"
    if isinstance(error, FolderUnreadable | LoadFailed):
        return "choose-folder"
    return None


def details(error: BaseException) -> str:
    """Describe the place and circumstances of an error, for a report.

    No text of the conversation is in it: messages that may quote one are left out. Nor is the user's folder.
    """
    return without_home(trace_of(error))


def report(problem: Problem, *, target: str, draft: str, now: datetime | None = None) -> str:
    """Return a problem as a report to the makers: versions, system, the names of the models, and where it happened."""
    when = (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    lines = [
        about(qt_version),
        f"Target: {target or 'none'}",
        f"Draft: {draft or 'none'}",
        f"Time of this report: {when}",
        "",
        problem.details or problem.text,
    ]
    return "\n".join(lines)
