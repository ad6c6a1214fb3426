"""A real window in which somebody does things at random, until it is killed.

Run as `python -m helpers.children.window_in_child FOLDER SEED [MODEL…]`: with a scripted model, or with these. Chats to
be imported are FOLDER/*.chat.json. After everything that happens it tells what is on the screen, a JSON line each:
`{"at": seconds (the system's monotonic clock), "titles": {number: title}, "open": number, "path": [[role, text], …],
"set": {name: value of a setting}, "doing": what goes on}`; before it does something, `{}`.
"""

import asyncio
import functools
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from app.settings.settings import SettingsFile
from app.shell import bootstrap
from app.shell.program import Program
from app.state.chat.intents import Delete, Edit, Regenerate, ShowVersion
from app.state.chat.transcript import Exchange
from app.system.single_instance import Call, claim_or_call
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder

REPLY = "".join(f"{number:04} and " for number in range(150))


def _tell(program: Program) -> None:
    conversations = program.conversations
    shown = conversations.open
    path = [] if shown is None else [[message.role, message.text] for message in shown.path]
    titles = {each.id: each.title for each in conversations.summaries()}
    said = {"at": time.monotonic(), "titles": titles, "open": 0 if shown is None else shown.id, "path": path}
    chosen = {name: getattr(program.settings, name) for name in ("theme", "lookahead", "target")}
    work = (program.controller.activity.work, conversations.files.activity.work)
    doing = next((each for each in work if each != "idle"), "idle")
    sys.stdout.write(json.dumps(said | {"set": chosen, "doing": doing}) + "\n")
    sys.stdout.flush()


async def _act(program: Program, draw: random.Random, files: Sequence[Path], models: Sequence[Path]) -> None:
    controller, conversations = program.controller, program.conversations
    asked = [entry for entry in controller.transcript if isinstance(entry, Exchange)]
    known = [each.id for each in conversations.summaries()]
    kinds = ["send", "send", "send", "new", "wait"]
    if asked and not controller.busy:
        kinds += ["edit", "edit", "regenerate", "regenerate", "remove", "step"]
    if known:
        kinds += ["rename", "rename", "pin"] + ["delete", "delete"] * (len(known) > 3)
    kinds += ["import"] * bool(files) + ["theme", "lookahead"] + ["target", "target", "draft", "unload"] * bool(models)
    word = f"word {draw.randrange(10**6)}"
    ways: dict[str, Callable[[], object]] = {
        "send": lambda: program.window.prompt_sent.emit(word),
        "new": program.window.new_chat_wanted.emit,
        "edit": lambda: controller.carry_out(Edit(draw.choice(asked), word)),
        "regenerate": lambda: controller.carry_out(Regenerate(draw.choice(asked))),
        "remove": lambda: controller.carry_out(Delete(draw.choice(asked))),
        "step": lambda: controller.carry_out(ShowVersion(draw.choice(asked), "reply", draw.choice((-1, 1)))),
        "rename": lambda: conversations.rename(draw.choice(known), word),
        "pin": lambda: conversations.pin(draw.choice(known), draw.random() < 0.5),
        "delete": lambda: conversations.delete(draw.choice(known)),
        "import": lambda: controller.import_(draw.choice(files)),
        "theme": lambda: setattr(program.settings, "theme", draw.choice(("dark", "light", "system"))),
        "lookahead": lambda: program.models.choose_lookahead(draw.choice(("auto", 0, 2, 5))),
        "target": lambda: program.models.choose_target(draw.choice(models)),
        "draft": lambda: program.models.choose_draft(draw.choice([*models, "ngram", None])),
        "unload": program.models.unload,
        "wait": lambda: None,
    }
    way = ways[draw.choice(kinds)]
    sys.stdout.write("{}\n")
    sys.stdout.flush()
    way()
    _tell(program)
    await asyncio.sleep(draw.uniform(0.01, 0.2))


def main(folder: Path, seed: int, models: Sequence[Path]) -> None:
    draw = random.Random(seed)
    make: Any = lambda: ScriptedDecoder(Script(REPLY, round_s=0.002))  # noqa: E731 - of another type, on purpose
    if not models:
        bootstrap.build = functools.partial(bootstrap.build, make_decoder=make)
        vars(bootstrap)["bundled_pair"] = lambda: (Path("big.gguf"), Path("small.gguf"))
    files = sorted(folder.glob("*.chat.json"))

    async def script(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
        program.controller.reply_grew.connect(lambda *_: _tell(program))
        program.controller.activity_changed.connect(lambda *_: _tell(program))
        program.conversations.files.imported.connect(lambda *_: _tell(program))
        # Real models load at once, and it may be killed while they do.
        while program.window.panel.plots is None or not (models or program.models.settled):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        _tell(program)
        while True:
            await _act(program, draw, files, models)

    claim = claim_or_call(folder / "conversations.sqlite3", Call())
    bootstrap.run(["outrider"], SettingsFile(folder / "settings.json"), claim=claim, script=script)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), [Path(each) for each in sys.argv[3:]])
