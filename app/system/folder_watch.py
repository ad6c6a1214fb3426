"""Watch the models folders, so that new models appear and missing ones are noticed."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QSocketNotifier, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication

MOST_FOLDERS = 512
"""The most folders watched below a models folder: a system has few watches to give."""
MOST_FILES = 64
"""The most files watched by themselves, which seem to be being written."""
_DEPTH = 6
_YOUNG_S = 600.0
_FRESH_S = 2.0
_AHEAD_S = 60.0
"""The most seconds that the clock of another computer may be ahead."""
SOON_MS = 400
"""The delay from the first event to the check."""
GROWING_MS = 3_000
"""The interval of checks of a file that is being written, however often it is written to."""
AWAY_MS = 3_000
"""The interval of checks for a missing folder: a disk that comes back is no event."""


def places_to_watch(folder: Path, since: float) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return the folders in which models could appear, and the files that are young enough to be still in the making.

    And whether one of these was being written when it was read (`since`, seconds since 1970) or later: then it may be
    complete by now, and nobody would tell.
    """
    folders: list[str] = []
    files: list[tuple[float, str]] = []
    for path in _walk(os.fspath(folder), 0):
        folders.append(path)
        files += _young(path)
        if len(folders) >= MOST_FOLDERS:
            break
    files.sort(reverse=True)
    latest = datetime.now(UTC).timestamp() + _AHEAD_S
    fresh = any(since - _FRESH_S < changed < latest for changed, _ in files)
    return tuple(folders), tuple(path for _, path in files[:MOST_FILES]), fresh


def is_there(path: Path) -> bool:
    """Return True if there is such a file or folder, and it is readable."""
    try:
        return path.exists()
    except OSError:
        return False


def _inode(path: str | Path) -> tuple[int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return the identity of the folder that a name stands for now; None if it cannot be read."""
    try:
        with os.scandir(folder):
            return _inode(folder)
    except OSError:
        return None


def _around(folder: Path) -> list[str]:
    """Return the folders around it that are there: they tell when one of them is renamed, made or taken away."""
    return [os.fspath(parent) for parent in folder.absolute().parents if _may_read(parent, os.R_OK | os.X_OK)]


def _may_read(path: str | Path, mode: int = os.R_OK) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _walk(folder: str, depth: int) -> Iterator[str]:
    """Return the folder and those in it that can be read.

    For the others, only changes of their parent folders are reported.
    """
    try:
        with os.scandir(folder) as entries:
            below = [entry.path for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    except OSError:
        return
    yield folder
    if depth < _DEPTH:
        for path in below:
            yield from _walk(path, depth + 1)


def _young(folder: str) -> list[tuple[float, str]]:
    now = datetime.now(UTC).timestamp()
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".gguf", ".safetensors")) and _may_read(entry.path):
                    changed = entry.stat().st_mtime
                    if now - changed < _YOUNG_S:
                        found.append((changed, entry.path))
    except OSError:
        return []
    return found


class FolderWatch(QObject):
    """Report events in the folders. Signal: changed(Path), some time after the last event.

    Around each folder the folders that it lies in are watched, and which file systems are mounted (Linux): for what
    happens there only is looked whether the name still stands for the same folder. No timer runs while nothing happens
    and all folders are there.
    """

    changed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._watcher = QFileSystemWatcher(self)
        self._roots: dict[Path, frozenset[str]] = {}
        self._identities: dict[Path, tuple[int, int] | None] = {}
        self._owners: defaultdict[str, set[Path]] = defaultdict(set)
        self._watched: dict[str, tuple[int, int] | None] = {}
        self._stirred: set[Path] = set()
        self._short = QTimer(self, singleShot=True, interval=SOON_MS)
        self._short.timeout.connect(self._tell)
        self._growing = QTimer(self, singleShot=True, interval=GROWING_MS)
        self._growing.timeout.connect(self._tell)
        self._slow = QTimer(self, interval=AWAY_MS)
        self._slow.timeout.connect(self.look)
        self._watcher.directoryChanged.connect(self._stir)
        self._watcher.fileChanged.connect(self._grew)
        self._mounts = _watch_mounts(self)
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.applicationStateChanged.connect(self._came_back)

    def watch(
        self, folder: Path, folders: Iterable[str] = (), files: Iterable[str] = (), *, fresh: bool = False
    ) -> None:
        """Watch these places for a models folder, in place of those before. Without any: it is missing at present.

        `fresh`: something there was written a moment ago, and is to be looked at again.
        """
        inside = frozenset((*folders, *files))
        before = self._roots.get(folder, frozenset())
        wanted = inside.union(_around(folder))
        for path in before - wanted:
            self._owners[path].discard(folder)
        for path in wanted:
            self._owners[path].add(folder)
        self._roots[folder] = wanted
        self._identities[folder] = _identity(folder) if inside else None
        self._settle(before | wanted)
        self._pace()
        if inside and self._identities[folder] is None:  # It went since these places were read.
            self._soon({folder})
        if fresh:
            self._look_again({folder})

    def forget(self, folder: Path) -> None:
        """Watch it no more."""
        before = self._roots.pop(folder, frozenset())
        for path in before:
            self._owners[path].discard(folder)
        self._settle(before)
        self._identities.pop(folder, None)
        self._stirred.discard(folder)
        self._pace()

    def stop(self) -> None:
        """Stop all reports."""
        for folder in list(self._roots):
            self.forget(folder)
        self._short.stop()
        self._growing.stop()
        self._mounts = None

    def look(self) -> None:
        """Return True if each name still stands for the same folder."""
        self._soon(self._others())

    def _others(self) -> set[Path]:
        return {folder for folder, before in self._identities.items() if _identity(folder) != before}

    def _settle(self, paths: frozenset[str]) -> None:
        """Watch those of these places that somebody wants, and no others of them.

        Behind the same name may be another folder by now, of which nobody would tell: that is watched anew. The rest
        stays watched, for what happened since it was read would be lost with the watch.
        """
        held = {*self._watcher.directories(), *self._watcher.files()} & paths
        wanted = {path: _inode(path) for path in paths if self._owners[path]}
        others = [path for path in held if path not in wanted or wanted[path] != self._watched.get(path)]
        if others:
            self._watcher.removePaths(others)
        for path in paths.difference(wanted):
            del self._owners[path]
            self._watched.pop(path, None)
        if anew := [*(wanted.keys() - held), *wanted.keys() & others]:
            self._watcher.addPaths(anew)
        self._watched |= wanted

    def _pace(self) -> None:
        away = None in self._identities.values()
        if away != self._slow.isActive():
            (self._slow.start if away else self._slow.stop)()

    def _stir(self, path: str) -> None:
        """Schedule a check: a folder around ours may change often without concerning us."""
        self._stirred |= {folder for folder in self._owners.get(path, ()) if not _lies_in(folder, path)}
        if not self._short.isActive():
            self._short.start()

    def _grew(self, path: str) -> None:
        """Check a file again that is being written, and watch it again after that."""
        self._watcher.removePath(path)
        self._look_again(self._owners.get(path, set()))

    def _look_again(self, folders: set[Path]) -> None:
        self._stirred |= folders
        if not self._growing.isActive():
            self._growing.start()

    def _soon(self, folders: Iterable[Path]) -> None:
        """Report changes after a delay, since one event is followed by more. The delay begins with the first."""
        stirred = set(folders)
        self._stirred |= stirred
        if stirred and not self._short.isActive():
            self._short.start()

    def _tell(self) -> None:
        stirred, self._stirred = self._stirred | self._others(), set()
        for folder in sorted(stirred):
            if folder in self._roots:
                self.changed.emit(folder)

    def _came_back(self, state: Qt.ApplicationState) -> None:
        """Check all folders when the user comes back: changes on a network are no events."""
        if state == Qt.ApplicationState.ApplicationActive:
            self._soon(self._roots)


def _lies_in(folder: Path, path: str) -> bool:
    """Return True if a models folder lies in another, and is not that one itself."""
    around = Path(path)
    return around != folder and around in folder.absolute().parents


class _Mounts(QObject):
    """Report mounted and unmounted file systems (Linux, proc(5)). Signal: changed()."""

    changed = Signal()

    def __init__(self, handle: int, parent: QObject) -> None:
        super().__init__(parent)
        self._notifier = QSocketNotifier(handle, QSocketNotifier.Type.Exception, self)
        self._notifier.activated.connect(self.changed)
        self.destroyed.connect(lambda: os.close(handle))


def _watch_mounts(watch: FolderWatch) -> _Mounts | None:
    if sys.platform != "linux":
        return None
    try:
        mounts = _Mounts(os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC), watch)
    except OSError:
        return None
    mounts.changed.connect(watch.look)
    return mounts
