"""Store an imported conversation in steps, so that other writes need not wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from queue import Empty, SimpleQueue

from app.state.conversations.conversation import Conversation, StoredMessage
from app.state.conversations.files import ConversationRefused, Imported, Note
from app.store.store import Store
from app.store.writer import Change, StoreWriter
from engine import Translatable

_MOST_MESSAGES = 500
_MOST_CHARACTERS = 2**20
"""The most characters written in one step; a single message may be longer."""
_LOOK_S = 0.05


def keep_import(writer: StoreWriter, imported: Imported, name: str, note: Note) -> None:
    """Store a conversation, and return when all of it is on the disk; not for the thread of the window or the writer.

    Until then it counts as deleted: it is in no list, and the next start removes it where this one was killed. `note`
    receives the written size, also while the disk stalls, and may raise an error: then nothing of it stays.
    Raises ConversationRefused (`name`: of its file) where it makes no sense to the store.
    """
    conversation = imported.conversation
    try:
        _keep(writer, _steps(imported), len(conversation) + 1, name, note)
    except BaseException:
        # The last step may be on its way.
        writer.submit(lambda store: store.delete(conversation.id, _now()))
        writer.purge(conversation.id)
        raise


def keep_more(
    writer: StoreWriter, old: Conversation, messages: list[StoredMessage], imported: Imported, name: str, note: Note
) -> None:
    """Store a conversation's new messages (`what_is_new`), as `keep_import`; stored ones stay."""
    old.take_moved()
    old.grow(messages)
    moved, updated = old.take_moved(), max(old.updated, imported.conversation.updated)

    def show(store: Store) -> None:
        store.choose(old.id, moved)
        store.touch(old.id, updated)

    parts = ((_adding(old.id, part, imported), len(part)) for part in _parts(messages, imported))
    _keep(writer, chain(parts, ((show, 1),)), len(messages) + 1, name, note)


def _keep(writer: StoreWriter, steps: Iterable[tuple[Change, int]], total: int, name: str, note: Note) -> None:
    written = 0
    for change, size in steps:
        done: SimpleQueue[bool] = SimpleQueue()
        writer.submit(change, None, done.put)
        _wait(done, name, partial(note, written / total))
        written += size


def _now() -> float:
    return datetime.now(UTC).timestamp()


def _wait(done: SimpleQueue[bool], name: str, note: Callable[[], None]) -> None:
    while True:
        note()
        try:
            kept = done.get(timeout=_LOOK_S)
        except Empty:
            continue
        if not kept:
            raise ConversationRefused(name, Translatable("it makes no sense to the store"))
        return


def _steps(imported: Imported) -> Iterator[tuple[Change, int]]:
    """Yield the changes in their order, each with the number of messages in it."""
    conversation = imported.conversation
    conversation.take_moved()
    head, chosen = conversation.summary(), conversation.chosen
    settings, documents = conversation.settings, conversation.documents

    def begin(store: Store) -> None:
        store.add_conversation(head)
        store.set_settings(head.id, settings)
        for document in documents:
            store.save_document(head.id, document)
        store.delete(head.id, _now())

    def show(store: Store) -> None:
        store.choose(head.id, {None: chosen})
        store.undelete(head.id)

    parts = _parts(conversation, imported)
    first, *more = islice(parts, 2)
    if not more:

        def add(store: Store) -> None:
            begin(store)
            _adding(head.id, first, imported)(store)
            show(store)

        yield add, len(first) + 1
        return
    yield begin, 0
    for messages in chain((first, *more), parts):
        yield _adding(head.id, messages, imported), len(messages)
    yield show, 1


def _parts(messages: Iterable[StoredMessage], imported: Imported) -> Iterator[list[StoredMessage]]:
    part: list[StoredMessage] = []
    size = 0
    for message in messages:
        part.append(message)
        size += (
            len(message.text)
            + sum(each.letters for each in message.messages)
            + len(imported.traces.get(message.id, b""))
        )
        if len(part) == _MOST_MESSAGES or size > _MOST_CHARACTERS:
            yield part
            part, size = [], 0
    yield part


def _adding(conversation_id: int, messages: list[StoredMessage], imported: Imported) -> Change:
    def add(store: Store) -> None:
        store.add_messages(conversation_id, messages)
        for message in messages:
            if message.id in imported.traces:
                store.save_trace(message.id, imported.traces[message.id])

    return add
