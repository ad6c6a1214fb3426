"""Connect the signals."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QVBoxLayout

from app.control.folder_pairs import FolderPair
from app.shell.commands import register
from app.shell.compare_windows import CompareWindows
from app.shell.files import attach, export, export_all, offer_imports, refuse_dropped, take_dropped
from app.shell.library_windows import LibraryWindows
from app.shell.notifications import Notifier
from app.shell.panel_follower import PanelFollower
from app.shell.program import Program
from app.shell.proofs import Proofs
from app.shell.windows import Windows
from app.state.chat.attachments import NotAttached
from app.state.chat.context_use import last_dropped, longer_context
from app.state.chat.pictures import picture_in, with_pictures
from app.state.chat.transcript import Problem
from app.state.compare.compare import CompareKind
from app.state.models.names import label
from app.state.models.targets import Server
from app.store.other_programs import ImportReport
from app.system.resources import ResourceDamaged, starter_prompts
from app.system.single_instance import Call
from app.system.translation import say
from app.views.widgets.notices import LoadNotice
from app.views.window.file_drops import FileDrops
from app.words.context import blind, refusal, too_long
from app.words.documents import note_words
from app.words.get_models import expected
from app.words.settings import trouble_words
from engine.host import download_folder, projector_beside, reads_pictures

_LONG = 500
"""Entries of a conversation from which on a garbage collection that looks at all of them would be felt."""
_SERVERS_MS = 2_500
"""The delay from the window to the start of tool servers that are on."""
_PASTED = "picture.png"
"""The name of a picture that was copied or dragged out of another program."""
_MOST_REFUSED = 3
"""Damaged chats that are named."""


def connect(program: Program) -> None:
    windows = Windows.of(program)
    _connect_chat(program)
    _connect_conversations(program)
    _connect_compare(program, windows.compare)
    program.autosave.trouble.connect(lambda trouble: program.window.notice.show_trouble(trouble_words(trouble)))
    _connect_models(program, windows.library, windows.proofs)
    windows.library.chats_wanted.connect(partial(windows.settings.open_generation, of_model=True))
    FolderOffer(program)
    program.window.closed.connect(windows.get_models.close)
    program.window.bar.server_wanted.connect(windows.servers.open)
    _connect_files(program)
    _connect_unsent(program)
    _connect_meter(program)
    _connect_thinking(program)
    _connect_tools(program)
    program.window.prompt.tools.settings_wanted.connect(lambda: windows.settings.open("tools"))
    register(program, windows)
    program.window.bar.fill_menu(program.window.commands)


def _connect_chat(program: Program) -> None:
    window, controller = program.window, program.controller
    transcript = window.transcript
    # Intents
    window.prompt_sent.connect(controller.send)
    window.prompt.steer.connect(controller.steer)
    _connect_waiting(program)
    window.cancel_wanted.connect(controller.cancel)
    window.new_chat_wanted.connect(controller.new_chat)
    window.new_chat_wanted.connect(window.prompt.setFocus)
    transcript.intent.connect(controller.carry_out)
    transcript.intent.connect(controller.act_on_call)
    # State
    controller.entry_added.connect(transcript.add)
    controller.entry_added.connect(lambda _entry: window.show_chat(empty=False))
    controller.reply_grew.connect(lambda exchange, _text: transcript.grow(exchange))
    controller.reply_ended.connect(transcript.end)
    controller.tools_changed.connect(transcript.show_calls)
    controller.cleared.connect(transcript.clear)
    controller.cleared.connect(lambda: window.show_chat(empty=True))
    # First, so that a long chat is laid out once, in the size in which it is shown.
    controller.opened.connect(lambda: window.show_chat(empty=False))
    controller.opened.connect(lambda: transcript.show_all(controller.transcript.entries))
    last = [0]
    controller.opened.connect(lambda: _spare_collections(program, last))
    controller.busy_changed.connect(window.show_busy)
    notifier = Notifier(window, program.settings)
    controller.any_reply_ended.connect(notifier.note)
    notifier.clicked.connect(window.come_up)
    controller.activity_changed.connect(lambda: window.strip.show_activity(controller.activity))
    controller.replies.ended.connect(lambda reply: program.models.note_speed(reply.wanted.target, reply.result))
    # Behind what else the end of a reply makes: drawing the plots takes as long.
    controller.replies.metrics_changed.connect(window.panel.refresh, Qt.ConnectionType.QueuedConnection)
    PanelFollower(program)


def _connect_waiting(program: Program) -> None:
    view, controller, conversations = program.window.waiting, program.controller, program.conversations
    waiting = controller.waiting

    def show() -> None:
        view.show_messages([(each.number, each.text) for each in waiting.of(conversations.open)])

    def on_open(change: Callable[..., None]) -> Callable[..., None]:
        def do(*arguments: object) -> None:
            if conversations.open is not None:
                change(conversations.open, *arguments)

        return do

    waiting.changed.connect(show)
    conversations.open_changed.connect(show)
    view.edited.connect(on_open(waiting.edit))
    view.moved.connect(on_open(waiting.move))
    view.dropped.connect(on_open(waiting.drop))
    view.sent.connect(controller.send_next)


def _spare_collections(program: Program, last: list[int]) -> None:
    """Exempt a long conversation from garbage collections, which hold up the window: it is no garbage.

    `last`: the one that was shown before. What changes in a conversation is not worth another time.
    """
    shown = program.conversations.open
    before, last[0] = last[0], 0 if shown is None else shown.id
    if last[0] != before and len(program.controller.transcript.entries) > _LONG:
        QTimer.singleShot(1_000, program.window, leave_out)


def leave_out() -> None:
    """Freeze the live objects, so that later garbage collections skip them and stay short."""
    gc.collect(1)  # what is young and garbage would stay for ever
    gc.freeze()


def _connect_conversations(program: Program) -> None:
    window, controller, conversations = program.window, program.controller, program.conversations
    panel = window.left
    # Intents
    panel.chosen.connect(controller.open)
    panel.renamed.connect(conversations.rename)
    panel.pin_wanted.connect(conversations.pin)
    panel.delete_wanted.connect(conversations.delete)
    panel.undo_wanted.connect(controller.undelete)
    panel.search_wanted.connect(conversations.search)
    panel.more_wanted.connect(conversations.show_more)
    panel.export_wanted.connect(lambda number, kind: export(program, number, kind))
    panel.export_all_wanted.connect(lambda numbers, kind: export_all(program, numbers, kind))
    panel.import_wanted.connect(lambda: offer_imports(program))
    # State
    conversations.list_changed.connect(panel.refresh)
    conversations.open_changed.connect(panel.show_open)
    conversations.writing_changed.connect(panel.show_open)
    conversations.open_changed.connect(lambda: _remember_open(program))
    conversations.deleted_changed.connect(lambda: panel.show_undo(shown=conversations.can_undelete))
    conversations.messages_deleted.connect(lambda: window.notice.show_offer(window.tr("Deleted"), window.tr("Undo")))
    window.notice.accepted.connect(controller.restore_messages)
    conversations.messages_restored.connect(lambda: _offer_more(program))
    conversations.trouble.connect(lambda problem: window.notice.show_trouble(problem.text))
    conversations.files.failed.connect(lambda problem: _tell_failed_file(program, problem))
    conversations.files.chats_imported.connect(lambda report: _tell_imported(program, report))
    words = window.tr("Exported as {name}")
    conversations.files.exported.connect(lambda name: window.notice.show_good_news(words.format(name=name)))
    conversations.saving_again.connect(lambda: window.notice.show_good_news(window.tr("All changes are saved again.")))


def _offer_more(program: Program) -> None:
    """Offer to bring the messages back that were deleted before those that just came back."""
    if program.conversations.can_restore_messages:
        program.window.notice.show_offer(program.window.tr("Deleted"), program.window.tr("Undo"))


def _tell_imported(program: Program, report: ImportReport) -> None:
    """Report the result of an import."""
    window, texts = program.window, list[str]()
    grown = report.grown + len(report.in_use)
    if report.new or not (report.known or report.damaged or grown):
        texts.append(window.tr("%n chat(s) imported.", "", report.new))
    texts += [window.tr("Project “{title}” imported.").format(title=each.title) for each in report.projects]
    if grown:
        texts.append(window.tr("%n chat(s) brought up to date.", "", grown))
    if report.known:
        texts.append(window.tr("%n chat(s) were here already.", "", report.known))
    if not report.damaged:
        window.notice.show_good_news(" ".join(texts))
        return
    texts.append(window.tr("%n chat(s) could not be read:", "", report.damaged))
    named = (f"{name} ({say(reason)})" for name, reason in report.refused[:_MOST_REFUSED])
    texts.append("; ".join(named) + (" …" if report.damaged > _MOST_REFUSED else ""))
    window.notice.show_trouble(" ".join(texts))


def _tell_failed_file(program: Program, problem: Problem) -> None:
    """Report a file that could not be imported or exported: not in the chat that happens to be on the screen.

    What nobody expected has details, and a button for them there.
    """
    if problem.details is None:
        program.window.notice.show_trouble(problem.text)
    else:
        program.controller.report(problem)


def _connect_compare(program: Program, windows: CompareWindows) -> None:
    program.window.closed.connect(windows.close)
    program.window.closed.connect(program.compare.stop)
    program.compare.changed.connect(lambda kind: _note_plain_speed(program, kind))


def _remember_open(program: Program) -> None:
    """Remember the open conversation at once: the program may be killed, and is to come back where it was."""
    shown = program.conversations.open
    number = 0 if shown is None else shown.id
    if number != program.settings.conversation:
        program.settings.conversation = number


def answer(program: Program, call: Call) -> None:
    """Answer another start of the program: its window is this one."""
    if call.token:
        # Wayland raises a window only with a token from the program in front.
        os.environ["XDG_ACTIVATION_TOKEN"] = call.token
    program.window.come_up()
    if call.models_folder:
        program.models.add_folder(Path(call.models_folder))
    if call.model:
        program.models.choose_target(Path(call.model))


def _connect_models(program: Program, windows: LibraryWindows, proofs: Proofs) -> None:
    window, bar, models, controller = program.window, program.window.bar, program.models, program.controller
    bar.target.chosen.connect(
        lambda key: models.choose_target(key) if isinstance(key, Path | Server) else bar.ask_for_server()
    )
    bar.draft.chosen.connect(models.choose_draft)
    bar.lookahead.chosen.connect(models.choose_lookahead)
    bar.library_wanted.connect(windows.open_library)
    window.folder_chosen.connect(lambda folder: models.add_folder(Path(folder)))
    windows.connect_notice(_announcement(program))
    window.context_wanted.connect(lambda: windows.open_options(models.list.selection.target))
    window.closed.connect(windows.close)
    controller.activity_changed.connect(windows.show_activity)
    for changed in (models.list_changed, models.selection_changed, models.loaded_changed):
        changed.connect(lambda: bar.show_models(models.list))
    bar.show_models(models.list)
    _connect_starters(program)
    drops = FileDrops(window, window.prompt.edit.viewport())
    for place in (drops, windows):
        place.dropped.connect(lambda found: take_dropped(program, found))
        place.dropped.connect(proofs.take_dropped)
        place.foreign.connect(lambda: refuse_dropped(program))
    drops.picture.connect(lambda data: program.attachments.add_picture(data, _PASTED))


def _connect_starters(program: Program) -> None:
    """Offer starter prompts for the chosen target: the bundled one knows little but its own prompts."""
    models, welcome = program.models, program.window.welcome
    own = [card.starter for card in welcome.cards]
    try:
        general = starter_prompts("general_prompts.json")
    except ResourceDamaged:
        return

    def show() -> None:
        target, bundled = models.list.selection.target, models.list.bundled
        welcome.show_starters(own if target is None or (bundled is not None and target == bundled[0]) else general)

    models.selection_changed.connect(show)
    show()


def _announcement(program: Program) -> LoadNotice:
    """Return the notice above the progress bar, where messages about the whole program stand."""
    window = program.window
    notice = LoadNotice(program.theme, window)
    holder = window.strip.parentWidget()
    column = None if holder is None else holder.layout()
    if isinstance(column, QVBoxLayout):
        column.insertWidget(column.indexOf(window.strip), notice)
    return notice


def _connect_files(program: Program) -> None:
    window, prompt, files, documents = program.window, program.window.prompt, program.attachments, program.documents

    def show() -> None:
        ready = [each for each in files.attachments if each.held is not None or each.name not in documents.loading]
        prompt.show_files(ready, [*files.pending, *documents.loading])

    def refuse(error: NotAttached) -> None:
        window.notice.show_passing_trouble(refusal(error))

    files.sees = partial(_sees, program)
    program.bridge.pictured = partial(with_pictures, find=documents.find_picture)
    prompt.attach_wanted.connect(lambda: attach(program))
    prompt.edit.files_given.connect(files.add)
    prompt.edit.picture_given.connect(lambda data: files.add_picture(data, _PASTED))
    prompt.edit.pasted_nothing.connect(window.notice.show_passing_trouble)
    prompt.chips.removed.connect(files.remove)
    prompt.recalled.connect(files.bring_back)
    prompt.send.connect(files.sent)
    files.changed.connect(show)
    documents.changed.connect(show)
    files.adding.connect(window.notice.let_pass)
    program.controller.entry_added.connect(lambda _entry: window.notice.let_pass())
    program.conversations.open_changed.connect(window.notice.let_pass)
    files.counted.connect(show)
    files.refused.connect(refuse)
    files.partly_read.connect(lambda file: window.notice.show_passing_trouble(note_words(file)))
    for changed in (files.changed, program.models.list_changed):
        changed.connect(program.vectors.follow)
    prompt.edited.connect(program.vectors.note_typed)
    for stop in (files.stop, program.vectors.stop):
        window.closed.connect(stop)


def _connect_unsent(program: Program) -> None:
    window, unsent = program.window, program.unsent
    unsent.shown.connect(window.prompt.set_text)
    window.transcript.intent.connect(unsent.carry_out)
    window.prompt.edited.connect(unsent.note)
    # Behind what clears the files: what was sent is no draft.
    window.prompt.send.connect(unsent.save)
    window.closed.connect(unsent.save)


def _connect_meter(program: Program) -> None:
    window, controller, context, models = program.window, program.controller, program.context, program.models

    def show() -> None:
        # Of another target, or another context, nothing is known before it is loaded.
        loaded = models.list.loaded.target
        use = context.use if loaded is None or models.target_is_loaded else None
        window.meter.show_use(use)
        if use is not None:
            program.documents.room = use.available
        # What was counted is a moment old: an empty box is a new message.
        unseen = _cannot_see(program)
        window.context_notice.answer.setVisible(not unseen)  # A longer context opens no eyes.
        window.prompt.refuse(unseen or ("" if use is None or use.fits else too_long(use)))
        model = models.list.by_path(loaded)
        window.context_notice.offer(None if use is None or model is None else longer_context(use, model.context_length))
        dropped = last_dropped(controller.transcript.entries, 0 if use is None else use.dropped)
        window.transcript.mark_dropped(dropped)

    def lengthen(tokens: int) -> None:
        models.lengthen_context(tokens)
        window.prompt.send_all_the_same()

    window.context_notice.longer.connect(lengthen)
    window.prompt.edited.connect(context.note_typed)
    for known in (models.selection_changed, models.list_changed):
        known.connect(_has_eyes.cache_clear)
    for changed in (context.changed, models.selection_changed, models.list_changed, models.loaded_changed):
        changed.connect(show)
    program.attachments.changed.connect(show)
    context.counted.connect(window.prompt.note_counted)
    window.closed.connect(context.stop)


def _cannot_see(program: Program) -> str:
    """Return a warning that the chosen target cannot see the question's pictures; "" if it can, or there are none."""
    pictures = any(picture_in(file.text) for file in program.attachments.attachments)
    target = program.models.list.selection.target
    return blind(program.models.name_of(target)) if pictures and target is not None and not _sees(program) else ""


def _sees(program: Program) -> bool:
    """Return True if the chosen target may see: a server, or a file with its projector."""
    target = program.models.list.selection.target
    return target is not None and (not isinstance(target, Path) or _has_eyes(target))


@lru_cache(maxsize=16)
def _has_eyes(target: Path) -> bool:
    """Return True if a file has its projector, or a folder's model sees; until the selection or the list changes."""
    return reads_pictures(target) or projector_beside(target) is not None


def _connect_thinking(program: Program) -> None:
    button, choices, bridge = program.window.prompt.thinking, program.controller.choices, program.bridge

    def note() -> None:
        choices.note_thinking(str(bridge.loaded.target or ""), bridge.thinking_modes)

    button.chosen.connect(choices.choose_thinking)
    program.models.loaded_changed.connect(note)
    choices.changed.connect(lambda: button.show_modes(choices.thinking_modes, choices.thinking))


def _connect_tools(program: Program) -> None:
    button, tools, conversations = program.window.prompt.tools, program.controller.tools, program.conversations

    def show() -> None:
        button.show_tools(tools.all_tools(), tools.off_in(conversations.open))

    tools.changed.connect(show)
    button.switched.connect(lambda keys, on: tools.switch_in_chat(keys, on=on))
    # Not while the window and its models come.
    program.window.painted.connect(lambda: QTimer.singleShot(_SERVERS_MS, program.window, tools.begin))
    show()


def _note_plain_speed(program: Program, kind: CompareKind) -> None:
    """Compare the replies of this target with the measured plain speed."""
    run = program.compare.runs[kind]
    if run.running or run.report is None or run.request is None:
        return
    plain = run.report.way("plain")
    same = run.request.models.target == program.models.list.selection.target
    if same and plain is not None and plain.tokens_per_second is not None:
        program.controller.replies.note_plain_speed(plain.tokens_per_second.median)


class FolderOffer(QObject):
    """Offer a pair when a folder was added, unless one of its models is in use already."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.window)
        self._program = program
        self._offered: FolderPair | None = None
        program.models.folder_added.connect(self._offer)
        program.models.selection_changed.connect(program.window.pair_notice.hide)
        program.window.pair_notice.accepted.connect(self._use)

    def _offer(self, found: FolderPair) -> None:
        # What was just downloaded is offered where it was downloaded.
        own = found.folder.is_relative_to(download_folder())
        if own and found.target is None:
            return
        self._offered = found
        words = self.tr("%n model(s) can be used here.", "", found.count)
        if not found.count:
            words = self.tr("There is no model to use in {folder}.").format(folder=found.folder.name)
        if found.target is not None and found.draft is not None:
            words += " " + self.tr("The best pair: {target} with {draft} as its draft. {expectation}").format(
                target=say(label(found.target)), draft=say(label(found.draft)), expectation=say(found.expectation)
            )
        if found.speed is not None:
            words += " " + expected(found.speed.plain, found.speed.drafted)
        self._program.window.pair_notice.announce(words, pair=found.target is not None)

    def _use(self) -> None:
        found, models = self._offered, self._program.models
        if found is not None and found.target is not None and found.draft is not None:
            models.choose_target(found.target.path)
            models.choose_draft(found.draft.path)
