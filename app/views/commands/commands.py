"""Register every command once: menus, the command palette and the shortcut sheet read it here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

Keys = str | QKeySequence.StandardKey | QKeySequence
CHAT, CONVERSATIONS, MODELS, SPECULATION, VIEW, PROGRAM = (
    "chat",
    "conversations",
    "models",
    "speculation",
    "view",
    "program",
)
SECTIONS = (CHAT, CONVERSATIONS, MODELS, SPECULATION, VIEW, PROGRAM)
"""The order of the listed sections; others come after these."""


@dataclass(frozen=True, slots=True)
class Command:
    """Describe one thing that can be done.

    `enabled`, `checked`: return the current state; None: always possible, nothing that is on or off. `words`: asks what
    it is called now; None and "": as always.
    `quiet`: not listed in the palette (it would only open the palette).
    """

    key: str
    section: str
    action: QAction
    enabled: Callable[[], bool] | None = None
    checked: Callable[[], bool] | None = None
    quiet: bool = False
    words: Callable[[], str] | None = None

    @property
    def text(self) -> str:
        """Return its text without the mnemonic mark."""
        return (self.words() if self.words is not None else "") or self.action.text()

    @property
    def shortcuts(self) -> list[str]:
        """Return its keys, as the platform writes them."""
        native = QKeySequence.SequenceFormat.NativeText
        return [keys.toString(native) for keys in self.action.shortcuts()]


class Commands(QObject):
    """Hold the commands of a window, by their keys ("chat.new"), in the order in which they were added.

    Attribute: destructive (the keys of those that the palette never chooses first).
    Signal: changed() (one came or went).
    """

    changed = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._commands: dict[str, Command] = {}
        self.destructive: set[str] = set()

    def add(
        self,
        key: str,
        text: str,
        slot: Callable[[], Any],
        *,
        shortcut: Keys | Iterable[Keys] | None = None,
        section: str = PROGRAM,
        enabled: Callable[[], bool] | None = None,
        checked: Callable[[], bool] | None = None,
        everywhere: bool = False,
        quiet: bool = False,
        words: Callable[[], str] | None = None,
    ) -> QAction:
        """Return a command called `text`, which runs `slot()`; gives its action, to be put into menus or onto buttons.

        `shortcut`: one key or several, active in the window; `everywhere`: also in the program's other windows.
        A key that is there already is replaced. An ellipsis at the end of the text: more will be asked.
        """
        self.remove(key)
        action = QAction(text, self)
        action.setShortcuts(_sequences(shortcut))
        if everywhere:
            action.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)
        action.setCheckable(checked is not None)
        # A style may move actions called "About…" or "Quit" to another menu; here only the key decides.
        action.setMenuRole(QAction.MenuRole.NoRole)
        command = Command(key, section, action, enabled, checked, quiet, words)
        action.triggered.connect(lambda: self._run(command, slot))
        self._commands[key] = command
        self._window.addAction(action)
        self.changed.emit()
        return action

    def remove(self, key: str) -> None:
        """Remove a command; nothing happens if there is none."""
        command = self._commands.pop(key, None)
        if command is not None:
            self._window.removeAction(command.action)
            command.action.deleteLater()
            self.changed.emit()

    def run(self, key: str) -> None:
        """Run a command, if it is possible now."""
        self._commands[key].action.trigger()

    def action(self, key: str) -> QAction:
        """Return the action of a command, with its state updated."""
        self._refresh(self._commands[key])
        return self._commands[key].action

    def refresh(self) -> None:
        """Update all actions before they are shown."""
        for command in self._commands.values():
            self._refresh(command)

    def put_into(self, menu: QMenu, keys: Iterable[str]) -> None:
        """Add commands to a menu ("" is a line between them), which looks at their state whenever it opens."""
        commands = []
        for key in keys:
            if key:
                commands.append(self._commands[key])
                menu.addAction(self._commands[key].action)
            else:
                menu.addSeparator()

        def show() -> None:
            for command in commands:
                self._refresh(command)
                command.action.setEnabled(command.enabled is None or command.enabled())

        def hide() -> None:
            # What is switched off hears no keys, and nobody would switch it on again.
            for command in commands:
                command.action.setEnabled(True)

        menu.aboutToShow.connect(show)
        menu.aboutToHide.connect(hide)

    def sections(self) -> list[str]:
        """Return the sections that have commands, in the order in which they are listed."""
        used = list(dict.fromkeys(command.section for command in self))
        return [section for section in SECTIONS if section in used] + [each for each in used if each not in SECTIONS]

    def of(self, section: str) -> list[Command]:
        return [command for command in self if command.section == section]

    def __contains__(self, key: object) -> bool:
        return key in self._commands

    def __getitem__(self, key: str) -> Command:
        return self._commands[key]

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands.values())

    def __len__(self) -> int:
        return len(self._commands)

    def section_words(self, section: str) -> str:
        words = {
            CHAT: self.tr("Current chat"),
            CONVERSATIONS: self.tr("Chats"),
            MODELS: self.tr("Models"),
            SPECULATION: self.tr("Speculation"),
            VIEW: self.tr("View"),
            PROGRAM: self.tr("Program"),
        }
        return words.get(section, section)

    def _run(self, command: Command, slot: Callable[[], Any]) -> None:
        """Run the command if it is enabled now: a key may be pressed long after the last update."""
        if command.enabled is None or command.enabled():
            slot()
        self._refresh(command)

    def _refresh(self, command: Command) -> None:
        if command.checked is not None:
            command.action.setChecked(command.checked())


def _sequences(shortcut: Keys | Iterable[Keys] | None) -> list[QKeySequence]:
    if shortcut is None:
        return []
    if isinstance(shortcut, QKeySequence.StandardKey):
        # More than one key may be usual; another key of ours may be among them, so only the first counts.
        return [QKeySequence(each) for each in QKeySequence.keyBindings(shortcut)[:1]]
    if isinstance(shortcut, str | QKeySequence):
        return [QKeySequence(shortcut)]
    return [keys for each in shortcut for keys in _sequences(each)]
