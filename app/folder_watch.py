"""Watches the models folders, so that what is new there appears and what is gone is noticed."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication

MOST_FOLDERS = 512
"""So many folders are watched below a models folder: a system has few watches to give."""
MOST_FILES = 64
"""So many files that are being written, as it seems, are watched themselves."""
_DEPTH = 6
_YOUNG_S = 600.0
QUIET_MS = 400
"""Nothing more happened for so long: then it is worth a look."""
AWAY_MS = 3_000
"""How often is looked for a folder that is not there: the coming of a disk is no event."""


def places_to_watch(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders in which models could appear, and the files that are young enough to be still in the making.

    Of a folder that is not there the nearest one around it, in which it could appear.
    """
    root = os.fspath(folder)
    if not Path(root).is_dir():
        return (_nearest(root),), ()
    folders: list[str] = []
    files: list[tuple[float, str]] = []
    for path in _walk(root, 0):
        folders.append(path)
        files += _young(path)
        if len(folders) >= MOST_FOLDERS:
            break
    files.sort(reverse=True)
    return tuple(folders), tuple(path for _, path in files[:MOST_FILES])


def _nearest(path: str) -> str:
    while not os.path.isdir(path) and os.path.dirname(path) != path:  # noqa: PTH112, PTH120 - no error for odd ones
        path = os.path.dirname(path)  # noqa: PTH120
    return path


def _walk(folder: str, depth: int) -> Iterator[str]:
    yield folder
    if depth >= _DEPTH:
        return
    try:
        with os.scandir(folder) as entries:
            below = [entry.path for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    except OSError:
        return
    for path in below:
        yield from _walk(path, depth + 1)


def _young(folder: str) -> list[tuple[float, str]]:
    now = datetime.now(UTC).timestamp()
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".gguf", ".safetensors")):
                    changed = entry.stat().st_mtime
                    if now - changed < _YOUNG_S:
                        found.append((changed, entry.path))
    except OSError:
        return []
    return found


class FolderWatch(QObject):
    """Says when something happens in one of the folders. Signal: changed(Path), some time after the last event.

    No timer runs while nothing happens and all folders are there.
    """

    changed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._watcher = QFileSystemWatcher(self)
        self._roots: dict[Path, frozenset[str]] = {}
        self._owners: defaultdict[str, set[Path]] = defaultdict(set)
        self._away: set[Path] = set()
        self._stirred: set[Path] = set()
        self._quiet = QTimer(self, singleShot=True, interval=QUIET_MS)
        self._quiet.timeout.connect(self._tell)
        self._slow = QTimer(self, interval=AWAY_MS)
        self._slow.timeout.connect(self._look_for_lost)
        self._watcher.directoryChanged.connect(self._stir)
        self._watcher.fileChanged.connect(self._stir)
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.applicationStateChanged.connect(self._came_back)

    def watch(self, folder: Path, folders: Iterable[str], files: Iterable[str], *, away: bool = False) -> None:
        """Watch these places for a models folder, in place of those before. `away`: it is not there at present."""
        wanted = frozenset((*folders, *files))
        before = self._roots.get(folder, frozenset())
        for path in before - wanted:
            self._owners[path].discard(folder)
        for path in wanted:
            self._owners[path].add(folder)
        self._roots[folder] = wanted
        self._settle(before | wanted)
        (self._away.add if away else self._away.discard)(folder)
        self._pace()

    def forget(self, folder: Path) -> None:
        """Watch it no more."""
        before = self._roots.pop(folder, frozenset())
        for path in before:
            self._owners[path].discard(folder)
        self._settle(before)
        self._away.discard(folder)
        self._stirred.discard(folder)
        self._pace()

    def stop(self) -> None:
        """Say nothing more."""
        for folder in list(self._roots):
            self.forget(folder)
        self._quiet.stop()

    def _settle(self, paths: Iterable[str]) -> None:
        """Watch those of these places that somebody wants, and no others of them."""
        held = {*self._watcher.directories(), *self._watcher.files()}
        gone = [path for path in paths if not self._owners[path] and path in held]
        new = [path for path in paths if self._owners[path] and path not in held]
        for path in paths:
            if not self._owners[path]:
                del self._owners[path]
        if gone:
            self._watcher.removePaths(gone)
        if new:
            self._watcher.addPaths(new)

    def _pace(self) -> None:
        if self._away and not self._slow.isActive():
            self._slow.start()
        elif not self._away:
            self._slow.stop()

    def _stir(self, path: str) -> None:
        self._stirred |= self._owners.get(path, set())
        self._quiet.start()

    def _tell(self) -> None:
        stirred, self._stirred = self._stirred, set()
        for folder in sorted(stirred):
            if folder in self._roots:
                self.changed.emit(folder)

    def _look_for_lost(self) -> None:
        """Ask about those that are away only where they seem to be back: a mount is no event that is told."""
        for folder in self._away:
            if os.access(folder, os.R_OK | os.X_OK):
                self._stirred.add(folder)
        if self._stirred and not self._quiet.isActive():
            self._tell()

    def _came_back(self, state: Qt.ApplicationState) -> None:
        """The user has been elsewhere: what happened there on a network is told by nobody."""
        if state == Qt.ApplicationState.ApplicationActive and self._roots:
            self._stirred |= set(self._roots)
            self._quiet.start()
