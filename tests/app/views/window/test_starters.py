"""What an empty chat offers to ask: of the demo what it knows, of other targets what anybody asks, in the language."""

from pathlib import Path

from app.settings.settings import Settings
from app.system.resources import starter_prompts
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow

Pair = tuple[Path, Path]


def test_starters_fit_the_target_and_the_language(open_window: OpenWindow, tmp_path: Path, demo_pair: Pair) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(demo_pair[1].read_bytes())
    window = open_window(Script(), pair=demo_pair, settings=Settings(language="de"))
    cards = window.main.welcome
    own = [card.prompt for card in cards.cards]
    assert own == [starter.prompt for starter in starter_prompts()], "the demo knows English alone"
    window.models.choose_target(other)
    general = [starter.prompt for starter in starter_prompts("general_prompts.json")]
    asked = [card.prompt for card in cards.cards]
    assert len(asked) == len(general)
    assert not set(asked) & set(own)
    assert not set(asked) & set(general), "they are in German"
    cards.cards[0].click()
    assert window.first().question == asked[0]
    window.wait(lambda: not window.controller.busy)
    window.controller.new_chat()
    window.models.choose_target(demo_pair[0])
    assert [card.prompt for card in cards.cards] == own
