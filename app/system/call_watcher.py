"""Listen for the calls of programs that were started second."""

from __future__ import annotations

from PySide6.QtCore import QFileSystemWatcher, QObject, Signal

from app.system.single_instance import Claim


class CallWatcher(QObject):
    """Watch for calls on a claim. Signal: called(Call)."""

    called = Signal(object)

    def __init__(self, claim: Claim) -> None:
        super().__init__()
        self._claim = claim
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(self.look)

    def begin(self) -> None:
        """Begin to listen for calls, and answer the one that came before."""
        if self._claim.lock_file is not None:
            self._watcher.addPath(str(self._claim.lock_file))
            self.look()

    def look(self) -> None:
        """Take the call that is waiting."""
        call = self._claim.take_call()
        if call is not None:
            self.called.emit(call)

    def stop(self) -> None:
        """Stop listening for calls: the store is about to be released."""
        files = self._watcher.files()
        if files:
            self._watcher.removePaths(files)
