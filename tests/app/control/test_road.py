"""The other road: a new version of a reply that keeps everything before a token, in the window with real models."""

from pathlib import Path

from app.settings.settings import Settings
from app.state.chat.intents import GoOn
from app.state.chat.transcript import Exchange
from engine import load
from helpers.window.app_window import OpenWindow, Window

Pair = tuple[Path, Path]


def go_on(window: Window, exchange: Exchange, index: int, given: str | int) -> Exchange:
    """Take the other road, and wait until its end."""
    window.controller.carry_out(GoOn(exchange, index, given))
    new = window.controller.transcript.entries[-1]
    assert isinstance(new, Exchange)
    assert new is not exchange
    window.wait(lambda: new.ended and not window.controller.busy, 60_000)
    return new


def test_a_reply_goes_on_from_a_token(open_window: OpenWindow, demo_pair: Pair) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
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
    assert (new.reply_branch, new.status) == ((2, 2), "done")
    stored = window.controller.conversations.open
    assert stored is not None
    assert stored[new.reply_id or 0].text == new.reply
    assert window.view(new).reply_actions.picker.place.text() == "2/2"

    words = go_on(window, new, 3, "dragons are shy")
    assert words.trace is not None
    assert words.reply.startswith("".join(map(trace.text_of, range(3))))
    assert "dragons are shy" in words.reply[: len(trace[3].text) + 60]
    assert words.trace.tokens[:3] == trace.tokens[:3]
    assert words.reply_branch == (3, 3)
    second = window.ask("And more?", 60_000)
    assert second.status == "done"
