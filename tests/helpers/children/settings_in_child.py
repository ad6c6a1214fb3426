"""A real window with a scripted model in which somebody changes settings without end, until it is killed.

Run as `python -m helpers.children.settings_in_child FOLDER`. After each change it tells how many there were, of new
conversations and of the one on the screen, a JSON line each: `{"defaults": number, "own": number, "at": seconds}`.
"""

import asyncio
import functools
import json
import sys
import time
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from app.settings.settings import SettingsFile
from app.shell import bootstrap
from app.shell.program import Program
from app.shell.settings_windows import SettingsWindows
from app.system.single_instance import Call, claim_or_call
from app.views.settings.dialog import SettingsDialog
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder


def _type(dialog: SettingsDialog, number: int) -> None:
    """Into two fields that belong together, so that it is seen whether both came through."""
    fields = dialog.generation.fields
    top_k, system = fields["top_k"].edit, fields["system"].edit
    assert isinstance(top_k, QLineEdit)
    assert isinstance(system, QPlainTextEdit)
    top_k.setText(str(number))
    system.setPlainText(f"{number} " * (number % 200))


async def _change(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
    while program.window.panel.plots is None or not program.models.settled:  # noqa: ASYNC110 - as a person looks
        await asyncio.sleep(0.02)
    choices = program.controller.choices
    if program.conversations.open is None:
        program.window.prompt_sent.emit("Hello")
    windows = program.window.findChild(SettingsWindows)
    assert isinstance(windows, SettingsWindows)
    windows.open_generation()
    dialog = windows.dialog
    assert dialog is not None
    page, themes = dialog.generation, ("dark", "light", "system")
    while True:
        page.new.click()
        number = choices.defaults.top_k + 1
        _type(dialog, number)
        dialog.general.changed.emit("theme", themes[number % 3])
        page.own.click()
        _type(dialog, choices.own.top_k + 1)
        await asyncio.sleep(0.01)
        told = {"defaults": choices.defaults.top_k, "own": choices.own.top_k, "at": time.monotonic()}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def main(folder: Path) -> None:
    """Go on until the end comes from outside."""
    make: Any = lambda: ScriptedDecoder(Script())  # noqa: E731 - of another type, on purpose
    bootstrap.build = functools.partial(bootstrap.build, make_decoder=make)
    vars(bootstrap)["bundled_pair"] = lambda: (Path("big.gguf"), Path("small.gguf"))
    claim = claim_or_call(folder / "conversations.sqlite3", Call())
    bootstrap.run(["outrider"], SettingsFile(folder / "settings.json"), claim=claim, script=_change)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
