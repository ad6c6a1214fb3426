"""Heads and a draft model are loaded together: automatic finds both, the picker offers both, and each may fail."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from app.control.compare import KINDS
from app.settings.settings import Settings
from app.shell.bootstrap import _choose_as_before
from app.state.compare.compare import CompareRun, CompareSettings
from app.state.compare.text import sweep_text
from app.state.models.models import ModelList
from app.state.models.selection import Loaded, Selection
from engine import resolve_source
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]
Files = tuple[Path, Path, Path]
PROMPT = "Tell me a story."
BOTH = "head demo-head + demo-draft"


@pytest.fixture
def files(demo_pair: Pair, tmp_path: Path) -> Files:
    """A folder with the demo target, its head and its draft model."""
    folder = tmp_path / "models"
    folder.mkdir()
    target, draft = (Path(shutil.copy(path, folder)) for path in demo_pair)
    return target, Path(shutil.copy(Path(resolve_source("demo-head")), folder)), draft


@pytest.fixture
def open_files(open_window: OpenWindow, files: Files) -> Callable[..., Window]:
    """Open a window with these as all that there is, once they are judged."""

    def opened(**settings: object) -> Window:
        kept = Settings(**settings)  # type: ignore[arg-type]
        window = open_window(pair=(files[0], files[2]), models_folder=files[0].parent, settings=kept)
        window.wait(lambda: window.models.settled)
        return window

    return opened


def _is_over(run: CompareRun) -> bool:
    return not run.running


def _pick(window: Window, words: str) -> None:
    picker = window.main.bar.draft
    row = picker.findText(words)
    assert row >= 0, [picker.itemText(row) for row in range(picker.count())]
    picker.setCurrentIndex(row)
    picker.activated.emit(row)


def test_automatic_takes_both_and_says_so(open_files: Callable[..., Window], files: Files) -> None:
    target, head, draft = files
    window = open_files()
    assert window.models.list.selection == Selection(target, (head, draft), "auto", "automatic", own_method=True)
    assert window.main.bar.draft.currentText() == f"automatic · {BOTH}"
    told = window.ask(PROMPT)
    assert window.models.list.loaded == Loaded(target, (head, draft))
    decoder = window.program.bridge._decoder
    assert decoder.heads is not None
    assert decoder.draft is not None
    text = window.shown(told)
    window.models.choose_lookahead(4)
    assert window.main.bar.draft.currentText().startswith("automatic · head demo-head · "), "the head drafts alone"
    alone = window.ask(PROMPT)
    assert window.models.list.loaded == Loaded(target, (head,))
    assert [each.name for each in window.stats(alone).by_method] == ["autoregressive", "eagle3"]
    for kind in KINDS:
        measured = window.program.compare.runs[kind]
        window.program.compare.start(kind, PROMPT, CompareSettings(repeats=1, tokens=6))
        window.wait(partial(_is_over, measured))
        assert (measured.status, measured.problem) == ("done", "")
        assert measured.report is not None
        assert all(way.acceptance_rate is not None for way in measured.report.ways if way.name.isdecimal())
        assert "demo-head" in sweep_text(measured.report, PROMPT)
    race = window.program.compare.runs["compare"].race
    assert race is not None
    assert race.identical
    window.controller.new_chat()
    window.models.choose_draft(None)
    plain = window.ask(PROMPT)
    assert window.stats(plain).proposed == 0
    assert window.models.list.loaded == Loaded(target)
    assert window.shown(plain) == text


def test_both_are_chosen_and_remembered(
    open_window: OpenWindow, open_files: Callable[..., Window], files: Files
) -> None:
    """What each of them proposes is counted as its own; the head is not loaded anew where only the model goes."""
    target, head, draft = files
    window = open_files(lookahead=3)
    _pick(window, BOTH)
    bar = window.main.bar
    assert bar.draft.currentText() == BOTH
    assert "each round takes the one that promises more" in bar.draft.toolTip()
    assert "It is not loaded yet." in bar.draft.toolTip()
    decoder = window.program.bridge._decoder
    exchange = window.ask(PROMPT)
    assert window.models.list.loaded == Loaded(target, (head, draft))
    assert "It is not loaded yet." not in bar.draft.toolTip()
    methods = {each.name for each in window.stats(exchange).by_method}
    assert methods == {"autoregressive", "eagle3"}, "a head with a fixed lookahead begins behind the first token"
    kept = window.program.conversations.open
    assert kept is not None
    assert [message.draft for message in kept if message.role == "assistant"] == ["demo-head + demo-draft"]
    rows = {row.path: row for row in window.models.library.rows()}
    assert [rows[path].loaded for path in files] == ["target", "draft", "draft"]
    heads, model = decoder.heads, decoder.draft
    window.models.choose_draft(head)
    window.ask("And then?")
    assert window.models.list.loaded == Loaded(target, (head,))
    assert (decoder.heads, decoder.draft) == (heads, None)
    window.models.choose_draft((head, draft))
    window.ask("And then?")
    window.models.choose_draft(draft)
    assert {each.name for each in window.stats(window.ask("And then?")).by_method} == {"draft-model"}
    assert decoder.heads is None
    assert decoder.draft not in (None, model)
    window.models.choose_draft((head, draft))
    chosen, folder = window.models.list.selection, target.parent
    assert window.close()
    later = open_window(pair=(target, draft), models_folder=folder)
    later.wait(lambda: later.models.settled)
    assert later.models.list.selection == chosen == Selection(target, (head, draft), 3, "model", own_method=True)
    assert later.models.list.loaded == Loaded(target, (head, draft))


def test_one_of_them_cannot_be_loaded(open_files: Callable[..., Window], files: Files) -> None:
    """The other one drafts without it, and automatic does not try it again."""
    target, head, draft = files
    window = open_files(drafting="none", lookahead="auto")
    draft.write_bytes(draft.read_bytes()[:5000])
    window.models.choose_draft("automatic")
    assert window.models.list.selection.sources == (head, draft)
    assert "Cannot load" in window.said(window.ask(PROMPT))
    window.wait(lambda: window.models.settled)
    assert window.models.list.selection == Selection(target, (head,), "auto", "automatic", own_method=True)
    assert window.ask(PROMPT).status == "done"
    assert window.models.list.loaded == Loaded(target, (head,))


def test_what_was_chosen_before(tmp_path: Path) -> None:
    target, head, draft = (tmp_path / f"{name}.gguf" for name in ("target", "head", "draft"))
    kept = Settings(target=str(target), sources=[str(head), str(draft)], drafting="model")
    wanted = Selection(target, (head, draft), "auto", "model")
    for path in (target, head):
        path.touch()
    models = ModelList(None)
    assert _choose_as_before(models, kept) == wanted
    assert models.selection == Selection(target, (), "auto", "automatic")
    draft.touch()
    assert _choose_as_before(models, kept) is None
    assert models.selection == wanted
