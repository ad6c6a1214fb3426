"""The page of the settings on speculation: method, acceptance rule, overlap."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.state.settings.generation import SPECULATION, GenerationChoice
from app.views.settings.fields import OptionField


class SpeculationPage(QWidget):
    """The same for all conversations. Attribute: fields (by name). Signal: changed(GenerationChoice)."""

    changed = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._choice = GenerationChoice()
        self.fields = {name: OptionField(name, self) for name in SPECULATION}
        promise = QLabel(
            self.tr(
                "No option on this page is lossy: replies are always exactly what the target would have written "
                "alone, and only the speed changes. You choose the target, the draft and the lookahead in the "
                "window; choosing n-gram or none as the draft there overrides the method."
            ),
            self,
        )
        promise.setObjectName("hint")
        promise.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 12, 12, 12)
        column.setSpacing(16)
        column.addWidget(promise)
        for field in self.fields.values():
            column.addWidget(field)
            field.changed.connect(self._take)
        column.addStretch(1)

    def show_choice(self, choice: GenerationChoice) -> None:
        """Show what is chosen."""
        self._choice = choice
        for name, field in self.fields.items():
            field.show_value(getattr(choice, name))

    def reset(self) -> None:
        """As where nothing was chosen."""
        self._emit({name: getattr(GenerationChoice(), name) for name in SPECULATION})

    def _take(self, name: str, value: object) -> None:
        self._emit({name: str(value)})

    def _emit(self, values: dict[str, str]) -> None:
        self.show_choice(replace(self._choice, **values))  # type: ignore[arg-type]
        self.changed.emit(self._choice)
