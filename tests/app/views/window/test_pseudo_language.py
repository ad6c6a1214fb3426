"""Every text goes through translation: in a language of other letters nothing of the window reads as English."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QDesktopServices, QPainter, QPaintEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QLineEdit,
    QPlainTextEdit,
    QStackedWidget,
    QTabWidget,
    QWidget,
)
from pytestqt.qtbot import QtBot

import app.shell.bootstrap
import app.views.window.about
import engine
from app.shell.files import CHAT_PROGRAMS
from app.shell.notifications import Notifier
from app.shell.settings_windows import SettingsWindows
from app.state.chat.intents import Regenerate
from app.state.compare.compare import CompareKind
from app.system.licences import Component
from app.system.resources import starter_prompts
from app.system.translation import install
from app.views.markdown.code_bars import CodeBar
from app.views.markdown.link_question import LinkQuestion
from app.words.get_models import short_name
from engine import ContextFull, ModelFileBroken, ModelTooLarge
from engine.host import PROGRAMS, packaged_models
from engine.hub.catalogue import catalogue
from helpers.decoding.scripted_compare import ScriptedCompare
from helpers.decoding.scripted_decoder import Script
from helpers.models.model_zoo import MODELS, write_torn
from helpers.paths import ROOT
from helpers.window.app_window import OpenWindow, Window
from helpers.window.pseudo_language import LeftOut, Painted, open_menus, pseudo, speak_pseudo, texts_of
from helpers.window.raced_view import raced_view

ENDING = frozenset({"program.quit"})
REPLY = "zzz zz zzz **zzzz** zzz\n\n```python\nzzz = 1\n```\n\n- zzz\n- zzzz"
BROKEN = {"junk": b"zzzz" * 99, "empty": b"", "cut": b"GGUF\x03\0\0\0\1", "old": b"GGUF\x01\0\0\0" + bytes(64)}
KINDS: tuple[CompareKind, ...] = ("compare", "sweep")
UNITS = r"\b(?:[kKMGT]i?B|[KMBT]|px|pt)\b"
NAMES = r"xx\w*(?:\.gguf|\.txt)?|\bzz+\b|\bcpu\b|python|Outrider|outrider|RuntimeError|Deutsch|English|Qt|PySide6|https"


@pytest.fixture
def speaking(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The pseudo-language, whatever the settings say."""
    translator = speak_pseudo(qapp)
    monkeypatch.setattr(app.shell.bootstrap, "install", lambda *_arguments: None)
    yield
    qapp.removeTranslator(translator)
    install(qapp, "en")


@pytest.fixture
def left_out(tmp_path: Path) -> LeftOut:
    """What is collected."""
    # What a model is asked to begin with is in the language of the bundled pair, and may be cut.
    prompts = [re.escape(starter.prompt) for starter in starter_prompts()]
    cut = r"(?:" + "|".join(re.escape(starter.prompt[:12]) for starter in starter_prompts()) + r").*…"
    models = [re.escape(text) for model in packaged_models() for text in (model.title, model.licence)]
    # Other programs, the lines of their settings, and where these are kept.
    programs = [rf"\b{re.escape(program.title)}\b" for program in PROGRAMS]
    programs += [rf"\b{program}\b" for program in CHAT_PROGRAMS]
    settings = [r"export \w+='[^']*'", r"\S*/\.claude/settings\.json"]
    names = [*programs, *_names_in_catalogue(), NAMES, UNITS]
    return LeftOut([*settings, *prompts, *models, cut, r"\S*" + tmp_path.name + r"\S*", *names])


def _names_in_catalogue() -> list[str]:
    """Models that are recommended, under what licence, and where they were seen."""
    known = catalogue()
    entries = [*known["targets"], *known["drafts"].values()]
    names = [short_name(f"{each['repository']}:{each['quantisation']}") for each in entries]
    more = [each[key] for each in entries for key in ("source", "licence") if key in each]
    return [re.escape(name) for name in (*names, *more)]


@pytest.fixture
def open_pseudo(open_window: OpenWindow, speaking: None, tmp_path: Path) -> OpenWindow:
    """Opens a window in the pseudo-language, with models that have no English names."""

    def open_one(script: Script, **more: Any) -> Window:
        return open_window(script, pair=(tmp_path / "xxbig.gguf", tmp_path / "xxsmall.gguf"), **more)

    return open_one


def _nothing(left_out: LeftOut) -> None:
    left_out.look()
    assert left_out.seen > 100
    assert not left_out.found, f"not translated:\n{left_out}"


def test_the_pseudo_language() -> None:
    assert pseudo("Copy {name} to <b>%n</b>") == "«Çöþý {name} ţö <b>%n</b>»"
    look = LeftOut([NAMES])
    look.check(pseudo("Copy {name}").format(name="xxbig.gguf"), "")
    look.check("128 · 3", "")
    assert not look.found
    look.check(pseudo("Copy {name}").format(name="the rest"), "")
    assert look.found


def test_the_window_as_it_begins(open_pseudo: OpenWindow, left_out: LeftOut) -> None:
    window = open_pseudo(Script())
    open_menus(window.main)
    _nothing(left_out)


def test_a_conversation(open_pseudo: OpenWindow, left_out: LeftOut) -> None:
    window = open_pseudo(Script(REPLY))
    window.ask("zz zzz")
    exchange = window.ask("zzz zz")
    window.controller.carry_out(Regenerate(exchange))
    window.wait(lambda: not window.controller.busy)
    open_menus(window.main)
    _nothing(left_out)


def test_a_reply_while_it_is_written(open_pseudo: OpenWindow, left_out: LeftOut) -> None:
    window = open_pseudo(Script("zzzz " * 400, round_s=0.01, read_s=0.2))
    window.send("zz zzz")
    window.wait(lambda: window.controller.activity.work == "reading")
    left_out.look()
    window.wait(lambda: window.controller.activity.work == "writing")
    left_out.look()
    window.controller.cancel()
    window.wait(lambda: not window.controller.busy)
    _nothing(left_out)


@pytest.mark.logs("builtins.(RuntimeError|MemoryError)")
def test_what_goes_wrong(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    script = Script("zzzz", reply_errors=[ContextFull(5000, 4096), RuntimeError("zzz"), MemoryError()])
    window = open_pseudo(script)
    for _ in range(3):
        window.ask("zz")
    script.load_errors.append(ModelFileBroken(tmp_path / "xxbad.gguf", "zzz"))
    window.models.choose_target(tmp_path / "xxbad.gguf")
    window.ask("zz")
    window.main.folder_chosen.emit(str(tmp_path / "xxgone"))
    window.wait(window.notices)
    _nothing(left_out)


def test_compare_and_sweep(open_pseudo: OpenWindow, left_out: LeftOut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "measure_ways", ScriptedCompare({"plain": 50.0, "4": 68.5, "auto": 70.0}))
    window = open_pseudo(Script(REPLY))
    window.ask("zz zzz")
    for kind in KINDS:
        window.main.commands.run(f"proof.{kind}")
    left_out.look()
    for kind in KINDS:
        dialog = next(each for each in _dialogs() if getattr(each, "kind", "") == kind)
        dialog.start.click()
        window.wait(lambda kind=kind: _is_done(window, kind), 30_000)  # type: ignore[misc]
        left_out.look()
    _nothing(left_out)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_what_every_command_opens(
    open_pseudo: OpenWindow, left_out: LeftOut, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Menus, palette, sheets, dialogs and questions, each as it opens; dialogs of files only with their titles."""
    _note_file_dialogs(monkeypatch, left_out)
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: True)
    # What the parts of the program and their licences are called is their own affair.
    part = Component("zz", "1", "zzz", "", ())
    monkeypatch.setattr(app.views.window.about, "components", lambda: (part,))
    monkeypatch.setattr(app.views.window.about, "versions", lambda: [("zz", "1")])
    window = open_pseudo(Script(REPLY))
    window.ask("zz zzz")
    window.main.commands.refresh()
    for key in [each.key for each in window.main.commands]:
        if key in ENDING:
            continue
        window.main.commands.run(key)
        window.qtbot.wait(5)
        open_menus(window.main)
        for dialog in [each for each in QApplication.topLevelWidgets() if isinstance(each, QDialog)]:
            _turn_pages(dialog)
        left_out.look()
        for each in QApplication.topLevelWidgets():
            if each is not window.main and each.isVisible():
                each.close()
    _nothing(left_out)


def _note_file_dialogs(monkeypatch: pytest.MonkeyPatch, left_out: LeftOut) -> None:
    def note(kind: str, empty: Any) -> None:
        def ask(_parent: object = None, caption: str = "", _folder: str = "", kinds: object = "", *_: object) -> Any:
            left_out.check(caption, kind)
            if isinstance(kinds, str):
                left_out.check(re.sub(r"\*\.\w+", "", kinds), kind)
            return empty

        monkeypatch.setattr(QFileDialog, kind, staticmethod(ask))

    for kind in ("getOpenFileName", "getSaveFileName"):
        note(kind, ("", ""))
    note("getOpenFileNames", ([], ""))
    note("getExistingDirectory", "")


def _turn_pages(dialog: QDialog) -> None:
    for pages in dialog.findChildren(QTabWidget):
        for place in range(pages.count()):
            pages.setCurrentIndex(place)
    for stack in dialog.findChildren(QStackedWidget):
        for place in range(stack.count()):
            stack.setCurrentIndex(place)


def test_models_that_cannot_be_used(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    """Why, in the library and in the pickers, in the words of the engine."""
    folder = tmp_path / "xxmodels"
    folder.mkdir()
    for name, content in BROKEN.items():
        (folder / f"xx{name}.gguf").write_bytes(content)
    window = open_pseudo(Script())
    window.main.folder_chosen.emit(str(folder))
    window.wait(lambda: len(window.models.list.models) >= 2 + len(BROKEN) and window.models.settled)
    window.main.commands.run("models.library")
    _nothing(left_out)
    shown = [text for widget in QApplication.allWidgets() for _, text in texts_of(widget)]
    assert any(pseudo("it is not a GGUF file.")[1:].casefold() in text.casefold() for text in shown)


def test_attached_files_and_those_that_are_not(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    files = {"xxgood.txt": b"zzz\nzz\n", "xxempty.txt": b"", "xxpicture.txt": b"\0\1\2" * 99}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    window = open_pseudo(Script(REPLY))
    for path in (*(tmp_path / name for name in files), tmp_path, tmp_path / "xxgone.txt"):
        window.program.attachments.add([path])
        window.qtbot.wait(100)
        left_out.look()
    window.type("zz")
    window.click(window.prompt.button)
    window.wait(lambda: not window.controller.busy)
    _nothing(left_out)


def test_memory_that_is_too_short(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    script = Script()
    window = open_pseudo(script)
    script.load_errors += [ModelTooLarge(tmp_path / "xxhuge.gguf", 2**40, 2**30)] * 2  # Chosen, and asked for.
    window.models.choose_target(tmp_path / "xxhuge.gguf")
    window.send("zz")
    window.qtbot.wait(300)
    _nothing(left_out)


def test_settings_that_were_damaged(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{", encoding="utf-8")
    window = open_pseudo(Script())
    window.qtbot.wait(100)
    _nothing(left_out)


@pytest.mark.logs("the conversations could not be opened")
def test_conversations_that_cannot_be_read(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    (tmp_path / "conversations.sqlite3").write_bytes(b"no conversations at all")
    window = open_pseudo(Script())
    assert window.main.notice.isVisible()
    assert pseudo("Messages that you send now are not saved.") in window.main.notice.text.text()
    _nothing(left_out)


def test_the_system_is_told_of_a_reply(
    open_pseudo: OpenWindow, left_out: LeftOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_pseudo(Script(REPLY, reply_errors=[ContextFull(5000, 4096)]))
    told: list[str] = []
    monkeypatch.setattr(Notifier, "_show", lambda _self, *texts: told.extend(texts))
    monkeypatch.setattr("app.shell.notifications.LONG_MS", 0.0)
    notifier = Notifier(window.main, window.program.settings, lambda: False)
    for _ in range(2):
        notifier.note(window.ask("zz"))
    assert len(told) == 4
    for text in told:
        left_out.check(text, "notification")
    _nothing(left_out)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_what_is_painted(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    """Every place in the sources that paints a text by itself does it here, and none of them paints English."""
    painted = Painted(left_out)
    folder = tmp_path / "xxmodels"
    folder.mkdir()
    # What is wrong with it takes two lines to say in large letters.
    write_torn(folder / "xxtorn.gguf", MODELS["lama-half"])
    window = open_pseudo(Script("zzz zz zzz\n\n```\nzzz\n```\n"), size=(1_280, 1_600))
    main = window.main
    main.commands.run("program.introduction")
    painted.look()
    window.view(window.ask("zz zzz")).findChildren(CodeBar)[0].numbers_button.click()
    main.bar.tokens_button.click()
    main.left.search.setText("zz")
    window.wait(lambda: window.program.conversations.list.query)
    main.folder_chosen.emit(str(folder))
    window.wait(lambda: len(window.models.list.models) == 3 and window.models.settled)
    painted.look()
    main.left.search.clear()
    window.wait(lambda: not window.program.conversations.list.query)
    painted.look()
    main.set_font_points(18)
    for picker in (main.bar.target, main.bar.draft, main.bar.lookahead):
        picker.showPopup()
        painted.look()
        picker.hidePopup()
    main.commands.run("program.palette")
    painted.look()
    QTest.keyClicks(QApplication.focusWidget() or main, "zz")
    painted.look()
    race = raced_view(window.program.theme, window.qtbot, (pseudo("plain"), pseudo("speculative")))
    painted.look()
    with painted.noting():
        race.field.picture(None, "zzz")
    race.close()
    assert [place for place in painted.not_reached(ROOT / "app") if not place.startswith("drawing_child.py")] == []
    assert pseudo("position in the draft") in painted.texts
    _nothing(left_out)


def test_a_painted_text_that_is_left_out_is_found(qtbot: QtBot, left_out: LeftOut, tmp_path: Path) -> None:
    class Sign(QWidget):
        def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
            QPainter(self).drawText(4, 20, "Closed")

    sign = Sign()
    qtbot.addWidget(sign)
    painted = Painted(left_out)
    sign.show()
    painted.look()
    assert list(left_out.found) == ["Closed"]
    (tmp_path / "other.py").write_text("painter.drawText(\n    1, 2, words\n)\n", encoding="utf-8")
    assert painted.not_reached(tmp_path) == ["other.py:1"]


@pytest.mark.logs("builtins.RuntimeError")
def test_the_report_of_an_error(open_pseudo: OpenWindow, left_out: LeftOut) -> None:
    window = open_pseudo(Script(reply_errors=[RuntimeError("zzz")]))
    exchange = window.ask("zz")
    window.press(pseudo("Details…"), window.problem(exchange))
    window.qtbot.wait(50)
    # The report itself is in English, for those who mend it.
    reports = [each for dialog in _dialogs() for each in dialog.findChildren(QPlainTextEdit) if each.isReadOnly()]
    assert any("RuntimeError" in each.toPlainText() for each in reports)
    for each in reports:
        each.clear()
    _nothing(left_out)


def test_the_question_about_a_link(open_pseudo: OpenWindow, left_out: LeftOut) -> None:
    window = open_pseudo(Script(REPLY))
    LinkQuestion("https://zz.zzz/zzzz", window.main).show()
    _nothing(left_out)


def _is_done(window: Window, kind: CompareKind) -> bool:
    return window.program.compare.runs[kind].status == "done"


def test_the_settings(open_pseudo: OpenWindow, left_out: LeftOut, tmp_path: Path) -> None:
    window = open_pseudo(Script(REPLY))
    window.main.commands.run("chat.generation")
    dialog = next(each for each in _dialogs() if each.objectName() == "settings")
    page = dialog.generation
    _look(left_out)
    for field in page.fields.values():
        if isinstance(field.edit, QLineEdit):
            field.edit.setText("zz")
        else:
            field.edit.setPlainText("zz\n" * 40)
    page.presets.save.click()
    page.presets.name.setText("zz" * 50)
    _look(left_out)
    page.fields["temperature"].edit.setText("0.5")
    page.presets.name.setText("zz")
    page.presets.use.click()
    files = window.main.findChild(SettingsWindows)
    assert files is not None
    (tmp_path / "zzz").write_text("zz", encoding="utf-8")
    for act, name in ((files.export, "zz"), (files.import_, "zz"), (files.import_, "zzz")):
        act(page.presets, tmp_path / name)
        _look(left_out)
    for field in dialog.speculation.fields.values():
        for row in range(field.picker.count()):
            field.picker.setCurrentIndex(row)
            field.picker.activated.emit(row)
            _look(left_out)
    _nothing(left_out)


def _look(left_out: LeftOut) -> None:
    QApplication.processEvents()
    left_out.look()


def _dialogs() -> list[Any]:
    return [each for each in QApplication.topLevelWidgets() if each.isVisible()]
