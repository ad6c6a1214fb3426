"""A load that would not fit in memory: it is announced, and the user decides."""

import shutil
from pathlib import Path

import pytest

import engine
import engine.loading.trial
from app.settings.settings import Settings
from app.state.models.load_options import LoadChoice, needs_with
from app.state.models.selection import Loaded
from engine import host
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]
STORY = "Tell me a long story about a lonely lighthouse and the sea."


class Memory:
    """What there is to give, as the window and the engine see it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.free = 10**12
        for module in (host, engine.loading.trial):
            patch.setattr(module, "available_memory", lambda: self.free)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    return Memory(monkeypatch)


@pytest.fixture
def copy(tmp_path: Path, demo_pair: Pair) -> Path:
    """The demo target in a models folder of the user's: nobody vouches for it."""
    folder = tmp_path / "models"
    folder.mkdir()
    return Path(shutil.copy(demo_pair[0], folder / "copy.gguf"))


@pytest.fixture
def window(open_window: OpenWindow, demo_pair: Pair, memory: Memory, copy: Path) -> Window:
    window = open_window(pair=demo_pair, settings=Settings(models_folders=[str(copy.parent)]))
    window.models.announce.connect(announced.append)
    announced.clear()
    return window


announced: list[str] = []


def waits_for_the_load(window: Window) -> bool:
    """True if the question waits for the load that choosing began."""
    running = window.controller.replies.running
    return running is not None and running.job is not None


def test_a_load_that_would_not_fit_is_announced_before_it_is_tried(window: Window, memory: Memory, copy: Path) -> None:
    memory.free = 50_000_000
    window.models.choose_target(copy)
    exchange = window.send("Hello!")
    window.wait(lambda: announced)
    assert window.controller.activity.work == "asking"
    loaded = window.models.list.loaded
    (words,) = announced
    assert words.startswith("copy needs about 7")
    assert "50.0 MB are free" in words
    assert not exchange.ended
    assert not window.models.busy
    clock = window.controller.replies._timer
    window.wait(lambda: not clock.isActive())
    window.wait(window.main.strip.isVisible)
    assert window.main.strip.bar.maximum() > 0, "nothing runs, ticks or moves while the user thinks about it"
    assert window.models.list.loaded == loaded, "nothing was tried"
    window.models.load_anyway()
    window.ended(exchange)
    assert exchange.status == "done"
    assert window.models.list.loaded.target == copy
    assert announced[-1] == ""
    assert window.ask("Again!").status == "done"
    window.models.unload()
    window.wait(lambda: window.models.settled)
    assert window.ask("Once more!").status == "done", "the same is not asked twice"


def test_the_user_may_leave_it(window: Window, memory: Memory, copy: Path, demo_pair: Pair) -> None:
    memory.free = 50_000_000
    window.models.choose_target(copy)
    exchange = window.send("Hello!")
    window.wait(lambda: announced and waits_for_the_load(window))
    window.models.decline_load()
    window.ended(exchange)
    assert exchange.status == "cancelled"
    assert announced[-1] == ""
    assert window.models.list.selection.target == demo_pair[0]
    assert window.ask("Hello!").status == "done"


def test_cancelling_the_question_ends_the_announcement(window: Window, memory: Memory, copy: Path) -> None:
    memory.free = 50_000_000
    window.models.choose_target(copy)
    exchange = window.send("Hello!")
    window.wait(lambda: announced and waits_for_the_load(window))
    window.main.cancel_wanted.emit()
    window.ended(exchange)
    assert exchange.status == "cancelled"
    assert announced[-1] == ""
    memory.free = 10**12
    assert window.ask("Hello!").status == "done"
    assert window.models.list.loaded.target == copy


def test_another_choice_ends_the_announcement(window: Window, memory: Memory, copy: Path, demo_pair: Pair) -> None:
    memory.free = 50_000_000
    window.models.choose_target(copy)
    window.models.load_now()
    window.wait(lambda: announced)
    window.models.choose_target(demo_pair[0])
    assert window.ask("Hello!").status == "done"
    window.wait(lambda: window.models.settled)
    assert window.models.list.loaded.target == demo_pair[0]


def test_what_the_library_does_not_know_is_announced_by_the_engine(
    window: Window, memory: Memory, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(_path: Path | None) -> None:
        """It was not read in time."""

    elsewhere = Path(shutil.copy(copy, tmp_path / "elsewhere.gguf"))
    monkeypatch.setattr(window.models._folders, "read_alone", nothing)
    memory.free = 50_000_000
    window.models.choose_target(elsewhere)
    exchange = window.ask("Hello!")
    assert "of memory" in window.said(exchange)
    assert announced[-1].startswith("Cannot load elsewhere.gguf: it needs about")
    window.models.load_anyway()
    window.wait(lambda: window.models.list.loaded.target == elsewhere)
    assert announced[-1] == ""
    assert window.ask("Hello!").status == "done"


def test_a_load_that_was_accepted_is_shared_with_the_next_question(window: Window, memory: Memory, copy: Path) -> None:
    memory.free = 50_000_000
    window.models.choose_target(copy)
    window.models.load_now()
    window.wait(lambda: announced)
    window.models.load_anyway()
    job = window.models.loader.job
    assert job is not None
    assert window.ask("Hello!").status == "done"
    assert not job.cancelled, "it was not begun anew"


def test_nothing_is_asked_any_more_where_no_question_waits(
    window: Window, memory: Memory, copy: Path, demo_pair: Pair
) -> None:
    memory.free = 50_000_000
    window.models.choose_target(copy)
    window.models.load_now()
    window.wait(
        lambda: window.controller.activity.work == "asking" and not window.program.controller.replies._timer.isActive()
    )
    window.models.decline_load()
    window.wait(lambda: window.models.settled)
    assert window.controller.activity.work == "idle", "no bar stays"
    assert window.models.list.selection.target == demo_pair[0]


def test_a_question_that_waits_behind_one_that_is_asked_about(
    window: Window, memory: Memory, copy: Path, demo_pair: Pair
) -> None:
    memory.free = 50_000_000
    window.models.choose_target(copy)
    first = window.send("Hello!")
    window.wait(lambda: announced)
    window.main.new_chat_wanted.emit()
    window.models.choose_target(demo_pair[0])
    second = window.send(STORY)
    clock = window.controller.replies._timer
    window.wait(lambda: not clock.isActive())
    ticks: list[bool] = []
    clock.timeout.connect(lambda: ticks.append(True))
    window.models.decline_load()
    window.wait(lambda: ticks)
    window.ended(second)
    assert (first.status, second.status) == ("cancelled", "done")


def test_options_with_which_it_fits_let_it_go_on(window: Window, memory: Memory, copy: Path) -> None:
    model = window.models.list.by_path(copy)
    assert model is not None
    memory.free = needs_with(model, LoadChoice(context=1000)).in_memory
    window.models.choose_target(copy)
    window.models.choose_draft(None)
    exchange = window.send("Hello!")
    window.wait(lambda: announced)
    window.models.set_options(copy, LoadChoice(context=2000))
    assert len(announced) == 2
    assert announced[0] != announced[1], "the figures are of what would be loaded"
    window.models.set_options(copy, LoadChoice(context=64))
    window.ended(exchange)
    assert announced[-1] == ""
    assert window.models.list.loaded.target == copy
    target = window.program.bridge._decoder.target
    assert target is not None
    assert target.context_length == 64


def test_closing_while_it_is_asked(window: Window, memory: Memory, copy: Path) -> None:
    memory.free = 50_000_000
    window.models.choose_target(copy)
    window.models.load_now()
    window.wait(lambda: announced)
    assert window.close()


def test_automatic_does_without_a_draft_that_is_too_much(
    open_window: OpenWindow, demo_pair: Pair, memory: Memory, copy: Path
) -> None:
    draft = Path(shutil.copy(demo_pair[1], copy.with_name("draft.gguf")))
    needs = {path: needs_with(engine.inspect_model(path), LoadChoice()).in_memory for path in (copy, draft)}
    memory.free = needs[copy] + needs[draft] // 2
    chosen = Settings(models_folders=[str(copy.parent)], target=str(copy), sources=[str(draft)], drafting="automatic")
    window = open_window(pair=demo_pair, settings=chosen, ready=False)
    announced.clear()
    window.models.announce.connect(announced.append)
    window.ready()
    assert window.models.list.loaded == Loaded(copy)
    assert window.ask("Hello!").status == "done"
    assert not any(announced), "nobody asked for that draft"
    assert window.notices() == []


def test_what_was_chosen_in_the_last_run_is_announced_too(
    open_window: OpenWindow, demo_pair: Pair, memory: Memory, copy: Path
) -> None:
    memory.free = 50_000_000
    chosen = Settings(models_folders=[str(copy.parent)], target=str(copy), sources=[], drafting="none")
    window = open_window(pair=demo_pair, settings=chosen, ready=False)
    announced.clear()
    window.models.announce.connect(announced.append)
    window.wait(lambda: announced)
    assert announced[0].startswith("copy needs about 7"), "before anything was tried"
    assert window.notices() == []
    window.models.decline_load()
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection.target == copy, "nothing else is loaded that could be chosen in its place"
    assert window.program.settings.target == str(copy)
    window.models.load_now()
    window.wait(lambda: announced[-1])
    window.models.load_anyway()
    window.ready()
    assert window.models.list.loaded == Loaded(copy)
    copy.unlink()
    window.wait(lambda: window.models.list.by_path(copy) is None)


def test_each_state_of_a_load(window: Window, memory: Memory, copy: Path, demo_pair: Pair) -> None:
    loader = window.models.loader

    def stage() -> str:
        return loader.state.stage

    assert stage() == "loaded"
    window.models.unload()
    window.wait(lambda: window.models.settled)
    assert stage() == "idle"
    memory.free = 50_000_000
    window.models.choose_target(copy)
    window.models.load_now()
    window.wait(lambda: announced)
    assert stage() == "asking"
    assert loader.state.wanted.target == copy
    assert loader.state.shortage is not None
    window.models.decline_load()
    assert stage() == "idle"
    window.wait(lambda: window.models.settled)
    window.models.load_now()
    window.wait(lambda: stage() == "asking")
    window.models.load_anyway()
    assert stage() == "loading"
    window.wait(lambda: window.models.settled)
    assert stage() == "loaded"
    assert loader.state.wanted.target == copy
    copy.write_bytes(b"no model any more")
    window.models.unload()
    window.wait(lambda: window.models.settled)
    window.models.load_now()
    window.wait(lambda: window.models.settled)
    assert stage() == "failed"
    assert loader.state.error is not None
    assert loader.state.refused is None, "that can't be tried all the same"
    memory.free = 10**12
    window.models.choose_target(demo_pair[0])
    assert window.ask("Hello!").status == "done"
    assert stage() == "loaded"


def test_each_change_has_its_own_signal(window: Window, demo_pair: Pair) -> None:
    told: list[str] = []
    models = window.models
    models.list_changed.connect(lambda: told.append("list"))
    models.selection_changed.connect(lambda: told.append("selection"))
    models.loaded_changed.connect(lambda: told.append("loaded"))
    models.choose_lookahead(3)
    assert told == ["selection"]
    models.choose_lookahead(3)
    assert told == ["selection"], "nothing else is chosen"
    told.clear()
    models.unload()
    window.wait(lambda: models.settled)
    assert told == ["loaded"]
    told.clear()
    models.set_options(demo_pair[0], LoadChoice(context=512))
    assert told == ["list"]
    window.wait(lambda: models.settled)
