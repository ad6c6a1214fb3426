"""What somebody who works by keyboard or with a screen reader misses in a window."""

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QTextEdit,
    QWidget,
)

from app.views.commands.commands import Commands

_CONTROLS = (
    *(QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit),
    *(QPlainTextEdit, QTabBar, QTextEdit),
)
_MOST_STEPS = 300
_NO_ROLES = (QAccessible.Role.NoRole, QAccessible.Role.Client, QAccessible.Role.Whitespace)
_AROUND = 4


def controls(window: QWidget) -> Iterator[QWidget]:
    """Everything in a window that is shown, and that can be used or has the keyboard.

    Parts of a control count as that control: the field of a spin box, the bars of a scroll area, the buttons of tabs.
    """
    for widget in window.findChildren(QWidget):
        if not widget.isVisibleTo(window) or widget.window() is not window or not widget.isEnabled():
            continue
        focusable = widget.focusPolicy() != Qt.FocusPolicy.NoFocus and widget.focusProxy() is None
        if (isinstance(widget, _CONTROLS) or focusable) and not _is_part(widget):
            yield widget


def _is_part(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    if isinstance(widget, QLabel) and not widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
        # Its text can be selected with the mouse; it takes the keyboard for that alone.
        return True
    if isinstance(widget, QHeaderView):
        return True
    if isinstance(widget, QScrollBar):
        # A bar of its own is one beside a plot, which the keyboard can do without: its keys are those of its panel.
        return True
    if widget.objectName().startswith("qt_"):
        return True
    while parent is not None:
        if isinstance(parent, QComboBox | QAbstractSpinBox | QTabBar) or (
            isinstance(parent, QLineEdit) and isinstance(widget, QAbstractButton)
        ):
            return True
        parent = parent.parentWidget()
    return False


def nameless(window: QWidget) -> list[str]:
    """Controls that a screen reader has no name or no role for, and icons without a tooltip."""
    found = []
    for widget in controls(window):
        told = QAccessible.queryAccessibleInterface(widget)
        if not told.text(QAccessible.Text.Name).strip():
            found.append(f"no name: {describe(widget)}")
        elif told.role() in _NO_ROLES and not _only_scrolls(widget):
            found.append(f"no role: {describe(widget)}")
        if isinstance(widget, QAbstractButton) and not widget.text() and not widget.toolTip():
            found.append(f"no tooltip: {describe(widget)}")
    return found


def _only_scrolls(widget: QWidget) -> bool:
    """Qt has no better role for what scrolls than that of any area."""
    return isinstance(widget, QAbstractScrollArea) and not isinstance(widget, _CONTROLS)


def unreachable(window: QWidget, commands: Commands | None = None) -> list[str]:
    """Controls that neither Tab nor a command reaches."""
    reached = tab_stops(window)
    words = {command.text.rstrip("…") for command in commands} if commands is not None else set()
    found = []
    for widget in controls(window):
        by_tab = any(stop is widget or widget.isAncestorOf(stop) for stop in reached) or _beside(widget, reached)
        by_command = isinstance(widget, QAbstractButton) and _words(widget) in words
        if not by_tab and not by_command:
            found.append(f"not reached: {describe(widget)}")
    return found


def _words(button: QAbstractButton) -> str:
    return (button.text() or button.accessibleName()).replace("&", "").rstrip("…")


def _beside(widget: QWidget, reached: list[QWidget]) -> bool:
    """Of the choices of one question Tab reaches the chosen one, and the arrows the others."""
    exclusive = isinstance(widget, QRadioButton) or (isinstance(widget, QAbstractButton) and widget.autoExclusive())
    return exclusive and any(type(stop) is type(widget) and stop.parent() is widget.parent() for stop in reached)


def tab_stops(window: QWidget) -> list[QWidget]:
    """Where Tab leads, one after the other, until it is where it began; the window must be the active one."""
    first: QWidget | None = None
    stops: list[QWidget] = []
    for _ in range(_MOST_STEPS):
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        now = QApplication.focusWidget()
        if now is None or now is first or now.window() is not window:
            break
        first = first or now
        stops.append(now)
    return stops


def without_visible_focus(window: QWidget) -> list[str]:
    """Tab stops that look the same with the keyboard and without it."""
    found = []
    for stop in dict.fromkeys(tab_stops(window)):
        if not stop.isVisible():
            continue
        _scroll_to(stop)
        stop.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        place = QRect(stop.mapTo(window, QPoint(0, 0)), stop.size())
        place = place.adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND) & window.rect()
        there = window.grab(place).toImage()
        stop.clearFocus()
        QApplication.processEvents()
        if window.grab(place).toImage() == there:
            found.append(f"no visible focus: {describe(stop)}")
        stop.setFocus(Qt.FocusReason.TabFocusReason)
    return found


def _scroll_to(widget: QWidget) -> None:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()
    QApplication.processEvents()


def describe(widget: QWidget) -> str:
    """A widget for people who look for it in the source."""
    text = getattr(widget, "text", None)
    shown = text() if isinstance(widget, QAbstractButton) and callable(text) else ""
    path = [type(each).__name__ for each in (widget.parentWidget(), widget) if each is not None]
    return f"{'/'.join(path)} {widget.objectName()!r} {widget.accessibleName()!r} {shown!r}"
