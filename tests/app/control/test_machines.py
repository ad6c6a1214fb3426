"""A target on two other machines in the window: set in its options, one of them gone in the middle of a reply."""

from pathlib import Path

from app.settings.settings import Settings
from app.state.models.load_options import LoadChoice
from helpers.models.machines import machines
from helpers.window.app_window import OpenWindow

STORY = "Tell me a long story about a lonely lighthouse and the sea."


def test_a_machine_that_goes_away(open_window: OpenWindow, demo_pair: tuple[Path, Path]) -> None:
    with machines(2) as (one, other):
        window = open_window(pair=demo_pair, settings=Settings(lookahead=4))
        local = window.ask(STORY).reply
        target = demo_pair[0]
        window.models.set_options(target, LoadChoice(rpc=f"{one.address}, {other.address}"))
        window.main.new_chat_wanted.emit()
        there = window.ask(STORY)
        assert there.status == "done"
        assert there.reply == local
        window.main.new_chat_wanted.emit()
        broken = window.send(STORY)
        window.wait(lambda: broken.reply)
        other.end()
        window.ended(broken)
        assert broken.status == "failed"
        assert broken.reply, "what was written stays"
        said = window.said(broken)
        assert other.address in said
        assert "\n" not in said
        assert window.problem(broken).problem.details is None
        window.models.set_options(target, LoadChoice())
        window.main.new_chat_wanted.emit()
        again = window.ask(STORY)
        assert again.status == "done"
        assert again.reply == local
