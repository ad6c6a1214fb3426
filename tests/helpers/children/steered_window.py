"""A real window with a scripted model that a test steers.

Run as `python -m helpers.children.steered_window FOLDER`: settings and chats are kept there. Each line on standard
input is an order of JSON, `["ask", text]`, `["new"]`, `["look"]` or `["quit"]`; each is answered by a line: `rows` (of
the list: titles, and the names of groups in brackets), `path` (the texts on the screen), `said` (trouble so far),
`saved`.
"""

import asyncio
import functools
import json
import sys
import threading
from pathlib import Path
from typing import Any

from app.settings.settings import SettingsFile
from app.shell import bootstrap
from app.shell.program import Program
from app.state.chat.transcript import Notice
from app.state.conversations.list import Heading
from app.system.single_instance import Call, claim_or_call
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder


def _answer(program: Program, said: list[str]) -> None:
    conversations = program.conversations
    shown = conversations.open
    told = {
        "rows": [f"[{row.group}]" if isinstance(row, Heading) else row.title for row in conversations.list.rows],
        "path": [] if shown is None else [message.text for message in shown.path],
        "said": said,
        "saved": not conversations.store.writer.pending,
    }
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


async def _obey(program: Program, loop: asyncio.AbstractEventLoop) -> int:
    orders: asyncio.Queue[list[Any]] = asyncio.Queue()
    said: list[str] = []
    program.conversations.trouble.connect(lambda problem: said.append(problem.text))
    program.autosave.trouble.connect(lambda trouble: said.append(trouble.kind))
    program.controller.entry_added.connect(
        lambda entry: said.append(entry.problem.text) if isinstance(entry, Notice) else None
    )

    def listen() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(orders.put_nowait, json.loads(line))

    threading.Thread(target=listen, daemon=True).start()
    while program.window.panel.plots is None or not program.models.settled:  # noqa: ASYNC110 - as a person looks
        await asyncio.sleep(0.02)
    while True:
        _answer(program, said)
        match await orders.get():
            case ["ask", text]:
                program.window.prompt_sent.emit(text)
            case ["new"]:
                program.window.new_chat_wanted.emit()
            case ["quit"]:
                return 0
        while program.controller.busy:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)


def main(folder: Path) -> int:
    """Show the window until it is told to end."""
    make: Any = lambda: ScriptedDecoder(Script("A reply.", round_s=0.01))  # noqa: E731 - of another type, on purpose
    bootstrap.build = functools.partial(bootstrap.build, make_decoder=make)
    vars(bootstrap)["bundled_pair"] = lambda: (Path("big.gguf"), Path("small.gguf"))
    claim = claim_or_call(folder / "conversations.sqlite3", Call())
    if claim is None:
        return 5
    return bootstrap.run(["outrider"], SettingsFile(folder / "settings.json"), claim=claim, script=_obey)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
