"""What the window shows is what the store has: lines, figures, meter, pickers and versions, chat after chat.

A walk over six kinds of chats: one that is answered, one that waits, a new one, an edited reply, a reply that was cut,
and one that goes on. At each stop everything is compared with what is read from the disk.
"""

from functools import partial

import pytest

from app.control import context
from app.settings.settings import Settings
from app.state.chat.intents import Continue, EditReply, Regenerate, ShowVersion
from app.state.chat.transcript import Exchange
from app.state.conversations.stored import exchanges
from app.system.translation import number
from app.views.chat.exchange import ExchangeView
from app.words.context import context_words
from app.words.figures import summary
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


def kept(window: Window) -> list[Exchange]:
    """The shown chat as it is on the disk."""
    shown = window.program.conversations.open
    found = None if shown is None else window.program.conversations.store.store.load(shown.id)
    return [] if found is None else exchanges(found)


def entries(window: Window) -> list[Exchange]:
    return [entry for entry in window.controller.transcript.entries if isinstance(entry, Exchange)]


def told(exchange: Exchange) -> tuple[object, ...]:
    """What is kept of an exchange; a reply that is not written yet is kept as one that would be interrupted."""
    branches = exchange.question_branch, exchange.reply_branch
    return exchange.question, exchange.reply, exchange.status, exchange.finish_reason, exchange.models, *branches


def drawn(view: ExchangeView) -> bool:
    """True if all of its reply is drawn."""
    return not view.exchange.reply or view.reply.is_settled


def count(text: str) -> int:
    """Tokens, as the scripted decoder counts them."""
    return (len(text) + 3) // 4


def check(window: Window, typed: str = "") -> None:
    """Compare all that is shown with the store, while the shown chat waits for nothing."""
    window.wait(lambda: [told(each) for each in kept(window)] == [told(each) for each in entries(window)])
    found = kept(window)
    for shown, each in zip(entries(window), found, strict=True):
        view = window.view(shown)
        assert view.question.text.toPlainText() == each.question
        window.wait(partial(drawn, view))
        assert not each.reply or window.shown(shown) == each.reply.strip()
        assert (view.summary.text(), view.summary.toolTip()) == (summary(each), each.models)
        assert view.reply_actions.picker.place.text() == "{}/{}".format(*each.reply_branch)
        assert view.again_button.isHidden() == each.answered
    check_panel(window, found)
    check_meter(window, found, typed)
    check_pickers(window)
    titles = {each.title for each in window.program.conversations.store.store.conversations()}
    assert titles == {row.title for row in window.program.conversations.list.rows if hasattr(row, "title")}


def check_panel(window: Window, found: list[Exchange]) -> None:
    """It shows the last reply that has figures, else none; also while another chat is answered."""
    panel, last = window.main.panel, next((each for each in reversed(found) if each.stats is not None), None)
    stats = None if last is None else last.stats
    if last is None or stats is None:
        window.wait(lambda: panel.hint.isVisible() and not panel.reply.toolTip())
        return
    window.wait(lambda: panel.reply.toolTip() == f"Reply to “{last.question}”" and panel.is_drawn)
    right = {"rounds": stats.rounds, "proposed": stats.proposed, "accepted": stats.accepted}
    assert {name: panel.counters[name].text() for name in right} == {name: number(each) for name, each in right.items()}


def check_meter(window: Window, found: list[Exchange], typed: str) -> None:
    """It counts what the model would read."""
    tokens = sum(count(each.question) + count(each.reply) for each in found if each.answered) + count(typed)
    window.wait(lambda: (use := window.program.context.use) is not None and use.used == tokens)
    assert window.main.meter.isVisible()
    assert window.main.meter.text() == context_words(window.program.context.use) == f"{number(tokens)} of 4,096 tokens"


def check_pickers(window: Window) -> None:
    """They show what is chosen, which is what is loaded and what the settings keep."""
    chosen, bar = window.models.list.selection, window.main.bar
    for picker, path in ((bar.target, chosen.target), *((bar.draft, path) for path in chosen.sources)):
        assert window.models.name_of(path) in picker.currentText()
    assert window.program.bridge.loaded == chosen.files
    assert (bar.lookahead.currentText(), window.program.settings.lookahead) == ("4", 4)


def test_a_walk_over_chats(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "WAIT_MS", 20)
    script = Script(lambda messages: f"{len(messages)}" + " word" * (800 if "long" in messages[-1].content else 20))
    window = open_window(script, settings=Settings(lookahead=4))
    check(window)
    window.ask("What is this?")
    window.ask("And that?")
    check(window)
    cut = one_is_written_one_waits_one_is_new(window, script)
    assert cut.unfinished
    window.controller.carry_out(Continue(entries(window)[-1]))
    window.ended(entries(window)[-1])
    check(window)
    an_edited_reply(window)
    script.read_s = 0.5
    lost = window.send("Nobody answers this")
    window.controller.cancel()
    window.ended(lost)
    check(window)


def one_is_written_one_waits_one_is_new(window: Window, script: Script) -> Exchange:
    """Return the reply that was written meanwhile; it is cut, and its chat is shown."""
    first = window.program.conversations.open
    assert first is not None
    script.round_s = 0.05
    writing = window.send("Go on for long")
    window.wait(lambda: writing.status == "writing")
    window.controller.new_chat()
    check(window)
    window.type("half a question")
    check(window, "half a question")
    waiting = window.send("I wait")
    assert window.controller.activity.work == "queued"
    second = window.program.conversations.open
    assert second is not None
    window.controller.new_chat()
    check(window)
    assert not writing.ended, "all of that while it was written"
    window.controller.open(first.id)
    assert window.main.panel.reply.toolTip() == "Reply to “Go on for long”"
    window.controller.cancel()
    script.round_s = 0.0
    window.ended(writing)
    check(window)
    window.wait(lambda: waiting.ended)
    window.controller.open(second.id)
    check(window, window.prompt.edit.toPlainText())
    window.controller.open(first.id)
    return writing


def an_edited_reply(window: Window) -> None:
    """Edit one, have another one generated, and go from version to version."""
    window.controller.carry_out(EditReply(entries(window)[0], "Something else."))
    check(window)
    window.controller.carry_out(Regenerate(entries(window)[0]))
    window.ended(entries(window)[0])
    check(window)
    for step in (-1, -1, 1):
        window.controller.carry_out(ShowVersion(entries(window)[0], "reply", step))
        check(window)
