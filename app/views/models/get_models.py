"""Show where models come from: this machine, a small one to begin with, the Hugging Face hub; and the downloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QGridLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.state.models.downloads import Download, DownloadsShown
from app.state.models.names import file_size
from app.system.translation import say
from app.views.widgets.keys import Dialog
from app.views.widgets.labels import ltr
from engine import FoundPlace, FoundRepository, PackagedModel, quantisations_of

_PLACE = Qt.ItemDataRole.UserRole


class GetModelsDialog(Dialog):
    """Show it.

    Signals: folder_wanted(Path), get_wanted(str), pause_wanted(str), cancel_wanted(str), use_wanted(Download),
    search_wanted(str).
    """

    folder_wanted = Signal(object)
    get_wanted = Signal(str)
    pause_wanted = Signal(str)
    cancel_wanted = Signal(str)
    use_wanted = Signal(object)
    search_wanted = Signal(str)

    def __init__(self, packaged: Sequence[PackagedModel], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Get models"))
        self.resize(680, 620)
        layout = QVBoxLayout(self)
        layout.setSpacing(12)
        layout.addWidget(self._here())
        layout.addWidget(self._small(packaged))
        layout.addWidget(self._hub(), 1)
        self._downloads = QGridLayout()
        self._downloads.setColumnStretch(0, 1)
        layout.addLayout(self._downloads)
        self._lines: dict[str, _Line] = {}
        self.cancel_words = self.tr("Cancel")
        self.action_words = {
            "running": self.tr("Pause"),
            "paused": self.tr("Go on"),
            "failed": self.tr("Try again"),
            "done": self.tr("Use it"),
        }

    # Parts ------------------------------------------------------------------------------------------------------------

    def _here(self) -> QGroupBox:
        box = QGroupBox(self.tr("Found on this computer"), self)
        self.places = QListWidget(box)
        self.places.setAccessibleName(box.title())
        self.places.setMaximumHeight(96)
        self.add_button = QPushButton(self.tr("Add this folder"), box)
        self.add_button.setEnabled(False)
        self.add_button.setAutoDefault(False)
        self.places.itemSelectionChanged.connect(self._show_buttons)
        self.add_button.clicked.connect(self._add)
        row = QHBoxLayout(box)
        row.addWidget(self.places, 1)
        row.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignTop)
        return box

    def _small(self, packaged: Sequence[PackagedModel]) -> QGroupBox:
        box = QGroupBox(self.tr("A small model to begin with"), self)
        form = QFormLayout(box)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        self.small_buttons: dict[str, QPushButton] = {}
        for model in packaged:
            words = self.tr("{title} · {size} · licence {licence}")
            size = say(file_size(model.size))
            button = QPushButton(self.tr("Download"), box)
            button.setAutoDefault(False)
            button.clicked.connect(lambda _checked=False, name=model.name: self.get_wanted.emit(name))
            form.addRow(QLabel(words.format(title=model.title, size=size, licence=model.licence), box), button)
            self.small_buttons[model.name] = button
        return box

    def _hub(self) -> QGroupBox:
        box = QGroupBox(self.tr("Search the Hugging Face hub"), self)
        self.words = QLineEdit(box)
        self.words.setPlaceholderText(self.tr("Words of the name, such as qwen coder"))
        self.words.setAccessibleName(box.title())
        self.search_button = QPushButton(self.tr("Search"), box)
        self.search_button.setAutoDefault(False)
        self.results = QListWidget(box)
        self.results.setAccessibleName(self.tr("What was found"))
        self.quantisation = QComboBox(box)
        self.quantisation.setAccessibleName(self.tr("Quantisation"))
        self.download_button = QPushButton(self.tr("Download"), box)
        self.download_button.setAutoDefault(False)
        self.message = QLabel(box)
        self.message.setWordWrap(True)
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self.words.returnPressed.connect(self._search)
        self.search_button.clicked.connect(self._search)
        self.results.itemSelectionChanged.connect(self._show_quantisations)
        self.download_button.clicked.connect(self._download)
        top, below = QHBoxLayout(), QHBoxLayout()
        top.addWidget(self.words, 1)
        top.addWidget(self.search_button)
        below.addWidget(self.message, 1)
        below.addWidget(self.quantisation)
        below.addWidget(self.download_button)
        column = QVBoxLayout(box)
        column.addLayout(top)
        column.addWidget(self.results, 1)
        column.addLayout(below)
        return box

    # State ------------------------------------------------------------------------------------------------------------

    def show_state(self, state: DownloadsShown) -> None:
        """Show what is known by now."""
        self._show_places(state.places)
        self._show_found(state.found)
        self.search_button.setEnabled(not state.searching)
        self.message.setText(self.tr("Searching…") if state.searching else say(state.trouble))
        for item in state.listed:
            line = self._lines.get(item.name)
            if line is None:
                line = self._lines[item.name] = _Line(self, item.name, self._downloads, len(self._lines))
            line.show_state(item)
        for name in self._lines.keys() - {item.name for item in state.listed}:
            self._lines.pop(name).remove()
        for name, button in self.small_buttons.items():
            known = state.by_name(name)
            button.setEnabled(known is None or known.state in ("paused", "failed"))
        self._show_buttons()

    def _show_places(self, places: Sequence[FoundPlace] | None) -> None:
        shown = [self.places.item(row).data(_PLACE) for row in range(self.places.count())]
        if places is None or (shown == [place.folder for place in places] and shown):
            return
        self.places.clear()
        for place in places:
            words = self.tr("{program} · %n model(s) · {folder}", "", len(place.models))
            item = QListWidgetItem(words.format(program=place.program, folder=ltr(str(place.folder))), self.places)
            item.setData(_PLACE, place.folder)
            item.setToolTip("\n".join(model.name for model in place.models[:40]))
        if not places:
            item = QListWidgetItem(self.tr("No models of other programs were found."), self.places)
            item.setFlags(Qt.ItemFlag.NoItemFlags)

    def _show_found(self, found: Sequence[FoundRepository]) -> None:
        shown = [self.results.item(row).data(_PLACE) for row in range(self.results.count())]
        if shown == list(found):
            return
        self.results.clear()
        for each in found:
            words = self.tr("{name} · {licence}") if each.licence else "{name}"
            if each.gated:
                words = self.tr("{name} · {licence} · gated: accept its terms on its page first")
            item = QListWidgetItem(words.format(name=each.name, licence=each.licence), self.results)
            item.setData(_PLACE, each)

    def _show_quantisations(self) -> None:
        self.quantisation.clear()
        found = self._chosen()
        self.quantisation.addItems(list(quantisations_of(found)) if found is not None else [])
        best = self.quantisation.findText("Q4_K_M")
        self.quantisation.setCurrentIndex(max(best, 0))
        self._show_buttons()

    def _show_buttons(self) -> None:
        chosen = self.places.selectedItems()
        self.add_button.setEnabled(bool(chosen) and chosen[0].data(_PLACE) is not None)
        self.download_button.setEnabled(self._chosen() is not None)

    def _chosen(self) -> FoundRepository | None:
        chosen = self.results.selectedItems()
        return cast("FoundRepository", chosen[0].data(_PLACE)) if chosen else None

    # Intents ----------------------------------------------------------------------------------------------------------

    def _add(self) -> None:
        self.folder_wanted.emit(self.places.currentItem().data(_PLACE))
        self.add_button.setEnabled(False)

    def _search(self) -> None:
        self.search_wanted.emit(self.words.text())

    def _download(self) -> None:
        found, quantisation = self._chosen(), self.quantisation.currentText()
        if found is not None:
            self.get_wanted.emit(f"{found.name}:{quantisation}" if quantisation else found.name)


class _Line:
    """Show one download: its name, how far it is, and what can be done with it."""

    def __init__(self, dialog: GetModelsDialog, name: str, grid: QGridLayout, row: int) -> None:
        self._dialog, self._item = dialog, Download(name)
        self.label = QLabel(dialog)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.bar = QProgressBar(dialog)
        self.bar.setRange(0, 1000)
        self.bar.setAccessibleName(name)
        self.first = QPushButton(dialog)
        self.second = QPushButton(dialog.cancel_words, dialog)
        self.first.clicked.connect(self._act)
        self.second.clicked.connect(lambda: dialog.cancel_wanted.emit(name))
        for column, widget in enumerate((self.label, self.bar, self.first, self.second)):
            grid.addWidget(widget, row, column)
        for button in (self.first, self.second):
            button.setAutoDefault(False)

    def show_state(self, item: Download) -> None:
        """Show how far it is."""
        self._item = item
        self.label.setText(f"{item.name}: {say(item.problem)}" if item.problem else item.name)
        self.bar.setValue(round(1000 * item.fraction))
        self.bar.setVisible(item.state in ("running", "paused"))
        self.first.setText(self._dialog.action_words[item.state])
        self.second.setVisible(item.state != "done")

    def remove(self) -> None:
        """Take it away."""
        for widget in (self.label, self.bar, self.first, self.second):
            widget.hide()
            widget.deleteLater()

    def _act(self) -> None:
        if self._item.state == "running":
            self._dialog.pause_wanted.emit(self._item.name)
        elif self._item.state == "done":
            self._dialog.use_wanted.emit(self._item)
        else:
            self._dialog.get_wanted.emit(self._item.name)
