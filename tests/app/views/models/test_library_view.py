"""The library: what it shows, how it is sorted, filtered and used with the keyboard."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.chat.activity import Activity
from app.state.models.library import LibraryRow
from app.system.resources import read_text
from app.views.models.library import LibraryDialog
from app.views.widgets.picker import Picker
from app.views.widgets.theme import Theme
from app.words.library import COLUMNS, column
from engine import Translatable
from helpers.processes import own_clock
from helpers.window.library_rows import library_row

PROJECTOR = "It is the vision part of a model (a projector), which does not generate text."
FOLDER = Path("/models")


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(
        qapp, read_text("styles", "window.qss"), str(files("resources").joinpath("icons")), Settings(theme="light")
    )


@pytest.fixture
def dialog(theme: Theme, qtbot: QtBot) -> Iterator[LibraryDialog]:
    """An empty library on screen."""
    library = LibraryDialog(theme)
    qtbot.addWidget(library)
    library.open()
    yield library
    library.close()


def some() -> list[LibraryRow]:
    """Models of all kinds."""
    return [
        library_row(13),
        library_row(7),
        library_row(2, loaded="target", chosen="target"),
        library_row(1, chosen="draft", has_chat_template=True),
        library_row(
            3,
            path=FOLDER / "eyes.gguf",
            name="eyes",
            state="problem",
            problem=PROJECTOR,
            role="projector",
            needed=0,
            context=0,
        ),
        library_row(4, state="away"),
    ]


def shown(dialog: LibraryDialog, name: str = "name") -> list[str]:
    """The words of a column, from above."""
    place = COLUMNS.index(name)
    return [str(dialog.filter.index(row, place).data()) for row in range(dialog.filter.rowCount())]


def choose(dialog: LibraryDialog, name: str) -> None:
    """Choose a model by its name."""
    dialog.table.choose(dialog.filter.index(shown(dialog).index(name), 0))


def test_each_state_is_a_word(dialog: LibraryDialog) -> None:
    dialog.show_library(some(), [FOLDER], [])
    states = dict(zip(shown(dialog), shown(dialog, "state"), strict=True))
    assert states == {
        "eyes": "Unusable",
        "Model 1B": "Chosen",
        "Model 2B": "Loaded",
        "Model 4B": "Away",
        "Model 7B": "Too large",
        "Model 13B": "Too large",
    }
    assert dialog.free.text() == "6.0 GB of memory free"
    assert shown(dialog, "context")[1] == "4,096 / 32,768"
    assert shown(dialog, "memory")[0] == "–"


def test_what_is_chosen_is_told_below_and_can_be_used(dialog: LibraryDialog) -> None:
    dialog.show_library(some(), [FOLDER], [])
    assert dialog.details.name.text() == "Model 2B", "it begins with what is in use"
    assert dialog.load_button.text() == "Unload"
    choose(dialog, "eyes")
    assert dialog.details.state.text() == PROJECTOR
    buttons = (dialog.target_button, dialog.draft_button, dialog.options_button, dialog.load_button)
    assert not any(button.isEnabled() for button in buttons)
    choose(dialog, "Model 13B")
    assert dialog.details.state.text() == "Too large: needs 13.1 GB, 6.0 GB free"
    assert dialog.target_button.isEnabled(), "it is announced, and may be tried"
    assert "13B · Q8_0 · 13.0 GB" in dialog.details.facts.text()
    assert "no chat template: it reads chats as plain text" in dialog.details.facts.text()
    choose(dialog, "Model 1B")
    assert "template" not in dialog.details.facts.text()
    assert dialog.load_button.text() == "Load"
    assert dialog.load_button.isEnabled()


def test_sorted_by_the_header_the_picker_and_the_other_way_round(dialog: LibraryDialog) -> None:
    dialog.show_library(some(), [FOLDER], [])
    names = shown(dialog)
    assert names == ["eyes", "Model 1B", "Model 2B", "Model 4B", "Model 7B", "Model 13B"], "7B stands before 13B"
    dialog.direction.click()
    assert shown(dialog) == names[::-1]
    place = COLUMNS.index("size")
    dialog.sorting.setCurrentIndex(place)
    dialog.sorting.activated.emit(place)
    assert shown(dialog, "size") == ["1.0 GB", "2.0 GB", "3.0 GB", "4.0 GB", "7.0 GB", "13.0 GB"]
    dialog.table.sortByColumn(COLUMNS.index("state"), Qt.SortOrder.AscendingOrder)
    assert shown(dialog)[:2] == ["Model 2B", "Model 1B"]
    assert shown(dialog)[-1] == "eyes"
    assert dialog.sorting.currentText() == "State", "the picker follows the header"


def test_typing_in_the_table_filters(dialog: LibraryDialog, qtbot: QtBot) -> None:
    dialog.show_library(some(), [FOLDER], [])
    qtbot.keyClick(dialog.table, Qt.Key.Key_1)  # type: ignore[no-untyped-call]
    qtbot.keyClicks(dialog.search, "3b q8")  # type: ignore[no-untyped-call]
    assert dialog.search.text() == "13b q8"
    assert shown(dialog) == ["Model 13B"]
    assert dialog.details.name.text() == "Model 13B"
    dialog.search.setText("projector")
    assert shown(dialog) == ["eyes"]
    dialog.search.setText("no such thing")
    assert dialog.empty.isVisible()
    assert dialog.empty.text() == "No model matches the filter."
    assert not dialog.target_button.isEnabled()
    dialog.search.clear()
    assert len(shown(dialog)) == 6
    assert dialog.table.isVisible()


def test_the_keyboard_is_enough(dialog: LibraryDialog, qtbot: QtBot) -> None:
    dialog.show_library(some(), [FOLDER], [])
    wanted: list[tuple[str, object]] = []
    dialog.target_wanted.connect(lambda path: wanted.append(("target", path)))
    dialog.draft_wanted.connect(lambda path: wanted.append(("draft", path)))
    dialog.folders.remove_wanted.connect(lambda path: wanted.append(("remove", path)))
    choose(dialog, "Model 1B")
    qtbot.keyClick(dialog.table, Qt.Key.Key_Down)  # type: ignore[no-untyped-call]
    assert dialog.details.name.text() == "Model 2B"
    qtbot.keyClick(dialog.table, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert wanted == [("target", Path("/models/Model 2B.gguf"))]
    qtbot.keyClick(dialog.draft_button, Qt.Key.Key_Space)  # type: ignore[no-untyped-call]
    assert wanted[1:] == [("draft", Path("/models/Model 2B.gguf"))]
    qtbot.keyClick(dialog.folders.list, Qt.Key.Key_Down)  # type: ignore[no-untyped-call]
    dialog.folders.list.setCurrentRow(0)
    qtbot.keyClick(dialog.folders.list, Qt.Key.Key_Delete)  # type: ignore[no-untyped-call]
    assert wanted[2:] == [("remove", FOLDER)]
    choose(dialog, "eyes")
    qtbot.keyClick(dialog.table, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert len(wanted) == 3, "what cannot be used is not asked for"
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert not dialog.isVisible()


def test_what_changes_leaves_the_choice_alone(dialog: LibraryDialog) -> None:
    rows = some()
    dialog.show_library(rows, [FOLDER], [])
    choose(dialog, "Model 7B")
    dialog.show_library([library_row(5), *rows], [FOLDER], [])
    assert dialog.details.name.text() == "Model 7B", "a new file came"
    dialog.show_library([row for row in rows if row.model.name != "Model 7B"], [FOLDER], [])
    assert dialog.chosen is not None
    dialog.show_library([], [], [])
    assert dialog.chosen is None
    assert dialog.details.name.text() == ""
    assert dialog.empty.text().startswith("There are no models yet.")


def test_folders_that_are_gone_say_so(dialog: LibraryDialog) -> None:
    other = Path("/mnt/usb")
    dialog.show_library([], [FOLDER, other], [other])
    lines = [dialog.folders.list.item(row).text() for row in range(dialog.folders.list.count())]
    assert lines == [str(FOLDER), f"{other} · not available"]
    assert not dialog.folders.remove_button.isEnabled()
    dialog.folders.list.setCurrentRow(1)
    dialog.show_library([], [FOLDER, other], [])
    assert dialog.folders.remove_button.isEnabled(), "the choice stays"
    removed: list[Path] = []
    dialog.folders.remove_wanted.connect(removed.append)
    dialog.folders.remove_button.click()
    assert removed == [other]


@pytest.mark.parametrize("size", [(720, 480), (1920, 1080)])
def test_nothing_scrolls_sideways(dialog: LibraryDialog, size: tuple[int, int], qtbot: QtBot) -> None:
    dialog.show_library(some(), [FOLDER, Path("/a/very/long/" + "name/" * 60)], [])
    dialog.resize(*size)
    qtbot.waitUntil(lambda: (dialog.width(), dialog.height()) == size)
    header = dialog.table.horizontalHeader()
    assert header.length() <= dialog.table.viewport().width()
    hidden = [name for place, name in enumerate(COLUMNS) if dialog.table.isColumnHidden(place)]
    assert hidden == (["size", "context"] if size[0] == 720 else [])
    assert dialog.table.height() >= 150, "rows can be read"


def test_the_buttons_go_on_in_another_row(dialog: LibraryDialog, qtbot: QtBot) -> None:
    dialog.show_library(some(), [FOLDER], [])
    dialog.resize(400, 600)
    buttons = (
        *(dialog.target_button, dialog.draft_button, dialog.options_button, dialog.load_button, dialog.close_button),
    )
    qtbot.waitUntil(lambda: dialog.close_button.y() > dialog.target_button.y())
    places = [button.geometry() for button in buttons]
    assert all(dialog.rect().contains(place) for place in places)
    assert not any(one.intersects(other) for one in places for other in places if one is not other)
    assert all(button.width() >= button.sizeHint().width() for button in buttons)


def test_a_load_is_shown_and_can_be_cancelled(dialog: LibraryDialog, qtbot: QtBot) -> None:
    dialog.show_library(some(), [FOLDER], [])
    choose(dialog, "Model 1B")
    dialog.show_activity(Activity("loading", "Model 1B", 0.25))
    qtbot.waitUntil(dialog.strip.isVisible)
    assert dialog.strip.word.text() == "Loading Model 1B · 25 %"
    assert not dialog.load_button.isEnabled()
    with qtbot.waitSignal(dialog.cancel_wanted):
        dialog.strip.button.click()
    dialog.show_activity(Activity("writing"))
    assert not dialog.strip.isVisible(), "a reply is no concern of the library"
    assert dialog.load_button.isEnabled()


def test_five_hundred_models_are_quick(dialog: LibraryDialog, qapp: QApplication) -> None:
    rows = [library_row(number) for number in range(1, 501)]
    begin = own_clock()
    dialog.show_library(rows, [FOLDER], [])
    qapp.processEvents()
    dialog.search.setText("49b")
    qapp.processEvents()
    assert len(shown(dialog)) == 5
    dialog.search.clear()
    dialog.table.sortByColumn(COLUMNS.index("memory"), Qt.SortOrder.DescendingOrder)
    qapp.processEvents()
    again = [library_row(number, free=5_000_000_000) for number in range(1, 501)]
    dialog.show_library(again, [FOLDER], [])
    qapp.processEvents()
    assert own_clock() - begin < 2.0
    assert dialog.filter.rowCount() == 500


def test_each_column_is_named_filled_and_sorted_by_one_type() -> None:
    for name in COLUMNS:
        each = column(name)
        assert isinstance(each.heading, Translatable)
        assert not each.help or isinstance(each.help, Translatable)
        assert all(each.cell(row) for row in some())
        assert len({type(each.sort(row)) for row in some()}) == 1
        assert bool(each.sample) is (name not in {"name", "state"}), "these two take the room that is left"
    order = sorted(column(name).gives_way for name in COLUMNS if column(name).gives_way)
    assert order == list(range(1, len(order) + 1))


def test_the_filter_knows_families_sizes_and_quantisations_and_begins_empty(dialog: LibraryDialog) -> None:
    rows = [library_row(7, architecture="qwen3"), library_row(13, architecture="llama"), library_row(2)]
    dialog.show_library(rows, [FOLDER], [])
    for words, found in (("qwen3", ["Model 7B"]), ("13B", ["Model 13B"]), (rows[2].model.quantisation, ["Model 2B"])):
        dialog.search.setText(words)
        assert shown(dialog) == found
    dialog.close()
    dialog.open()
    assert not dialog.search.text()
    assert len(shown(dialog)) == 3


def pick(picker: Picker, words: str) -> None:
    row = picker.findText(words)
    picker.setCurrentIndex(row)
    picker.activated.emit(row)


def test_the_pickers_narrow_by_family_size_and_quantisation(dialog: LibraryDialog) -> None:
    rows = [library_row(7, architecture="qwen3"), library_row(13), library_row(2), library_row(1), library_row(70)]
    dialog.show_library(rows, [FOLDER], [])
    bar = dialog.narrowing
    assert [bar.size_picker.itemText(row) for row in range(bar.size_picker.count())] == [
        "All sizes",
        "Up to 1 GB" if rows[3].size == 0 else "1 to 4 GB",
        "4 to 10 GB",
        "10 to 40 GB",
        "Over 40 GB",
    ]
    pick(bar.family, "llama")
    assert shown(dialog) == ["Model 1B", "Model 2B", "Model 13B", "Model 70B"]
    pick(bar.quantisation, "Q8_0")
    assert shown(dialog) == ["Model 1B", "Model 13B", "Model 70B"]
    pick(bar.size_picker, "10 to 40 GB")
    assert shown(dialog) == ["Model 13B"]
    dialog.search.setText("2b")
    assert dialog.empty.text() == "No model matches the filter."
    dialog.search.clear()
    dialog.show_library([row for row in rows if row.size != 3], [FOLDER], [])
    assert bar.size_picker.currentText() == "All sizes", "there is none of that size any more"
    assert shown(dialog) == ["Model 1B", "Model 70B"], "the rest stays chosen"
    dialog.close()
    dialog.open()
    assert len(shown(dialog)) == 4, "it opens with all"


def test_favourites_and_what_was_used_last(dialog: LibraryDialog) -> None:
    rows = [library_row(1), library_row(2, used=2), library_row(3, used=1)]
    dialog.show_library(rows, [FOLDER], [])
    pick(dialog.narrowing.subset, "Recently used")
    assert shown(dialog) == ["Model 3B", "Model 2B"], "the last one first"
    assert not dialog.sorting.isEnabled()
    pick(dialog.narrowing.subset, "Favourites")
    assert dialog.sorting.isEnabled()
    assert dialog.empty.text() == "No favourites yet. The star beside a model's name makes it one."
    pick(dialog.narrowing.subset, "All models")
    wanted: list[tuple[object, bool]] = []
    dialog.favourite_wanted.connect(lambda path, on: wanted.append((path, on)))
    choose(dialog, "Model 2B")
    assert dialog.details.star.accessibleName() == "Add to favourites"
    dialog.details.star.click()
    dialog.show_library([rows[0], replace(rows[1], favourite=True), rows[2]], [FOLDER], [])
    assert dialog.details.star.accessibleName() == "Remove from favourites"
    dialog.details.star.click()
    assert wanted == [(rows[1].path, True), (rows[1].path, False)]
    pick(dialog.narrowing.subset, "Favourites")
    assert shown(dialog) == ["Model 2B"]
    star = dialog.filter.index(0, 0).data(Qt.ItemDataRole.DecorationRole)
    assert star is not None


def test_details_stand_beside_the_table_or_below_it(dialog: LibraryDialog, qtbot: QtBot) -> None:
    dialog.show_library(some(), [FOLDER], [])
    dialog.resize(1_100, 640)
    qtbot.waitUntil(lambda: dialog.details.x() > dialog.table.width())
    assert dialog.details.facts.text().splitlines()[:2] == ["llama", "2B · F16 · 2.0 GB"]
    assert dialog.details.folder_button.isVisible()
    dialog.resize(720, 560)
    qtbot.waitUntil(lambda: dialog.details.y() > dialog.pages.geometry().bottom())
    assert "\n" not in dialog.details.facts.text()
