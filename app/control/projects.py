"""Manage the settings of projects for their chats: models, files, and folders whose files they follow."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.control.choices import Choices
from app.control.conversations import ConversationController
from app.control.documents import ChatDocuments
from app.control.models import ModelController
from app.state.chat.attachments import plain_name
from app.state.chat.documents import TEXTS
from app.state.chat.stored_documents import StoredDocument
from app.state.conversations.conversation import Conversation
from app.state.models.selection import Selection
from app.state.settings.project import ProjectChoice
from app.store.conversations import ConversationStore
from app.store.errors import StoreError
from app.system.folder_watch import FolderWatch, is_there
from app.system.translation import say
from engine import DocumentRefused, Translatable, read_document

MOST_FILES, MOST_BYTES = 300, 256 * 2**20
"""Files that are read of one folder, and their size together."""
_LOOKED_AT = 20_000
_FLUSH_S = 2.0
_MOST_NAMED = 3
Stamps = dict[str, tuple[int, int]]
"""A file's last change in nanoseconds and its size, by name."""
Refused = list[tuple[str, str]]
"""Names of files that were not read, with the reasons."""


@dataclass(slots=True)
class FilesIn:
    """List the contents of a folder: its folders, its files by name, and the stamps of all.

    `refused`: files that cannot be read, and why; `left_out`: how many are too many.
    """

    folders: list[str]
    paths: dict[str, Path]
    stamps: Stamps
    refused: Refused
    left_out: int = 0


class Projects(QObject):
    """Apply a project to its chat on the screen, and change its settings.

    While a chat of a project with its own models is on the screen, a selection applies to the project; afterwards the
    earlier selection is restored. Its folder is read when one of its chats is opened, and then on each change.
    Signals: files_changed(project), reported(text) (unreadable or missing files).
    """

    files_changed = Signal(int)
    reported = Signal(str)

    def __init__(
        self, conversations: ConversationController, models: ModelController, choices: Choices, documents: ChatDocuments
    ) -> None:
        super().__init__()
        self._conversations, self._models, self._documents = conversations, models, documents
        self._choices = choices
        self._general: Selection | None = None
        self._folder: Path | None = None
        self._reported = ""
        self._reading = False
        self._again = False
        self._watch = FolderWatch(self)
        self._watch.changed.connect(lambda _folder: self._look())
        conversations.open_changed.connect(self._follow)
        conversations.project_changed.connect(self._changed)

    def stop(self) -> None:
        """Watch nothing more, at the end of the program."""
        self._folder = None
        self._watch.stop()

    @staticmethod
    def choice_of(project: Conversation | None) -> ProjectChoice:
        return ProjectChoice() if project is None else ProjectChoice.from_mapping(project.settings)

    def _changed(self, project: int) -> None:
        shown = self._conversations.project
        if shown is not None and shown.id == project:
            self._choices.read_again()
            self._follow()

    def _follow(self) -> None:
        choice = self.choice_of(self._conversations.project)
        self._use_models(choice)
        folder = Path(choice.folder) if choice.folder else None
        if folder != self._folder:
            if self._folder is not None:
                self._watch.forget(self._folder)
            self._folder = folder
            self._look()

    # Models -----------------------------------------------------------------------------------------------------------

    def _use_models(self, choice: ProjectChoice) -> None:
        models = self._models
        wanted = choice.selection(models.list.selection, models.list.servers)
        if wanted is not None and isinstance(wanted.target, Path) and not is_there(wanted.target):
            text = self.tr("{model}, the model of this project, is not there. Its chats use the one that is chosen.")
            self._note(text.format(model=models.name_of(wanted.target)))
            wanted = None
        if wanted is not None:
            self._general = self._general or models.list.selection
            models.keep_elsewhere = self._keep_models
            models.use(wanted)
        elif self._general is not None:
            general, self._general = self._general, None
            models.keep_elsewhere = None
            models.use(general)

    def _keep_models(self, chosen: Selection) -> None:
        project = self._conversations.project
        if project is not None:
            choice = self.choice_of(project).with_models(chosen)
            self._conversations.change_project(project.id, project.title, choice)

    def change(self, project: Conversation, title: str, instructions: str, *, own_models: bool) -> None:
        """Set a project's title and instructions, and the selected models for its chats, or none of its own."""
        choice = replace(self.choice_of(project), instructions=instructions)
        if own_models != bool(choice.target):
            choice = choice.with_models(self._models.list.selection if own_models else None)
        self._conversations.change_project(project.id, title, choice)

    def model_words(self, project: Conversation) -> str:
        """Return the names of the models of a project, or of those that would be its own."""
        models = self._models
        chosen = models.list.selection
        chosen = self.choice_of(project).selection(chosen, models.list.servers) or chosen
        return " + ".join(filter(None, (models.name_of(chosen.target), models.name_of_drafts(chosen.files))))

    # Files ------------------------------------------------------------------------------------------------------------

    def file_names(self, project: Conversation) -> list[str]:
        try:
            return self._conversations.store.document_names(project)
        except StoreError:
            return []

    def add_files(self, project: Conversation, paths: Sequence[Path]) -> None:
        """Add files to a project, read on a thread."""
        store = self._conversations.store
        wanted = {plain_name(path.name): path for path in paths}

        def work() -> Refused:
            return _read(store, project, wanted, lambda: True)

        def done(refused: Refused | None) -> None:
            self._tell_refused(refused or [])
            self._files_changed(project)

        self._documents.aside(work, done)

    def remove_file(self, project: Conversation, name: str) -> None:
        """Remove a file from a project. One in its folder stays out until it is changed there."""
        store = self._conversations.store
        store.delete_document(project, name)
        self._documents.aside(lambda: store.writer.flush(_FLUSH_S), lambda _: self._files_changed(project))

    def set_folder(self, project: Conversation, folder: str) -> None:
        """Set the folder whose files a project follows; "": none. Files of the previous folder are removed."""
        choice = replace(self.choice_of(project), folder=folder)
        if not folder:
            for name in choice.files:
                self._conversations.store.delete_document(project, name)
            choice = replace(choice, files={})
            store = self._conversations.store
            self._documents.aside(lambda: store.writer.flush(_FLUSH_S), lambda _: self._files_changed(project))
        self._conversations.change_project(project.id, project.title, choice)

    def _files_changed(self, project: Conversation) -> None:
        self._documents.share_again(project)
        self.files_changed.emit(project.id)

    def _look(self) -> None:
        """Synchronise the files of the project on the screen with its folder, on a thread."""
        project, folder = self._conversations.project, self._folder
        if project is None or folder is None:
            return
        if self._reading:
            self._again = True
            return
        self._reading, self._again = True, False
        store, known = self._conversations.store, dict(self.choice_of(project).files)

        def work() -> FilesIn | None:
            found = files_in(folder)
            if found is not None:
                fresh = {name: path for name, path in found.paths.items() if known.get(name) != found.stamps[name]}
                found.refused = _read(store, project, fresh, lambda: self._folder == folder)
                for name in known.keys() - found.stamps.keys():
                    store.delete_document(project, name)
                store.writer.flush(_FLUSH_S)
            return found

        self._documents.aside(work, lambda found: self._looked(project, folder, known, found))

    def _looked(self, project: Conversation, folder: Path, known: Mapping[str, object], found: FilesIn | None) -> None:
        self._reading = False
        if found is None:
            self._note(self.tr("The folder {folder} of this project is not there.").format(folder=folder))
        if self._folder == folder:
            self._watch.watch(folder, *(() if found is None else (found.folders, map(str, found.paths.values()))))
        if found is not None and self._folder == folder and found.stamps != known:
            choice = replace(self.choice_of(project), files=found.stamps)
            self._conversations.change_project(project.id, project.title, choice)
            self._files_changed(project)
            left_out = Translatable("too many or too large together")
            more = [(self.tr("%n file(s) more", "", found.left_out), left_out)] if found.left_out else []
            self._tell_refused([*found.refused, *more])
        if self._again or self._folder != folder:
            self._look()

    def _tell_refused(self, refused: Refused) -> None:
        if refused:
            named = "; ".join(f"{name} ({say(reason)})" for name, reason in refused[:_MOST_NAMED])
            self._note(self.tr("Not read: {files}").format(files=named + (" …" if refused[_MOST_NAMED:] else "")))

    def _note(self, text: str) -> None:
        if text != self._reported:
            self._reported = text
            self.reported.emit(text)


def files_in(folder: Path) -> FilesIn | None:
    """Return the files in a folder and below that may be documents; None if there is no such folder.

    No links are followed; what is hidden is left out.
    """
    if not folder.is_dir():
        return None
    found, size, seen = FilesIn([], {}, {}, []), 0, 0
    for where, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        found.folders.append(where)
        for each in sorted(names):
            path = Path(where, each)
            seen += 1
            if each.startswith(".") or path.suffix.lower() not in TEXTS:
                continue
            try:
                status = path.lstat()
            except OSError:
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            size += status.st_size
            if len(found.paths) >= MOST_FILES or size > MOST_BYTES:
                size -= status.st_size
                found.left_out += 1
                continue
            name = plain_name(path.relative_to(folder).as_posix())
            found.paths[name], found.stamps[name] = path, (status.st_mtime_ns, status.st_size)
        if seen > _LOOKED_AT:
            break
    return found


def _read(
    store: ConversationStore, project: Conversation, paths: Mapping[str, Path], wanted: Callable[[], bool]
) -> Refused:
    """Read files and keep them with a project, while they are `wanted`; return those that cannot be read."""
    refused: Refused = []
    for name, path in paths.items():
        if not wanted():
            break
        try:
            document = read_document(path, name)
            source = path.read_bytes() if document.kind == "PDF" else b""
            store.save_document(project, StoredDocument.of(document, source))
        except DocumentRefused as error:
            refused.append((name, error.reason))
        except OSError as error:
            refused.append((name, error.strerror or ""))
    store.writer.flush(_FLUSH_S)
    return refused
