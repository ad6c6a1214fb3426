"""Show an error report for the developers before it is copied."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget

from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.theme import keep_fixed

_SIZE = QSize(680, 420)
_COPIED_MS = 2_000


class ErrorDialog(Dialog):
    """Show a report and copy it; the window behind it goes on working. Signal: log_wanted()."""

    log_wanted = Signal()

    def __init__(self, report: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("errorReport")
        self.setWindowTitle(self.tr("Error report"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        text = QLabel(
            self.tr(
                "The developers need this to find the bug: versions, model names, and where in the program the "
                "error occurred. It contains nothing from your chats."
            ),
            self,
        )
        text.setWordWrap(True)
        self.report = QPlainTextEdit(report, self)
        self.report.setReadOnly(True)
        self.report.setTabChangesFocus(True)
        self.report.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        keep_fixed(self.report)
        self.report.setAccessibleName(self.tr("Error report"))
        # The keyboard moves in it, so that it can be read and a part of it chosen.
        self.report.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.copy_button = QPushButton(self.tr("Copy"), self)
        self.copy_button.setObjectName("primary")
        self.copy_button.setDefault(True)
        self.log_button = QPushButton(self.tr("Open the log folder"), self)
        self.close_button = QPushButton(self.tr("Close"), self)
        row = in_row(self.log_button, ..., self.copy_button, self.close_button, spacing=8)
        in_column(text, wide(self.report), row, margins=(16, 16, 16, 16), spacing=12, parent=self)
        self.copy_button.clicked.connect(self._copy)
        self.log_button.clicked.connect(self.log_wanted)
        self.close_button.clicked.connect(self.close)
        self.resize(_SIZE)
        self.copy_button.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.report.toPlainText())
        self.copy_button.setText(self.tr("Copied"))
        QTimer.singleShot(_COPIED_MS, self.copy_button, self._show_copy)

    def _show_copy(self) -> None:
        self.copy_button.setText(self.tr("Copy"))
