"""A real window with a scripted model that imports files, and uses what came of each as a reader would.

Run as `python -m helpers.children.imports_in_child FOLDER`: FOLDER/files holds the files, by name. Of each it tells one
JSON line: `{"name", "said": [what was refused], "messages": number or null, "longest": {step: ms between two turns of
the window}, "memory": MB, "peak": MB}`.
"""

import asyncio
import functools
import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication

from app.settings.settings import SettingsFile
from app.shell import bootstrap
from app.shell.program import Program
from app.state.chat.intents import Edit
from app.state.chat.transcript import Exchange, Notice
from app.system.single_instance import Call, claim_or_call
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder
from helpers.window.gap_probe import GapProbe

_LONG = 20_000
"""Messages beyond which a chat is not edited: each edit shows all of it anew."""


def _memory() -> dict[str, int]:
    told = Path("/proc/self/status").read_text("utf-8")
    values = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in told.splitlines() if "kB" in line}
    return {"memory": values["VmRSS"], "peak": values["VmHWM"]}


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", "ascii")


class Reader:
    """Act as a person who imports a file and reads, edits, exports and opens again the chats from it."""

    def __init__(self, program: Program, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._probe = GapProbe()
        self._longest: dict[str, float] = {}

    async def _until(self, holds: Any) -> None:
        while not holds():  # noqa: ASYNC110 - as a person looks
            await asyncio.sleep(0.01)

    async def _step(self, name: str, rest: float = 0.1) -> None:
        await asyncio.sleep(rest)
        self._longest[name] = round(max(self._probe.gaps, default=0.0))
        self._probe.gaps.clear()

    async def read(self, path: Path) -> dict[str, Any]:
        """Do all of it."""
        program, controller = self._program, self._program.controller
        conversations = program.conversations
        controller.new_chat()
        _forget_peak()
        await asyncio.sleep(0.2)
        self._probe.gaps.clear()
        self._probe.start()
        controller.import_(path)
        await self._until(lambda: conversations.files.activity.work == "idle")
        await self._step("import", 0.3)
        said = [entry.problem.text for entry in controller.transcript if isinstance(entry, Notice)]
        notice = program.window.notice
        if notice.isVisible():
            said.append(notice.text.text())
            notice.button.click()
        found = conversations.open
        if found is not None:
            await self._use(found.id)
        self._probe.stop()
        messages = None if found is None else len(found)
        return {"name": path.name, "said": said, "messages": messages, "longest": self._longest, **_memory()}

    async def _use(self, number: int) -> None:
        program, controller = self._program, self._program.controller
        bar = program.window.transcript.verticalScrollBar()
        for share in (0.0, 0.3, 0.9, 0.5, 1.0):
            bar.setValue(round(share * bar.maximum()))
            await asyncio.sleep(0.05)
        await self._step("scroll")
        for kind, suffix in (("json", ".json"), ("markdown", ".md")):
            program.conversations.export(number, kind, self._folder / f"exported{suffix}")
            await self._until(lambda: program.conversations.files.activity.work == "idle")
            assert (self._folder / f"exported{suffix}").stat().st_size > 0
        await self._step("export")
        asked = [entry for entry in controller.transcript if isinstance(entry, Exchange)]
        found = program.conversations.open
        if asked and found is not None and len(found) < _LONG:
            controller.carry_out(Edit(asked[-1], "In other words"))
            await self._until(lambda: not controller.busy)
            await self._step("edit")
        controller.new_chat()
        controller.open(number)
        await self._step("open again", 0.2)
        program.conversations.delete(number)
        program.conversations.forget_deleted()
        await self._step("delete")


def main(folder: Path) -> None:
    make: Any = lambda: ScriptedDecoder(Script("A reply."))  # noqa: E731 - of another type, on purpose
    bootstrap.build = functools.partial(bootstrap.build, make_decoder=make)
    vars(bootstrap)["bundled_pair"] = lambda: (Path("big.gguf"), Path("small.gguf"))

    async def script(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
        while program.window.panel.plots is None or not program.models.settled:  # noqa: ASYNC110 - as a person looks
            await asyncio.sleep(0.02)
        QApplication.processEvents()
        for path in sorted((folder / "files").iterdir()):
            told = await Reader(program, folder).read(path)
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
        return 0

    claim = claim_or_call(folder / "conversations.sqlite3", Call())
    sys.exit(bootstrap.run(["outrider"], SettingsFile(folder / "settings.json"), claim=claim, script=script))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
