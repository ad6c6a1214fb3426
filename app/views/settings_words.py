"""Settings in words: what went wrong with their file, what a field holds, and what may be typed there."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.settings import SettingsTrouble


def trouble_words(trouble: SettingsTrouble) -> str:
    """What went wrong with the file of the settings, and what became of it."""
    words = {
        "damaged": QCoreApplication.translate(
            "Settings", "The settings file was damaged: the usual settings are used. The old file is kept as {aside}."
        ),
        "unreadable": QCoreApplication.translate(
            "Settings",
            "The settings cannot be read ({reason}): the usual ones are used, and nothing is saved in this run. "
            "Check the permissions of {path}.",
        ),
        "unwritable": QCoreApplication.translate(
            "Settings", "The settings cannot be saved ({reason}). Check the permissions and the free space of {path}."
        ),
    }
    words_here = words[trouble.kind]
    if trouble.kind == "damaged" and trouble.aside is None:
        words_here = QCoreApplication.translate(
            "Settings", "The settings file {path} was damaged: the usual settings are used."
        )
    reason = trouble.reason or QCoreApplication.translate("Settings", "no reason was given")
    return words_here.format(path=trouble.path, aside=trouble.aside, reason=reason)
