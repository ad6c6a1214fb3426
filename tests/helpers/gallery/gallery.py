"""Every view and dialog of the program, one after another, as pictures; and what of them is cut.

Run as `python -m helpers.gallery.gallery FOLDER THEME WIDTH HEIGHT [CODE OF A LANGUAGE]`, at the scale that
QT_SCALE_FACTOR says. The real window with the bundled pair; pictures go to FOLDER. Prints a JSON line for each view:
its name and the texts and controls in it that are cut, and what scrolls sideways.
"""

import asyncio
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.control.problems import describe
from app.settings.settings import Settings, SettingsFile
from app.shell.bootstrap import run
from app.shell.program import Program
from app.state.chat.intents import ShowDetails
from app.state.chat.transcript import Problem
from app.state.conversations.conversation import ConversationSummary, StoredMessage
from app.store.store import Store
from app.system.single_instance import Claim
from app.views.markdown.link_question import LinkQuestion
from app.views.replay.player import ReplayPlayer
from app.views.window.file_drops import DropVeil
from app.words.models import announcement
from helpers.gallery import gallery_scenes as scenes
from helpers.gallery import gallery_shown as shown
from helpers.gallery.gallery_tools import Gallery, answered, press, until, view_of
from helpers.models.model_zoo import write_zoo

RICH = """<think>The user wants to see what replies look like.</think>## A heading

A paragraph with *words*, **strong ones**, `code` and a [link](https://example.org/a/long/address).

1. first
2. second
   - inner

| animal | food | legs |
|:--|:--|--:|
| bear | honey and berries, mostly in autumn | 4 |
| goose | grass | 2 |

> A quotation that goes on for a while, so that it takes more than one line in a narrow window.

```python
def squares(count: int) -> list[int]:
    return [number * number for number in range(count)]  # a line that is longer than the column is in a small window
```

שלום עולם, and 日本語, and 👩‍🚀.
"""
DIALOGS = (
    "program.palette",
    "program.shortcuts",
    "program.about",
    "program.settings",
    "chat.generation",
    "models.library",
    "models.options",
    "proof.compare",
    "proof.sweep",
)


def fill(path: Path) -> None:
    """Conversations of several days."""
    store = Store.open(path)
    titles = ["A look at everything", "Rust notes", "An unusually long title that says all there is to be said of it"]
    with store.changes():
        for number, title in enumerate(titles, 1):
            began = 1e9 + 86_400 * number
            store.add_conversation(ConversationSummary(number, title, began, began))
            asked = StoredMessage(100 * number, None, "user", "Show me what replies look like, all of it.", began)
            ended = "stop" if number != 2 else "length"
            said = StoredMessage(100 * number + 1, 100 * number, "assistant", RICH, began, finish_reason=ended)
            store.add_messages(number, [asked, said])
        _fill_long(store)
    store.close()


def _fill_long(store: Store) -> None:
    """One that the context of the bundled pair has no room for."""
    began = 1e9 + 86_400 * 4
    store.add_conversation(ConversationSummary(4, "A long one", began, began))
    messages: list[StoredMessage] = []
    for number in range(12):
        before = messages[-1].id if messages else None
        place = 400 + 2 * number
        messages.append(StoredMessage(place, before, "user", f"Say it again, for time {number}.", began))
        reply = "\n\n".join([f"This is what was said {number} times."] * 25)
        messages.append(StoredMessage(place + 1, place, "assistant", reply, began, finish_reason="stop"))
    store.add_messages(4, messages)


async def _introduction(program: Program, gallery: Gallery) -> None:
    window = program.window
    window.commands.run("program.introduction")
    await gallery.shot("first-launch")
    await until(lambda: any(player.isVisible() for player in window.findChildren(ReplayPlayer)))
    window.findChildren(ReplayPlayer)[0].step(3)
    await gallery.shot("first-launch-replay")


async def _replay(program: Program, gallery: Gallery) -> None:
    program.window.commands.run("proof.replay")
    await gallery.windows("replay")
    await shown.replies(program, gallery)


async def walk(program: Program, gallery: Gallery, folder: Path) -> None:
    """Show one thing after the other."""
    window, controller = program.window, program.controller
    await _introduction(program, gallery)
    window.commands.run("chat.new")
    await gallery.shot("new-chat")
    controller.open(1)
    await gallery.shot("conversation")
    window.prompt_sent.emit("Make a table of animals and their food.")
    await answered(program)
    await gallery.shot("reply")
    await _replay(program, gallery)
    QTest.mouseMove(view_of(program), view_of(program).rect().center())
    await gallery.shot("actions")
    await scenes.tokens(program, gallery)
    await scenes.thought(program, gallery)
    await scenes.thinking(program, gallery)
    view_of(program).question.edit()
    await gallery.shot("edit")
    press(Qt.Key.Key_Escape)
    await scenes.conversations(program, gallery)
    await _trouble(program, gallery)
    await scenes.damage(program, gallery, folder)
    await scenes.prompt(program, gallery, folder)
    await scenes.context(program, gallery)
    await scenes.busy(program, gallery)
    await scenes.panels(program, gallery)
    await scenes.palette(program, gallery)
    for key in DIALOGS:
        if key != "program.palette":
            window.commands.run(key)
            await gallery.windows(key.replace(".", "-"))
    await scenes.about(program, gallery)
    await scenes.settings_pages(program, gallery)
    await shown.dialogs(program, gallery)
    await scenes.proof(program, gallery)
    await _models(program, gallery, folder / "models")
    for name in ("target", "draft", "lookahead"):
        window.commands.run(f"models.{name}")
        await gallery.windows(f"picker-{name}")
        getattr(window.bar, name).hidePopup()
    window.bar.menu_button.menu().popup(window.mapToGlobal(QPoint(100, 60)))
    await gallery.windows("menu")


async def _trouble(program: Program, gallery: Gallery) -> None:
    window = program.window
    program.controller.report(
        Problem("The file big-model.gguf ends in the middle. Download it again, or choose another.")
    )
    await gallery.shot("problem")
    error = describe(ZeroDivisionError("division by zero"))
    program.controller.report(error)
    await gallery.shot("surprise")
    window.transcript.intent.emit(ShowDetails(error))
    await gallery.windows("report")
    window.notice.show_trouble("The disk is full: the conversation is not saved for now. Free some space.")
    await gallery.shot("notice")
    window.notice.show_good_news("All changes are saved again.")
    await gallery.shot("good-news")
    window.notice.hide()
    window.notice.show_offer("Deleted", "Undo")
    await gallery.shot("offer")
    window.notice.hide()
    question = LinkQuestion("https://example.org/a/long/address", window.transcript.viewport())
    question.ask_at(window.mapToGlobal(window.rect().center()))
    await gallery.shot("link")
    question.hide()
    question.deleteLater()


async def _models(program: Program, gallery: Gallery, folder: Path) -> None:
    """Models of every kind in the library and in the pickers, a load that would not fit, and files that are dragged."""
    window, models = program.window, program.models
    models.announce.emit(announcement(["Qwen2.5 14B Instruct"], 9_800_000_000, 5_600_000_000))
    await gallery.shot("announcement")
    window.commands.run("models.library")
    await gallery.windows("announcement-library")
    models.announce.emit("")
    veil = DropVeil(window)
    veil.cover()
    await gallery.shot("drop")
    veil.deleteLater()
    models.add_folder(folder)
    await until(lambda: models.settled)
    await scenes.library(program, gallery)


def main(arguments: list[str]) -> int:
    """Take all pictures."""
    out, theme, width, height = Path(arguments[0]), arguments[1], int(arguments[2]), int(arguments[3])
    language = arguments[4] if len(arguments) > 4 else "en"
    out.mkdir(parents=True, exist_ok=True)

    async def script(program: Program, _loop: asyncio.AbstractEventLoop) -> int:
        program.window.resize(width, height)
        await until(lambda: program.window.panel.plots is not None and program.models.settled)
        scale = program.window.devicePixelRatioF()
        try:
            await walk(program, Gallery(program, out, f"{theme}-{width}x{height}-{scale:g}x-{language}"), files)
        except BaseException:
            # The program itself would make a message in its window of it.
            traceback.print_exc()
            raise
        return 0

    with tempfile.TemporaryDirectory() as place:
        files = Path(place)
        fill(files / "conversations.sqlite3")
        (files / "models").mkdir()
        write_zoo(files / "models")
        file = SettingsFile(files / "settings.json")
        file.save(Settings(theme=theme, language=language, lookahead=4))
        return run(["outrider"], file, claim=Claim(files / "conversations.sqlite3", None), script=script)


def looks() -> Iterator[tuple[str, int, int]]:
    """The themes and sizes in which everything must look well."""
    for theme in ("light", "dark"):
        yield theme, 720, 480
        yield theme, 1000, 700
        yield theme, 1920, 1080


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
