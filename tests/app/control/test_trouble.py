"""What goes wrong is a message in the window; cancelling and closing always work."""

import asyncio
import gc
from pathlib import Path
from time import perf_counter

import pytest
from PySide6.QtGui import QGuiApplication

import app.shell.bootstrap
from app.bridge.job import Job
from app.settings.settings import Settings
from app.system.resources import ResourceDamaged
from app.views.window.error_dialog import ErrorDialog
from engine import Cancelled, ContextFull, ModelFileBroken, VocabularyMismatch
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

LONG = "A sentence of a reply that goes on. " * 100


def test_an_error_is_a_message_and_the_chat_goes_on(open_window: OpenWindow) -> None:
    window = open_window(Script(reply_errors=[ContextFull(5000, 4096)]))
    exchange = window.ask("Far too long")
    assert exchange.status == "failed"
    problem = window.problem(exchange)
    assert "5000 tokens" in window.said(exchange)
    assert problem.problem.details is None, "our own errors say it all"
    assert QGuiApplication.modalWindow() is None
    assert window.ask("Shorter").reply == "All right."
    wanted: list[bool] = []
    window.main.context_wanted.connect(lambda: wanted.append(True))
    window.press("Longer context…", problem)
    assert wanted, "a new chat would not help"
    assert len(window.controller.transcript) == 2


@pytest.mark.logs("builtins.RuntimeError")
def test_an_unexpected_error_offers_details(open_window: OpenWindow) -> None:
    window = open_window(Script(reply_errors=[RuntimeError("boom")]))
    exchange = window.ask("Break")
    problem = window.problem(exchange)
    assert "Traceback" not in problem.text.toPlainText()
    window.press("Details…", problem)
    dialog = window.main.findChild(ErrorDialog)
    assert dialog is not None
    dialog.copy_button.click()
    copied = QGuiApplication.clipboard().text()
    assert "builtins.RuntimeError" in copied
    assert "Outrider" in copied
    dialog.close()
    assert window.ask("Again").status == "done"


def test_an_error_in_the_middle_keeps_what_was_written(open_window: OpenWindow) -> None:
    window = open_window(Script(LONG, late_errors=[ContextFull(1, 1)]))
    exchange = window.ask("Break off")
    assert exchange.status == "failed"
    assert LONG.startswith(exchange.reply)
    assert exchange.reply
    assert window.problem(exchange) is not None


def test_after_a_failed_load_the_pickers_tell_what_is_loaded(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    good = window.models.list.loaded
    script.load_errors.append(ModelFileBroken(tmp_path / "bad.gguf", "it is cut off."))
    window.models.choose_target(tmp_path / "bad.gguf")
    assert window.main.bar.target.currentText() == "bad"
    window.wait(window.notices)
    assert window.notices() == ["Cannot load bad.gguf: it is cut off."]
    assert window.models.list.loaded == good
    assert window.main.bar.target.currentData() is None or window.main.bar.target.currentText() == "big"
    assert window.ask("With the good one").status == "done"


def test_models_that_do_not_fit(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    script.load_errors.append(VocabularyMismatch("big", "other", "They do not share a vocabulary."))
    window.models.choose_draft(tmp_path / "other.gguf")
    window.wait(window.notices)
    assert "do not share a vocabulary" in window.notices()[0]
    assert window.main.bar.draft.currentText() == "small"


def test_a_broken_pair_at_the_start_leaves_nothing_chosen(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script(load_errors=[ModelFileBroken(tmp_path / "big.gguf", "it is cut off.")])
    window = open_window(script)
    window.wait(window.notices)
    assert window.notices() == ["Cannot load big.gguf: it is cut off."]
    assert window.main.bar.target.currentText() == ""
    exchange = window.ask("Anyone there?")
    assert "No target is chosen" in window.said(exchange)
    window.models.choose_target(tmp_path / "big.gguf")
    assert window.ask("And now?").status == "done"


def test_no_bundled_pair_is_a_message(open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = open_window(pair=(tmp_path / "none.gguf", tmp_path / "none-either.gguf"))
    window.wait(window.notices)
    assert "there is no such file" in window.notices()[0]
    exchange = window.ask("Hello")
    assert exchange.problem is not None


def test_missing_starters_are_a_message(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ResourceDamaged("starter_prompts.json")

    monkeypatch.setattr(app.shell.bootstrap, "starter_prompts", fail)
    window = open_window(Script())
    assert "starter_prompts.json" in window.notices()[0]
    assert window.ask("Hello").status == "done"


def test_a_folder_that_cannot_be_read(open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window(Script(), settings=Settings(models_folders=[str(tmp_path / "gone")]))
    window.wait(window.notices)
    assert "there is no such folder" in window.notices()[0]
    (tmp_path / "file").touch()
    window.main.folder_chosen.emit(str(tmp_path / "file"))
    window.wait(lambda: len(window.notices()) == 2)
    assert "it is not a folder" in window.notices()[1]
    (tmp_path / "empty").mkdir()
    window.main.folder_chosen.emit(str(tmp_path / "empty"))
    folders = [str(tmp_path / "gone"), str(tmp_path / "empty")]
    window.wait(lambda: window.program.settings.models_folders == folders)
    assert window.ask("Hello").status == "done"


def test_a_folder_in_the_home_of_nobody(open_window: OpenWindow) -> None:
    window = open_window(Script(), settings=Settings(models_folders=["~nobody of this name/models"]))
    window.wait(window.notices)
    assert "there is no such folder" in window.notices()[0]
    assert window.ask("Hello").status == "done"


def test_cancel_while_loading_is_not_lost(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script(load_s=0.0)
    window = open_window(script)
    script.load_s = 30.0
    window.models.choose_target(tmp_path / "other.gguf")
    exchange = window.send("Hello")
    window.wait(lambda: window.controller.activity.work == "loading" and window.main.strip.isVisible())
    assert window.main.strip.word.text().startswith("Loading other")
    window.main.strip.button.click()
    began = perf_counter()
    window.ended(exchange)
    assert perf_counter() - began < 1.0
    assert exchange.status == "cancelled"
    assert script.prompts == []
    assert window.view(exchange).summary.text() == "cancelled · not answered"
    script.load_s = 0.0
    assert window.ask("Now").status == "done"
    assert [message.content for message in script.prompts[0]] == ["Now"]


def test_cancel_that_a_load_does_not_hear_still_counts(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    script.load_s, script.deaf = 0.4, True
    window.models.choose_target(tmp_path / "other.gguf")
    exchange = window.send("Hello")
    window.wait(lambda: window.models.busy)
    window.main.cancel_wanted.emit()
    window.ended(exchange)
    assert exchange.status == "cancelled"
    assert script.prompts == []
    script.deaf = False
    assert window.ask("Now").status == "done"


def test_cancel_in_the_very_moment_of_sending(open_window: OpenWindow) -> None:
    script = Script(LONG, round_s=0.01)
    window = open_window(script)
    exchange = window.send("Hello")
    window.main.cancel_wanted.emit()
    window.ended(exchange, 2_000)
    assert exchange.status == "cancelled"


def test_cancel_while_the_prompt_is_read(open_window: OpenWindow) -> None:
    script = Script(read_s=20.0)
    window = open_window(script)
    exchange = window.send("Hello")
    window.wait(lambda: window.controller.activity.work == "reading" and window.main.strip.isVisible())
    window.main.cancel_wanted.emit()
    window.ended(exchange, 1_000)
    assert exchange.status == "cancelled"
    script.read_s = 0.0
    assert window.ask("Now").status == "done"


def test_a_message_sent_while_the_first_load_runs_is_answered(open_window: OpenWindow) -> None:
    script = Script(load_s=0.3)
    window = open_window(script, ready=False)
    exchange = window.send("Early")
    window.ended(exchange)
    assert exchange.status == "done"
    assert [part for part, _ in script.loads] == ["target", "draft"], "nothing is loaded twice"


def test_an_early_message_tells_a_failed_load_once(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script(load_s=0.3, load_errors=[ModelFileBroken(tmp_path / "big.gguf", "it is cut off.")])
    window = open_window(script, ready=False)
    exchange = window.send("Early")
    window.ended(exchange)
    assert exchange.problem is not None
    window.ready()
    assert window.notices() == []


def test_a_new_chat_during_a_reply(open_window: OpenWindow) -> None:
    script = Script(LONG, round_s=0.01)
    window = open_window(script)
    exchange = window.send("Hello")
    window.wait(lambda: exchange.reply)
    script.reply = "Short."
    window.main.left.new_chat_button.click()
    assert window.main.welcome.isVisible()
    window.wait(lambda: not window.controller.busy)
    assert len(window.controller.transcript) == 0
    assert window.ask("Afresh").status == "done"


def test_a_picker_takes_effect_with_the_next_message(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script(LONG, round_s=0.005)
    window = open_window(script)
    exchange = window.send("Hello")
    window.wait(lambda: exchange.reply)
    before = len(script.loads)
    window.main.bar.draft.chosen.emit("ngram")
    row = window.main.bar.lookahead.findText("7")
    window.main.bar.lookahead.setCurrentIndex(row)
    window.main.bar.lookahead.activated.emit(row)
    window.main.cancel_wanted.emit()
    window.ended(exchange)
    assert len(script.loads) == before
    script.reply = "Short."
    window.ask("Next")
    assert script.lookaheads == ["auto", 7]
    assert window.models.list.loaded.sources == ()
    assert script.threads == {"outrider-engine"}, "the engine runs on one thread"


def test_closing_during_a_reply(open_window: OpenWindow) -> None:
    script = Script(LONG, round_s=0.01)
    window = open_window(script)
    exchange = window.send("Hello")
    window.wait(lambda: exchange.reply)
    began = perf_counter()
    assert window.close()
    assert perf_counter() - began < 1.0
    assert script.closed


def test_closing_during_a_load(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    script.load_s = 30.0
    window.models.choose_target(tmp_path / "other.gguf")
    window.send("Hello")
    window.wait(lambda: window.models.busy)
    began = perf_counter()
    assert window.close()
    assert perf_counter() - began < 1.0


def test_what_has_the_keyboard_may_vanish(open_window: OpenWindow) -> None:
    window = open_window(Script())
    window.ask("Hello")
    for command in ("conversations.rename", "conversations.delete", "conversations.undo"):
        window.main.commands.run(command)
        window.qtbot.wait(5)
    assert window.main.transcript.isVisible()


def test_a_cancelled_job_that_nobody_awaits_is_not_logged_and_a_failed_one_is() -> None:
    loop = asyncio.new_event_loop()
    logged: list[object] = []
    loop.set_exception_handler(lambda _loop, told: logged.append(told["exception"]))
    errors = Cancelled(), RuntimeError("zzz")
    for error in errors:
        Job(loop, lambda _cancel: None).settle(None, error)
        gc.collect()
    assert logged == [errors[1]]
    awaited = Job(loop, lambda _cancel: None)
    awaited.settle(None, errors[0])
    with pytest.raises(Cancelled):
        loop.run_until_complete(awaited.result)
    loop.close()
