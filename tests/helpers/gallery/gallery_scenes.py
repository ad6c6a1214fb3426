"""The scenes of a gallery that take more than opening a window: what is measured, sent, damaged, renamed, refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLineEdit, QTabWidget, QWidget

from app.control.compare import KINDS
from app.settings.settings import SettingsFile
from app.shell.compare_windows import CompareWindows
from app.shell.program import Program
from app.state.chat.activity import Activity
from app.state.chat.intents import Regenerate, ShowPrompt
from app.state.chat.transcript import Exchange, Problem
from app.state.compare.compare import CompareProgress, CompareRequest, CompareRun, CompareSettings
from app.state.conversations.list import ConversationItem
from app.state.models.selection import Loaded
from app.store.errors import StoreError
from app.store.store import Store
from app.system.damage_dialog import make_dialog
from app.system.translation import say_error
from app.views.chat.entry import DroppedLine
from app.views.chat.exchange import ExchangeView
from app.views.chat.tool_call import ToolCallView
from app.views.markdown.thought import ThoughtView
from app.views.window.main_window import MainWindow
from app.views.window.prompt_dialog import PromptDialog
from app.words.settings import trouble_words
from engine import GenerationResult, GenerationStats, InstallationDamaged, ToolCall
from helpers.gallery.gallery_tools import Gallery, answered, last, press, type_words, until, view_of

LOST = InstallationDamaged(
    ["_internal/PySide6/QtWidgets.abi3.so", "_internal/resources/models/demo-target.gguf"],
    ["_internal/resources/styles/window.qss", *(f"_internal/llama_cpp/lib/part-{number}.so" for number in range(4))],
)
_FEW = {"turns": 1, "tokens": 24}


async def tokens(program: Program, gallery: Gallery) -> None:
    """A reply token by token, and the card of one of them, which the keys have gone to."""
    window = program.window
    window.commands.run("view.tokens")
    view = view_of(program)
    reply = view.tokens
    assert reply is not None
    await until(lambda: view.reply.is_settled)
    await gallery.shot("tokens")
    await gallery.front()
    view.reply.texts[-1].page.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(len(reply.trace)):
        press(Qt.Key.Key_Right)
        if reply.layer.card.wanted.isVisible():
            break
    assert reply.layer.card.wanted.text()
    await gallery.shot("token-card")
    press(Qt.Key.Key_End)
    await gallery.shot("token-card-last")
    press(Qt.Key.Key_Escape)
    window.commands.run("view.tokens")
    await until(lambda: view_of(program).is_drawn)


async def thought(program: Program, gallery: Gallery) -> None:
    """A thought, unfolded; and a reply of which there are two."""
    window = program.window
    first = program.controller.transcript.entries[0]
    view = window.transcript.view_of(first)  # type: ignore[arg-type]
    if view is None:
        window.transcript.verticalScrollBar().setValue(0)
        await until(lambda: window.transcript.view_of(first) is not None)  # type: ignore[arg-type]
        view = window.transcript.view_of(first)  # type: ignore[arg-type]
    assert isinstance(view, ExchangeView)
    await until(lambda: view.findChild(ThoughtView) is not None)
    found = view.findChild(ThoughtView)
    assert found is not None
    found.header.click()
    window.transcript.verticalScrollBar().setValue(0)
    await gallery.shot("thought")
    found.header.click()
    window.transcript.jump_to_end()
    program.controller.carry_out(Regenerate(last(program)))
    await answered(program)
    await gallery.shot("versions")


async def thinking(program: Program, gallery: Gallery) -> None:
    """A thought that grows, with a model that can be told to think; tool calls; what the model reads."""
    window = program.window
    button, transcript = window.prompt.thinking, window.transcript
    button.show_modes(("off", "low", "medium", "high"), "low")
    exchange = Exchange("Where does the fox live?")
    exchange.add("", [("reasoning", "The fox may live in the forest, or in the field. " * 12)])
    transcript.add(exchange)
    await until(lambda: bool(_thoughts(window, exchange)))
    await gallery.shot("thinking")
    button.menu().popup(window.mapToGlobal(QPoint(100, 60)))
    await gallery.windows("thinking-modes")
    calls = (
        ToolCall("1", "search", {"word": "fox" * 80, "most": 3}),
        ToolCall("2", "look_up_a_word_by_a_tool_that_has_a_rather_long_name_which_no_line_has_room_for", {}),
    )
    stats = GenerationStats()
    exchange.add("", [("content", "I look.")])
    exchange.end(GenerationResult("", (), 1, 1, "stop", "plain", 0, stats, 0, "In the forest.", "I look.", calls))
    transcript.end(exchange)
    view = transcript.view_of(exchange)
    assert view is not None
    await until(lambda: view.reply.is_settled)
    view.findChildren(ToolCallView)[0].header.click()
    await gallery.shot("tool-calls")
    transcript.show_all(program.controller.transcript.entries)
    button.show_modes((), "default")
    transcript.intent.emit(ShowPrompt(last(program), "reply"))
    await until(lambda: window.findChild(PromptDialog) is not None)
    await gallery.windows("model-reads")


def _thoughts(window: MainWindow, exchange: Exchange) -> list[ThoughtView]:
    view = window.transcript.view_of(exchange)
    return [] if view is None else view.reply.thoughts


async def prompt(program: Program, gallery: Gallery, folder: Path) -> None:
    """Files beside a question, that question when it was sent, one of its files unfolded, one that is refused."""
    names = ("notes.txt", "a rather long name of a file.md", "table.csv")
    window = program.window
    for name in names:
        (folder / name).write_text("Some lines of it.\n" * 20, encoding="utf-8")
    window.prompt.show_files((), names)
    await gallery.shot("attaching")
    program.attachments.add([folder / name for name in names])
    window.prompt.edit.setPlainText("What do these say?\nAll of them.")
    await until(lambda: len(program.attachments.attachments) == len(names))
    await until(lambda: all(each.tokens for each in program.attachments.attachments))
    await gallery.shot("attachments")
    window.prompt.button.click()
    await answered(program)
    await gallery.shot("attached")
    files = view_of(program).question.files
    assert {file.header.toolTip() for file in files} == set(names)
    files[0].header.click()
    await gallery.shot("quoted")
    (folder / "picture.txt").write_bytes(bytes(range(256)))
    program.attachments.add([folder / "picture.txt"])
    await until(window.notice.isVisible)
    await gallery.shot("not-attached")
    window.notice.hide()


async def context(program: Program, gallery: Gallery) -> None:
    """A conversation that has outgrown the context, and a question that never fits."""
    window = program.window
    program.controller.open(4)
    window.prompt_sent.emit("And what now?")
    await answered(program)
    await until(lambda: program.context.use is not None and program.context.use.dropped)
    bar = window.transcript.verticalScrollBar()
    bar.setValue(0)
    while not any(not line.visibleRegion().isEmpty() for line in window.transcript.findChildren(DroppedLine)):
        assert bar.value() < bar.maximum()
        bar.setValue(bar.value() + window.transcript.viewport().height() // 2)
        await asyncio.sleep(0.02)
    await gallery.shot("dropped")
    window.transcript.jump_to_end()
    window.prompt.edit.setPlainText("far too long " * 3_000)
    await until(lambda: program.context.use is not None and not program.context.use.fits)
    await gallery.shot("too-long")
    window.meter.click()
    await gallery.windows("context-details")
    window.prompt.button.click()
    await answered(program)
    await gallery.shot("not-answered")
    program.controller.open(1)


async def busy(program: Program, gallery: Gallery) -> None:
    """While something is going on."""
    window = program.window
    window.show_busy(True)
    window.strip.show_activity(Activity("loading", "demo-target", 0.4))
    await until(window.strip.isVisible)
    await gallery.shot("loading")
    window.strip.show_activity(Activity("reading", "1,234", 0.7))
    await gallery.shot("reading")
    window.strip.show_activity(Activity())
    window.show_busy(False)


async def conversations(program: Program, gallery: Gallery) -> None:
    """The list: found and not, a title that is changed, the menu of a row, one that was deleted."""
    window, left = program.window, program.window.left
    await gallery.front()
    window.commands.run("conversations.search")
    type_words("honey")
    await until(lambda: left.list.model().rowCount() and program.conversations.list.query)
    await gallery.shot("search")
    left.search.setText("nowhere at all")
    await until(left.nothing.isVisible)
    await gallery.shot("nothing-found")
    left.search.clear()
    await until(lambda: not program.conversations.list.query)
    window.commands.run("conversations.rename")
    await gallery.shot("rename")
    press(Qt.Key.Key_Escape)
    row = next(row for row in program.conversations.list.rows if isinstance(row, ConversationItem))
    menu = left.make_menu(row)
    menu.popup(window.mapToGlobal(QPoint(60, 160)))
    await gallery.windows("row-menu")
    program.controller.open(2)
    await gallery.shot("unfinished")
    window.commands.run("conversations.delete")
    await until(left.undo_bar.isVisible)
    await gallery.shot("deleted")
    window.commands.run("conversations.undo")
    program.controller.open(1)


async def panels(program: Program, gallery: Gallery) -> None:
    """Both panels, also where there is room for one only; all of the right one, paused, and the menu to save it."""
    window, panel = program.window, program.window.panel
    for name, shown in (("left", window.left), ("right", panel)):
        was = shown.isHidden()
        if was:
            window.commands.run(f"view.{name}")
        await gallery.shot(f"panel-{name}")
        if name == "right":
            panel.verticalScrollBar().setValue(panel.verticalScrollBar().maximum())
            panel.tools.pause_button.click()
            await gallery.shot("panel-end")
            panel.tools.pause_button.click()
            panel.verticalScrollBar().setValue(0)
            panel.tools.save_button.menu().popup(window.mapToGlobal(QPoint(100, 60)))
            await gallery.windows("save-menu")
        if was:
            window.commands.run(f"view.{name}")


async def damage(program: Program, gallery: Gallery, folder: Path) -> None:
    """What is said of damaged settings, of conversations that cannot be read, and of a program that lacks parts."""
    path = folder / "a folder of settings" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"theme": "da', encoding="utf-8")
    file = SettingsFile(path)
    file.load()
    assert file.trouble is not None
    program.controller.report(Problem(trouble_words(file.trouble)))
    await gallery.shot("damaged-settings")
    store = folder / "damaged.sqlite3"
    store.write_bytes(b"no conversations at all")
    try:
        Store.open(store).close()
    except StoreError as error:
        program.conversations.trouble.emit(Problem(say_error(error)))
    await until(program.window.notice.isVisible)
    await gallery.shot("damaged-conversations")
    program.window.notice.hide()
    dialog = make_dialog(LOST)
    dialog.show()
    await gallery.windows("damaged-program")


async def palette(program: Program, gallery: Gallery) -> None:
    """The palette with what fits, and with nothing."""
    window = program.window
    await gallery.front()
    window.commands.run("program.palette")
    await gallery.shot("palette")
    type_words("the")
    await gallery.shot("palette-found")
    type_words(" qxz")
    await gallery.shot("palette-nothing")
    press(Qt.Key.Key_Escape)
    await gallery.front()


async def settings_pages(program: Program, gallery: Gallery) -> None:
    """Each page of the settings to its end, and the second one with things that are wrong in it."""
    for page in ("general", "generation", "speculation"):
        dialog = await _settings_at(program, gallery, page)
        await gallery.shot(f"settings-{page}", dialog)
        if page == "generation":
            generation: Any = dialog.generation
            generation.fields["temperature"].edit.setText("hot")
            generation.fields["top_p"].edit.setText("7")
            generation.presets.save.click()
            generation.presets.name.setText("x" * 200)
            await gallery.shot("settings-wrong", dialog)
            _scroll_to_end(dialog)
            await gallery.shot("settings-generation-end", dialog)
        dialog.close()
    await gallery.front()


async def _settings_at(program: Program, gallery: Gallery, page: str) -> Any:
    program.window.commands.run("program.settings")
    await until(gallery.others)
    dialog: Any = gallery.others()[0]
    dialog.open_at(page)
    return dialog


def _scroll_to_end(dialog: QWidget) -> None:
    for area in dialog.findChildren(QWidget, "qt_scrollarea_viewport"):
        scrolls: Any = area.parentWidget()
        if area.isVisible():
            scrolls.verticalScrollBar().setValue(scrolls.verticalScrollBar().maximum())


async def about(program: Program, gallery: Gallery) -> None:
    """The licences."""
    program.window.commands.run("program.about")
    await until(gallery.others)
    dialog = gallery.others()[0]
    pages = dialog.findChild(QTabWidget)
    assert pages is not None
    for page in range(1, pages.count()):
        pages.setCurrentIndex(page)
        await gallery.shot(f"about-{page}", dialog)
    dialog.close()
    await gallery.front()


async def library(program: Program, gallery: Gallery) -> None:
    """The library with a model that is broken, with none, and while one is loaded; the options of a large one."""
    window = program.window
    window.commands.run("models.library")
    await until(gallery.others)
    dialog: Any = gallery.others()[0]
    await gallery.shot("library", dialog)
    dialog.search.setText("torn")
    await gallery.shot("library-problem", dialog)
    dialog.search.setText("not there")
    await gallery.shot("library-nothing", dialog)
    dialog.search.setText("lama 8b exact")
    dialog.show_activity(Activity("loading", "Lama 8B exact", 0.3))
    await until(dialog.strip.isVisible)
    await gallery.shot("library-loading", dialog)
    dialog.show_activity(Activity())
    dialog.options_button.click()
    await until(lambda: len(gallery.others()) == 2)
    options = next(each for each in gallery.others() if each is not dialog)
    await gallery.shot("library-options", options)
    for field in options.findChildren(QLineEdit):
        if field.isEnabled():
            field.setText("99999999")
    await gallery.shot("library-options-wrong", options)
    options.close()
    dialog.search.clear()
    dialog.close()
    await gallery.front()


async def proof(program: Program, gallery: Gallery) -> None:
    """Compare and the sweep: under way, measured for real, and failed."""
    windows = program.window.findChild(CompareWindows)
    assert windows is not None
    for kind in KINDS:
        program.window.commands.run(f"proof.{kind}")
        dialog = windows.dialogs[kind]
        run = CompareRun()
        request = CompareRequest("What is it?", (4,), Loaded(), CompareSettings())
        run.begin(request)
        run.take(CompareProgress("measuring", 3, 10, 4.2))
        dialog.show_run(run)
        await gallery.shot(f"{kind}-running", dialog)
        run.fail("The target needs about 9.8 GB of memory, but only 5.6 GB are free. Choose a smaller one.")
        dialog.show_run(run)
        await gallery.shot(f"{kind}-failed", dialog)
        dialog.show_run(program.compare.runs[kind])
        for picker, value in ((dialog.repeats, _FEW["turns"]), (dialog.tokens, _FEW["tokens"])):
            picker.setCurrentText(str(value))
        dialog.prompt.setPlainText("Make a table of animals and their food.")
        dialog.start.click()
        await until(lambda kind=kind: program.compare.runs[kind].status == "done")  # type: ignore[misc]
        assert dialog.has_figures()
        await gallery.shot(f"{kind}-measured", dialog)
        _scroll_to_end(dialog)
        await gallery.shot(f"{kind}-end", dialog)
        dialog.close()
        await gallery.front()
