"""Store the models' caches of the chats on disk, as long as the settings allow it and the chats exist."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from app.control.replies import PendingReply
from app.shell.program import Program
from app.state.models.targets import Server
from app.system.places import caches_folder

_SETTING = "keep_caches"


class KeptCaches(QObject):
    """Control the engine's stored caches of chats: which to keep, and which to delete.

    `store`: the file of the chats; None: nothing is kept.
    """

    def __init__(self, program: Program, store: Path | None) -> None:
        super().__init__(program.window)
        self._program = program
        self._folder = Path() if store is None else caches_folder(store)
        if store is None:
            return
        conversations = program.conversations
        if program.settings.keep_caches:
            program.bridge.keep_caches(self._folder)
        program.autosave.changed.connect(self._note)
        program.controller.replies.ended.connect(self._keep)
        conversations.removed.connect(lambda number: program.bridge.forget_caches(_name(number)))
        conversations.messages_deleted.connect(self._forget_open)

    def begin(self) -> None:
        """Delete the caches of deleted chats, once the chats are known."""
        conversations = self._program.conversations
        if conversations.lasting and self._folder.is_dir():
            wanted = conversations.summaries() if self._program.settings.keep_caches else ()
            self._program.bridge.forget_other_caches(self._folder, frozenset(_name(each.id) for each in wanted))

    def _note(self, name: str) -> None:
        if name != _SETTING:
            return
        kept = self._program.settings.keep_caches
        self._program.bridge.keep_caches(self._folder if kept else None)
        if not kept:
            self._program.bridge.forget_other_caches(self._folder, ())

    def _keep(self, pending: PendingReply) -> None:
        conversation, conversations = pending.conversation, self._program.conversations
        there = conversation is not None and conversations.lasting and conversations.is_listed(conversation)
        here = pending.result is not None and not isinstance(pending.wanted.target, Server)
        if conversation is not None and there and here:
            self._program.bridge.keep_cache(_name(conversation.id))

    def _forget_open(self) -> None:
        if (shown := self._program.conversations.open) is not None:
            self._program.bridge.forget_caches(_name(shown.id))


def _name(conversation: int) -> str:
    return f"chat{conversation}"
