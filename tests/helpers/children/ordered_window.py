"""A real window with a scripted model that does what it is told, step by step, and tells what it shows.

Run as `python -m helpers.children.ordered_window FOLDER`: settings and conversations are kept in that folder. Each line
on standard input is an order, `["ask", "text"]`; each is answered with a line of JSON when it is done: `said` (what the
window told of trouble so far), `titles` (by number), `open` (a number), `path` (role and text of each message on the
screen), `saved` (whether nothing waits to be written).
"""

import asyncio
import functools
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.settings.settings import SettingsFile
from app.shell import bootstrap
from app.shell.program import Program
from app.state.chat.intents import Delete, Edit, Regenerate
from app.state.chat.transcript import Exchange, Notice, Problem
from app.system.single_instance import Call, claim_or_call
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder

REPLY = "".join(f"{number:04} and " for number in range(40))


class OrderedWindow:
    """Carries out orders in a window."""

    def __init__(self, program: Program, loop: asyncio.AbstractEventLoop) -> None:
        self.program = program
        self.said: list[str] = []
        self._orders: asyncio.Queue[list[Any]] = asyncio.Queue()
        program.conversations.trouble.connect(lambda problem: self.said.append(problem.text))
        program.conversations.files.failed.connect(self._note_file)
        program.autosave.trouble.connect(lambda trouble: self.said.append(f"settings {trouble.kind}: {trouble.reason}"))
        program.controller.entry_added.connect(self._note_entry)
        threading.Thread(target=self._listen, args=(loop,), daemon=True).start()

    def _note_file(self, problem: Problem) -> None:
        # One with details becomes an entry.
        if problem.details is None:
            self.said.append(problem.text)

    def _note_entry(self, entry: object) -> None:
        if isinstance(entry, Notice):
            self.said.append(entry.problem.text)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(self._orders.put_nowait, json.loads(line))

    async def work(self) -> int:
        """Carry out orders until the one to quit."""
        while self.program.window.panel.plots is None or not self.program.models.settled:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        self.tell()
        while True:
            kind, *rest = await self._orders.get()
            if kind == "quit":
                return 0
            self._ways()[kind](*rest)
            await asyncio.sleep(0)
            while self._at_work():  # noqa: ASYNC110 - as a person looks
                await asyncio.sleep(0.01)
            self.tell()

    def _at_work(self) -> bool:
        """True if something is going on that does not wait for the disk."""
        conversations = self.program.conversations
        filed = conversations.files.activity.work != "idle" and not conversations.store.writer.failing
        return self.program.controller.busy or filed

    def _ways(self) -> dict[str, Callable[..., object]]:
        controller, conversations = self.program.controller, self.program.conversations
        return {
            "look": lambda: None,
            "ask": self.program.window.prompt_sent.emit,
            "new": self.program.window.new_chat_wanted.emit,
            "edit": lambda text: controller.carry_out(Edit(self._last(), text)),
            "regenerate": lambda: controller.carry_out(Regenerate(self._last())),
            "remove": lambda: controller.carry_out(Delete(self._last())),
            "rename": lambda title: conversations.rename(self._open(), title),
            "delete": lambda: conversations.delete(self._open()),
            "import": lambda path: controller.import_(Path(path)),
            "export": lambda kind, path: conversations.export(self._open(), kind, Path(path)),
            "search": conversations.search,
            "show": controller.open,
            "set": lambda name, value: setattr(self.program.settings, name, value),
        }

    def _last(self) -> Exchange:
        return [entry for entry in self.program.controller.transcript if isinstance(entry, Exchange)][-1]

    def _open(self) -> int:
        shown = self.program.conversations.open
        return 0 if shown is None else shown.id

    def tell(self) -> None:
        """Print the state of the window."""
        conversations = self.program.conversations
        shown = conversations.open
        writer = conversations.store.writer
        told = {
            "said": self.said,
            "titles": {each.id: each.title for each in conversations.summaries()},
            "open": self._open(),
            "path": [] if shown is None else [[message.role, message.text] for message in shown.path],
            "saved": not writer.pending and not writer.failing,
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def main(folder: Path) -> None:
    """Show the window until it is told to quit."""
    make: Any = lambda: ScriptedDecoder(Script(REPLY, round_s=0.003))  # noqa: E731 - of another type, on purpose
    bootstrap.build = functools.partial(bootstrap.build, make_decoder=make)
    vars(bootstrap)["bundled_pair"] = lambda: (Path("big.gguf"), Path("small.gguf"))

    async def script(program: Program, loop: asyncio.AbstractEventLoop) -> int:
        return await OrderedWindow(program, loop).work()

    claim = claim_or_call(folder / "conversations.sqlite3", Call())
    sys.exit(bootstrap.run(["outrider"], SettingsFile(folder / "settings.json"), claim=claim, script=script))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
