"""A list to choose from: lines of one or two rows, those that cannot be chosen greyed with the reason under them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QPalette,
    QStandardItem,
    QStandardItemModel,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QStylePainter,
    QWidget,
)

from app.state.models import Choice
from app.views.hover import settle_hover
from app.views.model_words import shortage_words

PATH_ROLE = int(Qt.ItemDataRole.UserRole)
MORE_ROLE = PATH_ROLE + 1
DIM_ROLE = PATH_ROLE + 2
_POPUP_MOST = 560
_PAD_X, _PAD_Y, _BETWEEN = 8, 5, 2
_SMALL = 0.92
_FIGURES = " · "
_WRAP = int(Qt.TextFlag.TextWordWrap)
_AROUND = 40
"""What a line of the popup has beside its words: padding, frame and scroll bar."""


def shortened(text: str, metrics: QFontMetrics, width: int) -> str:
    """A text that fits: whole, else without its last figures (what follows a ` · `), else cut in the middle.

    Models of one family begin and end alike: what is between tells them apart least.
    """
    while metrics.horizontalAdvance(text) > width and _FIGURES in text:
        text = text.rsplit(_FIGURES, 1)[0]
    if metrics.horizontalAdvance(text) <= width:
        return text
    return metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, max(width, 0))


class ChoiceDelegate(QStyledItemDelegate):
    """Draws a line: what it is, and under it in small what else is to be said, in two rows at most.

    Attribute: width (that a row has for words).
    """

    width = _POPUP_MOST

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        drawn = QStyleOptionViewItem(option)
        self.initStyleOption(drawn, index)
        drawn.text = ""
        widget = drawn.widget
        if widget is None:
            return
        widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, drawn, painter, widget)
        place = drawn.rect.adjusted(_PAD_X, _PAD_Y, -_PAD_X, -_PAD_Y)
        enabled = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled) and not index.data(DIM_ROLE)
        # The view's own palette has this half transparent.
        muted = QGuiApplication.palette().color(QPalette.ColorRole.PlaceholderText)
        painter.save()
        painter.setFont(drawn.font)
        painter.setPen(drawn.palette.color(QPalette.ColorRole.Text) if enabled else muted)
        height = QFontMetrics(drawn.font).height()
        side = QStyle.visualAlignment(drawn.direction, Qt.AlignmentFlag.AlignLeft)
        self._draw(painter, QRect(place.left(), place.top(), place.width(), height), side, str(index.data() or ""))
        more = index.data(MORE_ROLE)
        if more:
            font = small_font(drawn.font)
            painter.setFont(font)
            painter.setPen(muted)
            below = place.adjusted(0, height + _BETWEEN, 0, 0)
            if self._small_height(font, str(more)) > QFontMetrics(font).height():
                painter.drawText(below, int(side | Qt.AlignmentFlag.AlignTop) | _WRAP, str(more))
            else:
                self._draw(painter, below, side, str(more))
        painter.restore()

    def _small_height(self, font: QFont, text: str) -> int:
        metrics = QFontMetrics(font)
        wanted = metrics.boundingRect(QRect(0, 0, self.width, 10_000), _WRAP, text).height()
        return min(wanted, 2 * metrics.lineSpacing())

    def _draw(self, painter: QPainter, place: QRect, side: Qt.AlignmentFlag, text: str) -> None:
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, int(side | Qt.AlignmentFlag.AlignVCenter), shown)

    def sizeHint(  # noqa: N802 - Qt's
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        metrics = QFontMetrics(option.font)
        width, height = metrics.horizontalAdvance(str(index.data() or "")), metrics.height()
        more = index.data(MORE_ROLE)
        if more:
            small = QFontMetrics(small_font(option.font))
            width = max(width, small.horizontalAdvance(str(more)))
            height += _BETWEEN + self._small_height(small_font(option.font), str(more))
        return QSize(width + 2 * _PAD_X + 2, height + 2 * _PAD_Y)


def small_font(font: QFont) -> QFont:
    """The same font, as small as captions are."""
    small = QFont(font)
    if font.pointSizeF() > 0:
        small.setPointSizeF(font.pointSizeF() * _SMALL)
    else:
        small.setPixelSize(max(1, round(font.pixelSize() * _SMALL)))
    return small


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
        self._delegate = ChoiceDelegate(self)
        self.setItemDelegate(self._delegate)
        self.view().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view().setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        container = self.view().parentWidget()
        if isinstance(container, QFrame):
            container.setFrameShape(QFrame.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.activated.connect(lambda _index: self.chosen.emit(self.currentData(PATH_ROLE)))
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
        option.currentText = shortened(text, self.fontMetrics(), room.width() - 4)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def showPopup(self) -> None:  # noqa: N802 - Qt's name
        """Open the list, as wide as its lines, as far as there is room."""
        wanted = self.view().sizeHintForColumn(0) + _AROUND
        most = min(_POPUP_MOST, max(self.window().width() - 32, self.width()))
        width = max(self.width(), min(wanted, most))
        self.view().setMinimumWidth(width)
        if self._delegate.width != width - _AROUND:
            self._delegate.width = width - _AROUND
            self.view().doItemsLayout()
        super().showPopup()

    def hidePopup(self) -> None:  # noqa: N802 - Qt's name
        """Close the list."""
        super().hidePopup()
        settle_hover(self)

    def fill(
        self,
        choices: Sequence[Choice],
        chosen: object,
        missing: str,
        *,
        words: Callable[[Choice], Choice] | None = None,
    ) -> None:
        """Show these lines; those with a problem are greyed and say it. `missing`: shown where none is chosen.

        `words`: gives a line its words, where it has none yet. What only memory is too short for looks greyed too, but
        can be chosen: the load is announced.
        """
        state = (tuple(choices), chosen)
        if state == self._shown:
            return
        self._shown = state
        model = QStandardItemModel(self)
        current = -1
        for row, choice in enumerate(choices):
            model.appendRow(_item(choice if words is None else words(choice)))
            if choice.key == chosen:
                current = row
        self.setModel(model)  # the one before was ours, and goes with this
        self.setCurrentIndex(current)
        self.setPlaceholderText(missing)


def _item(choice: Choice) -> QStandardItem:
    item = QStandardItem(choice.label)
    more = choice.problem
    if more is None and choice.kind != "model":
        more = choice.hint
    elif more is None and choice.shortage is not None:
        more = shortage_words(*choice.shortage)
    item.setData(choice.key, PATH_ROLE)
    item.setData(more or "", MORE_ROLE)
    item.setData(choice.shortage is not None, DIM_ROLE)
    item.setToolTip(choice.problem or choice.hint)
    item.setData(choice.problem or choice.hint, Qt.ItemDataRole.AccessibleDescriptionRole)
    item.setEnabled(choice.problem is None)
    item.setEditable(False)
    return item
