"""Show the sources of models: this machine, a small one to begin with, the Hugging Face hub; and the downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QPushButton,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.state.models.downloads import Download, DownloadsShown
from app.state.models.names import file_size
from app.system.translation import say
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.labels import ltr
from app.views.widgets.scroll_page import ScrollPage
from app.words.get_models import by_hand, facts, needed_words, progress, stored_words, title, unmeasured
from engine.host import FoundPlace, FoundRepository, PackagedModel, Recommendation, StoredModel, quantisations_of

_PLACE = Qt.ItemDataRole.UserRole


class GetModelsDialog(Dialog):
    """Show it.

    Signals: folder_wanted(Path), get_wanted(str), pause_wanted(str), cancel_wanted(str), use_wanted(Download),
    search_wanted(str), pair_wanted(Recommendation), check_wanted(), token_wanted(str), limit_wanted(float: bytes a
    second, 0 for none), remove_wanted(StoredModel). Attribute: measured (how fast recommended targets were when
    they were used, by name).
    """

    folder_wanted = Signal(object)
    get_wanted = Signal(str)
    pause_wanted = Signal(str)
    cancel_wanted = Signal(str)
    use_wanted = Signal(object)
    search_wanted = Signal(str)
    pair_wanted = Signal(object)
    check_wanted = Signal()
    token_wanted = Signal(str)
    limit_wanted = Signal(float)
    remove_wanted = Signal(object)

    def __init__(self, packaged: Sequence[PackagedModel], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Get models"))
        self.setObjectName("getModels")
        self.resize(QSize(680, 620).boundedTo(self.screen().availableSize()))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        self.measured: Mapping[str, tuple[float, float]] = {}
        self._packaged, self._folder = tuple(packaged), Path()
        self._pairs: tuple[Recommendation, ...] = ()
        self._shown: tuple[object, object] = (None, None)
        self.tabs = QTabWidget(self)
        self.tabs.setDocumentMode(True)
        for words, page in (
            (self.tr("Recommended"), (self._suits(), self._small(packaged), self._by_hand())),
            (self.tr("Search"), (self._hub(),)),
            (self.tr("On this computer"), (self._here(), self._stored())),
        ):
            self.tabs.addTab(self._page(*page), words)
        layout.addWidget(self.tabs, 1)
        layout.addLayout(self._manner())
        self._downloads = QGridLayout()
        self._downloads.setColumnStretch(0, 1)
        layout.addLayout(self._downloads)
        self.close_button = self._button(self.tr("Close"), self)
        self.close_button.clicked.connect(self.close)
        layout.addLayout(in_row(..., self.close_button))
        self.check_button.setFocus()
        self._lines: dict[str, _Line] = {}
        self.cancel_words = self.tr("Cancel")
        self.action_words = {
            "running": self.tr("Pause"),
            "paused": self.tr("Go on"),
            "failed": self.tr("Try again"),
            "newer": self.tr("Take the hub's"),
            "done": self.tr("Use it"),
        }

    # Parts ------------------------------------------------------------------------------------------------------------

    def _page(self, *parts: QWidget) -> QWidget:
        page = QWidget(self)
        column = in_column(spacing=12, margins=(0, 12, 0, 0), parent=page)
        for part in parts:
            column.addWidget(part)
        if len(parts) == 1:
            return page
        column.addStretch(1)
        page.setObjectName("page")
        area = ScrollPage(self)
        area.setWidget(page)
        return area

    def _suits(self) -> QGroupBox:
        box = QGroupBox(self.tr("What suits this computer"), self)
        self._cards = QGridLayout()
        self._cards.setColumnStretch(0, 1)
        self._cards.setVerticalSpacing(4)
        self.card_buttons: dict[str, QPushButton] = {}
        self.check_button = self._button(self.tr("Ask the hub, and measure this computer"), box)
        self.check_button.setToolTip(
            self.tr(
                "Asks the hub whether it still has these files, and measures for two seconds how fast this computer "
                "is. Nothing about this computer is sent anywhere."
            )
        )
        self.check_button.clicked.connect(self.check_wanted)
        self.suits_words = self._words(box)
        row = in_row(wide(self.suits_words), self.check_button)
        in_column(self._cards, row, margins=(0, 0, 0, 0), parent=box)
        return box

    def _by_hand(self) -> QWidget:
        part = QWidget(self)
        self.copy_button = self._button(self.tr("Copy what to fetch by hand"), part)
        self.copy_button.setToolTip(
            self.tr("For a computer that reaches no hub: the exact names of the files, and where they go, as text")
        )
        self.copy_button.clicked.connect(self._copy)
        in_row(..., self.copy_button, margins=(0, 0, 0, 0), parent=part)
        return part

    def _manner(self) -> QHBoxLayout:
        """Make the controls for all downloads: the speed limit, and a token for models behind terms."""
        self.limit = QDoubleSpinBox(self)
        self.limit.setRange(0.0, 1000.0)
        self.limit.lineEdit().setTextMargins(6, 0, 6, 0)
        self.limit.setDecimals(1)
        self.limit.setSpecialValueText(self.tr("no limit"))
        self.limit.setSuffix(self.tr(" MB a second"))
        self.limit.setKeyboardTracking(False)
        self.limit.valueChanged.connect(lambda value: self.limit_wanted.emit(value * 1e6))
        self.token = QLineEdit(self)
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setMaxLength(500)
        self.token.setToolTip(
            self.tr(
                "For models whose authors want to know who takes them. It is kept in the system's keyring, or for "
                "this session where there is none, never in a file, and is sent to the hub alone."
            )
        )
        self.token.editingFinished.connect(self._use_token)
        row = QHBoxLayout()
        for words, field in ((self.tr("Speed limit"), self.limit), (self.tr("Token for the hub"), self.token)):
            label = QLabel(words, self)
            label.setBuddy(field)
            field.setAccessibleName(words)
            row.addWidget(label)
            row.addWidget(field, 1 if field is self.token else 0)
        return row

    def _button(self, words: str, parent: QWidget) -> QPushButton:
        button = QPushButton(words, parent)
        button.setAutoDefault(False)
        return button

    def _words(self, parent: QWidget) -> QLabel:
        label = QLabel(parent)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _here(self) -> QGroupBox:
        box = QGroupBox(self.tr("Found on this computer"), self)
        self.places = QListWidget(box)
        self.places.setAccessibleName(box.title())
        self.add_button = QPushButton(self.tr("Add this folder"), box)
        self.add_button.setEnabled(False)
        self.add_button.setAutoDefault(False)
        self.places.itemSelectionChanged.connect(self._show_buttons)
        self.add_button.clicked.connect(self._add)
        buttons = in_column(self.add_button, ...)
        in_row(wide(self.places), buttons, margins=(0, 0, 0, 0), parent=box)
        return box

    def _stored(self) -> QGroupBox:
        box = QGroupBox(self.tr("Room on disk"), self)
        self.stored = QListWidget(box)
        self.stored.setAccessibleName(box.title())
        self.needed = self._words(box)
        self.remove_button = self._button(self.tr("Move to the bin"), box)
        self.stored.itemSelectionChanged.connect(self._show_needed)
        self.remove_button.clicked.connect(self._remove)
        row = in_row(wide(self.needed), self.remove_button)
        in_column(wide(self.stored), row, margins=(0, 0, 0, 0), parent=box)
        self._show_needed()
        return box

    def _small(self, packaged: Sequence[PackagedModel]) -> QGroupBox:
        box = QGroupBox(self.tr("A small model to begin with"), self)
        rows = in_column(margins=(0, 0, 0, 0), parent=box)
        self.small_buttons: dict[str, QPushButton] = {}
        for model in packaged:
            words = self.tr("{title} · {size} on disk · licence {licence}")
            size = say(file_size(model.size))
            button = QPushButton(self.tr("Download"), box)
            button.setAutoDefault(False)
            button.clicked.connect(lambda _checked=False, name=model.name: self.get_wanted.emit(name))
            label = QLabel(words.format(title=model.title, size=size, licence=model.licence), box)
            rows.addLayout(in_row(wide(label), button))
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
        in_column(top, wide(self.results), below, margins=(0, 0, 0, 0), parent=box)
        return box

    # State ------------------------------------------------------------------------------------------------------------

    def show_state(self, state: DownloadsShown) -> None:
        self._show_places(state.places)
        self._show_found(state.found)
        self.search_button.setEnabled(not state.searching)
        self.message.setText(self.tr("Searching…") if state.searching else say(state.trouble))
        self._show_suits(state)
        self._show_stored(state)
        self._show_token(state)
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

    def _show_suits(self, state: DownloadsShown) -> None:
        found = state.recommended
        self._folder = state.folder
        self.check_button.setEnabled(not state.checking)
        if state.checking:
            self.suits_words.setText(self.tr("Asking the hub, and measuring…"))
        elif found is not None:
            none = (
                self.tr("None of the larger models fits into this memory.")
                if not (found.models or found.left_out)
                else ""
            )
            gone = [self.tr("Left out: {reason}").format(reason=say(reason)) for reason in found.left_out]
            self.suits_words.setText("\n".join(filter(None, (none, *gone, unmeasured(found.models)))))
        if found is not None and (found.models, self.measured) != self._shown:
            self._shown = found.models, self.measured
            self._pairs = found.models
            self._lay_out_cards()
        for pair in self._pairs:
            states = [each.state for name in (pair.target, pair.draft) if (each := state.by_name(name)) is not None]
            self.card_buttons[pair.target].setEnabled(len(states) < 2 or any(each == "failed" for each in states))

    def _show_stored(self, state: DownloadsShown) -> None:
        shown = [self.stored.item(row).data(_PLACE) for row in range(self.stored.count())]
        if shown != list(state.stored):
            self.stored.clear()
            for each in state.stored:
                item = QListWidgetItem(stored_words(each), self.stored)
                item.setData(_PLACE, each)
                item.setToolTip("\n".join(map(str, each.files)))
            self._show_needed()
        if state.bin_words:
            self.needed.setText(say(state.bin_words))

    def _show_needed(self) -> None:
        """List the dependents of the chosen model, before it can be deleted."""
        chosen = self._chosen_to_remove()
        self.needed.setText("" if chosen is None else needed_words(chosen))
        self.remove_button.setEnabled(chosen is not None and not chosen.kept_by)

    def _chosen_to_remove(self) -> StoredModel | None:
        chosen = self.stored.selectedItems()
        return cast("StoredModel", chosen[0].data(_PLACE)) if chosen else None

    def _lay_out_cards(self) -> None:
        while (item := self._cards.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.card_buttons = {}
        for row, pair in enumerate(self._pairs):
            name, label = self._words(self), self._words(self)
            name.setObjectName("cardTitle")
            name.setText(title(pair))
            label.setObjectName("hint")
            label.setText(facts(pair, self.measured.get(pair.target)))
            label.setToolTip(self.tr("Sizes are computed, not read. The files were seen in {source}.").format(
                source=pair.source))  # fmt: skip
            button = self._button(self.tr("Download both"), self)
            button.setAccessibleName(self.tr("Download {pair}").format(pair=title(pair)))
            button.clicked.connect(lambda _checked=False, pair=pair: self.pair_wanted.emit(pair))
            self._cards.addWidget(name, 3 * row, 0)
            self._cards.addWidget(label, 3 * row + 1, 0)
            self._cards.addWidget(button, 3 * row, 1, 2, 1, Qt.AlignmentFlag.AlignTop)
            self._cards.setRowMinimumHeight(3 * row + 2, 8)
            self.card_buttons[pair.target] = button

    def _show_token(self, state: DownloadsShown) -> None:
        words = {
            "": self.tr("none"),
            "session": self.tr("used until Outrider ends: this system has no keyring"),
            "kept": self.tr("kept in the system's keyring"),
        }
        self.token.setPlaceholderText(words[state.token])

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

    def _remove(self) -> None:
        chosen = self._chosen_to_remove()
        if chosen is not None:
            self.remove_wanted.emit(chosen)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(by_hand(self._pairs, self._packaged, self._folder))
        self.suits_words.setText(self.tr("Copied as text."))

    def _use_token(self) -> None:
        if self.token.text().strip():
            self.token_wanted.emit(self.token.text())
            self.token.clear()

    def _search(self) -> None:
        self.search_wanted.emit(self.words.text())

    def _download(self) -> None:
        found, quantisation = self._chosen(), self.quantisation.currentText()
        if found is not None:
            self.get_wanted.emit(f"{found.name}:{quantisation}" if quantisation else found.name)


class _Line:
    """Show one download: its name, its progress, and its actions."""

    def __init__(self, dialog: GetModelsDialog, name: str, grid: QGridLayout, row: int) -> None:
        self._dialog, self._item = dialog, Download(name)
        self.label = QLabel(dialog)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.bar = QProgressBar(dialog)
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
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
        self._item = item
        self.label.setText(progress(item))
        self.bar.setValue(round(1000 * item.fraction))
        self.bar.setVisible(item.state in ("running", "paused"))
        self.first.setText(self._dialog.action_words[item.state])
        self.first.setObjectName("primary" if item.state == "done" else "")
        self.first.style().polish(self.first)
        self.second.setVisible(item.state != "done")

    def remove(self) -> None:
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
