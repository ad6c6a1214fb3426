"""Manage the files of the next question: read them aside, and keep them until it is sent."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.state.chat.attachments import MOST, Attachment, NotAttached, plain_name
from app.state.chat.documents import attached, read_data, read_file
from app.state.chat.stored_documents import ChatDocument
from app.system.log_file import note_error


@dataclass(slots=True, eq=False)
class _File:
    """Hold a chosen file in its place in the list. `found`: None while it is being read."""

    name: str
    chat: object
    found: Attachment | None = None


class Attachments(QObject):
    """Hold the files of the next question of the chat on the screen, in the order in which they were chosen.

    Attributes: own_name (gives a document a name that is unique in its chat), sees (whether the model sees).
    Signals: changed(), adding() (others are about to be read), counted() (their tokens are known),
    removed(Attachment), partly_read(Attachment), refused(NotAttached), came_late(chat, Attachment) (another chat is on
    the screen by now).
    """

    changed = Signal()
    adding = Signal()
    counted = Signal()
    refused = Signal(object)
    removed = Signal(object)
    partly_read = Signal(object)
    came_late = Signal(object, object)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.own_name: Callable[[object, ChatDocument], ChatDocument] = lambda _chat, held: held
        self.sees: Callable[[], bool] = lambda: False
        self._chat: object = None
        self._files: list[_File] = []
        self._reading: list[_File] = []
        self._last: tuple[Attachment, ...] = ()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Return the files that are read."""
        return tuple(each.found for each in self._files if each.found is not None)

    @property
    def pending(self) -> tuple[str, ...]:
        """Return the names of those that are being read: their disk may be slow."""
        return tuple(each.name for each in self._files if each.found is None)

    def add(self, paths: Sequence[Path]) -> None:
        """Attach these files to the question, as far as they can be read as text."""
        self.adding.emit()
        room, sees = MOST - len(self._files), self.sees()
        for path in paths[:room]:
            self._read(plain_name(path.name), partial(read_file, path, sees=sees))
        self.changed.emit()
        for path in paths[room : room + 1]:
            self.refused.emit(NotAttached(plain_name(path.name), "many", str(MOST)))

    def add_picture(self, data: bytes, name: str) -> None:
        """Attach a picture that is no file, such as a copied one."""
        self.adding.emit()
        if len(self._files) < MOST:
            self._read(name, partial(read_data, data, name))
            self.changed.emit()
        else:
            self.refused.emit(NotAttached(name, "many", str(MOST)))

    def remove(self, place: int) -> None:
        """Leave one out, by its number; those that are still being read come after the others."""
        shown = sorted(self._files, key=lambda each: each.found is None)
        if place < len(shown):
            self._files.remove(shown[place])
            if shown[place] in self._reading:
                self._reading.remove(shown[place])
            if (found := shown[place].found) is not None:
                self.removed.emit(found)
        self.changed.emit()

    def show(self, chat: object, files: Sequence[Attachment]) -> None:
        """Show the files of another chat; those still being read for the last one are delivered when they come."""
        self._chat = chat
        self._files = [_File(each.name, chat, each) for each in files]
        self._files += [each for each in self._reading if each.chat is chat]
        self.changed.emit()

    def hold(self, held: Mapping[str, ChatDocument]) -> None:
        """Hold these documents of the chat where files are known by their names alone: drafts that come back."""
        for each in self._files:
            if each.found is not None and each.found.held is None and each.name in held:
                each.found = attached(held[each.name]).counted(each.found.tokens)
        self.changed.emit()

    def follow(self, chat: object) -> None:
        """Hold these files for this chat from now on."""
        self._chat = chat
        for each in self._files:
            each.chat = chat

    def sent(self) -> None:
        """Clear the files: the question is on its way, and the next one begins without any."""
        self._last = self.attachments
        self._files.clear()
        self.changed.emit()

    def bring_back(self) -> None:
        """Restore the files of the last question, together with its words."""
        if not self._files and self._last:
            self.show(self._chat, self._last)

    def note_tokens(self, counts: Mapping[str, int]) -> None:
        known = False
        for each in self._files:
            if each.found is not None and each.found.tokens is None and each.found.block in counts:
                each.found, known = each.found.counted(counts[each.found.block]), True
        if known:
            self.counted.emit()

    def forget_tokens(self) -> None:
        """Forget the token counts: another model has other tokens."""
        for each in self._files:
            if each.found is not None:
                each.found = each.found.counted(None)

    def stop(self) -> None:
        """Drop the files that are still being read; nobody waits for them."""
        self._reading.clear()

    def _read(self, name: str, read: Callable[[], Attachment]) -> None:
        file = _File(name, self._chat)
        self._reading.append(file)
        self._files.append(file)

        def work() -> None:
            found: Attachment | NotAttached
            try:
                found = read()
            except NotAttached as refusal:
                found = refusal
            except Exception as error:  # noqa: BLE001 - a chip that waits for ever would be worse
                note_error(error)
                found = NotAttached(file.name, "unreadable")
            # The loop may be closed when a slow disk answers at last.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._done, file, found)

        threading.Thread(target=work, name="outrider-file", daemon=True).start()

    def _done(self, file: _File, found: Attachment | NotAttached) -> None:
        if file not in self._reading:
            return
        self._reading.remove(file)
        if isinstance(found, Attachment) and found.held is not None:
            found = attached(self.own_name(file.chat, found.held))
        if isinstance(found, NotAttached):
            self.refused.emit(found)
            self._take_instead(file, found)
        elif file not in self._files:
            self.came_late.emit(file.chat, found)
            return
        known = [(each.name, each.text) for each in self.attachments]
        if isinstance(found, NotAttached) or (found.name, found.text) in known:
            self._files = [each for each in self._files if each is not file]
        else:
            file.found = found
            file.name = found.name
            if found.held is not None and found.held.document.notes:
                self.partly_read.emit(found)
        self.changed.emit()

    def _take_instead(self, file: _File, refused: NotAttached) -> None:
        """Insert the substitutes of a refused file in its place, within the room."""
        if file in self._files:
            place = self._files.index(file)
            room = MOST - len(self._files) + 1
            self._files[place + 1 : place + 1] = [_File(each.name, file.chat, each) for each in refused.instead[:room]]
