"""Wire the models: the pickers, the library and what is dropped onto the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QVBoxLayout

from app.bridge.job import Ways
from app.shell.library_windows import LibraryWindows
from app.shell.program import Parts
from app.state.conversations.dropped import Dropped
from app.state.models.models import Loaded
from app.views.commands.commands import MODELS
from app.views.widgets.load_notice import LoadNotice
from app.views.window.file_drops import FileDrops


def connect_models(parts: Parts) -> LibraryWindows:
    """Connect the pickers, the library and what is dropped; gives the library's windows."""
    window, bar, desk, controller = parts.window, parts.window.bar, parts.desk, parts.controller
    windows = LibraryWindows(desk, lambda: controller.activity, parts.theme, window)
    bar.target_chosen.connect(desk.choose_target)
    bar.draft_chosen.connect(desk.choose_draft)
    bar.lookahead_chosen.connect(desk.choose_lookahead)
    bar.rescan_wanted.connect(desk.scan_again)
    bar.library_wanted.connect(windows.open_library)
    window.folder_chosen.connect(lambda folder: desk.add_folder(Path(folder)))
    windows.connect_notice(_announcement(parts))
    window.closed.connect(windows.close)
    controller.activity_changed.connect(windows.show_activity)
    desk.changed.connect(lambda: bar.show_models(desk.models))
    bar.show_models(desk.models)
    drops = FileDrops(window, window.prompt.edit.viewport())
    for place in (drops, windows):
        place.dropped.connect(lambda found: take_dropped(parts, found))
        place.foreign.connect(lambda: _refuse(parts))
    _add_commands(parts, windows)
    return windows


def _announcement(parts: Parts) -> LoadNotice:
    """Above the progress bar, where what concerns the whole program stands."""
    window = parts.window
    notice = LoadNotice(parts.theme, window)
    holder = window.strip.parentWidget()
    column = None if holder is None else holder.layout()
    if isinstance(column, QVBoxLayout):
        column.insertWidget(column.indexOf(window.strip), notice)
    return notice


def _add_commands(parts: Parts, windows: LibraryWindows) -> None:
    add, tr, desk = parts.window.commands.add, parts.window.tr, parts.desk
    models = desk.models

    def waits() -> bool:
        chosen = models.selection
        how = Ways(models.options(chosen.target), models.options(chosen.draft))
        return chosen.target is not None and not parts.bridge.has(Loaded(chosen.target, chosen.draft), how)

    add("models.library", tr("Models…"), windows.open_library, shortcut="Ctrl+Shift+M", section=MODELS)
    add("models.folder", tr("Add a model folder…"), windows.add_folder, section=MODELS)
    add(
        "models.options",
        tr("Options for the target…"),
        lambda: windows.open_options(models.selection.target),
        section=MODELS,
        enabled=lambda: models.by_path(models.selection.target) is not None,
    )
    add("models.load", tr("Load the chosen models"), desk.load_now, section=MODELS, enabled=waits)
    unload = tr("Unload the models")
    add("models.unload", unload, desk.unload, section=MODELS, enabled=lambda: models.loaded.target is not None)


def take_dropped(parts: Parts, found: Dropped) -> None:
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


def _tell_target(parts: Parts, models: tuple[Path, ...]) -> None:
    window = parts.window
    name = parts.desk.name_of(models[0])
    text = window.tr("{model} is now the target. It is loaded with the next message.")
    if len(models) > 1:
        text = window.tr(
            "{model} is now the target; the other models were ignored. It is loaded with the next message."
        )
    window.notice.show_good_news(text.format(model=name))


def _refuse(parts: Parts) -> None:
    text = parts.window.tr("Only files and folders on this computer can be dropped here.")
    parts.window.notice.show_trouble(text)
