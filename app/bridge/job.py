"""Define the jobs of the engine's thread, and the data that they take and return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, cast

from app.state.models.load_options import AS_THE_ENGINE_DOES, LoadChoice
from engine import Cancelled, CancelToken, ModelFile

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FolderListing:
    """Hold the contents of a model folder, and the folders and files to watch for changes (app.system.folder_watch).

    `fresh`: one of the files was being written, and is to be looked at again.
    """

    models: tuple[ModelFile, ...]
    folders: tuple[str, ...]
    files: tuple[str, ...]
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class LoadWay:
    """Hold the load options of models, by their paths. `despite_memory`: load although memory seems too short."""

    options: tuple[tuple[Path, LoadChoice], ...] = ()
    despite_memory: bool = False

    def of(self, path: Path) -> LoadChoice:
        return dict(self.options).get(path, AS_THE_ENGINE_DOES)


AS_ASKED = LoadWay()


class Job(Generic[T]):
    """Hold a piece of work for the worker thread. `await job.result` returns its result or raises its error."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, work: Callable[[CancelToken], T], *, background: bool = False
    ) -> None:
        self.result: asyncio.Future[T] = loop.create_future()
        self.background = background
        self.cancelled = False
        self.withdraw: Callable[[], None] = lambda: None
        self._work = work
        self._token = CancelToken()

    def cancel(self) -> None:
        """Stop at the next step: the result is then the error Cancelled, or the reply so far.

        It is never lost: the engine forgets a token's request when it has met it, this job does not.
        """
        self.cancelled = True
        self._token.cancel()
        self.withdraw()

    def make_way(self) -> None:
        """Stop for now (background jobs); the worker will begin it again."""
        self._token.cancel()

    def wait_again(self) -> None:
        """Wait for the next turn after making way for another job."""
        self._token.clear()

    def run(self) -> T:
        """Do the work (on the worker thread)."""
        if self.cancelled:
            raise Cancelled
        return self._work(self._token)

    def settle(self, result: T | None, error: BaseException | None) -> None:
        """Set the result or the error of the job (on the loop's thread)."""
        if self.result.done():
            return
        if error is None:
            self.result.set_result(cast("T", result))
            return
        self.result.set_exception(error)
        if isinstance(error, Cancelled):
            # It was asked for: where nobody waits any more it is no failure that went unseen, to be logged.
            self.result.exception()
