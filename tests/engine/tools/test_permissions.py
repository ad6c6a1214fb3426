"""What a person allowed: for how long, of which tool, and that it is kept for the owner alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine import InvalidRequest, Permission, Permissions, Tool
from helpers.tools.fake_tools import tool


def test_answers_last_as_long_as_they_say(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "permissions.json"
    kept, read = Permissions(path), tool("read")
    answers = iter([Permission.once, Permission.chat])
    ask = kept.asking(lambda *_: next(answers))
    assert [ask(read, {}) for _ in range(3)] == [Permission.once, Permission.chat, Permission.chat]
    kept.begin_chat()
    assert kept.given(read) is None
    kept.keep(read, Permission.always)
    assert path.stat().st_mode & 0o777 == 0o600
    again = Permissions(path)
    assert again.given(read) is Permission.always
    # What says something else of itself is another tool.
    assert again.given(replace(read, description="Deletes all.")) is None
    again.keep(read, Permission.never)
    assert Permissions(path).given(replace(read, description="Changed.")) is Permission.never
    again.forget(read)
    assert Permissions(path).given(read) is None


def test_a_tool_that_nothing_was_answered_for_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parameters may be long, and a list of hundreds of tools asks for each."""
    monkeypatch.setattr(Tool, "digest", property(lambda _: pytest.fail("read")))
    assert Permissions().given(tool("write", writes=True)) is None
    assert not Permissions().may_be_always(tool("write", writes=True))


def test_what_writes_is_not_allowed_always_but_on_its_page(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    kept, write = Permissions(path), tool("write", writes=True)
    assert Permission.always not in kept.choices(write)
    with pytest.raises(InvalidRequest, match="on its own page"):
        kept.keep(write, Permission.always)
    kept.allow_writing_always(write, allowed=True)
    kept.keep(write, Permission.always)
    assert Permissions(path).given(write) is Permission.always
    kept.allow_writing_always(write, allowed=False)
    assert Permissions(path).given(write) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"here/read": 3}', '{"here/read": {"permission": "root"}}'])
def test_a_damaged_file_allows_nothing(text: str, tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text(text)
    assert Permissions(path).given(tool("read")) is None
