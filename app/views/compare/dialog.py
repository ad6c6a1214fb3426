"""Share the base of Compare and the lookahead sweep: the prompt, the settings, the progress, the buttons."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.state.compare.compare import ComparedModels, CompareKind, CompareRun, CompareSettings
from app.state.models.selection import PickerLine
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.picker import Picker
from app.views.widgets.scroll_page import ScrollPage
from app.views.widgets.theme import Theme
from app.words.compare import ended_words, pair_words, progress_words

_COPIED_MS = 2_000
_PROMPT_LINES = 3
_DATA = Qt.ItemDataRole.UserRole


class RunDialog(Dialog):
    """Ask for a measurement and show its progress; the classes below show its result.

    Signals: start_wanted(prompt, CompareSettings), cancel_wanted() (also when it is closed).
    """

    start_wanted = Signal(str, object)
    cancel_wanted = Signal()
    kind: CompareKind = "compare"

    def __init__(self, theme: Theme, settings: CompareSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("proof")
        self.theme = theme
        self.run = CompareRun()
        self._ready = False
        self._filled = ""
        self._make_prompt()
        self._make_settings(settings)
        self._make_progress()
        self._make_buttons()
        self._lay_out()

    # Building ---------------------------------------------------------------------------------------------------------

    def _make_prompt(self) -> None:
        self.prompt = QPlainTextEdit(self)
        self.prompt.setAccessibleName(self.tr("Prompt"))
        self.prompt.setPlaceholderText(self.tr("The prompt to answer"))
        self.prompt.setTabChangesFocus(True)
        self._fit_font()
        self.theme.changed.connect(self._fit_font)
        self.prompt.textChanged.connect(self._show_start)
        self.pair = QLabel(self)
        self.pair.setObjectName("hint")
        self.pair.setWordWrap(True)

    def _fit_font(self) -> None:
        self.prompt.setFixedHeight(_PROMPT_LINES * self.fontMetrics().lineSpacing() + 24)

    def _make_settings(self, settings: CompareSettings) -> None:
        repeats = [(str(count), count) for count in (1, 3, 5, 9, 15)]
        tokens = [(str(count), count) for count in (24, 48, 64, 96, 192, 384)]
        drawn = [(self.tr("Greedy"), 0.0), *((self.tr("Sampled, temperature {t}").format(t=t), t) for t in (0.7, 1.0))]
        self.repeats = self._picker(self.tr("Runs: how often each mode answers the prompt"), repeats, settings.repeats)
        self.tokens = self._picker(self.tr("Maximum number of new tokens per reply"), tokens, settings.tokens)
        self.sampling = self._picker(self.tr("How the next token is chosen"), drawn, settings.temperature)

    def _picker(self, name: str, lines: Sequence[tuple[str, float]], chosen: float) -> Picker:
        picker = Picker(name, self)
        picker.fill([PickerLine(None, word) for word, _ in lines], None, "")
        for row, (_, value) in enumerate(lines):
            picker.setItemData(row, value, _DATA)
        picker.setCurrentIndex(picker.findData(chosen, _DATA))
        picker.setMinimumContentsLength(max(len(word) for word, _ in lines))
        return picker

    def _make_progress(self) -> None:
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Progress"))
        self.word = QLabel(self)
        self.word.setObjectName("progressWord")
        self.word.setWordWrap(True)
        self.problem = QLabel(self)
        self.problem.setObjectName("proofProblem")
        self.problem.setWordWrap(True)
        self.problem.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.problem.hide()

    def _make_buttons(self) -> None:
        self.start = QPushButton(self.tr("Start"), self)
        self.start.setObjectName("primary")
        self.start.setDefault(True)
        self.start.clicked.connect(self._start_or_cancel)
        self.copy_button = QPushButton(self.tr("Copy as text"), self)
        self.copy_button.setToolTip(self.tr("Copies the figures with the pair, the versions and the machine"))
        self.copy_button.setAutoDefault(False)
        self.copy_button.clicked.connect(self._copy)
        self.close_button = QPushButton(self.tr("Close"), self)
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(self.close)

    def _lay_out(self) -> None:
        settings = QHBoxLayout()
        settings.setSpacing(8)
        for word, picker in ((self.tr("Runs"), self.repeats), (self.tr("Tokens"), self.tokens), ("", self.sampling)):
            if word:
                label = QLabel(word, self)
                label.setObjectName("hint")
                settings.addWidget(label)
            settings.addWidget(picker)
        settings.addStretch(1)
        settings.addWidget(self.start)
        top = QVBoxLayout()
        top.setSpacing(8)
        for widget in (self.prompt, self.pair):
            top.addWidget(widget)
        top.addLayout(settings)
        area = ScrollPage(self)
        page = QWidget(area)
        page.setObjectName("page")
        area.setWidget(page)
        self.place = in_column(spacing=8, margins=(0, 0, 0, 0), parent=page)
        self.buttons = in_row(self.copy_button, ..., self.close_button)
        in_column(
            top,
            self.bar,
            self.word,
            self.problem,
            wide(area),
            self.buttons,
            margins=(24, 24, 24, 16),
            spacing=12,
            parent=self,
        )

    # Intents ----------------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> CompareSettings:
        """Return the settings of the measurement."""
        chosen = (picker.currentData(_DATA) for picker in (self.sampling, self.repeats, self.tokens))
        temperature, repeats, tokens = chosen
        return CompareSettings(float(temperature), int(repeats), int(tokens))

    def open_with(self, question: str) -> None:
        """Open with this question in the prompt, unless a person wrote another one there, and come to the front."""
        if not self.run.running and self.prompt.toPlainText() == self._filled and question.strip():
            self.prompt.setPlainText(question)
            self._filled = self.prompt.toPlainText()
        if self.isVisible():
            self.raise_()
        self.show()
        self.activateWindow()
        self.prompt.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Stop a running measurement on Esc; only then it closes."""
        if event.key() == Qt.Key.Key_Escape and self.run.running:
            event.accept()
            self.cancel_wanted.emit()
        else:
            super().keyPressEvent(event)

    def _start_or_cancel(self) -> None:
        if self.run.running:
            self.cancel_wanted.emit()
        else:
            self.start_wanted.emit(self.prompt.toPlainText(), self.settings)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.as_text())
        self.copy_button.setText(self.tr("Copied"))
        QTimer.singleShot(_COPIED_MS, self.copy_button, lambda: self.copy_button.setText(self.tr("Copy as text")))

    def done(self, result: int) -> None:
        """Close, and end the measurement."""
        self.cancel_wanted.emit()
        super().done(result)

    # Rendering --------------------------------------------------------------------------------------------------------

    def show_pair(self, pair: ComparedModels) -> None:
        """Show the models that would be measured now; during a measurement nothing changes."""
        if not self.run.running:
            self.pair.setText(pair_words(pair, self.kind))
            self._ready = self.can_measure(pair)
            self._show_start()

    def show_run(self, run: CompareRun) -> None:
        self.run = run
        running = run.running
        if running and self.focusWidget() is self.prompt:
            # Disabled with the keyboard in it, its cursor would go on blinking.
            self.start.setFocus()
        for widget in (self.prompt, self.repeats, self.tokens, self.sampling):
            widget.setEnabled(not running)
        if running and run.fraction is not None:
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * run.fraction))
        else:
            self.bar.setRange(0, 0 if running else 1)
            self.bar.setValue(0)
        self.word.setText(progress_words(run) or ended_words(run) or self.advice())
        self.problem.setText(run.problem)
        self.problem.setVisible(bool(run.problem))
        self.copy_button.setEnabled(not running and self.has_figures())
        self._show_start()
        self.show_figures()

    def has_figures(self) -> bool:
        return self.run.report is not None and any(way.replies for way in self.run.report.ways)

    def _show_start(self) -> None:
        running = self.run.running
        self.start.setText(self.tr("Cancel") if running else self.tr("Start"))
        self.start.setEnabled(running or (self._ready and bool(self.prompt.toPlainText().strip())))

    # For the classes below --------------------------------------------------------------------------------------------

    def can_measure(self, pair: ComparedModels) -> bool:
        return bool(pair.target)

    def advice(self) -> str:
        """Return the hint before the first start."""
        return ""

    def show_figures(self) -> None:
        """Draw the measured figures so far."""

    def as_text(self) -> str:
        return ""
