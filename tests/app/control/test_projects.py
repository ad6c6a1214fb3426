"""Projects: chats put into one share its instructions, files and models; it is exported and deleted as a whole."""

import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QMenu

import app.shell.projects
from app.settings.settings import Settings
from app.state.chat.citations import sources_in
from app.state.conversations.conversation import Conversation
from app.state.settings.project import ProjectChoice
from app.views.conversations.project import ProjectDialog
from engine import Message
from helpers import written_documents as written
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window
from helpers.window.chats import ECHO, number, titles


def dialog_of(window: Window) -> ProjectDialog:
    return next(each for each in window.main.findChildren(ProjectDialog) if each.isVisible())


def drop(window: Window, titles_of: list[str], on: str) -> None:
    """Drop chats onto the row with these words."""
    rows = window.main.left.rows
    indexes = [rows.index(row) for row in range(rows.rowCount())]
    data = rows.mimeData([each for each in indexes if each.data() in titles_of])
    view = window.main.left.list
    place = view.visualRect(next(each for each in indexes if each.data() == on)).center()
    button, key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    view.dropEvent(QDropEvent(QPointF(place), Qt.DropAction.MoveAction, data, button, key))


def project_of(window: Window) -> Conversation:
    (project,) = window.program.conversations.projects.values()
    return project


def begin(window: Window, title: str, instructions: str, *chats: int) -> Conversation:
    """Make a project of these chats."""
    window.main.left.project_wanted.emit(list(chats))
    dialog = dialog_of(window)
    dialog.title.selectAll()
    window.qtbot.keyClicks(dialog.title, title)  # type: ignore[no-untyped-call]
    dialog.instructions.setPlainText(instructions)
    dialog.close_button.click()
    return project_of(window)


def entries(menu: QMenu) -> Iterator[str]:
    for action in menu.actions():
        yield action.text()
        inside = action.menu()
        if isinstance(inside, QMenu):
            yield from entries(inside)


def wait_for_files(window: Window) -> None:
    window.program.conversations.store.writer.flush(5.0)
    window.wait(lambda: not window.prompt._waits and window.program.context.settled)


def test_chats_of_a_project_share_its_instructions_and_files(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(ECHO, context=16_000)
    window = open_window(script)
    conversations, panel = window.program.conversations, window.main.left
    window.ask("One")
    window.controller.new_chat()
    window.ask("Two")
    project = begin(window, "Garden", "Answer as a gardener.", number(window, "One"))
    assert titles(window) == ["Garden", "One", "Today", "Two"]
    drop(window, ["Two"], on="Garden")
    assert titles(window) == ["Garden", "Two", "One"]
    assert window.prompt.edit.placeholderText() == "Ask in “Garden”…", "the chat on the screen is in it now"
    assert list(entries(panel.make_menu(conversations.list.item(number(window, "One")))))[2:5] == [
        "Move to project",
        "Garden",
        "New project…",
    ]
    # Instructions.
    window.ask("Three")
    assert script.prompts[-1][0] == Message("system", "Answer as a gardener.")
    choices = window.controller.choices
    choices.choose(replace(choices.own, system="Be brief."))
    window.ask("Four")
    assert script.prompts[-1][0].content == "Answer as a gardener.\n\nBe brief."
    assert choices.own.system == "Be brief.", "what is edited is the chat's own"
    # Files.
    (tmp_path / "people.pdf").write_bytes(written.pdf(pages=2))
    panel.project_chosen.emit("edit", project.id)
    monkeypatch.setattr(app.shell.projects, "ask_what_to_attach", lambda *_: [tmp_path / "people.pdf"])
    dialog_of(window).add_button.click()
    window.wait(lambda: dialog_of(window).files.count() == 1)
    dialog_of(window).close_button.click()
    (tmp_path / "people.pdf").unlink()
    for _ in range(2):  # In this chat, and in a new one of the project.
        wait_for_files(window)
        window.type("When was the lamp lit?")
        window.key(Qt.Key.Key_Return)
        window.wait(lambda: script.prompts[-1][-1].content.endswith("When was the lamp lit?"))
        asked = script.prompts[-1][-1].content
        assert [each.place for each in sources_in(asked)] == ["page 1", "page 2"]
        window.wait(lambda: not window.controller.busy)
        panel.project_chosen.emit("chat", project.id)
    assert window.program.documents.of("people.pdf") is not None
    window.controller.new_chat()
    assert window.program.documents.of("people.pdf") is None
    window.ask("Elsewhere")
    assert script.prompts[-1] == (Message("user", "Elsewhere"),)
    _fold_and_come_back(window, open_window, script)


def test_esc_at_once_leaves_no_project(open_window: OpenWindow) -> None:
    window = open_window(Script(ECHO))
    projects = window.program.conversations.projects
    window.main.left.project_wanted.emit([])
    dialog_of(window).reject()
    assert not projects
    window.main.left.project_wanted.emit([])
    dialog = dialog_of(window)
    window.qtbot.keyClicks(dialog.title, "Roses")  # type: ignore[no-untyped-call]
    dialog.reject()
    assert [each.title for each in projects.values()] == ["Roses"]


def _fold_and_come_back(window: Window, open_window: OpenWindow, script: Script) -> None:
    panel = window.main.left
    heading = panel.rows.index(0)
    panel.list.setCurrentIndex(heading)
    window.qtbot.keyClick(panel.list, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert titles(window) == ["Garden", "Today", "Elsewhere"]
    window.close()
    again = open_window(script)
    assert titles(again) == ["Garden", "Today", "Elsewhere"]
    project = project_of(again)
    again.program.conversations.fold(project.id, False)
    assert titles(again)[:4] == ["Garden", "When was the lamp lit?", "Two", "One"]
    drop(again, ["One", "Two"], on="Today")
    assert titles(again)[:3] == ["Garden", "When was the lamp lit?", "Today"]
    again.controller.open(number(again, "When was the lamp lit?"))
    again.wait(lambda: again.program.documents.of("people.pdf"))


def test_a_project_is_exported_deleted_undone_and_imported_as_a_whole(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(Script(ECHO))
    conversations, panel = window.program.conversations, window.main.left
    window.ask("One")
    window.controller.new_chat()
    window.ask("Again " * 40_000)
    project = begin(window, "Garden", "Answer as a gardener.", *(each.id for each in conversations.summaries()))
    (tmp_path / "notes.txt").write_text("Roses want sun.", encoding="utf-8")
    panel.project_chosen.emit("edit", project.id)
    monkeypatch.setattr(app.shell.projects, "ask_what_to_attach", lambda *_: [tmp_path / "notes.txt"])
    dialog_of(window).add_button.click()
    window.wait(lambda: dialog_of(window).files.count() == 1)
    dialog_of(window).close_button.click()
    before = titles(window)
    monkeypatch.setattr(app.shell.projects, "ask_where_to_put_archive", lambda *_: tmp_path / "garden.zip")
    panel.project_chosen.emit("export", project.id)
    window.wait(lambda: conversations.files.activity.work == "idle")
    with zipfile.ZipFile(tmp_path / "garden.zip") as archive:
        told = json.loads(archive.read("project.json"))
        assert len(archive.namelist()) == 3
    assert told["settings"]["instructions"] == "Answer as a gardener."
    panel.project_chosen.emit("delete", project.id)
    assert (titles(window), conversations.open) == ([], None)
    window.controller.undelete()
    assert titles(window) == before
    panel.project_chosen.emit("delete", project.id)
    window.close()
    again = open_window(Script(ECHO))
    assert titles(again) == []
    again.import_(tmp_path / "garden.zip")
    assert sorted(titles(again)) == sorted(before)
    assert "Project “Garden” imported." in again.main.notice.text.text()
    new = project_of(again)
    assert ProjectChoice.from_mapping(new.settings).instructions == "Answer as a gardener."
    again.controller.open(number(again, "One"))
    again.wait(lambda: again.program.documents.shared)
    # The same archive again brings nothing twice.
    again.import_(tmp_path / "garden.zip")
    assert sorted(titles(again)) == sorted(before)
    again.import_(_alone(tmp_path))
    assert "it is a project: import its whole archive" in again.main.notice.text.text()


def _alone(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "garden.zip") as archive:
        archive.extract("project.json", folder)
    return folder / "project.json"


def test_the_folder_of_a_project_is_followed(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "roses.txt").write_text("Roses want sun.", encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".hidden.txt").write_text("no", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("no", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    script = Script(ECHO)
    window = open_window(script)
    project = begin(window, "Garden", "")
    window.main.left.project_chosen.emit("chat", project.id)
    window.main.left.project_chosen.emit("edit", project.id)
    dialog = dialog_of(window)

    def names() -> list[str]:
        return [dialog.files.item(row).text() for row in range(dialog.files.count())]

    monkeypatch.setattr(app.shell.projects, "ask_for_folder", lambda *_: folder)
    dialog.folder_button.click()
    window.wait(lambda: names() == ["deep/roses.txt"])
    assert dialog.folder.text() == f"Follows {folder}"
    assert "broken.pdf" in window.main.notice.text.text()
    (folder / "deep" / "roses.txt").unlink()
    (folder / "tulips.md").write_text("# Tulips\n\nTulips want rain.", encoding="utf-8")
    window.wait(lambda: names() == ["tulips.md"])
    wait_for_files(window)
    window.type("What do tulips want?")
    window.key(Qt.Key.Key_Return)
    window.wait(lambda: script.prompts)
    assert "Tulips want rain." in script.prompts[-1][-1].content
    window.wait(lambda: not window.controller.busy)
    dialog.leave_button.click()
    window.wait(lambda: names() == [])
    dialog.close()


def test_a_project_has_models_of_its_own(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], story_pair: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = Settings(sampling={"max_tokens": 8})
    window = open_window(pair=demo_pair, models_folder=story_pair[0].parent, settings=settings)
    models, panel = window.models, window.main.left
    window.ask("Hello")
    project = begin(window, "Garden", "You tell of gardens.")
    panel.project_chosen.emit("chat", project.id)
    panel.project_chosen.emit("edit", project.id)
    dialog_of(window).own_models.click()
    dialog_of(window).close_button.click()
    # What is chosen in it is chosen for it alone.
    models.choose_target(story_pair[0])
    window.wait(lambda: models.settled)
    chosen = models.list.selection
    assert chosen.target == story_pair[0]
    assert window.ask("Tell me a story about a garden.").status == "done"
    in_project = number(window, "Tell me a story about a garden")
    window.controller.open(number(window, "Hello"))
    assert models.list.selection.target == demo_pair[0]
    assert window.program.settings.target == "", "the bundled one, in the next run too"
    window.controller.open(in_project)
    window.wait(lambda: models.settled)
    assert models.list.selection == chosen
    read = window.loop.create_task(_read(window))
    window.wait(read.done)
    assert "You tell of gardens." in read.result()
    window.close()
    again = open_window(pair=demo_pair, models_folder=story_pair[0].parent)
    assert again.models.list.selection.target == story_pair[0], "its chat was open last"
    again.controller.new_chat()
    assert again.models.list.selection.target == demo_pair[0]
    # A model that is gone: the chats use what is chosen.
    gone = ProjectChoice(target=str(tmp_path / "gone.gguf"))
    again.program.conversations.change_project(project_of(again).id, "Garden", gone)
    again.main.left.project_chosen.emit("chat", project_of(again).id)
    assert again.models.list.selection.target == demo_pair[0]
    assert "is not there" in again.main.notice.text.text()


async def _read(window: Window) -> str:
    exchange = window.first()
    messages = window.controller.transcript.messages_until(exchange, reply=False)
    job = window.program.bridge.read_prompt(messages, window.controller.choices.read, reply_next=True)
    return (await job.result).text
