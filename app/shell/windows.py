"""Windows and dialogs that are made when they are asked for, each connected with what does its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app.control.compare import CompareController
from app.control.problems import report
from app.shell.library_windows import LibraryWindows
from app.shell.program import Program
from app.shell.settings_windows import SettingsWindows
from app.state.chat.intents import EntryIntent, ShowDetails
from app.state.chat.transcript import Problem
from app.state.compare.compare import CompareKind
from app.system.places import data_folder, flavour
from app.views.compare.dialog import RunDialog
from app.views.widgets.theme import Theme

if TYPE_CHECKING:
    from app.views.commands.palette import CommandPalette, Title


class CompareWindows(QObject):
    """Compare and the sweep, each made when it is asked for the first time. Attribute: dialogs (by kind)."""

    def __init__(self, desk: CompareController, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.dialogs: dict[CompareKind, RunDialog] = {}
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

    def _connect(self, kind: CompareKind, dialog: RunDialog) -> None:
        dialog.start_wanted.connect(lambda prompt, settings: self._desk.start(kind, prompt, settings))
        dialog.cancel_wanted.connect(lambda: self._desk.cancel(kind))
        self.dialogs[kind] = dialog
        dialog.show_run(self._desk.runs[kind])
        dialog.show_pair(self._desk.pair)

    def _show_run(self, kind: CompareKind) -> None:
        dialog = self.dialogs.get(kind)
        if dialog is not None:
            dialog.show_run(self._desk.runs[kind])
            dialog.show_pair(self._desk.pair)

    def _show_pair(self) -> None:
        for dialog in self.dialogs.values():
            dialog.show_pair(self._desk.pair)


class ReportWindows:
    """The error report, and the folder with the log."""

    def __init__(self, parts: Program) -> None:
        self._parts = parts
        parts.window.transcript.intent.connect(self._take)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowDetails):
            self.open_report(intent.problem)

    def open_report(self, problem: Problem) -> None:
        """Show what would be sent to the makers."""
        from app.views.window.error_dialog import ErrorDialog  # noqa: PLC0415 - not before it is asked for

        desk = self._parts.desk
        loaded = desk.models.loaded
        text = report(problem, target=desk.name_of(loaded.target), draft=desk.name_of(loaded.draft))
        dialog = ErrorDialog(text, self._parts.window)
        dialog.log_wanted.connect(self.open_log_folder)
        dialog.show()

    def open_log_folder(self) -> None:
        """Show the folder with the log in the system's file manager; where there is none, say where it is."""
        window, folder = self._parts.window, self._parts.log.path.parent
        there = folder.is_dir()
        if not there or not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            text = window.tr("The log is in {folder}.") if there else window.tr("There is no log in {folder} yet.")
            window.notice.show_trouble(text.format(folder=folder))


class Introduction:
    """Explains the two models, at the first start and whenever it is asked for; made when it is first shown."""

    def __init__(self, parts: Program) -> None:
        self._parts = parts
        parts.window.introduction_left.connect(self._note)
        parts.window.folder_chosen.connect(lambda _folder: parts.window.end_introduction())
        parts.window.new_chat_wanted.connect(parts.window.end_introduction)

    def show(self) -> None:
        """Show it in the place of the conversation."""
        from app.views.window.first_launch import FirstLaunchView  # noqa: PLC0415 - most starts do without

        parts, window = self._parts, self._parts.window
        view = FirstLaunchView(parts.theme, has_demo=parts.desk.models.bundled is not None)
        view.demo_wanted.connect(self._try_demo)
        view.folder_wanted.connect(window.ask_for_folder)
        view.left.connect(self._leave)
        window.introduce(view)
        view.begin()

    def _try_demo(self) -> None:
        parts = self._parts
        bundled = parts.desk.models.bundled
        if bundled is not None and parts.desk.models.selection.target != bundled[0]:
            parts.desk.choose_target(bundled[0])
            parts.desk.choose_draft("automatic")
        self._leave()

    def _leave(self) -> None:
        self._parts.window.end_introduction()
        self._parts.window.enter_prompt()

    def _note(self) -> None:
        self._parts.settings.first_launch = False


def begin_introduction(parts: Program, *, used_before: bool) -> None:
    """Before the window is shown: at the first start of all it begins with this screen."""
    if parts.settings.first_launch and used_before:
        parts.settings.first_launch = False
    elif parts.settings.first_launch:
        parts.window.commands.run("program.introduction")


class HelpWindows:
    """Open the command palette and the shortcut sheet, each made at first use. Attribute: palette."""

    def __init__(self, parts: Program) -> None:
        self._parts = parts
        self.palette: CommandPalette | None = None

    def open_palette(self) -> None:
        """Show the command palette."""
        from app.views.commands.palette import CommandPalette  # noqa: PLC0415 - not before it is asked for

        window = self._parts.window
        if self.palette is None:
            self.palette = CommandPalette(window.commands, self._titles, self._parts.theme, window)
        self.palette.open()

    def open_sheet(self) -> None:
        """Show the shortcut sheet."""
        from app.views.commands.shortcut_sheet import ShortcutSheet  # noqa: PLC0415 - not before it is asked for

        window = self._parts.window
        there = [sheet for sheet in window.findChildren(ShortcutSheet) if sheet.isVisible()]
        sheet = there[0] if there else ShortcutSheet(window.commands, window)
        sheet.show()
        sheet.activateWindow()

    def open_about(self) -> None:
        """Show what this program is, and where its files are."""
        from app.views.window.about import AboutDialog, Whereabouts  # noqa: PLC0415 - not before it is asked for

        settings = self._parts.settings_file.path
        place = Whereabouts(flavour(), str(settings or ""), str(data_folder()), str(self._parts.log.path))
        AboutDialog(place, self._parts.window).open()

    def _titles(self) -> list[Title]:
        from app.views.commands.palette import Title  # noqa: PLC0415 - with the palette

        show = self._parts.controller.open
        return [
            Title(each.title, lambda number=each.id: show(number))  # type: ignore[misc]
            for each in self._parts.conversations.summaries()
            if each.title
        ]


@dataclass(frozen=True, slots=True)
class Windows:
    """All windows beside the main one."""

    proof: CompareWindows
    library: LibraryWindows
    introduction: Introduction
    reports: ReportWindows
    settings: SettingsWindows
    help: HelpWindows

    @classmethod
    def of(cls, parts: Program) -> Windows:
        """Return those of a program."""
        return cls(
            CompareWindows(parts.proof, parts.theme, parts.window),
            LibraryWindows(parts.desk, lambda: parts.controller.activity, parts.theme, parts.window),
            Introduction(parts),
            ReportWindows(parts),
            SettingsWindows(parts),
            HelpWindows(parts),
        )
