"""The conversation on the screen as it changes: what is deleted, branches, conversations, replies that go on."""

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.state.chat.intents import Continue
from app.state.chat.transcript import Exchange, Notice, Problem
from app.views.chat.column import GAP, MARGIN
from app.views.chat.transcript import TranscriptView
from helpers.window.transcript import asked, check_stack, in_sight, place_on_screen, seen, settle, shown_text, talk


def test_what_is_deleted_leaves_the_rest_in_place(view: TranscriptView, qtbot: QtBot) -> None:
    entries = talk(100)
    view.show_all(entries)
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view, qtbot)
    shown = in_sight(view)
    kept, gone = shown[0], shown[1]
    before, widget = place_on_screen(view, kept), view.view_of(kept)
    entries = [entry for entry in entries if entry is not gone and entry is not entries[3]]
    view.show_all(entries)
    settle(view, qtbot)
    assert place_on_screen(view, kept) == before
    assert view.view_of(kept) is widget
    assert view.view_of(gone) is None
    assert view.entries == tuple(entries)
    check_stack(view)


def test_another_branch_read_anew_from_the_store(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all(talk(60))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(view, qtbot)
    first, stepped = in_sight(view)[:2]
    place = view.entries.index(stepped)
    assert isinstance(stepped, Exchange)
    before, widget = place_on_screen(view, first), view.view_of(first)
    again = [asked(number) for number in range(place)]
    other = asked(place, "Another reply.", reply_id=9_999, reply_branch=(2, 2))
    view.show_all([*again, other, asked(500), asked(501)])
    settle(view, qtbot)
    assert view.view_of(again[place - 1]) is widget, "the same messages keep their view"
    assert place_on_screen(view, again[place - 1]) == before
    assert "Another reply." in shown_text(view, other)
    assert not view.following


def test_another_conversation_opens_at_its_end(view: TranscriptView, qtbot: QtBot) -> None:
    view.show_all(talk(60))
    view.verticalScrollBar().setValue(100)
    other = [asked(number) for number in range(1_000, 1_030)]
    view.show_all(other)
    settle(view, qtbot)
    bar = view.verticalScrollBar()
    assert view.following
    assert bar.value() == bar.maximum()
    assert in_sight(view)[-1] is other[-1]
    view.clear()
    assert not view.entries
    assert bar.maximum() == 0
    assert not view.jump_button.isVisible()
    view.add(Notice(Problem("No model was found.")))
    view.add(asked(1))
    settle(view, qtbot)
    notice = view._views.get(view.entries[0])
    assert notice is not None
    assert notice.y() == MARGIN
    assert notice.height() == notice.needed
    assert place_on_screen(view, view.entries[1]) == MARGIN + notice.height() + GAP


def test_a_reply_goes_on_where_it_ended(view: TranscriptView, qtbot: QtBot) -> None:
    cut = asked(1, "Once upon", status="interrupted")
    view.show_all([asked(0), cut])
    settle(view, qtbot)
    found = seen(view, cut)
    assert found.summary.text() == "Outrider ended before this reply was complete."
    with qtbot.waitSignal(view.intent) as caught:
        qtbot.mouseClick(found.continue_button, Qt.MouseButton.LeftButton)  # type: ignore[no-untyped-call]
    assert caught.args == [Continue(cut)]
    cut.continue_()
    view.refresh(cut)
    cut.add(" a time.")
    view.grow(cut)
    cut.status = "done"
    view.end(cut)
    settle(view, qtbot)
    assert shown_text(view, cut).endswith("End of 1. a time.")
    assert shown_text(view, cut).count("Once upon") == 1
