"""Open the settings, and carry out their actions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject

from app.shell.program import Program
from app.shell.servers.switch import ServerControl
from app.shell.settings_undo import SettingsUndo
from app.shell.tools_control import ToolsControl
from app.state.settings.generation import PRESET, GenerationChoice
from app.state.settings.presets import (
    LARGEST_FILE,
    GenerationPreset,
    PresetsRefused,
    SavedItems,
    SystemPrompt,
    presets,
    prompts,
    with_recommended,
)
from engine.host import write_whole

if TYPE_CHECKING:
    from app.views.settings.dialog import PageName, SettingsDialog
    from app.views.settings.generation import GenerationPage
    from app.views.settings.shelf import ShelfBar


class SettingsWindows(QObject):
    """Hold the settings dialog, which is made on first use. Attributes: dialog; server (its switch); tools."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self.dialog: SettingsDialog | None = None
        self._program = program
        self.server = ServerControl(program)
        self.tools = ToolsControl(program)
        self._undo = SettingsUndo(program)
        program.controller.choices.changed.connect(self._show_choices)
        program.autosave.changed.connect(self._show_settings)
        program.window.closed.connect(self._close)

    def open(self, page: PageName | None = None) -> None:
        """Show the settings, at a page (None: the one that was shown last)."""
        from app.views.settings.dialog import SettingsDialog  # noqa: PLC0415 - not before it is asked for
        from app.words.settings import preset_names, prompt_names  # noqa: PLC0415 - with it

        if self.dialog is None:
            settings = self._program.settings
            sampling, texts = presets(settings.presets), prompts(settings.prompts)
            sampling.words, texts.words = preset_names(), prompt_names()
            self.dialog = SettingsDialog(self._program.theme, sampling, texts, self._program.window)
            self._connect(self.dialog)
        self.dialog.open_at(page)

    def open_generation(self, *, of_model: bool = False) -> None:
        """Open the generation settings of this conversation, or those of new ones with the chosen model."""
        self.open("generation")
        if of_model and self.dialog is not None:
            self.dialog.generation.model.setChecked(True)

    def _close(self) -> None:
        if self.dialog is not None:
            self.dialog.close()

    def _connect(self, dialog: SettingsDialog) -> None:
        choices, page = self._program.controller.choices, dialog.generation
        dialog.shown.connect(self._fill)
        dialog.replacing.connect(self._undo.begin)
        dialog.replaced.connect(self._note_replaced)
        dialog.undo_wanted.connect(self._bring_back)
        dialog.general.changed.connect(self._set)
        dialog.speculation.changed.connect(self._speculate)
        self.tools.attach(dialog.tools)
        dialog.shown.connect(self.tools.show)
        self.server.attach(dialog.server)
        dialog.shown.connect(self.server.follow)
        page.own_changed.connect(choices.choose)
        page.model_changed.connect(choices.choose_for_model)
        page.defaults_changed.connect(choices.choose_defaults)
        page.presets.save_wanted.connect(lambda name: self._save(page.presets, _preset(name, page.choice)))
        page.prompts.save_wanted.connect(lambda name: self._save(page.prompts, SystemPrompt(name, page.choice.system)))
        for bar in (page.presets, page.prompts):
            bar.rename_wanted.connect(lambda name, new, bar=bar: self._change(bar, lambda: bar.saved.rename(name, new)))
            bar.delete_wanted.connect(lambda name, bar=bar: self._delete(bar, name))
            bar.import_wanted.connect(lambda bar=bar: self._import(bar))
            bar.export_wanted.connect(lambda bar=bar: self._export(bar))

    # What is set ------------------------------------------------------------------------------------------------------

    def _set(self, name: str, value: Any) -> None:
        """Set a setting; its dependents are notified by the keeper of the settings, or read it when they act."""
        setattr(self._program.settings, name, value)

    def _speculate(self, name: str, value: Any) -> None:
        choices = self._program.controller.choices
        changed = choices.defaults.with_value(name, value)
        if changed is not None:
            choices.choose_speculation(changed)

    def _fill(self) -> None:
        if self.dialog is not None:
            self.dialog.show_settings(self._program.settings)
            choices = self._program.controller.choices
            with_recommended(self.dialog.generation.presets.saved, choices.recommended)
            self._show_own(self.dialog.generation, anew=True)

    def _show_settings(self) -> None:
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.show_settings(self._program.settings)

    def _show_choices(self) -> None:
        if self.dialog is not None and self.dialog.isVisible():
            choices = self._program.controller.choices
            with_recommended(self.dialog.generation.presets.saved, choices.recommended)
            self._show_own(self.dialog.generation)

    def _show_own(self, page: GenerationPage, *, anew: bool = False) -> None:
        models, choices = self._program.models, self._program.controller.choices
        target = models.list.selection.target
        page.name_model(models.name_of(target) if isinstance(target, Path) else "")
        page.show_choices(choices.own, choices.defaults, choices.of_model, anew=anew)

    # Presets and prompts ----------------------------------------------------------------------------------------------

    def _save(self, bar: ShelfBar, item: GenerationPreset | SystemPrompt) -> None:
        self._change(bar, lambda: bar.saved.save(item))

    def _delete(self, bar: ShelfBar, name: str) -> None:
        self._undo.begin(QCoreApplication.translate("Settings", "deleting {name}").format(name=name))
        self._change(bar, lambda: bar.saved.delete(name))
        self._note_replaced()

    def _note_replaced(self) -> None:
        self._undo.end()
        if self.dialog is not None:
            self.dialog.show_undo(self._undo.words)

    def _bring_back(self) -> None:
        """Undo the last change of many values, and show the restored ones."""
        if self.dialog is None:
            return
        self._undo.undo()
        settings, page = self._program.settings, self.dialog.generation
        page.presets.saved.own[:] = presets(settings.presets).own
        page.prompts.saved.own[:] = prompts(settings.prompts).own
        self._program.controller.choices.read_again()
        self.server.obey()
        self._fill()
        self.dialog.show_undo(self._undo.words)

    def _change(self, bar: ShelfBar, change: Any) -> None:
        change()
        self._keep(bar.saved)
        bar.say("")

    def _keep(self, saved: SavedItems[Any]) -> None:
        """Save the entries of a shelf in the settings."""
        if self.dialog is None:
            return
        name = "presets" if saved is self.dialog.generation.presets.saved else "prompts"
        setattr(self._program.settings, name, saved.to_list())
        self.dialog.generation.show_saved()

    def _import(self, bar: ShelfBar) -> None:
        from app.views.window.file_dialogs import ask_what_to_open  # noqa: PLC0415 - not before it is asked for

        path = ask_what_to_open(bar.window(), self._program.settings, QCoreApplication.translate("Settings", "Import"))
        if path is not None:
            self.import_(bar, path)

    def import_(self, bar: ShelfBar, path: Path) -> None:
        """Import a file of presets or prompts, and report the result."""
        from app.words.settings import imported_words, refusal_words  # noqa: PLC0415 - with the dialog

        try:
            with path.open("rb") as file:
                added, renamed = bar.saved.import_(file.read(LARGEST_FILE + 1))
        except PresetsRefused as refused:
            bar.say(refusal_words(refused, path.name), wrong=True)
        except OSError as error:
            words = QCoreApplication.translate("Settings", "Cannot read {name}: {reason}.")
            bar.say(words.format(name=path.name, reason=error.strerror), wrong=True)
        else:
            self._keep(bar.saved)
            bar.say(imported_words(added, renamed))

    def _export(self, bar: ShelfBar) -> None:
        from app.views.window.file_dialogs import ask_where_to_put  # noqa: PLC0415 - not before it is asked for

        is_presets = self.dialog is not None and bar is self.dialog.generation.presets
        name = "outrider presets.json" if is_presets else "outrider prompts.json"
        title = QCoreApplication.translate("Settings", "Export")
        path = ask_where_to_put(bar.window(), self._program.settings, title, name)
        if path is not None:
            self.export(bar, path)

    def export(self, bar: ShelfBar, path: Path) -> None:
        """Export the user's own items into a file, and report the result."""
        try:
            write_whole(path, bar.saved.export().encode())
        except OSError as error:
            words = QCoreApplication.translate("Settings", "Cannot write {name}: {reason}. Choose another folder.")
            bar.say(words.format(name=path.name, reason=error.strerror), wrong=True)
        else:
            words = QCoreApplication.translate("Settings", "Exported to {path}.")
            bar.say(words.format(path=path))


def _preset(name: str, choice: GenerationChoice) -> GenerationPreset:
    """Return the part of a choice that a preset holds."""
    return GenerationPreset(" ".join(name.split()), GenerationChoice.from_mapping(choice.to_mapping(PRESET)))
