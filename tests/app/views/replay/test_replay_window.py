"""Replay in the window: a reply of the demo pair played again, by mouse, keyboard and screen reader."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.state.chat.trace import TokenTrace
from app.state.replay.timeline import PACES, Replay
from app.views.replay.dialog import ReplayDialog
from app.views.replay.player import ReplayPlayer
from app.views.widgets.theme import Theme
from app.words.replay import round_words
from engine import RoundEvent, TokenEvent
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]


def opened(window: Window) -> ReplayPlayer:
    dialog = next(each for each in window.main.findChildren(ReplayDialog) if each.isVisible())
    return dialog.player


def test_a_reply_of_the_demo_pair(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    exchange = window.ask("Tell me a story about a dragon.")
    stats = window.stats(exchange)
    window.view(exchange).reply_actions.button("replay").click()
    player = opened(window)
    replay = player._replay
    assert replay is not None
    assert player.playing, "it plays at once"
    assert "".join(replay.texts) == exchange.reply
    assert len(replay) == stats.rounds
    assert sum(each.kept for each in replay.rounds) == stats.accepted
    assert sum(len(each.rejected) for each in replay.rounds) == stats.rejected > 0
    assert all(guess.text for each in replay.rounds for guess in each.rejected)
    window.wait(lambda: player.index >= 1)
    QTest.keyClick(player, Qt.Key.Key_Space)
    assert not player.playing
    QTest.keyClick(player, Qt.Key.Key_End)
    assert player.index == len(replay) - 1
    QTest.keyClick(player, Qt.Key.Key_Home)
    struck = next(index for index, each in enumerate(replay.rounds) if each.rejected and each.kept)
    for _ in range(struck):
        QTest.keyClick(player, Qt.Key.Key_Right)
    assert player.index == struck == player.slider.value() - 1
    words, round_ = player.sentence.text(), replay.rounds[struck]
    assert words.startswith(f"draft guessed {round_.guessed} · {round_.kept} kept · target wrote “")
    assert f"ms for {round_.end - round_.start} tokens" in words
    heard = QAccessible.queryAccessibleInterface(player.sentence)
    assert heard.text(QAccessible.Text.Name) == words
    player.slider.setValue(3)
    assert player.index == 2
    assert player.place.text() == f"round 3 of {len(replay)}"


@pytest.fixture
def player(qapp: QApplication, qtbot: QtBot) -> ReplayPlayer:
    made = ReplayPlayer(Theme(qapp, "", settings=Settings(theme="light")))
    qtbot.addWidget(made)
    made.resize(500, 300)
    with qtbot.waitExposed(made):
        made.show()
    return made


def made_up(*, rounds: bool = True) -> TokenTrace:
    """Two rounds: a guess that is struck, and one that is kept over a line's end."""
    trace = TokenTrace()
    for text, origin, number in (("Water", "correction", 1), (" for\nall", "accepted", 2), (" 👩‍🚀", "bonus", 2)):
        trace.add(TokenEvent(1, text, origin, number, 0, -0.1))  # type: ignore[arg-type]
        if rounds and text != " for\nall":
            event = RoundEvent(number, "draft-model", 1, 1, number - 1, 1.0, 2.0, None, ((9, -0.9),) * (2 - number))
            trace.add_round(event, {9: "Lemonade"})
    return trace


def ink(player: ReplayPlayer, seconds: float) -> QImage:
    """What is painted at a moment of the first round."""
    player._seconds = seconds
    player.index = 0
    player._show()
    return player.text.viewport().grab().toImage()


def test_each_moment_looks_different(player: ReplayPlayer) -> None:
    replay = Replay(made_up())
    player.show_replay(replay)
    _, judge, strike, drop, end = replay._times(0, 1.0)
    pictures = [ink(player, at) for at in (0.0, (strike + drop) / 2, drop + 0.1, end)]
    assert judge > 0
    assert len({bytes(picture.constBits()) for picture in pictures}) == 4
    assert not player.note.isVisible()


def test_a_screen_reader_hears_each_round(player: ReplayPlayer, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(QAccessible, "updateAccessibility", lambda event: said.append(event.message()))
    player.show_replay(Replay(made_up()))
    controls = (player.back, player.play, player.on, player.slider, *player.paces, player.text)
    assert all(QAccessible.queryAccessibleInterface(each).text(QAccessible.Text.Name) for each in controls)
    QTest.keyClick(player, Qt.Key.Key_Right)
    QTest.keyClick(player.slider, Qt.Key.Key_Left)
    assert player.index == 0
    assert said == [round_words(player._replay, index) for index in (1, 0)]  # type: ignore[arg-type]
    player.slider.setSliderDown(True)
    player.slider.setValue(2)
    assert len(said) == 2, "not at each round that a hand drags past"
    player.slider.setSliderDown(False)
    assert said[-1] == player.sentence.text() == round_words(player._replay, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("room", [40, 70, 85, 120, 300])
def test_the_line_of_writing_is_seen(player: ReplayPlayer, room: int) -> None:
    trace = TokenTrace()
    for index in range(120):
        trace.add(TokenEvent(1, " dragon", "correction", index, index, -0.1))
    player.text.setFixedHeight(room)
    player.resize(300, player.minimumSizeHint().height())
    QApplication.processEvents()
    player.show_replay(Replay(trace))
    layout = player.text._layout
    assert layout is not None
    assert layout.height > 400
    for index in [*range(120), *reversed(range(120))]:
        player.step(index - player.index)
        place = layout.place_of(layout.starts[index + 1]).translated(0, 4 - player.text.verticalScrollBar().value())
        assert place.top() >= 0, index
        assert place.bottom() <= room, index


def test_the_text_is_laid_out_when_it_is_seen(qapp: QApplication, qtbot: QtBot) -> None:
    dialog = ReplayDialog(Replay(made_up()), Theme(qapp, "", settings=Settings(theme="light")))
    qtbot.addWidget(dialog)
    assert dialog.player.text._layout is None
    dialog.begin()
    qtbot.waitUntil(lambda: dialog.player.text._layout is not None, timeout=30_000)


def test_a_record_from_before_says_so(player: ReplayPlayer) -> None:
    player.show_replay(Replay(made_up(rounds=False)))
    assert player.note.isVisible()
    player.step(1)
    assert player.sentence.text() == "1 kept · target wrote “👩‍🚀”"


def test_the_paces(player: ReplayPlayer, qtbot: QtBot) -> None:
    player.show_replay(Replay(made_up()))
    assert [button.text() for button in player.paces] == ["0.25×", "1×", "4×", "real time"]
    QTest.keyClick(player, Qt.Key.Key_Plus)
    assert player.pace == 4.0
    player.paces[3].click()
    assert PACES.index(player.pace) == 3
    with qtbot.waitSignal(player.ended):
        player.start()
    assert not player.playing
    player.start()
    assert player.index == 0, "from the beginning again"


def test_a_reply_without_a_record_cannot_be_played(open_window: OpenWindow) -> None:
    window = open_window()
    exchange = window.ask("One")
    exchange.trace = None
    exchange.reply_id = None
    window.view(exchange).reply_actions.button("replay").click()
    assert "cannot be replayed" in window.main.notice.text.text()
