"""The register of export formats: whatever is entered there can be named, written, and read where it says so."""

from itertools import count
from pathlib import Path

import pytest

from app.state.conversations.conversation import Conversation, StoredMessage
from app.state.conversations.files import ConversationRefused, to_json, write_file
from app.state.conversations.formats import FORMATS, READERS, import_file
from app.state.conversations.markdown import Words
from engine import Translatable


def _conversation() -> Conversation:
    conversation = Conversation(1, 1_700_000_000.0, title="Rivers")
    conversation.add(StoredMessage(2, None, "user", "Which is the longest river?", 1_700_000_001.0))
    conversation.add(StoredMessage(3, 2, "assistant", "The **Nile** & others: `a < b`", 1_700_000_002.0, "done"))
    return conversation


def test_each_is_told_from_the_others() -> None:
    assert [each.name for each in FORMATS.values()] == list(FORMATS)
    for attribute in ("suffix", "menu", "kind"):
        assert len({getattr(each, attribute) for each in FORMATS.values()}) == len(FORMATS), attribute


@pytest.mark.parametrize("name", FORMATS)
def test_it_can_be_named_in_menus_and_dialogs(name: str) -> None:
    each = FORMATS[name]
    assert each.name.isidentifier()
    assert each.suffix.startswith(".")
    assert each.suffix == each.suffix.lower()
    assert isinstance(each.menu, Translatable)
    assert each.menu.endswith("…")
    assert isinstance(each.kind, Translatable)
    assert each.kind.endswith(f" (*{each.suffix})")


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read_again_or_is_not_imported(name: str, tmp_path: Path) -> None:
    each, conversation = FORMATS[name], _conversation()
    path = tmp_path / f"exported{each.suffix}"
    write_file(path, each.write(conversation, Words(), {3: b"trace"} if each.with_traces else {}))
    written = path.read_text(encoding="utf-8")
    assert "Rivers" in written
    assert "Which is the longest river?" in written
    if each.read is None:
        assert each.suffix not in READERS
        with pytest.raises(ConversationRefused):
            import_file(path, count(10).__next__)
        return
    imported = import_file(path, count(10).__next__)
    assert to_json(imported.conversation, imported.traces) == to_json(conversation, {3: b"trace"})


def test_without_a_known_suffix_it_is_taken_for_json(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text(to_json(_conversation()), encoding="utf-8")
    imported = import_file(tmp_path / "kept.txt", count(10).__next__)
    assert to_json(imported.conversation) == to_json(_conversation())
