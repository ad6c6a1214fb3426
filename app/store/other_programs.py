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
MOST_AT_ONCE = 100
"""The most chats that the window takes at once."""
MOST_OPENED = 1_000
"""The most messages of a chat that is shown at once: opening more would stop the window."""
Came = Callable[[list[ConversationSummary]], None]


@dataclass(slots=True)
class ImportReport:
    """Report the result of an import. `new`, `grown`, `known`, `damaged`: numbers of chats (`grown`: that went on).

    `only`: the chat that is to be shown, where there was just one; `refused`: names of damaged ones, and why;
    `in_use`: those that went on and that the window has, with the messages that are to be added there; `project`: that
    of the chats, which an archive of a project names first.
    """

    new: int = 0
    grown: int = 0
    known: int = 0
    damaged: int = 0
    projects: list[Conversation] = field(default_factory=list)
    project: int = 0
    in_use: list[tuple[Conversation, list[StoredMessage], Imported]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    only: Conversation | None = None
    cancelled: bool = False

    def refuse(self, name: str, reason: str) -> None:
        """Count a chat that could not be read."""
        self.damaged += 1
        if len(self.refused) < _MOST_NAMED:
            self.refused.append((name, reason))


class ChatImport:
    """Import the chats of one file, archive or folder.

    `open_ones` returns a conversation that the window has; `came` is called with those that are stored, some at a time.
    """

    def __init__(
        self,
        store: Store,
        writer: StoreWriter,
        ids: Iterator[int],
        open_ones: Callable[[int], Conversation | None],
        came: Came,
    ) -> None:
        self._store = store
        self._writer = writer
        self._ids = ids
        self._open_ones = open_ones
        self._came = came
        self._stored: list[ConversationSummary] = []
        self._share = 0.0
        self._sources, self._chats = _known(store)
        self._report = ImportReport()

    def import_chats(self, path: Path, note: Note, cancel: CancelToken) -> ImportReport:
        """Import them; each is whole on the disk or not there at all.

        `note` may raise Cancelled: what came until then stays. Raises ConversationRefused if there is no chat,
        NotOfOthers.
        """
        report = self._report

        def note_share(done: float) -> None:
            self._share = max(self._share, done)
            note(self._share)

        try:
            for found in chats_apart(path, note_share, cancel):
                try:
                    self._take(found, lambda _: note(self._share))
                except ConversationRefused as error:
                    report.refuse(found.name, error.reason)
        except Cancelled:
            report.cancelled = True
        except ConversationRefused as error:
            if not (report.new or report.grown or report.in_use):
                raise
            report.refuse(error.name, error.reason)
        finally:
            self._came(self._stored)
        came = report.new or report.project or report.grown or report.in_use
        if not (came or report.known or report.damaged or report.cancelled):
            raise ConversationRefused(plain_name(path.name), Translatable("it has no chats that Outrider can read"))
        large = report.only is not None and len(report.only) > MOST_OPENED
        if report.new != 1 or report.grown or report.in_use or large:
            report.only = None
        return report

    def _take(self, found: ReadChat, note: Note) -> None:
        report, source = self._report, found.source
        if found.reason:
            report.refuse(found.name, found.reason)
            return
        if (project := self._sources.get(source)) is not None:
            report.known += not project
            report.project = project or report.project
            return
        imported = from_json(found.data, self._ids.__next__, found.name)
        for first in imported.conversation.children(None):
            imported.conversation[first].settings = {SOURCE: source}
        if imported.conversation.is_project:
            self._begin_project(imported, found, note)
        elif report.project or not self._grow(imported, found, note):
            imported.conversation.project = report.project
            keep_import(self._writer, imported, found.name, note)
            report.only = imported.conversation
            report.new += 1
            self._hand_over(imported.conversation)
            self._chats[_key(source)] = imported.conversation.id
        self._sources.setdefault(source, 0)

    def _hand_over(self, conversation: Conversation) -> None:
        self._stored.append(conversation.summary())
        if len(self._stored) == MOST_AT_ONCE:
            self._came(self._stored)
            self._stored = []

    def _begin_project(self, imported: Imported, found: ReadChat, note: Note) -> None:
        project = imported.conversation
        project.settings[SOURCE] = found.source
        keep_import(self._writer, imported, found.name, note)
        project.documents = ()
        self._report.project = self._sources[found.source] = project.id
        self._report.projects.append(project)

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
            self._report.in_use.append((used, new, imported))
        elif new:
            keep_more(self._writer, old, new, imported, found.name, note)
            self._report.grown += 1
            self._hand_over(old)
        else:
            self._report.known += 1
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
