"""Answer from documents and pictures: the options, their reading, and the message with them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.generation.responder import Responder
from engine.library.names import resolve_source
from engine.loading.open import open_embedder
from engine.messages.message import Message
from engine.messages.parts import ImagePart, TextPart

if TYPE_CHECKING:
    from engine.documents.document import Document
    from engine.documents.retrieval import GivenDocuments

_ROOM = 4_096
"""The assumed tokens of a context of unknown size."""


def add_document_options(parser: argparse.ArgumentParser) -> None:
    """Add --document, --image and --embedding-model."""
    parser.add_argument(
        "--document",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="answer from a document (PDF, Word, Excel, web page …), of a long one from the parts that fit; repeatable",
    )
    parser.add_argument(
        "--image",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a picture that goes with the (first) question, for a model that sees; repeatable",
    )

    parser.add_argument(
        "--embedding-model",
        metavar="M",
        help="GGUF embedding model by which parts of documents are found too (default: by their words alone)",
    )


def given_documents(args: argparse.Namespace, documents: Sequence[Document], cancel: CancelToken) -> GivenDocuments:
    """Return documents that can be asked, by --embedding-model too. Raises LoadFailed and its kinds, Cancelled."""
    from engine.documents.retrieval import GivenDocuments  # noqa: PLC0415 - for documents alone

    if not documents or args.embedding_model is None:
        return GivenDocuments(documents)
    config = LoadConfig(resolve_source(args.embedding_model), None, args.threads, args.gpu_layers)
    return GivenDocuments(documents, open_embedder(config, cancel=cancel), cancel)


def read_documents(args: argparse.Namespace) -> list[Document]:
    """Return the documents that --document names, and print their unread parts. Raises DocumentRefused."""
    if not args.document:
        return []
    from engine.documents.read import read_document  # noqa: PLC0415 - for documents alone

    documents = [read_document(path.expanduser()) for path in args.document]
    for note in (f"{each.name}: {note}" for each in documents for note in each.notes if not args.quiet):
        sys.stderr.write(f"outrider-engine: {note}\n")
    return documents


def read_images(args: argparse.Namespace) -> list[ImagePart]:
    """Return the pictures that --image names. Raises DocumentRefused."""
    if not args.image:
        return []
    from engine.documents.picture import read_picture  # noqa: PLC0415 - for pictures alone

    return [read_picture(path.expanduser()) for path in args.image]


def asked_of(documents: GivenDocuments, question: str, decoder: Responder, images: Sequence[ImagePart] = ()) -> Message:
    """Return a question with pictures, and with fitting parts of documents. Raises InvalidRequest: it cannot see."""
    target = decoder.target if isinstance(decoder, SpeculativeDecoder) else None
    if images and target is not None and not target.sees:
        raise InvalidRequest(
            "The model {name} cannot see pictures. Choose one with its projector (mmproj-….gguf) beside it.",
            name=target.name,
        )
    files = documents.files(question, _ROOM if target is None else target.context_length)
    return Message("user", [*images, *files, TextPart(question)] if files or images else question)
