"""Hold the rows of the list of conversations: Qt's model, and their painting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QEvent,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetrics, QGuiApplication, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.state.conversations.list import ConversationItem, ConversationList, Group, Heading, Row
from app.views.widgets.icons import icon
from app.views.widgets.theme import Theme

Index = QModelIndex | QPersistentModelIndex
CHATS = "application/x-outrider-chats"
"""The MIME type of dragged chats: their ids."""
ROW_ROLE = int(Qt.ItemDataRole.UserRole)
OPEN_ROLE = ROW_ROLE + 1
WRITING_ROLE = ROW_ROLE + 2
LONGEST_TITLE = 200
_PADDING, _GAP, _ICON = 8, 6, 14
_RADIUS = 6


class ConversationRows(QAbstractListModel):
    """Hold headings and conversations. Signals: renamed(id, title), more_wanted() (older ones: the end was reached)."""

    renamed = Signal(int, str)
    more_wanted = Signal()

    def __init__(self, state: ConversationList, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._rows: list[Row] = []

    def refresh(self) -> None:
        rows = list(self._state.rows)
        known = len(self._rows)
        if rows[:known] == self._rows:
            if len(rows) > known:
                self.beginInsertRows(QModelIndex(), known, len(rows) - 1)
                self._rows = rows
                self.endInsertRows()
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def canFetchMore(self, parent: Index) -> bool:  # noqa: N802 - Qt's name
        return not parent.isValid() and self._state.more and not self._state.query

    def fetchMore(self, _parent: Index) -> None:  # noqa: N802 - Qt's name
        self.more_wanted.emit()

    def redraw(self) -> None:
        """Redraw the rows, which are the same, as another conversation is open."""
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1), [OPEN_ROLE, WRITING_ROLE])

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name and default
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role == OPEN_ROLE:
            return isinstance(row, ConversationItem) and row.id == self._state.open_id
        if role == WRITING_ROLE:
            return isinstance(row, ConversationItem) and row.id in self._state.writing
        if isinstance(row, Heading):
            return self._heading_data(row, role)
        return self._item_data(row, role)

    def _item_data(self, item: ConversationItem, role: int) -> str | None:
        title = item.title or self.tr("New chat")
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return title
        if role == Qt.ItemDataRole.EditRole:
            return item.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.tr("{title}, pinned").format(title=title) if item.pinned else title
        return None

    def setData(self, index: Index, value: Any, role: int = int(Qt.ItemDataRole.EditRole)) -> bool:  # noqa: N802 - Qt's
        """Return a title that was typed."""
        row = self._rows[index.row()]
        title = " ".join(str(value).split())[:LONGEST_TITLE]
        if role != Qt.ItemDataRole.EditRole or not isinstance(row, ConversationItem) or not title or title == row.title:
            return False
        self.renamed.emit(row.id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return flags by which chats can be dragged onto every row; headings of days are else only to be read."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        row, dropped_on = self._rows[index.row()], Qt.ItemFlag.ItemIsDropEnabled
        if isinstance(row, Heading):
            return dropped_on | Qt.ItemFlag.ItemIsEnabled if row.project else dropped_on
        edited = Qt.ItemFlag.ItemIsEditable | Qt.ItemFlag.ItemIsDragEnabled | dropped_on
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | edited

    def mimeTypes(self) -> list[str]:  # noqa: N802 - Qt's name
        return [CHATS]

    def mimeData(self, indexes: Sequence[Index]) -> QMimeData:  # noqa: N802 - Qt's name
        rows = (self._rows[index.row()] for index in indexes)
        numbers = [str(row.id) for row in rows if isinstance(row, ConversationItem)]
        data = QMimeData()
        data.setData(CHATS, ",".join(numbers).encode())
        return data

    def supportedDropActions(self) -> Qt.DropAction:  # noqa: N802 - Qt's name
        return Qt.DropAction.MoveAction

    def _heading_data(self, heading: Heading, role: int) -> str | None:
        spoken = role == Qt.ItemDataRole.AccessibleTextRole
        if spoken and heading.project:
            words = self.tr("Project {title}, folded") if heading.folded else self.tr("Project {title}")
            return words.format(title=heading.name)
        shown = role == Qt.ItemDataRole.DisplayRole or (role == Qt.ItemDataRole.ToolTipRole and heading.project)
        return (heading.name or self._heading(heading.group)) if shown else None

    def _heading(self, group: Group) -> str:
        return {
            "project": self.tr("Project"),
            "pinned": self.tr("Pinned"),
            "today": self.tr("Today"),
            "yesterday": self.tr("Yesterday"),
            "week": self.tr("Previous 7 days"),
            "older": self.tr("Older"),
        }[group]


class ConversationPainter(QStyledItemDelegate):
    """Draw the rows, and make the field in which a title is changed."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802 - Qt's name
        """Return one line, and two more for a search hit."""
        row = index.data(ROW_ROLE)
        height = QFontMetrics(option.font).height()
        if isinstance(row, Heading):
            return QSize(80, self._small(option).height() + (8 if index.row() == 0 else 18))
        if row.snippet:
            return QSize(80, height + self._small(option).height() + 16)
        return QSize(80, height + 12)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        row = index.data(ROW_ROLE)
        if isinstance(row, Heading):
            self._paint_heading(painter, option, index)
        else:
            self._paint_item(painter, option, index, row)
        painter.restore()

    def _paint_heading(self, painter: QPainter, option: Any, index: Index) -> None:
        painter.setFont(self._small_font(option))
        painter.setPen(self._theme.color("muted"))
        area = option.rect.adjusted(_PADDING, 0, -_PADDING, -4)
        heading, words = index.data(ROW_ROLE), str(index.data())
        if heading.project:
            if option.state & QStyle.StateFlag.State_HasFocus:
                painter.setPen(QPen(self._theme.color("accent"), 1.0))
                painter.drawRoundedRect(option.rect.adjusted(1, 1, -1, -1), _RADIUS, _RADIUS)
            painter.setPen(self._theme.color("text"))
            place = QRect(area.left(), area.bottom() - _ICON, _ICON, _ICON)
            name = "folder-simple" if heading.folded else "folder-open"
            icon(self._theme, name, "muted").paint(painter, place)
            area = area.adjusted(_ICON + _GAP, 0, 0, 0)
            words = self._small(option).elidedText(words, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeading, words)

    def _paint_item(self, painter: QPainter, option: Any, index: Index, item: ConversationItem) -> None:
        state = option.state
        is_open = bool(index.data(OPEN_ROLE))
        box = option.rect.adjusted(1, 1, -1, -1)
        if is_open or state & QStyle.StateFlag.State_MouseOver:
            painter.setBrush(self._theme.color("raised"))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        several = isinstance(option.widget, QAbstractItemView) and len(option.widget.selectedIndexes()) > 1
        if state & QStyle.StateFlag.State_Selected and (several or state & QStyle.StateFlag.State_HasFocus):
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(self._theme.color("accent"), 1.0))
            painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        font = QFont(option.font)
        font.setWeight(QFont.Weight.DemiBold if is_open else QFont.Weight.Normal)
        metrics = QFontMetrics(font)
        line = QRect(box.left() + _PADDING - 1, box.top(), box.width() - 2 * _PADDING + 2, box.height())
        if item.project and not item.snippet:
            line = line.adjusted(2 * _GAP, 0, 0, 0)
        if item.snippet:
            line = QRect(line.left(), box.top() + 5, line.width(), metrics.height())
        text = line
        for shown, name, color in (
            (item.pinned, "push-pin", "muted"),
            (index.data(WRITING_ROLE), "pencil-line", "accent"),
        ):
            if shown:
                place = QRect(text.right() - _ICON + 1, line.center().y() - _ICON // 2, _ICON, _ICON)
                icon(self._theme, name, color).paint(painter, place)
                text = text.adjusted(0, 0, -_ICON - _GAP, 0)
        painter.setFont(font)
        painter.setPen(self._theme.color("text" if item.title else "muted"))
        title = metrics.elidedText(index.data(), Qt.TextElideMode.ElideRight, text.width())
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading, title)
        if item.snippet:
            self._paint_snippet(painter, option, line.translated(0, metrics.height() + 3), item)

    def _paint_snippet(self, painter: QPainter, option: Any, place: QRect, item: ConversationItem) -> None:
        """Paint the snippet in one line, in which the words of the search stand out."""
        plain = self._small_font(option)
        strong = QFont(plain)
        strong.setWeight(QFont.Weight.DemiBold)
        place.setHeight(self._small(option).height())
        painter.setClipRect(place)
        left, done = place.left(), 0
        parts = [(start, end, True) for start, end in item.hits]
        for start, end, _ in [*parts, (len(item.snippet), len(item.snippet), False)]:
            for text, font, color in (
                (item.snippet[done:start], plain, "muted"),
                (item.snippet[start:end], strong, "text"),
            ):
                room = place.right() - left
                if not text or room <= 0:
                    continue
                metrics = QFontMetrics(font)
                painter.setFont(font)
                painter.setPen(self._theme.color(color))
                shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
                painter.drawText(QRect(left, place.top(), room, place.height()), Qt.AlignmentFlag.AlignVCenter, shown)
                left += metrics.horizontalAdvance(shown)
            done = end

    def _small_font(self, option: Any) -> QFont:
        font = QFont(option.font)
        font.setPointSizeF(font.pointSizeF() * 0.92)
        return font

    def _small(self, option: Any) -> QFontMetrics:
        return QFontMetrics(self._small_font(option))

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802 - Qt's
        field = QLineEdit(parent)
        field.setObjectName("rename")
        field.setMaxLength(LONGEST_TITLE)
        field.setAccessibleName(self.tr("Title"))
        return field

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: N802
        """Place the editor over the whole row."""
        editor.setGeometry(option.rect)

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:  # noqa: N802 - Qt's name
        """Take the title, with the word that an input method is still composing."""
        QGuiApplication.inputMethod().commit()
        super().setModelData(editor, model, index)

    def editorEvent(  # noqa: N802 - Qt's name
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        """Return False: nothing in a row is a control."""
        return False
