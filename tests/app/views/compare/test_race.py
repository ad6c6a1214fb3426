"""A race in the window: both ways write the text, side by side, and it can be given away as a picture."""

import itertools
import math
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.settings.settings import Settings
from app.shell import compare_windows
from app.state.compare.animation import HOLD_MS, Frame, encode
from app.state.compare.race import Race, RaceMark
from app.views.compare.compare import CompareDialog
from app.views.compare.race import RaceField, RaceView, _head
from app.views.widgets.theme import Theme
from app.words.compare import race_words
from helpers.window.app_window import OpenWindow

Pair = tuple[Path, Path]


def raced(other: str = "abcdef") -> Race:
    """Plain writes six letters in 1.2 s, the other three at a time in 0.6 s."""
    race = Race()
    for number, letter in enumerate("abcdef", 1):
        race.take(RaceMark(0, 0.2 * number, letter, number))
    for number, letter in enumerate(other, 1):
        race.take(RaceMark(1, 0.3 * (1 + (number - 1) // 3), letter, number))
    assert not race.over
    assert race.speedup is None
    race.take(RaceMark(0, 1.2, "", 6, over=True))
    race.take(RaceMark(1, 0.6, "", 6, over=True))
    return race


def test_what_a_race_shows_at_each_moment() -> None:
    race = raced()
    plain, other = race.lanes
    assert [plain.text(at) for at in (0.0, 0.25, 0.65, 9.0)] == ["", "a", "abc", "abcdef"]
    assert [other.text(at) for at in (0.0, 0.31, 0.6)] == ["", "abc", "abcdef"]
    assert (other.clock(0.9), plain.clock(0.9), race.seconds) == (0.6, 0.9, 1.2)
    assert race.identical
    assert race.speedup == pytest.approx(2.0)
    moments = race.moments()
    assert moments[0] == 0.0
    assert moments[-1] == 1.2
    assert all(later - earlier >= 0.066 for earlier, later in itertools.pairwise(moments))
    assert not raced("abcdeX").identical


def test_texts_that_differ_are_compared_by_speed() -> None:
    race = raced()
    assert race.faster == 1
    sampled = Race()
    sampled.take(RaceMark(0, 1.3, "short", 13, over=True))
    sampled.take(RaceMark(1, 2.0, "a longer text", 40, over=True))
    assert sampled.faster == 1, "though its clock shows more"
    assert race_words(sampled, sampled=True) == (
        "sampled, so the texts differ · by speed: 10 tok/s and 20 tok/s · 2.0×"
    )
    assert "by speed" not in race_words(race, sampled=True)


def frames_of(picture: Image.Image) -> int:
    """How many pictures an animation has."""
    return int(getattr(picture, "n_frames", 1))


def test_of_a_long_text_whole_lines_are_seen(qapp: QApplication, qtbot: QtBot) -> None:
    """No tails of the letters above the first one."""
    field = RaceField(Theme(qapp, "", "", Settings(theme="light")))
    qtbot.addWidget(field)
    field.resize(field.sizeHint())
    for size in (9.0, 10.0, 11.0, 13.0):
        font = QFont(field.font())
        font.setPointSizeF(size)
        field.setFont(font)
        field.resize(field.sizeHint())
        field.race = Race()
        field.race.take(RaceMark(0, 1.0, "gpqy " * 400, 400, over=True))
        picture, metrics = field.grab().toImage(), QFontMetricsF(font)
        top = math.ceil(12.5 + _head(metrics))
        free = range(top - 2, top + math.floor(metrics.ascent() - metrics.xHeight()) - 2)
        ground = picture.pixelColor(8, field.height() // 2)
        inked = [y for y in free if any(picture.pixelColor(x, y) != ground for x in range(10, 250))]
        assert not inked


@pytest.mark.parametrize("kind", ["webp", "gif"])
def test_an_animation_has_its_frames_at_real_times(kind: str) -> None:
    shades = [bytes([shade] * 3 * 64) for shade in (0, 120, 250)]
    frames = [Frame(shades[0], 200), Frame(shades[1], 700), Frame(shades[2], HOLD_MS)]
    made = Image.open(BytesIO(encode(frames, (8, 8), kind)))  # type: ignore[arg-type]
    assert frames_of(made) == 3
    shown = []
    for place in range(3):
        made.seek(place)
        made.load()
        shown.append(made.info["duration"])
    assert shown == [200, 700, HOLD_MS]


def test_an_animation_that_is_too_large_loses_every_second_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [Frame(bytes([10 * number] * 3 * 64), 100) for number in range(6)]
    whole = len(encode(frames, (8, 8), "gif"))
    monkeypatch.setattr("app.state.compare.animation.LARGEST", whole - 1)
    fewer = Image.open(BytesIO(encode(frames, (8, 8), "gif")))
    assert 2 <= frames_of(fewer) < 6
    total = 0
    for place in range(frames_of(fewer)):
        fewer.seek(place)
        total += fewer.info["duration"]
    assert total == 600, "it takes as long as before"


def _names(view: RaceView, path: Path) -> bool:
    return path.name in view.result.text()


def _give(path: Path, *_asked: object) -> Path:
    return path


def test_the_demo_pair_races(
    open_window: OpenWindow, demo_pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(pair=demo_pair)
    window.main.commands.run("proof.compare")
    dialog = next(each for each in window.main.findChildren(CompareDialog) if each.isVisible())
    dialog.prompt.setPlainText("Tell me a story about a dragon.")
    dialog.repeats.setCurrentIndex(0)
    window.click(dialog.start)
    run = window.program.compare.runs["compare"]
    window.wait(lambda: run.status == "done", 60_000)
    race = run.race
    assert race is not None
    assert race.over
    assert race.identical
    assert race.speedup is not None
    assert race.lanes[0].tokens == race.lanes[1].tokens == run.request.settings.tokens  # type: ignore[union-attr]
    view = dialog.race
    window.wait(lambda: bool(view.outcome.text()))
    assert view.outcome.text().startswith("identical · ")
    view.again.click()
    window.wait(lambda: bool(view.outcome.text()))
    for kind, button in (("png", view.picture), ("webp", view.animation), ("gif", view.animation)):
        path = tmp_path / f"race.{kind}"
        monkeypatch.setattr(compare_windows, "ask_where_to_put_picture", partial(_give, path))
        window.click(button)
        window.wait(partial(_names, view, path), 60_000)
        window.wait(button.isEnabled)
        assert view.result.text() == f"Saved as {path.name}"
        with Image.open(path) as picture:
            assert picture.size == view.field.picture_size
            assert kind == "png" or frames_of(picture) >= 2
        assert path.stat().st_size <= 10_000_000
    nowhere = tmp_path / "none" / "race.webp"
    monkeypatch.setattr(compare_windows, "ask_where_to_put_picture", lambda *_: nowhere)
    window.click(view.animation)
    window.wait(lambda: "was not saved" in view.result.text(), 60_000)
