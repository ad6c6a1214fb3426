"""Show the use of the context: a short bar with its figures, under the prompt."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QToolTip, QWidget

from app.state.chat.context_use import ContextUse
from app.views.widgets.theme import Theme
from app.words.context import context_details, context_figures, context_words
from app.words.figures import SEPARATOR

_BAR, _THICK, _GAP, _PAD = 56, 4, 8, 4


class ContextMeter(QAbstractButton):
    """Show tokens used of those available; pressed, it shows the parts that the model reads."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("contextMeter")
        policy = QSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self._theme = theme
        self._use: ContextUse | None = None
        self.clicked.connect(self._explain)
        theme.changed.connect(self.update)
        self.show_use(None)

    def show_use(self, use: ContextUse | None) -> None:
        """Show the use; None: it is unknown."""
        self._use = use
        words, details = context_words(use), context_details(use)
        if words != self.text() or details != self.toolTip():
            self.setText(words)
            self.setToolTip(details)
            self.setAccessibleName(self.tr("Context") + SEPARATOR + words if words else self.tr("Context"))
            self.setAccessibleDescription(details)
            self.updateGeometry()
        self.setVisible(use is not None)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        metrics = self.fontMetrics()
        width = _BAR + _GAP + metrics.horizontalAdvance(self.text()) + 2 * _PAD
        return QSize(width, metrics.height() + 2 * 3)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the room for the bar and the figures: without room for more, the words are in the tooltip."""
        width = _BAR + _GAP + self.fontMetrics().horizontalAdvance(context_figures(self._use)) + 2 * _PAD
        return QSize(width, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint the bar, then the words; in the other order where one reads from the right."""
        theme, use = self._theme, self._use
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus():
            painter.setPen(theme.color("accent"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        right = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        left = self.width() - _PAD - _BAR if right else _PAD
        bar = QRectF(left, (self.height() - _THICK) / 2, _BAR, _THICK)
        # An outline: filled with the high-contrast themes' lines, the bar would look full.
        painter.setPen(theme.color("border"))
        painter.setBrush(theme.color("raised"))
        painter.drawRoundedRect(bar.adjusted(0.5, -0.5, -0.5, 0.5), _THICK / 2, _THICK / 2)
        painter.setPen(Qt.PenStyle.NoPen)
        if use is not None and use.fraction > 0:
            width = max(_BAR * use.fraction, _THICK)
            part = QRectF(bar.right() - width if right else bar.left(), bar.top(), width, _THICK)
            painter.setBrush(theme.color("accent" if use.fits else "danger"))
            painter.drawRoundedRect(part, _THICK / 2, _THICK / 2)
        painter.setPen(theme.color("danger" if use is not None and not use.fits else "muted"))
        text = self.rect().adjusted(_PAD, 0, -_PAD - _BAR - _GAP, 0)
        if not right:
            text.translate(_BAR + _GAP, 0)
        fits = self.fontMetrics().horizontalAdvance(self.text()) <= text.width()
        words = self.text() if fits else context_figures(self._use)
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading, words)

    def _explain(self) -> None:
        """Explain the figures by the tooltip: the keyboard has no pointer that rests."""
        place = self.mapToGlobal(QPoint(0, 0))
        QToolTip.showText(place, self.toolTip(), self, self.rect(), 12_000)
