"""The library in the running program: folders, targets, drafts, options, what is dropped, what would not fit."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget

import app.shell.library_windows
from app.settings.model_choices import ModelMemory
from app.settings.settings import Settings
from app.state.models.models import ModelList
from app.views.models.library import LibraryDialog
from app.views.models.options import ModelOptionsDialog
from app.views.widgets.notices import LoadNotice
from app.views.window.file_drops import DropVeil
from engine import host
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]


def open_library(window: Window) -> LibraryDialog:
    window.click(window.main.bar.library_button)
    (dialog,) = window.main.findChildren(LibraryDialog)
    assert dialog.isVisible()
    return dialog


def names(dialog: LibraryDialog) -> list[str]:
    return [str(dialog.filter.index(row, 0).data()) for row in range(dialog.filter.rowCount())]


def choose(dialog: LibraryDialog, path: Path) -> None:
    dialog._choose(path)
    assert dialog.chosen is not None
    assert dialog.chosen.path == path


def drop(window: Window, *urls: QUrl, text: str = "") -> DropVeil | None:
    """Drag this over the prompt box, and let go."""
    data = QMimeData()
    if urls:
        data.setUrls(list(urls))
    if text:
        data.setText(text)
    actions, buttons, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    place: QWidget = window.prompt.edit.viewport()
    QApplication.sendEvent(place, QDragEnterEvent(QPoint(5, 5), actions, data, buttons, none))
    veil = window.main.findChild(DropVeil)
    if veil is not None and veil.isVisible():
        assert veil.geometry() == window.main.rect()
        QApplication.sendEvent(veil, QDragEnterEvent(QPoint(5, 5), actions, data, buttons, none))
        QApplication.sendEvent(veil, QDropEvent(QPoint(5, 5), actions, data, buttons, none))
        assert not veil.isVisible()
    return veil


def notice(window: Window) -> str:
    return window.main.notice.text.text() if window.main.notice.isVisible() else ""


def test_folders_are_added_and_removed(
    open_window: OpenWindow, demo_pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "broken.gguf").write_bytes(b"GGUF, but no more")
    (folder / "copy.gguf").write_bytes(demo_pair[1].read_bytes())
    monkeypatch.setattr(app.shell.library_windows, "ask_for_models_folder", lambda *_arguments: folder)
    window = open_window(Script(), pair=demo_pair)
    dialog = open_library(window)
    before = names(dialog)
    assert before == ["demo-draft", "demo-target"]
    window.click(dialog.folders.add_button)
    window.wait(lambda: len(names(dialog)) == 4)
    assert "broken" in names(dialog)
    choose(dialog, folder / "broken.gguf")
    assert not dialog.target_button.isEnabled()
    assert dialog.details.state.text() not in ("", "Ready")
    assert dialog.details.path.toolTip() == str(folder / "broken.gguf")
    assert window.program.settings.models_folders == [str(folder)]
    dialog.folders.list.setCurrentRow(0)
    window.click(dialog.folders.remove_button)
    window.wait(lambda: names(dialog) == before)
    assert window.program.settings.models_folders == []


def test_a_real_model_is_used_loaded_and_unloaded(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair)
    models = window.models.list
    dialog = open_library(window)
    assert dialog.details.name.text() == "demo-target"
    window.wait(lambda: dialog.details.state.text() == "Loaded as target")
    choose(dialog, demo_pair[1])
    window.click(dialog.target_button)
    window.wait(lambda: models.loaded.target == demo_pair[1], 30_000)
    window.wait(lambda: window.models.settled and dialog.load_button.text() == "Unload")
    window.click(dialog.load_button)
    window.wait(lambda: models.loaded.target is None)
    window.wait(dialog.load_button.isEnabled)
    window.click(dialog.load_button)
    window.wait(lambda: models.loaded.target == demo_pair[1], 30_000)
    window.wait(lambda: dialog.load_button.text() == "Unload")
    assert "Loaded as target" in dialog.details.state.text()
    assert dialog.load_button.isEnabled(), "what it says, it does"
    window.click(dialog.load_button)
    window.wait(lambda: models.loaded.target is None)
    window.wait(lambda: window.models.settled)


def test_favourites_and_what_was_loaded_are_remembered(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair)
    dialog = open_library(window)
    window.wait(lambda: dialog.details.state.text() == "Loaded as target")
    window.wait(lambda: window.program.settings.recent_models == [*map(str, demo_pair)])
    choose(dialog, demo_pair[1])
    window.click(dialog.details.star)
    window.wait(lambda: dialog.details.star.accessibleName() == "Remove from favourites")
    assert window.program.settings.favourites == [str(demo_pair[1])]
    row = window.models.library.row(demo_pair[1])
    assert row is not None
    assert (row.favourite, row.used) == (True, 2)
    again = ModelList(demo_pair)
    ModelMemory(again, Settings.from_mapping(window.program.settings.to_mapping())).recall()
    assert again.favourites == frozenset({demo_pair[1]})
    assert again.recent == demo_pair


def test_use_as_target_loads_at_once(open_window: OpenWindow, demo_pair: Pair, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    copy = folder / "other.gguf"
    copy.write_bytes(demo_pair[0].read_bytes())
    window = open_window(pair=demo_pair, settings=Settings(models_folders=[str(folder)]))
    window.wait(lambda: window.models.list.by_path(copy) is not None and window.models.settled)
    dialog = open_library(window)
    choose(dialog, copy)
    assert dialog.details.state.text() == "Ready"
    window.click(dialog.target_button)
    window.wait(lambda: window.models.list.loaded.target == copy, 30_000)
    window.wait(lambda: dialog.details.state.text() == "Loaded as target")
    assert not window.controller.transcript.entries, "no message was needed"


def test_options_are_remembered_and_told(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(Script(), pair=demo_pair)
    dialog = open_library(window)
    choose(dialog, demo_pair[0])
    before = dialog.details.facts.text()
    window.click(dialog.options_button)
    (options,) = dialog.findChildren(ModelOptionsDialog)
    assert options.windowTitle() == "Options for demo-target"
    options.edits["context"].setText("512")
    window.click(options.save)
    window.wait(lambda: dialog.details.facts.text() != before)
    assert "context 512 / 2,048" in dialog.details.facts.text()
    assert window.program.settings.load_options == {str(demo_pair[0]): {"context": 512}}
    window.wait(lambda: not dialog.findChildren(ModelOptionsDialog))


def test_a_hidden_library_is_not_drawn_and_up_to_date_when_opened(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(Script(), pair=demo_pair)
    assert not window.main.findChildren(LibraryDialog), "it is made when it is asked for"
    dialog = open_library(window)
    dialog.close()
    shown: list[object] = []
    dialog.model.dataChanged.connect(lambda *_arguments: shown.append(1))
    dialog.model.modelReset.connect(lambda: shown.append(1))
    window.models.choose_draft(None)
    window.wait(lambda: window.models.settled)
    assert not shown
    window.main.commands.run("models.library")
    assert dialog.isVisible()
    choose(dialog, demo_pair[1])
    assert dialog.chosen is not None
    assert dialog.chosen.chosen == "", "it is still loaded, and not chosen any more"


def test_a_model_that_is_dropped_becomes_the_target(open_window: OpenWindow, demo_pair: Pair, tmp_path: Path) -> None:
    window = open_window(Script(), pair=demo_pair)
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(demo_pair[0].read_bytes())
    drop(window, QUrl.fromLocalFile(str(copy)))
    assert window.models.list.selection.target == copy
    assert notice(window) == "copy is now the target."
    assert window.prompt.edit.toPlainText() == "", "its name is no prompt"
    window.wait(lambda: window.models.settled)
    assert window.main.bar.target.currentText() == "copy · 8.2M Q8_0"
    assert window.main.bar.draft.currentText().startswith("automatic · demo-draft"), "a draft is found for it"
    dialog = open_library(window)
    choose(dialog, copy)
    assert dialog.details.state.text() == "Loaded as target"
    assert dialog.options_button.isEnabled()


def test_a_folder_that_is_dropped_is_added(open_window: OpenWindow, demo_pair: Pair, tmp_path: Path) -> None:
    window = open_window(Script(), pair=demo_pair)
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "copy.gguf").write_bytes(demo_pair[1].read_bytes())
    drop(window, QUrl.fromLocalFile(str(folder)))
    window.wait(lambda: window.models.list.by_path(folder / "copy.gguf") is not None)
    assert window.models.list.folders == (folder,)


def test_a_folder_may_be_dropped_onto_the_library(open_window: OpenWindow, demo_pair: Pair, tmp_path: Path) -> None:
    window = open_window(Script(), pair=demo_pair)
    dialog = open_library(window)
    folder = tmp_path / "models"
    folder.mkdir()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(folder))])
    actions, buttons, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(dialog.search, QDragEnterEvent(QPoint(5, 5), actions, data, buttons, none))
    QApplication.sendEvent(dialog.search, QDropEvent(QPoint(5, 5), actions, data, buttons, none))
    window.wait(lambda: dialog.folders.list.item(0).text() == str(folder))
    assert dialog.search.text() == ""


def test_other_things_that_are_dropped(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script())
    drop(window, QUrl.fromLocalFile(str(tmp_path / "gone.gguf")))
    assert notice(window) == "gone.gguf cannot be opened: it is not a readable file or folder."
    drop(window, QUrl("https://example.org/model.gguf"))
    assert notice(window) == "Only files and folders on this computer can be dropped here."
    text = tmp_path / "notes.txt"
    text.write_text("A note.")
    drop(window, QUrl.fromLocalFile(str(text)))
    window.wait(lambda: [each.name for each in window.program.attachments.attachments] == ["notes.txt"])
    picture = tmp_path / "picture.png"
    picture.write_bytes(bytes(range(256)))
    drop(window, QUrl.fromLocalFile(str(picture)))
    window.wait(lambda: "picture.png" in notice(window))
    assert drop(window, text="words") is window.main.findChild(DropVeil)
    assert not window.main.findChild(DropVeil).isVisible(), "words are for the prompt box"  # type: ignore[union-attr]


def test_a_conversation_that_is_dropped_is_imported(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script("A reply."))
    window.ask("A question")
    shown = window.program.conversations.open
    assert shown is not None
    path = tmp_path / "export.json"
    window.export(shown.id, "json", path)
    window.wait(path.exists)
    window.main.new_chat_wanted.emit()
    assert len(window.controller.transcript) == 0
    drop(window, QUrl.fromLocalFile(str(path)))
    window.wait(lambda: len(window.controller.transcript) == 1)
    assert window.first().question == "A question"


def test_a_load_that_would_not_fit_is_announced(
    open_window: OpenWindow, demo_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    window = open_window(script, pair=demo_pair)
    loads = len(script.loads)
    monkeypatch.setattr(host, "available_memory", lambda: 10**6)
    announced = window.main.findChild(LoadNotice, options=Qt.FindChildOption.FindChildrenRecursively)
    assert announced is not None
    window.models.choose_target(demo_pair[1])
    window.wait(announced.isVisible)
    assert announced.text.text().startswith("demo-draft needs about ")
    assert announced.text.text().endswith("1.0 MB are free. Loading it may slow down this computer or fail.")
    assert len(script.loads) == loads, "nothing is tried before it is decided"
    dialog = open_library(window)
    assert dialog.announcement.isVisible()
    window.click(dialog.announcement.answer)
    window.wait(lambda: window.models.list.loaded.target == demo_pair[1])
    assert not announced.isVisible()
    assert not dialog.announcement.isVisible()
