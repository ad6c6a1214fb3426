"""Open Compare and the lookahead sweep, and save the pictures of a race."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from PySide6.QtWidgets import QWidget

from app.control.compare import CompareController
from app.settings.settings import Settings
from app.state.compare.animation import Frame
from app.state.compare.compare import CompareKind
from app.views.compare.dialog import RunDialog
from app.views.widgets.theme import Theme
from app.views.window.file_dialogs import ask_where_to_put_picture

if TYPE_CHECKING:
    from app.views.compare.compare import CompareDialog


class CompareWindows(QObject):
    """Compare and the sweep, each created at its first use. Attribute: dialogs (by kind)."""

    def __init__(self, controller: CompareController, theme: Theme, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self.dialogs: dict[CompareKind, RunDialog] = {}
        self._compare: CompareDialog | None = None
        self._controller = controller
        self._theme = theme
        self._settings = settings
        self._window = parent
        controller.changed.connect(self._show_run)
        controller.pair_changed.connect(self._show_pair)
        controller.raced.connect(self._show_race)
        controller.saved.connect(self._tell_saved)

    def open_compare(self) -> None:
        from app.views.compare.compare import CompareDialog  # noqa: PLC0415 - not before it is asked for

        if self._compare is None:
            dialog = self._compare = CompareDialog(self._theme, self._window)
            dialog.race.picture_wanted.connect(self._save_picture)
            dialog.race.animation_wanted.connect(self._save_animation)
            self._connect("compare", dialog)
        self._compare.open_with(self._controller.last_question())

    def open_sweep(self) -> None:
        from app.views.compare.sweep import SweepDialog  # noqa: PLC0415 - with its plot, not before it is asked for

        if "sweep" not in self.dialogs:
            dialog = SweepDialog(self._theme, self._window)
            dialog.lookahead_chosen.connect(self._controller.choose_lookahead)
            self._connect("sweep", dialog)
        self.dialogs["sweep"].open_with(self._controller.last_question())

    def close(self) -> None:
        for dialog in self.dialogs.values():
            dialog.close()

    def _connect(self, kind: CompareKind, dialog: RunDialog) -> None:
        dialog.start_wanted.connect(lambda prompt, settings: self._controller.start(kind, prompt, settings))
        dialog.cancel_wanted.connect(lambda: self._controller.cancel(kind))
        self.dialogs[kind] = dialog
        dialog.show_run(self._controller.runs[kind])
        dialog.show_pair(self._controller.pair)

    def _show_run(self, kind: CompareKind) -> None:
        dialog = self.dialogs.get(kind)
        if dialog is not None:
            dialog.show_run(self._controller.runs[kind])
            dialog.show_pair(self._controller.pair)

    def _show_pair(self) -> None:
        for dialog in self.dialogs.values():
            dialog.show_pair(self._controller.pair)

    # The race ---------------------------------------------------------------------------------------------------------

    def _show_race(self) -> None:
        if self._compare is not None:
            self._compare.show_race()

    def _ask(self, dialog: QWidget, name: str, kinds: str, suffix: str) -> Path | None:
        return ask_where_to_put_picture(dialog, self._settings, name, kinds, suffix)

    def _save_picture(self) -> None:
        dialog = self._compare
        path = None if dialog is None else self._ask(dialog, "race.png", "PNG (*.png)", ".png")
        if dialog is not None and path is not None:
            good = dialog.race.field.picture(None, self._title()).save(str(path))
            dialog.race.tell_saved(
                path, "" if good else QCoreApplication.translate("Proof", "the file cannot be written")
            )

    def _save_animation(self) -> None:
        dialog = self._compare
        kinds = "WebP (*.webp);;GIF (*.gif)"
        path = None if dialog is None else self._ask(dialog, "race.webp", kinds, ".webp")
        if dialog is not None and path is not None:
            dialog.race.animation.setEnabled(False)
            self._collect(path, dialog.race.field.frames(self._title()), [])

    def _collect(self, path: Path, left: Iterator[Frame], frames: list[Frame]) -> None:
        """Paint one frame after the other, so that the window is not held up, then have them written."""
        frame = next(left, None)
        if frame is not None:
            frames.append(frame)
            QTimer.singleShot(0, self, lambda: self._collect(path, left, frames))
        elif frames and self._compare is not None:
            self._controller.save_animation(path, frames, self._compare.race.field.picture_size)

    def _tell_saved(self, path: Path, problem: str) -> None:
        if self._compare is not None:
            self._compare.race.animation.setEnabled(True)
            self._compare.race.tell_saved(path, problem)

    def _title(self) -> str:
        request = self._controller.runs["compare"].request
        return "" if request is None else " ".join(request.prompt.split())
