"""The pickers: what fits stays readable, what does not is greyed with the reason."""

from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.state.models.selection import PickerLine
from app.views.widgets.picker import DIM_ROLE, MORE_ROLE, Picker, shortened
from app.words.models import worded
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
GB = 10**9


@pytest.mark.parametrize("before", ["", "automatic · "])
def test_a_long_name_loses_its_middle_and_keeps_its_figures(qapp: QApplication, before: str) -> None:
    metrics = QFontMetrics(qapp.font())
    name, figures = f"{before}Qwen2.5-Coder-14B-Instruct", " · 15B Q4_K_M"
    whole = name + figures
    assert shortened(whole, metrics, metrics.horizontalAdvance(whole)) == whole
    for room in range(metrics.horizontalAdvance(whole) - 1, 20, -7):
        cut = shortened(whole, metrics, room)
        assert metrics.horizontalAdvance(cut) <= room
        begin, middle, end = cut.partition("…")
        kept = room >= metrics.horizontalAdvance(figures) + 12 * metrics.averageCharWidth()
        assert (middle, cut.endswith(figures)) == ("…", kept) or cut == name
        assert name.startswith(begin)
        assert name.endswith(end.removesuffix(figures))


def test_a_line_tells_size_context_and_what_was_measured_here(qtbot: QtBot) -> None:
    known = {"size": 986 * 10**6, "context": 8192}
    speeds = [(24.2, 32.0), (24.2, 0.0), (0.0, 9.44), (0.0, 0.0)]
    picker = lines(*(PickerLine(Path(str(each)), "Qwen", measured=each, **known) for each in speeds))  # type: ignore[arg-type]
    qtbot.addWidget(picker)
    told = [picker.itemData(row, MORE_ROLE).removeprefix("986.0 MB · context 8,192") for row in range(4)]
    assert told == [" · 24 tok/s, 32 with a draft", " · 24 tok/s", " · 9.4 tok/s with a draft", ""]


def test_of_two_names_the_first_stays(qapp: QApplication) -> None:
    """What automatic has found is told as far as there is room."""
    metrics = QFontMetrics(qapp.font())
    whole = "automatic · head eagle3-qwen + Qwen3 0.6B"
    cut = shortened(whole, metrics, metrics.horizontalAdvance("automatic · head eagle3-qwen + Q"))
    assert cut.startswith("automatic · head eagle3-q")
    assert cut.endswith("…")


def lines(*choices: PickerLine) -> Picker:
    picker = Picker("Draft")
    picker.fill(choices, None, "", words=worded)
    return picker


def test_what_does_not_fit_is_greyed_with_the_reason(qtbot: QtBot) -> None:
    short = (9 * GB, 5 * GB)
    picker = lines(
        PickerLine(None, "", kind="automatic"),
        PickerLine(Path("good"), "Good"),
        PickerLine(Path("bad"), "Bad", problem="It is something else."),
        PickerLine(Path("large"), "Large", shortage=short, with_target=True),
        PickerLine(Path("target"), "Target", shortage=short),
        PickerLine(Path("away"), "Away", away=True, shortage=short),
    )
    qtbot.addWidget(picker)
    model = picker.model()
    rows = range(picker.count())
    enabled = [bool(model.flags(model.index(row, 0)) & Qt.ItemFlag.ItemIsEnabled) for row in rows]
    assert enabled == [True, True, False, False, True, False]
    assert [picker.itemData(row, MORE_ROLE) for row in rows] == [
        "The best available draft for the target",
        "",
        "It is something else.",
        "It needs about 9.0 GB of memory; 5.0 GB are free beside the target.",
        "It needs about 9.0 GB of memory; 5.0 GB are free.",
        "Its folder is not available.",
    ]
    assert [bool(picker.itemData(row, DIM_ROLE)) for row in rows] == [False, False, False, True, True, True]


def test_a_line_with_a_reason_is_two_rows_high(qtbot: QtBot) -> None:
    picker = lines(PickerLine(Path("good"), "Good"), PickerLine(Path("bad"), "Bad", problem="It is something else."))
    qtbot.addWidget(picker)
    view = picker.view()
    assert view.sizeHintForRow(1) > view.sizeHintForRow(0) + picker.fontMetrics().height() // 2


@pytest.mark.parametrize("width", [720, 999, 1_000, 1_920])
def test_the_bar_has_room_for_its_pickers(open_window: OpenWindow, demo_pair: tuple[Path, Path], width: int) -> None:
    window = open_window(Script(), pair=demo_pair, size=(width, 600))
    bar = window.main.bar
    shown = shortened(bar.target.currentText(), bar.target.fontMetrics(), bar.target.width() - 40)
    assert shown.startswith("demo-target")
    fields = [bar.target, bar.draft, bar.lookahead, bar.library_button, bar.tokens_button, bar.menu_button]
    places = [field.geometry() for field in [*fields, bar.right_button]]
    assert all(left.right() < right.left() for left, right in pairwise(places))
    assert bar.rect().contains(places[-1])


def test_hundreds_of_lines_get_their_words_when_they_are_looked_at(qtbot: QtBot) -> None:
    """Free memory changes all the time, and with it what is said of each model."""
    asked: list[PickerLine] = []

    def words(choice: PickerLine) -> PickerLine:
        asked.append(choice)
        return worded(choice)

    picker = Picker("Target")
    qtbot.addWidget(picker)
    for free in range(1, 4):
        picker.fill(
            [PickerLine(Path(f"m{n}"), f"M {n}", shortage=(GB, free)) for n in range(500)], Path("m7"), "", words=words
        )
        assert picker.currentText() == "M 7"
    assert len(asked) < 20
    picker.showPopup()
    assert picker.itemData(499, MORE_ROLE).startswith("It needs about 1.0 GB")
    picker.hidePopup()


def test_a_list_that_is_open_stays_as_it_is(qtbot: QtBot) -> None:
    picker = lines(*(PickerLine(Path(name), name) for name in "abc"))
    qtbot.addWidget(picker)
    picker.show()
    chosen: list[object] = []
    picker.chosen.connect(chosen.append)
    picker.showPopup()
    view = picker.view()
    view.setCurrentIndex(picker.model().index(1, 0))
    picker.fill([PickerLine(Path(name), name) for name in "xyz"], None, "")
    assert picker.itemText(1) == "b"
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert chosen == [Path("b")]
    qtbot.waitUntil(lambda: picker.itemText(1) == "y")
    assert picker.currentIndex() == -1
    picker.showPopup()
    picker.fill([PickerLine(Path(name), name) for name in "uvw"], None, "")
    view.window().hide()  # As a system does where the focus goes to another window.
    qtbot.waitUntil(lambda: picker.itemText(1) == "v")


def test_home_end_and_letters_go_to_lines_that_can_be_chosen(qtbot: QtBot) -> None:
    """Also if the first and the last cannot, and by a word within the name."""
    picker = Picker("Draft")
    qtbot.addWidget(picker)
    lines = [
        PickerLine(None, "same", kind="group"),
        PickerLine(Path("a"), "qwen-7B"),
        PickerLine(Path("b"), "qwen-3B"),
        PickerLine(Path("c"), "llama-1B"),
        PickerLine(Path("d"), "qwen-70B", "It cannot be used."),
    ]
    picker.fill(lines, Path("b"), "")
    view = picker.view()
    view.setCurrentIndex(picker.model().index(2, 0))

    def press(key: Qt.Key, text: str = "") -> str:
        QApplication.sendEvent(view, QKeyEvent(QKeyEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier, text))
        return str(view.currentIndex().data())

    assert press(Qt.Key.Key_End) == "llama-1B"
    assert press(Qt.Key.Key_Home) == "qwen-7B"
    assert press(Qt.Key.Key_3, "3") == "qwen-3B"
    picker._typed_at = 0.0
    assert press(Qt.Key.Key_L, "l") == "llama-1B"
    assert press(Qt.Key.Key_A, "a") == "llama-1B"
    assert not picker.model().flags(picker.model().index(0, 0)) & Qt.ItemFlag.ItemIsEnabled
