"""Show the bar on top: target, draft, lookahead, models, menu, panels."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QLabel, QMenu, QSizePolicy, QToolButton, QWidget

from app.state.models.models import ModelList
from app.state.models.selection import Loaded, Lookahead, PickerLine
from app.state.models.targets import Server
from app.views.commands.commands import Commands
from app.views.widgets.boxes import in_row
from app.views.widgets.icons import icon_button
from app.views.widgets.keys import settle_hover
from app.views.widgets.picker import PATH_ROLE, Picker
from app.views.widgets.theme import Theme
from app.words.models import worded
from engine import MAX_LOOKAHEAD

_NARROW = 1_000
"""Below this width the words stand above the pickers, not before them."""
_MENU = (
    "view.theme-system",
    "view.theme-light",
    "view.theme-dark",
    "view.theme-contrast",
    "",
    "proof.compare",
    "proof.sweep",
    "",
    "models.get",
    "models.library",
    "models.folder",
    "models.rescan",
    "",
    "chat.generation",
    "program.settings",
    "",
    "program.palette",
    "program.shortcuts",
    "program.about",
    "program.quit",
)
"""The commands in the menu, by their keys; empty: a line between."""


class ModelBar(QFrame):
    """Show the pickers (their signal `chosen` gives a Path, a DraftKey, a Lookahead) and buttons on top.

    Signals: library_wanted(), server_wanted(), left_toggled(bool), right_toggled(bool), tokens_toggled(bool).
    """

    library_wanted = Signal()
    server_wanted = Signal()
    left_toggled = Signal(bool)
    right_toggled = Signal(bool)
    tokens_toggled = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("bar")
        self._theme = theme
        self.target = Picker(self.tr("Target"), self)
        self.draft = Picker(self.tr("Draft"), self)
        self.lookahead = self._make_lookahead()
        for picker in (self.target, self.draft):
            picker.setMinimumContentsLength(8)
            picker.shows_whole = True
        self._make_buttons()
        self._lay_out()
        self._widen()
        theme.changed.connect(self._widen)

    def _make_lookahead(self) -> Picker:
        help_text = self.tr(
            "Lookahead: number of tokens proposed per round. Auto chooses it by measurement; 0 is plain decoding."
        )
        picker = Picker(help_text, self)
        picker.setAccessibleName(self.tr("Lookahead"))
        auto = PickerLine(None, self.tr("Auto"), hint=self.tr("Chooses the number each round for the highest speed"))
        choices: list[Lookahead] = ["auto", *range(MAX_LOOKAHEAD + 1)]
        picker.fill([auto, *(PickerLine(None, str(number)) for number in choices[1:])], None, "")
        for row, lookahead in enumerate(choices):
            picker.setItemData(row, lookahead, PATH_ROLE)
        picker.setMinimumContentsLength(4)
        return picker

    def _make_buttons(self) -> None:
        self.left_button = icon_button(self._theme, "list", self.tr("Show or hide the chat list"), self)
        self.right_button = icon_button(self._theme, "chart-line", self.tr("Show or hide the Speculation panel"), self)
        self.tokens_button = icon_button(self._theme, "highlighter-circle", self.tr("Colour tokens (Ctrl+T)"), self)
        self.tokens_button.setAccessibleName(self.tr("Colour tokens"))
        for button, signal in (
            (self.left_button, self.left_toggled),
            (self.right_button, self.right_toggled),
            (self.tokens_button, self.tokens_toggled),
        ):
            button.setCheckable(True)
            button.clicked.connect(signal)
        self.library_button = icon_button(self._theme, "stack", self.tr("Models and model folders"), self)
        self.library_button.clicked.connect(self.library_wanted)
        self.menu_button = icon_button(self._theme, "gear-six", self.tr("Settings"), self)
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = self._make_menu()
        self.menu_button.setMenu(self._menu)

    def _make_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.aboutToHide.connect(lambda: settle_hover(self.menu_button))
        return menu

    def fill_menu(self, commands: Commands) -> None:
        """Fill the menu with the existing commands."""
        commands.put_into(self._menu, [key for key in _MENU if not key or key in commands])

    def _lay_out(self) -> None:
        layout = in_row(self.left_button, spacing=8, margins=(8, 8, 8, 8), parent=self)
        self._fields: list[tuple[QBoxLayout, QLabel]] = []
        for word, picker, stretch in (
            (self.tr("Target"), self.target, 3),
            (self.tr("Draft"), self.draft, 3),
            (self.tr("Lookahead"), self.lookahead, 0),
        ):
            label = QLabel(word, self)
            label.setBuddy(picker)
            label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
            field = QBoxLayout(QBoxLayout.Direction.LeftToRight)
            field.addWidget(label)
            field.addWidget(picker, 1)
            # A picker has a largest width: what is left is behind it, not between it and its name.
            field.addStretch(0)
            layout.addLayout(field, stretch)
            self._fields.append((field, label))
        layout.addWidget(self.library_button)
        self._gap = layout.count()
        layout.addStretch(1)
        layout.addWidget(self.tokens_button)
        layout.addWidget(self.menu_button)
        layout.addWidget(self.right_button)
        self._narrow: bool | None = None
        self._fold()

    def _widen(self) -> None:
        """Give larger letters more room: a name is not cut beside free space."""
        for picker in (self.target, self.draft):
            picker.setMaximumWidth(round(340 * self._theme.scale))
        self._fold()

    def _fold(self) -> None:
        """Put the labels above the pickers in a narrow window; keep them together in a wide one."""
        narrow = self.width() < _NARROW
        box = self.layout()
        if isinstance(box, QBoxLayout):
            # In a wide window each takes what its name needs, in a narrow one all that there is.
            box.setStretch(self._gap, 0 if narrow else 1)
            for field, _ in self._fields[:2]:
                box.setStretchFactor(field, 3 if narrow else 0)
        if narrow == self._narrow:
            return
        self._narrow = narrow
        for field, label in self._fields:
            field.setDirection(QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight)
            field.setSpacing(2 if narrow else 8)
            label.setObjectName("caption" if narrow else "")
            label.style().polish(label)
        margin = 4 if narrow else 8
        if isinstance(box, QBoxLayout):
            box.setContentsMargins(8, margin, 8, 8)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._fold()

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return a size never wider than the smallest window."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), 720), hint.height())

    def show_models(self, models: ModelList) -> None:
        chosen = models.selection
        missing = self.tr("Choose a target")
        self.target.fill([*models.targets(), *models.server_lines()], chosen.target, missing, words=worded)
        for picker in (self.draft, self.lookahead):
            picker.setEnabled(not isinstance(chosen.target, Server))
        self.draft.fill(models.drafts(), chosen.draft_key, "", words=worded)
        self.lookahead.setCurrentIndex(0 if chosen.lookahead == "auto" else 1 + chosen.lookahead)
        loaded = models.loaded
        self._tell(self.target, self.tr("Target"), loaded, there=chosen.target == loaded.target)
        self._tell(self.draft, self.tr("Draft"), loaded, there=chosen.sources == loaded.sources)

    def ask_for_server(self) -> None:
        """Ask for a server; the picker shows the present selection until there is one."""
        self.target.refill()
        self.server_wanted.emit()

    def _tell(self, picker: Picker, name: str, loaded: Loaded, *, there: bool) -> None:
        lines = [f"{name}: {picker.currentText()}" if picker.currentText() else name]
        row = picker.currentIndex()
        detail = picker.itemData(row, Qt.ItemDataRole.ToolTipRole) if row >= 0 else None
        if detail:
            lines.append(str(detail))
        if not there and loaded.target is not None:
            lines.append(self.tr("It is not loaded yet."))
        picker.setToolTip("\n".join(lines))
