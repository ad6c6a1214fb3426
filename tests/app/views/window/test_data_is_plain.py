"""Whatever comes from outside is shown as it is written: no label, tooltip, button or menu reads it as HTML."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QDesktopServices, QTextDocument
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFileDialog,
    QLabel,
    QPlainTextEdit,
    QSystemTrayIcon,
    QTextEdit,
    QToolTip,
    QWidget,
)
from shiboken6 import isValid

import app
import engine
from app.control.downloads import Downloads
from app.shell.notifications import Notifier
from app.state.chat.transcript import Exchange, Problem
from app.state.conversations.list import ConversationItem
from app.state.models.downloads import Download, DownloadState
from app.state.models.targets import Server
from app.system.damage_dialog import make_dialog
from app.views.markdown.link_question import LinkQuestion
from app.views.models.get_models import GetModelsDialog
from app.views.widgets.notices import ContextNotice, LoadNotice
from app.views.window.prompt_dialog import PromptDialog
from engine import GenerationResult, InstallationDamaged, ReadPrompt, ToolCall, host
from engine.library.ollama import NamedModel
from helpers.decoding.scripted_compare import ScriptedCompare
from helpers.decoding.scripted_decoder import Script, ScriptedDecoder
from helpers.window.app_window import OpenWindow, Window
from helpers.window.pseudo_language import open_menus, texts_of

NAME = "<h1>Zq<img src=x width=900>&lt;b&gt; & <b>bold"
"""As a file, a model, a tool may be called."""
DATA = f'{NAME}</b></h1><img src="file:///nowhere.png" width="900">'
REPLY = f"{DATA}\n\n```<h1>Zq</h1>\ncode\n```\n\n[link](https://zq.zz/?<h1>) <br> | {DATA}"
LEFT_OUT = ("program.quit", "view.theme", "view.larger", "view.smaller", "view.usual")
"""Commands that open nothing, and cost seconds while everything is open."""
_MARK = "<h1>Zq"
_MNEMONIC = re.compile(r"(?<!&)&(&&)*(?=lt;|gt;| )")
_MARKUP = re.compile(
    r"TextFormat\.(Rich|Auto|Markdown)Text|\.(setHtml|insertHtml|setMarkdown|setWhatsThis)\(|QMessageBox\."
)


class Shown:
    """Looks at all that there is. Attribute: places, the kinds of widgets that were seen to show data."""

    def __init__(self) -> None:
        self.places: set[str] = set()
        self._tips: set[str] = set()

    def look(self) -> None:
        """At every widget of every window, on screen or not, and the tooltip of each."""
        for widget in QApplication.allWidgets():
            if not isValid(widget):
                continue  # the tooltip before
            widget.ensurePolished()
            texts = [text for _, text in texts_of(widget) if _MARK in text]
            if texts:
                self.places.add(widget.objectName() or type(widget).__name__)
            if isinstance(widget, QLabel):
                assert widget.textFormat() == Qt.TextFormat.PlainText, (widget.objectName(), widget.text())
            for thing in (widget, *widget.actions()):
                if isinstance(thing, QAbstractButton | QAction) and _MARK in thing.text():
                    assert not _MNEMONIC.search(thing.text()), (widget.objectName(), thing.text())
            for text in (*texts, *_tips_of(widget)):
                self._tip(text, widget)

    def _tip(self, text: str, widget: QWidget) -> None:
        """Show a text as a tooltip, whichever it is: there is one way to show them."""
        if text in self._tips:
            return
        self._tips.add(text)
        QToolTip.hideText()
        QToolTip.showText(QPoint(5, 5), text, widget)
        tips = [each for each in QApplication.topLevelWidgets() if each.inherits("QTipLabel") and each.isVisible()]
        for tip in tips:
            assert isinstance(tip, QLabel)
            assert tip.textFormat() == Qt.TextFormat.PlainText
        QToolTip.hideText()


def _tips_of(widget: QWidget) -> Iterator[str]:
    """Return the tooltips within a text; a document that holds data holds nothing but letters."""
    if not isinstance(widget, QTextEdit | QPlainTextEdit):
        return
    document: QTextDocument = widget.document()
    block = document.begin()
    while block.isValid():
        pieces = block.begin()
        while not pieces.atEnd():
            form = pieces.fragment().charFormat()
            assert not form.isImageFormat()
            if form.toolTip():
                yield form.toolTip()
            pieces += 1
        block = block.next()


@pytest.fixture
def window(open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Window:
    """A window in which everything that may have a name has a hostile one."""
    plain = ScriptedDecoder._result

    def noted(decoder: ScriptedDecoder, *told: Any) -> GenerationResult:
        return replace(plain(decoder, *told), notes=(f"Dropped a call of {NAME}.",))

    monkeypatch.setattr(ScriptedDecoder, "_result", noted)
    monkeypatch.setattr(engine, "measure_ways", ScriptedCompare({"plain": 50.0, "4": 68.5, "auto": 70.0}))
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: True)
    monkeypatch.setattr(Downloads, "look_around", lambda _self: None)
    answers = {"getOpenFileName": ("", ""), "getSaveFileName": ("", ""), "getOpenFileNames": ([], "")}
    for kind, answer in (answers | {"getExistingDirectory": ""}).items():
        monkeypatch.setattr(QFileDialog, kind, staticmethod(lambda *_, answer=answer, **_more: answer))
    models = tmp_path / NAME
    models.mkdir()
    (models / f"{NAME}.gguf").write_bytes(b"no model")
    pair = (tmp_path / f"{NAME} big.gguf", tmp_path / f"{NAME} small.gguf")
    script = Script(REPLY, tool_calls=(ToolCall("1", NAME, {NAME: DATA}),), thinking="effort")
    window = open_window(script, pair=pair)
    window.models.add_folder(models)
    window.models.add_server(Server("http://127.0.0.1:9", DATA, DATA))
    window.models.choose_target(pair[0])
    (tmp_path / f"{NAME}.txt").write_text("zq", encoding="utf-8")
    window.program.attachments.add([tmp_path / f"{NAME}.txt"])
    window.wait(lambda: window.program.attachments.attachments)
    window.click(window.prompt.button)
    window.wait(lambda: window.models.settled and not window.controller.busy)
    window.ask(DATA)
    script.reply_errors.append(RuntimeError(DATA))
    window.ask(DATA)
    return window


@pytest.mark.logs("builtins.RuntimeError")
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_nothing_that_comes_from_outside_is_read_as_html(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every widget of every window that a command opens."""
    shown = Shown()
    main = window.main
    exchanges = [each for each in window.controller.transcript.entries if isinstance(each, Exchange)]
    assert all(_MARK in window.shown(each) for each in exchanges[:2])
    window.controller.report(Problem(DATA, details=DATA))
    main.notice.show_trouble(DATA)
    for notice in main.findChildren(LoadNotice) + main.findChildren(ContextNotice):
        notice.announce(DATA)
    main.commands.refresh()
    for command in [each.key for each in main.commands if not each.key.startswith(LEFT_OUT)]:
        main.commands.run(command)
        QApplication.processEvents()
    _tell_downloads(window)
    open_menus(main)
    LinkQuestion(f"https://zq.zz/{DATA}", main).show()
    PromptDialog(ReadPrompt(DATA, (), 4), (DATA,), window.program.theme, main).show()
    make_dialog(InstallationDamaged([NAME], [NAME])).show()
    for row in window.program.conversations.list.rows:
        if isinstance(row, ConversationItem):
            main.left.make_menu(row)
    shown.look()
    for each in QApplication.topLevelWidgets():
        if each is not main and each.isVisible():
            each.close()
    assert {"summary", "noticeText", "codeLanguage", "Picker", "thoughtHeader"} <= shown.places, sorted(shown.places)
    assert not re.search(r"<[\w/]|&\w", _notified(DATA, main, window, monkeypatch))
    window.wait(lambda: not window.controller.busy and window.models.settled)
    window.wait(lambda: window.program.bridge._worker._running is None)  # Growing a demo ends at its next step.


def _tell_downloads(window: Window) -> None:
    """Have all that the dialog for models shows come from hostile hubs, disks and programs."""
    downloads, model = window.program.downloads, NamedModel(DATA, Path(f"{NAME}.gguf"))
    downloads.places = (host.FoundPlace(DATA, Path(NAME), (model,)),)
    files = (f"{NAME}.Q4_K_M.gguf", f"{NAME}.gguf")
    downloads.found = tuple(host.FoundRepository(DATA, 1, 1, DATA, gated, files) for gated in (True, False))
    states: tuple[DownloadState, ...] = ("running", "paused", "failed", "done")
    downloads.listed = tuple(Download(f"{DATA} {state}", state=state, problem=DATA) for state in states)
    downloads.trouble = DATA
    downloads.changed.emit()
    (dialog,) = window.main.findChildren(GetModelsDialog)
    dialog.places.setCurrentRow(0)
    dialog.results.setCurrentRow(0)
    assert _MARK in dialog.message.text()
    assert all(_MARK in line.label.text() for line in dialog._lines.values())
    assert _MARK in dialog.results.item(1).text()


def _notified(text: str, main: QWidget, window: Window, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the accessible text."""
    told: list[str] = []
    for name in ("isSystemTrayAvailable", "supportsMessages"):
        monkeypatch.setattr(QSystemTrayIcon, name, lambda: True)
    notifier = Notifier(main, window.program.settings)
    message = SimpleNamespace(show=lambda: None, hide=lambda: None, showMessage=lambda *texts: told.append(texts[1]))
    monkeypatch.setattr(notifier, "_tray", message)
    notifier._show("Zq", text)
    assert told[0].replace("\N{WORD JOINER}", "") == text
    return told[0]


def test_no_part_of_the_window_asks_for_html() -> None:
    folder = Path(app.__file__).parent
    sources = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    found = {name for name, source in sources.items() if _MARKUP.search(source)}
    # The child that draws previews, whose every page has neither scripts nor files nor a network, is one of them.
    assert found == {"system/damage_dialog.py", "system/drawing_child.py", "views/widgets/plain_style.py"}
