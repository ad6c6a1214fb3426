"""The window with real models: replies, pickers, broken files, cancelling again and again."""

import gc
import shutil
import threading
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt

from app.settings.settings import Settings
from engine import load
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]
ENABLED = Qt.ItemFlag.ItemIsEnabled


def test_a_conversation_with_the_bundled_pair(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    assert window.notices() == []
    first = window.ask("What is Outrider?", 60_000)
    second = window.ask("Tell me more.", 60_000)
    for exchange in (first, second):
        assert exchange.status == "done"
        assert exchange.reply.strip()
        stats = exchange.stats
        assert stats is not None
        assert stats.proposed > 0
        assert stats.emitted == stats.accepted + stats.corrections + stats.bonus_tokens + stats.plain_tokens
    with load(*demo_pair) as decoder:
        assert decoder.generate("What is Outrider?", lookahead=4).text == first.reply, "as without a window"


def test_a_small_pair_until_the_context_is_full(open_window: OpenWindow, story_pair: Pair) -> None:
    window = open_window(pair=story_pair)
    exchange = window.ask("Once upon a time")
    assert exchange.finish_reason == "context"
    assert window.view(exchange).summary.text().endswith("the context is full")
    rounds = f"{window.stats(exchange).rounds:,}"
    window.wait(lambda: window.main.panel.counters["rounds"].text() == rounds)
    again = window.ask("More")
    assert again.problem is None
    assert again.reply
    assert window.view(again).summary.text().endswith("without the oldest 2 messages")


def test_a_prompt_longer_than_the_context(open_window: OpenWindow, story_pair: Pair) -> None:
    window = open_window(pair=story_pair)
    exchange = window.ask("Once upon a time there was a dog. " * 200)
    assert exchange.problem is not None
    assert "the context holds only 512" in exchange.problem.text
    assert window.ask("Once upon a time").status == "done"


def rows(picker: object) -> dict[str, tuple[bool, str]]:
    """The lines of a picker: whether each can be chosen, and its tooltip."""
    model = picker.model()  # type: ignore[attr-defined]
    found = {}
    for row in range(model.rowCount()):
        index = model.index(row, 0)
        found[index.data()] = (bool(index.flags() & ENABLED), index.data(Qt.ItemDataRole.ToolTipRole))
    return found


def test_pickers_show_the_folder(open_window: OpenWindow, story_pair: Pair, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    source = story_pair[0].parent
    for name in ("stories260K-Q8_0", "babyllama361-Q8_0", "stories260K-F32"):
        shutil.copy(source / f"{name}.gguf", folder)
    whole = story_pair[0].read_bytes()
    (folder / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    window = open_window(pair=story_pair, models_folder=folder, settings=Settings(lookahead=4))
    bar = window.main.bar
    targets = rows(bar.target)
    drafts = rows(bar.draft)
    assert next(iter(targets)).startswith("stories260K · "), "the bundled pair comes first"
    enabled, why = targets["cut"]
    assert not enabled
    assert why
    baby = next(name for name in targets if name.startswith("babyllama361"))
    assert targets[baby][0]
    enabled, why = drafts[baby]
    assert enabled
    assert "are translated through text, which is slower" in why
    assert [*drafts][:3] == ["automatic · stories-draft43K · 60K F32", "n-gram", "none"]
    assert bar.lookahead.count() == 34
    choose(window, baby)
    assert bar.draft.currentText() == "automatic · no draft fits", (
        "a draft that would go through text is let go with its target"
    )
    exchange = window.ask("Once upon a time")
    assert exchange.status == "done"
    assert exchange.stats is not None
    assert exchange.stats.proposed == 0
    assert window.models.list.loaded.target == folder / "babyllama361-Q8_0.gguf"
    window.models.choose_draft(story_pair[0])
    assert "Other tokenizer, so slower" in rows(bar.draft)
    exchange = window.ask("Once upon a time")
    assert exchange.status == "done"
    assert exchange.stats is not None
    assert exchange.stats.accepted > 0


def choose(window: Window, name: str) -> None:
    """Choose a target by its line, as the mouse does."""
    picker = window.main.bar.target
    row = picker.findText(name)
    picker.setCurrentIndex(row)
    picker.activated.emit(row)
    window.wait(lambda: window.models.settled)


def test_a_truncated_file_is_refused_when_it_is_loaded(
    open_window: OpenWindow, story_pair: Pair, tmp_path: Path
) -> None:
    window = open_window(pair=story_pair)
    loaded = window.models.list.loaded
    whole = story_pair[0].read_bytes()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(whole[: len(whole) * 2 // 3])
    window.models.choose_target(broken)
    exchange = window.ask("Once upon a time")
    assert exchange.problem is not None
    assert exchange.problem.text.startswith("Cannot load broken.gguf")
    assert exchange.problem.details is None
    assert window.models.list.loaded == loaded
    assert window.main.bar.target.currentText().startswith("stories260K")
    assert window.ask("Once upon a time").status == "done"


def test_a_file_that_aborts_llama_cpp_does_not_end_the_window(
    open_window: OpenWindow, story_pair: Pair, shared_models: Path
) -> None:
    fragile = sorted((shared_models / "gguf" / "fragile").glob("*.gguf"))
    if not fragile:
        pytest.skip("no fragile model among the test models")
    window = open_window(pair=story_pair, settings=Settings(sources=[]))
    window.models.choose_target(fragile[0])
    window.models.choose_draft(None)
    exchange = window.ask("A line\nand another, 😀 with signs that it does not know")
    assert exchange.problem is not None
    assert exchange.problem.details is None, exchange.problem.details


@pytest.mark.timeout(170)
@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.soak)])
def test_cancelled_replies_leave_nothing_behind(open_window: OpenWindow, story_pair: Pair, count: int) -> None:
    window = open_window(pair=story_pair, size=(800, 600))
    process = psutil.Process()

    def one() -> str:
        exchange = window.send("Once upon a time")
        window.wait(lambda: bool(exchange.reply) or exchange.ended)
        window.main.cancel_wanted.emit()
        window.ended(exchange)
        status = exchange.status
        window.main.new_chat_wanted.emit()
        return status

    for _ in range(20):
        one()
    gc.collect()
    threads, memory = threading.active_count(), process.memory_info().rss
    statuses = [one() for _ in range(count)]
    gc.collect()
    grown = process.memory_info().rss / memory - 1.0
    assert statuses.count("cancelled") >= count / 2, "most are stopped half-way, a few are done by then"
    assert threading.active_count() == threads
    assert grown < 0.02, f"memory grew by {100 * grown:.1f} %"
    assert window.ask("Once upon a time").status == "done"


def test_escape_reaches_the_real_engine(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair)
    exchange = window.send("Tell me a long story about a lonely lighthouse.")
    window.wait(lambda: exchange.reply)
    window.key(Qt.Key.Key_Escape)
    window.ended(exchange)
    assert exchange.status in ("cancelled", "done")
    assert window.ask("Hello!").status == "done"
