"""Manage the documents of the chat on the screen: store them with it, and select the parts for each question."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from app.control.attachments import Attachments
from app.control.chat import ChatController
from app.control.conversations import ConversationController
from app.state.chat.attachments import Attachment
from app.state.chat.documents import DEFAULT_ROOM, compose
from app.state.chat.stored_documents import ChatDocument
from app.state.chat.transcript import Exchange
from app.state.conversations.conversation import Conversation
from app.store.conversations import ConversationStore
from app.store.errors import StoreError
from app.system.log_file import note_error
from engine import EngineError, ImagePart
from engine.host import ReadyDocuments, page_picture, picture_part, show_picture

_Result = TypeVar("_Result")
_MOST_AT_HAND = 16
"""Pictures that are not read from the disk again."""
Shown = Callable[[bytes | None], None]
"""Receives a picture of a page as PNG, or None if there is none."""


class ChatDocuments(QObject):
    """Hold the documents of the chat on the screen. They come back with it, on a thread of their own.

    Attributes: held (by name), shared (the files of its project, by name), room (tokens of the context, as far as it is
    known). Signal: changed().
    """

    changed = Signal()

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        conversations: ConversationController,
        attachments: Attachments,
        controller: ChatController,
    ) -> None:
        super().__init__()
        self.held: dict[str, ChatDocument] = {}
        self.shared: dict[str, ChatDocument] = {}
        self.room = DEFAULT_ROOM
        self._loop = loop
        self._conversations = conversations
        self._attachments = attachments
        self._controller = controller
        self._chat: Conversation | None = None
        self._project: Conversation | None = None
        self._shared_of: Conversation | None = None
        self._asked: ReadyDocuments | None = None
        self._begun = False
        self._loading: tuple[str, ...] = ()
        self._token = object()
        self._pictures: deque[tuple[str, ImagePart]] = deque(maxlen=_MOST_AT_HAND)
        attachments.own_name = self._own_name
        attachments.changed.connect(self._keep_new)
        attachments.removed.connect(self._forget)
        attachments.came_late.connect(self._keep_late)
        conversations.open_changed.connect(self._follow)

    @property
    def loading(self) -> tuple[str, ...]:
        """Return the names of documents of the chat that are not here yet."""
        return self._loading

    def begin(self) -> None:
        """Load the documents of the first chat."""
        self._begun = True
        self._show(self._conversations.open)

    def question(self, typed: str, files: Sequence[Attachment]) -> str:
        """Return the question as the model reads it, with the fitting parts of documents."""
        given = self._controller.transcript.sources_for(None) if self.held or self.shared else ()
        return compose(typed, files, self.held, given, self.room, self._asked)

    def of(self, name: str) -> ChatDocument | None:
        """Return a document of the chat or of its project."""
        return self.held.get(name) or self.shared.get(name)

    def picture(self, name: str, page: int, width: int, shown: Shown) -> None:
        """Draw a page of a document on a thread, and give it to `shown`."""
        held = self.of(name)
        if held is None or not held.kept.source:
            shown(None)
            return
        source = held.kept.source

        def work() -> bytes | None:
            try:
                return page_picture(source, page, width)
            except EngineError:
                return None

        self.aside(work, shown)

    def show_picture(self, number: str, most: int, shown: Shown) -> None:
        """Draw a picture of a question on a thread, no side longer than `most`, and give it to `shown`."""

        def work() -> bytes | None:
            part = self.find_picture(number)
            return None if part is None else show_picture(part.url, most)

        self.aside(work, shown)

    def find_picture(self, number: str) -> ImagePart | None:
        """Return a picture of any chat by its number, from any thread; None if it is deleted."""
        found = next((part for known, part in list(self._pictures) if known == number), None)
        if found is None:
            data = None
            with contextlib.suppress(StoreError):
                data = self._store.load_source(number)
            if data is None:
                return None
            found = picture_part(data)
            self._pictures.appendleft((number, found))
        return found

    def keep_vectors(self, held: ChatDocument, vectors: bytes, model: str) -> None:
        """Store a document's vectors from an embedding model, if it is still on the screen."""
        for chat, documents in ((self._chat, self.held), (self._project, self.shared)):
            if documents.get(held.document.name) is held:
                self._store.save_vectors(chat, held.document.name, vectors, model)

    # Keeping ----------------------------------------------------------------------------------------------------------

    @property
    def _store(self) -> ConversationStore:
        return self._conversations.store

    def _own_name(self, chat: object, document: ChatDocument) -> ChatDocument:
        """Return a document under a name that no other document of its chat has; the same document keeps its name."""
        name = PurePath(document.document.name)
        taken = self.shared | self.held if chat is self._chat else {}
        for number in range(1, 1_000):
            tried = name.name if number == 1 else f"{name.stem} ({number}){name.suffix}"
            known = taken.get(tried)
            if known is not None and known.document.sections == document.document.sections:
                return known
            if known is None:
                return document if number == 1 else document.named(tried)
        return document

    def _keep_new(self) -> None:
        for file in self._attachments.attachments:
            if file.held is not None and self.held.get(file.name) is not file.held:
                self.held[file.name] = file.held
                self._store.save_document(self._chat, file.held.kept)

    def _keep_late(self, chat: Conversation | None, file: Attachment) -> None:
        if file.held is not None:
            self._store.save_document(chat, file.held.kept)

    def _forget(self, file: Attachment) -> None:
        """Delete a document that was taken away before it was sent."""
        entries = self._controller.transcript.entries
        head = f"File: {file.name}\n"
        sent = any(isinstance(entry, Exchange) and head in entry.question for entry in entries)
        if file.held is not None and not sent:
            self.held.pop(file.name, None)
            self._store.delete_document(self._chat, file.name)

    # Another chat -----------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Hold the documents of another chat; one that gets its first question takes those that stand in the box."""
        chat = self._conversations.open
        same = self._conversations.project is self._project
        if not self._begun or (chat is self._chat and same):
            return
        if self._chat is None and chat is not None and not len(chat) and same:
            self._chat = chat
            if self.held:
                self._store.move_documents(chat)
        else:
            self._show(chat)

    def share_again(self, project: Conversation) -> None:
        """Read the files of a project again, where its chat is on the screen: they are others."""
        if project is self._project:
            self._shared_of = None
            self._show(self._chat)

    def _show(self, chat: Conversation | None) -> None:
        if chat is not self._chat:
            self._chat, self.held = chat, {}
        token = self._token = object()
        store, project = self._store, self._conversations.project
        try:
            own = [name for name in store.document_names(chat) if name not in self.held]
            files = [] if project is None else store.document_names(project)
        except StoreError:
            own, files = [], []
        if project is not self._project or not files:
            self._project, self.shared, self._asked, self._shared_of = project, {}, None, None
        others = bool(files) and self._shared_of is not project
        self._loading = (*own, project.title) if others and project is not None else tuple(own)
        self.changed.emit()
        if not self._loading:
            return

        def work() -> tuple[list[ChatDocument], list[ChatDocument], ReadyDocuments | None]:
            shared = _read(store, project) if others else []
            ready = ReadyDocuments(each.ready for each in shared) if shared else None
            return _read(store, chat) if own else [], shared, ready

        def done(found: tuple[list[ChatDocument], list[ChatDocument], ReadyDocuments | None] | None) -> None:
            if token is not self._token:
                return
            self._loading = ()
            if found is not None:
                self.held = {each.document.name: each for each in found[0]} | self.held
                if others:
                    self._shared_of, self._asked = project, found[2]
                    self.shared = {each.document.name: each for each in found[1]}
            self._attachments.hold(self.held)
            self.changed.emit()

        self.aside(work, done)

    def aside(self, work: Callable[[], _Result], done: Callable[[_Result | None], None]) -> None:
        """Run work on a thread, and pass the result to `done` on this one; None if it failed."""

        def run() -> None:
            result: _Result | None = None
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - it is passed to the waiting caller
                note_error(error)
            # The loop may be closed by then.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(done, result)

        threading.Thread(target=run, name="outrider-documents", daemon=True).start()


def _read(store: ConversationStore, conversation: Conversation | None) -> list[ChatDocument]:
    found = []
    for kept in store.load_documents(conversation):
        with contextlib.suppress(ValueError):
            found.append(ChatDocument.of(kept.read(), kept))
    return found
