"""Register the formats in which a conversation is exported and imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.state.conversations.conversation import Conversation
from app.state.conversations.files import Imported, Note, note_nothing, read_file, to_json
from app.state.conversations.markdown import Words, to_markdown
from engine import Translatable

Traces = Mapping[int, bytes]
"""The records of replies token by token, packed, by the id of the reply."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """Describe a format.

    `name`: as commands and signals call it; `suffix`: of its files, with the dot; `menu`: the entry of menus and of the
    palette; `kind`: the line in the dialog that asks for a file (phrases). `write` gives the text of a file, with the
    words of the window's language and the traces, which it is given only `with_traces`. `read` gives the conversation
    of a file, with ids from the function (see `read_file`), on any thread, and tells how much of it is read; None:
    files of this format cannot be imported.
    """

    name: str
    suffix: str
    menu: str
    kind: str
    write: Callable[[Conversation, Words, Traces], str]
    with_traces: bool = False
    read: Callable[[Path, Callable[[], int], Note], Imported] | None = None


FORMATS = {
    each.name: each
    for each in (
        ExportFormat(
            "markdown",
            ".md",
            Translatable("Export as Markdown…"),
            Translatable("Markdown (*.md)"),
            lambda conversation, words, _traces: to_markdown(conversation, words),
        ),
        ExportFormat(
            "json",
            ".json",
            Translatable("Export as JSON…"),
            Translatable("Chat (*.json)"),
            lambda conversation, _words, traces: to_json(conversation, traces),
            with_traces=True,
            read=read_file,
        ),
    )
}
"""All of them by name, in the order of the menus."""
READERS = {each.suffix: each.read for each in FORMATS.values() if each.read is not None}
"""The readers of importable files, by suffix."""


def import_file(path: Path, new_id: Callable[[], int], note: Note = note_nothing) -> Imported:
    """Read the conversation in a file; one without a known suffix is taken for JSON. Raises ConversationRefused."""
    return READERS.get(path.suffix.lower(), read_file)(path, new_id, note)
