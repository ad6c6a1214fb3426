"""Look after the files of the next question: read them aside, and keep them until it is sent."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.state.chat.attachments import MOST, Attachment, NotAttached, plain_name, read_attachment
from app.system.log_file import note_error


class Attachments(QObject):
    """Hold the files of the next question.

    Attributes: attachments (read), pending (names of those that are being read: their disk may be slow).
    Signals: changed(), counted() (their tokens are known), refused(NotAttached).
    """

    changed = Signal()
    counted = Signal()
    refused = Signal(object)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.attachments: tuple[Attachment, ...] = ()
        self.pending: tuple[str, ...] = ()
        self._loop = loop
        self._reading: list[object] = []
        self._last: tuple[Attachment, ...] = ()

    def add(self, paths: Sequence[Path]) -> None:
        """Let these files go with the question, as far as they can be read as text."""
        room = MOST - len(self.attachments) - len(self.pending)
        for path in paths[:room]:
            self._read(path)
        for path in paths[room : room + 1]:
            self.refused.emit(NotAttached(plain_name(path.name), "many", str(MOST)))

    def remove(self, place: int) -> None:
        """Leave one out, by its number; those that are still being read come after the others."""
        if place < len(self.attachments):
            self.attachments = self.attachments[:place] + self.attachments[place + 1 :]
        elif place - len(self.attachments) < len(self._reading):
            self._forget(self._reading[place - len(self.attachments)])
        self.changed.emit()

    def sent(self) -> None:
        """Clear the files: the question is on its way, and the next one begins without any."""
        self._last = self.attachments
        self._clear()

    def bring_back(self) -> None:
        """Bring back the files of the last question, together with its words."""
        if not self.attachments and self._last:
            self.attachments = self._last
            self.changed.emit()

    def note_tokens(self, counts: Mapping[str, int]) -> None:
        """Note how many tokens these texts have."""
        known = tuple(
            each.counted(counts[each.block]) if each.tokens is None and each.block in counts else each
            for each in self.attachments
        )
        if known != self.attachments:
            self.attachments = known
            self.counted.emit()

    def forget_tokens(self) -> None:
        """Forget the token counts: another model has other tokens."""
        self.attachments = tuple(Attachment(each.name, each.text) for each in self.attachments)

    def stop(self) -> None:
        """Drop the files that are still being read; nobody waits for them."""
        self._reading.clear()

    def _clear(self) -> None:
        self.attachments, self.pending = (), ()
        self._reading.clear()
        self.changed.emit()

    def _read(self, path: Path) -> None:
        mark = object()
        self._reading.append(mark)
        self.pending = (*self.pending, plain_name(path.name))
        self.changed.emit()

        def work() -> None:
            found: Attachment | NotAttached
            try:
                found = read_attachment(path)
            except NotAttached as refusal:
                found = refusal
            except Exception as error:  # noqa: BLE001 - a chip that waits for ever would be worse
                note_error(error)
                found = NotAttached(plain_name(path.name), "unreadable")
            # The loop may be closed when a slow disk answers at last.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._done, mark, found)

        threading.Thread(target=work, name="outrider-file", daemon=True).start()

    def _done(self, mark: object, found: Attachment | NotAttached) -> None:
        if mark not in self._reading:
            return
        self._forget(mark)
        if isinstance(found, NotAttached):
            self.refused.emit(found)
        elif all((found.name, found.text) != (each.name, each.text) for each in self.attachments):
            self.attachments = (*self.attachments, found)
        self.changed.emit()

    def _forget(self, mark: object) -> None:
        place = self._reading.index(mark)
        del self._reading[place]
        self.pending = self.pending[:place] + self.pending[place + 1 :]
