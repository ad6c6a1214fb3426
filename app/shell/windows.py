"""Opens the dialogs of the proof and connects them with the desk that does the work."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.control.compare import ProofDesk
from app.state.compare.compare import ProofKind
from app.views.compare.dialog import ProofDialog
from app.views.widgets.theme import Theme


class ProofWindows(QObject):
    """Compare and the sweep, each made when it is asked for the first time. Attribute: dialogs (by kind)."""

    def __init__(self, desk: ProofDesk, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.dialogs: dict[ProofKind, ProofDialog] = {}
        self._desk = desk
        self._theme = theme
        self._window = parent
        desk.changed.connect(self._show_run)
        desk.pair_changed.connect(self._show_pair)

    def open_compare(self) -> None:
        """Show Compare."""
        from app.views.compare.compare import CompareDialog  # noqa: PLC0415 - not before it is asked for

        if "compare" not in self.dialogs:
            self._connect("compare", CompareDialog(self._theme, self._window))
        self.dialogs["compare"].open_with(self._desk.last_question())

    def open_sweep(self) -> None:
        """Show the lookahead sweep."""
        from app.views.compare.sweep import SweepDialog  # noqa: PLC0415 - with its plot, not before it is asked for

        if "sweep" not in self.dialogs:
            dialog = SweepDialog(self._theme, self._window)
            dialog.lookahead_chosen.connect(self._desk.choose_lookahead)
            self._connect("sweep", dialog)
        self.dialogs["sweep"].open_with(self._desk.last_question())

    def close(self) -> None:
        """With the window."""
        for dialog in self.dialogs.values():
            dialog.close()

    def _connect(self, kind: ProofKind, dialog: ProofDialog) -> None:
        dialog.start_wanted.connect(lambda prompt, settings: self._desk.start(kind, prompt, settings))
        dialog.cancel_wanted.connect(lambda: self._desk.cancel(kind))
        self.dialogs[kind] = dialog
        dialog.show_run(self._desk.runs[kind])
        dialog.show_pair(self._desk.pair)

    def _show_run(self, kind: ProofKind) -> None:
        dialog = self.dialogs.get(kind)
        if dialog is not None:
            dialog.show_run(self._desk.runs[kind])
            dialog.show_pair(self._desk.pair)

    def _show_pair(self) -> None:
        for dialog in self.dialogs.values():
            dialog.show_pair(self._desk.pair)
