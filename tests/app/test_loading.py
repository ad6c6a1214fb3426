"""How models are loaded: with options, after a question where memory is short, by one choice of a draft or another."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import engine
import engine.probe
from app.bootstrap import _choose_as_before
from app.settings import Settings
from app.state.load_options import FIELDS, LoadOptions, check, needs_with, read
from app.state.models import Loaded, ModelList, Selection
from engine import InvalidRequest
from helpers.app_window import OpenWindow, Window
from helpers.scripted_decoder import Script

Pair = tuple[Path, Path]
STORY = "Tell me a long story about a lonely lighthouse and the sea."
SHORT = LoadOptions(context=256, cache_type="q8_0", threads=1)


# Options --------------------------------------------------------------------------------------------------------------


def test_options_come_back_from_a_file_as_far_as_they_make_sense() -> None:
    kept = json.loads(json.dumps(SHORT.to_mapping()))
    assert kept == {"context": 256, "cache_type": "q8_0", "threads": 1}
    assert LoadOptions.from_mapping(kept) == SHORT
    assert LoadOptions.from_mapping({**kept, "threads": 0, "gpu_layers": "many", "more": 1}) == replace(
        SHORT, threads=None
    )
    senseless: list[object] = [None, 3, [], {"context": True}, {"cache_type": "q5_0"}, {"context": 7.5}]
    for wrong in (*senseless, {"gpu_layers": -2}):
        assert LoadOptions.from_mapping(wrong) == LoadOptions()
    assert LoadOptions.from_mapping({"gpu_layers": -1}) == LoadOptions(gpu_layers=-1)


@pytest.mark.parametrize(
    ("field", "text", "wrong"),
    [
        ("threads", "4", ""),
        ("threads", " ", ""),
        ("threads", "0", "from 1 to 512"),
        ("threads", "four", "whole number"),
        ("context", "4,096", ""),
        ("context", "7", "8 tokens or more"),
        ("gpu_layers", "-1", ""),
        ("gpu_layers", "-2", "-1 for all"),
        ("cache_type", "q4_0", ""),
        ("cache_type", "q3", "f16, q8_0, q4_0"),
    ],
)
def test_options_are_checked_while_they_are_typed(field: str, text: str, wrong: str) -> None:
    assert field in FIELDS
    said = check(field, text)
    assert (said is None) is (not wrong)
    if said is not None:
        assert wrong in said
        with pytest.raises(InvalidRequest):
            read(field, text)


def context_of(window: Window) -> tuple[int, int | None]:
    """Tokens of context that target and draft really have."""
    decoder = window.parts.bridge._decoder
    assert decoder.target is not None
    return decoder.target.context_length, None if decoder.draft is None else decoder.draft.context_length


def test_options_hold_from_the_next_message_on_and_in_the_next_run(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    assert context_of(window) == (2048, 2048)
    draft = window.parts.bridge._decoder.draft
    window.desk.set_options(demo_pair[0], SHORT)
    assert window.parts.settings.load_options == {str(demo_pair[0]): SHORT.to_mapping()}
    assert context_of(window) == (2048, 2048), "not yet"
    exchange = window.ask("Hello!")
    assert exchange.status == "done"
    assert context_of(window) == (256, 2048)
    target = window.parts.bridge._decoder.target
    assert target is not None
    assert target.threads == 1
    assert window.parts.bridge._decoder.draft is draft, "the draft stays as it is"
    window.ask("Again!")
    assert window.parts.bridge._decoder.target is target, "nothing is loaded twice"
    row = window.desk.library.row(demo_pair[0])
    assert row is not None
    assert (row.context, row.options, row.loaded) == (256, SHORT, "target")
    assert window.close()
    later = open_window(pair=demo_pair)
    assert context_of(later) == (256, 2048)
    later.desk.set_options(demo_pair[0], LoadOptions())
    assert later.parts.settings.load_options == {}
    later.desk.load_now()
    later.wait(lambda: context_of(later) == (2048, 2048))


def test_options_that_the_model_cannot_be_loaded_with_are_a_message(open_window: OpenWindow, story_pair: Pair) -> None:
    window = open_window(pair=story_pair)
    # Its heads have eight numbers, and the blocks of this type have 32.
    window.desk.set_options(story_pair[0], LoadOptions(cache_type="q8_0"))
    exchange = window.ask("Once upon a time")
    assert "Cannot load stories260K" in window.said(exchange)
    assert window.problem(exchange).problem.details is None
    window.desk.set_options(story_pair[0], LoadOptions())
    assert window.ask("Once upon a time").status == "done"


# Loading and unloading ------------------------------------------------------------------------------------------------


def test_unloading_frees_the_models_until_the_next_message(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair)
    window.desk.unload()
    window.wait(lambda: window.desk.settled)
    assert window.desk.models.loaded == Loaded()
    assert window.parts.bridge._decoder.target is None
    assert {row.loaded for row in window.desk.library.rows()} == {""}
    assert window.desk.models.selection.target == demo_pair[0]
    assert window.ask("Hello!").status == "done"
    assert window.desk.models.loaded == Loaded(*demo_pair)
    window.desk.unload()
    window.desk.load_now()
    window.wait(lambda: window.desk.settled)
    assert window.desk.models.loaded == Loaded(*demo_pair)


def test_unloading_waits_for_a_reply(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair)
    exchange = window.send("Tell me a long story.")
    window.wait(lambda: exchange.reply)
    window.desk.unload()
    window.ended(exchange)
    assert exchange.status == "done"
    window.wait(lambda: window.desk.models.loaded == Loaded())


def test_a_load_shows_progress_and_can_be_cancelled(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    script.load_s = 30.0
    before = window.desk.models.loaded
    window.desk.choose_target(tmp_path / "other.gguf")
    window.desk.load_now()
    window.wait(lambda: window.controller.activity.work == "loading" and window.controller.activity.fraction)
    window.desk.cancel()
    window.wait(lambda: window.desk.settled)
    assert window.desk.models.loaded == before
    assert window.notices() == []


# Too little memory ----------------------------------------------------------------------------------------------------


class Memory:
    """What there is to give, as the window and the engine see it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.free = 10**12
        for module in (engine, engine.probe):
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
    window.desk.announce.connect(announced.append)
    announced.clear()
    return window


announced: list[str] = []


def test_a_load_that_would_not_fit_is_announced_before_it_is_tried(window: Window, memory: Memory, copy: Path) -> None:
    memory.free = 50_000_000
    window.desk.choose_target(copy)
    exchange = window.send("Hello!")
    window.wait(lambda: announced)
    assert window.controller.activity.work == "asking"
    loaded = window.desk.models.loaded
    (words,) = announced
    assert words.startswith("Outrider demo target needs about 7")
    assert "50.0 MB are free" in words
    assert not exchange.ended
    assert not window.desk.busy
    clock = window.controller._turns._timer
    window.wait(lambda: not clock.isActive(), 1_000)
    window.wait(window.main.strip.isVisible)
    assert window.main.strip.bar.maximum() > 0, "nothing runs, ticks or moves while the user thinks about it"
    assert window.desk.models.loaded == loaded, "nothing was tried"
    window.desk.load_anyway()
    window.ended(exchange)
    assert exchange.status == "done"
    assert window.desk.models.loaded.target == copy
    assert announced[-1] == ""
    assert window.ask("Again!").status == "done"
    window.desk.unload()
    window.wait(lambda: window.desk.settled)
    assert window.ask("Once more!").status == "done", "the same is not asked twice"


def test_the_user_may_leave_it(window: Window, memory: Memory, copy: Path, demo_pair: Pair) -> None:
    memory.free = 50_000_000
    window.desk.choose_target(copy)
    exchange = window.send("Hello!")
    window.wait(lambda: announced)
    window.desk.decline_load()
    window.ended(exchange)
    assert exchange.status == "cancelled"
    assert announced[-1] == ""
    assert window.desk.models.selection.target == demo_pair[0]
    assert window.ask("Hello!").status == "done"


def test_cancelling_the_question_ends_the_announcement(window: Window, memory: Memory, copy: Path) -> None:
    memory.free = 50_000_000
    window.desk.choose_target(copy)
    exchange = window.send("Hello!")
    window.wait(lambda: announced)
    window.main.cancel_wanted.emit()
    window.ended(exchange)
    assert exchange.status == "cancelled"
    assert announced[-1] == ""
    memory.free = 10**12
    assert window.ask("Hello!").status == "done"
    assert window.desk.models.loaded.target == copy


def test_another_choice_ends_the_announcement(window: Window, memory: Memory, copy: Path, demo_pair: Pair) -> None:
    memory.free = 50_000_000
    window.desk.choose_target(copy)
    window.desk.load_now()
    window.wait(lambda: announced)
    window.desk.choose_target(demo_pair[0])
    assert window.ask("Hello!").status == "done"
    window.wait(lambda: window.desk.settled)
    assert window.desk.models.loaded.target == demo_pair[0]


def test_what_the_library_does_not_know_is_announced_by_the_engine(
    window: Window, memory: Memory, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(_path: Path | None) -> None:
        """It was not read in time."""

    elsewhere = Path(shutil.copy(copy, tmp_path / "elsewhere.gguf"))
    monkeypatch.setattr(window.desk._folders, "read_alone", nothing)
    memory.free = 50_000_000
    window.desk.choose_target(elsewhere)
    exchange = window.ask("Hello!")
    assert "of memory" in window.said(exchange)
    assert announced[-1].startswith("Cannot load elsewhere.gguf: it needs about")
    window.desk.load_anyway()
    window.wait(lambda: window.desk.models.loaded.target == elsewhere)
    assert announced[-1] == ""
    assert window.ask("Hello!").status == "done"


def test_a_load_that_was_accepted_is_shared_with_the_next_question(window: Window, memory: Memory, copy: Path) -> None:
    memory.free = 50_000_000
    window.desk.choose_target(copy)
    window.desk.load_now()
    window.wait(lambda: announced)
    window.desk.load_anyway()
    job = window.desk._loading
    assert job is not None
    assert window.ask("Hello!").status == "done"
    assert not job.cancelled, "it was not begun anew"


def test_nothing_is_asked_any_more_where_no_question_waits(
    window: Window, memory: Memory, copy: Path, demo_pair: Pair
) -> None:
    memory.free = 50_000_000
    window.desk.choose_target(copy)
    window.desk.load_now()
    window.wait(
        lambda: window.controller.activity.work == "asking" and not window.parts.controller._turns._timer.isActive()
    )
    window.desk.decline_load()
    window.wait(lambda: window.desk.settled)
    assert window.controller.activity.work == "idle", "no bar stays"
    assert window.desk.models.selection.target == demo_pair[0]


def test_a_question_that_waits_behind_one_that_is_asked_about(
    window: Window, memory: Memory, copy: Path, demo_pair: Pair
) -> None:
    memory.free = 50_000_000
    window.desk.choose_target(copy)
    first = window.send("Hello!")
    window.wait(lambda: announced)
    window.main.new_chat_wanted.emit()
    window.desk.choose_target(demo_pair[0])
    second = window.send(STORY)
    clock = window.controller._turns._timer
    window.wait(lambda: not clock.isActive())
    window.desk.decline_load()
    window.wait(lambda: second.reply)
    assert not second.ended, "it is shown while it is written"
    window.ended(second)
    assert (first.status, second.status) == ("cancelled", "done")


def test_options_with_which_it_fits_let_it_go_on(window: Window, memory: Memory, copy: Path) -> None:
    model = window.desk.models.by_path(copy)
    assert model is not None
    memory.free = needs_with(model, LoadOptions(context=1000)).in_memory
    window.desk.choose_target(copy)
    window.desk.choose_draft(None)
    exchange = window.send("Hello!")
    window.wait(lambda: announced)
    window.desk.set_options(copy, LoadOptions(context=2000))
    assert len(announced) == 2
    assert announced[0] != announced[1], "the figures are of what would be loaded"
    window.desk.set_options(copy, LoadOptions(context=64))
    window.ended(exchange)
    assert announced[-1] == ""
    assert window.desk.models.loaded.target == copy
    assert context_of(window)[0] == 64


def test_closing_while_it_is_asked(window: Window, memory: Memory, copy: Path) -> None:
    memory.free = 50_000_000
    window.desk.choose_target(copy)
    window.desk.load_now()
    window.wait(lambda: announced)
    assert window.close()


# Which draft ----------------------------------------------------------------------------------------------------------


def test_automatic_ngram_and_none(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    assert window.desk.models.selection == Selection(*demo_pair, 4, "automatic")
    assert window.main.bar.draft.currentText().startswith("automatic · Outrider demo draft")
    assert window.stats(window.ask("Tell me a story.")).accepted > 0
    window.desk.choose_draft("ngram")
    listing = window.ask("Write: one two three one two three one two three one two three one two three")
    assert window.desk.models.loaded == Loaded(demo_pair[0])
    assert listing.status == "done"
    assert window.stats(listing).draft_forwards == 0
    window.desk.choose_draft(None)
    plain = window.stats(window.ask("Tell me a story."))
    assert plain.proposed == 0
    assert plain.plain_tokens == plain.emitted
    assert window.main.bar.draft.currentText() == "none"
    window.desk.choose_draft("automatic")
    assert window.desk.models.selection.draft == demo_pair[1]
    assert window.stats(window.ask("Tell me a story.")).accepted > 0


@pytest.mark.parametrize("choice", ["automatic", "ngram", None])
def test_the_choice_of_a_draft_is_remembered(open_window: OpenWindow, demo_pair: Pair, choice: str | None) -> None:
    window = open_window(pair=demo_pair, settings=Settings(drafting="model"))
    window.desk.choose_draft(choice)  # type: ignore[arg-type]
    chosen = window.desk.models.selection
    assert window.close()
    later = open_window(pair=demo_pair)
    assert later.desk.models.selection == chosen
    assert later.desk.models.selection.draft_key == choice


def test_automatic_follows_the_target(open_window: OpenWindow, demo_pair: Pair, story_pair: Pair) -> None:
    window = open_window(pair=demo_pair, models_folder=story_pair[0].parent)
    window.desk.choose_target(story_pair[0])
    window.wait(lambda: window.desk.settled)
    draft = window.desk.models.selection.draft
    assert draft is not None
    assert draft.stem.startswith("stories"), "of its family"
    window.desk.choose_draft(story_pair[1])
    window.desk.choose_target(demo_pair[0])
    window.wait(lambda: window.desk.settled)
    assert window.desk.models.selection == Selection(*demo_pair, "auto", "automatic"), "the other did not fit"


def test_automatic_takes_no_draft_of_the_target_before(
    open_window: OpenWindow, demo_pair: Pair, story_pair: Pair
) -> None:
    window = open_window(pair=demo_pair, models_folder=story_pair[0].parent)
    window.desk.choose_target(story_pair[0])
    window.wait(lambda: window.desk.settled)
    window.desk.choose_target(demo_pair[0])
    assert window.desk.models.selection.draft == demo_pair[1], "before anything was judged anew"
    window.desk.choose_target(story_pair[0])
    chosen = window.desk.models.selection
    assert chosen.draft is not None
    assert chosen.draft.stem.startswith("stories")
    window.wait(lambda: window.desk.settled)
    assert window.desk.models.selection == chosen


def test_a_draft_that_cannot_be_loaded_is_not_taken_again(open_window: OpenWindow, demo_pair: Pair, copy: Path) -> None:
    broken = copy.with_name("broken.gguf")
    window = open_window(pair=(demo_pair[0], Path(shutil.copy(demo_pair[1], broken))), settings=Settings(draft=""))
    broken.write_bytes(b"GGUF" + bytes(5000))
    window.desk.choose_draft("automatic")
    assert window.desk.models.selection.draft == broken
    assert "Cannot load broken.gguf" in window.said(window.ask("Hello!"))
    window.wait(lambda: window.desk.settled)
    assert window.desk.models.selection.draft is None
    assert window.ask("Hello!").status == "done"


def test_what_was_chosen_before(tmp_path: Path) -> None:
    own = (Path("/own/target.gguf"), Path("/own/draft.gguf"))
    folder, file = tmp_path / "a model in a folder", tmp_path / "file.gguf"
    folder.mkdir()
    file.touch()

    def chosen(**settings: object) -> tuple[Selection, Selection | None]:
        models = ModelList(own)
        lost = _choose_as_before(models, Settings(**settings))  # type: ignore[arg-type]
        return models.selection, lost

    automatic = Selection(*own, "auto", "automatic")
    assert chosen() == (automatic, None)
    assert chosen(draft="") == (Selection(own[0], None, "auto", "none"), None)
    assert chosen(draft="", drafting="ngram") == (Selection(own[0], None, "auto", "ngram"), None)
    assert chosen(target=str(folder), draft=str(file)) == (Selection(folder, file, "auto", "model"), None)
    assert chosen(target=str(folder)) == (Selection(folder, None, "auto", "automatic"), None)
    gone = str(tmp_path / "gone.gguf")
    wanted = Selection(Path(gone), file, 3, "model")
    assert chosen(target=gone, draft=str(file), lookahead=3) == (replace(automatic, lookahead=3), wanted)
    assert chosen(target=str(file), draft=gone)[0] == Selection(file, None, "auto", "automatic")
    assert chosen(target=str(file), draft=gone)[1] == Selection(file, Path(gone), "auto", "model")
