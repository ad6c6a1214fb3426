"""The settings' dialog in the window, as a person uses it."""

from PySide6.QtWidgets import QLineEdit

from app.settings.settings import Settings, SettingsFile
from app.shell.settings_windows import SettingsWindows
from app.views.settings.dialog import SettingsDialog
from app.views.settings.generation import GenerationPage
from helpers.window.app_window import Window


def windows(window: Window) -> SettingsWindows:
    """What opens the settings."""
    found = window.main.findChild(SettingsWindows)
    assert isinstance(found, SettingsWindows)
    return found


def open_settings(window: Window, command: str = "chat.generation") -> SettingsDialog:
    """Open the settings as a person does."""
    window.main.commands.run(command)
    dialog = windows(window).dialog
    assert dialog is not None
    assert dialog.isVisible()
    return dialog


def put(page: GenerationPage, **texts: str) -> None:
    """Type something into fields."""
    for name, text in texts.items():
        edit = page.fields[name].edit
        if isinstance(edit, QLineEdit):
            edit.setText(text)
        else:
            edit.setPlainText(text)


def saved(window: Window) -> Settings:
    """What is in the file now."""
    path = window.program.settings_file.path
    assert path is not None
    return SettingsFile(path).load()
