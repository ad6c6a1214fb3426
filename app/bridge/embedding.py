"""Make vectors of texts with an embedding model: of documents in the background, of a question at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.bridge.job import Job
from app.bridge.worker import Worker
from engine import CancelToken, LoadConfig, ModelNotLoaded, Section, host

if TYPE_CHECKING:
    from numpy import float16, float32
    from numpy.typing import NDArray

    from engine.host import Embedder


class Embedding:
    """Hold the embedding model that was used last. Its methods are called on the Qt thread, but for `close`.

    `worker`: the engine's thread, where documents give way to replies; `counter`: where a question's vector is made.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, worker: Worker, counter: Worker) -> None:
        self._loop, self._worker, self._counter = loop, worker, counter
        self._model: Path | None = None
        self._embedder: Embedder | None = None

    def parts(self, model: Path, parts: Sequence[Section]) -> Job[NDArray[float16]]:
        """Compute the vectors of parts, a row each; of none: only load the model.

        Raises LoadFailed and its kinds, BackendFailure, Cancelled.
        """
        done: list[NDArray[float32]] = []

        def work(cancel: CancelToken) -> NDArray[float16]:
            if self._embedder is None or self._model != model:
                self.close()
                self._embedder, self._model = host.open_embedder(LoadConfig(model), cancel=cancel), model
            return host.vectors_of(parts, self._embedder, cancel, done)

        return self._worker.submit(Job(self._loop, work, background=True))

    def question(self, text: str) -> Job[NDArray[float32]]:
        """Compute the vector of a question. Raises ModelNotLoaded, BackendFailure, BackendClosed, Cancelled."""

        def work(_cancel: CancelToken) -> NDArray[float32]:
            if self._embedder is None:
                raise ModelNotLoaded("target")
            return host.vector_of(text, self._embedder)

        return self._counter.submit(Job(self._loop, work))

    def close(self) -> None:
        """Free the model, on the engine's thread."""
        if self._embedder is not None:
            self._embedder.close()
            self._embedder = None
