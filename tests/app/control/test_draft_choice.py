"""Which draft is taken: one that was chosen, the best there is, n-grams or none."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from app.settings.settings import Settings
from app.shell.bootstrap import _choose_as_before
from app.state.models.models import ModelList
from app.state.models.selection import Loaded, Selection
from helpers.heads.eagle import write_eagle3, write_plain_target
from helpers.window.app_window import OpenWindow

Pair = tuple[Path, Path]


def test_automatic_ngram_and_none(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    assert window.models.list.selection == Selection(demo_pair[0], demo_pair[1:], 4, "automatic")
    assert window.main.bar.draft.currentText().startswith("automatic · demo-draft")
    assert window.stats(window.ask("Tell me a story.")).accepted > 0
    window.models.choose_draft("ngram")
    listing = window.ask("Write: one two three one two three one two three one two three one two three")
    assert window.models.list.loaded == Loaded(demo_pair[0])
    assert listing.status == "done"
    assert window.stats(listing).draft_forwards == 0
    window.models.choose_draft(None)
    plain = window.stats(window.ask("Tell me a story."))
    assert plain.proposed == 0
    assert plain.plain_tokens == plain.emitted
    assert window.main.bar.draft.currentText() == "none"
    window.models.choose_draft("automatic")
    assert window.models.list.selection.sources == demo_pair[1:]
    assert window.stats(window.ask("Tell me a story.")).accepted > 0


def test_automatic_says_what_drafts_before_the_files_are_judged() -> None:
    models = ModelList(None)
    target, draft = Path("/models/big.gguf"), Path("/models/small.gguf")
    models.selection = Selection(target, (draft,), "auto", "automatic")
    line = models.drafts()[0]
    assert (line.kind, line.label) == ("automatic", "small")


@pytest.mark.parametrize("choice", ["automatic", "ngram", None])
def test_the_choice_of_a_draft_is_remembered(open_window: OpenWindow, demo_pair: Pair, choice: str | None) -> None:
    window = open_window(pair=demo_pair, settings=Settings(drafting="model"))
    window.models.choose_draft(choice)
    chosen = window.models.list.selection
    assert window.close()
    later = open_window(pair=demo_pair)
    assert later.models.list.selection == chosen
    assert later.models.list.selection.draft_key == choice


def test_automatic_follows_the_target(open_window: OpenWindow, demo_pair: Pair, story_pair: Pair) -> None:
    window = open_window(pair=demo_pair, models_folder=story_pair[0].parent)
    window.models.choose_target(story_pair[0])
    window.wait(lambda: window.models.settled)
    (draft,) = window.models.list.selection.sources
    assert draft.stem.startswith("stories"), "of its family"
    window.models.choose_draft(story_pair[1])
    window.models.choose_target(demo_pair[0])
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection == Selection(demo_pair[0], demo_pair[1:], "auto", "automatic"), (
        "the other did not fit"
    )


def test_the_pair_that_was_used_last_for_a_target_comes_back(
    open_window: OpenWindow, demo_pair: Pair, story_pair: Pair
) -> None:
    window = open_window(pair=demo_pair, models_folder=story_pair[0].parent)
    models, settings = window.models, window.program.settings

    def choose(target: Path) -> Selection:
        models.choose_target(target)
        window.wait(lambda: models.settled)
        return models.list.selection

    choose(story_pair[0])
    models.choose_draft(story_pair[1])
    assert choose(demo_pair[0]).drafting == "automatic"
    models.choose_draft("ngram")
    assert choose(story_pair[0]) == Selection(story_pair[0], story_pair[1:], "auto", "model")
    assert models.list.loaded == Loaded(story_pair[0], story_pair[1:])
    assert choose(demo_pair[0]).drafting == "ngram"
    settings.drafts = {str(story_pair[0]): {"drafting": "model", "sources": [str(story_pair[1]) + ".gone"]}}
    models.choose_draft("automatic")
    assert choose(story_pair[0]).drafting == "automatic", "what is gone is not waited for"


def test_automatic_takes_no_draft_of_the_target_before(
    open_window: OpenWindow, demo_pair: Pair, story_pair: Pair
) -> None:
    window = open_window(pair=demo_pair, models_folder=story_pair[0].parent)
    window.models.choose_target(story_pair[0])
    window.wait(lambda: window.models.settled)
    window.models.choose_target(demo_pair[0])
    assert window.models.list.selection.sources == demo_pair[1:], "before anything was judged anew"
    window.models.choose_target(story_pair[0])
    chosen = window.models.list.selection
    assert chosen.sources[0].stem.startswith("stories")
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection == chosen


def test_a_draft_that_cannot_be_loaded_is_not_taken_again(
    open_window: OpenWindow, demo_pair: Pair, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    window = open_window(pair=(demo_pair[0], Path(shutil.copy(demo_pair[1], broken))), settings=Settings(sources=[]))
    broken.write_bytes(b"GGUF" + bytes(5000))
    window.models.choose_draft("automatic")
    assert window.models.list.selection.sources == (broken,)
    assert "Cannot load broken.gguf" in window.said(window.ask("Hello!"))
    window.wait(lambda: window.models.settled)
    assert not window.models.list.selection.sources
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

    automatic = Selection(own[0], own[1:], "auto", "automatic")
    assert chosen() == (automatic, None)
    assert chosen(sources=[]) == (Selection(own[0], (), "auto", "none"), None)
    assert chosen(sources=[], drafting="ngram") == (Selection(own[0], (), "auto", "ngram"), None)
    assert chosen(target=str(folder), sources=[str(file)]) == (Selection(folder, (file,), "auto", "model"), None)
    assert chosen(target=str(folder)) == (Selection(folder, (), "auto", "automatic"), None)
    gone = str(tmp_path / "gone.gguf")
    wanted = Selection(Path(gone), (file,), 3, "model")
    assert chosen(target=gone, sources=[str(file)], lookahead=3) == (replace(automatic, lookahead=3), wanted)
    assert chosen(target=str(file), sources=[gone])[0] == Selection(file, (), "auto", "automatic")
    assert chosen(target=str(file), sources=[gone])[1] == Selection(file, (Path(gone),), "auto", "model")


def test_a_draft_that_does_not_come_back_with_its_target(
    open_window: OpenWindow, demo_pair: Pair, tmp_path: Path
) -> None:
    folder, hidden = tmp_path / "models", tmp_path / "not mounted yet"
    target, draft = folder / demo_pair[0].name, folder / demo_pair[1].name
    kept = Settings(
        models_folders=[str(folder)], target=str(target), sources=[str(draft)], drafting="model", lookahead=4
    )
    window = open_window(pair=demo_pair, settings=kept)
    hidden.mkdir()
    shutil.copy(demo_pair[0], hidden)
    hidden.rename(folder)
    window.wait(lambda: window.models.list.loaded.target == target)
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection.drafting == "automatic"
    exchange = window.ask("Tell me a story.")
    assert exchange.status == "done"
    assert window.models.list.loaded.sources == demo_pair[1:], "the one that came with the program fits too"


def test_automatic_finds_a_head(open_window: OpenWindow, demo_pair: Pair, tmp_path: Path) -> None:
    """Beside its target it is found, told in the picker, used and let go again; one of another target is not."""
    target, head = write_plain_target(tmp_path / "m.gguf"), tmp_path / "z.gguf"
    write_eagle3(head, target)
    other = write_plain_target(tmp_path / "wide.gguf", width=128, seed=1)
    write_eagle3(tmp_path / "a.gguf", other, layers=(1, 2, 7))
    window = open_window(pair=demo_pair, models_folder=tmp_path, settings=Settings(lookahead=3))
    window.wait(lambda: window.models.settled)
    window.models.choose_target(target)
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection == Selection(target, (head,), 3, "automatic", own_method=True)
    assert window.main.bar.draft.currentText().startswith("automatic · head z")
    stats = window.stats(window.ask("Hello!"))
    assert stats.proposed > 0
    assert [each.name for each in stats.by_method] == ["autoregressive", "eagle3"]
    assert window.models.list.loaded == Loaded(target, (head,))
    window.models.choose_target(demo_pair[0])
    window.wait(lambda: window.models.settled)
    assert [each.name for each in window.stats(window.ask("Hello!")).by_method] == ["draft-model"]
    window.models.choose_target(other)
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection.sources == (target,), (
        "its head reads a layer that is not there, and m is smaller"
    )
    assert not window.models.list.selection.own_method
