"""Open the settings, and carry out their actions."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QFileDialog, QMenu

from app.control.problems import describe
from app.settings.settings import SETTINGS
from app.shell.program import Program
from app.shell.servers.switch import ServerControl
from app.state.conversations.conversation import Conversation
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
from app.system.translation import tr
from engine import EngineError, Permission
from engine.host import ServerConfig, write_whole

if TYPE_CHECKING:
    from app.views.settings.dialog import PageName, SettingsDialog
    from app.views.settings.generation import GenerationPage
    from app.views.settings.saved_items import SavedItemsBar
    from app.views.settings.tools import ToolsPage
    from engine.host import ServersElsewhere


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

    def _save(self, bar: SavedItemsBar, item: GenerationPreset | SystemPrompt) -> None:
        self._change(bar, lambda: bar.saved.save(item))

    def _delete(self, bar: SavedItemsBar, name: str) -> None:
        self._undo.begin(tr("Settings", "deleting {name}").format(name=name))
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

    def _change(self, bar: SavedItemsBar, change: Any) -> None:
        change()
        self._keep(bar.saved)
        bar.say("")

    def _keep(self, saved: SavedItems[Any]) -> None:
        if self.dialog is None:
            return
        name = "presets" if saved is self.dialog.generation.presets.saved else "prompts"
        setattr(self._program.settings, name, saved.to_list())
        self.dialog.generation.show_saved()

    def _import(self, bar: SavedItemsBar) -> None:
        from app.views.window.file_dialogs import ask_what_to_open  # noqa: PLC0415 - not before it is asked for

        path = ask_what_to_open(bar.window(), self._program.settings, tr("Settings", "Import"))
        if path is not None:
            self.import_(bar, path)

    def import_(self, bar: SavedItemsBar, path: Path) -> None:
        from app.words.settings import imported_words, refusal_words  # noqa: PLC0415 - with the dialog

        try:
            with path.open("rb") as file:
                added, renamed = bar.saved.import_(file.read(LARGEST_FILE + 1))
        except PresetsRefused as refused:
            bar.say(refusal_words(refused, path.name), wrong=True)
        except OSError as error:
            words = tr("Settings", "Cannot read {name}: {reason}.")
            bar.say(words.format(name=path.name, reason=error.strerror), wrong=True)
        else:
            self._keep(bar.saved)
            bar.say(imported_words(added, renamed))

    def _export(self, bar: SavedItemsBar) -> None:
        from app.views.window.file_dialogs import ask_where_to_put  # noqa: PLC0415 - not before it is asked for

        is_presets = self.dialog is not None and bar is self.dialog.generation.presets
        name = "outrider presets.json" if is_presets else "outrider prompts.json"
        title = tr("Settings", "Export")
        path = ask_where_to_put(bar.window(), self._program.settings, title, name)
        if path is not None:
            self.export(bar, path)

    def export(self, bar: SavedItemsBar, path: Path) -> None:
        try:
            write_whole(path, bar.saved.export().encode())
        except OSError as error:
            words = tr("Settings", "Cannot write {name}: {reason}. Choose another folder.")
            bar.say(words.format(name=path.name, reason=error.strerror), wrong=True)
        else:
            words = tr("Settings", "Exported to {path}.")
            bar.say(words.format(path=path))


def _preset(name: str, choice: GenerationChoice) -> GenerationPreset:
    """Return the part of a choice that a preset holds."""
    return GenerationPreset(" ".join(name.split()), GenerationChoice.from_mapping(choice.to_mapping(PRESET)))


_MOST = 100
_BESIDE = (
    *("sampling", "next_sampling", "model_choices", "presets", "prompts"),
    *("server_on", "server_host", "server_port", "server_names"),
)
_NAMES = (*(name for name, each in SETTINGS.items() if each.page is not None), *_BESIDE)


@dataclass(frozen=True, slots=True)
class _State:
    """Hold the settings that the dialog can change. `chat`: the one whose `own` settings are among them."""

    values: dict[str, Any]
    chat: Conversation | None
    own: dict[str, Any]


class SettingsUndo:
    """Keep the values before each change, for as long as the program runs.

    What was changed again since is left as it is.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._before: tuple[str, _State] | None = None
        self._done: deque[tuple[str, _State, _State]] = deque(maxlen=_MOST)

    @property
    def words(self) -> str:
        """Name the change that would be undone; empty for none."""
        return self._done[-1][0] if self._done else ""

    def begin(self, words: str) -> None:
        """Store the values before a change of many."""
        self._before = (words, self._now())

    def end(self) -> None:
        """Store the values after the change."""
        if self._before is not None:
            (words, before), after = self._before, self._now()
            self._before = None
            if before != after:
                self._done.append((words, before, after))

    def undo(self) -> None:
        if not self._done:
            return
        _, before, after = self._done.pop()
        settings, conversations = self._program.settings, self._program.conversations
        for name, value in _merged(before.values, after.values, self._now().values).items():
            setattr(settings, name, value)
        if before.chat is not None:
            conversations.set_settings(before.chat, _merged(before.own, after.own, before.chat.settings))

    def _now(self) -> _State:
        chat = self._program.conversations.open
        values = {name: getattr(self._program.settings, name) for name in _NAMES}
        return _State(values, chat, {} if chat is None else dict(chat.settings))


def _merged(before: Mapping[str, Any], after: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the present settings with this change taken back."""
    merged = dict(now)
    for name in {*before, *after}:
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if now.get(name) == new:
            merged[name] = old
        elif isinstance(old, list) and isinstance(new, list):
            kept = [each for each in now.get(name, ()) if each in old or each not in new]
            merged[name] = [*kept, *(each for each in old if each not in new and _name(each) not in map(_name, kept))]
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            merged[name] = _merged(old, new, now.get(name, {}))
    return {name: value for name, value in merged.items() if value is not None or name in before}


def _name(item: Mapping[str, Any]) -> str:
    return str(item.get("name", "")).casefold()


class ToolsControl(QObject):
    """Connect the page of tools with the desk that has them."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self._desk = program.controller.tools
        self._page: ToolsPage | None = None

    def attach(self, page: ToolsPage) -> None:
        self._page, desk = page, self._desk
        page.builtin_switched.connect(lambda name, on: desk.switch_builtin(name, on=on))
        page.folders_changed.connect(lambda folders: desk.choose(replace(desk.choice, folders=tuple(folders))))
        page.folder_wanted.connect(self._ask_for_folder)
        page.limit_changed.connect(lambda limit: desk.choose(replace(desk.choice, limit=limit)))
        page.server_switched.connect(lambda name, on: desk.switch_server(name, on=on))
        page.server_added.connect(self._add)
        page.pasted.connect(self._paste)
        page.elsewhere_wanted.connect(lambda: desk.look_elsewhere(self._offer))
        page.server_removed.connect(desk.remove)
        page.log_wanted.connect(lambda name: desk.read_log(name, partial(page.show_log, name)))
        page.tool_switched.connect(lambda key, on: desk.switch_tool(key, on=on))
        page.permission_chosen.connect(self._choose_permission)
        page.writing_allowed.connect(lambda key, on: desk.allow_writing_always(key, allowed=on))
        desk.changed.connect(self.show)

    def show(self) -> None:
        page = self._page
        if page is not None:
            page.show_choice(self._desk.choice)
            page.show_hosts(self._desk.hosts())
            if self._desk.problem:
                page.say(self._desk.problem, wrong=True)

    def _ask_for_folder(self) -> None:
        words = tr("Tools", "A folder whose files may be read")
        page = self._page
        folder = "" if page is None else QFileDialog.getExistingDirectory(page.window(), words, str(Path.home()))
        if folder and page is not None:
            page.add_folder(folder)

    def _add(self, name: str, where: str) -> None:
        page = self._page
        if page is None:
            return
        try:
            if where.startswith(("http://", "https://")):
                config = ServerConfig(name or where.split("/")[2][:64], url=where)
            else:
                command, *rest = shlex.split(where)
                config = ServerConfig(name or Path(command).stem[:64], command, tuple(rest))
        except ValueError:  # A quotation mark that is not closed.
            page.say(tr("Tools", "Check the quotation marks in the command."), wrong=True)
        except EngineError as error:
            page.say(describe(error).text, wrong=True)
        else:
            page.clear_fields()
            page.say("")
            self._desk.add([config])

    def _paste(self, text: str) -> None:
        try:
            added = self._desk.add_text(text)
        except EngineError as error:
            self._say(describe(error).text, wrong=True)
        else:
            self._tell_added(added)

    def _offer(self, found: tuple[ServersElsewhere, ...]) -> None:
        """Offer the servers of other programs in a menu."""
        if self._page is None or not self._page.isVisible():
            return
        if not found:
            self._say(tr("Tools", "No other program with tool servers was found."))
            return
        menu = QMenu(self._page)
        for each in found:
            names = ", ".join(server.name for server in each.servers)
            words = f"{each.program}: {names}"[:100].replace("&", "&&")
            action = menu.addAction(words)
            action.setEnabled(bool(each.servers))
            action.triggered.connect(lambda _on=False, each=each: self._tell_added(self._desk.add(each.servers)))
        menu.popup(QCursor.pos())

    def _tell_added(self, names: tuple[str, ...]) -> None:
        words = tr("Tools", "Added, and not started: {names}. Tick those that you want.")
        self._say(words.format(names=", ".join(names)))

    def _say(self, words: str, *, wrong: bool = False) -> None:
        if self._page is not None:
            self._page.say(words, wrong=wrong)

    def _choose_permission(self, key: str, permission: Permission | None) -> None:
        try:
            self._desk.set_permission(key, permission)
        except EngineError as error:
            self._say(describe(error).text, wrong=True)
        self.show()
