"""Keep unsent text: each chat has its own prompt, files and messages that are being edited."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from app.control.attachments import Attachments
from app.control.conversations import ConversationController
from app.control.waiting import WaitingMessages
from app.state.chat.attachments import Attachment, join_question, split_question
from app.state.chat.intents import EntryIntent, KeepDraft
from app.state.conversations.conversation import FILES, TYPED, Conversation

WAIT_MS = 250
"""The delay after which typed text is on the disk, also while the typing goes on: the program may be killed."""
LONGEST = 2**24
"""Characters of a draft that are kept."""


class UnsentTexts(QObject):
    """Hand the drafts to the store soon after they change, and show those of the chat that is opened.

    `typed` gives what stands in the prompt box. Signal: shown(text) (this is to stand there).
    """

    shown = Signal(str)

    def __init__(
        self,
        conversations: ConversationController,
        attachments: Attachments,
        waiting: WaitingMessages,
        typed: Callable[[], str],
    ) -> None:
        super().__init__()
        self._waiting = waiting
        self._conversations = conversations
        self._attachments = attachments
        self._typed = typed
        self._chat: Conversation | None = None
        self._begun = False
        self._timer = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._timer.timeout.connect(self.save)
        conversations.open_changed.connect(self._follow)
        attachments.changed.connect(self.note)
        attachments.came_late.connect(self._add_file)

    def begin(self) -> None:
        """Show the drafts of the first chat, before text typed since."""
        self._begun = True
        self._show(self._conversations.open, self._typed())

    def note(self) -> None:
        """Schedule a save after typing, or a change of files."""
        if not self._timer.isActive():
            self._timer.start()

    def carry_out(self, intent: EntryIntent) -> None:
        """Keep the text typed for a message; a sent or cancelled one is dropped at once."""
        if isinstance(intent, KeepDraft):
            exchange, text = intent.exchange, intent.text[:LONGEST]
            if intent.part == "question":
                message, exchange.question_draft = exchange.question_id, text
            else:
                message, exchange.reply_draft = exchange.reply_id, text
            if message is not None and self._chat is not None:
                self._conversations.store.set_draft(self._chat, message, text)
                self.note() if text else self.save()

    def save(self) -> None:
        """Save everything now."""
        self._timer.stop()
        if self._begun:
            self._keep()
            self._conversations.store.write_drafts()

    def _keep(self) -> None:
        self._keep_files(self._chat, self._attachments.attachments)
        self._conversations.store.set_draft(self._chat, TYPED, self._typed()[:LONGEST])

    def _keep_files(self, chat: Conversation | None, files: tuple[Attachment, ...]) -> None:
        self._conversations.store.set_draft(chat, FILES, join_question("", files) if files else "")

    def _follow(self) -> None:
        """Show the drafts of another chat. One that gets its first question keeps the text in the box."""
        chat = self._conversations.open
        if not self._begun or chat is self._chat:
            return
        if self._chat is None and chat is not None and not len(chat):
            for part in (TYPED, FILES):
                self._conversations.store.set_draft(None, part, "")
            self._chat = chat
            self._attachments.follow(chat)
            self.note()
        else:
            self.save()
            self._show(chat)

    def _show(self, chat: Conversation | None, typed: str = "") -> None:
        self._chat = chat
        self._waiting.bring_back(chat)
        kept = self._conversations.store.drafts(chat)
        files = kept.get(FILES, "")
        self._attachments.show(chat, split_question(files)[1] if files else ())
        self.shown.emit(kept.get(TYPED, "") + typed)

    def _add_file(self, chat: Conversation | None, file: Attachment) -> None:
        """Keep a file that was read when another chat was on the screen already."""
        kept = self._conversations.store.drafts(chat).get(FILES, "")
        self._keep_files(chat, (*(split_question(kept)[1] if kept else ()), file))
        self.note()
