"""Bring chats of other programs into the store, one by one; one that is there already is passed over."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.state.chat.attachments import plain_name
from app.state.conversations.brought import SOURCE, conversation_of, source_of
from app.state.conversations.conversation import Conversation, ConversationSummary
from app.state.conversations.files import ConversationRefused, Note, from_json
from app.state.conversations.json_stream import Senseless
from app.state.conversations.sources import Found, chats_in
from app.store.imports import keep_import
from app.store.store import Store
from app.store.writer import StoreWriter
from engine import Cancelled, Translatable

_MOST_NAMED = 100


@dataclass(slots=True)
class Brought:
    """Tell what came of a file. `known`: chats that were there already; `refused`: names of damaged ones, and why.

    `only`: the chat, where there was just one; `damaged`: how many there were; `project`: that of the chats, which an
    archive of a project names first.
    """

    summaries: list[ConversationSummary] = field(default_factory=list)
    projects: list[Conversation] = field(default_factory=list)
    project: int = 0
    known: int = 0
    damaged: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    only: Conversation | None = None
    cancelled: bool = False

    def refuse(self, name: str, reason: str) -> None:
        """Note a chat that could not be read."""
        self.damaged += 1
        if len(self.refused) < _MOST_NAMED:
            self.refused.append((name, reason))


def bring(store: Store, writer: StoreWriter, ids: Iterator[int], path: Path, note: Note) -> Brought:
    """Bring the chats of a file, an archive or a folder; each is whole on the disk or not there at all.

    `note` may raise Cancelled: what came until then stays. Raises ConversationRefused where there is no chat.
    """
    brought, known, share = Brought(), _sources(store), 0.0

    def note_share(done: float) -> None:
        nonlocal share
        share = max(share, done)
        note(share)

    try:
        for found in chats_in(path, note_share):
            try:
                _bring(found, known, writer, ids, lambda _: note(share), brought)
            except (Senseless, ConversationRefused) as error:
                reason = error.reason if isinstance(error, ConversationRefused) else error.args[0]
                brought.refuse(found.name, reason)
    except Cancelled:
        brought.cancelled = True
    if not (brought.summaries or brought.project or brought.known or brought.damaged or brought.cancelled):
        raise ConversationRefused(plain_name(path.name), Translatable("it has no chats that Outrider can read"))
    if len(brought.summaries) != 1:
        brought.only = None
    return brought


def _bring(
    found: Found, known: dict[str, int], writer: StoreWriter, ids: Iterator[int], note: Note, brought: Brought
) -> None:
    if found.own:
        source = f"outrider:{hashlib.sha256(found.own).hexdigest()[:32]}"
    elif found.chat is not None:
        source = source_of(found.layout, found.chat)
    else:
        raise Senseless(found.reason)
    if source in known:
        brought.known += not known[source]
        brought.project = known[source] or brought.project
        return
    if found.chat is not None:
        imported = conversation_of(found.chat, source, ids.__next__)
    else:
        imported = from_json(found.own, ids.__next__, found.name)
        for first in imported.conversation.children(None):
            imported.conversation[first].settings = {SOURCE: source}
    conversation = imported.conversation
    if conversation.is_project:
        conversation.settings[SOURCE] = source
        brought.project = conversation.id
    conversation.project = brought.project
    keep_import(writer, imported, found.name, note)
    known[source] = conversation.id if conversation.is_project else 0
    if conversation.is_project:
        conversation.documents = ()
        brought.projects.append(conversation)
        return
    brought.only = imported.conversation
    brought.summaries.append(imported.conversation.summary())


def _sources(store: Store) -> dict[str, int]:
    """Return the chats of other files that are there, each with 0, and the projects, with their ids."""
    rows = store.connection.execute(
        "SELECT 0, messages.settings FROM messages JOIN conversations ON conversations.id = messages.conversation "
        "WHERE messages.parent IS NULL AND messages.settings LIKE ?1 AND conversations.deleted IS NULL UNION ALL "
        "SELECT id, settings FROM conversations WHERE project = id AND settings LIKE ?1 AND deleted IS NULL",
        (f'%"{SOURCE}"%',),
    )
    found = dict[str, int]()
    for project, settings in rows:
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            source = json.loads(settings).get(SOURCE)
            if isinstance(source, str):
                found[source] = project
    return found
