"""The page of tools: those that a model may call, their hosts, and their permissions.

Everything that a server says of itself and its tools is plain text here.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.state.tools.choice import BUILTINS, Builtin, ToolChoice
from app.state.tools.shown import HostShown, ToolShown
from app.views.settings.fields import mark
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.flow_layout import FlowLayout
from app.views.widgets.theme import fixed_font
from engine import Permission

_KEY = Qt.ItemDataRole.UserRole
_FOLDER_LINES, _TREE_LINES, _DETAIL_LINES = 3, 9, 6
_ANSWERS = (None, Permission.always, Permission.never)
_MOST_SHOWN = 4_000


class ToolsPage(QWidget):
    """Show and switch tools. Attributes: switches (ours, by name), folders, limit, tree, detail, permission, writing.

    Signals: builtin_switched(name, on), folders_changed(list), folder_wanted(), limit_changed(count),
    server_switched(name, on), server_added(name, command or address), pasted(text), elsewhere_wanted(),
    server_removed(name), log_wanted(name), tool_switched(key, on), permission_chosen(key, Permission or None),
    writing_allowed(key, on).
    """

    builtin_switched = Signal(str, bool)
    folders_changed = Signal(object)
    folder_wanted = Signal()
    limit_changed = Signal(int)
    server_switched = Signal(str, bool)
    server_added = Signal(str, str)
    pasted = Signal(str)
    elsewhere_wanted = Signal()
    server_removed = Signal(str)
    log_wanted = Signal(str)
    tool_switched = Signal(str, bool)
    permission_chosen = Signal(str, object)
    writing_allowed = Signal(str, bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._hosts: Sequence[HostShown] = ()
        self.switches: dict[Builtin, QCheckBox] = {}
        column = in_column(spacing=8, margins=(0, 12, 12, 12), parent=self)
        promise = self.tr(
            "A model can call the tools that you switch on here, and you are asked about each call first. Nothing runs "
            "and nothing is connected to before that."
        )
        column.addWidget(self._hint(promise))
        self._put_own(column)
        self._put_servers(column)
        self._put_detail(column)
        column.addStretch(1)

    # Building ---------------------------------------------------------------------------------------------------------

    def _put_own(self, column: QVBoxLayout) -> None:
        words = {
            "files": self.tr("Read the files of these folders, without changing any"),
            "chats": self.tr("Search my chats"),
            "pages": self.tr("Fetch pages of the web: you are asked for each host"),
            "calculator": self.tr("Calculate and plot: JavaScript without files and network"),
            "clock": self.tr("Tell the time"),
        }
        for name in BUILTINS:
            switch = self.switches[name] = QCheckBox(words[name], self)
            switch.toggled.connect(lambda on, name=name: self.builtin_switched.emit(name, on))
            column.addWidget(switch, 0, Qt.AlignmentFlag.AlignLeading)
            if name == "files":
                column.addLayout(self._folder_row())
        self.limit = QSpinBox(self)
        self.limit.setRange(1, 100)
        self.limit.lineEdit().setTextMargins(6, 0, 6, 0)
        self.limit.setAccessibleName(self.tr("Calls for one question"))
        self.limit.lineEdit().setAccessibleName(self.limit.accessibleName())
        self.limit.valueChanged.connect(self.limit_changed)
        row = QHBoxLayout()
        row.setSpacing(8)
        label = QLabel(self.tr("Calls for one question, before I am asked to go on"), self)
        label.setBuddy(self.limit)
        row.addWidget(label)
        row.addWidget(self.limit)
        row.addStretch(1)
        column.addLayout(row)

    def _folder_row(self) -> QHBoxLayout:
        self.folders = QListWidget(self)
        self.folders.setAccessibleName(self.tr("Folders that may be read"))
        self.folders.setFixedHeight(_FOLDER_LINES * (self.fontMetrics().lineSpacing() + 4) + 12)
        add = self._button(self.tr("Add a folder…"), self.folder_wanted.emit)
        remove = self._button(self.tr("Remove"), self._remove_folder)
        buttons = in_column(add, remove, ..., spacing=4)
        return in_row(wide(self.folders), buttons, spacing=8, margins=(26, 0, 0, 0))

    def _put_servers(self, column: QVBoxLayout) -> None:
        title = QLabel(self.tr("Where tools come from"), self)
        title.setObjectName("cardTitle")
        column.addWidget(title)
        text = self.tr(
            "Tool servers (MCP) are programs or addresses. A program that is ticked is started with Outrider."
        )
        column.addWidget(self._hint(text))
        self.tree = QTreeWidget(self)
        self.tree.setAccessibleName(self.tr("Where tools come from"))
        self.tree.setHeaderHidden(True)
        self.tree.setColumnCount(2)
        self.tree.header().setStretchLastSection(False)
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.tree.setFixedHeight(_TREE_LINES * (self.fontMetrics().lineSpacing() + 6))
        self.tree.itemChanged.connect(self._ticked)
        self.tree.currentItemChanged.connect(lambda *_items: self._show_detail())
        column.addWidget(self.tree)
        self.name = QLineEdit(self)
        self.name.setPlaceholderText(self.tr("Name"))
        self.where = QLineEdit(self)
        self.where.setPlaceholderText(self.tr("Command, or address with https://"))
        for field, words in ((self.name, self.tr("Name")), (self.where, self.where.placeholderText())):
            field.setAccessibleName(words)
            field.returnPressed.connect(self._add)
        row = in_row(wide(self.name), spacing=8)
        row.addWidget(self.where, 3)
        row.addWidget(self._button(self.tr("Add"), self._add))
        column.addSpacing(4)
        column.addLayout(row)
        more = FlowLayout()
        more.addWidget(self._button(self.tr("Paste the JSON of servers"), self._paste))
        more.addWidget(self._button(self.tr("Take from other programs…"), self.elsewhere_wanted.emit))
        self.remove_button = self._button(self.tr("Remove the server"), self._remove)
        more.addWidget(self.remove_button)
        column.addLayout(more)
        self.state = self._hint("")
        self.state.setTextFormat(Qt.TextFormat.PlainText)
        self.state.hide()
        column.addWidget(self.state)

    def _put_detail(self, column: QVBoxLayout) -> None:
        self.detail = QPlainTextEdit(self)
        self.detail.setReadOnly(True)
        self.detail.setTabChangesFocus(True)
        self.detail.setAccessibleName(self.tr("What is known of it"))
        self.detail.setFixedHeight(_DETAIL_LINES * self.fontMetrics().lineSpacing() + 24)
        self.permission = QComboBox(self)
        self.permission.addItems([self.tr("Ask for each call"), self.tr("Always run it"), self.tr("Never run it")])
        self.permission.setAccessibleName(self.tr("When the model calls it"))
        self.permission.activated.connect(self._choose_permission)
        self.writing = QCheckBox(self.tr("May be run always, although it may change something or start programs"), self)
        self.writing.toggled.connect(self._allow_writing)
        self.log_button = self._button(self.tr("Show its log"), lambda: self.log_wanted.emit(self._chosen()[0]))
        self._permission_label = QLabel(self.tr("When the model calls it"), self)
        self._permission_label.setBuddy(self.permission)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(2, 1)
        grid.addWidget(self._permission_label, 0, 0)
        grid.addWidget(self.permission, 0, 1)
        grid.addWidget(self.writing, 1, 0, 1, 3)
        grid.addWidget(self.log_button, 2, 0)
        column.addWidget(self.detail)
        column.addLayout(grid)
        self._show_detail()

    def _hint(self, words: str) -> QLabel:
        hint = QLabel(words, self)
        hint.setObjectName("hint")
        hint.setWordWrap(True)
        return hint

    def _button(self, words: str, act: object) -> QPushButton:
        button = QPushButton(words, self)
        button.setAutoDefault(False)
        button.clicked.connect(lambda _on: act())  # type: ignore[operator]
        return button

    # Showing ----------------------------------------------------------------------------------------------------------

    def show_choice(self, choice: ToolChoice) -> None:
        for name, switch in self.switches.items():
            with QSignalBlocker(switch):
                switch.setChecked(name in choice.on)
        with QSignalBlocker(self.limit):
            self.limit.setValue(choice.limit)
        if list(choice.folders) != self._listed_folders():
            self.folders.clear()
            self.folders.addItems(list(choice.folders))

    def show_hosts(self, hosts: Sequence[HostShown]) -> None:
        if tuple(hosts) == tuple(self._hosts):
            return
        self._hosts, chosen = tuple(hosts), self._chosen()
        with QSignalBlocker(self.tree):
            folded = {item.data(0, _KEY)[0] for item in self._items() if not item.isExpanded()}
            self.tree.clear()
            for host in hosts:
                item = self._item(self.tree, host.name, self._stage(host), (host.name, ""))
                if host.where:
                    item.setCheckState(0, _state(host.stage != "off"))
                for tool in host.tools:
                    below = self._item(item, tool.title, self._permission_word(tool), (host.name, tool.key))
                    below.setCheckState(0, _state(tool.on))
                item.setExpanded(host.name not in folded)
        again = next((item for item in self._items(deep=True) if item.data(0, _KEY) == chosen), None)
        if (current := again or self.tree.topLevelItem(0)) is not None:
            self.tree.setCurrentItem(current)
        self._show_detail()

    def say(self, words: str, *, wrong: bool = False) -> None:
        mark(self.state, wrong=wrong)
        self.state.setText(words)
        self.state.setVisible(bool(words))

    def show_log(self, name: str, text: str) -> None:
        if self._chosen() == (name, ""):
            self.detail.setPlainText(text[-_MOST_SHOWN:] or self.tr("Its program has written nothing."))

    def _item(self, parent: QTreeWidget | QTreeWidgetItem, name: str, state: str, key: object) -> QTreeWidgetItem:
        item = QTreeWidgetItem(parent, [name, state])
        item.setData(0, _KEY, key)
        item.setForeground(1, self.palette().placeholderText())
        return item

    def _items(self, *, deep: bool = False) -> list[QTreeWidgetItem]:
        top = (self.tree.topLevelItem(n) for n in range(self.tree.topLevelItemCount()))
        found = [item for item in top if item is not None]
        if deep:
            found += [child for item in found for n in range(item.childCount()) if (child := item.child(n)) is not None]
        return found

    def _chosen(self) -> tuple[str, str]:
        item = self.tree.currentItem()
        return ("", "") if item is None else tuple(item.data(0, _KEY))

    def _stage(self, host: HostShown) -> str:
        words = {
            "off": self.tr("off"),
            "starting": self.tr("starting…"),
            "ready": self.tr("%n tool(s)", "", len(host.tools)),
            "failed": self.tr("does not work"),
        }
        return words[host.stage]

    def _permission_word(self, tool: ToolShown) -> str:
        if tool.permission is None:
            return self.tr("asks")
        return self.tr("always") if tool.permission is Permission.always else self.tr("never")

    def _found(self) -> tuple[HostShown | None, ToolShown | None]:
        name, key = self._chosen()
        host = next((each for each in self._hosts if each.name == name), None)
        return host, None if host is None else next((tool for tool in host.tools if tool.key == key), None)

    def _show_detail(self) -> None:
        host, tool = self._found()
        server = host is not None and bool(host.where) and tool is None
        for widget in (self.permission, self._permission_label):
            widget.setVisible(tool is not None)
        self.writing.setVisible(tool is not None and tool.writes)
        self.log_button.setVisible(server and host is not None and host.stage != "off")
        self.remove_button.setEnabled(host is not None and bool(host.where))
        self.detail.setVisible(server or tool is not None)
        self.detail.setFont(fixed_font() if server else self.font())
        if tool is not None:
            self.detail.setPlainText(tool.description[:_MOST_SHOWN])
            with QSignalBlocker(self.permission), QSignalBlocker(self.writing):
                self.permission.setCurrentIndex(_ANSWERS.index(tool.permission) if tool.permission in _ANSWERS else 0)
                self.writing.setChecked(tool.may_be_always)
            item = self.permission.model().index(1, 0)
            self.permission.model().setData(item, None if tool.may_be_always else 0, _KEY - 1)
        elif host is not None:
            self.detail.setPlainText(self._about(host)[:_MOST_SHOWN])

    def _about(self, host: HostShown) -> str:
        lines = [host.where, host.problem, *host.notes]
        if host.resources:
            lines.append(self.tr("Resources: {names}").format(names=", ".join(host.resources)))
        if host.prompts:
            lines.append(self.tr("Prompts: {names}").format(names=", ".join(host.prompts)))
        return "\n".join(filter(None, lines))

    # Intents ----------------------------------------------------------------------------------------------------------

    def _ticked(self, item: QTreeWidgetItem, column: int) -> None:
        if column == 0:
            name, key = item.data(0, _KEY)
            on = item.checkState(0) is Qt.CheckState.Checked
            (self.tool_switched.emit(key, on) if key else self.server_switched.emit(name, on))

    def _listed_folders(self) -> list[str]:
        return [self.folders.item(n).text() for n in range(self.folders.count())]

    def add_folder(self, folder: str) -> None:
        """Add a folder whose files may be read."""
        self.folders_changed.emit([*self._listed_folders(), folder])

    def _remove_folder(self) -> None:
        row = self.folders.currentRow()
        self.folders_changed.emit([each for n, each in enumerate(self._listed_folders()) if n != row])

    def _add(self) -> None:
        if self.where.text().strip():
            self.server_added.emit(self.name.text().strip(), self.where.text().strip())

    def clear_fields(self) -> None:
        """Empty the fields of a server that was added."""
        self.name.clear()
        self.where.clear()

    def _paste(self) -> None:
        edit = QPlainTextEdit()
        edit.paste()
        self.pasted.emit(edit.toPlainText())

    def _remove(self) -> None:
        if name := self._chosen()[0]:
            self.server_removed.emit(name)

    def _choose_permission(self, index: int) -> None:
        self.permission_chosen.emit(self._chosen()[1], _ANSWERS[index])

    def _allow_writing(self, on: bool) -> None:
        self.writing_allowed.emit(self._chosen()[1], on)

    def reset(self) -> None:
        """Switch everything of ours off; servers stay."""
        for switch in self.switches.values():
            switch.setChecked(False)
        self.limit.setValue(ToolChoice().limit)


def _state(on: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
