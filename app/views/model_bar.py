"""The bar on top: target, draft, lookahead, models folder, menu, panels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QActionGroup, QKeySequence, QPaintEvent, QStandardItem, QStandardItemModel, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QWidget,
)

from app.state.models import Choice, Loaded, Lookahead, ModelList
from app.views.hover import settle_hover
from app.views.icons import icon_button
from app.views.theme import Theme
from engine import MAX_LOOKAHEAD

_PATH = Qt.ItemDataRole.UserRole
_POPUP_MOST = 560


class Picker(QComboBox):
    """A list to choose from; it is not changed by a passing wheel. Signal: chosen(data)."""

    chosen = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setModel(QStandardItemModel(self))
        self.setMaxVisibleItems(16)
        # The combo box's own delegate draws menu items, and those never look greyed.
        self.setItemDelegate(QStyledItemDelegate(self))
        container = self.view().parentWidget()
        if isinstance(container, QFrame):
            container.setFrameShape(QFrame.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.activated.connect(lambda _index: self.chosen.emit(self.currentData(_PATH)))
        self._shown: object = None

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the wheel to what lies below."""
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Cut a long text with an ellipsis, which a style sheet otherwise forgets."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        text = option.currentText or self.placeholderText()
        option.currentText = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width() - 4)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def showPopup(self) -> None:  # noqa: N802 - Qt's name
        """Open the list, as wide as its lines."""
        wanted = self.view().sizeHintForColumn(0) + 40
        self.view().setMinimumWidth(max(self.width(), min(wanted, _POPUP_MOST)))
        super().showPopup()

    def hidePopup(self) -> None:  # noqa: N802 - Qt's name
        """Close the list."""
        super().hidePopup()
        settle_hover(self)

    def fill(self, choices: Sequence[Choice], chosen: object, missing: str) -> None:
        """Show these lines; those with a problem are greyed and say it. `missing`: shown where none is chosen."""
        state = (tuple(choices), chosen)
        if state == self._shown:
            return
        self._shown = state
        model = QStandardItemModel(self)
        current = -1
        for row, choice in enumerate(choices):
            item = QStandardItem(choice.label)
            item.setData(choice.path, _PATH)
            item.setToolTip(choice.problem or choice.hint)
            item.setEnabled(choice.problem is None)
            item.setEditable(False)
            model.appendRow(item)
            if choice.path == chosen:
                current = row
        self.setModel(model)  # the one before was ours, and goes with this
        self.setCurrentIndex(current)
        self.setPlaceholderText(missing)


class ModelBar(QFrame):
    """The pickers and buttons on top.

    Signals: target_chosen(Path), draft_chosen(Path | None), lookahead_chosen(int | "auto"), folder_wanted(),
    rescan_wanted(), theme_chosen(mode), left_toggled(bool), right_toggled(bool), tokens_toggled(bool), about_wanted(),
    compare_wanted(), sweep_wanted(), quit_wanted().
    """

    target_chosen = Signal(object)
    draft_chosen = Signal(object)
    lookahead_chosen = Signal(object)
    folder_wanted = Signal()
    rescan_wanted = Signal()
    theme_chosen = Signal(str)
    left_toggled = Signal(bool)
    right_toggled = Signal(bool)
    tokens_toggled = Signal(bool)
    about_wanted = Signal()
    compare_wanted = Signal()
    sweep_wanted = Signal()
    quit_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("bar")
        self._theme = theme
        self.target = Picker(self.tr("Target"), self)
        self.draft = Picker(self.tr("Draft"), self)
        self.lookahead = self._make_lookahead()
        for picker in (self.target, self.draft):
            picker.setMinimumContentsLength(8)
            picker.setMaximumWidth(340)
        self.target.chosen.connect(self.target_chosen)
        self.draft.chosen.connect(self.draft_chosen)
        self.lookahead.chosen.connect(self.lookahead_chosen)
        self._make_buttons()
        self._lay_out()

    def _make_lookahead(self) -> Picker:
        help_text = self.tr("Lookahead: tokens proposed per round. Auto measures what pays; 0 is plain decoding.")
        picker = Picker(help_text, self)
        picker.setAccessibleName(self.tr("Lookahead"))
        auto = Choice(None, self.tr("Auto"), hint=self.tr("Each round as many as promise the most tokens per second"))
        choices: list[Lookahead] = ["auto", *range(MAX_LOOKAHEAD + 1)]
        picker.fill([auto, *(Choice(None, str(number)) for number in choices[1:])], None, "")
        for row, lookahead in enumerate(choices):
            picker.setItemData(row, lookahead, _PATH)
        picker.setMinimumContentsLength(4)
        return picker

    def _make_buttons(self) -> None:
        self.left_button = icon_button(self._theme, "list", self.tr("Show or hide the chats"), self)
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
        self.folder_button = icon_button(self._theme, "folder-open", self.tr("Choose the models folder"), self)
        self.folder_button.clicked.connect(self.folder_wanted)
        self.menu_button = icon_button(self._theme, "gear-six", self.tr("Settings"), self)
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = self._make_menu()
        menu.aboutToHide.connect(lambda: settle_hover(self.menu_button))
        self.menu_button.setMenu(menu)

    def _make_menu(self) -> QMenu:
        menu = QMenu(self)
        # A section would lose its words to the style sheet.
        menu.addAction(self.tr("Theme")).setEnabled(False)
        group = QActionGroup(menu)
        words = {"system": self.tr("As the system"), "light": self.tr("Light"), "dark": self.tr("Dark")}
        for mode, word in words.items():
            action = menu.addAction(word)
            action.setCheckable(True)
            action.setChecked(mode == self._theme.mode)
            action.setActionGroup(group)
            action.triggered.connect(lambda _checked=False, mode=mode: self.theme_chosen.emit(mode))
        menu.addSeparator()
        menu.addAction(self.tr("Speculation")).setEnabled(False)
        for word, keys, signal in (
            (self.tr("Compare plain and speculative…"), "Ctrl+Shift+C", self.compare_wanted),
            (self.tr("Lookahead sweep…"), "Ctrl+Shift+L", self.sweep_wanted),
        ):
            action = menu.addAction(word)
            action.setShortcut(QKeySequence(keys))
            action.triggered.connect(signal)
            self.addAction(action)  # so that its keys are heard while the menu is closed
        menu.addSeparator()
        menu.addAction(self.tr("Choose the models folder…")).triggered.connect(self.folder_wanted)
        menu.addAction(self.tr("Look for models again")).triggered.connect(self.rescan_wanted)
        menu.addSeparator()
        menu.addAction(self.tr("About Outrider…")).triggered.connect(self.about_wanted)
        end = menu.addAction(self.tr("Quit"))
        end.setShortcut(QKeySequence("Ctrl+Q"))
        end.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)  # also from the other windows
        end.triggered.connect(self.quit_wanted)
        self.addAction(end)
        return menu

    def _lay_out(self) -> None:
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(self.left_button)
        for word, picker, stretch in (
            (self.tr("Target"), self.target, 3),
            (self.tr("Draft"), self.draft, 3),
            (self.tr("Lookahead"), self.lookahead, 0),
        ):
            label = QLabel(word, self)
            label.setBuddy(picker)
            layout.addWidget(label)
            layout.addWidget(picker, stretch)
        layout.addWidget(self.folder_button)
        layout.addStretch(1)
        layout.addWidget(self.tokens_button)
        layout.addWidget(self.menu_button)
        layout.addWidget(self.right_button)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Never wider than the smallest window."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), 720), hint.height())

    def show_models(self, models: ModelList) -> None:
        """Show what can be chosen and what is chosen."""
        chosen = models.selection
        self.target.fill(models.targets(), chosen.target, self.tr("Choose a target"))
        none = Choice(None, self.tr("none"), hint=self.tr("Plain decoding: no draft"))
        self.draft.fill([none, *models.drafts()], chosen.draft, "")
        self.lookahead.setCurrentIndex(0 if chosen.lookahead == "auto" else 1 + chosen.lookahead)
        loaded = models.loaded
        self._tell(self.target, self.tr("Target"), chosen.target, loaded.target, loaded)
        self._tell(self.draft, self.tr("Draft"), chosen.draft, loaded.draft, loaded)

    def _tell(self, picker: Picker, name: str, chosen: Path | None, there: Path | None, loaded: Loaded) -> None:
        lines = [f"{name}: {picker.currentText()}" if picker.currentText() else name]
        row = picker.currentIndex()
        detail = picker.itemData(row, Qt.ItemDataRole.ToolTipRole) if row >= 0 else None
        if detail:
            lines.append(str(detail))
        if chosen != there and loaded.target is not None:
            lines.append(self.tr("It is loaded with the next message."))
        picker.setToolTip("\n".join(lines))
