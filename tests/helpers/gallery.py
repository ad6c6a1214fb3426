"""Every view and dialog of the program, one after another, as pictures; and what of them is cut.

Run as `python -m helpers.gallery FOLDER THEME WIDTH HEIGHT [CODE OF A LANGUAGE]`, at the scale that QT_SCALE_FACTOR
says. The real window with the bundled pair; pictures go to FOLDER. Prints a JSON line for each view: its name and the
texts and controls in it that are cut, and what scrolls sideways.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.bootstrap import run
from app.error_report import describe
from app.parts import Parts
from app.settings import Settings, SettingsFile
from app.single_instance import Claim
from app.state.conversation import ConversationSummary, StoredMessage
from app.state.transcript import Exchange, Problem
from app.store import Store
from app.views.file_drops import DropVeil
from app.views.link_question import LinkQuestion
from app.views.model_words import announcement
from helpers.cut import cut_parts
from helpers.model_zoo import write_zoo

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
            said = StoredMessage(100 * number + 1, 100 * number, "assistant", RICH, began, finish_reason="stop")
            store.add_messages(number, [asked, said])
    store.close()


class Gallery:
    """Takes the pictures."""

    def __init__(self, parts: Parts, folder: Path, look: str) -> None:
        self._parts = parts
        self._folder = folder
        self._look = look
        self._number = 0

    async def shot(self, name: str, widget: QWidget | None = None) -> None:
        """A picture of a window, and what is cut in it."""
        await asyncio.sleep(0.25)
        shown = widget or self._parts.window
        self._number += 1
        shown.grab().save(str(self._folder / f"{self._number:02}-{name}-{self._look}.png"))
        print(json.dumps({"view": name, "look": self._look, "cut": sorted(set(cut_parts(shown)))}), flush=True)

    def others(self) -> list[QWidget]:
        """The windows that are shown besides the main one."""
        found = [each for each in QApplication.topLevelWidgets() if each.isVisible() and each is not self._parts.window]
        return [each for each in found if each.width() > 1]

    async def windows(self, name: str) -> None:
        """A picture of each window besides the main one, which are closed then; of the main one if there is none."""
        await asyncio.sleep(0.4)
        found = self.others()
        for number, each in enumerate(found):
            await self.shot(name if not number else f"{name}-{number}", each)
        if not found:
            await self.shot(name)
        for each in found:
            each.close()
        await asyncio.sleep(0.1)


async def walk(parts: Parts, gallery: Gallery, folder: Path) -> None:
    """Show one thing after the other."""
    window, controller = parts.window, parts.controller
    window.commands.run("program.introduction")
    await gallery.shot("first-launch")
    window.commands.run("chat.new")
    await gallery.shot("new-chat")
    controller.open(1)
    await gallery.shot("conversation")
    await _ask(parts, "Make a table of animals and their food.")
    await gallery.shot("reply")
    await _hover(parts)
    await gallery.shot("actions")
    window.commands.run("view.tokens")
    await gallery.shot("tokens")
    window.commands.run("view.tokens")
    view = window.transcript.view_of(_last(parts))
    assert view is not None
    view.question.edit()
    await gallery.shot("edit")
    _press(Qt.Key.Key_Escape)
    window.commands.run("conversations.search")
    QTest.keyClicks(window.focusWidget(), "honey")
    await gallery.shot("search")
    _press(Qt.Key.Key_Escape)
    await _trouble(parts, gallery)
    await _prompt(parts, gallery, folder)
    for key in DIALOGS:
        window.commands.run(key)
        await gallery.windows(key.replace(".", "-"))
        palette = window.findChild(QWidget, "palette")
        if palette is not None:  # it lies in the window itself
            palette.hide()
    await _settings_pages(parts, gallery)
    await _models(parts, gallery, folder / "models")
    for name in ("target", "draft", "lookahead"):
        window.commands.run(f"models.{name}")
        await gallery.windows(f"picker-{name}")
        getattr(window.bar, name).hidePopup()
    await _menu(parts, gallery)


def _press(key: Qt.Key) -> None:
    focused = QApplication.focusWidget()
    if focused is not None:
        QTest.keyClick(focused, key)


def _last(parts: Parts) -> Exchange:
    found = parts.controller.transcript.entries[-1]
    assert isinstance(found, Exchange)
    return found


async def _ask(parts: Parts, question: str) -> None:
    parts.window.prompt_sent.emit(question)
    await _answered(parts)


async def _answered(parts: Parts) -> None:
    while parts.controller.busy:  # noqa: ASYNC110 - as a person looks at it
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)


async def _hover(parts: Parts) -> None:
    view = parts.window.transcript.view_of(_last(parts))
    assert view is not None
    QTest.mouseMove(view, QPoint(view.width() // 2, view.height() // 2))
    await asyncio.sleep(0.1)


async def _trouble(parts: Parts, gallery: Gallery) -> None:
    window = parts.window
    parts.controller.report(
        Problem("The file big-model.gguf ends in the middle. Download it again, or choose another.")
    )
    await gallery.shot("problem")
    error = describe(ZeroDivisionError("division by zero"))
    parts.controller.report(error)
    await gallery.shot("surprise")
    window.transcript.details_wanted.emit(error)
    await gallery.windows("report")
    window.notice.show_trouble("The disk is full: the conversation is not saved for now. Free some space.")
    await gallery.shot("notice")
    window.notice.hide()
    window.notice.show_offer("Deleted", "Undo")
    await gallery.shot("offer")
    window.notice.hide()
    question = LinkQuestion("https://example.org/a/long/address", window.transcript.viewport())
    question.ask_at(QPoint(60, 60))
    await gallery.shot("link")
    question.hide()
    question.deleteLater()


async def _prompt(parts: Parts, gallery: Gallery, folder: Path) -> None:
    names = ("notes.txt", "a rather long name of a file.md", "table.csv")
    for name in names:
        (folder / name).write_text("Some lines.\n" * 40, encoding="utf-8")
    parts.attachments.add([folder / name for name in names])
    parts.window.prompt.edit.setPlainText("What do these say?\nAll of them.")
    await asyncio.sleep(0.6)
    await gallery.shot("attachments")
    parts.window.prompt.setFocus()
    _press(Qt.Key.Key_Return)
    await _answered(parts)
    await gallery.shot("attached")


async def _settings_pages(parts: Parts, gallery: Gallery) -> None:
    for page in ("general", "generation", "speculation"):
        parts.window.commands.run("program.settings")
        await asyncio.sleep(0.2)
        dialog = next(iter(gallery.others()), None)
        if dialog is not None:
            dialog.open_at(page)  # type: ignore[attr-defined]
        await gallery.windows(f"settings-{page}")


async def _models(parts: Parts, gallery: Gallery, folder: Path) -> None:
    """Models of every kind in the library and in the pickers, a load that would not fit, and files that are dragged."""
    window, desk = parts.window, parts.desk
    desk.announce.emit(announcement(["Qwen2.5 14B Instruct"], 9_800_000_000, 5_600_000_000))
    await gallery.shot("announcement")
    window.commands.run("models.library")
    await gallery.windows("announcement-library")
    desk.announce.emit("")
    veil = DropVeil(window)
    veil.cover()
    await gallery.shot("drop", veil)
    veil.deleteLater()
    desk.add_folder(folder)
    while not desk.settled:  # noqa: ASYNC110 - as a person looks at it
        await asyncio.sleep(0.02)
    window.commands.run("models.library")
    await gallery.windows("library")


async def _menu(parts: Parts, gallery: Gallery) -> None:
    menu = parts.window.bar.menu_button.menu()
    menu.popup(parts.window.mapToGlobal(QPoint(100, 60)))
    await gallery.windows("menu")


def main(arguments: list[str]) -> int:
    """Take all pictures."""
    out, theme, width, height = Path(arguments[0]), arguments[1], int(arguments[2]), int(arguments[3])
    language = arguments[4] if len(arguments) > 4 else "en"
    out.mkdir(parents=True, exist_ok=True)

    async def script(parts: Parts, _loop: asyncio.AbstractEventLoop) -> int:
        parts.window.resize(width, height)
        while parts.window.panel.plots is None or not parts.desk.settled:  # noqa: ASYNC110 - as a person looks at it
            await asyncio.sleep(0.05)
        scale = parts.window.devicePixelRatioF()
        await walk(parts, Gallery(parts, out, f"{theme}-{width}x{height}-{scale:g}x-{language}"), files)
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
