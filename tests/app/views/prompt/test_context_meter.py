"""The context meter: what it counts, what it says is left out, and where the conversation shows it."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt

import engine
from app.control.context import LONG_WAIT_MS, WAIT_MS
from app.state.chat.attachments import Attachment
from app.state.chat.context_use import ContextUse, last_dropped
from app.state.chat.intents import Continue
from app.state.chat.transcript import Entry, Exchange, Notice, Problem
from app.state.compare.compare import CompareSettings
from app.words.context import context_details, context_words
from engine import ModelFileBroken
from helpers.decoding.scripted_compare import ScriptedCompare
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


def counted(window: Window) -> ContextUse:
    """What the meter shows when it has counted."""
    window.wait(lambda: window.program.context.settled and window.program.context.use is not None)
    use = window.program.context.use
    assert use is not None
    return use


def test_it_counts_the_conversation_and_what_is_typed(open_window: OpenWindow) -> None:
    script = Script("x" * 40)
    window = open_window(script)
    assert counted(window) == ContextUse(0, 4_096)
    for mode in ("light", "contrast"):
        window.program.theme.set_mode(mode)
        picture = window.main.meter.grab().toImage()
        inside = picture.pixelColor(30, picture.height() // 2)
        assert inside == window.program.theme.color("raised"), "nothing is used, and the bar is empty"
    window.program.theme.set_mode("light")
    window.type("y" * 20)
    assert counted(window) == ContextUse(5, 4_096, 5)
    assert window.main.meter.text() == "5 of 4,096 tokens"
    window.key(Qt.Key.Key_Return)
    window.ended(window.first())
    assert counted(window) == ContextUse(15, 4_096), "the question and its reply"
    window.main.new_chat_wanted.emit()
    assert counted(window) == ContextUse(0, 4_096)
    assert script.threads == {"outrider-engine"}
    assert script.counters == {"outrider-counter"}, "counting waits for no reply"


def test_while_a_reply_is_written_it_follows(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 200, round_s=0.02))
    counted(window)
    exchange = window.send("Go")
    window.wait(lambda: exchange.status == "writing")
    window.wait(lambda: counted_now(window) > 60)
    assert not window.program.context._tasks, "nothing waits behind the reply"
    window.controller.cancel()
    window.ended(exchange)


def counted_now(window: Window) -> int:
    """What the meter shows at the moment."""
    return 0 if window.program.context.use is None else window.program.context.use.used


def test_what_will_be_dropped_is_said_and_shown(open_window: OpenWindow) -> None:
    window = open_window(Script("r" * 400, context=350))
    first, second = window.ask("q" * 40), window.ask("q" * 40)
    use = counted(window)
    assert (use.used, use.dropped) == (220, 0)
    window.prompt.edit.insertPlainText("z" * 600)
    use = counted(window)
    assert (use.used, use.dropped, use.fits) == (260, 2, True)
    assert "without the oldest messages" in window.main.meter.text()
    assert "oldest 2 messages" in window.main.meter.toolTip()
    view = window.view(first)
    assert view._line is not None, "the line stands below what is not read any more"
    assert window.view(second)._line is None
    window.prompt.edit.clear()
    counted(window)
    assert view._line is None
    window.prompt.edit.insertPlainText("z" * 1_500)
    use = counted(window)
    assert not use.fits
    assert window.main.meter.text() == "too long: 375 tokens, 350 fit"


def test_each_chat_has_its_own_figures_while_another_is_answered(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 400, round_s=0.02, context=350))
    counted(window)
    long = window.send("q" * 40)
    window.wait(lambda: long.status == "writing" and counted_now(window) > 20)
    kept = window.program.conversations.open
    assert kept is not None
    window.main.new_chat_wanted.emit()
    assert window.program.context.use is None, "figures of the other chat are not left there"
    assert counted(window) == ContextUse(0, 350)
    window.type("y" * 20)
    window.wait(lambda: counted_now(window) == 5)
    assert (window.main.meter.text(), window.main.meter.isVisible()) == ("5 of 350 tokens", True)
    window.prompt.edit.insertPlainText("z" * 1_500)
    window.wait(lambda: not counted(window).fits)
    window.key(Qt.Key.Key_Return)
    assert window.main.context_notice.isVisible(), "refused now, not when the other reply has ended"
    window.controller.open(kept.id)
    window.wait(lambda: counted_now(window) >= 10 + window.controller.metrics.emitted - 2)
    window.wait(lambda: counted_now(window) > 100)
    assert not long.ended
    window.controller.cancel()
    window.ended(long)


def test_what_is_dropped_is_shown_while_another_chat_is_answered(open_window: OpenWindow) -> None:
    script = Script("r" * 400, context=350)
    window = open_window(script)
    first, _second = window.ask("q" * 40), window.ask("q" * 40)
    kept = window.program.conversations.open
    assert kept is not None
    window.main.new_chat_wanted.emit()
    script.round_s = 0.05
    other = window.send("Go on for long")
    window.wait(lambda: other.status == "writing")
    window.controller.open(kept.id)
    window.prompt.edit.insertPlainText("z" * 600)
    window.wait(lambda: counted(window).dropped == 2)
    again = window.first()
    assert again.question == first.question
    assert window.view(again)._line is not None
    assert not other.ended
    window.controller.replies.cancel(window.controller.replies.queue[0])
    window.wait(lambda: other.ended)


def test_a_reply_that_goes_on_is_counted_once(open_window: OpenWindow) -> None:
    window = open_window(Script("word " * 40, round_s=0.02))
    counted(window)
    exchange = window.send("Go")
    window.wait(lambda: len(exchange.reply) > 60)
    window.controller.cancel()
    window.ended(exchange)
    counted(window)
    window.controller.carry_out(Continue(exchange))
    most = 0
    while not exchange.ended:
        window.qtbot.wait(20)
        most = max(most, counted_now(window))
    window.ended(exchange)
    window.wait(lambda: counted_now(window) == 1 + (len(exchange.reply) + 3) // 4)
    assert most <= counted_now(window)


def test_no_target_no_meter(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(load_errors=[ModelFileBroken(tmp_path / "big.gguf", "it is cut off.")]))
    window.wait(lambda: window.program.context.settled)
    assert window.program.context.use is None
    assert window.main.meter.isHidden()


def test_much_is_counted_more_rarely(open_window: OpenWindow) -> None:
    window = open_window(Script())
    context = window.program.context
    counted(window)
    context.note_typed()
    assert context._timer.interval() == WAIT_MS
    window.program.attachments.show(None, (Attachment("long.txt", "word " * 100_000),))
    context.note_typed()
    assert context._timer.interval() == LONG_WAIT_MS, "files are text that is read too"
    context.stop()


def test_where_the_dropped_part_ends() -> None:
    answered = [Exchange(f"q{number}") for number in range(4)]
    for each in answered:
        each.add("r")
        each.status = "done"
    failed = Exchange("never answered")
    failed.fail(Problem("Oh"))
    entries: list[Entry] = [answered[0], failed, answered[1], Notice(Problem("Hm")), answered[2], answered[3]]
    assert last_dropped(entries, 0) is None
    assert last_dropped(entries, 2) is answered[0]
    assert last_dropped(entries, 4) is answered[1]
    assert last_dropped(entries, 8) is answered[3]
    assert last_dropped([], 4) is None


@pytest.mark.parametrize(
    "use", [None, ContextUse(9, 99, kept_free=6), ContextUse(9, 99, 5, 4, kept_free=6), ContextUse(150, 99, fits=False)]
)
def test_words(use: ContextUse | None) -> None:
    assert bool(context_words(use)) == bool(context_details(use)) == (use is not None)
    assert ContextUse(1, 0).fraction == 1.0
    if use is not None and use.fits:
        assert "6 tokens are kept free for the reply" in context_details(use), "why messages are left out"
        assert context_words(use).endswith("6 stay free") == bool(use.dropped)


def test_a_real_conversation_outgrows_its_context(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    """What the meter says before is what the model then reads, and the chat goes on after it is full."""
    window = open_window(pair=demo_pair)
    use = counted(window)
    filling = "a red fox and a blue bird " * (use.available // 16)
    turns: list[Any] = []
    window.controller.replies.ended.connect(turns.append)
    for turn in range(4):
        question = f"Number {turn}: {filling}"
        window.prompt.set_text(question)
        use = counted(window)
        window.key(Qt.Key.Key_Return)
        window.wait(lambda: window.last().status == "writing" or window.last().ended, 60_000)
        window.controller.cancel()
        window.ended(window.last())
        assert window.last().problem is None
        assert window.last().dropped_turns == use.dropped
        assert turns[-1].result.prompt_tokens == use.used
        assert use.kept_free == use.available // 16
        assert use.dropped == 0 or use.used <= use.available - use.kept_free
    assert window.last().dropped_turns > 0
    use = counted(window)
    dropped = last_dropped(window.controller.transcript.entries, use.dropped)
    assert isinstance(dropped, Exchange)
    assert dropped is not window.last()


def test_what_compare_measured_is_the_plain_speed(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "measure_ways", ScriptedCompare({"plain": 50.0, "auto": 70.0}))
    window = open_window(Script())
    assert window.controller.metrics.plain_speed is None
    window.program.compare.start("compare", "Why?", CompareSettings())
    window.wait(lambda: window.program.compare.runs["compare"].status == "done")
    assert window.controller.metrics.plain_speed == 50.0
