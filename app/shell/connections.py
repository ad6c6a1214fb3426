"""Connect the signals."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from PySide6.QtCore import Qt, QTimer

from app.shell.commands import register as register_commands
from app.shell.notifications import Notifier
from app.shell.program import Parts
from app.shell.prompt_wiring import connect_prompt
from app.shell.settings_windows import SettingsWindows
from app.shell.windows import ProofWindows
from app.shell.wiring_models import connect_models
from app.system.places import data_folder, flavour
from app.system.single_instance import Call
from app.views.window.file_dialogs import ask_what_to_import, ask_where_to_save
from app.words.settings import trouble_words

_LONG = 500
"""Entries of a conversation from which on a garbage collection that looks at all of them would be felt."""


def connect(parts: Parts) -> None:
    """Connect everything."""
    _connect_chat(parts)
    _connect_conversations(parts)
    _connect_proof(parts)
    parts.keeper.trouble.connect(lambda trouble: parts.window.notice.show_trouble(trouble_words(trouble)))
    register_commands(
        parts,
        export=lambda number, kind: _export(parts, number, kind),
        bring_in=lambda: _import(parts),
        about=lambda: _show_about(parts),
    )
    connect_models(parts)
    connect_prompt(parts)
    SettingsWindows(parts).register()
    parts.window.bar.fill_menu(parts.window.commands)


def _connect_chat(parts: Parts) -> None:
    window, controller = parts.window, parts.controller
    transcript = window.transcript
    # Intents
    window.prompt_sent.connect(controller.send)
    window.cancel_wanted.connect(controller.cancel)
    window.new_chat_wanted.connect(controller.new_chat)
    window.new_chat_wanted.connect(window.prompt.setFocus)
    transcript.intent.connect(controller.carry_out)
    # State
    controller.entry_added.connect(transcript.add)
    controller.entry_added.connect(lambda _entry: window.show_chat(empty=False))
    controller.reply_grew.connect(transcript.grow)
    controller.reply_ended.connect(transcript.end)
    controller.cleared.connect(transcript.clear)
    controller.cleared.connect(lambda: window.show_chat(empty=True))
    controller.opened.connect(lambda: transcript.show_all(controller.transcript.entries))
    controller.opened.connect(lambda: window.show_chat(empty=False))
    last = [0]
    controller.opened.connect(lambda: _spare_collections(parts, last))
    controller.busy_changed.connect(window.show_busy)
    notifier = Notifier(window, parts.settings)
    controller.any_reply_ended.connect(notifier.note)
    notifier.clicked.connect(window.come_up)
    controller.activity_changed.connect(lambda: window.strip.show_activity(controller.activity))
    # Behind what else the end of a reply makes: drawing the plots takes as long.
    controller.metrics_changed.connect(window.panel.refresh, Qt.ConnectionType.QueuedConnection)


def _spare_collections(parts: Parts, last: list[int]) -> None:
    """A long conversation is no garbage: leave it out of collections, which hold up the window.

    `last`: the one that was shown before. What changes in a conversation is not worth another time.
    """
    shown = parts.conversations.open
    before, last[0] = last[0], 0 if shown is None else shown.id
    if last[0] != before and len(parts.controller.transcript.entries) > _LONG:
        QTimer.singleShot(1_000, parts.window, leave_out)


def leave_out() -> None:
    """Freeze the live objects, so that later garbage collections skip them and stay short."""
    gc.collect(1)  # what is young and garbage would stay for ever
    gc.freeze()


def _connect_conversations(parts: Parts) -> None:
    window, controller, conversations = parts.window, parts.controller, parts.conversations
    panel = window.left
    # Intents
    panel.chosen.connect(controller.open)
    panel.renamed.connect(conversations.rename)
    panel.pin_wanted.connect(conversations.pin)
    panel.delete_wanted.connect(conversations.delete)
    panel.undo_wanted.connect(controller.undelete)
    panel.undo_ended.connect(conversations.forget_deleted)
    panel.search_wanted.connect(conversations.search)
    panel.export_wanted.connect(lambda number, kind: _export(parts, number, kind))
    panel.import_wanted.connect(lambda: _import(parts))
    # State
    conversations.list_changed.connect(panel.refresh)
    conversations.open_changed.connect(panel.show_open)
    conversations.writing_changed.connect(panel.show_open)
    conversations.open_changed.connect(lambda: _remember_open(parts))
    conversations.deleted_changed.connect(lambda: panel.show_undo(shown=conversations.can_undelete))
    conversations.messages_deleted.connect(lambda: window.notice.show_offer(window.tr("Deleted"), window.tr("Undo")))
    window.notice.accepted.connect(controller.put_back)
    conversations.trouble.connect(lambda problem: window.notice.show_trouble(problem.text))
    conversations.saving_again.connect(lambda: window.notice.show_good_news(window.tr("All changes are saved again.")))


def _connect_proof(parts: Parts) -> None:
    bar, windows = parts.window.bar, ProofWindows(parts.proof, parts.theme, parts.window)
    bar.compare_wanted.connect(windows.open_compare)
    bar.sweep_wanted.connect(windows.open_sweep)
    parts.window.closed.connect(windows.close)
    parts.window.closed.connect(parts.proof.stop)


def _export(parts: Parts, conversation: int, kind: str) -> None:
    name = parts.conversations.export_name(conversation, kind)
    path = ask_where_to_save(parts.window, name, kind) if name else None
    if path is not None:
        parts.conversations.export(conversation, kind, path)


def _import(parts: Parts) -> None:
    path = ask_what_to_import(parts.window)
    if path is not None:
        parts.controller.bring_in(path)


def _remember_open(parts: Parts) -> None:
    """At once: the program may be killed, and is to come back where it was."""
    shown = parts.conversations.open
    number = 0 if shown is None else shown.id
    if number != parts.settings.conversation:
        parts.settings.conversation = number


def answer(parts: Parts, call: Call) -> None:
    """Another start of the program: its window is this one."""
    if call.token:
        # Wayland lets a window come up with a token that whoever was in front has given.
        os.environ["XDG_ACTIVATION_TOKEN"] = call.token
    parts.window.come_up()
    if call.models_folder:
        parts.desk.add_folder(Path(call.models_folder))
    if call.model:
        parts.desk.choose_target(Path(call.model))


def _show_about(parts: Parts) -> None:
    from app.views.window.about import AboutDialog, Whereabouts  # noqa: PLC0415 - not before it is asked for

    settings = parts.settings_file.path
    place = Whereabouts(flavour(), str(settings or ""), str(data_folder()), str(parts.log.path))
    AboutDialog(place, parts.window).open()
