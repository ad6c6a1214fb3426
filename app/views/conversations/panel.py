"""Show the panel at the left: new chat, search, and the list of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QDragMoveEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QFrame,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.state.conversations.formats import FORMATS
from app.state.conversations.list import ConversationItem, ConversationList, Heading
from app.state.settings.project import PROJECT_ACTIONS
from app.system.translation import say
from app.views.conversations.rows import CHATS, ROW_ROLE, ConversationPainter, ConversationRows
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.flow_layout import FlowLayout
from app.views.widgets.icons import icon, icon_button, keep_icon
from app.views.widgets.keys import keeps_escape
from app.views.widgets.theme import Theme

SEARCH_PATIENCE_MS = 120
"""A search begins when nobody has typed for so long."""
UNDO_MS = 12_000
_MOST_DRAGGED, _DIGITS = 10_000, 19
_GLASS = 16
_WITH = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier


class SearchField(QLineEdit):
    """Take the search text.

    Signals: abandoned() (Escape in an empty field), went_down() (to the list), taken() (Enter).
    """

    abandoned = Signal()
    went_down = Signal()
    taken = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("search")
        self.setPlaceholderText(self.tr("Search"))
        self.setAccessibleName(self.tr("Search chats"))
        self.setToolTip(self.tr("Search titles and messages (Ctrl+F)"))
        self.setClearButtonEnabled(True)
        for button in self.findChildren(QAbstractButton):
            button.setAccessibleName(self.tr("Clear the search"))
            button.setToolTip(self.tr("Clear the search (Esc)"))
        self._glass = QLabel(self)
        self._glass.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._draw_glass()
        theme.changed.connect(self._draw_glass)

    def _draw_glass(self) -> None:
        self._glass.setPixmap(icon(self._theme, "magnifying-glass", "muted").pixmap(QSize(_GLASS, _GLASS)))
        self._glass.adjustSize()
        self.setTextMargins(_GLASS + 8, 0, 0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the picture in its place."""
        super().resizeEvent(event)
        self._glass.move(8, (self.height() - self._glass.height()) // 2)

    def event(self, event: QEvent) -> bool:
        """Keep Escape for the search, before the window gets it."""
        return keeps_escape(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Clear the field on Escape, then leave it; go on to the results on Down."""
        if event.key() == Qt.Key.Key_Escape:
            (self.clear if self.text() else self.abandoned.emit)()
        elif event.key() == Qt.Key.Key_Down:
            self.went_down.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            QGuiApplication.inputMethod().commit()
            self.taken.emit()
        else:
            super().keyPressEvent(event)


class RowList(QListView):
    """Show the list.

    Signals: chosen(id), moved(ids, project) (dropped on it, on a chat in it, or, 0, elsewhere), folded(project, bool),
    delete_wanted(id), undo_wanted(), went_up() (above the first row), typed(text) (which is no key of the list).
    """

    chosen = Signal(int)
    moved = Signal(object, int)
    folded = Signal(int, bool)
    typed = Signal(str)
    delete_wanted = Signal(int)
    undo_wanted = Signal()
    went_up = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("conversations")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setUniformItemSizes(False)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.clicked.connect(self._open)

    def item_at(self, index: QModelIndex) -> ConversationItem | None:
        """Return the conversation of a row, None if it is a heading."""
        row = index.data(ROW_ROLE) if index.isValid() else None
        return row if isinstance(row, ConversationItem) else None

    def project_at(self, index: QModelIndex) -> Heading | None:
        """Return the project whose heading a row is; None for another row."""
        row = index.data(ROW_ROLE) if index.isValid() else None
        return row if isinstance(row, Heading) and row.project else None

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        """Take chats anywhere: the row below the mouse says into which project."""
        super().dragMoveEvent(event)
        if event.mimeData().hasFormat(CHATS):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Emit the dropped chats, and the project onto which they were dropped."""
        dragged = bytes(event.mimeData().data(CHATS).data()).decode("ascii", "replace")
        numbers = [int(each) for each in dragged.split(",")[:_MOST_DRAGGED] if each.isdecimal() and len(each) < _DIGITS]
        if not numbers:
            super().dropEvent(event)
            return
        index = self.indexAt(event.position().toPoint())
        heading, item = self.project_at(index), self.item_at(index)
        event.acceptProposedAction()
        self.moved.emit(numbers, heading.project if heading else item.project if item else 0)

    def selected(self) -> list[ConversationItem]:
        indexes = sorted(self.selectedIndexes(), key=lambda index: index.row())
        return [item for index in indexes if (item := self.item_at(index)) is not None]

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint the rows; show the keyboard's focus also if no row has it."""
        super().paintEvent(event)
        if self.hasFocus() and self.item_at(self.currentIndex()) is None:
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(self.palette().color(QPalette.ColorRole.Accent))
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Enter opens, Del deletes, Ctrl+Z undoes that; the rest is Qt's."""
        item, heading = self.item_at(self.currentIndex()), self.project_at(self.currentIndex())
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (item or heading):
            self.clicked.emit(self.currentIndex())
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and item is not None:
            for each in self.selected() or [item]:
                self.delete_wanted.emit(each.id)
        elif event.matches(QKeySequence.StandardKey.Undo):
            self.undo_wanted.emit()
        elif event.key() == Qt.Key.Key_Up and not self._any_above():
            self.went_up.emit()
        elif event.text().isprintable() and event.text().strip() and not event.modifiers() & _WITH:
            self.typed.emit(event.text())
        else:
            super().keyPressEvent(event)

    def _any_above(self) -> bool:
        model = self.model()
        return any(self.item_at(model.index(row, 0)) for row in range(self.currentIndex().row()))

    def _open(self, index: QModelIndex) -> None:
        item, heading = self.item_at(index), self.project_at(index)
        if QApplication.keyboardModifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier):
            return  # One more is selected.
        if heading is not None:
            self.folded.emit(heading.project, not heading.folded)
        # Of a double click the second one begins to rename.
        if item is not None and self.state() != QAbstractItemView.State.EditingState:
            self.chosen.emit(item.id)


class ConversationPanel(QFrame):
    """Show the list, and emit the user's wishes.

    Signals: new_wanted(), project_wanted(ids) (a new one, with these chats), moved(ids, project) (0: into none),
    folded(project, bool), project_chosen(what, project) (one of PROJECT_ACTIONS), chosen(id), renamed(id, title),
    pin_wanted(id, bool), delete_wanted(id), undo_wanted(), export_wanted(id, name in FORMATS),
    export_all_wanted(ids, name), import_wanted(), search_wanted(text), more_wanted() (older chats), released() (back to
    the prompt), typed(text) (in the list, which is for the prompt).
    """

    new_wanted = Signal()
    project_wanted = Signal(object)
    moved = Signal(object, int)
    folded = Signal(int, bool)
    project_chosen = Signal(str, int)
    chosen = Signal(int)
    renamed = Signal(int, str)
    pin_wanted = Signal(int, bool)
    delete_wanted = Signal(int)
    undo_wanted = Signal()
    export_wanted = Signal(int, str)
    export_all_wanted = Signal(object, str)
    import_wanted = Signal()
    search_wanted = Signal(str)
    more_wanted = Signal()
    released = Signal()
    typed = Signal(str)

    def __init__(self, state: ConversationList, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("left")
        self._state = state
        self._theme = theme
        self._build()
        self._connect()

    # Building ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.new_chat_button = QPushButton(self.tr("New chat"), self)
        self.new_chat_button.setObjectName("newChat")
        self.new_chat_button.setToolTip(self.tr("New chat (Ctrl+N)"))
        self.new_chat_button.setAccessibleName(self.tr("New chat"))
        keep_icon(self.new_chat_button, self._theme, "plus")
        self.project_button = icon_button(self._theme, "folder-plus", self.tr("New project…"), self)
        self.import_button = icon_button(self._theme, "file-plus", self.tr("Import a chat…"), self)
        self.search = SearchField(self._theme, self)
        self.rows = ConversationRows(self._state, self)
        self.list = RowList(self)
        self.list.setAccessibleName(self.tr("Chats"))
        self.list.setItemDelegate(ConversationPainter(self._theme, self.list))
        self.list.setModel(self.rows)
        self.nothing = QLabel(self)
        self.nothing.setObjectName("hint")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.nothing.setWordWrap(True)
        self.nothing.hide()
        top = in_row(wide(self.new_chat_button), self.project_button, self.import_button, spacing=4)
        in_column(
            top,
            self.search,
            self.nothing,
            wide(self.list),
            self._make_undo(),
            spacing=8,
            margins=(8, 8, 8, 8),
            parent=self,
        )

    def _make_undo(self) -> QWidget:
        self.undo_bar = QFrame(self)
        self.undo_bar.setObjectName("undo")
        self.undo_text = QLabel(self.tr("Deleted"), self.undo_bar)
        self.undo_button = QPushButton(self.tr("Undo"), self.undo_bar)
        self.undo_button.setObjectName("undoButton")
        room = QVBoxLayout(self.undo_bar)
        room.setContentsMargins(12, 4, 4, 4)
        # Long words of another language stand one below the other.
        row = FlowLayout()
        row.setSpacing(4)
        room.addLayout(row)
        row.addWidget(self.undo_text)
        row.add_stretch()
        row.addWidget(self.undo_button)
        self.undo_bar.hide()
        self._undo_timer = QTimer(self, singleShot=True, interval=UNDO_MS)
        return self.undo_bar

    def _connect(self) -> None:
        self.new_chat_button.clicked.connect(self.new_wanted)
        self.project_button.clicked.connect(lambda: self.project_wanted.emit([]))
        self.import_button.clicked.connect(self.import_wanted)
        self.rows.renamed.connect(self.renamed)
        self.rows.more_wanted.connect(self.more_wanted)
        self.list.chosen.connect(self.chosen)
        self.list.moved.connect(self.moved)
        self.list.folded.connect(self.folded)
        self.list.delete_wanted.connect(self.delete_wanted)
        self.list.undo_wanted.connect(self.undo_wanted)
        self.list.went_up.connect(self.search.setFocus)
        self.list.typed.connect(self.typed)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.undo_button.clicked.connect(self.undo_wanted)
        self._undo_timer.timeout.connect(self.undo_bar.hide)
        self._search_timer = QTimer(self, singleShot=True, interval=SEARCH_PATIENCE_MS)
        self._search_timer.timeout.connect(self._search_now)
        self.search.textChanged.connect(self._typed)
        self.search.went_down.connect(self._enter_list)
        self.search.taken.connect(self._open_first)
        self.search.abandoned.connect(self.released)

    # Rendering --------------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the current state; the row with the keyboard stays the same conversation."""
        before = self.list.item_at(self.list.currentIndex())
        self.rows.refresh()
        row = None if before is None else self._state.row_of(before.id)
        self._stand_on(self._state.row_of(self._state.open_id) if row is None else row)
        self.rows.redraw()
        empty = bool(self._state.query) and not self._state.rows
        self.nothing.setText(self.tr("Nothing found"))
        self.nothing.setVisible(empty)

    def show_open(self) -> None:
        """Show that another conversation is open, and put the keyboard on it."""
        self._stand_on(self._state.row_of(self._state.open_id))
        self.rows.redraw()

    def show_undo(self, *, shown: bool) -> None:
        """Offer to take a deletion back, for a while; or no longer. Ctrl+Z in the list does it at any time."""
        self.undo_bar.setVisible(shown)
        (self._undo_timer.start if shown else self._undo_timer.stop)()

    def begin_search(self) -> None:
        """Begin a search: the field is ready for typing."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def rename(self, conversation: int) -> None:
        """Edit the title in its row."""
        row = self._state.row_of(conversation)
        if row is not None:
            self._stand_on(row)
            self.list.setFocus()
            self.list.edit(self.rows.index(row))

    def _stand_on(self, row: int | None) -> None:
        if row is not None:
            self.list.setCurrentIndex(self.rows.index(row))

    # Search -----------------------------------------------------------------------------------------------------------

    def _typed(self, text: str) -> None:
        if text.strip():
            self._search_timer.start()
        else:
            self._search_now()

    def _search_now(self) -> None:
        self._search_timer.stop()
        self.search_wanted.emit(self.search.text().strip())

    def _first(self) -> int | None:
        return next((row for row, each in enumerate(self._state.rows) if isinstance(each, ConversationItem)), None)

    def _enter_list(self) -> None:
        row = self._first()
        if row is not None:
            self._stand_on(row)
            self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _open_first(self) -> None:
        if self._search_timer.isActive():
            self._search_now()
        row = self._first()
        item = None if row is None else self._state.rows[row]
        if isinstance(item, ConversationItem):
            self.chosen.emit(item.id)

    # The menu ---------------------------------------------------------------------------------------------------------

    def make_menu(self, item: ConversationItem | None) -> QMenu:
        """Create the menu of a conversation (None: of the list), or of all selected ones if it is among them."""
        menu = QMenu(self)
        several = self.list.selected()
        if item in several and len(several) > 1:
            self._offer_projects(menu, several)
            self._offer_all(menu, [each.id for each in several])
            return menu
        if item is not None:
            number = item.id
            menu.addAction(self.tr("Rename"), lambda: self.rename(number)).setShortcut(QKeySequence(Qt.Key.Key_F2))
            words = self.tr("Unpin") if item.pinned else self.tr("Pin")
            menu.addAction(words, lambda: self.pin_wanted.emit(number, not item.pinned))
            self._offer_projects(menu, [item])
            menu.addSeparator()
            for each in FORMATS.values():
                menu.addAction(say(each.menu), partial(self.export_wanted.emit, number, each.name))
        menu.addAction(self.tr("Import…"), self.import_wanted.emit)
        if item is not None:
            menu.addSeparator()
            delete = menu.addAction(self.tr("Delete"), lambda: self.delete_wanted.emit(item.id))
            delete.setShortcut(QKeySequence(Qt.Key.Key_Delete))
        return menu

    def _offer_projects(self, menu: QMenu, chats: Sequence[ConversationItem]) -> None:
        numbers, inside = [each.id for each in chats], {each.project for each in chats}
        projects = menu.addMenu(self.tr("Move to project"))
        for each in self._state.projects:
            action = projects.addAction(each.name.replace("&", "&&"), partial(self.moved.emit, numbers, each.project))
            action.setEnabled(inside != {each.project})
        projects.addAction(self.tr("New project…"), partial(self.project_wanted.emit, numbers))
        if inside != {0}:
            projects.addAction(self.tr("No project"), partial(self.moved.emit, numbers, 0))

    def make_project_menu(self, project: int) -> QMenu:
        menu = QMenu(self)
        for what, words in PROJECT_ACTIONS.items():
            if what == "delete":
                menu.addSeparator()
            menu.addAction(say(words), partial(self.project_chosen.emit, what, project))
        return menu

    def _offer_all(self, menu: QMenu, numbers: list[int]) -> None:
        count = len(numbers)
        for each in FORMATS.values():
            action = menu.addAction(say(each.menu), partial(self.export_all_wanted.emit, numbers, each.name))
            action.setText(self.tr("{count} chats: {action}").format(count=count, action=action.text()))
        menu.addSeparator()
        words = self.tr("Delete {count} chats").format(count=count)
        delete = menu.addAction(words, partial(self._delete_all, numbers))
        delete.setShortcut(QKeySequence(Qt.Key.Key_Delete))

    def _delete_all(self, numbers: list[int]) -> None:
        for number in numbers:
            self.delete_wanted.emit(number)

    def _show_menu(self, place: QPoint) -> None:
        index = self.list.indexAt(place)
        heading = self.list.project_at(index)
        menu = self.make_menu(self.list.item_at(index)) if heading is None else self.make_project_menu(heading.project)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.list.viewport().mapToGlobal(place))
