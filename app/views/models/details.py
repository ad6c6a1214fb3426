"""Show one model of the library beside the table: its facts, its state, its path, and the favourite's star."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.state.models.library import LibraryRow
from app.state.models.names import shown_name
from app.system.translation import say
from app.views.widgets.boxes import in_column
from app.views.widgets.icons import icon_button, keep_icon
from app.views.widgets.labels import ElidedLabel
from app.views.widgets.theme import Theme
from app.words.figures import SEPARATOR
from app.words.library import fact_lines, state_words


class LibraryDetails(QFrame):
    """Show a model. Signal: favourite_wanted(Path, bool).

    Attributes: name, facts, path, state, star, folder_button, row (the model that is shown, None: none).
    """

    favourite_wanted = Signal(object, bool)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("libraryDetails")
        self.setAccessibleName(self.tr("Details"))
        self._theme = theme
        self._upright = True
        self.row: LibraryRow | None = None
        self.name = QLabel(self)
        self.name.setObjectName("cardTitle")
        self.facts = QLabel(self)
        self.facts.setObjectName("hint")
        self.path = ElidedLabel(self)
        self.path.setObjectName("hint")
        self.state = QLabel(self)
        self.state.setObjectName("loadState")
        for label in (self.name, self.facts, self.state):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.star = icon_button(theme, "star", "", self)
        self.star.clicked.connect(self._turn_favourite)
        self.folder_button = QPushButton(self.tr("Show in folder"), self)
        self.folder_button.setAutoDefault(False)
        self.folder_button.clicked.connect(self.show_in_folder)
        self._lay_out()
        self.show_row(None)

    def _lay_out(self) -> None:
        layout = in_column(spacing=4, margins=(0, 0, 0, 0), parent=self)
        title, self._place = QHBoxLayout(), QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head = QVBoxLayout()
        layout.addLayout(title)
        layout.addWidget(self.facts)
        layout.addLayout(self._place)
        layout.addStretch(1)
        title.setSpacing(8)
        title.addLayout(self._head, 1)
        title.addWidget(self.star, 0, Qt.AlignmentFlag.AlignTop)
        self._head.setSpacing(4)
        self._head.addWidget(self.name)
        self._head.addWidget(self.state)
        self._place.setSpacing(8)
        self._place.addWidget(self.path, 1)
        self._place.addWidget(self.folder_button, 0, Qt.AlignmentFlag.AlignLeading)

    def set_upright(self, upright: bool) -> None:
        """Arrange the facts beside the table, one a line, or below it, all in a line."""
        self._upright = upright
        policy = QSizePolicy.Policy.Preferred if upright else QSizePolicy.Policy.Maximum
        self.setSizePolicy(QSizePolicy.Policy.Preferred, policy)
        self._head.setDirection(QBoxLayout.Direction.TopToBottom if upright else QBoxLayout.Direction.LeftToRight)
        self._head.setSpacing(4 if upright else 16)
        self._head.setStretch(1, 0 if upright else 1)
        self._place.setDirection(self._head.direction())
        self.show_row(self.row)

    def show_row(self, row: LibraryRow | None) -> None:
        self.row = row
        self.name.setText("" if row is None else say(shown_name(row.model)))
        lines = [] if row is None else fact_lines(row)
        self.facts.setText(("\n" if self._upright else SEPARATOR).join(lines))
        self.facts.setVisible(bool(lines))
        self.path.show_text("" if row is None else str(row.path))
        self.state.setText("" if row is None else state_words(row))
        self.state.setProperty("bad", row is not None and row.state in ("large", "problem"))
        self.state.style().polish(self.state)
        self.folder_button.setEnabled(row is not None and row.state != "away")
        favourite = row is not None and row.favourite
        words = self.tr("Remove from favourites") if favourite else self.tr("Add to favourites")
        self.star.setEnabled(row is not None)
        self.star.setToolTip(words)
        self.star.setAccessibleName(words)
        keep_icon(self.star, self._theme, "star-fill" if favourite else "star", "accent" if favourite else "text")

    def _turn_favourite(self) -> None:
        if self.row is not None:
            self.favourite_wanted.emit(self.row.path, not self.row.favourite)

    def show_in_folder(self) -> None:
        if self.row is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.row.path.parent)))

    def copy_path(self) -> None:
        if self.row is not None:
            QGuiApplication.clipboard().setText(str(self.row.path))
