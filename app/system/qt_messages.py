"""Pass Qt's own messages on: to stderr, and into the log from warnings upwards."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QMessageLogContext, QtMsgType, qFormatLogMessage, qInstallMessageHandler

from app.system.log_file import LOGGER, without_quotes

_LEVELS = {
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def listen(before_the_end: Callable[[], None] | None = None, *, aloud: bool = True) -> None:
    """Take Qt's messages from now on.

    `before_the_end` is called before Qt ends the process, as it does where it cannot reach the display.
    `aloud`: to stderr too.
    """

    def take(kind: QtMsgType, context: QMessageLogContext, message: str | None) -> None:
        if aloud and sys.stderr is not None:
            print(qFormatLogMessage(kind, context, message or ""), file=sys.stderr, flush=True)  # noqa: T201 - as Qt does
        level = _LEVELS.get(kind)
        if level is not None:
            LOGGER.log(level, "Qt: %s", without_quotes(message or ""))
        if kind == QtMsgType.QtFatalMsg and before_the_end is not None:
            before_the_end()

    install: Any = qInstallMessageHandler
    install(take)


def stop_listening() -> None:
    """Leave the messages to Qt again."""
    install: Any = qInstallMessageHandler
    install(None)
