"""The window with lookahead auto: choosing it, measuring the pair, telling what it does."""

from pathlib import Path

import pytest

from app.settings.settings import Settings
from app.views.widgets.labels import FixedHeightLabel
from app.views.widgets.picker import Picker
from engine.host import cache_folder
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

LONG = "A sentence of a reply that goes on. " * 60
Pair = tuple[Path, Path]


def pick(picker: Picker, text: str) -> None:
    row = picker.findText(text)
    assert row >= 0
    picker.setCurrentIndex(row)
    picker.activated.emit(row)


def said(window: Window) -> str:
    """What the panel says of the lookahead."""
    return window.main.panel.lookahead.text()


def measuring(window: Window) -> bool:
    """True if the window says that it measures, with a button to stop it."""
    strip = window.main.strip
    return strip.isVisible() and strip.word.text() == "Measuring this pair (only once)…" and strip.button.isVisible()


def test_auto_comes_first_and_is_chosen(open_window: OpenWindow) -> None:
    script = Script()
    window = open_window(script)
    picker = window.main.bar.lookahead
    assert (picker.count(), picker.itemText(0), picker.currentText()) == (34, "Auto", "Auto")
    assert picker.fontMetrics().horizontalAdvance("Auto") < picker.width() - 40
    window.ask("One")
    pick(picker, "7")
    window.ask("Two")
    pick(picker, "Auto")
    window.ask("Three")
    assert script.lookaheads == ["auto", 7, "auto"]
    assert window.program.settings.lookahead == "auto"


def test_a_stored_number_stays(open_window: OpenWindow) -> None:
    script = Script(measure_s=5.0)
    window = open_window(script, settings=Settings(lookahead=4))
    assert window.main.bar.lookahead.currentText() == "4"
    assert said(window) == "4 ahead · fixed"
    window.ask("Hello")
    assert script.lookaheads == [4]
    assert script.measured == [], "nobody asked for it"
    assert said(window) == "4 ahead · fixed"


def test_the_panel_says_what_auto_does(open_window: OpenWindow) -> None:
    script = Script(LONG, round_s=0.01, speedups=(1.42,))
    window = open_window(script)
    panel = window.main.panel
    assert said(window) == "auto · chosen by measurement"
    assert "highest speed" in panel.lookahead.toolTip()
    height, below = panel.lookahead.height(), panel.rate_figure.y()
    exchange = window.send("Hello")
    window.wait(lambda: said(window) == "4 ahead · about 1.4× faster expected")
    assert not exchange.ended, "while it is written"
    window.main.cancel_wanted.emit()
    window.ended(exchange)
    assert said(window) == "4 ahead · about 1.4× faster expected", "and after"
    script.speedups = (1.0,)
    script.reply = LONG[:400]
    window.ask("And now?")
    window.wait(lambda: said(window) == "plain · this draft does not pay here")
    pick(window.main.bar.lookahead, "9")
    window.wait(lambda: said(window) == "9 ahead · fixed")
    assert (panel.lookahead.height(), panel.rate_figure.y()) == (height, below), "nothing moves"


def test_a_pair_is_measured_before_anybody_asks(open_window: OpenWindow) -> None:
    script = Script(measure_s=0.6)
    window = open_window(script, ready=False)
    window.wait(lambda: measuring(window))
    window.ready()
    assert script.measured == ["done"]
    window.ask("Hello")
    assert script.measured == ["done"], "once"
    assert script.threads == {"outrider-engine"}


def test_a_question_does_not_wait_for_a_measurement(open_window: OpenWindow) -> None:
    script = Script(measure_s=1.5)
    window = open_window(script, ready=False)
    window.wait(lambda: measuring(window))
    window.ask("Hello")
    # Again by the chat's cache, which is kept first, where it had begun anew by then.
    assert script.measured in (["cancelled"], ["cancelled"] * 2)
    window.ready()
    assert script.measured.pop() == "done", "it is made up for"
    assert set(script.measured) == {"cancelled"}


def test_a_measurement_can_be_cancelled(open_window: OpenWindow) -> None:
    script = Script(measure_s=20.0)
    window = open_window(script, ready=False)
    window.wait(lambda: measuring(window))
    window.click(window.main.strip.button)
    window.ready()
    assert script.measured == ["cancelled"]
    assert window.ask("Hello").status == "done"
    assert script.measured == ["cancelled"], "nor does the reply measure then"


def test_another_choice_ends_a_measurement(open_window: OpenWindow) -> None:
    script = Script(measure_s=20.0)
    window = open_window(script, ready=False)
    window.wait(lambda: measuring(window))
    script.measure_s = 0.0  # The other choice is measured in no time.
    window.models.choose_draft(None)
    window.wait(lambda: script.measured[:1] == ["cancelled"])
    window.wait(lambda: not measuring(window))


def test_what_compare_measures_leaves_no_word_behind(open_window: OpenWindow) -> None:
    """The engine ends it on its own thread, when nothing else is to be told."""
    window = open_window(Script())
    bridge, replies = window.program.bridge, window.controller.replies

    def work() -> str:
        return replies.activity.work

    bridge.measuring = bridge.comparing = True
    replies._wake()
    assert work() == "idle", "its own window says so"
    bridge.comparing = False
    replies._wake()
    replies._tick()
    assert work() == "measuring"
    bridge.measuring = False
    window.wait(lambda: work() == "idle")
    window.wait(lambda: not replies._timer.isActive())


def test_a_new_pair_is_measured_behind_its_first_reply(open_window: OpenWindow) -> None:
    script = Script(measure_s=20.0)
    window = open_window(script, settings=Settings(lookahead=4))
    window.models.list.choose(lookahead="auto")
    exchange = window.ask("Hello")
    assert (exchange.status, script.measured) == ("done", [])
    window.wait(lambda: measuring(window))
    window.click(window.main.strip.button)
    window.ready()
    assert script.measured == ["cancelled"]
    assert window.ask("Hello again").status == "done"


def test_a_label_has_room_for_the_longest_text(open_window: OpenWindow) -> None:
    window = open_window(Script())
    label = window.main.panel.lookahead
    window.main.panel.setFixedWidth(240)
    window.wait(lambda: label.width() < 220)
    for text in ("short", "plain · this draft does not pay here"):
        label.setText(text)
        assert label.height() == label.room_for(label.width())
    narrow = FixedHeightLabel(["a few words", "some more words than that"])
    assert narrow.room_for(60) > narrow.room_for(600) >= narrow.fontMetrics().height()


def test_the_bundled_pair_is_measured_once_for_all_time(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair)
    assert window.notices() == []
    remembered = list((cache_folder() / "costs").glob("*.json"))
    assert len(remembered) == 1
    exchange = window.ask("Tell me a story about a shy dragon.", 60_000)
    assert exchange.status == "done"
    note = window.controller.metrics.lookahead
    assert note.kind in ("drafting", "trying", "plain")
    window.wait(lambda: said(window) != "auto · chosen by measurement")
    pick(window.main.bar.lookahead, "3")
    fixed = window.ask("Tell me a story about a shy dragon.", 60_000)
    assert window.stats(fixed).proposed > 0
    assert said(window) == "3 ahead · fixed"
    assert window.close()
    written = remembered[0].stat().st_mtime_ns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.lookahead.knowledge.calibrate", lambda *_, **__: pytest.fail("measured again"))
        again = open_window(pair=demo_pair, settings=Settings())
    assert again.notices() == []
    assert remembered[0].stat().st_mtime_ns == written
