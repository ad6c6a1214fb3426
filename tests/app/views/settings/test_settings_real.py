"""What is chosen in the settings, with real models."""

from pathlib import Path

import pytest

from app.settings.settings import Settings
from app.state.chat.intents import Continue, Regenerate
from app.state.chat.transcript import Exchange
from helpers.window.app_window import OpenWindow, Window
from helpers.window.settings_window import open_settings, put, windows

ASKED = "Tell me about something else."


def once_more(window: Window, **texts: str) -> Exchange:
    """Have the question answered again, with something else in the fields."""
    dialog = windows(window).dialog
    assert dialog is not None
    put(dialog.generation, **texts)
    window.controller.carry_out(Regenerate(window.first()))
    exchange = window.first()
    window.ended(exchange, 60_000)
    return exchange


@pytest.mark.timeout(120)
def test_real_sampling(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
    put(open_settings(window).generation, temperature="0.8", seed="11", max_tokens="24")
    first = window.ask(ASKED, 60_000)
    assert first.finish_reason == "length"
    assert window.stats(first).emitted == 24
    assert once_more(window).reply == first.reply, "the same seed"
    assert once_more(window, seed="12").reply != first.reply, "another seed"
    assert once_more(window, temperature="0").reply == once_more(window, seed="11").reply, "greedy needs no seed"
    # a stop string ends it, and is not in it
    word = first.reply.split()[5]
    cut = once_more(window, temperature="0.8", stop=word, max_tokens="")
    assert cut.finish_reason == "stop"
    assert cut.reply == first.reply[: first.reply.index(word)]


@pytest.mark.timeout(120)
def test_a_real_system_prompt_and_a_restart(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    window = open_window(pair=demo_pair)
    put(open_settings(window).generation, temperature="0.8", seed="11", max_tokens="12")
    plain = window.ask(ASKED, 60_000)
    read = window.stats(plain)
    told = once_more(window, system="You are a pirate. Answer in rhymes and never say what you are.")
    assert told.reply != plain.reply
    assert window.stats(told).emitted == read.emitted == 12
    before = window.controller.choices.own
    assert window.close()
    after = open_window(pair=demo_pair)
    shown = after.first()
    assert after.controller.choices.own == before
    assert shown.reply == told.reply
    assert shown.unfinished, "it was ended by the number of tokens"
    reply = shown.reply
    after.controller.carry_out(Continue(shown))
    after.ended(shown, 60_000)
    assert shown.reply.startswith(reply)
    assert 12 < after.stats(shown).emitted <= 24, "it is counted as a whole"
