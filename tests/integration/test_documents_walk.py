"""Documents and pictures in a real window, used by hand with a model that people use; then the window is killed.

The model sees with a projector of random weights: what it says of a picture is about nothing, how it looks is not.
`make screenshots` keeps pictures of it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine import inspect_model
from helpers import written_documents as written
from helpers import xvfb
from helpers.models.random_projector import write_projector
from helpers.paths import ROOT, TESTS
from helpers.window.walk import Walk
from helpers.window.walker import Part, Walker

PICTURES = os.environ.get("OUTRIDER_SCREENSHOTS", "")
REAL = Path(os.environ.get("REAL_MODELS", "~/.cache/real-models")).expanduser()
PATIENCE_S = 300.0
QUESTION = "When did the keeper light the lamp? Cite the part."
LOOKS = [("light", 1), ("dark", 1), ("light", 2), ("dark", 2)]
ATTACH = "Attach documents, pictures and text files"

pytestmark = [
    pytest.mark.alone,
    pytest.mark.soak,
    pytest.mark.timeout(3_600),
    pytest.mark.skipif(not (xvfb.available() and shutil.which("xdotool")), reason="Xvfb or xdotool is not installed"),
]


class Chat(Walk):
    """A chat in the window, used by mouse and keyboard. `files`: what another program offers."""

    def __init__(self, display: str, walker: Walker, folder: Path, look: str) -> None:
        shown = ROOT / PICTURES if PICTURES else None
        if shown is not None:
            shown.mkdir(parents=True, exist_ok=True)
        super().__init__(walker, folder, shown, look)
        self._display = display

    def attach(self, path: Path) -> None:
        """Attach a file by the button and the dialog."""
        self.walker.click(ATTACH)
        self.walker.answer(ATTACH, path)

    @contextmanager
    def offered(self, *files: Path) -> Iterator[list[list[int]]]:
        """Have another program offer a picture, which it has copied too, and files; gives where to drag them from."""
        environment: Any = self.walker._environment | {"PYTHONPATH": f"{TESTS}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-m", "helpers.children.offers", *map(str, files)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield json.loads(process.stdout.readline())
            finally:
                process.kill()

    def drag(self, place: list[int], onto: Part, step: str) -> None:
        """Drag what is offered there onto a part of the window."""
        walker, (x, y) = self.walker, onto.middle
        walker._do("mousemove", *map(str, place), "mousedown", "1")
        for way in (0.1, 0.4, 0.8, 1.0):
            walker._do("mousemove", *(str(round(a + way * (b - a))) for a, b in zip(place, (x, y), strict=True)))
        walker.find(object="veil")
        self.shot(21, step)
        walker._do("mousemove", str(x + 4), str(y + 4), "mouseup", "1")

    def chips(self, count: int) -> list[str]:
        """Wait until so many files go with the question, and all of them are read."""

        def read() -> list[str]:
            names = [part.text for part in self.walker.all(kind="Chip")]
            return names if len(names) == count and all(" tokens" in name for name in names) else []

        names: list[str] = self.walker.wait(read, f"{count} files", PATIENCE_S)
        return names

    def send(self, question: str) -> None:
        """Ask, and wait for the end of the reply."""
        walker = self.walker
        walker.click(object="prompt")
        walker.type(question)
        walker.key("Return")
        walker.find(object="questionText", text=question)
        walker.wait(lambda: not walker.sees("Send"), "the reply begins")
        walker.wait(lambda: walker.sees("Send"), "the end of the reply", PATIENCE_S)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with a published pair, whose target sees."""
    folder = tmp_path / "models"
    folder.mkdir()
    for size in ("1.5b", "0.5b"):
        found = sorted(REAL.glob(f"qwen2.5-coder-{size}-instruct*.gguf"))
        if not found:
            pytest.skip("REAL_MODELS has no Qwen2.5-Coder pair")
        (folder / f"qwen-{size}.gguf").symlink_to(found[0])
    target = folder / "qwen-1.5b.gguf"
    write_projector(folder / "mmproj-qwen-1.5b-f32.gguf", inspect_model(target).width, "gemma3", side=112)
    return folder


@pytest.mark.parametrize(("theme", "scale"), LOOKS)
def test_a_chat_with_documents_and_pictures(theme: str, scale: int, models: Path, tmp_path: Path) -> None:
    home, files = tmp_path / "home", tmp_path / "files"
    for folder in (home / "config" / "outrider", files):
        folder.mkdir(parents=True)
    (home / "config" / "outrider" / "settings.json").write_text(json.dumps({"theme": theme, "lookahead": 4}))
    (files / "people.pdf").write_bytes(written.pdf(pages=2))
    (files / "cat.png").write_bytes(written.picture(480, 320))
    (files / "wide.png").write_bytes(written.picture(1_600, 120))
    (files / "tall.png").write_bytes(written.picture(90, 900))
    with xvfb.x_server(f"{1280 * scale}x{800 * scale}x24") as display:
        walker = Walker(display, home, scale=scale, patience=60.0)
        chat = Chat(display, walker, tmp_path, f"{theme}-{scale}x")
        try:
            walker.start("--models-folder", str(models), str(models / "qwen-1.5b.gguf"))
            walker.wait(lambda: not walker.sees(object="progress"), "the model loaded", PATIENCE_S)
            _a_document_is_asked(chat, files)
            _pictures_are_given(chat, files)
            shutil.rmtree(files)
            walker.kill()
            walker.start(str(models / "qwen-1.5b.gguf"))
            _all_is_there(chat, 27)
            _it_is_taken_along(chat, tmp_path / "chat.json")
        except AssertionError:
            walker.shot(tmp_path / "last-seen.png")
            raise
        finally:
            walker.kill()


def _a_document_is_asked(chat: Chat, files: Path) -> None:
    chat.attach(files / "people.pdf")
    assert re.match(r"people\.pdf · 2 pages · \d+ tokens", chat.chips(1)[0])
    chat.shot(20, "document")
    chat.send(QUESTION)
    chat.shot(22, "cited")
    _a_source_is_opened(chat, 23)


def _a_source_is_opened(chat: Chat, number: int) -> None:
    """Click the first source of the first reply: its page is there."""
    walker = chat.walker
    chip = walker.find(kind="SourceChip")
    page = re.search(r"page \d", chip.text)
    assert page is not None, chip.text
    walker.hover(chip)
    walker.click_on(chip)
    title = f"people.pdf · {page[0]} of 2"
    walker.find(window=title, kind="QPlainTextEdit")
    assert written.PARAGRAPHS[0][:40] in walker.find(window=title, kind="QPlainTextEdit").text
    chat.shot(number, "reader")
    walker.click("Close", window=title)
    walker.wait(lambda: not walker.sees(window=title), "the reader closed")


def _pictures_are_given(chat: Chat, files: Path) -> None:
    """Dropped out of a browser and a file manager, and pasted."""
    walker = chat.walker
    prompt = walker.find(object="prompt")
    with chat.offered(files / "cat.png", files / "wide.png", files / "tall.png") as (above, below):
        chat.drag(above, prompt, "drop")
        chat.chips(1)
        chat.drag(below, prompt, "drop-files")
        chat.chips(2)
        walker.click(object="prompt")
        walker.key("ctrl+v")
        names = chat.chips(3)
    assert [each.partition(" · ")[0] for each in names] == ["picture.png", "tall.png", "picture (2).png"]
    chat.shot(24, "pictures")
    chat.send("What is in these pictures?")
    chat.shot(25, "sent")
    _a_picture_is_enlarged(chat, 26)


def _a_picture_is_enlarged(chat: Chat, number: int) -> None:
    """Look whether the pictures are shown, and the first one large."""
    walker = chat.walker
    walker.click("Picture tall.png", kind="SentPicture")
    large = walker.find(kind="LargePicture")
    walker.wait(lambda: "reading" not in walker.find(window=large.window, kind="QLabel").text, "the picture")
    chat.shot(number, "large")
    walker.click("Close", window=large.window)
    walker.wait(lambda: not walker.sees(kind="LargePicture"), "it is closed")


def _all_is_there(chat: Chat, number: int) -> None:
    """Look at the end of the chat, and at its beginning."""
    walker = chat.walker
    walker.find(object="questionText", text="What is in these pictures?")
    _a_picture_is_enlarged(chat, number)
    walker.key("ctrl+r", "Home")
    _a_source_is_opened(chat, number + 1)


def _it_is_taken_along(chat: Chat, path: Path) -> None:
    """Export the chat, and import it in a window that knows nothing of it."""
    walker = chat.walker
    chat.menu(QUESTION, "Export as JSON…")
    walker.answer("Export the chat", path)
    walker.wait(path.is_file, str(path))
    walker.kill()
    shutil.rmtree(walker.home / "data")
    walker.start()
    walker.click("Import a chat…")
    walker.answer("Import chats", path)
    _all_is_there(chat, 30)
