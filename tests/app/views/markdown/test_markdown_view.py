"""How a reply looks and behaves: code, links, thoughts, themes; and that nothing is ever loaded."""

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QDesktopServices, QGuiApplication, QTextDocument, QTextTable
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel
from pytestqt.qtbot import QtBot

from app.views.markdown import text as markdown_text
from app.views.markdown.link_question import LinkQuestion
from app.views.widgets.theme import DARK, DARK_CONTRAST, LIGHT, LIGHT_CONTRAST, Tokens
from helpers.window.gap_probe import GapProbe
from helpers.window.reply_view import WIDTH, Reply

MakeReply = Callable[..., Reply]

RICH = """# Title

Some *words*, **bold** and `code`.

- one
  - two

| a | b |
|---|--:|
| 1 | 2 |

```python
def f():
    return 1
```

> quoted

The end."""


@pytest.fixture
def make_reply(qapp: QApplication, qtbot: QtBot) -> MakeReply:
    """Replies, each in a window of its own."""

    def make(mode: str = "light") -> Reply:
        return Reply(qapp, qtbot, mode)

    return make


def luminance(color: str) -> float:
    """As WCAG 2 has it."""
    value = QColor(color)
    shares = ((value.redF(), 0.2126), (value.greenF(), 0.7152), (value.blueF(), 0.0722))
    return sum(share * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4) for part, share in shares)


@pytest.mark.parametrize(
    ("tokens", "least"),
    [(LIGHT, 4.5), (DARK, 4.5), (LIGHT_CONTRAST, 7.0), (DARK_CONTRAST, 7.0)],
    ids=["light", "dark", "light-contrast", "dark-contrast"],
)
def test_all_can_be_read(tokens: Tokens, least: float) -> None:
    def contrast(one: str, other: str) -> float:
        light, dark = sorted((luminance(one), luminance(other)), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    colors = {name: value for name, value in asdict(tokens).items() if name.startswith("code_") or name == "danger"}
    assert len(colors) == 7
    for name, color in colors.items():
        assert contrast(color, tokens.raised) >= 4.5, name
    for name in ("text", "muted", "accent", "danger"):
        for ground in (tokens.background, tokens.surface):
            assert contrast(getattr(tokens, name), ground) >= least, name


def test_streamed_and_at_once_look_the_same(make_reply: MakeReply) -> None:
    at_once = make_reply()
    at_once.finish(RICH)
    streamed = make_reply()
    streamed.stream(RICH)
    assert "The end." in streamed.shown
    streamed.finish(RICH)
    assert streamed.shown == at_once.shown
    assert streamed.view.height() == at_once.view.height()
    tables = [
        frame
        for frame in at_once.view.texts[0].page.document().rootFrame().childFrames()
        if isinstance(frame, QTextTable)
    ]
    assert [(table.rows(), table.columns()) for table in tables] == [(2, 2), (1, 1)]


def test_what_is_open_is_shown_as_markdown(make_reply: MakeReply) -> None:
    reply = make_reply()
    reply.stream("One\n\nTwo **bold** and\n")
    assert reply.shown == "One\nTwo bold and"
    reply.stream("\n```py\nx = 1\n")
    assert reply.shown.endswith("x = 1"), "the fence itself is not to be seen"


def test_code_is_colored(make_reply: MakeReply) -> None:
    reply = make_reply()
    view = reply.finish("```python\ndef f(): pass\n```\n```nonsense\ndef f(): pass\n```")

    def colors() -> list[str]:
        found = []
        document = view.texts[0].page.document()
        block = document.begin()
        while block.isValid():
            walk = block.begin()
            while not walk.atEnd():
                if walk.fragment().text().strip() == "def":
                    found.append(walk.fragment().charFormat().foreground().color().name().upper())
                walk += 1
            block = block.next()
        return found

    assert colors() == [LIGHT.code_keyword]
    reply.theme.set_mode("dark")
    reply.qtbot.waitUntil(lambda: colors() == [DARK.code_keyword])
    reply.qtbot.waitUntil(lambda: len(view.code_bars) == 2)


def test_copying_and_saving_code(make_reply: MakeReply, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = make_reply()
    long = "".join(f"{' ' * (number % 7)}line {number}\t\n" for number in range(1_500))
    view = reply.finish(f"Look:\n\n```py\nx = 1\n\n\ty\n```\n\ntext\n\n~~~ x.log <b>all</b> {'it ' * 20}\n{long}~~~\n")
    first, second = view.code_bars
    assert second.label.text().startswith("x.log <b>all</b> it")
    assert len(second.label.text()) == 60
    assert first.copy_button.accessibleName() == "Copy the code (py)"
    first.copy_button.click()
    assert QGuiApplication.clipboard().text() == "x = 1\n\n\ty"
    path = tmp_path / "x.py"
    asked: list[str] = []

    def answer(_parent: object, _title: str, name: str) -> tuple[str, str]:
        asked.append(name)
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    first.save_button.click()
    assert path.read_text(encoding="utf-8") == "x = 1\n\n\ty\n"
    assert first.label.text() == f"Saved as {path}"
    path = tmp_path / "none" / "x.py"
    second.save_button.click()
    assert first.label.text() != second.label.text()
    assert second.label.text().startswith("Cannot save")
    assert [Path(name).name for name in asked] == ["code.py", "code.txt"]
    second.copy_button.setFocus()
    assert second.copy_button.focusPolicy() & Qt.FocusPolicy.TabFocus
    reply.qtbot.keyClick(second.copy_button, Qt.Key.Key_Space)  # type: ignore[no-untyped-call]
    assert QGuiApplication.clipboard().text() == long.removesuffix("\n")


def test_a_table_is_copied_for_a_spreadsheet(make_reply: MakeReply) -> None:
    reply = make_reply()
    view = reply.finish('Look:\n\n| a, b | `x | y` |\n|---|--:|\n| **1** | say "so"<br>now |\n\nend\n')
    page = view.texts[0].page
    table = next(each for each in page.document().rootFrame().childFrames() if isinstance(each, QTextTable))
    place = page.cursorRect(table.cellAt(1, 0).firstCursorPosition()).center()
    copy = next(action for action in page.make_menu(place).actions() if "CSV" in action.text())
    copy.trigger()
    assert QGuiApplication.clipboard().text() == '"a, b",x | y\n1,"say ""so""\nnow"\n'
    outside = page.make_menu(QPoint(2, 2))
    assert not any("CSV" in action.text() for action in outside.actions())


def test_bars_stay_over_their_code(make_reply: MakeReply) -> None:
    reply = make_reply()
    view = reply.stream("word " * 200 + "\n\n```py\nx\n```\n\nmore\n\n```c\ny\n```\n\nand more, not finished")

    def are_placed() -> bool:
        page = view.texts[0].page
        for bar, code in zip(view.code_bars, ("x", "y"), strict=True):
            block = bar.box.frame.firstCursorPosition().block()
            top = page.document().documentLayout().blockBoundingRect(block).top()
            if block.text() != code or abs(bar.geometry().bottom() + 1 - top) > 1.5 or bar.isHidden():
                return False
        return True

    assert are_placed()
    before = view.code_bars[0].y()
    view.resize(WIDTH // 2, view.height())
    assert view.code_bars[0].y() > before
    assert are_placed()
    reply.theme.set_mode("dark")
    reply.qtbot.wait(150)
    assert are_placed()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: found.append(url.toString()))
    return found


def ask(reply: Reply, address: str) -> LinkQuestion | None:
    """What appears when a link is clicked."""
    page = reply.view.texts[0].page
    page.anchorClicked.emit(QUrl(address))
    return reply.window.findChild(LinkQuestion)


def test_links_ask_first(make_reply: MakeReply, opened: list[str]) -> None:
    reply = make_reply()
    reply.finish("A [link](https://a.b/c?d=1) and <me@a.b>.")
    question = ask(reply, "https://a.b/c?d=1")
    assert question is not None
    assert question._text.toPlainText() == "https://a.b/c?d=1"
    title = question.findChild(QLabel, "linkTitle")
    assert title is not None
    assert "to a.b in" in title.text()
    assert not opened
    question.cancel_button.click()
    reply.qtbot.waitUntil(lambda: reply.window.findChild(LinkQuestion) is None)
    question = ask(reply, "https://a.b/c?d=1")
    assert question is not None
    reply.qtbot.keyClick(question, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    reply.qtbot.waitUntil(lambda: reply.window.findChild(LinkQuestion) is None)
    assert not opened
    question = ask(reply, "https://a.b/c?d=1")
    assert question is not None
    question.copy_button.click()
    assert QGuiApplication.clipboard().text() == "https://a.b/c?d=1"
    reply.qtbot.waitUntil(lambda: reply.window.findChild(LinkQuestion) is None)
    question = ask(reply, "mailto:me@a.b")
    assert question is not None
    question.open_button.click()
    assert opened == ["mailto:me@a.b"]


def test_a_real_click_on_a_link_asks(make_reply: MakeReply, opened: list[str]) -> None:
    reply = make_reply()
    page = reply.finish("[a long enough link](https://a.b/)").texts[0].page
    reply.qtbot.mouseClick(page.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 8))  # type: ignore[no-untyped-call]
    question = reply.window.findChild(LinkQuestion)
    assert question is not None
    assert question.address == "https://a.b/"
    reply.qtbot.mouseClick(page.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(300, 200))  # type: ignore[no-untyped-call]
    reply.qtbot.waitUntil(lambda: reply.window.findChild(LinkQuestion) is None)
    assert not opened


@pytest.mark.parametrize("address", ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "x.md"])
def test_other_addresses_are_not_asked_about(make_reply: MakeReply, opened: list[str], address: str) -> None:
    reply = make_reply()
    reply.finish(f"A [link]({address}).")
    assert f"[link]({address})" in reply.shown
    assert ask(reply, address) is None
    assert not opened


def test_a_finished_thought_is_folded(make_reply: MakeReply) -> None:
    reply = make_reply()
    view = reply.finish("<think>\nFirst **this**.\n</think>\n\nThen that.")
    (thought,) = view.thoughts
    assert reply.shown == "Thought\nThen that."
    height = view.height()
    assert not thought.body.source, "what nobody looks at is not even written"
    thought.header.setFocus()
    reply.qtbot.keyClick(thought.header, Qt.Key.Key_Space)  # type: ignore[no-untyped-call]
    reply.qtbot.waitUntil(lambda: "First this." in reply.shown)
    assert view.height() > height
    thought.header.click()
    reply.qtbot.waitUntil(lambda: view.height() == height)


def test_a_thought_is_open_while_it_is_thought(make_reply: MakeReply) -> None:
    reply = make_reply()
    reply.stream("<think>\nHm, *hm*")
    assert reply.shown == "Thinking…\nHm, hm"
    reply.stream(" hm.\n</think>\nYes.")
    assert re.fullmatch(r"Thought for \d+ s\nYes\.", reply.shown)
    view = reply.finish("<think>\nHm, *hm* hm.\n</think>\nYes.")
    assert len(view.thoughts) == 1


def test_a_reply_that_begins_within_a_thought(make_reply: MakeReply) -> None:
    reply = make_reply()
    reply.stream("Hm hm.\n")
    assert reply.shown == "Hm hm."
    reply.stream("</think>\nYes.")
    assert re.fullmatch(r"Thought for \d+ s\nYes\.", reply.shown)


def test_an_empty_thought_is_not_shown(make_reply: MakeReply) -> None:
    reply = make_reply()
    reply.finish("<think>\n\n</think>\n\nYes.")
    assert reply.shown == "Yes."


def test_many_thoughts_become_text(make_reply: MakeReply) -> None:
    reply = make_reply()
    view = reply.finish("<think>a</think>\nb\n" * 300)
    assert 5 < len(view.thoughts) < 30
    assert reply.shown.count("b") == 300


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A web server, and what it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}", asked
    made.shutdown()
    thread.join()
    made.server_close()


def test_nothing_is_loaded(
    make_reply: MakeReply,
    server: tuple[str, list[str]],
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    address, asked = server
    loaded: list[str] = []
    monkeypatch.setattr(QTextDocument, "loadResource", lambda self, kind, name: loaded.append(name.toString()))
    picture = tmp_path / "secret.png"
    picture.write_bytes(b"no picture")
    text = "\n\n".join(
        f"![one]({url}/a.png) <img src='{url}/b.png'> <script src='{url}/c.js'></script> [x]({url}) "
        f"<link rel=stylesheet href='{url}/d.css'> <style>@import '{url}/e.css'; p {{ color: url({url}/f) }}</style>\n"
        f"<iframe src='{url}'></iframe>\n![r][1]\n\n[1]: {url}/g.png\n\n| ![t]({url}/h.png) |\n|---|\n\n"
        f"```html\n<img src={url}>\n```"
        for url in (address, picture.as_uri(), str(picture), "data:image/png;base64,AAAA", "qrc:/x")
    )
    reply = make_reply()
    reply.stream(text, 50)
    reply.finish(text)
    reply.window.grab()
    page = reply.view.texts[0].page
    assert page.loadResource(QTextDocument.ResourceType.ImageResource.value, QUrl(f"{address}/z.png")) is None
    assert not any(form.isImageFormat() for form in page.document().allFormats())
    reply.qtbot.wait(100)
    assert (asked, opened, loaded) == ([], [], [])
    assert "<script src=" in reply.shown
    assert "[one]" in reply.shown


def test_what_does_not_fit_is_told(make_reply: MakeReply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown_text, "MOST_PIXELS", 2_000)
    reply = make_reply()
    text = "A line.\n\n" * 1_000
    reply.stream(text, 500)
    reply.finish(text)
    assert reply.shown.rstrip().endswith("Copy the reply to get all of it.")
    assert 20 < reply.shown.count("A line.") < 500
    assert 2_000 < reply.view.height() < 15_000


SIZE = 150_000
WARM: list[bool] = []
ATTACKS = {
    "line": "x" * SIZE,
    "backticks": "`" * SIZE,
    "stars": "*" * SIZE,
    "brackets": "[" * SIZE,
    "pipes": "|" * SIZE,
    "quotes": "> " * (SIZE // 2),
    "lists": "".join(f"{'  ' * depth}- a\n" for depth in range(300)),
    "open fence": "```python\n" + "x = [1, 'a']  # c\n" * (SIZE // 80),
    "code line": "```python\n" + "x=1;" * (SIZE // 4),
    "code of nothing": "```c\n" + "\n" * (SIZE // 5),
    "table": "| a | b |\n|---|---|\n" + "| one | two |\n" * (SIZE // 100),
    "wide table": "|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n" + ("|" + "x|" * 200 + "\n") * 20,
    "strange": "\u202eabc\u2066\u200b\0\a\ufdd0 " * (SIZE // 20),
    "thoughts": "<think>\n" * 3_000 + "</think>\n" * 3_000,
}


@pytest.mark.parametrize(
    "streamed", [pytest.param(False, id="at once", marks=pytest.mark.soak), pytest.param(True, id="streamed")]
)
@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_do_not_freeze_anything(make_reply: MakeReply, name: str, streamed: bool) -> None:
    if not WARM:  # What is imported and prepared once for all replies is not measured.
        make_reply().finish(RICH)
        WARM.append(True)
    reply = make_reply()
    text = ATTACKS[name]
    probe = GapProbe()
    probe.start()
    if streamed:
        for at in range(0, len(text), 5_000):
            reply.view.grow(text[at : at + 5_000])
            reply.qtbot.wait(1)
    reply.finish(text, 60_000)
    reply.qtbot.wait(15)
    probe.stop()
    # 50 ms on a quiet machine; here others work too. What grows with the square takes seconds.
    assert probe.report()["most_work"] < 600, probe.report()
