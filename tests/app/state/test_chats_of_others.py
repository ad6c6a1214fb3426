"""Chats of other programs: each layout as its program writes it, what is damaged, and what is hostile."""

import io
import itertools
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from app.state.conversations.conversation import Conversation, StoredMessage
from app.state.conversations.dropped import kind_of
from app.state.conversations.files import ConversationRefused, from_json, to_json
from app.state.conversations.other_programs.apart import NotOfOthers, chats_apart
from app.state.conversations.other_programs.convert import conversation_of, source_of, what_is_new
from app.state.conversations.other_programs.find import Found, chats_in, is_source
from app.state.conversations.other_programs.json_values import DamagedDocument, Documents
from engine import Cancelled, CancelToken


def _found(path: Path) -> list[Found]:
    return [*chats_in(path, lambda _: None)]


def _made(found: Found) -> Conversation:
    assert found.chat is not None, found.reason
    source = source_of(found.layout, found.chat)
    return conversation_of(found.chat, source, itertools.count(1).__next__).conversation


def _of(path: Path, told: object) -> Conversation:
    path.write_text(told if isinstance(told, str) else json.dumps(told), encoding="utf-8")
    assert is_source(path, None)
    (found,) = _found(path)
    return _made(found)


def _texts(made: Conversation) -> list[str]:
    return [each.text for each in made.path]


def _node(number: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    message = {"id": number, "author": {"role": role}, "content": content, "metadata": {}} | more
    return {"id": number, "parent": parent, "children": [], "message": message}


def chatgpt(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    root: dict[str, Any] = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {each["id"]: each for each in (root, *nodes)}
    return {"title": "Lakes", "create_time": 1.7e9, "mapping": mapping, "conversation_id": "c", **more}


def short(number: str = "c") -> dict[str, Any]:
    return chatgpt(
        _node("a", "root", "user", f"Which lake {number}?"),
        _node("b", "a", "assistant", "That one."),
        conversation_id=number,
        title=f"Lake {number}",
    )


def test_chatgpt_hides_what_was_hidden_and_keeps_branches(tmp_path: Path) -> None:
    cite = "\ue200cite\ue202turn0search0\ue202turn0search1\ue201"
    hidden = {"is_visually_hidden_from_conversation": True}
    made = _of(
        tmp_path / "x.json",
        [
            chatgpt(
                _node("s", "root", "system", "secret rules"),
                _node("h", "s", "user", "secret profile", metadata=hidden),
                _node("e", "h", "user", {"content_type": "user_editable_context", "user_profile": "secret"}),
                _node("q", "e", "user", {"content_type": "multimodal_text", "parts": [
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://one"}, "Look"]},
                    create_time=1.7e9 + 1),
                _node("t", "q", "assistant", {"content_type": "thoughts",
                    "thoughts": [{"summary": "s", "content": "c"}]}),
                _node("r", "t", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 5s"}),
                _node("w", "r", "assistant", {"content_type": "code", "text": "search('x')"}, recipient="web.run"),
                _node("o", "w", "tool", "a secret page"),
                _node("1", "o", "assistant", f"Blue{cite}, said \ue200entity\ue202[\"city\",\"Rome\",\"x\"]\ue201.",
                      create_time=1.7e9 + 9, metadata={"model_slug": "gpt-x"}),
                _node("2", "o", "assistant", "Green", create_time=1.7e9 + 20),
                _node("f", "1", "user", "Sure?", create_time=1.7e9 + 30),
                current_node="f", update_time=1.7e9 + 40, default_model_slug="gpt-usual",
            )
        ],
    )  # fmt: skip
    everything = "".join(each.text for each in made)
    assert "secret" not in everything
    assert not any("\ue000" <= sign <= "\uf8ff" for sign in everything)
    question, reply, last = made.path
    assert question.text == "[image: file-service://one]\n\nLook"
    assert reply.text.startswith("<think>\ns\n\nc\n</think>\n\n[tool call: web.run]\n\n```\nsearch('x')\n```")
    assert reply.text.endswith("Blue, said Rome.")
    assert (reply.target, reply.created, last.text) == ("gpt-x", 1.7e9 + 9, "Sure?")
    assert len(made.siblings(reply.id)) == 2
    other = made[made.siblings(reply.id)[1]]
    assert other.text.endswith("Green")
    assert (other.target, made.title, made.created, made.updated) == ("gpt-usual", "Lakes", 1.7e9, 1.7e9 + 40)


def test_the_others_keep_branches_dates_titles_and_names(tmp_path: Path) -> None:
    claude = {"uuid": "u", "name": "Trip", "created_at": "2026-08-01T10:00:00Z", "chat_messages": [
        {"uuid": "1", "sender": "human", "text": "hi",
         "attachments": [{"file_name": "a.txt", "extracted_content": "Inside"}],
         "files": [{"file_name": "b.png"}], "parent_message_uuid": "0000"},
        {"uuid": "2", "sender": "assistant", "content": [{"type": "thinking", "thinking": "hm"},
         {"type": "text", "text": "A"},
         {"type": "tool_use", "name": "draw", "input": {"x": 1}}], "parent_message_uuid": "1"},
        {"uuid": "3", "sender": "assistant", "content": [{"type": "text", "text": "B"}],
         "parent_message_uuid": "1"}]}  # fmt: skip
    made = _of(tmp_path / "a.json", claude)
    assert [each.role for each in made] == ["user", "assistant", "assistant"]
    assert "Inside" in _texts(made)[0]
    assert "[file: b.png]" in _texts(made)[0]
    assert _texts(made)[1] == "B"
    assert [*made][1].text == '<think>\nhm\n</think>\n\nA\n\n[tool call: draw]\n\n```\n{"x": 1}\n```'

    llamacpp = [{"conv": {"id": "k", "name": "Old", "lastModified": 1_756_000_000_000, "currNode": "a1"}, "messages": [
        {"id": "r", "type": "root", "role": "system", "content": "", "parent": None},
        {"id": "s", "type": "system", "role": "system", "content": "Be short", "parent": "r"},
        {"id": "q", "type": "text", "role": "user", "content": "Why?", "parent": "s", "timestamp": 1_755_000_000_000,
         "extra": [{"type": "TEXT", "name": "n.txt", "content": "Words"}, {"type": "imageFile", "name": "p.png"}]},
        {"id": "a1", "role": "assistant", "content": "So", "reasoningContent": "hm", "parent": "q", "model": "m.gguf"},
        {"id": "a2", "role": "assistant", "content": "Thus", "parent": "q"}]}]  # fmt: skip
    made = _of(tmp_path / "b.json", llamacpp)
    assert (made.title, made.updated, made.settings["system"]) == ("Old", 1.756e9, "Be short")
    assert _texts(made)[1] == "<think>\nhm\n</think>\n\nSo"
    assert (made.path[1].target, made.path[0].created, len(made)) == ("m.gguf", 1.755e9, 3)
    assert "[image: p.png]" in _texts(made)[0]
    assert "Words" in _texts(made)[0]


def test_sessions_of_llama_cpp_are_chats(tmp_path: Path) -> None:
    sessions = [
        line
        for chat in "ab"
        for line in (
            {"type": "session", "id": chat, "name": f"Chat {chat}", "lastModified": 1.756e12, "currNode": "2"},
            {"type": "message", "message": {"id": "0", "type": "root", "role": "system", "parent": None}},
            {"type": "message", "message": {"id": "1", "role": "user", "content": chat, "parent": "0"}},
            {"type": "message", "message": {"id": "2", "role": "assistant", "content": "Yes", "parent": "1",
                                            "toolCalls": [{"name": "look"}]}},
            {"type": "something later"},
        )
    ]  # fmt: skip
    path = tmp_path / "l.jsonl"
    path.write_text("\n".join(map(json.dumps, sessions)))
    assert kind_of(path)[0] == "conversation"
    found = [
        conversation_of(each.chat, "", itertools.count(1).__next__).conversation for each in _found(path) if each.chat
    ]
    assert [(each.title, _texts(each)[0]) for each in found] == [("Chat a", "a"), ("Chat b", "b")]
    assert _texts(found[0])[1].startswith("Yes\n\n[tool call]")


def test_chats_of_deepseek(tmp_path: Path) -> None:
    def said(number: int, *parts: tuple[str, str]) -> dict[str, Any]:
        fragments = [{"type": kind, "content": text} for kind, text in parts]
        message = {"model": "deepseek-chat", "inserted_at": "2026-08-01T10:00:00.5+08:00", "fragments": fragments}
        return {"id": f"{number}", "parent": str(number - 1) if number > 1 else "root", "message": message}

    deepseek = {"id": "d", "title": "Sea", "inserted_at": "2026-08-01T10:00:00+08:00", "mapping": {
        "root": {"id": "root", "parent": None, "message": None}, "1": said(1, ("REQUEST", "How deep?")),
        "2": said(2, ("THINK", "hm"), ("SEARCH", "sea"), ("RESPONSE", "Very."))}}  # fmt: skip
    made = _of(tmp_path / "s.json", [deepseek])
    assert (made.title, _texts(made)) == ("Sea", ["How deep?", "<think>\nhm\n</think>\n\nVery."])
    assert (made.path[1].target, made.created) == ("deepseek-chat", 1_785_549_600.0)


def test_lists_of_lines_and_versions_are_chats_too(tmp_path: Path) -> None:
    sharegpt = {"id": "g", "conversations": [{"from": "system", "value": "Rules"}, {"from": "human", "value": "x"},
                {"from": "gpt", "value": "y"}]}  # fmt: skip
    made = _of(tmp_path / "c.json", [sharegpt])
    assert (_texts(made), made.settings["system"], made.title) == (["x", "y"], "Rules", "x")

    made = _of(
        tmp_path / "d.jsonl",
        "\n".join(
            map(
                json.dumps,
                [
                    {"user_name": "I", "character_name": "Ann", "chat_metadata": {"integrity": "i"}},
                    {"name": "Ann", "is_user": False, "mes": "Greetings", "send_date": "August 1, 2024 10:05am"},
                    {"name": "I", "is_user": True, "mes": "Hello", "send_date": "2024-08-01T10:06:00Z"},
                    {"name": "Note", "is_system": True, "mes": "hidden"},
                    {"name": "Ann", "is_user": False, "mes": "One", "swipes": ["One", "Two"], "swipe_id": 0,
                     "extra": {"model": "big"}},
                    {"name": "I", "is_user": True, "mes": "Go on"},
                ],
            )
        ),
    )  # fmt: skip
    assert (made.title, _texts(made)) == ("Ann", ["", "Greetings", "Hello", "One", "Go on"])
    assert (made.path[3].target, len(made.siblings(made.path[3].id))) == ("big", 2)
    assert made.path[2].created == 1_722_506_760.0

    lmstudio = {"name": "L", "createdAt": 1_756_000_000_000, "messages": [
        {"versions": [{"role": "user", "content": [
            {"type": "text", "text": "a"}, {"type": "file", "fileIdentifier": "f.pdf"}]},
                      {"role": "user", "content": [{"type": "text", "text": "b"}]}], "currentlySelected": 0},
        {"versions": [{"role": "assistant", "senderInfo": {"senderName": "qwen"}, "steps": [
            {"type": "contentBlock", "content": [{"type": "text", "text": "hm"}], "style": {"type": "thinking"}},
            {"type": "debugInfoBlock", "debugInfo": "none of it"},
            {"type": "contentBlock", "content": [{"type": "text", "text": "c"}]}]}],
         "currentlySelected": 0}]}  # fmt: skip
    made = _of(tmp_path / "e.json", lmstudio)
    assert _texts(made) == ["a\n\n[file: f.pdf]", "<think>\nhm\n</think>\n\nc"]
    assert (made.path[1].target, len(made.children(None))) == ("qwen", 2)


def test_a_folder_of_jan(tmp_path: Path) -> None:
    folder = tmp_path / "threads" / "t1"
    folder.mkdir(parents=True)
    thread = {"id": "t1", "object": "thread", "title": "Tea", "assistants": [{"model": {"id": "m3"}}], "updated": 1.7e9}
    (folder / "thread.json").write_text(json.dumps(thread))
    lines = [
        {"object": "thread.message", "thread_id": "t1", "role": role, "created_at": 1_700_000_000_000 + place,
         "content": [{"type": "text", "text": {"value": text, "annotations": []}}]}
        for place, (role, text) in enumerate((("user", "Green?"), ("assistant", "Or black.")))
    ]  # fmt: skip
    (folder / "messages.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert kind_of(tmp_path) == ("conversation", tmp_path)
    assert kind_of(folder / "messages.jsonl")[0] == "conversation"
    (found,) = _found(tmp_path)
    made = _made(found)
    assert (made.title, _texts(made), made.path[1].target) == ("Tea", ["Green?", "Or black."], "m3")
    (folder / "model.gguf").write_bytes(b"GGUF")
    assert kind_of(tmp_path)[0] == "folder"


def test_the_same_chat_has_the_same_source_and_one_that_went_on_another(tmp_path: Path) -> None:
    def source(told: dict[str, Any]) -> str:
        return str(next(iter(_of(tmp_path / "x.json", told))).settings["source"])

    assert source(short()) == source(short() | {"title": "Another name"})
    more = short()
    more["mapping"]["c"] = _node("c", "b", "user", "And then?")
    assert source(more) != source(short())


def _deep(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    "damaged",
    [
        '{"mapping": {}}', '{"mapping": {"a": 5}}', "5", "null", '{"mapping": {"a": {"parent": "a"}}}', "nonsense",
        '{"mapping": ' + _deep(50_000) + "}",
        '{"mapping": {"a": {"message": {"author": 5, "content": ' + _deep(900) + "}}}}",
        '{"mapping": {"a": NaN, "b": ' + "9" * 5_000 + "}}", '{"mapping": {"a": "\\x"}}',
        '{"chat_messages": [{"content": 7}]}',
        '{"messages": [{"versions": [5, null]}]}', '{"chat": {"history": {"messages": {"a": 1}}}}', '{"mapping": [}',
    ],
)  # fmt: skip
def test_a_damaged_chat_is_passed_over_and_the_others_come(tmp_path: Path, damaged: str) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(f"[{json.dumps(short('1'))}, {damaged},\n {json.dumps(short('2'))}]")
    made, refused = [], 0
    for found in _found(path):
        try:
            assert found.chat is not None
            made.append(_made(found).title)
        except (AssertionError, ValueError):
            refused += 1
            assert found.name
    assert made == ["Lake 1", "Lake 2"]
    assert refused == 1


def test_a_file_that_ends_too_early_gives_what_was_whole(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([short("1"), short("2")])[:-40])
    first, second = _found(path)
    assert _made(first).title == "Lake 1"
    assert second.reason


def test_values_of_every_kind_are_taken_or_passed_over(tmp_path: Path) -> None:
    odd: list[Any] = [None, True, -1, 1e300, "9" * 30, "\ud800", "a\0b", [], {}, [[]], {"type": 5}, 10**400, "NaN"]
    told = chatgpt(
        *(_node(str(place), None, "user", {"content_type": "text", "parts": [each]}, create_time=each)
          for place, each in enumerate(odd)),
        _node("last", "no such", "user", "end\ud800\0"), title=5, create_time="x", current_node={}, update_time=[],
    )  # fmt: skip
    made = _of(tmp_path / "x.json", told)
    assert [*made][-1].text == "end?\ufffd"
    assert all(0 < each.created < 3e11 for each in made)
    text = "".join(each.text for each in made)
    assert "\0" not in text
    text.encode()


def test_a_name_becomes_no_link(tmp_path: Path) -> None:
    told = {
        "chat_messages": [
            {"sender": "human", "text": "x", "files": [{"file_name": "a](javascript:b)<img src=c>\n# d"}]}
        ]
    }
    (text,) = _texts(_of(tmp_path / "x.json", told))
    assert text == "x\n\n[file: a javascript:b img src c d]"


def test_a_comb_of_branches_is_bounded(tmp_path: Path) -> None:
    nodes = [_node("0", None, "assistant", "x" * 10_000)]
    for number in range(1, 300):
        nodes += [_node(str(number), str(number - 1), "assistant", "x" * 10_000)]
        nodes += [_node(f"s{number}", str(number - 1), "assistant", "y")]
    with pytest.raises(ValueError, match="larger than"):
        _of(tmp_path / "x.json", chatgpt(*nodes))


def _zip(path: Path, *entries: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path


def test_an_archive_with_several_files(tmp_path: Path) -> None:
    parts = [(f"conversations-{n:03}.json", json.dumps([short(f"{n}")]).encode()) for n in range(3)]
    path = _zip(tmp_path / "x.zip", ("user.json", b'{"id": "me"}'), ("chat.html", b"<html>"), *parts, ("a.png", b"\0"))
    assert kind_of(path)[0] == "conversation"
    assert [found.name for found in _found(path)] == ["Lake 0", "Lake 1", "Lake 2"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (("conversations.json", b"[" + b" " * 9_000_000), "unpack"),
        (("../conversations.json", b"[]"), "outside"),
        (("/etc/conversations.json", b"[]"), "outside"),
        (("a\\..\\..\\b.json", b"[]"), "outside"),
        (("C:/b.json", b"[]"), "outside"),
    ],
)
def test_a_hostile_archive_is_refused(tmp_path: Path, entry: tuple[str, bytes], reason: str) -> None:
    path = _zip(tmp_path / "x.zip", ("a.json", json.dumps([short()]).encode()), entry)
    with pytest.raises(ConversationRefused, match=rf"Cannot import x\.zip: it .*{reason}.*Nothing was changed"):
        _found(path)


def test_an_archive_of_a_million_files_is_refused_before_they_are_read(tmp_path: Path, monkeypatch: Any) -> None:
    path = _zip(tmp_path / "x.zip", ("a.json", b"[]"))
    data = bytearray(path.read_bytes())
    data[-14:-10] = b"\xff\xff\xff\xff"
    data[-10:-6] = (200_000_000).to_bytes(4, "little")
    path.write_bytes(data)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(ConversationRefused, match="more than"):
        _found(path)
    assert kind_of(path)[0] == "conversation", "so that it is said why"


@pytest.mark.soak
def test_an_archive_that_really_has_a_million_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(1_000_000):
            archive.writestr(f"{number}.json", b"{}")
    assert kind_of(path)[0] == "conversation"
    for chats in (chats_in(path, lambda _: None), chats_apart(path, lambda _: None)):
        with pytest.raises(ConversationRefused, match="more than"):
            next(chats)


def test_what_a_dropped_file_is_is_told_by_its_beginning(tmp_path: Path) -> None:
    long = json.dumps(short() | {"filler": "x" * 300_000})
    for name, text, told in (
        ("a.json", f"[{long}]", None),
        ("b.jsonl", f"{long}\n", None),
        ("c.json", f"[{json.dumps(short())}, {long}]", True),
        ("d.json", '{"format": "outrider-conversation"}' + " " * 300_000, False),
        ("e.jsonl", '{"a": 1}\n{"a": 2}\n', False),
    ):
        (tmp_path / name).write_text(text)
        assert is_source(tmp_path / name) is told, name
        assert is_source(tmp_path / name, None) is (told is not False)
    assert kind_of(tmp_path / "b.jsonl")[0] == "conversation"
    assert kind_of(tmp_path / "e.jsonl")[0] == "file"
    documents = _zip(tmp_path / "f.zip", ("a.txt", b"words"))
    assert kind_of(documents)[0] == "file"


def test_the_child_gives_what_is_read_here(tmp_path: Path) -> None:
    long = short("2")
    long["mapping"]["b"]["message"]["content"]["parts"] = ["wörd " * 100_000]
    own = to_json(_of(tmp_path / "own.json", short("3")))
    several = [short("1"), {"mapping": {}, "title": "Lost"}, long]
    path = _zip(tmp_path / "x.zip", ("conversations.json", json.dumps(several).encode()), ("own.json", own.encode()))
    shares: list[float] = []
    first, lost, second, third = chats_apart(path, shares.append)
    assert (lost.name, lost.reason, lost.data) == ("Lost", "it has no messages", b"")
    for read, made in ((first, short("1")), (second, long)):
        told = from_json(read.data, itertools.count(1).__next__).conversation
        here = _of(tmp_path / "here.json", made)
        assert [(each.role, each.text, each.settings) for each in told] == [
            (each.role, each.text, each.settings) for each in here
        ]
        assert (told.title, told.created, read.name) == (here.title, here.created, here.title)
    assert json.loads(third.data) == json.loads(own)
    assert shares == sorted(shares)
    (tmp_path / "y.json").write_text('{"messages": [{"role": "user", "content": "Hi"}]}')
    with pytest.raises(NotOfOthers):
        next(chats_apart(tmp_path / "y.json", shares.append))


def test_a_hostile_archive_is_refused_by_the_child(tmp_path: Path) -> None:
    path = _zip(tmp_path / "x.zip", ("conversations.json", b"[" + b" " * 9_000_000))
    with pytest.raises(ConversationRefused, match=r"Cannot import x\.zip: it would unpack .* Nothing was changed"):
        next(chats_apart(path, lambda _: None))
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        next(chats_apart(path, lambda _: None, cancel))


def _texts_of(made: Conversation) -> list[list[str]]:
    leaves = [each for each in made if not made.children(each.id)]
    return sorted([step.text for step in made.above(leaf.id)] for leaf in leaves)


def test_a_chat_that_went_on_grows_where_it_went_on(tmp_path: Path) -> None:
    ids = itertools.count(1)

    def made(told: dict[str, Any]) -> Conversation:
        (tmp_path / "x.json").write_text(json.dumps(told))
        (found,) = _found(tmp_path / "x.json")
        assert found.chat is not None
        return conversation_of(found.chat, "s", ids.__next__).conversation

    more = short()
    more["mapping"] |= {"c": _node("c", "b", "user", "And then?"), "d": _node("d", "c", "assistant", "This.")}
    more["mapping"]["e"] = _node("e", "a", "assistant", "Another one.", create_time=2e9)
    old = made(short())
    new = what_is_new(old, made(more), "chatgpt:c:1")
    assert new is not None
    old.grow(new)
    before = ["Which lake c?", "That one."]
    assert _texts_of(old) == [["Which lake c?", "Another one."], [*before, "And then?", "This."]]
    assert _texts(old) == [*before, "And then?", "This."], "it goes on where it was"
    assert what_is_new(old, made(more), "chatgpt:c:1") == []
    assert what_is_new(old, made(short()), "chatgpt:c:1") == []
    assert what_is_new(old, made(short("other")), "chatgpt:c:1") is None, "another chat of the same name"
    continued = made(short())
    continued.add(StoredMessage(next(ids), continued.path[-1].id, "user", "Said here", 3e9))
    new = what_is_new(continued, made(more), "chatgpt:c:1")
    assert new is not None
    continued.grow(new)
    assert _texts(continued) == [*before, "Said here"], "what is on the screen stays there"
    assert what_is_new(continued, made(short()), "sharegpt:first said x:1") is None, "it may be any that begins so"


def test_a_damaged_archive_is_refused_or_told(tmp_path: Path) -> None:
    whole = _zip(
        tmp_path / "x.zip", ("a.json", json.dumps([short(str(each)) for each in range(50)]).encode())
    ).read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        data = bytearray(whole)
        data[at] ^= 0x55
        (tmp_path / "x.zip").write_bytes(data)
        try:
            for found in _found(tmp_path / "x.zip"):
                assert found.chat or found.reason
        except ConversationRefused:
            pass


def test_values_are_read_across_the_ends_of_pieces() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(7)

    told = [{"a": 'x"]}\\'}, {"b": [1, {"ü": "😀"}]}]
    text = f'[{json.dumps(told[0])}, {{bad: "]\\"", [}}, {json.dumps(told[1], ensure_ascii=False)}]'
    first, damaged, *_, last = Documents(Slow(text.encode()), lambda _: None)
    assert (first, last) == (told[0], told[1])
    assert isinstance(damaged, DamagedDocument)
