"""How models are loaded and unloaded, and with which options."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.control.replies import current_activity
from app.settings.settings import Settings
from app.state.models.load_options import FIELDS, LoadChoice, check, read
from app.state.models.load_state import LoadState
from app.state.models.selection import Loaded
from app.words.figures import activity_word
from engine import InvalidRequest, LoadProgress, ModelFileBroken
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]
SHORT = LoadChoice(context=256, cache_type="q8_0", threads=1)


def test_options_come_back_from_a_file_as_far_as_they_make_sense() -> None:
    kept = json.loads(json.dumps(SHORT.to_mapping()))
    assert kept == {"context": 256, "cache_type": "q8_0", "threads": 1}
    assert LoadChoice.from_mapping(kept) == SHORT
    assert LoadChoice.from_mapping({**kept, "threads": 0, "gpu_layers": "many", "more": 1}) == replace(
        SHORT, threads=None
    )
    senseless: list[object] = [None, 3, [], {"context": True}, {"cache_type": "q5_k"}, {"context": 7.5}]
    for wrong in (*senseless, {"gpu_layers": -2}):
        assert LoadChoice.from_mapping(wrong) == LoadChoice()
    assert LoadChoice.from_mapping({"gpu_layers": -1}) == LoadChoice(gpu_layers=-1)


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
        ("cache_type", "q3", "f16, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl"),
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
    decoder = window.program.bridge._decoder
    assert decoder.target is not None
    return decoder.target.context_length, None if decoder.draft is None else decoder.draft.context_length


def test_options_hold_from_the_next_message_on_and_in_the_next_run(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    assert context_of(window) == (2048, 2048)
    draft = window.program.bridge._decoder.draft
    window.models.set_options(demo_pair[0], SHORT)
    assert window.program.settings.load_options == {str(demo_pair[0]): SHORT.to_mapping()}
    assert context_of(window) == (2048, 2048), "not yet"
    exchange = window.ask("Hello!")
    assert exchange.status == "done"
    assert context_of(window) == (256, 2048)
    target = window.program.bridge._decoder.target
    assert target is not None
    assert target.threads == 1
    assert window.program.bridge._decoder.draft is draft, "the draft stays as it is"
    window.ask("Again!")
    assert window.program.bridge._decoder.target is target, "nothing is loaded twice"
    row = window.models.library.row(demo_pair[0])
    assert row is not None
    assert (row.context, row.options, row.loaded) == (256, SHORT, "target")
    assert window.close()
    later = open_window(pair=demo_pair)
    assert context_of(later) == (256, 2048)
    later.models.set_options(demo_pair[0], LoadChoice())
    assert later.program.settings.load_options == {}
    later.main.commands.run("models.load")
    later.wait(lambda: context_of(later) == (2048, 2048))


def test_options_that_the_model_cannot_be_loaded_with_are_a_message(open_window: OpenWindow, story_pair: Pair) -> None:
    window = open_window(pair=story_pair)
    # Its heads have eight numbers, and the blocks of this type have 32.
    window.models.set_options(story_pair[0], LoadChoice(cache_type="q8_0"))
    exchange = window.ask("Once upon a time")
    assert "Cannot load stories260K" in window.said(exchange)
    assert window.problem(exchange).problem.details is None
    window.models.set_options(story_pair[0], LoadChoice())
    assert window.ask("Once upon a time").status == "done"


def test_unloading_frees_the_models_until_the_next_message(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair)
    window.models.unload()
    window.wait(lambda: window.models.settled)
    assert window.models.list.loaded == Loaded()
    assert window.program.bridge._decoder.target is None
    assert {row.loaded for row in window.models.library.rows()} == {""}
    assert window.models.list.selection.target == demo_pair[0]
    assert window.ask("Hello!").status == "done"
    assert window.models.list.loaded == Loaded(demo_pair[0], demo_pair[1:])
    window.models.unload()
    window.models.load_now()
    window.wait(lambda: window.models.settled)
    assert window.models.list.loaded == Loaded(demo_pair[0], demo_pair[1:])


def test_unloading_waits_for_a_reply(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair)
    exchange = window.send("Tell me a long story.")
    window.wait(lambda: exchange.reply)
    window.models.unload()
    window.ended(exchange)
    assert exchange.status == "done"
    window.wait(lambda: window.models.list.loaded == Loaded())


def test_what_is_chosen_is_loaded_at_once(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    script.loads.clear()
    script.load_s = 30.0
    first, second = tmp_path / "first.gguf", tmp_path / "second.gguf"
    window.models.choose_target(first)
    window.wait(lambda: script.loads == [("target", first)])
    script.load_s = 0.0
    window.models.choose_target(second)
    window.wait(lambda: window.models.list.loaded.target == second)
    window.wait(lambda: window.models.settled)
    assert script.prompts == [], "nobody sent a message"
    script.loads.clear()
    window.models.choose_draft(first)
    window.wait(lambda: window.models.list.loaded == Loaded(second, (first,)))
    assert script.loads == [("draft", first)]
    assert window.notices() == []


def test_choosing_does_not_disturb_a_reply(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script("A sentence of a reply that goes on. " * 20, round_s=0.01)
    window = open_window(script)
    other = tmp_path / "other.gguf"
    exchange = window.send("Hello")
    window.wait(lambda: exchange.reply)
    assert not exchange.ended
    window.models.choose_target(other)
    window.ended(exchange)
    assert (exchange.status, exchange.reply) == ("done", script.reply)
    window.wait(lambda: window.models.list.loaded.target == other)


def test_a_load_shows_progress_and_can_be_cancelled(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    script.load_s = 30.0
    before = window.models.list.loaded
    window.models.choose_target(tmp_path / "other.gguf")
    window.models.load_now()
    window.wait(lambda: window.controller.activity.work == "loading" and window.controller.activity.fraction)
    window.models.cancel()
    window.wait(lambda: window.models.settled)
    assert window.models.list.loaded == before
    assert window.notices() == []


def test_the_bar_says_which_part_is_done_and_is_never_full(open_window: OpenWindow, demo_pair: Pair) -> None:
    """The target is nine times as large as its draft; both are tried before they are loaded."""
    window = open_window(Script(), pair=demo_pair)
    bridge, models = window.program.bridge, window.models
    bridge._local = Loaded()
    models.loader.state = LoadState("loading", Loaded(demo_pair[0], demo_pair[1:]))
    told = []
    for part in ("target", "draft"):
        for stage in ("checking", "loading"):
            for fraction in (0.0, 0.5, 1.0):
                bridge._note_progress(LoadProgress(part, stage, fraction))
                told.append(current_activity(bridge, models, None, None))
    shares = [each.fraction or 0.0 for each in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.9 < shares[6] < 0.98, "the target is there"
    assert shares[-1] == 0.99
    assert [activity_word(told[at]).split(" · ")[0] for at in (0, 3, 6, 9)] == [
        "Checking demo-target",
        "Loading demo-target",
        "The target is loaded. Checking demo-draft",
        "The target is loaded. Loading demo-draft",
    ]


def test_what_cannot_be_loaded_is_not_tried_again_at_the_next_start(
    open_window: OpenWindow, demo_pair: Pair, tmp_path: Path
) -> None:
    window = open_window(pair=demo_pair)
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"no model at all")
    window.models.choose_target(junk)
    assert "it is not a GGUF file" in window.said(window.ask("Hello!"))
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection.target == demo_pair[0]
    assert window.close()
    later = open_window(pair=demo_pair)
    assert later.models.list.loaded.target == demo_pair[0]
    assert later.notices() == []


def test_what_was_chosen_while_a_load_failed_stays_chosen(open_window: OpenWindow, tmp_path: Path) -> None:
    script = Script()
    window = open_window(script)
    script.load_s = 0.3
    script.load_errors = [ModelFileBroken(tmp_path / "first.gguf", "it is cut short.")]
    window.models.choose_target(tmp_path / "first.gguf")
    exchange = window.send("Hello!")
    window.wait(lambda: window.controller.activity.work == "loading")
    window.models.choose_target(tmp_path / "second.gguf")
    window.ended(exchange)
    assert exchange.status == "failed"
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection.target == tmp_path / "second.gguf"
    assert window.ask("Hello!").status == "done"
    assert window.models.list.loaded.target == tmp_path / "second.gguf"
