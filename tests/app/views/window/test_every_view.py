"""Every view and dialog, one state after another: translated, named, reached without a mouse, and nothing is cut.

They speak the pseudo-language; as soak tests also English and German, in other themes and sizes. `make screenshots`
keeps pictures of those. What stands in for what people and models write is Georgian, whose letters no text of ours has.
"""

import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QCursor, QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

import app.views.window.about
import engine
from app.settings.settings import Settings
from app.shell.settings_windows import SettingsWindows
from app.state.chat.activity import Activity
from app.state.chat.intents import Regenerate
from app.state.chat.transcript import Problem
from app.state.compare.compare import CompareKind
from app.state.compare.race import Race, RaceMark
from app.state.conversations.list import ConversationItem
from app.system.damage_dialog import make_dialog
from app.system.licences import Component
from app.system.translation import install
from app.views.chat.tool_call import ToolCallView
from app.views.markdown.link_question import LinkQuestion
from app.views.window.file_drops import DropVeil
from engine import ContextFull, InstallationDamaged, ModelFileBroken, ModelTooLarge, ToolCall, Translatable
from helpers.decoding.scripted_compare import ScriptedCompare
from helpers.decoding.scripted_decoder import Script
from helpers.paths import ROOT
from helpers.processes import run_python
from helpers.window.access import nameless, tab_stops, unreachable, without_visible_focus
from helpers.window.app_window import OpenWindow, Window
from helpers.window.cut import cut_parts
from helpers.window.pseudo_language import LeftOut, data_of, open_menus, pseudo, speaking_pseudo, texts_of

PICTURES = os.environ.get("OUTRIDER_SCREENSHOTS", "")
SMALLEST = (720, 480)
SAID = "ძაღლი ხედავს კატას და კატა ხედავს ძაღლს"
REPLY = f"""<think>{SAID}</think>## სათაური

{SAID}, **{SAID}**, `აბგ` და [ბმული](https://zz.zzz/zzzz/zzz).

1. პირველი
2. მეორე
   - შიგნით

| ცხოველი | საჭმელი | ფეხები |
|:--|:--|--:|
| დათვი | თაფლი და კენკრა, უფრო შემოდგომაზე | 4 |

> {SAID}, {SAID}, {SAID}

```python
ანა = ბანი * ბანი  # {SAID}, {SAID}, {SAID}
```

שלום עולם, 日本語, 👩‍🚀."""
FORMULAS = r"""ფესვები: $ax^2 + bx + c = 0$:

$$x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$$

\[ A = \begin{pmatrix} a & b \\ c & d \end{pmatrix}, \quad \alpha \le \beta \]

| ა | ბ |
|:--|--:|
| გ | $\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}$ |
"""
BROKEN = {"junk": b"zzzz" * 99, "empty": b"", "cut": b"GGUF\x03\0\0\0\1", "old": b"GGUF\x01\0\0\0" + bytes(64)}
KINDS: tuple[CompareKind, ...] = ("compare", "sweep")
DIALOGS = (
    *("program.shortcuts", "program.about", "program.settings", "chat.generation", "models.library", "models.options"),
    *("proof.compare", "proof.sweep", "models.get", "models.server"),
)
LOOKS = [
    pytest.param(("pseudo", "light", (1280, 800)), id="pseudo"),
    *(
        pytest.param(look, id=f"{look[0]}-{look[1]}-{look[2][0]}", marks=pytest.mark.soak)
        for look in (("en", "dark", SMALLEST), ("en", "light", (1920, 1080)), ("de", "light", SMALLEST))
    ),
]
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


class Views:
    """Opens a window, and looks at it in one state after another."""

    def __init__(
        self, open_window: OpenWindow, left_out: LeftOut | None, settings: Settings, size: tuple[int, int], folder: Path
    ) -> None:
        self._open, self._left_out, self.settings, self._size, self._folder = (
            open_window,
            left_out,
            settings,
            size,
            folder,
        )
        self._numbers = count(1)
        self.window: Window

    def open(self, script: Script, **more: Any) -> Window:
        """Open a window, with models that have no English names."""
        pair = (self._folder / "xxbig.gguf", self._folder / "xxsmall.gguf")
        settings = None if (self._folder / "settings.json").exists() else self.settings
        self.window = self._open(script, pair=pair, settings=settings, size=self._size, **more)
        return self.window

    def look(self, name: str, widget: QWidget | None = None, *, by_tab: bool = True) -> None:
        """Look at a window; not `by_tab` where the state ends when the keyboard goes elsewhere."""
        QApplication.processEvents()
        main, shown = self.window.main, widget or self.window.main
        if PICTURES:
            shown.grab().save(str(ROOT / PICTURES / f"{name}-{next(self._numbers):02}-{self._folder.name}.png"))
        wrong = [*self._cut(shown), *nameless(shown)]
        if by_tab and self._left_out is not None:  # Once: where there is less room, less has a widget.
            shown.activateWindow()
            self.window.wait(shown.isActiveWindow)
            wrong += unreachable(shown, main.commands)
        if shown is main:
            main.resize(*SMALLEST)
            wrong += self._cut(main)
            main.resize(*self._size)
            QApplication.processEvents()
        assert not wrong, "\n".join([name, *wrong])
        self.told(name)

    def _cut(self, widget: QWidget) -> list[str]:
        """Give what is cut, also at a second look: a busy machine lays out late."""
        QApplication.processEvents()
        found = list(cut_parts(widget))
        if found:
            self.window.qtbot.wait(300)
            found = list(cut_parts(widget))
        return found

    def told(self, name: str) -> None:
        """Look whether all texts that there are were translated."""
        if self._left_out is not None:
            self._left_out.look(shown=True)
            assert not self._left_out.found, f"{name}: not translated:\n{self._left_out}"

    def end(self) -> None:
        """Look at everything once more, on screen or not."""
        if self._left_out is not None:
            self._left_out.look()
            assert self._left_out.seen > 100
            assert not self._left_out.found, f"not translated:\n{self._left_out}"

    def dialog(self, command: str) -> Any:
        self.window.main.commands.run(command)
        return self.others()[-1]

    def others(self) -> list[QWidget]:
        shown = [each for each in QApplication.topLevelWidgets() if each.isVisible() and each.width() > 1]
        return [each for each in shown if each is not self.window.main]

    def say(self, text: str) -> str:
        """Give a text of ours as the window shows it."""
        return text if self._left_out is None else pseudo(text)


def unseen(window: Window, widget: QWidget) -> str:
    """Give what has the keyboard without showing it, also at a second look: a busy machine draws late."""
    found = without_visible_focus(widget)
    if found:
        QCursor.setPos(widget.mapToGlobal(widget.rect().bottomRight()))  # What is under the mouse may look the same.
        widget.activateWindow()
        window.qtbot.wait(300)
        found = without_visible_focus(widget)
    return "\n".join(found)


@pytest.fixture(params=LOOKS)
def views(
    request: pytest.FixtureRequest, open_window: OpenWindow, qapp: QApplication, tmp_path: Path
) -> Iterator[Views]:
    """Give each look; the pseudo-language whatever the settings say."""
    language, theme, size = request.param
    if PICTURES:
        (ROOT / PICTURES).mkdir(parents=True, exist_ok=True)
    settings = Settings(theme=theme, language="en" if language == "pseudo" else language, lookahead=4)
    if language != "pseudo":
        yield Views(open_window, None, settings, size, tmp_path)
        install(qapp, "en")
        return
    with speaking_pseudo(qapp):
        opened = Views(open_window, LeftOut(data_of(tmp_path)), settings, size, tmp_path)
        yield opened
        opened.end()


@pytest.mark.soak
def test_at_another_scale(tmp_path: Path) -> None:
    screen = {"name": "large", "x": 0, "y": 0, "width": 1920, "height": 1200, "dpr": 1}
    (tmp_path / "screen.json").write_text(json.dumps({"screens": [screen]}))  # Qt's own one is 800 x 800.
    scaled = os.environ | {
        "QT_SCALE_FACTOR": "2",
        "QT_QPA_PLATFORM": f"offscreen:configfile={tmp_path / 'screen.json'}",
    }
    done = run_python("-m", "pytest", "-m", "soak or not soak", "-k", "not scale", __file__, env=scaled, timeout=900)
    assert done.returncode == 0, done.stdout[-4_000:]


def test_what_is_cut_is_found(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    area, page = QScrollArea(), QLabel("wide")
    page.setFixedWidth(900)
    area.setWidget(page)
    row.addWidget(area)
    narrow = QLabel("A text without room", window)
    button, far = QPushButton("And a button", window), QLabel("x", window)
    narrow.setGeometry(0, 0, 30, 20)
    button.setGeometry(0, 30, 20, 20)
    far.setGeometry(390, 40, 50, 20)
    window.resize(400, 200)
    window.show()
    found = "\n".join(cut_parts(window))
    for words in ("'A text without room': 30 wide", "'And a button': 20 x 20 instead", "'x': ", "scrolls sideways by"):
        assert words in found
    narrow.resize(300, 20)
    assert "A text without room" not in "\n".join(cut_parts(window))


def test_what_is_missing_is_found(qtbot: QtBot) -> None:
    """The walk itself."""
    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    good, silent, deaf, field = QPushButton("Good"), QToolButton(), QPushButton("Deaf"), QLineEdit()
    deaf.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    silent.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    for widget in (good, silent, deaf, field):
        layout.addWidget(widget)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    assert [line.split(":")[0] for line in nameless(window)] == ["no name", "no tooltip", "no name"]
    assert [line.split(" '")[0] for line in unreachable(window)] == ["not reached: QWidget/QPushButton"]


def test_before_anything_is_asked(views: Views) -> None:
    window = views.open(Script())
    open_menus(window.main)
    window.main.show_chat(empty=True)
    views.look("new-chat")
    notice = window.main.notice
    for show, words in (
        (notice.show_trouble, (SAID,)),
        (notice.show_good_news, (SAID,)),
        (notice.show_offer, (SAID, "აბგ")),
    ):
        show(*words)
        views.look("notice")
    window.main.commands.run("program.introduction")
    views.look("first-launch")


def test_a_conversation(views: Views) -> None:
    window = views.open(Script(REPLY))
    main, exchange = window.main, window.ask(SAID)
    view = window.view(exchange)
    view.reply.thoughts[0].header.click()
    views.look("thought")
    QTest.mouseMove(view, view.rect().center())
    views.look("actions")
    view.build_actions()
    view.reply_actions.button("edit").click()
    views.look("edit-reply", by_tab=False)
    QTest.keyClick(QApplication.focusWidget() or view, Qt.Key.Key_Escape)
    view.question.edit()
    views.look("edit")
    window.controller.carry_out(Regenerate(exchange))
    window.ended(window.first())
    views.look("versions")
    main.bar.tokens_button.click()
    views.look("tokens")
    main.bar.tokens_button.click()
    view = window.view(window.first())
    view.build_actions()
    view.reply_actions.button("prompt").click()
    window.wait(views.others)
    views.look("model-reads", views.others()[0])
    views.others()[0].close()
    open_menus(main)
    views.look("conversation")


def test_a_reply_while_it_is_written(views: Views) -> None:
    window = views.open(Script(f"{SAID} " * 40, round_s=0.05, read_s=0.4))
    window.send(SAID)
    window.wait(lambda: window.controller.activity.work == "reading")
    views.told("reading")
    window.wait(lambda: window.controller.activity.work == "writing")
    for _ in range(6):
        window.prompt.edit.insertPlainText(SAID)
        window.key(Qt.Key.Key_Return)
    views.look("writing")
    window.controller.cancel()
    window.wait(lambda: not window.controller.busy)
    window.main.strip.show_activity(Activity("loading", "xxbig", 0.4))
    window.wait(window.main.strip.isVisible)
    views.look("loading")


def test_the_card_of_a_token(views: Views) -> None:
    """Tab comes to the tokens, and their card is there; the arrows go on, and what the card says is said aloud."""
    window = views.open(Script(f"{SAID} `აბგ` [ბმული](https://zz.zzz/).\n\n```python\nx = 1\n```\n"))
    exchange = window.ask(SAID)
    window.main.bar.tokens_button.click()
    tokens = window.view(exchange).tokens
    assert tokens is not None
    window.wait(lambda: window.view(exchange).reply.is_settled)
    text, card = window.view(exchange).reply.texts[0].page, tokens.layer.card
    window.main.activateWindow()
    window.wait(window.main.isActiveWindow)
    window.main.enter_transcript()
    for _ in range(9):
        QTest.keyClick(QApplication.focusWidget() or window.main, Qt.Key.Key_Tab)
        if QApplication.focusWidget() is text:
            break
    assert text.hasFocus()
    assert card.isVisible()
    told = QAccessible.queryAccessibleInterface(text)
    assert told.role() == QAccessible.Role.StaticText
    said = []
    for _ in range(3):
        said.append(told.text(QAccessible.Text.Description))
        shown = [label.text() for label in card.findChildren(QLabel) if label.isVisible()]
        assert card.name.text() in said[-1]
        assert card.whence.text() in said[-1]
        assert QAccessible.queryAccessibleInterface(card).text(QAccessible.Text.Name) == said[-1]
        assert card.target.text() in shown
        QTest.keyClick(text, Qt.Key.Key_Right)
    assert len(set(said)) == 3
    views.look("token-card")
    text.setFocus(Qt.FocusReason.TabFocusReason)
    assert card.isVisible()
    QTest.keyClick(text, Qt.Key.Key_Escape)
    assert not card.isVisible()
    assert text.hasFocus()
    assert unseen(window, window.main) == ""


def test_tab_follows_the_eye(views: Views) -> None:
    """The bar, the chats, the conversation, the prompt, the panel; each from left to right and from top to bottom."""
    window = views.open(Script(REPLY))
    window.ask(SAID)
    main = window.main
    main.resize(1280, 800)
    main.bar.left_button.setFocus()
    main.activateWindow()
    window.wait(main.isActiveWindow)
    # The panel shows a reply's figures when the drawing before it is on the screen.
    window.wait(lambda: any(map(main.panel.isAncestorOf, tab_stops(main))))
    stops = tab_stops(main)
    areas = [main.bar, main.left, main.transcript, main.prompt, main.panel]
    order = [
        next((number for number, area in enumerate(areas) if area is stop or area.isAncestorOf(stop)), -1)
        for stop in stops
    ]
    seen = [number for number in order if number >= 0]
    begin = next(place for place, number in enumerate(seen) if number == 0 and seen[place - 1] != 0)
    turned = [*seen[begin:], *seen[:begin]]
    assert list(dict.fromkeys(turned)) == [0, 1, 2, 3, 4]
    assert sorted(turned) == turned, "each once"


def test_thoughts_calls_and_formulas(views: Views) -> None:
    calls = (ToolCall("1", "აბგ", {"დ": "ანა" * 80, "ე": 3}), ToolCall("2", "ა" * 90, {}))
    script = Script(f"<think>{SAID}</think>{SAID}", tool_calls=calls, thinking="effort", opened=False)
    window = views.open(script)
    view = window.view(window.ask(SAID))
    view.findChildren(ToolCallView)[0].header.click()
    open_menus(window.main)
    views.look("tool-calls")
    script.tool_calls, script.reply = (), FORMULAS
    window.ask(SAID)
    assert not list(cut_parts(window.main))


def test_a_conversation_that_outgrows_the_context(views: Views) -> None:
    window = views.open(Script("ა" * 400, context=350))
    window.ask(SAID)
    window.ask(SAID)
    window.prompt.edit.insertPlainText("ა" * 600)
    window.wait(lambda: window.program.context.use is not None and window.program.context.use.dropped)
    views.look("dropped")
    window.prompt.edit.insertPlainText("ა" * 900)
    window.wait(lambda: window.program.context.use is not None and not window.program.context.use.fits)
    window.key(Qt.Key.Key_Return)
    views.look("too-long")
    window.main.meter.click()
    views.told("context-details")
    for each in views.others():
        each.close()


def test_files_beside_a_question_and_those_that_are_not(views: Views, tmp_path: Path) -> None:
    files = {"xxgood.txt": SAID.encode() * 9, "xxempty.txt": b"", "xxpicture.txt": b"\0\1\2" * 99}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    window = views.open(Script(REPLY))
    window.prompt.show_files((), tuple(files))
    views.look("attaching")
    for path in (*(tmp_path / name for name in files), tmp_path, tmp_path / "xxgone.txt"):
        window.program.attachments.add([path])
        window.qtbot.wait(100)
        views.told("attaching")
    views.look("attachments")
    window.prompt.edit.insertPlainText(SAID)
    window.click(window.prompt.button)
    window.wait(lambda: not window.controller.busy)
    window.view(window.first()).question.files[0].header.click()
    views.look("quoted")


def test_the_list_of_conversations(views: Views) -> None:
    window = views.open(Script(REPLY))
    main, left = window.main, window.main.left
    window.ask(SAID)
    left.search.setText("ძაღლ")
    window.wait(lambda: left.list.model().rowCount() and window.program.conversations.list.query)
    views.look("search")
    left.search.setText("ფფფფ")
    window.wait(lambda: not left.nothing.isHidden())
    views.look("nothing-found")
    left.search.clear()
    window.wait(lambda: not window.program.conversations.list.query)
    main.commands.run("conversations.rename")
    views.look("rename", by_tab=False)
    QTest.keyClick(QApplication.focusWidget() or main, Qt.Key.Key_Escape)
    row = next(row for row in window.program.conversations.list.rows if isinstance(row, ConversationItem))
    left.make_menu(row)
    main.commands.run("conversations.delete")
    window.wait(lambda: not left.undo_bar.isHidden())
    views.look("deleted")


def test_a_narrow_window_with_either_panel(views: Views) -> None:
    window = views.open(Script(REPLY))
    window.main.resize(*SMALLEST)
    window.ask(SAID)
    for name, show in (("left", window.main.show_left), ("right", window.main.show_right)):
        show(True)
        views.look(f"panel-{name}")
        window.main.resize(*SMALLEST)
    panel = window.main.panel
    panel.verticalScrollBar().setValue(panel.verticalScrollBar().maximum())
    panel.tools.pause_button.click()
    views.look("panel-end")


def test_the_palette_and_what_is_dropped_onto_the_window(views: Views) -> None:
    window = views.open(Script(REPLY))
    window.main.commands.run("program.palette")
    views.look("palette", by_tab=False)
    QTest.keyClicks(QApplication.focusWidget() or window.main, "zzzz")
    views.look("palette-nothing", by_tab=False)
    QTest.keyClick(QApplication.focusWidget() or window.main, Qt.Key.Key_Escape)
    veil = DropVeil(window.main)
    veil.cover()
    views.look("drop", by_tab=False)
    veil.deleteLater()


@pytest.mark.logs("builtins.(RuntimeError|MemoryError)")
def test_what_goes_wrong(views: Views, tmp_path: Path) -> None:
    script = Script(SAID, reply_errors=[ContextFull(5000, 4096), RuntimeError("zzz"), MemoryError()])
    window = views.open(script)
    problems = [window.problem(window.ask(SAID)) for _ in range(3)]
    window.press(views.say("Details…"), problems[1])
    window.wait(views.others)
    (dialog,) = views.others()
    # The report itself is in English, for those who mend it.
    reports = [each for each in dialog.findChildren(QPlainTextEdit) if each.isReadOnly()]
    assert any("RuntimeError" in each.toPlainText() for each in reports)
    for each in reports:
        each.clear()
    views.look("report", dialog)
    assert unseen(window, dialog) == ""
    dialog.close()
    script.load_errors.append(ModelFileBroken(tmp_path / "xxbad.gguf", "zzz"))
    window.models.choose_target(tmp_path / "xxbad.gguf")
    window.ask(SAID)
    window.main.folder_chosen.emit(str(tmp_path / "xxgone"))
    window.wait(window.notices)
    window.controller.report(Problem(f"{SAID}."))
    views.look("problems", by_tab=False)  # Those far away have no widgets.
    question = LinkQuestion("https://zz.zzz/zzzz", window.main)
    question.ask_at(window.main.mapToGlobal(window.main.rect().center()))
    assert nameless(question) == []
    views.told("link")
    question.close()


def test_memory_that_is_too_short(views: Views, tmp_path: Path) -> None:
    script = Script()
    window = views.open(script)
    script.load_errors += [ModelTooLarge(tmp_path / "xxhuge.gguf", 2**40, 2**30)] * 2  # Chosen, and asked for.
    window.models.choose_target(tmp_path / "xxhuge.gguf")
    window.send(SAID)
    window.qtbot.wait(300)
    views.look("announcement")


@pytest.mark.logs("the conversations could not be opened")
def test_settings_and_conversations_that_were_damaged(views: Views, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{", encoding="utf-8")
    (tmp_path / "conversations.sqlite3").write_bytes(b"no conversations at all")
    window = views.open(Script(REPLY))
    assert window.notices()
    assert window.main.notice.isVisible()
    assert views.say("Messages that you send now are not saved.") in window.main.notice.text.text()
    views.look("damaged")
    assert unseen(window, window.main) == ""


def test_a_program_that_lacks_parts(open_window: OpenWindow) -> None:
    """In English only, as the translations may be what is lacking."""
    window = open_window(Script())
    dialog = make_dialog(InstallationDamaged(["xxwindow.txt"], [f"xxpart-{number}.txt" for number in range(9)]))
    window.qtbot.addWidget(dialog)
    dialog.show()
    dialog.activateWindow()
    window.wait(dialog.isActiveWindow)
    assert [*cut_parts(dialog), *nameless(dialog), *unreachable(dialog)] == []
    assert unseen(window, dialog) == ""
    told = QAccessible.queryAccessibleInterface(dialog)
    assert told.role() == QAccessible.Role.AlertMessage
    assert dialog.windowTitle()
    assert "xxwindow" in dialog.informativeText()
    QTest.keyClick(QApplication.focusWidget() or dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of components and licences are not translated; links open nothing."""
    part = Component("zz", "1", "zzz", "", ())
    monkeypatch.setattr(app.views.window.about, "components", lambda: (part,))
    monkeypatch.setattr(app.views.window.about, "versions", lambda: [("zz", "1")])
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: True)


@pytest.mark.usefixtures("parts")
def test_every_dialog(views: Views) -> None:
    """Each page of it; it has a title and a button that leaves it, the keyboard is seen in it, and Escape leaves it."""
    window = views.open(Script(REPLY))
    window.main.resize(1280, 800)
    window.ask(SAID)
    assert unseen(window, window.main) == ""
    for key in DIALOGS:
        dialog = views.dialog(key)
        assert dialog.windowTitle(), "a screen reader says it first"
        said = {button.text() for button in dialog.findChildren(QPushButton)}
        assert said & {views.say("Close"), views.say("Cancel"), "Schließen", "Abbrechen"}, key
        pages = [*dialog.findChildren(QTabWidget), *dialog.findChildren(QStackedWidget)]
        for turned in pages:
            for place in range(turned.count()):
                turned.setCurrentIndex(place)
                views.look(key, dialog)
        views.look(key, dialog)
        dialog.activateWindow()
        window.wait(dialog.isActiveWindow)
        assert unseen(window, dialog) == ""
        QTest.keyClick(QApplication.focusWidget() or dialog, Qt.Key.Key_Escape)
        assert not dialog.isVisible()


def test_the_settings(views: Views, tmp_path: Path) -> None:
    window = views.open(Script(REPLY))
    dialog = views.dialog("chat.generation")
    page = dialog.generation
    for field in page.fields.values():
        if isinstance(field.edit, QLineEdit):
            field.edit.setText("ზზ")
        else:
            field.edit.setPlainText("ზზ\n" * 40)
    page.presets.save.click()
    page.presets.name.setText("ზზ" * 50)
    views.look("settings-wrong", dialog)
    page.fields["temperature"].edit.setText("0.5")
    page.presets.name.setText("ზზ")
    page.presets.use.click()
    files = window.main.findChild(SettingsWindows)
    assert files is not None
    (tmp_path / "zzz").write_text("zz", encoding="utf-8")
    for act, name in ((files.export, "zz"), (files.import_, "zz"), (files.import_, "zzz")):
        act(page.presets, tmp_path / name)
        QApplication.processEvents()
        views.told("presets")
    for field in dialog.speculation.fields.values():
        for row in range(field.picker.count()):
            field.picker.setCurrentIndex(row)
            field.picker.activated.emit(row)
            QApplication.processEvents()
            views.told("speculation")
    dialog.open_at("server")
    dialog.server.show_state("https://127.0.0.1:8080", "")
    views.look("settings-server-on", dialog)
    taken = {"host": "127.0.0.1", "port": "8080", "reason": "zzz"}
    dialog.server.show_state(
        "", Translatable("Cannot listen on {host}, port {port}: {reason}. Choose another port.", **taken)
    )
    views.look("settings-server-problem", dialog)
    dialog.close()
    asked = views.dialog("models.server")
    asked.address.setText("https://zz.zzz:8080")
    asked.show_problem(SAID)
    views.look("add-server-problem", asked)
    asked.show_found("https://zz.zzz:8080", ["zzzz", "zzz"], "zzz")
    views.look("add-server-found", asked)


def test_models_of_every_kind(views: Views, tmp_path: Path) -> None:
    """Why they cannot be used, in the library and in the pickers, in the words of the engine; options of one."""
    folder = tmp_path / "xxmodels"
    folder.mkdir()
    for name, content in BROKEN.items():
        (folder / f"xx{name}.gguf").write_bytes(content)
    window = views.open(Script())
    window.main.folder_chosen.emit(str(folder))
    window.wait(lambda: len(window.models.list.models) >= 2 + len(BROKEN) and window.models.settled)
    dialog = views.dialog("models.library")
    for search in ("", "xxjunk", "ფფფ"):
        dialog.search.setText(search)
        views.look("library", dialog)
    dialog.search.clear()
    shown = [text for widget in QApplication.allWidgets() for _, text in texts_of(widget)]
    known = views.settings.language == "en"
    assert not known or any(views.say("it is not a GGUF file.")[1:].casefold() in text.casefold() for text in shown)
    dialog.show_activity(Activity("loading", "xxbig", 0.3))
    window.wait(dialog.strip.isVisible)
    views.look("library-loading", dialog)
    dialog.close()
    options = views.dialog("models.options")
    for field in options.findChildren(QLineEdit):
        if field.isEnabled():
            field.setText("99999999")
    views.look("options-wrong", options)
    options.close()
    for picker in (window.main.bar.target, window.main.bar.draft, window.main.bar.lookahead):
        picker.showPopup()
        views.told("picker")
        picker.hidePopup()


def test_compare_and_sweep(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not begun, failed, measured; and the race while it runs, and over."""
    proof = ScriptedCompare({"plain": 50.0, "4": 68.5, "auto": 70.0})
    monkeypatch.setattr(engine, "measure_ways", proof)
    window = views.open(Script(REPLY))
    window.ask(SAID)
    for kind in KINDS:
        dialog = views.dialog(f"proof.{kind}")
        views.look(f"{kind}-begin", dialog)
        for errors in ([ContextFull(5000, 4096)], []):
            proof.errors += errors
            dialog.start.click()
            window.wait(lambda kind=kind: not window.program.compare.runs[kind].running)  # type: ignore[misc]
            views.look(f"{kind}-end", dialog)
        dialog.close()
    dialog, race = views.dialog("proof.compare"), Race()
    for lane, pace in ((0, 0.02), (1, 0.01)):
        for number in range(1, 60):
            race.take(RaceMark(lane, number * pace, f" {SAID}", number, over=number == 59))
    dialog.race.show_race(race, ("ა", "ბ"), sampled=False, free=True)
    views.look("race", dialog)
    window.wait(lambda: bool(dialog.race.outcome.text()))
    views.look("race-over", dialog)
    dialog.race.show_race(None, ("ა", "ბ"), sampled=False, free=True)
