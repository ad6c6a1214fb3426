"""Ask for files and folders."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QWidget

from app.settings.settings import Settings
from app.state.conversations.formats import FORMATS
from app.system.translation import say, tr


def ask_where_to_save(parent: QWidget, settings: Settings, name: str, kind: str) -> Path | None:
    """Ask for the path of an export (`kind`: in FORMATS); None: cancelled. A missing suffix is added."""
    title = tr("Files", "Export the chat")
    chosen, _ = QFileDialog.getSaveFileName(parent, title, str(_folder(settings) / name), say(FORMATS[kind].kind))
    return _with_ending(_remember(settings, chosen), FORMATS[kind].suffix)


def _with_ending(chosen: str, suffix: str) -> Path | None:
    if not chosen:
        return None
    path = Path(chosen)
    ending = path.with_name(path.name + suffix)
    # Of a file with the ending, that is there, nobody was asked whether it may be replaced.
    return path if path.suffix or ending.exists() else ending


def ask_what_to_import(parent: QWidget, settings: Settings) -> list[Path]:
    """Return files with chats of this program and others; may be none."""
    title = tr("Files", "Import chats")
    kinds = tr("Files", "Chats of this and other programs (*.json *.jsonl *.zip)")
    chosen, _ = QFileDialog.getOpenFileNames(parent, title, str(_folder(settings)), kinds)
    return [Path(_remember(settings, each)) for each in chosen]


def ask_what_to_attach(parent: QWidget, settings: Settings) -> list[Path]:
    """Return text files that are to go with a question; may be none."""
    title = tr("Files", "Attach documents, pictures and text files")
    chosen, _ = QFileDialog.getOpenFileNames(parent, title, str(_folder(settings)))
    return [Path(_remember(settings, each)) for each in chosen]


def ask_for_models_folder(parent: QWidget, start: Path | None) -> Path | None:
    """Return a folder with models; None: none. `start`: where to begin to look."""
    title = tr("Files", "Add a model folder")
    chosen = QFileDialog.getExistingDirectory(parent, title, str(start or Path.home()))
    return Path(chosen) if chosen else None


def ask_where_to_put_archive(parent: QWidget, settings: Settings, name: str) -> Path | None:
    """Ask for the path of a project's archive; None: cancelled. A missing suffix is added."""
    title = tr("Files", "Export the project")
    kinds = tr("Files", "Archive of chats (*.zip)")
    chosen, _ = QFileDialog.getSaveFileName(parent, title, str(_folder(settings) / name), kinds)
    return _with_ending(_remember(settings, chosen), ".zip")


def ask_for_folder(parent: QWidget, settings: Settings, title: str = "") -> Path | None:
    """Return a folder to write chats into, or for the purpose in the title; None: cancelled."""
    title = title or tr("Files", "Export the chats into a folder")
    chosen = QFileDialog.getExistingDirectory(parent, title, str(_folder(settings)))
    return Path(chosen) if chosen else None


def ask_where_to_put(
    parent: QWidget, settings: Settings, title: str, name: str, kinds: str = "", suffix: str = ".json"
) -> Path | None:
    """Ask for the path of a new file of these kinds; None: cancelled. A missing suffix is added."""
    kinds = kinds or tr("Files", "JSON (*.json)")
    chosen, _ = QFileDialog.getSaveFileName(parent, title, str(_folder(settings) / name), kinds)
    return _with_ending(_remember(settings, chosen), suffix)


def ask_where_to_put_picture(parent: QWidget, settings: Settings, name: str, kinds: str, suffix: str) -> Path | None:
    """Ask for the path of a picture of these kinds, as above."""
    return ask_where_to_put(parent, settings, tr("Files", "Save the race"), name, kinds, suffix)


def ask_what_to_open(parent: QWidget, settings: Settings, title: str) -> Path | None:
    """Return a JSON file to be read; None: none."""
    kinds = tr("Files", "JSON (*.json)")
    chosen, _ = QFileDialog.getOpenFileName(parent, title, str(_folder(settings)), kinds)
    return Path(_remember(settings, chosen)) if chosen else None


def _folder(settings: Settings) -> Path:
    """Return the folder to begin in: the last one used, at first the documents."""
    documents = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return next(
        (Path(each) for each in (settings.files_folder, documents) if each and Path(each).is_dir()), Path.home()
    )


def _remember(settings: Settings, chosen: str) -> str:
    """Return a chosen file as it is, and store its folder."""
    if chosen:
        settings.files_folder = str(Path(chosen).parent)
    return chosen
