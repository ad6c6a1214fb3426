"""Ask for a server as the target: address, key, model and name; it is tested before it can be added."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget

from app.state.models.selection import PickerLine
from app.state.models.targets import Server, short_model
from app.views.widgets.boxes import in_column, in_grid, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.picker import PATH_ROLE, Picker

_SIZE = QSize(520, 320)


class ServerDialog(Dialog):
    """Show the fields of a server. Signals: asked(address, key) (to be tested), chosen(Server)."""

    asked = Signal(str, str)
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("server")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Add a server"))
        self.found = ""
        """The address as the server was found at; "" before it was tested."""
        self._named = ""
        self._make_fields()
        self._make_buttons()
        self._lay_out()
        self._changed()
        self.resize(_SIZE.boundedTo(self.screen().availableSize()))

    # Building ---------------------------------------------------------------------------------------------------------

    def _make_fields(self) -> None:
        self.address, self.key, self.name = QLineEdit(self), QLineEdit(self), QLineEdit(self)
        self.address.setPlaceholderText(self.tr("such as http://localhost:8080"))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setPlaceholderText(self.tr("if the server wants one"))
        self.model = Picker(self.tr("Model"), self)
        self.model.setMinimumContentsLength(14)
        self.status = QLabel(self)
        self.status.setObjectName("serverStatus")
        self.status.setWordWrap(True)
        self.status.setMinimumHeight(3 * self.status.fontMetrics().lineSpacing())
        self.status.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeading)
        for edit in (self.address, self.key):
            edit.textChanged.connect(self._changed)
        self.model.chosen.connect(lambda _model: self._suggest_name())
        self.name.textChanged.connect(lambda _text: self._enable())

    def _make_buttons(self) -> None:
        self.test = QPushButton(self.tr("Test"), self)
        self.test.setDefault(True)
        self.test.clicked.connect(self._ask)
        self.cancel = QPushButton(self.tr("Cancel"), self)
        self.cancel.clicked.connect(self.reject)
        self.add = QPushButton(self.tr("Add"), self)
        self.add.setObjectName("primary")
        self.add.clicked.connect(self._add)

    def _lay_out(self) -> None:
        grid = in_grid(across=12, down=8, stretch=1)
        rows: tuple[tuple[str, QWidget], ...] = (
            (self.tr("Address"), self.address),
            (self.tr("Key"), self.key),
            (self.tr("Model"), self.model),
            (self.tr("Name"), self.name),
        )
        for row, (word, widget) in enumerate(rows):
            label = QLabel(word, self)
            label.setBuddy(widget)
            widget.setAccessibleName(word)
            grid.addWidget(label, row, 0)
            grid.addWidget(widget, row, 1)
        buttons = in_row(self.test, ..., self.cancel, self.add, spacing=8)
        in_column(grid, wide(self.status), buttons, margins=(24, 24, 24, 16), spacing=12, parent=self)

    # Testing ----------------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Reset the test after a change of address or key."""
        self.found = ""
        self.model.fill([], None, "")
        self._say(self.tr("The server is tested before it is added: Outrider asks which models it has."))
        self._enable()

    def _ask(self) -> None:
        address = self.address.text().strip()
        if address:
            self._say(self.tr("Asking the server…"))
            self.asked.emit(address, self.key.text().strip())

    def show_found(self, address: str, models: Sequence[str], kind: str) -> None:
        self.found = address
        self.model.fill([PickerLine(None, short_model(name), hint=name) for name in models], None, "")
        for row, name in enumerate(models):
            self.model.setItemData(row, name, PATH_ROLE)
        self.model.setCurrentIndex(0 if models else -1)
        words = self.tr("The server answers ({kind}). Choose a model and a name.").format(kind=kind)
        self._say(words if models else self.tr("The server answers, but it has no model."), bad=not models)
        self._suggest_name()

    def show_problem(self, words: str) -> None:
        """Show the reason why the server cannot be used."""
        self.found = ""
        self._say(words, bad=True)
        self._enable()

    def _say(self, words: str, *, bad: bool = False) -> None:
        self.status.setText(words)
        self.status.setProperty("bad", bad)
        self.status.style().polish(self.status)

    def _suggest_name(self) -> None:
        """Name it after its model and its machine, unless the user has named it."""
        model = self.model.currentData(PATH_ROLE)
        if model and self.name.text() in ("", self._named):
            self._named = f"{short_model(model)} · {urlsplit(self.found).netloc}"
            self.name.setText(self._named)
        self._enable()

    def _enable(self) -> None:
        model = self.model.currentData(PATH_ROLE)
        self.add.setEnabled(bool(self.found and model and self.name.text().strip()))
        self.test.setEnabled(bool(self.address.text().strip()))
        self.add.setDefault(self.add.isEnabled())

    def _add(self) -> None:
        model = self.model.currentData(PATH_ROLE)
        if self.found and isinstance(model, str):
            self.chosen.emit(Server(self.found, model, self.name.text().strip()))
            self.accept()
