"""Open the library and the options of a model, and connect them with the controller of the models."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.control.models import ModelController
from app.state.chat.activity import Activity
from app.state.models.load_options import LoadChoice
from app.state.models.targets import Target
from app.system.translation import say_error
from app.views.widgets.notices import LoadNotice
from app.views.widgets.theme import Theme
from app.views.window.file_dialogs import ask_for_models_folder
from app.views.window.file_drops import FileDrops

if TYPE_CHECKING:
    from app.views.models.library import LibraryDialog
    from app.views.models.options import ModelOptionsDialog


class LibraryWindows(QObject):
    """Hold the library window, which is made on first use.

    Attributes: library, options (the one that is open). Signals: dropped(Dropped) (onto the library), foreign(),
    chats_wanted() (the settings of chats with the chosen target).
    """

    chats_wanted = Signal()
    dropped = Signal(object)
    foreign = Signal()

    def __init__(
        self, models: ModelController, activity: Callable[[], Activity], theme: Theme, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.library: LibraryDialog | None = None
        self.options: ModelOptionsDialog | None = None
        self._models = models
        self._activity = activity
        self._theme = theme
        self._window = parent
        self._announced = ""
        for changed in (models.list_changed, models.selection_changed, models.loaded_changed):
            changed.connect(self._refresh)
        models.announce.connect(self._announce)

    def open_library(self) -> None:
        self._models.note_memory()
        if self.library is None:
            self.library = self._make_library()
        self.library.open()

    def add_folder(self) -> None:
        """Ask the user for another models folder."""
        folders = self._models.list.folders
        shown = self.library if self.library is not None and self.library.isVisible() else self._window
        folder = ask_for_models_folder(shown, folders[-1] if folders else None)
        if folder is not None:
            self._models.add_folder(folder)

    def open_options(self, path: Target | None) -> None:
        from app.views.models.options import ModelOptionsDialog  # noqa: PLC0415 - not before it is asked for

        models = self._models.list
        model = models.by_path(path)
        if model is None or not model.usable:
            return
        shown = self.library if self.library is not None and self.library.isVisible() else self._window
        variables = self._models.settings.template_variables.get(str(model.path), {})
        options = models.options(model.path)
        dialog = ModelOptionsDialog(model, options, models.free, self._theme, shown, variables=variables)
        dialog.chosen.connect(lambda options: self._set_options(model.path, options))
        dialog.variables_chosen.connect(lambda values: self._models.set_variables(model.path, values))
        dialog.template.wanted.connect(lambda text: self._find_names(dialog, model.path, text))
        dialog.chats.setVisible(models.selection.target == model.path)
        dialog.chats_wanted.connect(self.chats_wanted)
        dialog.template.ask()
        if self.options is not None:
            self.options.close()
        self.options = dialog
        dialog.destroyed.connect(lambda: self._forget(dialog))
        dialog.show()

    def _find_names(self, dialog: ModelOptionsDialog, path: Path, text: str) -> None:
        """Show the variables of a template in the dialog."""

        def show(done: Future[tuple[str, tuple[str, ...]]]) -> None:
            error = None if done.cancelled() else done.exception()
            if done.cancelled() or self.options is not dialog or text != dialog.template.template.toPlainText():
                return
            if error is not None:
                dialog.template.show_names("", (), say_error(error))
            else:
                dialog.template.show_names(*done.result(), "")

        self._models.read_template(path, text).result.add_done_callback(show)

    def show_activity(self) -> None:
        """Show that something began or goes on."""
        if self.library is not None and self.library.isVisible():
            self.library.show_activity(self._activity())

    def close(self) -> None:
        for dialog in (self.options, self.library):
            if dialog is not None:
                dialog.close()

    def connect_notice(self, notice: LoadNotice) -> None:
        """Announce there too, and hear the answer."""
        self._models.announce.connect(notice.announce)
        notice.accepted.connect(self._models.load_anyway)
        notice.declined.connect(self._models.decline_load)

    def _make_library(self) -> LibraryDialog:
        from app.views.models.library import LibraryDialog  # noqa: PLC0415 - not before it is asked for

        library, models = LibraryDialog(self._theme, self._window), self._models
        library.shown.connect(self._fill)
        library.target_wanted.connect(models.choose_target)
        library.draft_wanted.connect(models.choose_draft)
        library.options_wanted.connect(self.open_options)
        library.load_wanted.connect(models.load_now)
        library.unload_wanted.connect(models.unload)
        library.favourite_wanted.connect(models.set_favourite)
        library.cancel_wanted.connect(models.cancel)
        library.folders.add_wanted.connect(self.add_folder)
        library.folders.remove_wanted.connect(models.remove_folder)
        self.connect_notice(library.announcement)
        drops = FileDrops(library, library.search)
        drops.dropped.connect(self.dropped)
        drops.foreign.connect(self.foreign)
        library.announcement.announce(self._announced)
        return library

    def _announce(self, words: str) -> None:
        self._announced = words

    def _set_options(self, path: Path, options: LoadChoice) -> None:
        self._models.set_options(path, options)

    def _refresh(self) -> None:
        """Fill the visible dialog; others are filled when they are opened."""
        if self.library is not None and self.library.isVisible():
            self._fill()

    def _fill(self) -> None:
        if self.library is not None:
            models = self._models.list
            self.library.show_library(self._models.library.rows(), models.folders, models.away)
            self.library.show_activity(self._activity())

    def _forget(self, dialog: QObject) -> None:
        if self.options is dialog:
            self.options = None
