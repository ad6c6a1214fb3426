"""Draft from the stored chats, as long as the settings allow it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.control.replies import PendingReply
from app.shell.program import Program
from app.store.texts import texts_of
from app.system.places import texts_folder

_SETTING = "own_texts"
_WAIT_MS = 3000
"""The delay after a change, so that a reply's text is stored and several changes are one."""


class OwnTexts(QObject):
    """Index the stored texts whenever models change or chats are deleted, and a chat that goes on.

    `store`: the file of the chats.
    """

    def __init__(self, program: Program, store: Path) -> None:
        super().__init__(program.window)
        self._program, self._store = program, store
        self._folder = texts_folder(store)
        self._timer = QTimer(self, singleShot=True, interval=_WAIT_MS)
        self._timer.timeout.connect(self._index)
        self._all, self._changed = True, set[int]()

    def begin(self) -> None:
        """Index the texts, now that the window shows, and follow their changes."""
        conversations, controller = self._program.conversations, self._program.controller
        conversations.removed.connect(lambda _number: self._note_all())
        for signal in (conversations.messages_deleted, conversations.messages_restored, conversations.deleted_changed):
            signal.connect(self._note_all)
        controller.replies.ended.connect(self._note_reply)
        self._program.models.loaded_changed.connect(self._note_all)
        self._program.autosave.changed.connect(self._note_setting)
        self._note_all()

    def _note_all(self) -> None:
        self._all = True
        self._timer.start()

    def _note_reply(self, pending: PendingReply) -> None:
        if pending.conversation is not None:
            self._changed.add(pending.conversation.id)
            self._timer.start()

    def _note_setting(self, name: str) -> None:
        if name == _SETTING:
            self._all = True
            self._index()

    def _index(self) -> None:
        everything, self._all = self._all, False
        changed, self._changed = self._changed, set()
        if not self._program.conversations.lasting:
            return
        bridge, used = self._program.bridge, self._program.settings.own_texts
        if everything:
            bridge.draft_from(self._folder, partial(texts_of, self._store) if used else None)
        elif used:
            for chat in changed:
                bridge.draft_from_too(partial(texts_of, self._store, chat))
