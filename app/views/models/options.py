"""Edit the load options of one model: context, cache, threads, GPU layers; checked while typing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.state.models.load_options import Field, LoadChoice, check, needs_with, read, read_value, show_value
from app.state.models.names import file_size, shown_name
from app.state.models.selection import PickerLine
from app.system.translation import fill, say
from app.views.widgets.boxes import in_column, in_grid, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.picker import PATH_ROLE, Picker
from app.views.widgets.plain_style import plain_title
from app.views.widgets.scroll_page import ScrollPage
from app.views.widgets.theme import Theme, keep_fixed
from engine import ModelFile
from engine.host import gpu_offload, usable_cache_types

_SIZE = QSize(600, 640)
_LONG = 8_192
"""Tokens of a context from which the cache takes much of a token's time."""
_TYPED: tuple[Field, ...] = ("context", "threads", "gpu_layers", "rpc")
_SHOWN: dict[Field, str] = {"context": "{value:,}", "threads": "{value}", "gpu_layers": "{value}", "rpc": "{value}"}


class ModelOptionsDialog(Dialog):
    """Show the options of a model.

    Attributes: template (how chats are written), chats (the button that leads to their settings).
    Signals: chosen(LoadChoice), variables_chosen(dict), chats_wanted().
    """

    chosen = Signal(object)
    variables_chosen = Signal(object)
    chats_wanted = Signal()

    def __init__(
        self,
        model: ModelFile,
        options: LoadChoice,
        free: int,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        """Build the dialog. `free`: bytes of memory that are free, 0 if nobody looked."""
        super().__init__(parent)
        self.setObjectName("modelOptions")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Options for {model}").format(model=plain_title(say(shown_name(model)))))
        self._model = model
        self._free = free
        self._theme = theme
        self._before, self._variables = options, dict(variables or {})
        self.template = TemplateForm(options.template or "", self._variables, self)
        self.template.changed.connect(self._show_needs)
        self.edits: dict[Field, QLineEdit] = {}
        self.problems: dict[Field, QLabel] = {}
        self._make_fields()
        self._make_rest()
        self._lay_out()
        self._fill(options)
        self.resize(_SIZE.boundedTo(self.screen().availableSize()))

    # Building ---------------------------------------------------------------------------------------------------------

    def _make_fields(self) -> None:
        self._words: dict[Field, str] = {
            "context": self.tr("Context"),
            "cache_type": self.tr("Cache type"),
            "threads": self.tr("Threads"),
            "gpu_layers": self.tr("GPU layers"),
            "rpc": self.tr("Machines"),
        }
        for field in _TYPED:
            edit = QLineEdit(self)
            edit.setAccessibleName(self._words[field])
            edit.setPlaceholderText(self.tr("none") if field == "rpc" else self.tr("automatic"))
            edit.textChanged.connect(partial(self._typed, field))
            self.edits[field] = edit
        bits = {kind: 16 if kind == "f16" else int(kind.lstrip("iq")[0]) for kind in usable_cache_types(self._model)}
        names = {kind: fill(self.tr("{bits} bits ({kind})"), bits=each, kind=kind) for kind, each in bits.items()}
        kinds = [None, *names]
        self.cache = Picker(self._words["cache_type"], self)
        self.cache.fill(
            [PickerLine(None, self.tr("automatic") if kind is None else names[kind]) for kind in kinds], None, ""
        )
        for place, kind in enumerate(kinds):
            self.cache.setItemData(place, kind, PATH_ROLE)
        self.cache.setMinimumContentsLength(14)
        self.cache.chosen.connect(lambda _kind: self._show_needs())
        self.cache.setEnabled(len(kinds) > 1)
        gguf = self._model.file_format == "gguf"
        self.edits["threads"].setEnabled(gguf)
        self.edits["rpc"].setEnabled(gguf)
        self.edits["gpu_layers"].setEnabled(gguf and gpu_offload())

    def _helps(self) -> dict[Field, str]:
        most = self._model.context_length
        usual = needs_with(self._model, LoadChoice()).context_length
        context = fill(self.tr("Context length in tokens. Automatic: {usual:,}."), usual=usual)
        if most:
            words = self.tr("Context length in tokens, at most {most:,}. Automatic: {usual:,}.")
            context = fill(words, most=most, usual=usual)
        gpu = self.tr("Number of layers computed on the GPU; -1 means all. Automatic: all.")
        threads = self.tr("Number of processor threads. Automatic: chosen by measurement.")
        machines = self.tr(
            "Other computers that compute its layers, such as 192.168.1.20:50052, with commas between them. Each runs "
            "outrider-engine rpc-server. Nothing that is sent there is encrypted: only for networks that you trust."
        )
        if self._model.file_format != "gguf":
            threads = gpu = machines = self.tr("Only for GGUF models.")
        elif not gpu_offload():
            gpu = self.tr("The installed llama.cpp has no GPU support.")
        cache = self.tr("The number format of the cache: fewer bits use less memory and round more.")
        if not self.cache.isEnabled():
            cache = self.tr("The cache of this model supports no other format.")
        return {"context": context, "cache_type": cache, "threads": threads, "gpu_layers": gpu, "rpc": machines}

    def _make_rest(self) -> None:
        self.needs = QLabel(self)
        self.needs.setObjectName("needs")
        self.needs.setWordWrap(True)
        self.reset = QPushButton(self.tr("Reset"), self)
        self.reset.setToolTip(self.tr("Set all options to automatic"))
        self.reset.clicked.connect(self._reset)
        self.chats = QPushButton(self.tr("System prompt and sampling…"), self)
        self.chats.clicked.connect(self.chats_wanted)
        self.cancel = QPushButton(self.tr("Cancel"), self)
        self.cancel.clicked.connect(self.reject)
        self.save = QPushButton(self.tr("Save"), self)
        self.save.setObjectName("primary")
        self.save.clicked.connect(self._save)
        for button in (self.reset, self.chats, self.cancel):
            button.setAutoDefault(False)
        self.save.setDefault(True)

    def _make_page(self, area: ScrollPage) -> None:
        page = QWidget(area)
        page.setObjectName("page")
        area.setWidget(page)
        grid = in_grid(across=16, down=2, stretch=1, margins=(0, 0, 4, 0), parent=page)
        helps = self._help = self._helps()
        self._captions: dict[Field, QLabel] = {}
        for place, (field, words) in enumerate(self._words.items()):
            widget = self.edits.get(field, self.cache)
            widget.setAccessibleDescription(helps[field])
            name = QLabel(words, page)
            name.setBuddy(widget)
            text = QLabel(helps[field], page)
            text.setObjectName("caption")
            self._captions[field] = text
            problem = self.problems[field] = QLabel(page)
            problem.setObjectName("fieldProblem")
            for label in (text, problem):
                label.setWordWrap(True)
            problem.hide()
            grid.addWidget(name, 4 * place, 0)
            for row, part in enumerate((widget, problem, text)):
                grid.addWidget(part, 4 * place + row, 1)
            grid.setRowMinimumHeight(4 * place + 3, 12)
        name = QLabel(self.tr("Chat template"), page)
        name.setBuddy(self.template.template)
        grid.addWidget(name, 4 * len(self._words), 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.template, 4 * len(self._words), 1)
        grid.setRowStretch(4 * len(self._words) + 1, 1)

    def _lay_out(self) -> None:
        area = ScrollPage(self)
        self._make_page(area)
        buttons = in_row(self.reset, self.chats, ..., self.cancel, self.save, spacing=8)
        in_column(wide(area), self.needs, buttons, margins=(24, 24, 24, 16), spacing=12, parent=self)
        fields = (self.edits.get(field, self.cache) for field in self._words)
        order: list[QWidget] = [*fields, self.template.template, self.template.fill_button, self.reset, self.chats]
        order += [self.cancel, self.save]
        for before, after in pairwise(order):
            self.setTabOrder(before, after)

    # Rendering --------------------------------------------------------------------------------------------------------

    def _fill(self, options: LoadChoice) -> None:
        for field, edit in self.edits.items():
            value = getattr(options, field)
            edit.setText("" if value is None else fill(_SHOWN[field], value=value))
        self.cache.setCurrentIndex(max(self.cache.findData(options.cache_type, PATH_ROLE), 0))
        self._show_needs()

    def _typed(self, field: Field, text: str) -> None:
        problem = self._problem(field, text)
        self.problems[field].setText(problem)
        self.problems[field].setVisible(bool(problem))
        self.edits[field].setAccessibleDescription(problem or self._help[field])
        self.edits[field].setProperty("bad", bool(problem))
        self.edits[field].style().polish(self.edits[field])
        self._show_needs()

    def _problem(self, field: Field, text: str) -> str:
        wrong = check(field, text)
        if wrong is not None:
            return say(wrong)
        most = self._model.context_length
        if field == "context" and most and text.strip() and read(field, text) > most:
            return fill(self.tr("It was trained for {most:,} tokens and cannot use more."), most=most)
        return ""

    @property
    def options(self) -> LoadChoice | None:
        """Return the chosen options; None while one is invalid."""
        wrong = any(self._problem(field, edit.text()) for field, edit in self.edits.items())
        if wrong or self.template.problem.text() or check("template", self.template.own or ""):
            return None
        values = {field: read(field, edit.text()) for field, edit in self.edits.items()}
        return LoadChoice(**values, cache_type=self.cache.currentData(PATH_ROLE), template=self.template.own)

    def _show_needs(self) -> None:
        options = self.options
        self.save.setEnabled(options is not None)
        if options is None:
            return
        needs = needs_with(self._model, options)
        self._offer_bytes(needs.context_length)
        needed = needs.in_memory
        words = self.tr("It needs about {needed} of memory.")
        if self._free:
            words = self.tr("It needs about {needed} of memory; {free} are free.")
        if options.rpc:
            words = self.tr("It needs about {needed} of memory, which the machines must have.")
        text = words.format(needed=say(file_size(needed)), free=say(file_size(self._free)))
        self.needs.setText(text if needed else "")
        self.needs.setProperty("bad", bool(self._free) and not options.rpc and needed > self._free)
        self.needs.style().polish(self.needs)

    def _offer_bytes(self, context: int) -> None:
        """Explain what a cache in 8 bits brings and costs where the context is long."""
        words = self._help["cache_type"]
        if context >= _LONG and self.cache.findData("q8_0", PATH_ROLE) >= 0:
            words += " " + self.tr(
                "In a context this long, 8 bits take about half of its memory, and on the processor the model writes a "
                "tenth faster. Some replies change: perplexity up by 1%, another likeliest token in 3 of 100 places "
                "(measured)."
            )
        self._captions["cache_type"].setText(words)
        self.cache.setAccessibleDescription(words)

    # Intents ----------------------------------------------------------------------------------------------------------

    def _reset(self) -> None:
        self.template.clear()
        self._fill(LoadChoice())

    def _save(self) -> None:
        options = self.options
        if options is None:
            return
        if options != self._before:
            self.chosen.emit(options)
        if self.template.variables != self._variables:
            self.variables_chosen.emit(self.template.variables)
        self.accept()


_LINES = 6
_TYPING_MS = 400


class TemplateForm(QWidget):
    """Show a chat template, and a line for each of its variables, which come from `show_names`.

    Attributes: template (the edit), edits (of the variables, by name), problem. Signals: wanted(text) (its variables
    are to be found; blank: those of the file's own), changed().
    """

    wanted = Signal(str)
    changed = Signal()

    def __init__(self, template: str, variables: Mapping[str, Any], parent: QWidget) -> None:
        super().__init__(parent)
        self._given = dict(variables)
        self._of_file = ""
        self.template = QPlainTextEdit(template, self)
        self.template.setTabChangesFocus(True)
        self.template.setAccessibleName(self.tr("Chat template"))
        self.template.setPlaceholderText(self.tr("As in its file"))
        keep_fixed(self.template)
        self.template.setFixedHeight(_LINES * self.template.fontMetrics().lineSpacing() + 16)
        self.fill_button = QPushButton(self.tr("Start from the file’s template"), self)
        self.fill_button.setAutoDefault(False)
        self.fill_button.clicked.connect(lambda: self.template.setPlainText(self._of_file))
        self.problem = QLabel(self)
        self.problem.setObjectName("fieldProblem")
        self.problem.setWordWrap(True)
        hint = QLabel(self.tr("How chats are written for this model (Jinja). Empty: as in its file."), self)
        self.explanation = QLabel(
            self.tr("What its template asks for. JSON, or else text. Empty: as the template does."), self
        )
        for label in (hint, self.explanation):
            label.setObjectName("caption")
            label.setWordWrap(True)
        self.edits: dict[str, QLineEdit] = {}
        self._form = QFormLayout()
        layout = in_column(spacing=4, margins=(0, 0, 0, 0), parent=self)
        for widget in (self.template, self.problem, hint):
            layout.addWidget(widget)
        layout.addWidget(self.fill_button, 0, Qt.AlignmentFlag.AlignLeading)
        layout.addSpacing(8)
        layout.addLayout(self._form)
        layout.addWidget(self.explanation)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._typing.timeout.connect(self.ask)
        self.template.textChanged.connect(self._typed)
        self.show_names("", (), "")

    def ask(self) -> None:
        """Request the variables of the present template."""
        self.wanted.emit(self.template.toPlainText())

    def _typed(self) -> None:
        self._typing.start()
        self.changed.emit()

    def show_names(self, of_file: str, names: tuple[str, ...], problem: str) -> None:
        """Show the variables of the template; `problem`: its error, in a sentence."""
        self._of_file = of_file or self._of_file
        self.fill_button.setEnabled(bool(self._of_file))
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if not problem and list(self.edits) != list(names):
            self._given |= self.variables
            while self._form.rowCount():
                self._form.removeRow(0)
            self.edits = {}
            for name in names:
                edit = self.edits[name] = QLineEdit(show_value(self._given[name]) if name in self._given else "", self)
                edit.setAccessibleName(name)
                edit.setPlaceholderText(self.tr("automatic"))
                edit.textChanged.connect(partial(self._note, name))
                self._form.addRow(name, edit)
        self.explanation.setVisible(bool(self.edits))
        self.changed.emit()

    def _note(self, name: str, text: str) -> None:
        self._given.pop(name, None)
        if text.strip():
            self._given[name] = read_value(text.strip())
        self.changed.emit()

    @property
    def own(self) -> str | None:
        """Return the template of one's own; None where chats are written as the file says."""
        text = self.template.toPlainText()
        return text if text.strip() and text != self._of_file else None

    @property
    def variables(self) -> dict[str, Any]:
        return dict(self._given)

    def clear(self) -> None:
        """Leave all to the file."""
        self.template.clear()
        for edit in self.edits.values():
            edit.clear()
        self._given = {}
