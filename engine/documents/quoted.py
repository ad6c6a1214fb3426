"""Quote parts of a document to a model so that it can cite them, and read them back from the quotation.

A document is told as the text of a file: a line on what is given of it, its parts, each under a line with its number
and its place, and the request to cite them. Within a part stands the document's own text and nothing else, so what a
reply copies of it is found in the prompt word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.documents.document import Document, Section

_REQUEST = (
    "Write the answer in whole sentences. End each sentence with the number of the part that it comes from, in "
    "brackets: … [{number}]."
)
"""The text behind the parts: small models forget instructions before a long text, and repeat an example sentence."""
_FIRST_LINE = re.compile(r"Document[^\n]{0,900}\.\n\n")
_LAST_LINE = re.compile(r"\n\nWrite the answer in whole sentences[.,] [^\n]{,120} \[[0-9]+\]\.\Z")
"""Of a text of today or of an earlier version."""
_HEAD = re.compile(r"^\[(\d{1,5})\](?: ([^\n]{0,400}))?$", re.MULTILINE)
_LONGEST_WHERE = 200
_MOST_NOTES = 3


@dataclass(frozen=True, slots=True)
class QuotedPart:
    """Hold a part as a model was given it. `where`: in English, "page 3 · Introduction"."""

    number: int
    where: str
    text: str


def quote_document(document: Document, parts: Sequence[Section], chosen: Iterable[int], first: int = 1) -> str:
    """Quote a document for a model: the chosen ones of its parts, by place, numbered from `first`."""
    places = sorted(set(chosen))
    size = f" of {document.pages:,} pages" if document.pages > 1 and document.kind == "PDF" else ""
    whole = len(places) == len(parts)
    given = "whole" if whole else f"{len(places):,} of its {len(parts):,} parts, chosen for this question"
    head = " ".join([f"Document{size} ({document.kind}), {given}.", *map(_one_line, document.notes[:_MOST_NOTES])])
    quoted = [
        f"[{number}] {_one_line(parts[place].where)}".rstrip() + "\n" + _apart(parts[place].text)
        for number, place in enumerate(places, first)
    ]
    return "\n\n".join([head, *quoted, _REQUEST.format(number=first)])


def read_quoted(text: str) -> tuple[QuotedPart, ...]:
    """Return the parts in a text of `quote_document`; () for any other text."""
    head, foot = _FIRST_LINE.match(text), _LAST_LINE.search(text)
    if head is None or foot is None:
        return ()
    found = list(_HEAD.finditer(text, head.end(), foot.start()))
    ends = [each.start() - 2 for each in found[1:]] + [foot.start()]
    return tuple(
        QuotedPart(int(each[1]), each[2] or "", text[each.end() + 1 : end])
        for each, end in zip(found, ends, strict=True)
    )


def _apart(text: str) -> str:
    """Return a part's text in which no line looks like the head of a part: one that does is moved by a blank."""
    return _HEAD.sub(lambda found: " " + found[0], text)


def _one_line(where: str) -> str:
    line = " ".join(where.split())
    return line if len(line) <= _LONGEST_WHERE else line[: _LONGEST_WHERE - 1] + "…"
