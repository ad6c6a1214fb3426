"""Open the dialog in which models are got, and connect it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.control.downloads import Downloads
from app.control.models import ModelController
from app.state.models.downloads import Download
from engine.host import download_folder, packaged_models

if TYPE_CHECKING:
    from app.views.models.get_models import GetModelsDialog


class GetModelsWindows(QObject):
    """Hold the dialog, which is made on first use. Attributes: downloads, dialog."""

    def __init__(self, downloads: Downloads, models: ModelController, parent: QWidget) -> None:
        super().__init__(parent)
        self.dialog: GetModelsDialog | None = None
        self.downloads = downloads
        self._models, self._window = models, parent
        self.downloads.changed.connect(self._show)
        self.downloads.arrived.connect(self._arrived)
        self.downloads.removed.connect(models.scan_again)

    def open(self, get: str = "") -> None:
        """Show it. `get`: a model to download at once."""
        if self.dialog is None:
            self.dialog = self._made()
        self.downloads.look_around()
        self.downloads.recommend()
        self._show()
        self.dialog.open()
        if get:
            self.downloads.get(get)

    def close(self) -> None:
        """End the downloads with the window; their bytes stay."""
        self.downloads.stop()
        if self.dialog is not None:
            self.dialog.close()

    def _made(self) -> GetModelsDialog:
        from app.views.models.get_models import GetModelsDialog  # noqa: PLC0415 - not before it is asked for

        dialog, downloads = GetModelsDialog(packaged_models(), self._window), self.downloads
        dialog.folder_wanted.connect(self._models.add_folder)
        dialog.get_wanted.connect(downloads.get)
        dialog.pause_wanted.connect(downloads.pause)
        dialog.cancel_wanted.connect(downloads.cancel)
        dialog.search_wanted.connect(downloads.search)
        dialog.pair_wanted.connect(downloads.get_pair)
        dialog.check_wanted.connect(downloads.check)
        dialog.remove_wanted.connect(downloads.remove)
        dialog.token_wanted.connect(downloads.use_token)
        dialog.limit_wanted.connect(lambda speed: setattr(downloads.limit, "speed", speed))
        dialog.use_wanted.connect(self._use)
        return dialog

    def _show(self) -> None:
        if self.dialog is not None:
            self.dialog.measured = self._measured()
            self.dialog.show_state(self.downloads.shown)

    def _measured(self) -> dict[str, tuple[float, float]]:
        """Return the measured speeds of recommended targets that are here, by name."""
        found, models = {}, self._models.list.measured
        for pair in self.downloads.recommended.models if self.downloads.recommended is not None else ():
            repository, _, quantisation = pair.target.partition(":")
            for path, speeds in models.items():
                if path.is_relative_to(download_folder() / repository) and quantisation in path.stem.upper():
                    found[pair.target] = speeds
        return found

    def _arrived(self, item: Download) -> None:
        """Add the downloaded files to the models."""
        self._models.add_folder(item.files[0].parent)

    def _use(self, item: Download) -> None:
        if self.dialog is not None:
            self.dialog.close()
        self._models.choose_target(item.files[0])
