"""Show the actions of a message: small buttons that appear with the mouse or the keyboard, and the branch picker."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QLabel, QSizePolicy, QToolButton, QWidget

from app.views.widgets.boxes import in_row
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme

ROW = 28
_ICON = 16
_COPIED_MS = 1_500


class HoverButton(QToolButton):
    """Show a button only while the mouse is over its message, or while the keyboard's focus is in it."""

    def __init__(self, message: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent or message)
        self._message = message

    @property
    def revealed(self) -> bool:
        """Return True if it is visible."""
        focus = QApplication.focusWidget()
        return self._message.underMouse() or (focus is not None and self._message.isAncestorOf(focus))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint it only if it is revealed."""
        if self.revealed:
            super().paintEvent(event)


class BranchPicker(QWidget):
    """Show the visible version's number among several, as 2/3 between two arrows. Signal: stepped(-1 or 1)."""

    stepped = Signal(int)

    def __init__(self, theme: Theme, before: str, after: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("branches")
        self._words = (before, after)
        icons = ["caret-left", "caret-right"]
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            icons.reverse()
        self.back = self._button(theme, icons[0], before)
        self.back.setObjectName("back")
        self.on = self._button(theme, icons[1], after)
        self.on.setObjectName("on")
        self.place = QLabel(self)
        self.place.setObjectName("branchPlace")
        row = in_row(spacing=0, margins=(0, 0, 0, 0), parent=self)
        for part in (self.back, self.place, self.on):
            row.addWidget(part)
        self.back.clicked.connect(self._step_back)
        self.on.clicked.connect(self._step_on)

    def _button(self, theme: Theme, name: str, words: str) -> QToolButton:
        button = QToolButton(self)
        keep_icon(button, theme, name, "muted")
        _shape(button, words)
        return button

    def show_branch(self, branch: tuple[int, int], *, enabled: bool) -> None:
        """Show number and count; hidden if there is but one."""
        number, count = branch
        self.place.setText(f"{number}/{count}")
        self.place.setAccessibleName(self.tr("Version {number} of {count}").format(number=number, count=count))
        for button, words in zip((self.back, self.on), self._words, strict=True):
            button.setToolTip(words if enabled else f"{words}\n{_why_not()}")
        self.back.setEnabled(enabled and number > 1)
        self.on.setEnabled(enabled and number < count)
        self.setVisible(count > 1)

    def _step_back(self) -> None:
        self.stepped.emit(-1)

    def _step_on(self) -> None:
        self.stepped.emit(1)


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """Describe an action: name in signals, icon, name for people. `always`: also while a reply is being written."""

    name: str
    icon: str
    words: str
    always: bool = False


class ActionRow(QWidget):
    """Show the actions of one message in a row of fixed height, with the branches' picker.

    Signals: action_wanted(name), stepped(step).

    The buttons are made by `build`: not before they can be seen, as a conversation has thousands of them.
    """

    action_wanted = Signal(str)
    stepped = Signal(int)

    def __init__(
        self, theme: Theme, message: QWidget, specs: tuple[ActionSpec, ...], versions: tuple[str, str], *, right: bool
    ) -> None:
        super().__init__(message)
        self.setFixedHeight(ROW)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self._message = message
        self._specs = specs
        self._versions = versions
        self._right = right
        self._busy = False
        self._offered: frozenset[str] = frozenset()
        self._branch = (1, 1)
        self._picker: BranchPicker | None = None
        self._buttons: dict[str, HoverButton] = {}
        self._row = in_row(spacing=0, margins=(0, 0, 0, 0), parent=self)

    @property
    def is_built(self) -> bool:
        return self._picker is not None

    @property
    def picker(self) -> BranchPicker:
        return self._picker or self.build()

    def button(self, name: str) -> HoverButton:
        self.build()
        return self._buttons[name]

    def show_state(self, offered: frozenset[str], branch: tuple[int, int], *, busy: bool) -> None:
        """Show the offered actions and the version's number; actions are disabled while a reply is being written."""
        self._offered, self._branch, self._busy = offered, branch, busy
        if branch[1] > 1:
            self.build()
        if self._picker is None:
            return
        for spec in self._specs:
            button = self._buttons[spec.name]
            button.setVisible(spec.name in offered)
            button.setEnabled(spec.always or not busy)
            words = spec.words if button.isEnabled() else f"{spec.words}\n{_why_not()}"
            if words != button.toolTip():
                button.setToolTip(words)
                button.setAccessibleDescription("" if button.isEnabled() else _why_not())
        self._picker.show_branch(branch, enabled=not busy)

    def build(self) -> BranchPicker:
        """Make the buttons, if they are not there yet; gives the picker."""
        if self._picker is not None:
            return self._picker
        self._picker = BranchPicker(self._theme, *self._versions, self)
        self._picker.stepped.connect(self.stepped)
        for spec in self._specs:
            self._buttons[spec.name] = self._button(spec)
        buttons = [self._buttons[spec.name] for spec in self._specs]
        if self._right:
            self._row.addStretch(1)
        for part in (self._picker, *buttons):  # The buttons are seen at times only, and leave no gap before it.
            self._row.addWidget(part)
        if not self._right:
            self._row.addStretch(1)
        self.show_state(self._offered, self._branch, busy=self._busy)
        return self._picker

    def focus_on(self, name: str) -> None:
        """Give an action the keyboard's focus; of two arrows the other one, if the first is disabled."""
        other = {"back": "on", "on": "back"}.get(name, name)
        for wanted in (name, other):
            button = self.findChild(QToolButton, wanted)
            if button is not None and button.isEnabled():
                button.setFocus(Qt.FocusReason.OtherFocusReason)
                return

    def refresh(self) -> None:
        """Refresh the actions: the mouse or the focus has come or gone."""
        for button in self._buttons.values():
            button.update()

    def _button(self, spec: ActionSpec) -> HoverButton:
        button = HoverButton(self._message, self)
        keep_icon(button, self._theme, spec.icon, "muted")
        _shape(button, spec.words)
        button.setObjectName(spec.name)
        button.clicked.connect(self._clicked)
        return button

    def _clicked(self) -> None:
        self.action_wanted.emit(self.sender().objectName())

    def say_copied(self) -> None:
        """Show for a moment that the text was copied."""
        button = self.button("copy")
        keep_icon(button, self._theme, "check", "accent")
        QTimer.singleShot(_COPIED_MS, button, self._show_copy_icon)

    def _show_copy_icon(self) -> None:
        keep_icon(self.button("copy"), self._theme, "copy", "muted")


def question_row(theme: Theme, message: QWidget) -> ActionRow:
    translate = QCoreApplication.translate
    specs = (
        ActionSpec("edit", "pencil-simple", translate("MessageActions", "Edit and send again")),
        ActionSpec("copy", "copy", translate("MessageActions", "Copy your message"), always=True),
        ActionSpec("prompt", "eye", translate("MessageActions", "Show what the model reads")),
        ActionSpec("delete", "trash", translate("MessageActions", "Delete this message and its reply")),
    )
    before = translate("MessageActions", "Previous version of your message")
    after = translate("MessageActions", "Next version of your message")
    return ActionRow(theme, message, specs, (before, after), right=True)


def reply_row(theme: Theme, message: QWidget) -> ActionRow:
    translate = QCoreApplication.translate
    specs = (
        ActionSpec("regenerate", "arrow-counter-clockwise", translate("MessageActions", "Generate another reply")),
        ActionSpec("continue", "fast-forward", translate("MessageActions", "Continue this reply")),
        ActionSpec("replay", "play", translate("MessageActions", "Replay: watch how this reply was written")),
        ActionSpec("road", "git-branch", translate("MessageActions", "Choose a token to go on from in other words")),
        ActionSpec(
            "rewrite", "magic-wand", translate("MessageActions", "Rewrite: say what to change, see each change")
        ),
        ActionSpec("proof", "shield-check", translate("MessageActions", "Export with proof")),
        ActionSpec("edit", "pencil-simple", translate("MessageActions", "Edit this reply")),
        ActionSpec("copy", "copy", translate("MessageActions", "Copy the reply"), always=True),
        ActionSpec("aloud", "speaker-high", translate("MessageActions", "Read aloud, or stop"), always=True),
        ActionSpec("prompt", "eye", translate("MessageActions", "Show what the model reads")),
        ActionSpec("delete", "trash", translate("MessageActions", "Delete this reply")),
    )
    before = translate("MessageActions", "Previous reply")
    after = translate("MessageActions", "Next reply")
    return ActionRow(theme, message, specs, (before, after), right=False)


def _why_not() -> str:
    return QCoreApplication.translate("MessageActions", "Possible once the reply is written")


def _shape(button: QToolButton, words: str) -> None:
    button.setAutoRaise(True)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the transcript knows what follows what
    button.setIconSize(QSize(_ICON, _ICON))
    button.setFixedSize(ROW, ROW)
    button.setToolTip(words)
    button.setAccessibleName(words)
