"""The Speculation panel: what it draws, scrolling, pausing, saving."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.models.selection import Selection
from app.state.speculation.figures import Figures, PositionCounts, TimeSplit
from app.state.speculation.metrics import MAX_POINTS, Metrics
from app.views.speculation.bars import duration
from app.views.speculation.panel import ROUNDS_SHOWN, CounterGrid, SpeculationPanel
from app.views.widgets.paint_budget import PaintBudget
from app.views.widgets.theme import Theme
from engine import GenerationStats, MethodStats, PromptProgress, RoundEvent, TokenEvent
from engine.host import write_whole
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

Panel = Callable[[Metrics], SpeculationPanel]


@pytest.fixture
def panel(qapp: QApplication, qtbot: QtBot) -> Panel:
    def make(metrics: Metrics) -> SpeculationPanel:
        made = SpeculationPanel(metrics, Theme(qapp, "", settings=Settings(theme="light")), PaintBudget())
        qtbot.addWidget(made)
        made.resize(300, 700)
        with qtbot.waitExposed(made):
            made.show()
        made.build_plots()
        return made

    return make


def write(metrics: Metrics, rounds: int, *, begin: bool = True, first: int = 1) -> None:
    """So many rounds of 100 ms: 4 proposed, (number % 5) accepted."""
    if begin:
        metrics.begin()
        metrics.take(0.0, PromptProgress(1, 1))
    for number in range(first, first + rounds):
        accepted = number % 5
        for place in range(accepted + 1):
            metrics.take(0.1 * number, TokenEvent(1, "x", "accepted", number, place, -0.1))
        metrics.take(0.1 * number, RoundEvent(number, "draft", 4, 4, accepted, 10.0, 60.0))
        metrics.sample(0.1 * number)


def stats(**more: object) -> GenerationStats:
    known = {"rounds": 10, "proposed": 40, "accepted": 20, "rejected": 20, "corrections": 8, "bonus_tokens": 2}
    return GenerationStats(**(known | more))  # type: ignore[arg-type]


def test_positions_and_times_are_counted_from_the_rounds() -> None:
    metrics = Metrics()
    write(metrics, 10)
    assert metrics.positions.pairs() == ((10, 8), (10, 6), (10, 4), (10, 2))
    assert (metrics.times.draft_ms, metrics.times.target_ms) == (100.0, 600.0)
    assert metrics.times.rest_ms == pytest.approx(300.0)
    assert [name for name, _ in metrics.times.parts()] == ["draft", "target", "rest"]
    done = stats(
        proposed_by_position=(10, 10),
        accepted_by_position=(9, 7),
        draft_ms=1.0,
        target_ms=5.0,
        prompt_ms=2.0,
        total_ms=10.0,
    )
    metrics.end(done)
    assert metrics.positions.pairs() == ((10, 9), (10, 7))
    assert metrics.times == TimeSplit(1.0, 5.0, 2.0)
    assert metrics.times.total_ms == done.total_ms - done.prompt_ms


def test_what_came_from_own_texts_is_told_where_something_did(panel: Panel) -> None:
    metrics = Metrics()
    write(metrics, 2)
    counters = panel(metrics).findChild(CounterGrid)
    assert counters is not None
    own = counters.values["own"]
    assert own.isHidden()
    metrics.take(0.3, RoundEvent(3, "own-texts", 8, 8, 7, 0.0, 60.0))
    counters.draw(metrics)
    assert not own.isHidden()
    assert own.text() == "7"
    metrics.end(stats(by_method=(MethodStats("own-texts", 3, 12, 9), MethodStats("ngram", 2, 4, 4))))
    counters.draw(metrics)
    assert own.text() == "9"


def test_rounds_of_different_lengths() -> None:
    counts = PositionCounts()
    counts.add(0, 0)
    assert counts.pairs() == ()
    counts.add(3, 3)
    counts.add(1, 0)
    assert counts.pairs() == ((2, 1), (1, 1), (1, 1))


def test_plain_speed_is_shown_once_it_was_measured_and_for_this_target_only(panel: Panel, qtbot: QtBot) -> None:
    metrics = Metrics()
    metrics.choose(Selection(Path("a"), (Path("d"),), 4))
    shown = panel(metrics)
    write(metrics, 20)
    metrics.end(stats(total_ms=1000.0))
    shown.refresh()
    assert shown.plots is not None
    pace = shown.plots[1]
    qtbot.waitUntil(lambda: shown.counters["rounds"].text() == "10")
    assert metrics.speedup is None
    assert shown.speed_figure.text() == "30 tok/s"
    assert not pace._dashes_label.isVisible()
    metrics.end(stats(total_ms=1000.0, plain_tokens_per_second=20.0))
    shown.refresh()
    qtbot.waitUntil(lambda: shown.speed_figure.text() == "30 tok/s · 1.5×" and shown.is_drawn)
    assert pace._dashes_label.isVisible()
    assert pace._dashes_label.toPlainText() == "plain 20 tok/s"
    assert set(pace._dashes.getData()[1]) == {20.0}
    metrics.choose(Selection(Path("a"), (Path("d"),), 8))
    assert metrics.plain_speed == 20.0
    metrics.choose(Selection(Path("b"), (Path("d"),), 8))
    assert metrics.plain_speed == 20.0, "it belongs to the reply that is shown, not to the next one"
    metrics.begin(Path("b"))
    assert metrics.plain_speed is None


def test_history_can_be_scrolled_with_the_wheel_the_bar_and_by_dragging(panel: Panel, qtbot: QtBot) -> None:
    metrics = Metrics()
    shown = panel(metrics)
    write(metrics, 300)
    shown.refresh()
    assert shown.plots is not None
    rate = shown.plots[0]
    qtbot.waitUntil(lambda: rate.bar.maximum() > 0)
    assert rate.shown_range == (300 - ROUNDS_SHOWN, 300), "the end is followed"
    assert len(rate._dots.getData()[0]) <= ROUNDS_SHOWN + 2, "only what is seen is drawn"
    turn(rate, 120)
    left, _ = rate.shown_range
    assert left == pytest.approx(180 - 0.15 * ROUNDS_SHOWN)
    write(metrics, 50, begin=False, first=301)
    QTest.qWait(150)
    shown.refresh()
    qtbot.waitUntil(lambda: rate.bar.maximum() == 23_000)
    assert rate.shown_range[0] == left, "what is looked at stays"
    middle = rate.viewport().rect().center()
    QTest.mousePress(rate.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    QTest.mouseMove(rate.viewport(), middle + QPoint(60, 0))
    QTest.mouseRelease(rate.viewport(), Qt.MouseButton.LeftButton, pos=middle + QPoint(60, 0))
    assert rate.shown_range[0] < left - 10
    rate.bar.setValue(0)
    assert not turn(rate, 120), "at the end of the history the wheel is for the panel"
    rate.bar.setValue(rate.bar.maximum())
    write(metrics, 10, begin=False, first=351)
    QTest.qWait(150)
    shown.refresh()
    qtbot.waitUntil(lambda: rate.shown_range[1] == 360)
    metrics.begin()
    QTest.qWait(150)
    shown.refresh()
    qtbot.waitUntil(lambda: rate.bar.maximum() == 0)


def turn(plot: object, angle: int) -> bool:
    """Turn the wheel; whether the plot took it."""
    here = QPointF(100, 60)
    event = QWheelEvent(
        here,
        here,
        QPoint(),
        QPoint(0, angle),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    plot.wheelEvent(event)  # type: ignore[attr-defined]
    return event.isAccepted()


def test_the_line_is_broken_where_nothing_was_proposed(panel: Panel, qtbot: QtBot) -> None:
    metrics = Metrics()
    write(metrics, 3)
    for number in range(4, 24):
        metrics.take(0.1 * number, RoundEvent(number, "draft", 0, 0, 0, 0.0, 60.0))
    write(metrics, 3, begin=False, first=24)
    shown = panel(metrics)
    qtbot.waitUntil(lambda: shown.is_drawn)
    assert shown.plots is not None
    line = shown.plots[0]._line
    gaps = [(line.xData[at], line.xData[at + 1]) for at, joined in enumerate(line.opts["connect"]) if not joined]
    assert gaps == [(10.0, 24.0)], "eight rounds together still hold a proposal until the tenth"


def test_history_is_bounded() -> None:
    metrics = Metrics()
    write(metrics, 3 * MAX_POINTS)
    figures = metrics.figures()
    for xs, ys in (figures.rates, figures.smoothed, figures.speeds):
        assert MAX_POINTS / 4 < len(xs) == len(ys) <= MAX_POINTS


def test_paused_it_stands_still_and_goes_on_with_all_there_is(panel: Panel, qtbot: QtBot) -> None:
    metrics = Metrics()
    shown = panel(metrics)
    write(metrics, 20)
    shown.refresh()
    qtbot.waitUntil(lambda: shown.counters["rounds"].text() == "20")
    shown.tools.pause_button.click()
    assert shown.tools.pause_button.accessibleName() == "Resume the plots"
    write(metrics, 30, begin=False, first=21)
    QTest.qWait(150)
    shown.refresh()
    QTest.qWait(150)
    assert shown.counters["rounds"].text() == "20"
    assert len(shown.figures.rates[0]) == 20
    shown.tools.pause_button.click()
    qtbot.waitUntil(lambda: shown.counters["rounds"].text() == "50")
    assert len(shown.figures.rates[0]) == 50


def test_nothing_is_drawn_while_nothing_changes(panel: Panel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics()
    shown = panel(metrics)
    write(metrics, 20)
    QTest.qWait(150)
    drawn = []
    monkeypatch.setattr(shown, "_draw_rate", lambda: drawn.append(1))
    for _ in range(20):
        shown.refresh()
        QTest.qWait(5)
    assert shown.is_drawn
    assert len(drawn) == 1
    shown.hide()
    write(metrics, 1, begin=False, first=21)
    shown.refresh()
    QTest.qWait(50)
    assert len(drawn) == 1, "nothing while hidden"
    shown.show()
    qtbot.waitUntil(lambda: shown.is_drawn)
    assert drawn.pop() == 1
    for number in range(40):
        write(metrics, 1, begin=False, first=22 + number)
        shown.refresh()
        QTest.qWait(5)
    assert len(drawn) <= 1 + 10, "not more than ten times a second"


def test_the_table_says_what_is_drawn(panel: Panel, qtbot: QtBot, tmp_path: Path) -> None:
    metrics = Metrics()
    metrics.note_plain_speed(12.5)
    shown = panel(metrics)
    write(metrics, 20)
    shown.refresh()
    qtbot.waitUntil(lambda: shown.counters["rounds"].text() == "20")
    path = tmp_path / "figures.csv"
    shown.tools.save_table(path)
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    rates = [(row["x"], row["value"]) for row in rows if row["series"] == "acceptance_rate"]
    assert rates[:5] == [("1", "25.000"), ("2", "50.000"), ("3", "75.000"), ("4", "100.000"), ("5", "0.000")]
    told = {row["series"]: (row["value"], row["unit"]) for row in rows}
    assert told["plain_tokens_per_second"] == ("12.500", "tok/s")
    assert told["draft_time"] == ("200.0", "ms")
    assert told["accepted_by_position"] == ("4", "tokens")
    assert len([row for row in rows if row["series"] == "tokens_per_second"]) == len(shown.figures.speeds[0]) > 0
    assert shown.tools.said.text() == f"Saved as {path}"


def test_the_picture_and_what_goes_wrong(
    panel: Panel, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = Metrics()
    shown = panel(metrics)
    write(metrics, 20)
    shown.refresh()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "plots"), ""))
    picture, table = shown.tools.save_button.menu().actions()
    before = shown._charts.size()
    picture.trigger()
    image = QImage(str(tmp_path / "plots.png"))
    assert image.width() == 2 * (720 + 2 * 24)
    assert image.height() >= 2 * (760 + 2 * 24)
    edge = {image.pixel(x, y) for x in range(image.width()) for y in (0, 40, image.height() - 40)}
    assert edge == {shown._theme.color("background").rgb()}, "a margin all around"
    assert shown._charts.size() == before, "the panel is as it was"
    table.trigger()
    assert (tmp_path / "plots.csv").read_text() == Figures.to_csv(shown.figures)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    shown.tools.said.clear()
    picture.trigger()
    assert shown.tools.said.text() == ""
    missing = tmp_path / "no folder" / "plots.csv"
    shown.tools.save_table(missing)
    expected = f"Cannot save {missing}: No such file or directory. Choose another folder."
    assert shown.tools.said.text() == expected


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "file"
    path.write_bytes(b"before")
    path.chmod(0o640)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            write_whole(path, b"after")
    assert path.read_bytes() == b"before"
    write_whole(path, b"after")
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [found.name for found in folder.iterdir()] == ["file"]


def test_it_is_right_while_empty_and_in_any_size(panel: Panel) -> None:
    shown = panel(Metrics())
    assert shown.plots is not None
    assert shown.plots[0].shown_range == shown.plots[1].shown_range == (0.0, 10.0)
    assert shown.times.parts() == [("Draft", "– %", 0.0), ("Target", "– %", 0.0), ("Rest", "– %", 0.0)]
    assert shown.figures.empty
    assert shown.tools.save_button.isHidden(), "there is nothing to save"
    for width, height in ((240, 400), (480, 1_500)):
        shown.resize(width, height)
        QApplication.processEvents()
        page = shown.widget()
        assert page is not None
        assert page.width() <= width
        assert not shown.grab().isNull()
    shown.positions.draw(((10, 9),) * 32)
    assert shown.positions.accessibleDescription().startswith("position 1: 90 % of 10, position 2")
    assert not shown.grab().isNull()


def test_the_panel_of_a_real_reply(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    exchange = window.ask("What is Outrider?", 60_000)
    done, shown = window.stats(exchange), window.main.panel
    window.wait(lambda: shown.counters["rounds"].text() == f"{done.rounds:,}" and shown.is_drawn)
    pairs = shown.figures.positions
    assert pairs == tuple(zip(done.proposed_by_position, done.accepted_by_position, strict=True))
    assert sum(accepted for _, accepted in pairs) == done.accepted
    assert shown.figures.times.total_ms == pytest.approx(done.total_ms - done.prompt_ms)
    assert shown.figures.plain_speed is None, "nothing was measured yet"
    window.models.choose_lookahead(0)
    window.ask("Tell me a long story about a shy dragon.", 60_000)
    window.models.choose_lookahead(4)
    again = window.stats(window.ask("And another one.", 60_000))
    assert again.speedup is not None
    window.wait(lambda: shown.speed_figure.text().endswith(f"{again.speedup:.1f}×") and shown.is_drawn)
    assert shown.plots is not None
    assert shown.plots[1]._dashes_label.isVisible()


def test_live_counts_are_those_of_the_whole_reply(open_window: OpenWindow) -> None:
    window = open_window(Script("x" * 120, round_s=0.002), settings=Settings(lookahead=4))
    window.ask("Count")
    window.wait(lambda: window.main.panel.is_drawn)
    assert window.main.panel.figures.positions == ((10, 10), (10, 10), (10, 0), (10, 0))


def test_durations_have_units() -> None:
    assert [duration(ms) for ms in (0.0, 850.4, 1_234.0)] == ["0 ms", "850 ms", "1.2 s"]


def test_charts_that_appear_are_painted_one_after_another(panel: Panel, qtbot: QtBot) -> None:
    metrics = Metrics()
    shown = panel(metrics)
    assert shown.plots is not None
    qtbot.waitUntil(lambda: shown.is_drawn)
    assert not shown._charts.isVisible()
    write(metrics, 20)
    shown._drawn_at = 0.0
    shown._budget.clear()
    shown.refresh()
    assert shown._charts.isVisible()
    assert not any(plot.updatesEnabled() for plot in shown.plots)
    qtbot.waitUntil(lambda: shown.is_drawn)
    assert all(plot.updatesEnabled() for plot in shown.plots)
    # As pictures they are whole at any time.
    write(metrics, 0)
    shown._drawn_at = 0.0
    shown.refresh()
    write(metrics, 20)
    shown._drawn_at = 0.0
    shown.refresh()
    shown._picture()
    assert all(plot.updatesEnabled() for plot in shown.plots)


def test_another_reply_moves_no_plot(panel: Panel, qtbot: QtBot) -> None:
    metrics = Metrics()
    write(metrics, 20)
    shown = panel(metrics)
    assert shown.plots is not None
    qtbot.waitUntil(lambda: shown.is_drawn)
    places = list[object]()
    for name in ("", "What is a dragon?", ""):
        shown.show_reply(metrics, name)
        QApplication.processEvents()
        places.append([(plot.mapTo(shown, QPoint()), plot.size()) for plot in shown.plots])
    assert places[0] == places[1] == places[2]


def test_another_theme_leaves_the_plots_where_they_are(qapp: QApplication, qtbot: QtBot) -> None:
    metrics, theme = Metrics(), Theme(qapp, "", settings=Settings(theme="light"))
    write(metrics, 20)
    shown = SpeculationPanel(metrics, theme, PaintBudget())
    qtbot.addWidget(shown)
    shown.resize(300, 700)
    with qtbot.waitExposed(shown):
        shown.show()
    shown.build_plots()
    qtbot.waitUntil(lambda: shown.is_drawn)
    places = list[object]()
    for mode in (None, "dark", "light"):
        if mode is not None:
            theme.set_mode(mode)
            shown.updateGeometry()
            for plot in shown.plots or ():
                plot.updateGeometry()
        QTest.qWait(20)
        inner = [plot.getPlotItem().getViewBox().sceneBoundingRect() for plot in shown.plots or ()]
        places.append([(plot.mapTo(shown, QPoint()), plot.size()) for plot in shown.plots or ()] + inner)
    assert places[0] == places[1] == places[2]


def test_another_theme_leaves_the_units_of_the_axes(panel: Panel, qtbot: QtBot) -> None:
    """A reply of a tenth of a second counts its seconds in seconds."""
    shown = panel(Metrics())
    assert shown.plots is not None
    plot = shown.plots[1]
    plot.draw(([0.02, 0.1], [80.0, 90.0]))
    axis = plot.getPlotItem().getAxis("bottom")
    for _ in range(2):
        plot._dress()
        assert axis.autoSIPrefixScale == 1.0
        assert "x0.001" not in axis.labelString()


def test_a_panel_that_is_gone_leaves_nothing_behind(qapp: QApplication) -> None:
    before = set(qapp.topLevelWidgets())
    shown = SpeculationPanel(Metrics(), Theme(qapp, "", settings=Settings(theme="light")), PaintBudget())
    shown.build_plots()
    assert set(qapp.topLevelWidgets()) - before >= {shown}
    shown.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert set(qapp.topLevelWidgets()) - before == set()
