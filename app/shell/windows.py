"""Create windows and dialogs at their first use, each connected with its controller."""

from __future__ import annotations

from asyncio import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from app.control.downloads import Downloads
from app.control.models import ModelController
from app.control.problems import describe, report
from app.shell.compare_windows import CompareWindows
from app.shell.library_windows import LibraryWindows
from app.shell.program import Program
from app.shell.projects import ProjectWindows
from app.shell.proofs import Proofs
from app.shell.servers.windows import ServerWindows
from app.shell.settings_windows import SettingsWindows
from app.state.chat.attachments import split_question
from app.state.chat.citations import sources_in
from app.state.chat.intents import (
    EditReply,
    EntryIntent,
    ReadAloud,
    ShowDetails,
    ShowPicture,
    ShowPrompt,
    ShowReplay,
    ShowRewrite,
    ShowSource,
)
from app.state.chat.transcript import Exchange, Problem
from app.state.models.downloads import Download
from app.state.replay.timeline import Replay
from app.system.places import data_folder, flavour
from app.system.translation import say
from app.views.chat.aloud import Aloud
from app.words.documents import given_words, part_words
from app.words.models import facts_words
from engine import Cancelled, ReadPrompt
from engine.host import download_folder, packaged_models

if TYPE_CHECKING:
    from app.state.chat.trace import TokenTrace
    from app.views.chat.rewrite import RewriteDialog
    from app.views.commands.palette import CommandPalette, Title
    from app.views.models.get_models import GetModelsDialog
    from app.views.replay.dialog import ReplayDialog
    from app.views.window.first_launch import FirstLaunchView
    from app.views.window.main_window import MainWindow

_SHOWN_PROMPT = "Tell me a story about a dragon."
"""In the language of the demo pair."""
_MOST_TITLES = 2_000
"""Chats that the palette finds, those of the latest: the search finds all."""


class ReportWindows:
    """Show the error report, and the folder with the log."""

    def __init__(self, program: Program) -> None:
        self._program = program
        program.window.transcript.intent.connect(self._take)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowDetails):
            self.open_report(intent.problem)

    def open_report(self, problem: Problem) -> None:
        """Show the report that would be sent to the makers."""
        from app.views.window.error_dialog import ErrorDialog  # noqa: PLC0415 - not before it is asked for

        models = self._program.models
        loaded = models.list.loaded
        text = report(problem, target=models.name_of(loaded.target), draft=models.name_of_drafts(loaded))
        dialog = ErrorDialog(text, self._program.window)
        dialog.log_wanted.connect(self.open_log_folder)
        dialog.show()

    def open_log_folder(self) -> None:
        """Open the log's folder in the system's file manager; if there is none, show its path."""
        window, folder = self._program.window, self._program.log.path.parent
        there = folder.is_dir()
        if not there or not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            text = window.tr("The log is in {folder}.") if there else window.tr("There is no log in {folder} yet.")
            window.notice.show_trouble(text.format(folder=folder))


class PromptWindows:
    """Show the prompts of a conversation, as the model reads them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        program.window.transcript.intent.connect(self._take)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowPrompt):
            program, replies = self._program, intent.part == "question"
            if program.controller.replies.running is not None:
                words = program.window.tr("It is shown as soon as the reply in another chat is written.")
                program.window.notice.show_word(words)
            messages = program.controller.transcript.messages_until(intent.exchange, reply=not replies)
            job = program.bridge.read_prompt(messages, program.controller.choices.read, reply_next=replies)
            notes = _given_notes(program, intent.exchange)
            job.result.add_done_callback(lambda result: self._show(result, notes))

    def _show(self, result: Future[ReadPrompt], notes: list[str]) -> None:
        from app.views.window.prompt_dialog import PromptDialog  # noqa: PLC0415 - not before it is asked for

        program, error = self._program, None if result.cancelled() else result.exception()
        if result.cancelled() or isinstance(error, Cancelled) or not program.window.isVisible():
            return
        if error is not None:
            program.controller.report(describe(error))
            return
        read = result.result()
        PromptDialog(read, [*notes, *map(say, read.notes)], program.theme, program.window).show()


def _given_notes(program: Program, exchange: Exchange) -> list[str]:
    """Describe the parts of documents in a question, and the score of each, where the documents are kept."""
    typed, _ = split_question(exchange.question)
    given: dict[str, list[str]] = {}
    for source in sources_in(exchange.question):
        held = program.documents.of(source.name)
        score = None if held is None else held.ready.score_of(source.part.text, typed)
        given.setdefault(source.name, []).append(part_words(source, score))
    notes = []
    for name, parts in given.items():
        held = program.documents.of(name)
        chosen = held is not None and len(parts) < len(held.ready.parts)
        notes.append(given_words(name, parts if chosen else [], 0 if held is None else len(held.ready.parts)))
    return notes


class ReaderWindows:
    """Show documents at the places that replies cite, and the pictures of questions; read replies aloud."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.aloud = Aloud(program.theme, program.window)
        program.window.closed.connect(self.aloud.speech.stop)
        program.window.transcript.intent.connect(self._take)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowSource):
            from app.views.window.reader import Reader  # noqa: PLC0415 - not before it is asked for

            program, source = self._program, intent.source
            held = program.documents.of(source.name)
            draw = None
            if held is not None and held.kept.source:
                draw = partial(program.documents.picture, source.name)
            Reader(source, None if held is None else held.document, draw, program.theme, program.window).show()
        elif isinstance(intent, ReadAloud):
            view = self._program.window.transcript.view_of(intent.exchange)
            if view is not None and (reason := self.aloud.toggle(view.reply)):
                self._program.window.notice.show_passing_trouble(reason)
        elif isinstance(intent, ShowPicture):
            shown = intent.shown
            if shown is None:
                from app.views.window.large_picture import LargePicture  # noqa: PLC0415 - not before it is asked for

                window = LargePicture(intent.name, self._program.window)
                window.show()
                shown = window.show_picture
            self._program.documents.show_picture(intent.number, intent.most, shown)


class Introduction:
    """Explain the two models, at the first start and on request; created at its first use."""

    def __init__(self, program: Program, models: GetModelsWindows) -> None:
        self._program, self._models = program, models
        self._view: FirstLaunchView | None = None
        program.compare.rehearsed.connect(self._play)
        program.window.introduction_ended.connect(self._note)
        program.window.folder_chosen.connect(self._leave_for_folder)
        program.window.new_chat_wanted.connect(program.window.end_introduction)

    def show(self) -> None:
        """Show it in the place of the conversation."""
        from app.views.window.first_launch import FirstLaunchView  # noqa: PLC0415 - most starts do without

        program, window = self._program, self._program.window
        view = FirstLaunchView(program.theme, has_demo=program.models.list.bundled is not None)
        view.demo_wanted.connect(self._try_demo)
        view.folder_wanted.connect(window.ask_for_folder)
        view.small_model_wanted.connect(self._get_small)
        view.closed.connect(self._leave)
        window.introduce(view)
        view.begin()
        self._view = view
        # What is replayed here stands in no chat.
        program.compare.rehearse(_SHOWN_PROMPT)

    def _play(self, trace: TokenTrace) -> None:
        if self._view is not None and len(trace):
            self._view.play(Replay(trace, _SHOWN_PROMPT))

    def _get_small(self) -> None:
        self._leave()
        self._models.open(get=packaged_models()[0].name)

    def _try_demo(self) -> None:
        program = self._program
        bundled = program.models.list.bundled
        if bundled is not None and program.models.list.selection.target != bundled[0]:
            program.models.choose_target(bundled[0])
            program.models.choose_draft("automatic")
        self._leave()

    def _leave(self) -> None:
        self._program.window.end_introduction()
        self._program.window.enter_prompt()

    def _leave_for_folder(self) -> None:
        if self._view is not None:
            self._leave()

    def _note(self) -> None:
        self._view = None
        self._program.settings.first_launch = False


def begin_introduction(program: Program, *, used_before: bool) -> None:
    """Begin with this screen at the first start of all, before the window is shown."""
    if program.settings.first_launch and used_before:
        program.settings.first_launch = False
    elif program.settings.first_launch:
        program.window.commands.run("program.introduction")


class HelpWindows:
    """Open the command palette and the shortcut sheet, each made at first use. Attribute: palette."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.palette: CommandPalette | None = None

    def open_palette(self) -> None:
        from app.views.commands.palette import CommandPalette  # noqa: PLC0415 - not before it is asked for

        window = self._program.window
        if self.palette is None:
            self.palette = CommandPalette(window.commands, self._titles, self._program.theme, window)
        self.palette.open()

    def open_sheet(self) -> None:
        from app.views.commands.shortcut_sheet import ShortcutSheet  # noqa: PLC0415 - not before it is asked for

        window = self._program.window
        there = [sheet for sheet in window.findChildren(ShortcutSheet) if sheet.isVisible()]
        sheet = there[0] if there else ShortcutSheet(window.commands, window)
        sheet.show()
        sheet.activateWindow()

    def open_about(self) -> None:
        from app.views.window.about import AboutDialog, Whereabouts  # noqa: PLC0415 - not before it is asked for

        settings = self._program.settings_file.path
        models = tuple(facts_words(each) for each in self._program.bridge.facts)
        place = Whereabouts(flavour(), str(settings or ""), str(data_folder()), str(self._program.log.path), models)
        AboutDialog(place, self._program.window).open()

    def _titles(self) -> list[Title]:
        from app.views.commands.palette import Title  # noqa: PLC0415 - with the palette

        show = self._program.controller.open
        return [
            Title(each.title, lambda number=each.id: show(number))  # type: ignore[misc]
            for each in self._program.conversations.summaries()[:_MOST_TITLES]
            if each.title
        ]


@dataclass(frozen=True, slots=True)
class Windows:
    """Hold all windows beside the main one."""

    compare: CompareWindows
    library: LibraryWindows
    get_models: GetModelsWindows
    introduction: Introduction
    replay: ReplayWindows
    rewrite: RewriteWindows
    proofs: Proofs
    reports: ReportWindows
    prompts: PromptWindows
    readers: ReaderWindows
    settings: SettingsWindows
    servers: ServerWindows
    projects: ProjectWindows
    help: HelpWindows

    @classmethod
    def of(cls, program: Program) -> Windows:
        get_models = GetModelsWindows(program.downloads, program.models, program.window)
        return cls(
            CompareWindows(program.compare, program.theme, program.settings, program.window),
            LibraryWindows(program.models, lambda: program.controller.activity, program.theme, program.window),
            get_models,
            Introduction(program, get_models),
            ReplayWindows(program),
            RewriteWindows(program),
            Proofs(program),
            ReportWindows(program),
            PromptWindows(program),
            ReaderWindows(program),
            SettingsWindows(program),
            ServerWindows(program),
            ProjectWindows(program),
            HelpWindows(program),
        )


class ReplayWindows:
    """Play kept replies again. Attribute: dialog (the last one that was opened)."""

    def __init__(self, program: Program) -> None:
        self.dialog: ReplayDialog | None = None
        self._program = program
        program.window.transcript.intent.connect(self._take)
        program.window.closed.connect(self.close)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowReplay):
            self.open(intent.exchange)

    def open_last(self) -> None:
        """Play the last reply of the chat that is shown."""
        replies = [each for each in self._program.controller.transcript.entries if isinstance(each, Exchange)]
        done = [each for each in replies if each.ended and each.reply]
        if done:
            self._program.controller.conversations.load_trace(done[-1])
            self.open(done[-1])

    def open(self, exchange: Exchange) -> None:
        """Play a reply; one without a record of its tokens says so."""
        from app.views.replay.dialog import ReplayDialog  # noqa: PLC0415 - not before it is asked for

        window = self._program.window
        if exchange.trace is None or not len(exchange.trace):
            window.notice.show_passing_trouble(
                window.tr("There is no token record for this reply, so it cannot be replayed.")
            )
            return
        self.close()
        stats = exchange.stats
        plain = self._program.controller.replies.metrics.plain_speed if stats is None else stats.plain_tokens_per_second
        replay = Replay(exchange.trace, exchange.question, 1000.0 / plain if plain else None)
        self.dialog = ReplayDialog(replay, self._program.theme, window)
        self.dialog.begin()

    def close(self) -> None:
        if self.dialog is not None:
            self.dialog.close()
            self.dialog.deleteLater()
            self.dialog = None


class RewriteWindows:
    """Rewrite replies. Attribute: dialog (the last one that was opened)."""

    def __init__(self, program: Program) -> None:
        self.dialog: RewriteDialog | None = None
        self._program = program
        self._written: Exchange | None = None
        program.window.transcript.intent.connect(self._take)
        program.window.closed.connect(self.close)
        program.controller.reply_grew.connect(lambda exchange, _text: self._show(exchange))
        program.controller.any_reply_ended.connect(self._show)

    def _take(self, intent: EntryIntent) -> None:
        if isinstance(intent, ShowRewrite):
            self.open(intent.exchange)

    def open(self, exchange: Exchange) -> None:
        from app.views.chat.rewrite import RewriteDialog  # noqa: PLC0415 - not before it is asked for

        self.close()
        dialog = self.dialog = RewriteDialog(exchange.shown, self._program.theme, self._program.window)
        dialog.wanted.connect(self._rewrite)
        dialog.stopped.connect(self._program.controller.cancel)
        dialog.kept.connect(self._keep)
        dialog.destroyed.connect(self._forget)
        dialog.show()

    def _rewrite(self, text: str, what: str) -> None:
        written, dialog = self._program.controller.rewrite(text, what), self.dialog
        if written is not None:
            self._written = written
        elif dialog is not None:
            dialog.refuse()

    def _show(self, exchange: Exchange) -> None:
        if self.dialog is not None and exchange is self._written:
            self.dialog.show_new(exchange.shown, ended=exchange.ended)

    def _keep(self, text: str) -> None:
        if self._written is not None:
            self._program.controller.carry_out(EditReply(self._written, text))

    def _forget(self) -> None:
        self.dialog = self._written = None

    def close(self) -> None:
        if self.dialog is not None:
            self.dialog.destroyed.disconnect(self._forget)
            self.dialog.close()
        self._forget()


class GetModelsWindows(QObject):
    """Hold the dialog, which is made on first use. Attributes: downloads, dialog."""

    def __init__(self, downloads: Downloads, models: ModelController, parent: MainWindow) -> None:
        super().__init__(parent)
        self.dialog: GetModelsDialog | None = None
        self.downloads = downloads
        self._models, self._window = models, parent
        self.downloads.changed.connect(self._show)
        self.downloads.arrived.connect(self._arrived)
        self.downloads.removed.connect(models.scan_again)

    def open(self, get: str = "") -> None:
        """Show it. `get`: a model to download at once."""
        if self.dialog is None:
            self.dialog = self._made()
        self.downloads.look_around()
        self.downloads.recommend()
        self._show()
        self.dialog.open()
        if get:
            self.downloads.get(get)

    def close(self) -> None:
        """End the downloads with the window; their bytes stay."""
        self.downloads.stop()
        if self.dialog is not None:
            self.dialog.close()

    def _made(self) -> GetModelsDialog:
        from app.views.models.get_models import GetModelsDialog  # noqa: PLC0415 - not before it is asked for

        dialog, downloads = GetModelsDialog(packaged_models(), self._window), self.downloads
        dialog.folder_wanted.connect(self._models.add_folder)
        dialog.get_wanted.connect(downloads.get)
        dialog.pause_wanted.connect(downloads.pause)
        dialog.cancel_wanted.connect(downloads.cancel)
        dialog.search_wanted.connect(downloads.search)
        dialog.pair_wanted.connect(downloads.get_pair)
        dialog.check_wanted.connect(downloads.check)
        dialog.remove_wanted.connect(downloads.remove)
        dialog.token_wanted.connect(downloads.use_token)
        dialog.limit_wanted.connect(lambda speed: setattr(downloads.limit, "speed", speed))
        dialog.use_wanted.connect(self._use)
        return dialog

    def _show(self) -> None:
        if self.dialog is not None:
            self.dialog.measured = self._measured()
            self.dialog.show_state(self.downloads.shown)

    def _measured(self) -> dict[str, tuple[float, float]]:
        found, models = {}, self._models.list.measured
        for pair in self.downloads.recommended.models if self.downloads.recommended is not None else ():
            repository, _, quantisation = pair.target.partition(":")
            for path, speeds in models.items():
                if path.is_relative_to(download_folder() / repository) and quantisation in path.stem.upper():
                    found[pair.target] = speeds
        return found

    def _arrived(self, item: Download) -> None:
        self._models.add_folder(item.files[0].parent)
        if self.dialog is None or not self.dialog.isVisible():
            words = self.tr("{name} is downloaded. Choose it as the target.")
            self._window.notice.show_word(words.format(name=item.files[0].stem))

    def _use(self, item: Download) -> None:
        if self.dialog is not None:
            self.dialog.close()
        self._models.choose_target(item.files[0])
