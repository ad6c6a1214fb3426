"""Keep the messages that wait until the reply before them is written: each chat has its own, in their order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count

from PySide6.QtCore import QObject, Signal

from app.control.conversations import ConversationController
from app.state.chat.attachments import join_question, split_question
from app.state.conversations.conversation import FILES, TYPED, WAITING, Conversation

MOST = 100
"""Messages of a chat that wait."""


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """Hold a message that waits. `text`: with its files quoted."""

    number: int
    text: str


class WaitingMessages(QObject):
    """Hold the waiting messages of all chats, and put them on the disk as they change: the program may be killed.

    After a restart they are no longer sent by themselves: they stand in the prompt box of their chat.
    Signal: changed().
    """

    changed = Signal()

    def __init__(self, conversations: ConversationController) -> None:
        super().__init__()
        self._conversations = conversations
        self._numbers = count(1)
        self._lists: dict[int, list[WaitingMessage]] = {}

    def of(self, chat: Conversation | None) -> tuple[WaitingMessage, ...]:
        return () if chat is None else tuple(self._lists.get(chat.id, ()))

    def add(self, chat: Conversation, text: str) -> bool:
        """Queue a message behind the others; False if there are too many."""
        waiting = self._lists.get(chat.id, [])
        if len(waiting) >= MOST:
            return False
        self._keep(chat, [*waiting, WaitingMessage(next(self._numbers), text)])
        return True

    def edit(self, chat: Conversation, number: int, typed: str) -> None:
        """Change the words of a message, whose files stay; an empty one is dropped."""
        waiting = []
        for each in self.of(chat):
            text = each.text if each.number != number else join_question(typed, split_question(each.text)[1])
            waiting += [WaitingMessage(each.number, text)] if text.strip() else []
        self._keep(chat, waiting)

    def move(self, chat: Conversation, number: int, step: int) -> None:
        """Move a message so many places on, as far as there are any."""
        waiting = [*self.of(chat)]
        place = next((place for place, each in enumerate(waiting) if each.number == number), None)
        if place is not None:
            message = waiting.pop(place)
            waiting.insert(max(place + step, 0), message)
            self._keep(chat, waiting)

    def drop(self, chat: Conversation, number: int) -> None:
        self._keep(chat, [each for each in self.of(chat) if each.number != number])

    def take(self, chat: Conversation) -> str | None:
        """Remove and return the first message, None if there is none."""
        waiting = [*self.of(chat)]
        if not waiting:
            return None
        first = waiting.pop(0)
        self._keep(chat, waiting)
        return first.text

    def forget(self, chat: int) -> None:
        """Drop the messages of a deleted chat. With the chat they come back as unsent text."""
        if self._lists.pop(chat, None):
            self.changed.emit()

    def bring_back(self, chat: Conversation | None) -> None:
        """Move the queued questions of the last run into the chat's unsent text."""
        store = self._conversations.store
        if chat is None or chat.id in self._lists or not (kept := chat.drafts.get(WAITING)):
            return
        parts = [split_question(text) for text in _read(kept)]
        before = [text for text in (*(typed.strip("\n") for typed, _ in parts), chat.drafts.get(TYPED, "")) if text]
        files = [*(file for _, files in parts for file in files), *split_question(chat.drafts.get(FILES, ""))[1]]
        store.set_draft(chat, TYPED, "\n\n".join(before))
        store.set_draft(chat, FILES, join_question("", files) if files else "")
        store.set_draft(chat, WAITING, "")
        store.write_drafts()

    def _keep(self, chat: Conversation, waiting: list[WaitingMessage]) -> None:
        if waiting:
            self._lists[chat.id] = waiting
        else:
            self._lists.pop(chat.id, None)
        encoded = json.dumps([each.text for each in waiting], ensure_ascii=False) if waiting else ""
        self._conversations.store.set_draft(chat, WAITING, encoded)
        self._conversations.store.write_drafts()
        self.changed.emit()


def _read(kept: str) -> list[str]:
    """Return the stored texts; none from invalid data."""
    try:
        texts = json.loads(kept)
    except (ValueError, RecursionError):
        return []
    return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
