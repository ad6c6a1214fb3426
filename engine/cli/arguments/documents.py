"""Answer from documents: the option, how they are read, and the message that asks of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.decoder import SpeculativeDecoder
from engine.documents.document import Document
from engine.documents.give import GivenDocuments
from engine.documents.read import read_document
from engine.generation.responder import Responder
from engine.messages.message import Message
from engine.messages.parts import TextPart

_ROOM = 4_096
"""Tokens of a context whose size is not known."""


def add_document_option(parser: argparse.ArgumentParser) -> None:
    """Add --document."""
    parser.add_argument(
        "--document",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="answer from a document (PDF, Word, Excel, web page …), of a long one from the parts that fit; repeatable",
    )


def read_documents(args: argparse.Namespace) -> list[Document]:
    """Return the documents that --document names, and print what could not be read of them. Raises DocumentRefused."""
    documents = [read_document(path.expanduser()) for path in args.document]
    for note in (f"{each.name}: {note}" for each in documents for note in each.notes if not args.quiet):
        sys.stderr.write(f"outrider-engine: {note}\n")
    return documents


def asked_of(documents: GivenDocuments, question: str, decoder: Responder) -> Message:
    """Return a question with what fits it of documents."""
    target = decoder.target if isinstance(decoder, SpeculativeDecoder) else None
    files = documents.files(question, _ROOM if target is None else target.context_length)
    return Message("user", [*files, TextPart(question)] if files else question)
