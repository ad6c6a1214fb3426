"""Compare in the window: what is asked of the engine, what is shown, cancelled, copied."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

import engine
from app.state.compare.compare import CompareRequest, CompareRun, CompareSettings
from app.state.models.selection import Loaded
from app.views.compare.compare import CompareDialog
from app.views.compare.dialog import RunDialog
from app.views.compare.sweep import SweepDialog
from app.words.compare import best_words
from engine import EngineError, Equality, SamplingConfig, host
from helpers.decoding.scripted_compare import ScriptedCompare, report, way
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch) -> ScriptedCompare:
    """What stands in for the engine's measurement."""
    scripted = ScriptedCompare({"plain": 50.0, "4": 68.5, "5": 90.0, "auto": 70.0})
    monkeypatch.setattr(engine, "measure_ways", scripted)
    return scripted


def _compare(window: Window) -> CompareDialog:
    window.main.commands.run("proof.compare")
    return next(each for each in window.main.findChildren(CompareDialog) if each.isVisible())


def _begun(window: Window, prompt: str = "Hello") -> CompareDialog:
    """The dialog, in which a prompt was typed and Start was pressed."""
    dialog = _compare(window)
    dialog.prompt.setPlainText(prompt)
    window.click(dialog.start)
    return dialog


def _sweep(window: Window) -> SweepDialog:
    window.main.commands.run("proof.sweep")
    return next(each for each in window.main.findChildren(SweepDialog) if each.isVisible())


def _run(window: Window, kind: str) -> CompareRun:
    return window.program.compare.runs[kind]  # type: ignore[index]


def _until_over(window: Window, kind: str, timeout: int = 60_000) -> CompareRun:
    window.wait(lambda: _run(window, kind).status != "idle" and not _run(window, kind).running, timeout)
    return _run(window, kind)


def _keys(window: Window, code: Qt.Key) -> None:
    window.key(code, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)


def test_compare_measures_what_is_chosen(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    window = open_window(Script())
    window.models.choose_lookahead(4)
    window.ask("Why is the sky blue?")
    dialog = _compare(window)
    assert dialog.prompt.toPlainText() == "Why is the sky blue?"
    assert "lookahead 4" in dialog.pair.text()
    assert not dialog.copy_button.isEnabled()
    assert dialog.outcome_part.isHidden(), "there are no dashes before there are figures"
    decoder = window.program.bridge._decoder
    decoder.corpus = texts = object()  # type: ignore[assignment]
    window.click(dialog.start)
    assert _until_over(window, "compare").status == "done"
    assert dialog.outcome_part.isVisible()
    asked = proof.asked[0]
    assert (asked["corpus"], decoder.corpus) == (None, texts), "the reply may stand in the user's own texts"
    assert (asked["prompts"], asked["ways"]) == (["Why is the sky blue?"], (4,))
    assert (asked["repeats"], asked["max_tokens"], asked["sampling"].temperature) == (5, 96, 0.0)
    assert dialog.speeds.plain.figure.text() == "50 tok/s"
    assert dialog.speeds.speculative.figure.text() == "68 tok/s"
    assert dialog.speeds.speculative.name.text() == "Speculative, lookahead 4"
    assert dialog.speedup.text() == "1.37×"
    assert "the speed of plain decoding" in dialog.outcome.text()
    assert dialog.verdict.text() == "✓ identical, 96 of 96 tokens"
    assert dialog.start.text() == "Start"
    window.click(dialog.copy_button)
    text = QGuiApplication.clipboard().text()
    for part in ("target big (8.2M", "K = 4", "68.5", "1.37", "identical, 96 of 96", "A processor", "sky blue"):
        assert part in text


def test_auto_is_compared_where_the_picker_is_plain(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    window = open_window(Script())
    window.models.choose_lookahead(0)
    dialog = _compare(window)
    assert "lookahead auto" in dialog.pair.text()
    assert not dialog.start.isEnabled(), "there is no prompt yet"
    dialog.prompt.setPlainText("Hello")
    dialog.sampling.setCurrentIndex(1)
    window.click(dialog.start)
    _until_over(window, "compare")
    assert proof.asked[0]["ways"] == ("auto",)
    assert proof.asked[0]["sampling"].temperature == 0.7


def test_keys_open_the_dialogs_and_they_do_not_block(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    window = open_window(Script())
    _keys(window, Qt.Key.Key_C)
    _keys(window, Qt.Key.Key_L)
    window.wait(lambda: set(_dialogs(window)) == {"compare", "sweep"})
    assert not any(dialog.isModal() for dialog in _dialogs(window).values())
    assert window.ask("Hi").reply == "All right."


def _dialogs(window: Window) -> dict[str, RunDialog]:
    found: list[RunDialog] = [*window.main.findChildren(CompareDialog), *window.main.findChildren(SweepDialog)]
    return {dialog.kind: dialog for dialog in found if dialog.isVisible()}


def test_cancel_keeps_what_was_measured(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    proof.step_s = 0.05
    window = open_window(Script())
    dialog = _begun(window)
    window.wait(lambda: dialog.speeds.plain.bar.speed is not None)
    assert dialog.start.text() == "Cancel"
    assert "Measuring" in dialog.word.text()
    assert not dialog.prompt.isEnabled()
    window.click(dialog.start)
    run = _until_over(window, "compare")
    assert run.status == "cancelled"
    assert run.report is not None
    assert run.report.partial
    assert "Cancelled. Partial figures" in dialog.word.text()
    assert dialog.copy_button.isEnabled()


def test_closing_the_dialog_cancels_and_the_chat_goes_on(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    proof.step_s, proof.steps = 0.05, 1_000
    window = open_window(Script())
    dialog = _begun(window)
    window.wait(lambda: _run(window, "compare").status == "measuring")
    dialog.close()
    assert _until_over(window, "compare", 2_000).status == "cancelled"
    assert window.ask("Hi").reply == "All right."


def test_a_question_waits_and_can_be_cancelled_while_it_does(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    proof.step_s, proof.steps = 0.05, 1_000
    window = open_window(Script())
    dialog = _begun(window)
    window.wait(lambda: _run(window, "compare").status == "measuring")
    exchange = window.send("Hi")
    window.wait(lambda: window.controller.activity.work == "proving")
    window.controller.cancel()
    window.wait(lambda: exchange.status == "cancelled")
    assert _run(window, "compare").running
    waiting = window.send("Once more")
    window.wait(lambda: window.controller.activity.work == "proving")
    window.click(dialog.start)
    window.ended(waiting)
    assert waiting.reply == "All right."


def test_it_waits_for_a_reply_that_is_being_written(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    window = open_window(Script(reply="word " * 20, round_s=0.05))
    exchange = window.send("Hi")
    window.wait(lambda: exchange.status == "writing")
    dialog = _compare(window)
    assert dialog.prompt.toPlainText() == "Hi"
    window.click(dialog.start)
    window.wait(lambda: "Waiting" in dialog.word.text())
    dialog.start.click()
    assert _until_over(window, "compare", 2_000).status == "cancelled"
    assert dialog.word.text() == "Cancelled before anything was measured."
    assert exchange.status == "writing"
    window.click(dialog.start)
    assert _until_over(window, "compare").status == "done"
    assert exchange.ended


@pytest.mark.parametrize("error", [EngineError("The model has left."), RuntimeError("x")])
def test_errors_are_told_in_the_dialog(
    open_window: OpenWindow, proof: ScriptedCompare, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    proof.errors = [error]
    window = open_window(Script())
    dialog = _begun(window)
    assert _until_over(window, "compare").status == "failed"
    assert dialog.problem.isVisible()
    assert "Traceback" not in dialog.problem.text()
    assert ("The model has left." if isinstance(error, EngineError) else "An unexpected error") in dialog.problem.text()
    window.click(dialog.start)
    assert _until_over(window, "compare").status == "done"
    assert not dialog.problem.isVisible()
    caplog.clear()


def test_it_says_that_the_models_are_loaded(open_window: OpenWindow, proof: ScriptedCompare, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    script.load_s = 0.5
    window.models.choose_target(tmp_path / "other.gguf")
    dialog = _begun(window)
    window.wait(lambda: dialog.word.text() == "Loading the models")
    _until_over(window, "compare")


def test_it_says_that_the_window_asks(
    open_window: OpenWindow, proof: ScriptedCompare, demo_pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(pair=demo_pair)
    window.models.unload()
    window.wait(lambda: window.models.settled)
    monkeypatch.setattr(host, "available_memory", lambda: 1_000_000)
    dialog = _begun(window)
    window.wait(lambda: dialog.word.text() == "Confirm in the main window that the models may be loaded")
    window.models.decline_load()
    assert _until_over(window, "compare").status == "cancelled"


def test_sweep_sets_the_picker_to_the_best(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    window = open_window(Script())
    dialog = _sweep(window)
    dialog.prompt.setPlainText("Hello")
    assert (dialog.use.text(), dialog.use.isEnabled()) == ("Use the best lookahead", False)
    window.click(dialog.start)
    assert _until_over(window, "sweep").status == "done"
    assert proof.asked[0]["ways"] == (*range(1, 17), "auto")
    assert dialog.best.text() == "Fastest lookahead: 5"
    assert dialog.use.text() == "Use lookahead 5"
    window.click(dialog.use)
    assert window.models.list.selection.lookahead == 5
    assert window.main.bar.lookahead.currentText() == "5"
    assert "lookahead sweep" in dialog.as_text()


def test_sweep_is_drawn_while_it_is_measured_and_cancel_keeps_it(
    open_window: OpenWindow, proof: ScriptedCompare
) -> None:
    proof.step_s, proof.steps = 0.05, 60
    window = open_window(Script())
    dialog = _sweep(window)
    dialog.prompt.setPlainText("Hello")
    window.click(dialog.start)
    window.wait(lambda: len(dialog.plot._points.data) >= 3)
    assert not dialog.use.isEnabled()
    window.click(dialog.start)
    assert _until_over(window, "sweep").status == "cancelled"
    assert 3 <= len(dialog.plot._points.data) < 17
    assert dialog.use.isEnabled()


def test_esc_stops_what_runs_and_then_closes(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    proof.step_s, proof.steps = 0.05, 1_000
    window = open_window(Script())
    dialog = _sweep(window)
    dialog.prompt.setPlainText("Hello")
    window.click(dialog.start)
    window.wait(lambda: _run(window, "sweep").status == "measuring")
    window.qtbot.keyClick(dialog, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert _until_over(window, "sweep").status == "cancelled"
    assert dialog.isVisible()
    window.qtbot.keyClick(dialog, Qt.Key.Key_Escape)  # type: ignore[no-untyped-call]
    assert not dialog.isVisible()


def test_sweep_needs_a_draft(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    window = open_window(Script())
    dialog = _sweep(window)
    dialog.prompt.setPlainText("Hello")
    assert dialog.start.isEnabled()
    window.models.choose_draft(None)
    window.wait(lambda: not dialog.start.isEnabled())
    assert "no draft" in dialog.pair.text()


def test_closing_the_window_ends_a_sweep(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    proof.step_s, proof.steps = 0.05, 10_000
    window = open_window(Script())
    dialog = _sweep(window)
    dialog.prompt.setPlainText("Hello")
    window.click(dialog.start)
    window.wait(lambda: _run(window, "sweep").status == "measuring")
    window.main.close()
    assert not dialog.isVisible()


def test_real_pair(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    window = open_window(pair=demo_pair)
    window.models.choose_lookahead(3)
    dialog = _compare(window)
    dialog.prompt.setPlainText("Tell me a story about a shy dragon.")
    dialog.repeats.setCurrentIndex(1)
    dialog.tokens.setCurrentIndex(0)
    window.click(dialog.start)
    run = _until_over(window, "compare")
    assert run.problem == ""
    assert run.status == "done"
    assert run.report is not None
    assert [(way.name, way.replies, way.tokens) for way in run.report.ways] == [("plain", 3, (24,)), ("3", 3, (24,))]
    assert dialog.verdict.text() == "✓ identical, 24 of 24 tokens"
    speculative = run.report.ways[1]
    assert speculative.speedup is not None
    assert dialog.speedup.text() == f"{speculative.speedup.median:.2f}×"


def test_real_sweep(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    window = open_window(pair=demo_pair)
    dialog = _sweep(window)
    dialog.prompt.setPlainText("Tell me a story about a shy dragon.")
    dialog.repeats.setCurrentIndex(0)
    dialog.tokens.setCurrentIndex(0)
    window.click(dialog.start)
    run = _until_over(window, "sweep")
    assert run.status == "done"
    assert len(dialog.plot._points.data) == 17
    assert run.report is not None
    assert all(each.verdict in ("same", "near tie") for way in run.report.ways for each in way.equality)
    assert dialog.doubts.isVisible(), "one turn is no more than a first look"


def test_a_prompt_that_does_not_fit(open_window: OpenWindow, story_pair: Callable[..., tuple[Path, Path]]) -> None:
    window = open_window(pair=story_pair)
    dialog = _begun(window, "Once upon a time " * 2_000)
    assert _until_over(window, "compare").status == "failed"
    assert "cannot answer this prompt" in dialog.problem.text()


@pytest.mark.parametrize(
    ("equality", "temperature", "says", "explains"),
    [
        (Equality("near tie", 40, 96, 0.0004), 0.0, "up to a tie after 40 of 96 tokens", "round the last bits"),
        (Equality("different", 60, 96, 0.4), 0.0, "DIFFERENT after 60 of 96 tokens", ""),
        (Equality("not examined", 7, 96), 0.0, "The outputs differ after 7 of 96 tokens", ""),
        (None, 0.7, "✓ same distribution", "target's own distribution"),
    ],
)
def test_outputs_that_are_not_identical_are_explained(
    open_window: OpenWindow, equality: Equality | None, temperature: float, says: str, explains: str
) -> None:
    window = open_window(Script())
    dialog = _compare(window)
    run = CompareRun()
    run.begin(CompareRequest("Why?", (4,), Loaded(), CompareSettings(temperature=temperature)))
    equalities = () if equality is None else (equality,)
    ways = way("plain", 50.0), way("4", 60.0, 1.2, equality=equalities)
    run.finish(report(*ways, sampling=SamplingConfig(temperature=temperature), other_programs=0.4))
    dialog.show_run(run)
    assert says in dialog.verdict.text()
    assert explains in dialog.verdict_help.text()
    assert dialog.verdict_help.isVisible() == bool(explains)
    assert "Other programs used 40 %" in dialog.doubts.text()


def test_the_prompt_follows_the_chat_until_a_person_writes_one(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    window = open_window(Script())
    window.ask("One?")
    dialog = _compare(window)
    dialog.close()
    window.ask("Two?")
    assert _compare(window).prompt.toPlainText() == "Two?"
    dialog.prompt.setPlainText("My own")
    dialog.close()
    window.ask("Three?")
    assert _compare(window) is dialog
    assert dialog.prompt.toPlainText() == "My own"


def test_the_theme_changes_while_they_are_open(open_window: OpenWindow, proof: ScriptedCompare) -> None:
    window = open_window(Script())
    compare, sweep = _compare(window), _sweep(window)
    sweep.prompt.setPlainText("Hello")
    window.click(sweep.start)
    _until_over(window, "sweep")
    for mode in ("dark", "light"):
        window.program.theme.set_mode(mode)
        background = window.program.theme.color("background").rgb()
        for dialog in (compare, sweep):
            assert dialog.grab().toImage().pixelColor(3, 3).rgb() == background
        assert sweep.plot.backgroundBrush().color().rgb() == background


@pytest.mark.parametrize(
    ("others", "said"),
    [([5], "5"), ([2, 3], "2, 3"), ([0, 2, 3, 5, 6, 7, 8, 16], "0, 2, 3, 5–8, 16"), (list(range(16)), "0–15")],
)
def test_many_that_are_as_good_are_said_in_ranges(others: list[int], said: str) -> None:
    assert (
        best_words(4, others)
        == f"Lookahead 4 has the highest median speedup, but its lead over {said} is within the spread"
    )
