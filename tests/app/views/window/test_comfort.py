"""Letters of another size, another theme, and a window that comes back where it was."""

import gc
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontInfo, QGuiApplication, QIcon
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QToolTip, QWidget

from app.settings.settings import Settings, SettingsFile
from app.views.widgets.icons import icon
from app.views.widgets.theme import DARK, DARK_CONTRAST, LIGHT, LIGHT_CONTRAST, Theme, _platform_font, fixed_font
from app.views.window.main_window import place_of, restore
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

CODE = "Text\n\n# Heading\n\n```python\nx = 1\n```\n\nand `code`."
CONTROL = Qt.KeyboardModifier.ControlModifier


def sizes(window: Window, exchange: object) -> dict[str, float]:
    """How large the letters of some parts of the window are (points; of plots the pixels of their axis)."""
    view = window.view(exchange)  # type: ignore[arg-type]
    page = view.reply.texts[0].page
    found = {"page": page.document().defaultFont().pointSizeF()}
    block = page.document().begin()
    while block.isValid():
        for line in block.textFormats():
            size = line.format.font().pointSizeF()
            if size > 0:
                found.setdefault(f"fragment {line.start} of {block.blockNumber()}", size)
        block = block.next()
    for name, widget in {
        "prompt": window.prompt.edit,
        "list": window.main.left.list,
        "picker": window.main.bar.target,
        "summary": view.summary,
        "welcome": window.main.welcome.findChild(QLabel),
        "counter": window.main.panel.findChild(QLabel, "counterValue"),
    }.items():
        assert isinstance(widget, QWidget)
        found[name] = widget.font().pointSizeF()
    plots = window.main.panel.plots
    assert plots is not None
    axis = plots[0].getPlotItem().getAxis("left")
    found["axis"] = axis.style["tickFont"].pointSizeF()
    found["axis label"] = axis.label.font().pointSizeF()
    found["fixed"] = fixed_font().pointSizeF()
    return found


def test_the_letters_grow_everywhere_at_once(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    exchange = window.ask("Hello")
    before = sizes(window, exchange)
    height = window.prompt.edit.height()
    QTest.keyClick(window.prompt.edit, Qt.Key.Key_Plus, CONTROL)
    assert window.program.settings.font_points == round(before["prompt"]) + 1
    for _ in range(2):
        QTest.keyClick(window.prompt.edit, Qt.Key.Key_Equal, CONTROL)
    window.wait(lambda: sizes(window, exchange).keys() == before.keys())
    after = sizes(window, exchange)
    ratio = (round(before["prompt"]) + 3) / before["prompt"]
    for name, size in before.items():
        assert after[name] == pytest.approx(size * ratio, rel=0.06), name
    assert window.prompt.edit.height() > height
    assert window.close()
    again = open_window(Script(CODE))
    assert again.prompt.edit.font().pointSizeF() == after["prompt"], "it is remembered"
    QTest.keyClick(again.prompt.edit, Qt.Key.Key_0, CONTROL)
    assert again.prompt.edit.font().pointSizeF() == before["prompt"]
    assert again.program.settings.font_points == 0
    QTest.keyClick(again.prompt.edit, Qt.Key.Key_Minus, CONTROL)
    assert again.prompt.edit.font().pointSizeF() == round(before["prompt"]) - 1


def test_a_name_is_not_cut_beside_free_space(open_window: OpenWindow, tmp_path: Path) -> None:
    name = "A-Model-With-A-Long-Name-1.5B-Instruct-Q4_K_M"
    window = open_window(Script(), pair=(tmp_path / f"{name}.gguf", tmp_path / "small.gguf"))
    bar = window.main.bar

    def fits() -> bool:
        free = bar.tokens_button.x() - bar.library_button.geometry().right() > 20
        return not free or bar.target.width() > bar.target.fontMetrics().horizontalAdvance(name) + 20

    for width, points in ((1_280, 0), (1_700, 0), (1_700, 14)):
        window.main.resize(width, 800)
        window.main.set_font_points(points)
        window.wait(lambda points=points: points in (0, window.program.theme.points) and bar.width() > 1_200)  # type: ignore[misc]
        window.wait(fits)
    assert name in bar.target.currentText()


def test_letters_have_a_least_and_a_greatest_size(open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(font_points=38))
    for _ in range(4):
        window.main.change_font(1)
    assert window.program.settings.font_points == 40
    window.main.change_font(-100)
    assert window.program.settings.font_points == 6


def test_the_window_is_whole_with_large_letters(open_window: OpenWindow) -> None:
    """At the smallest size of the window nothing makes it larger, and no word of a button is cut."""
    window = open_window(Script(CODE), size=(720, 480))
    window.ask("Hello")
    window.main.change_font(8)
    window.qtbot.wait(50)
    assert window.main.size() == QSize(720, 480)
    assert window.main.minimumSizeHint().width() <= 720
    assert window.main.prompt.geometry().bottom() <= 480


def test_the_theme_of_the_system_is_followed_while_it_runs(
    open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(Script(CODE), settings=Settings(theme="system"))
    exchange = window.ask("Hello")
    for scheme, tokens in ((Qt.ColorScheme.Dark, DARK), (Qt.ColorScheme.Light, LIGHT)):
        monkeypatch.setattr(Theme, "_system_is_dark", lambda _theme, scheme=scheme: scheme == Qt.ColorScheme.Dark)
        QGuiApplication.styleHints().colorSchemeChanged.emit(scheme)
        assert window.program.theme.mode == "system"
        assert window.program.theme.tokens == tokens
        ground = window.main.grab().toImage().pixelColor(window.main.width() // 2, window.main.bar.height() + 4)
        assert ground.name().upper() == tokens.background
        window.wait(lambda: window.view(exchange).reply.is_settled)
    monkeypatch.setattr(Theme, "_system_wants_contrast", lambda _theme: True)
    QGuiApplication.styleHints().accessibility().contrastPreferenceChanged.emit(Qt.ContrastPreference.HighContrast)
    assert window.program.theme.tokens == LIGHT_CONTRAST
    monkeypatch.undo()
    window.main.commands.run("view.theme-light")
    assert window.program.theme.tokens == LIGHT
    window.main.commands.run("view.theme-contrast")
    assert window.program.theme.tokens in (LIGHT_CONTRAST, DARK_CONTRAST)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_long_tooltip_has_lines(open_window: OpenWindow) -> None:
    window = open_window(Script())
    for words, lines in (("word " * 100, 4), ("short", 1), ("word " * 60, 3)):
        QToolTip.showText(QPoint(20, 20), words, window.main)
        tip = next(each for each in QApplication.topLevelWidgets() if each.inherits("QTipLabel"))
        window.wait(tip.isVisible)
        assert tip.width() <= 75 * tip.fontMetrics().averageCharWidth()
        assert tip.height() >= lines * tip.fontMetrics().height()
    QToolTip.hideText()


def test_inter_where_no_desktop_has_chosen_a_font(qapp: QApplication) -> None:
    before = qapp.property("platformFont")
    try:
        own = QFontInfo(fixed_font()).family()
        for family, shown in (("DejaVu Sans", "Inter"), ("Sans Serif", "Inter"), (own, own)):
            qapp.setProperty("platformFont", None)
            qapp.setFont(QFont(family, 11))
            font = _platform_font(qapp)
            assert (QFontInfo(font).family(), font.pointSize()) == (shown, 11)
    finally:
        qapp.setProperty("platformFont", before)
        qapp.setFont(before)
    assert before.families()[0] == "Inter", "as in these tests"


@pytest.mark.qt_log_ignore("caret-", extend=True)  # Themes of other tests, one without icons, hear of it too.
def test_a_choice_of_theme_is_kept_when_the_system_changes(open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(theme="light"))
    QGuiApplication.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert window.program.theme.tokens == LIGHT


def test_the_window_comes_back_where_it_was(open_window: OpenWindow) -> None:
    place = QRect(10, 50, 760, 520)
    window = open_window(Script(), size=(760, 520))
    window.main.setGeometry(place)
    kept = SettingsFile(window.program.settings_file.path)
    window.wait(lambda: kept.load().geometry == place_of(window.main))  # before it is closed: it may be killed
    assert window.close()
    assert open_window(Script(), size=None).main.geometry() == place


def test_the_panels_come_back_as_they_were(open_window: OpenWindow) -> None:
    window = open_window(Script())
    window.main.splitter.moveSplitter(260, 1)
    width = window.main.left.width()
    assert width == pytest.approx(260, abs=6)
    kept = SettingsFile(window.program.settings_file.path)
    window.wait(lambda: kept.load().left_width == width)
    window.main.show_right(False)
    window.wait(lambda: not kept.load().right_shown)
    assert window.close()
    again = open_window(Script())
    assert again.main.left.width() == width
    assert again.main.panel.isHidden()


def test_a_maximised_window_is_maximised_again(open_window: OpenWindow) -> None:
    window = open_window(Script(), size=(760, 520))
    before = window.main.size()
    window.main.showMaximized()
    window.wait(lambda: window.main.size() != before)
    assert window.close()
    again = open_window(Script(), size=None)
    assert again.main.isMaximized()
    again.main.showNormal()
    again.wait(lambda: again.main.size() == before)


@pytest.mark.parametrize(
    "place",
    [QRect(9_000, 100, 900, 600), QRect(-5_000, -5_000, 900, 600), QRect(100, 9_000, 900, 600)],
    ids=["right", "left above", "below"],
)
def test_a_window_of_a_screen_that_is_gone_is_seen(qapp: QApplication, place: QRect) -> None:
    one, other = QMainWindow(), QMainWindow()
    one.setGeometry(place)
    restore(other, place_of(one), QSize(1280, 800))
    room = QGuiApplication.primaryScreen().availableGeometry()
    top = QRect(other.frameGeometry().topLeft(), QSize(other.width(), 24))
    assert room.intersected(top).width() >= 120, other.frameGeometry()
    assert room.contains(QPoint(other.frameGeometry().center().x(), other.frameGeometry().top()))


def test_a_window_larger_than_the_screen_fits(qapp: QApplication) -> None:
    one, other = QMainWindow(), QMainWindow()
    room = QGuiApplication.primaryScreen().availableGeometry()
    one.setGeometry(QRect(room.topLeft(), room.size() * 3))
    restore(other, place_of(one), QSize(1280, 800))
    assert room.contains(QPoint(other.frameGeometry().center().x(), other.frameGeometry().top()))
    for damaged in ("", "x", "ÿÿÿ", "AdnQywADAAAAAA=="):
        restore(other, damaged, QSize(640, 480))
        assert other.size() == QSize(640, 480).boundedTo(room.size())


def test_the_keyboard_is_in_the_prompt_after_an_edit(open_window: OpenWindow) -> None:
    window = open_window(Script(CODE))
    exchange = window.ask("Hello")
    box = window.view(exchange).question
    box.edit()
    assert box.editor is not None
    box.editor.edit.setPlainText("Hello again")
    box.editor.send_button.click()
    window.wait(lambda: not window.controller.busy)
    assert window.prompt.edit.hasFocus()


class Paints(QObject):
    """Count the paint events of some widgets."""

    def __init__(self, *roots: QWidget) -> None:
        super().__init__()
        self.count = 0
        for root in roots:
            for widget in (root, *root.findChildren(QWidget)):
                widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_hidden_panels_draw_nothing(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 200, round_s=0.005))
    window.ask("Hello")
    paints = Paints(window.main.left, window.main.panel)
    window.main.left.search.setText("x")
    window.qtbot.wait(200)
    assert paints.count, "shown panels are drawn"
    window.main.left.search.clear()
    window.main.show_left(False)
    window.main.show_right(False)
    window.qtbot.wait(200)
    drawn = window.main.panel._drawn
    paints.count = 0
    window.ask("And more")
    window.main.choose_theme("dark")
    window.qtbot.wait(200)
    assert paints.count == 0
    assert window.main.panel._drawn == drawn, "nor is it worked out what to draw"
    window.main.show_right(True)
    window.wait(lambda: paints.count)


def test_an_icon_that_is_changed_is_still_drawn(open_window: OpenWindow) -> None:
    """Qt makes a copy of what draws it then, and nobody else holds that."""
    window = open_window(Script())
    for _ in range(20):
        changed = QIcon(icon(window.program.theme, "plus"))
        changed.setIsMask(True)
        gc.collect()
        assert not changed.pixmap(QSize(18, 18)).isNull()
