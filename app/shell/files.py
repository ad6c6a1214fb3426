"""Open, save, attach and drop files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.shell.program import Program
from app.state.conversations.dropped import Dropped
from app.views.window.file_dialogs import ask_for_folder, ask_what_to_attach, ask_what_to_import, ask_where_to_save


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


def import_(program: Program) -> None:
    """Ask for files with chats, and add those."""
    for path in ask_what_to_import(program.window, program.settings):
        program.controller.import_(path)


def attach(program: Program) -> None:
    """Ask for text files that go with the next question."""
    paths = ask_what_to_attach(program.window, program.settings)
    if paths:
        program.attachments.add(paths)
    program.window.prompt.setFocus()


def take_dropped(program: Program, found: Dropped) -> None:
    """Take what was dropped: choose a model, add a folder, import a conversation, attach a text, report the rest."""
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
    """Tell that what was dropped is on no disk of this computer."""
    text = program.window.tr("Only files and folders on this computer can be dropped here.")
    program.window.notice.show_trouble(text)
