"""Import chats of other programs into the store, one by one; existing ones are updated."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.state.chat.attachments import plain_name
from app.state.conversations.conversation import Conversation, ConversationSummary, StoredMessage
from app.state.conversations.files import ConversationRefused, Imported, Note, from_json
from app.state.conversations.other_programs.apart import ReadChat, chats_apart
from app.state.conversations.other_programs.convert import SOURCE, own_key, what_is_new
from app.store.imports import keep_import, keep_more
from app.store.store import Store
from app.store.writer import StoreWriter
from engine import Cancelled, CancelToken, Translatable

_MOST_NAMED = 100


@dataclass(slots=True)
class Brought:
    """Report the result of an import. `known`: chats already here; `refused`: names of damaged ones, and why.

    `only`: the chat, where there was just one; `damaged`: how many there were; `grown`: chats that went on since they
    were imported; `in_use`: those of them that the window has, with the messages that are to be added there;
    `project`: that of the chats, which an archive of a project names first.
    """

    summaries: list[ConversationSummary] = field(default_factory=list)
    projects: list[Conversation] = field(default_factory=list)
    project: int = 0
    grown: list[ConversationSummary] = field(default_factory=list)
    in_use: list[tuple[Conversation, list[StoredMessage], Imported]] = field(default_factory=list)
    known: int = 0
    damaged: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    only: Conversation | None = None
    cancelled: bool = False

    def refuse(self, name: str, reason: str) -> None:
        """Count a chat that could not be read."""
        self.damaged += 1
        if len(self.refused) < _MOST_NAMED:
            self.refused.append((name, reason))


class Bringing:
    """Import the chats of one file, archive or folder. `open_ones` returns a conversation that the window has."""

    def __init__(
        self,
        store: Store,
        writer: StoreWriter,
        ids: Iterator[int],
        open_ones: Callable[[int], Conversation | None],
    ) -> None:
        self._store = store
        self._writer = writer
        self._ids = ids
        self._open_ones = open_ones
        self._share = 0.0
        self._sources, self._chats = _known(store)
        self._brought = Brought()

    def bring(self, path: Path, note: Note, cancel: CancelToken) -> Brought:
        """Import them; each is whole on the disk or not there at all.

        `note` may raise Cancelled: what came until then stays. Raises ConversationRefused if there is no chat,
        NotOfOthers.
        """
        brought = self._brought

        def note_share(done: float) -> None:
            self._share = max(self._share, done)
            note(self._share)

        try:
            for found in chats_apart(path, note_share, cancel):
                try:
                    self._take(found, lambda _: note(self._share))
                except ConversationRefused as error:
                    brought.refuse(found.name, error.reason)
        except Cancelled:
            brought.cancelled = True
        except ConversationRefused as error:
            if not (brought.summaries or brought.grown or brought.in_use):
                raise
            brought.refuse(error.name, error.reason)
        came = brought.summaries or brought.project or brought.grown or brought.in_use
        if not (came or brought.known or brought.damaged or brought.cancelled):
            raise ConversationRefused(plain_name(path.name), Translatable("it has no chats that Outrider can read"))
        if len(brought.summaries) != 1 or brought.grown or brought.in_use:
            brought.only = None
        return brought

    def _take(self, found: ReadChat, note: Note) -> None:
        brought, source = self._brought, found.source
        if found.reason:
            brought.refuse(found.name, found.reason)
            return
        if (project := self._sources.get(source)) is not None:
            brought.known += not project
            brought.project = project or brought.project
            return
        imported = from_json(found.data, self._ids.__next__, found.name)
        for first in imported.conversation.children(None):
            imported.conversation[first].settings = {SOURCE: source}
        if imported.conversation.is_project:
            self._begin_project(imported, found, note)
        elif brought.project or not self._grow(imported, found, note):
            imported.conversation.project = brought.project
            keep_import(self._writer, imported, found.name, note)
            brought.only = imported.conversation
            brought.summaries.append(imported.conversation.summary())
            self._chats[_key(source)] = imported.conversation.id
        self._sources.setdefault(source, 0)

    def _begin_project(self, imported: Imported, found: ReadChat, note: Note) -> None:
        project = imported.conversation
        project.settings[SOURCE] = found.source
        keep_import(self._writer, imported, found.name, note)
        project.documents = ()
        self._brought.project = self._sources[found.source] = project.id
        self._brought.projects.append(project)

    def _grow(self, imported: Imported, found: ReadChat, note: Note) -> bool:
        """Update an existing chat. False if there is none."""
        number = self._chats.get(_key(found.source), 0)
        used = self._open_ones(number)
        # A copy: the window goes on changing it.
        old = used.copy() if used is not None else self._store.load(number) if number else None
        new = None if old is None else what_is_new(old, imported.conversation, found.source)
        if old is None or new is None:
            return False
        if new and used is not None:
            self._brought.in_use.append((used, new, imported))
        elif new:
            keep_more(self._writer, old, new, imported, found.name, note)
            self._brought.grown.append(old.summary())
        else:
            self._brought.known += 1
        return True


def _key(source: str) -> str:
    return source.rpartition(":")[0]


def _known(store: Store) -> tuple[dict[str, int], dict[str, int]]:
    """Return the ids by import source: 0 for a chat, else a project's; and the ids of known chats by key."""
    chats = store.connection.execute("SELECT created, id FROM conversations WHERE deleted IS NULL AND project <> id")
    known, sources = {own_key(created): number for created, number in chats}, dict[str, int]()
    rows = store.connection.execute(
        "SELECT 0, messages.settings, conversations.id FROM messages "
        "JOIN conversations ON conversations.id = messages.conversation "
        "WHERE messages.parent IS NULL AND messages.settings LIKE ?1 AND conversations.deleted IS NULL UNION ALL "
        "SELECT id, settings, 0 FROM conversations WHERE project = id AND settings LIKE ?1 AND deleted IS NULL",
        (f'%"{SOURCE}"%',),
    )
    for project, settings, number in rows:
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            source = json.loads(settings).get(SOURCE)
            if isinstance(source, str):
                sources[source] = project
                known |= {_key(source): number} if number else {}
    return sources, known
