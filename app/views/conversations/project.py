"""Show a project's name, instructions, models and files."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.state.settings.project import ProjectChoice
from app.views.widgets.boxes import in_column
from app.views.widgets.keys import Dialog

_SIZE = QSize(560, 600)
_WAIT_MS = 400
_LONGEST_TITLE, _LONGEST = 200, 200_000


class ProjectDialog(Dialog):
    """Change a project; changes hold at once. The window behind it goes on working.

    `models`: the names of its models, or of those that would be its own. Signals: changed(title, instructions, whether
    it has models of its own), files_wanted() (to be asked for), file_removed(name), folder_wanted(), folder_left().
    """

    changed = Signal(str, str, bool)
    files_wanted = Signal()
    file_removed = Signal(str)
    folder_wanted = Signal()
    folder_left = Signal()

    def __init__(self, title: str, choice: ProjectChoice, models: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("project")
        self.setWindowTitle(self.tr("Project"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = QLineEdit(title, self)
        self.title.setMaxLength(_LONGEST_TITLE)
        self.instructions = QPlainTextEdit(choice.instructions, self)
        self.instructions.setPlaceholderText(self.tr("What the model reads before every chat of this project"))
        self.instructions.setTabChangesFocus(True)
        self.own_models = QCheckBox(self.tr("Its chats use {models}").format(models=models.replace("&", "&&")), self)
        self.own_models.setChecked(bool(choice.target))
        hint = self.tr("Models that you choose while one of its chats is open are then chosen for this project alone.")
        self.own_models.setToolTip(hint)
        self.files = QListWidget(self)
        self.add_button = QPushButton(self.tr("Add files…"), self)
        self.remove_button = QPushButton(self.tr("Remove"), self)
        self.folder = QLabel(self)
        self.folder.setObjectName("hint")
        self.folder.setTextFormat(Qt.TextFormat.PlainText)
        self.folder.setWordWrap(True)
        self.folder_button = QPushButton(self.tr("Follow a folder…"), self)
        self.leave_button = QPushButton(self.tr("Don’t follow it"), self)
        self.close_button = QPushButton(self.tr("Close"), self)
        self._timer = QTimer(self, singleShot=True, interval=_WAIT_MS)
        self._lay_out()
        self._connect()
        self.show_files((), choice.folder)
        self.resize(_SIZE)
        self.title.selectAll()
        self.title.setFocus()

    def _lay_out(self) -> None:
        layout = in_column(spacing=8, margins=(16, 16, 16, 16), parent=self)
        for words, field in (
            (self.tr("Name"), self.title),
            (self.tr("Instructions"), self.instructions),
            (self.tr("Files"), self.files),
        ):
            label = QLabel(words, self)
            label.setBuddy(field)
            field.setAccessibleName(words)
            layout.addWidget(label)
            layout.addWidget(field, 0 if field is self.title else 1)
        for row in (
            (self.add_button, self.remove_button, self.folder_button, self.leave_button),
            (self.folder,),
            (self.own_models,),
            (None, self.close_button),
        ):
            line = QHBoxLayout()
            line.setSpacing(8)
            for widget in row:
                if widget is None:
                    line.addStretch(1)
                else:
                    line.addWidget(widget)
            layout.addLayout(line)

    def _connect(self) -> None:
        self._timer.timeout.connect(self._tell)
        self.title.textEdited.connect(lambda _text: self._timer.start())
        self.instructions.textChanged.connect(self._timer.start)
        self.own_models.toggled.connect(self._tell)
        self.add_button.clicked.connect(self.files_wanted)
        self.remove_button.clicked.connect(self._remove)
        self.files.itemSelectionChanged.connect(self._show_state)
        self.folder_button.clicked.connect(self.folder_wanted)
        self.leave_button.clicked.connect(self.folder_left)
        self.close_button.clicked.connect(self.accept)
        self.finished.connect(self._tell)

    def show_files(self, names: Sequence[str], folder: str) -> None:
        """Show the names of its files, and the folder that it follows; "": none."""
        self.files.clear()
        self.files.addItems(list(names))
        self.folder.setText(self.tr("Follows {folder}").format(folder=folder))
        self.folder.setVisible(bool(folder))
        self.leave_button.setVisible(bool(folder))
        self._show_state()

    def _show_state(self) -> None:
        self.remove_button.setEnabled(bool(self.files.selectedItems()))

    def _remove(self) -> None:
        for item in self.files.selectedItems():
            self.file_removed.emit(item.text())

    def _tell(self) -> None:
        self._timer.stop()
        words = self.instructions.toPlainText()[:_LONGEST]
        self.changed.emit(self.title.text().strip(), words, self.own_models.isChecked())
