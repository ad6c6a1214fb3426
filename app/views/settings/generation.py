"""Show the page of the settings on the generation of replies: sampling, their end, the system prompt."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QLabel, QRadioButton, QVBoxLayout, QWidget

from app.state.settings.generation import CONVERSATION, GENERATION, GenerationChoice
from app.state.settings.presets import GenerationPreset, SavedItems, SystemPrompt, applied, fits
from app.views.settings.fields import Field
from app.views.settings.saved_items import SavedItemsBar
from app.views.widgets.boxes import in_column, in_grid, in_row
from app.views.widgets.theme import Theme
from app.words.settings import drawing_words, prompt_text

_LABELS, _LONGEST_NAME = 140, 200
_NUMBERS = tuple(name for name in CONVERSATION if GENERATION[name].kind in ("number", "whole"))
_NARROW = 85
"""Characters."""


class GenerationPage(QWidget):
    """Show the options of this conversation, of new ones with the chosen model, or of new ones.

    Attributes: presets, prompts (the shelves' bars), fields (by name). Signals: own_changed(GenerationChoice),
    model_changed(GenerationChoice), defaults_changed(GenerationChoice), replacing(words), replaced() (before and
    after a preset or a prompt is taken).
    """

    replacing = Signal(str)
    replaced = Signal()

    own_changed = Signal(object)
    model_changed = Signal(object)
    defaults_changed = Signal(object)
    _narrow: bool | None = None

    def __init__(
        self, theme: Theme, presets: SavedItems[GenerationPreset], prompts: SavedItems[SystemPrompt], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._own = self._defaults = GenerationChoice()
        self._of_model: GenerationChoice | None = None
        self.own = QRadioButton(self.tr("This chat"), self)
        self.model = QRadioButton(self)
        self.new = QRadioButton(self.tr("New chats"), self)
        self.own.setChecked(True)
        self._which = QButtonGroup(self)
        for button in (self.own, self.model, self.new):
            self._which.addButton(button)
        self.name_model("")
        self._which.buttonToggled.connect(lambda: self._show(anew=True))
        self.presets = SavedItemsBar(theme, presets, self.tr("Preset"), self)
        self.presets.chosen.connect(self._take_preset)
        self.prompts = SavedItemsBar(theme, prompts, self.tr("Library"), self)
        self.prompts.chosen.connect(self._take_prompt)
        self.drawing = QLabel(self)
        self.drawing.setObjectName("hint")
        self.drawing.setWordWrap(True)
        self.fields = {name: Field(GENERATION[name], self) for name in CONVERSATION}
        for field in self.fields.values():
            field.changed.connect(self._take)
        self._lay_out()

    def _lay_out(self) -> None:
        which = in_row(self.own, self.model, self.new, ..., spacing=16)
        self._grid = in_grid(across=12, down=4, stretch=2)
        self._grid.setColumnMinimumWidth(0, _LABELS)
        column = in_column(
            which,
            self._title(self.tr("Sampling")),
            self.presets,
            self.drawing,
            margins=(0, 12, 12, 12),
            spacing=12,
            parent=self,
        )
        # Empty as yet: PySide keeps wrappers of the items that it finds in a layout that is added, folding deletes
        # those items, and a widget that Qt then puts at the same address would be taken for the item.
        column.addLayout(self._grid)
        self._fold()
        column.addLayout(self._block("stop"))
        column.addLayout(self._block("schema"))
        column.addWidget(self._title(self.tr("System prompt")))
        column.addWidget(self.prompts)
        column.addLayout(self._block("system"))
        column.addStretch(1)

    def _fold(self) -> None:
        """Put the hint below its field in a narrow window or with a large font."""
        narrow = self.width() < self.fontMetrics().averageCharWidth() * _NARROW
        if narrow != self._narrow:
            self._narrow = narrow
            for row, name in enumerate(_NUMBERS):
                self.fields[name].put_into(self._grid, 2 * row, narrow=narrow)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._fold()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._narrow is not None:
            for field in self.fields.values():
                field.fit_font(self.fontMetrics())
            self._fold()

    def _title(self, words: str) -> QLabel:
        title = QLabel(words, self)
        title.setObjectName("settingsTitle")
        return title

    def _block(self, name: str) -> QVBoxLayout:
        """Build a block for several lines: name above (unless the title has it), meaning below."""
        field = self.fields[name]
        block = QVBoxLayout()
        block.setSpacing(4)
        if name == "system":
            field.label.hide()
        else:
            block.addWidget(field.label)
        block.addWidget(field.edit)
        block.addWidget(field.hint)
        return block

    # What is chosen ---------------------------------------------------------------------------------------------------

    @property
    def choice(self) -> GenerationChoice:
        if self.own.isChecked():
            return self._own
        return self._start if self.model.isChecked() else self._defaults

    @property
    def _start(self) -> GenerationChoice:
        return self._defaults if self._of_model is None else self._of_model

    def name_model(self, name: str) -> None:
        """Show the name of the chosen model; "": none that is here."""
        shown = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, _LONGEST_NAME)
        self.model.setText(self.tr("New chats with {model}").format(model=shown.replace("&", "&&")))
        self.model.setVisible(bool(name))
        if not name and self.model.isChecked():
            self.new.setChecked(True)

    def show_choices(
        self,
        own: GenerationChoice,
        defaults: GenerationChoice,
        of_model: GenerationChoice | None = None,
        *,
        anew: bool = False,
    ) -> None:
        """Show the settings of replies. `anew`: also in fields with an invalid value."""
        self._own, self._defaults, self._of_model = own, defaults, of_model
        self._show(anew=anew)

    def reset(self) -> None:
        """Reset all as where nothing was chosen; of this conversation, and those with a model: as new ones are."""
        start = self._start if self.own.isChecked() else self._defaults
        self._emit(GenerationChoice() if self.new.isChecked() else start)
        self._show(anew=True)

    def show_saved(self) -> None:
        choice = self.choice
        preset = next((each for each in self.presets.saved if fits(each, choice)), None)
        self.presets.show_saved(None if preset is None else self.presets.saved.shown(preset), self.tr("Custom values"))
        saved = self.prompts.saved
        prompt = next((each for each in saved if choice.system in (each.text, prompt_text(each))), None)
        has_text = bool(choice.system.strip())
        missing = self.tr("Custom text") if has_text else self.tr("None")
        self.prompts.show_saved(None if prompt is None else saved.shown(prompt), missing, can_save=has_text)

    def _show(self, *, anew: bool) -> None:
        choice = self.choice
        for field in self.fields.values():
            field.show(choice, anew=anew)
        self.drawing.setText(drawing_words(choice))
        self.show_saved()

    def _take(self, name: str, value: object) -> None:
        changed = self.choice.with_value(name, value)
        if changed is not None:
            self._emit(changed)

    def _take_preset(self, name: str) -> None:
        preset = self.presets.saved.find(name)
        if preset is not None:
            self.replacing.emit(name)
            self._emit(applied(preset, self.choice))
            self._show(anew=True)
            self.replaced.emit()

    def _take_prompt(self, name: str) -> None:
        prompt = self.prompts.saved.find(name)
        if prompt is not None:
            self.replacing.emit(name)
            self._take("system", prompt_text(prompt))
            self._show(anew=True)
            self.replaced.emit()

    def _emit(self, choice: GenerationChoice) -> None:
        if self.own.isChecked():
            self._own = choice
            self.own_changed.emit(choice)
        elif self.model.isChecked():
            self._of_model = choice
            self.model_changed.emit(choice)
        else:
            self._defaults = choice
            self.defaults_changed.emit(choice)
