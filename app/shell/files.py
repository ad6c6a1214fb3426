"""Files that are opened, saved, attached and dropped."""

from __future__ import annotations

from pathlib import Path

from app.shell.program import Program
from app.state.chat.dropped import Dropped
from app.views.window.file_dialogs import ask_what_to_attach, ask_what_to_import, ask_where_to_save


def export(parts: Program, conversation: int, kind: str) -> None:
    """Ask for a file, and write a conversation into it."""
    name = parts.conversations.export_name(conversation, kind)
    path = ask_where_to_save(parts.window, name, kind) if name else None
    if path is not None:
        parts.conversations.export(conversation, kind, path)


def import_(parts: Program) -> None:
    """Ask for the file of a conversation, and add that."""
    path = ask_what_to_import(parts.window)
    if path is not None:
        parts.controller.bring_in(path)


def attach(parts: Program) -> None:
    """Ask for text files that go with the next question."""
    paths = ask_what_to_attach(parts.window)
    if paths:
        parts.attachments.add(paths)
    parts.window.prompt.setFocus()


def take_dropped(parts: Program, found: Dropped) -> None:
    """A model becomes the target, a folder is added, a conversation imported, a text attached; the rest is told."""
    window, desk = parts.window, parts.desk
    for folder in found.folders:
        desk.add_folder(folder)
    for path in found.conversations:
        parts.controller.bring_in(path)
    if found.models:
        desk.choose_target(found.models[0])
        _tell_target(parts, found.models)
    if found.files:
        parts.attachments.add(found.files)
    for path in found.missing[:1]:
        text = window.tr("{name} cannot be opened: it is not a readable file or folder.")
        window.notice.show_trouble(text.format(name=path.name or str(path)))


def _tell_target(parts: Program, models: tuple[Path, ...]) -> None:
    window = parts.window
    name = parts.desk.name_of(models[0])
    text = window.tr("{model} is now the target. It is loaded with the next message.")
    if len(models) > 1:
        text = window.tr(
            "{model} is now the target; the other models were ignored. It is loaded with the next message."
        )
    window.notice.show_good_news(text.format(model=name))


def refuse_dropped(parts: Program) -> None:
    """Tell that what was dropped is on no disk of this computer."""
    text = parts.window.tr("Only files and folders on this computer can be dropped here.")
    parts.window.notice.show_trouble(text)
