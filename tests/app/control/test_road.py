"""The other road: a new version of a reply that keeps everything before a token, in the window with real models."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.control.replies import DRAIN_MS
from app.settings.settings import Settings
from app.state.chat.intents import GoOn
from app.state.chat.transcript import Exchange
from app.views.tokens.road import RoadCard
from engine import load
from engine.backends.caches_in_memory import FEW
from helpers.models.published import QWEN, QWEN_DRAFT, published
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]


def go_on(window: Window, exchange: Exchange, index: int, given: str | int, *, clock_ms: int = DRAIN_MS) -> Exchange:
    """Take the other road, and wait until its end. The first token waits for no clock, be it ever so slow."""
    clock = window.controller.replies._timer
    clock.setInterval(clock_ms)
    window.controller.carry_out(GoOn(exchange, index, given))
    new = window.last()
    assert new is not exchange
    begun = new.reply
    window.wait(lambda: new.reply != begun or new.ended)
    clock.setInterval(DRAIN_MS)
    window.wait(lambda: new.ended and not window.controller.busy, 60_000)
    return new


def test_a_reply_goes_on_from_a_token(open_window: OpenWindow, demo_pair: Pair, tmp_path: Path) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4, tokens_colored=True))
    read: list[int] = []
    window.controller.replies.ended.connect(lambda pending: read.append(pending.result.prompt_evaluated))
    first = window.ask("What is Outrider?", 60_000)
    window.controller.conversations.load_trace(first)
    trace = first.trace
    assert trace is not None
    place = len(trace) // 2
    other = trace[place].alternatives[1]
    new = go_on(window, first, place, other.token)
    kept = "".join(map(trace.text_of, range(place)))
    assert new.trace is not None
    assert new.reply.startswith(kept + (other.text or ""))
    assert new.reply == new.trace.text
    assert new.trace.tokens[: place + 1] == (*trace.tokens[:place], other.token)
    assert new.trace.origin(place) == "forced"
    with load(*demo_pair) as decoder:
        begun = new.trace.tokens[: place + 1]
        whole = decoder.generate("What is Outrider?", prefix=begun, lookahead=4)
    assert new.trace.tokens[place + 1 :] == whole.tokens, "what the engine gives for that prefix"
    stats = window.stats(new)
    assert stats.emitted == len(new.trace)
    assert read[1] == 1, "nothing of the prompt is read again"
    assert (new.reply_branch, new.status) == ((2, 2), "done")
    stored = window.controller.conversations.open
    assert stored is not None
    assert stored[new.reply_id or 0].text == new.reply
    assert window.view(new).reply_actions.picker.place.text() == "2/2"

    names = ("demo-target", "demo-target.Q8_0", "demo")
    named = [window.models.goes_by(demo_pair[0], name) for name in names]
    assert named == [True, True, False], "also a reply that was written before the file was read has its tokens"

    words = go_on(window, new, 3, "dragons are shy", clock_ms=1_000_000)
    assert words.trace is not None
    assert words.reply.startswith("".join(map(trace.text_of, range(3))))
    assert "dragons are shy" in words.reply[: len(trace[3].text) + 60]
    assert words.trace.tokens[:3] == trace.tokens[:3]
    assert words.reply_branch == (3, 3)
    by_mouse_and_keys(window, words)
    take_along(window, tmp_path)


ASKED = "State the quadratic formula in LaTeX between $$ and $$. Then write a Python function that adds two numbers."


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_a_published_models_reply_goes_on_from_twenty_tokens(open_window: OpenWindow, tmp_path: Path) -> None:
    """Also in the middle of code, of a formula and of a thought, and after an import."""
    target, draft = published(QWEN, QWEN_DRAFT)
    settings = Settings(lookahead=4, sampling={"max_tokens": 220, "temperature": 0.0})
    window = open_window(pair=(target, draft), settings=settings, ready=False)
    read: list[int] = []
    window.controller.replies.ended.connect(lambda pending: read.append(pending.result.prompt_evaluated))
    first = window.ask(ASKED, 600_000)
    choices = window.controller.choices
    choices.choose(replace(choices.own, max_tokens=24))
    trace = first.trace
    assert trace is not None
    reply = first.reply
    assert "```" in reply
    assert "$$" in reply or "\\[" in reply
    formula, code = (
        next(place for place in range(len(trace)) if said in trace.text_of(place)) for said in ("frac", "def")
    )
    step = max(len(trace) // 17, 1)
    places = sorted({*range(1, len(trace) - 1, step), formula, code + 2})[:20]
    assert code + 2 in places
    with load(target) as decoder:
        for place in places:
            kept = "".join(map(trace.text_of, range(place)))
            new = go_on(window, first, place, trace[place].alternatives[1].token)
            assert new.trace is not None
            assert new.reply.startswith(kept)
            assert read[-1] <= FEW, "of what was read or written before nothing is read again, whatever came between"
            begun = new.trace.tokens[: place + 1]
            assert begun == (*trace.tokens[:place], trace[place].alternatives[1].token)
            whole = decoder.generate(ASKED, prefix=begun, lookahead=0, max_tokens=23, temperature=0.0)
            assert new.trace.tokens[place + 1 :] == whole.tokens[: len(new.trace) - place - 1]
    thinks = go_on(window, first, 0, "<think>\nLet me think. First, the function")
    assert thinks.trace is not None
    place = len(thinks.trace) - 8
    again = go_on(window, thinks, place, thinks.trace[place].alternatives[1].token)
    assert again.trace is not None
    assert again.trace.tokens[:place] == thinks.trace.tokens[:place]
    take_along(window, tmp_path, len(places) + 4)


def press(key: Qt.Key) -> None:
    """Press a key where the keyboard is."""
    focus = QApplication.focusWidget()
    assert focus is not None
    QTest.keyClick(focus, key)


def by_mouse_and_keys(window: Window, exchange: Exchange) -> None:
    """A click on a token opens the card; Esc leaves it, Enter goes on with the best other token."""
    tokens = window.view(exchange).tokens
    assert tokens is not None
    window.wait(lambda: window.view(exchange).reply.is_settled)
    layer, page = tokens.layer, window.view(exchange).reply.texts[-1].page
    index = next(place for place in range(4, len(layer.trace)) if layer.trace.text_of(place).strip())
    inside = page.viewport().mapFrom(window.view(exchange).reply, layer.place_of(index).center())
    QTest.mouseClick(page.viewport(), Qt.MouseButton.LeftButton, pos=inside)
    card = window.main.findChild(RoadCard)
    assert card is not None
    record = layer.trace[index]
    assert [token for _, token in card.choices] == [other.token for other in record.alternatives]
    press(Qt.Key.Key_Escape)
    window.wait(lambda: window.main.findChild(RoadCard) is None)
    page.setFocus(Qt.FocusReason.TabFocusReason)
    layer.go(index)
    QTest.keyClick(page, Qt.Key.Key_Return)
    card = window.main.findChild(RoadCard)
    assert card is not None
    best = next(other for other in record.alternatives if other.token != record.token)
    assert [token for choice, token in card.choices if choice.isChecked()] == [best.token]
    press(Qt.Key.Key_Return)
    new = window.last()
    window.wait(lambda: new.ended and not window.controller.busy, 60_000)
    assert new.reply_branch == (4, 4)
    assert new.trace is not None
    assert new.trace.tokens[: index + 1] == (*layer.trace.tokens[:index], best.token)


def take_along(window: Window, folder: Path, versions: int = 5) -> None:
    """A chat that is exported and imported again goes on too, from the tokens."""
    conversation = window.controller.conversations.open
    assert conversation is not None
    window.export(conversation.id, "json", folder / "chat.json")
    window.controller.new_chat()
    window.import_(folder / "chat.json")
    shown = window.last()
    window.controller.conversations.load_trace(shown)
    trace = shown.trace
    assert trace is not None
    new = go_on(window, shown, 5, trace[5].alternatives[2].token)
    assert new.trace is not None
    assert new.trace.tokens[:6] == (*trace.tokens[:5], trace[5].alternatives[2].token)
    assert new.reply_branch == (versions, versions)
