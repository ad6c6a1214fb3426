"""Open, save, attach and drop files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from app.shell.program import Program
from app.state.conversations.dropped import Dropped
from app.views.window.file_dialogs import (
    ask_for_folder,
    ask_what_to_attach,
    ask_what_to_import,
    ask_where_to_put,
    ask_where_to_save,
)

CHAT_PROGRAMS = ("LM Studio", "Jan", "SillyTavern")
"""Programs whose chats may be files of this computer."""


def export(program: Program, conversation: int, kind: str) -> None:
    """Ask for a file, and write a conversation into it."""
    name = program.conversations.export_name(conversation, kind)
    path = ask_where_to_save(program.window, program.settings, name, kind) if name else None
    if path is not None:
        program.conversations.export(conversation, kind, path)


def export_all(program: Program, conversations: Sequence[int], kind: str) -> None:
    """Ask for a folder, and write conversations into it, each into a file that is not there yet."""
    folder = ask_for_folder(program.window, program.settings)
    if folder is None:
        return
    taken: set[Path] = set()
    for conversation in conversations:
        name = Path(program.conversations.export_name(conversation, kind))
        names = (name.name, *(f"{name.stem} {number}{name.suffix}" for number in range(2, 10_000)))
        path = next(
            (folder / each for each in names if folder / each not in taken and not (folder / each).exists()), None
        )
        if name.name and path is not None:
            taken.add(path)
            program.conversations.export(conversation, kind, path)


def export_everything(program: Program) -> None:
    """Ask for a file, and write all conversations into it."""
    window, tr = program.window, program.window.tr
    day = datetime.now().strftime("%Y-%m-%d")  # noqa: DTZ005 - the name is for people
    options = (tr("Export all chats"), f"outrider-chats-{day}.zip", tr("ZIP archive (*.zip)"), ".zip")
    if (path := ask_where_to_put(window, program.settings, *options)) is not None:
        program.conversations.export_everything(path)


def import_(program: Program) -> None:
    """Ask for files with chats, and add those."""
    for path in ask_what_to_import(program.window, program.settings):
        program.controller.import_(path)


def chats_of(name: str) -> list[Path]:
    """Return the folders in which another program keeps its chats."""
    from engine.host import chat_folders  # noqa: PLC0415 - not before the window is there

    return chat_folders(name)


def import_from(program: Program, name: str) -> None:
    """Add the chats that another program of this computer keeps."""
    for folder in chats_of(name):
        program.controller.import_(folder)


def offer_imports(program: Program) -> None:
    """Ask for files with chats, or which program's chats are to be added, where there are any."""
    menu, button = imports_menu(program), program.window.left.import_button
    if menu is None:
        import_(program)
        return
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.popup(button.mapToGlobal(button.rect().bottomLeft()))


def imports_menu(program: Program) -> QMenu | None:
    """Return a menu of where chats may come from; None if that can only be files."""
    window, names = program.window, [name for name in CHAT_PROGRAMS if chats_of(name)]
    if not names:
        return None
    menu = QMenu(window)
    menu.addAction(window.tr("Import files…"), lambda: import_(program))
    for name in names:
        said = window.tr("Import from {program}").format(program=name)
        menu.addAction(said).triggered.connect(lambda _on, name=name: import_from(program, name))
    return menu


def attach(program: Program) -> None:
    """Ask for text files that go with the next question."""
    paths = ask_what_to_attach(program.window, program.settings)
    if paths:
        program.attachments.add(paths)
    program.window.prompt.setFocus()


def take_dropped(program: Program, found: Dropped) -> None:
    """Open dropped things: choose a model, add a folder, import a conversation, attach a text, report the rest."""
    window, models = program.window, program.models
    for folder in found.folders:
        models.add_folder(folder)
    for path in found.conversations:
        program.controller.import_(path)
    if found.models:
        models.choose_target(found.models[0])
        _tell_target(program, found.models)
    if found.files:
        program.attachments.add(found.files)
    for path in found.missing[:1]:
        text = window.tr("{name} cannot be opened: it is not a readable file or folder.")
        window.notice.show_trouble(text.format(name=path.name or str(path)))


def _tell_target(program: Program, models: tuple[Path, ...]) -> None:
    window = program.window
    name = program.models.name_of(models[0])
    text = window.tr("{model} is now the target.")
    if len(models) > 1:
        text = window.tr("{model} is now the target; the other models were ignored.")
    window.notice.show_good_news(text.format(model=name))


def refuse_dropped(program: Program) -> None:
    """Report that the dropped data is on no disk of this computer."""
    text = program.window.tr("Only files and folders on this computer can be dropped here.")
    program.window.notice.show_trouble(text)
