"""What is cut in a window: texts without room, controls smaller than they need, pages that scroll sideways."""

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QComboBox, QLabel, QScrollArea, QWidget

_SLACK = 1


def cut_parts(window: QWidget) -> Iterator[str]:
    """What is cut in a window that is shown, a line each."""
    for widget in window.findChildren(QWidget):
        if not widget.isVisibleTo(window) or widget.visibleRegion().isEmpty():
            continue
        problem = _problem(widget)
        if problem:
            yield f"{type(widget).__name__} {widget.objectName()!r} {_words(widget)!r}: {problem}"


def _words(widget: QWidget) -> str:
    text = getattr(widget, "text", None)
    said = text() if callable(text) else widget.accessibleName()
    return str(said)[:60]


def _problem(widget: QWidget) -> str:
    if isinstance(widget, QLabel):
        return _cut_label(widget) or _outside(widget)
    if isinstance(widget, QAbstractButton) and not isinstance(widget.parentWidget(), QComboBox):
        wanted = widget.minimumSizeHint()
        if widget.text() and (widget.width() + _SLACK < wanted.width() or widget.height() + _SLACK < wanted.height()):
            return f"{_size(widget)} instead of {wanted.width()} x {wanted.height()}"
    if isinstance(widget, QScrollArea):
        bar = widget.horizontalScrollBar()
        if bar.isVisible() and bar.maximum() > 0:
            return f"scrolls sideways by {bar.maximum()}"
        page = widget.widget()
        if page is not None and page.width() > widget.viewport().width() + _SLACK:
            return f"its page is {page.width()} wide, it shows {widget.viewport().width()}"
    return _outside(widget)


def _cut_label(label: QLabel) -> str:
    if not label.text() or label.minimumWidth() == label.maximumWidth() == 0:
        return ""
    room = label.contentsRect().adjusted(label.margin(), label.margin(), -label.margin(), -label.margin())
    if label.wordWrap():
        wanted = label.heightForWidth(label.width())
        return f"{label.height()} high instead of {wanted}" if label.height() + _SLACK < wanted else ""
    wanted = label.sizeHint().width() - (label.width() - room.width())
    return f"{room.width()} wide instead of {wanted}" if room.width() + _SLACK < wanted else ""


def _outside(widget: QWidget) -> str:
    """Parts of a page may be scrolled away; others must lie inside the one that they are in."""
    parent = widget.parentWidget()
    if parent is None or widget.isWindow() or isinstance(parent.parentWidget(), QAbstractScrollArea):
        return ""
    if not isinstance(widget, QLabel | QAbstractButton | QComboBox):
        return ""
    place = QRect(QPoint(0, 0), parent.size())
    inside = place.adjusted(-_SLACK, -_SLACK, _SLACK, _SLACK).contains(widget.geometry())
    return "" if inside else f"{widget.geometry().getRect()} is outside of {_size(parent)}"


def _size(widget: QWidget) -> str:
    return f"{widget.width()} x {widget.height()}"
