"""Replies are drafted from the chats that are kept; a chat that is deleted leaves nothing in the index."""

from pathlib import Path

import numpy as np
import pytest

from app.settings.settings import Settings
from app.shell import own_texts
from app.system.places import texts_folder
from engine import open_corpus
from helpers.window.app_window import OpenWindow, Window

STORY = "Tell me a story about a fox and an owl who live by the river."


def _documents(window: Window) -> int:
    decoder = window.program.bridge.current_decoder()
    corpus = None if decoder is None else decoder.corpus
    return 0 if corpus is None else corpus.documents


def test_a_kept_chat_drafts_and_goes_with_the_chat(
    open_window: OpenWindow, demo_pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_texts, "_WAIT_MS", 300)
    settings = Settings(lookahead="auto", sampling={"max_tokens": 24, "temperature": 0.0})
    folder = texts_folder(tmp_path / "conversations.sqlite3")
    window = open_window(pair=demo_pair, settings=settings)
    reply = window.ask(STORY).reply
    window.wait(lambda: _documents(window) == 1)
    decoder = window.program.bridge.current_decoder()
    assert decoder is not None
    assert decoder.target is not None
    tokens = decoder.target.tokenizer.encode(reply, add_special=False, parse_special=False)
    # What was there when the models came may be the question alone.
    window.wait(lambda: decoder.corpus is not None and decoder.corpus.search(tokens[:8]))
    found = open_corpus(folder, decoder.target.tokenizer, decoder.target.vocab_size).search(tokens[:8])
    assert found is not None
    assert found.passage(4) == tokens[8:12]
    # A chat that goes on is read again alone.
    whole: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(window.program.bridge, "draft_from", lambda *given: whole.append(given))
        more = window.ask("And then?").reply
        later = decoder.target.tokenizer.encode(more, add_special=False, parse_special=False)[:8]
        window.wait(lambda: decoder.corpus is not None and decoder.corpus.search(later))
        assert (_documents(window), whole) == (1, [])
    conversations = window.program.conversations
    chat = conversations.open
    assert chat is not None
    conversations.delete(chat.id)
    window.wait(lambda: _documents(window) == 0)
    words = np.array(tokens[2:6], dtype="<u4").tobytes()
    assert not any(words in path.read_bytes() for path in folder.rglob("*.own"))
    # One switch, and nothing is indexed any more.
    window.program.controller.new_chat()
    window.ask(STORY + " Now!")
    window.wait(lambda: _documents(window) == 1)
    window.program.settings.own_texts = False
    window.wait(lambda: _documents(window) == 0 and not list(folder.rglob("*.own")))
    assert window.close()
