"""Read the documents within another one: those of an archive, those that go with a mail."""

from __future__ import annotations

from collections.abc import Iterable

from engine.documents import kinds
from engine.documents.document import MOST_LETTERS, Document
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_MOST_NAMED = 5


def read_members(
    members: Iterable[tuple[str, bytes | Translatable]], budget: kinds.Budget
) -> tuple[list[Document], tuple[Translatable, ...]]:
    """Return the documents among members that can be read, and notes on the others.

    `members`: each a name, and bytes or why there are none. What is packed in what is packed is not unpacked.
    """
    found: list[Document] = []
    notes: list[Translatable] = []
    left_out = letters = 0
    for name, data in members:
        if budget.spent or letters > MOST_LETTERS:
            notes.append(Translatable("What follows {name} was left out: there is too much.", name=name))
            break
        try:
            document = _read(name, data, budget)
        except NotReadable as refused:
            left_out += 1
            if left_out <= _MOST_NAMED:
                notes.append(Translatable("{name} was left out: {reason}.", name=name, reason=refused.reason))
            continue
        letters += document.letters
        found.append(document)
    return found, tuple(notes)


def _read(name: str, data: bytes | Translatable, budget: kinds.Budget) -> Document:
    if isinstance(data, Translatable):
        raise NotReadable(data)
    kind = kinds.kind_of(data, name)
    if kind in ("archive", "mail") and data.startswith(b"PK"):
        raise NotReadable(Translatable("an archive within an archive is not unpacked"))
    try:
        return kinds.reader_of(data, name)(data, name, budget)
    except (NotReadable, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - one damaged member must not refuse the others
        raise NotReadable(Translatable("it is damaged")) from None
