"""Find parts of long documents by what they mean too, where the library has an embedding model."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.bridge.embedding import Embedding
from app.bridge.tasks import Tasks
from app.control.documents import ChatDocuments
from app.state.chat.pictures import KIND
from app.state.chat.stored_documents import ChatDocument
from app.system.log_file import note_error
from engine import EngineError, ModelFile
from engine.host import PartVectors

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_WAIT_MS = 100
"""After the last key, before the vector of what is typed is computed."""
_MOST_ASKED = 64


class DocumentVectors(QObject):
    """Give the long documents of the chat on the screen their vectors, one after the other, in the background.

    A question's vector is computed while it is typed; one that is sent before it is there is asked by its words alone.
    `models`: those of the library, of which the smallest embedding model is taken.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        embedding: Embedding,
        documents: ChatDocuments,
        models: Callable[[], tuple[ModelFile, ...]],
        typed: Callable[[], str],
    ) -> None:
        super().__init__()
        self._embedding, self._documents, self._models, self._typed = embedding, documents, models, typed
        self._tasks = Tasks(loop)
        self._asked: dict[str, NDArray[float32]] = {}
        self._model: ModelFile | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_WAIT_MS)
        self._timer.timeout.connect(self._ask)
        documents.changed.connect(self.follow)

    def follow(self) -> None:
        """Compute missing vectors after a change of documents or models."""
        found = (each for each in self._models() if each.role == "embedding" and each.file_format == "gguf")
        model = min(found, key=lambda each: each.size_bytes, default=None)
        if model != self._model:
            self._model = model
            self._asked.clear()
            for held in self._held():
                held.ready.vectors = None
        room = self._documents.room
        long = (each for each in self._held() if not each.ready.fits_whole(room))
        missing = next((each for each in long if each.ready.vectors is None), None)
        if model is not None and missing is not None and not self._tasks:
            self._tasks.start(self._compute(model, missing))

    def note_typed(self) -> None:
        """Note that something is being typed: its vector is computed in a moment."""
        if any(each.ready.vectors for each in self._held()):
            self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        self._tasks.cancel()

    def _held(self) -> list[ChatDocument]:
        documents = self._documents
        return [each for each in (*documents.held.values(), *documents.shared.values()) if each.document.kind != KIND]

    async def _compute(self, model: ModelFile, held: ChatDocument) -> None:
        name = f"{model.path.name} {model.size_bytes}"
        ready, kept = held.ready, held.kept
        try:
            if kept.vectors_of == name:
                with contextlib.suppress(ValueError, TypeError):
                    ready.vectors = PartVectors.of_bytes(kept.vectors, len(ready.parts), self._vector_of)
            rows = await self._embedding.parts(model.path, () if ready.vectors else ready.parts).result
            if ready.vectors is None:
                ready.vectors = PartVectors(rows, self._vector_of)
                self._documents.keep_vectors(held, rows.tobytes(), name)
        except EngineError as error:
            note_error(error)
            ready.vectors = _not_known  # It is not tried again: by words alone, as without a model.
        asyncio.get_running_loop().call_soon(self.follow)

    def _vector_of(self, question: str) -> NDArray[float32] | None:
        return self._asked.get(question.strip())

    def _ask(self) -> None:
        text = self._typed().strip()
        if text and text not in self._asked:
            self._tasks.start(self._learn(text))

    async def _learn(self, text: str) -> None:
        with contextlib.suppress(EngineError):
            while len(self._asked) >= _MOST_ASKED:
                del self._asked[next(iter(self._asked))]
            self._asked[text] = await self._embedding.question(text).result


def _not_known(_question: str) -> tuple[float, ...]:
    return ()
