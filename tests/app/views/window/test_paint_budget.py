"""Drawings take turns, and what was drawn is painted before the next pause begins."""

from time import sleep

from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.views.widgets.paint_budget import PaintBudget


class _Shown(QWidget):
    painted = False

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        self.painted = True


def test_the_next_drawing_waits_until_the_last_one_is_painted(qtbot: QtBot) -> None:
    budget, shown = PaintBudget(), _Shown()
    qtbot.addWidget(shown)
    with qtbot.waitExposed(shown):
        shown.show()
    qtbot.waitUntil(lambda: shown.painted)
    assert budget.wait_ms() == 0
    shown.painted = False
    budget.take(0.02)
    shown.update()
    sleep(0.03)
    assert budget.wait_ms() == 1, "nobody has painted yet, however long that took"
    qtbot.waitUntil(lambda: budget.wait_ms() > 1)
    assert shown.painted
    qtbot.waitUntil(lambda: budget.wait_ms() == 0)


def test_all_may_draw_at_once_when_it_is_cleared(qtbot: QtBot) -> None:
    budget = PaintBudget()
    budget.take(0.5)
    budget.clear()
    assert budget.wait_ms() == 0
    qtbot.wait(10)
    assert budget.wait_ms() == 0, "the cleared turn begins no pause"
