"""Download files from a hub: choose them, skip those that are here already, transfer the rest."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.cancel import CancelToken
from engine.errors import DownloadFailed, OtherFileHere
from engine.hub.hubs import Hub
from engine.hub.hugging_face import HubFile, Repository
from engine.hub.names import path_inside
from engine.hub.partial import bytes_here, check_room, trouble
from engine.hub.transfer import DownloadProgress, Note, Origin, SpeedLimit, Transfer
from engine.hub.wanted import Wanted, chosen_files

_SPARE = 2**24
"""Bytes that stay free on a disk."""
_PIECE = 2**20


@dataclass(frozen=True, slots=True)
class GotFile:
    """Describe a downloaded file. `already`: it was here; `sha256`: None if the hub gives none."""

    path: Path
    size: int
    sha256: str | None
    already: bool


@dataclass(frozen=True, slots=True)
class Manner:
    """Configure a download. `at_once`: files in parallel; `replace`: also a file that has the name by now."""

    progress: Callable[[DownloadProgress], None] | None = None
    note: Note | None = None
    limit: SpeedLimit | None = None
    replace: bool = False
    at_once: int = 2


@dataclass(frozen=True, slots=True)
class Order:
    """Hold the files of a repository that are to be brought."""

    repository: Repository
    files: tuple[HubFile, ...]

    @property
    def size(self) -> int:
        """Return the bytes of all files, as far as they are known."""
        return sum(file.size or 0 for file in self.files)


def order(hub: Hub, wanted: Wanted, cancel: CancelToken) -> Order:
    """Return the files that are meant. Raises InvalidRequest, DownloadFailed, Cancelled."""
    repository = hub.repository(wanted.repository, cancel)
    return Order(repository, chosen_files(repository, wanted))


def get(hub: Hub, ordered: Order, folder: Path, cancel: CancelToken, manner: Manner) -> tuple[GotFile, ...]:
    """Download the files of an order into a folder; existing ones stay.

    Raises DownloadFailed, Cancelled. Then files that came whole are there, and what came of others is kept apart.
    """
    places = [path_inside(folder, file.path) for file in ordered.files]
    there = [is_here(path, file, cancel) for path, file in zip(places, ordered.files, strict=True)]
    for path, same in zip(places, there, strict=True):
        if same is False and not manner.replace:
            raise OtherFileHere(folder, path.name)
    missing = [file for file, same in zip(ordered.files, there, strict=True) if not same]
    if missing:
        make_folder(folder)
        come = sum(bytes_here(folder, path_inside(folder, file.path)) for file in missing)
        check_room(folder, sum(file.size or 0 for file in missing) - come + _SPARE)
    jobs = [_transfer(hub, ordered.repository, file, folder, cancel, manner) for file in missing]
    _run(jobs, manner.at_once, cancel)
    return tuple(
        GotFile(path, _size(path), file.sha256, already=bool(same))
        for path, file, same in zip(places, ordered.files, there, strict=True)
    )


def _transfer(
    hub: Hub, repository: Repository, file: HubFile, folder: Path, cancel: CancelToken, manner: Manner
) -> Transfer:
    def source(repository: Repository, file: HubFile) -> Origin:
        identity = f"{hub.address}/{repository.name}/{file.path}"
        url = hub.file_address(repository, file.path)
        return Origin(file.path, url, identity, file.size, file.sha256, file.blob)

    def renew() -> Origin:
        again = hub.repository(repository.name, cancel)
        found = next((each for each in again.files if each.path == file.path), None)
        if found is None:
            raise DownloadFailed("{repository} has no {name} any more.", repository=again.name, name=file.path)
        return source(again, found)

    return Transfer(
        source(repository, file), folder, hub.web, cancel, manner.progress, renew, manner.note, manner.limit
    )


def _run(jobs: Sequence[Transfer], at_once: int, cancel: CancelToken) -> None:
    """Run transfers, some at once. The first error ends all of them."""
    waiting = list(reversed(jobs))
    errors: list[BaseException] = []
    stop = CancelToken()

    def work() -> None:
        while waiting and not errors:
            try:
                job = waiting.pop()
                job.cancel = stop
                job.run()
            except IndexError:
                return
            except BaseException as error:  # noqa: BLE001 - carried over to the one who waits
                errors.append(error)
                stop.cancel()

    threads = [threading.Thread(target=work, name="outrider-get", daemon=True) for _ in jobs[: max(at_once, 1)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.05)
            if cancel.cancelled:
                stop.cancel()
    if errors:
        raise errors[0]


def is_here(path: Path, file: HubFile, cancel: CancelToken) -> bool | None:
    """Return True if a file here equals the hub's; None: there is no file of this name."""
    if not path.exists():
        return None
    try:
        size = path.stat().st_size
        if not path.is_file() or (file.size is not None and size != file.size):
            return False
        if file.sha256 is None and file.blob is None:
            return True
        digest = hashlib.sha256() if file.sha256 else hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        with path.open("rb") as data:
            while piece := data.read(_PIECE):
                cancel.check("The download")
                digest.update(piece)
        return digest.hexdigest() == (file.sha256 or file.blob)
    except OSError as error:
        raise trouble(path.parent, error) from None


def make_folder(folder: Path) -> None:
    """Make the folder where models go. Raises DownloadFailed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise trouble(folder, error) from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
