"""A user who is in a hurry: quits in the middle of things, deletes what is being written, imports what is damaged."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.store import Store
from helpers import xvfb
from helpers.window.walk import OTHER_STORY, STORY, Walk
from helpers.window.walker import Walker

ROUND_S = 0.06
"""What makes a reply of the demo pair take two seconds."""
QUIT_S = 3.0
"""The longest that quitting may take: two seconds, and some for this test's own processes."""
SMALLEST = (720, 480)

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not (xvfb.available() and shutil.which("xdotool")), reason="Xvfb or xdotool is not installed"),
]


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    """The program with a slow engine, at its beginning."""
    home = tmp_path / "new-home"
    home.mkdir()
    with xvfb.x_server("1280x800x24") as display:
        walker = Walker(display, home, round_s=ROUND_S)
        walker.start()
        try:
            yield Walk(walker, tmp_path / "models", None, "")
        finally:
            walker.kill()


def begin_reply(walk: Walk, question: str) -> None:
    """Ask; wait until some of the reply is there, but not all."""
    walker = walk.walker
    walker.click(object="prompt")
    walker.type(question)
    walker.key("Return")
    walker.wait(lambda: any(len(text) > 20 for text in walk.replies()[-1:]), "the first words")
    walker.find("Cancel", object="send")


def quit_quickly(walk: Walk) -> None:
    """Ctrl+Q: it ends at once and complains about nothing."""
    walk.walker.key("ctrl+q")
    code, err, seconds = walk.walker.ended()
    assert (code, err) == (0, "")
    assert seconds < QUIT_S


def messages(walk: Walk) -> list[tuple[str, str]]:
    """Role and status of what is kept of the first conversation."""
    store = Store.open(walk.walker.home / "data" / "outrider" / "conversations.sqlite3")
    try:
        conversation = store.load(store.conversations()[0].id)
        assert conversation is not None
        return [(message.role, message.status) for message in conversation.path]
    finally:
        store.close()


def test_quitting_in_the_middle(walk: Walk) -> None:
    walker = walk.walker
    begin_reply(walk, STORY)
    quit_quickly(walk)
    kept = messages(walk)
    assert [role for role, _ in kept] == ["user", "assistant"]
    walker.start()
    walker.find(object="questionText", text=STORY)
    # A long reply is drawn part by part.
    walker.wait(lambda: len("\n".join(walk.replies())) > 20, "the beginning of the reply")
    begun = "\n".join(walk.replies())
    walker.hover(walker.find(object="replyText"))
    walker.click("Continue this reply")
    walker.wait(lambda: any("the end of the story." in text for text in walk.replies()), "the rest of the reply")
    walker.find("Send")
    assert "\n".join(walk.replies()).startswith(begun)  # A reply may be drawn in one part or in several.
    walker.key("ctrl+shift+c")
    title = "Compare plain and speculative decoding"
    walker.click("Start", window=title)
    walker.find("Cancel", window=title)
    quit_quickly(walk)


@pytest.mark.soak
def test_deleting_what_is_being_written(walk: Walk) -> None:
    walker = walk.walker
    begin_reply(walk, STORY)
    walk.menu(STORY, "Delete")
    walker.reads("What would you like to talk about?")
    assert walk.conversations() == []
    walker.click("Undo")
    walker.wait(lambda: len(walk.conversations()) == 2, "the conversation again")
    walker.find(object="questionText", text=STORY)
    assert len(walker.wait(walk.replies, "what was written")[0]) > 20
    walker.find("Send")
    begin_reply(walk, OTHER_STORY)
    walk.menu(STORY, "Delete")
    quit_quickly(walk)
    walker.start()
    walker.reads("What would you like to talk about?")
    assert walk.conversations() == []


@pytest.mark.soak
def test_what_is_damaged_and_what_is_long(walk: Walk, tmp_path: Path) -> None:
    walker = walk.walker
    damaged = tmp_path / "damaged.json"
    damaged.write_text('{"messages": [{"role": "user", "text"', encoding="utf-8")
    walker.click("Import a chat…")
    walker.answer("Import chats", damaged)
    walker.reads("damaged.json")
    assert walk.conversations() == []
    begin_reply(walk, STORY)
    walk.replied(STORY)
    long = "🐉 שלום " + "a dragon whose name is longer than the list is wide, " * 4
    walk.rename(long[:60], long)
    assert 190 < len(walk.conversations()[-1]) <= 200
    walker.resize(*SMALLEST)
    walker.wait(lambda: walker.find(object="prompt").place[2] > 300, "the prompt")
    assert not walker.sees("New chat"), "no room for the list"
    for name in ("Target", "Draft", "Lookahead"):
        assert walker.find(name, kind="Picker").place[2] > 40
    walker.click("Show or hide the chat list")
    walker.find("New chat")
    x, _, width, _ = walker.find(object="chat").place
    assert width >= 420
    assert x + width <= SMALLEST[0]
    quit_quickly(walk)
