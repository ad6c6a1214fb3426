"""The formats of files: whatever is registered can be named, written and read; JSON is read piece by piece."""

import io
import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.state.conversations import json_stream
from app.state.conversations.conversation import Conversation, StoredMessage
from app.state.conversations.files import ConversationRefused, to_json, write_file
from app.state.conversations.formats import FORMATS, READERS, import_file
from app.state.conversations.json_stream import JsonStream, Senseless, ValueTooLarge
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


LONGEST = 10**8

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_spaces = st.sampled_from(["", " ", "\n", "\t\r\n  "])


def _stream(data: bytes) -> JsonStream:
    return JsonStream(io.BytesIO(data), lambda read: None)


def _read(stream: JsonStream) -> Any:
    """All of a file, texts piece by piece, lists and objects item by item."""
    first = stream.peek()
    if first == '"':
        return stream.text(LONGEST)
    if first == "[":
        return [_read(stream) for _ in stream.items()]
    if first == "{":
        return {name: _read(stream) for name in stream.members()}
    return stream.value()


def _outcome(data: bytes) -> Any:
    stream = _stream(data)
    try:
        told = _read(stream)
        stream.end()
    except ValueError:
        return ValueError
    return told


def _expected(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except ValueError:
        return ValueError


def _refuse(constant: str) -> None:
    raise ValueError(constant)


@settings(deadline=None, max_examples=300)
@given(_values, st.booleans(), st.integers(1, 40), _spaces, st.data())
def test_it_reads_what_json_reads(value: Any, plain: bool, chunk: int, space: str, data: st.DataObject) -> None:
    separators = (f"{space},{space}", f"{space}:{space}")
    text = space + json.dumps(value, ensure_ascii=plain, separators=separators) + space
    whole = text.encode("utf-8", "surrogatepass")
    cut = data.draw(st.integers(0, len(whole)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        for each in (whole, whole[:cut], whole[:cut] + b"," + whole[cut:], whole + b"1", b"\xef\xbb\xbf" + whole):
            assert _outcome(each) == _expected(each), each


def test_both_halves_of_a_pair_are_one_sign_wherever_the_file_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    told = 'a\U0001f600\\"\ud83d.\u00e9\n' * 20
    for chunk in range(1, 60):
        monkeypatch.setattr(json_stream, "CHUNK", chunk)
        assert _stream(json.dumps(told).encode()).text(LONGEST) == told


def test_what_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "LARGEST_VALUE", 2**19)
    data = json.dumps({"text": "x" * 2**21, "list": [1] * 2**20}).encode()
    stream = _stream(data)
    members = stream.members()
    assert next(members) == "text"
    assert len(stream.text(2**21)) == 2**21
    assert next(members) == "list"
    with pytest.raises(ValueTooLarge):
        stream.value()
    assert stream.peek() == "[", "it still comes next"
    assert sum(stream.value() for _ in stream.items()) == 2**20
    with pytest.raises(ValueTooLarge):
        _stream(json.dumps("x" * 1_000).encode()).text(999)


@pytest.mark.parametrize("data", [b'{"a": 1, "a": 2}', b"NaN", b"-Infinity"])
def test_what_json_alone_lets_pass_is_refused(data: bytes) -> None:
    with pytest.raises(Senseless):
        _stream(data).value()


def test_it_tells_how_much_it_read_and_can_be_ended() -> None:
    told: list[int] = []
    data = json.dumps(["word"] * 200_000).encode()
    stream = JsonStream(io.BytesIO(data), told.append)
    assert len([stream.value() for _ in stream.items()]) == 200_000
    assert told[0] == json_stream.CHUNK
    assert told[-1] == len(data)

    def stop(read: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        JsonStream(io.BytesIO(data), stop).peek()
