"""Have replies drafted from the chats that are kept, as long as the settings say so."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.shell.program import Program
from app.store.texts import texts_of
from app.system.places import texts_folder

_SETTING = "own_texts"
_WAIT_MS = 3000
"""After a change, so that a reply's text is stored and several changes are one."""


class OwnTexts(QObject):
    """Tell the engine which texts there are whenever chats or models change. `store`: the file of the chats."""

    def __init__(self, program: Program, store: Path) -> None:
        super().__init__(program.window)
        self._program, self._store = program, store
        self._folder = texts_folder(store)
        self._timer = QTimer(self, singleShot=True, interval=_WAIT_MS)
        self._timer.timeout.connect(self._index)

    def begin(self) -> None:
        """Index what is there, now that the window shows, and from now on what changes."""
        conversations, controller = self._program.conversations, self._program.controller
        conversations.removed.connect(lambda _number: self._timer.start())
        for signal in (conversations.messages_deleted, conversations.messages_restored, conversations.deleted_changed):
            signal.connect(self._timer.start)
        controller.replies.ended.connect(lambda _pending: self._timer.start())
        self._program.models.loaded_changed.connect(self._timer.start)
        self._program.autosave.changed.connect(self._note)
        self._timer.start()

    def _note(self, name: str) -> None:
        if name == _SETTING:
            self._index()

    def _index(self) -> None:
        if self._program.conversations.lasting:
            used = self._program.settings.own_texts
            self._program.bridge.draft_from(self._folder, partial(texts_of, self._store) if used else None)
