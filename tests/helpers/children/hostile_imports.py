"""Sixty files of chats as nobody would write them, each made from a seed, and whether it is to be imported."""

import base64
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

from app.state.conversations.files import FORMAT, VERSION

Told = dict[str, Any]
TAKEN, REFUSED = True, False


def _message(number: int, text: str, parent: int | None = None, **more: Any) -> Told:
    role = "assistant" if parent is not None and number % 2 == 0 else "user"
    return {"id": number, "parent": parent, "role": role, "text": text, "created": 1e9 + number, **more}


def chat(messages: list[Told], **more: Any) -> Told:
    """What a file says that was exported."""
    head = {"format": FORMAT, "version": VERSION, "title": "Hostile", "created": 1e9, "updated": 1e9}
    return {**head, "messages": messages, **more}


def chain(length: int, text: str = "Said") -> Told:
    """Questions and replies, each below the last one."""
    return chat([_message(number, f"{text} {number}", number - 1 or None) for number in range(1, length + 1)])


def _alone(*more: Any) -> Told:
    """A chat of one question, and what else is said of messages."""
    return chat([_message(1, "Q"), *more])


def _said(text: str, reply: str | None = None, **more: Any) -> bytes:
    return _json(chat([_message(1, text), _message(2, text if reply is None else reply, 1)], **more))


def _json(told: object) -> bytes:
    return json.dumps(told).encode()


def _changed(**more: Any) -> bytes:
    told = chain(4)
    told["messages"][1].update(more)
    return _json(told)


def _raw(value: str) -> bytes:
    """A reply whose figures are these characters."""
    return _changed(stats="HERE").replace(b'"HERE"', value.encode())


def _zip(draw: random.Random) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("chat.json", _json(chain(draw.randint(10, 100))))
    return packed.getvalue()


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if depth % 2 else [value]
    return value


def _siblings(count: int) -> Told:
    return chat([_message(1, "Root"), *(_message(2 * number, "Reply", 1) for number in range(1, count + 1))])


def _foreign(count: int, content: Any = "Q", arguments: Any = "{}") -> list[dict[str, Any]]:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    asked, called = {"role": "user", "content": content}, {"role": "assistant", "content": None, "tool_calls": [call]}
    return [
        asked,
        called,
        {"role": "tool", "tool_call_id": "a", "content": "R"},
        {"role": "assistant", "content": "A"},
    ] * count


def _picture(data: str) -> list[dict[str, Any]]:
    return [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]


def _cut(draw: random.Random) -> bytes:
    data = _json(chain(200))
    return data[: draw.randrange(1, len(data) - 1)]


def _flipped(draw: random.Random) -> bytes:
    data = bytearray(_json(chain(50)))
    data[draw.randrange(20)] = 0xFF
    return bytes(data)


CASES: dict[str, tuple[bool, Callable[[random.Random], bytes]]] = {
    "nothing": (REFUSED, lambda draw: b""),
    "white space": (REFUSED, lambda draw: b" \n" * draw.randint(1, 1_000_000)),
    "zeros": (REFUSED, lambda draw: bytes(draw.randint(1, 5_000_000))),
    "noise": (REFUSED, lambda draw: draw.randbytes(2_000_000)),
    "a zip file": (REFUSED, _zip),
    "an image": (REFUSED, lambda draw: b"\x89PNG\r\n\x1a\n" + draw.randbytes(10_000)),
    "UTF-16": (REFUSED, lambda draw: json.dumps(chain(20)).encode("utf-16")),
    "UTF-32": (REFUSED, lambda draw: json.dumps(chain(20)).encode("utf-32")),
    "Latin-1": (REFUSED, lambda draw: json.dumps(chain(20, "Grüße"), ensure_ascii=False).encode("latin-1")),
    "a byte order mark": (TAKEN, lambda draw: b"\xef\xbb\xbf" + _json(chain(20))),
    "two byte order marks": (REFUSED, lambda draw: b"\xef\xbb\xbf" * 2 + _json(chain(20))),
    "over-long UTF-8": (REFUSED, lambda draw: _said("A").replace(b'"A"', b'"\xc0\xaf"')),
    "HTML": (REFUSED, lambda draw: b"<!DOCTYPE html><p>Chat</p>" * draw.randint(1, 100_000)),
    "a million nodes": (REFUSED, lambda draw: b"[" + b"[]," * 1_000_000 + b"1]"),
    "a million nodes beside the chat": (REFUSED, lambda draw: _json(chain(3) | {"x": [[]] * 1_000_000})),
    "a million nodes in a reply": (REFUSED, lambda draw: _raw('{"a": [' + "[]," * 1_000_000 + "1]}")),
    "a million keys": (REFUSED, lambda draw: _json({str(number): number for number in range(1_000_000)})),
    "a million keys of a message": (REFUSED, lambda draw: _changed(**{f"k{each}": each for each in range(1_000_000)})),
    "deep lists": (REFUSED, lambda draw: b"[" * draw.randint(10_000, 1_000_000)),
    "deep objects": (REFUSED, lambda draw: b'{"a":' * draw.randint(10_000, 400_000)),
    "deep and closed": (REFUSED, lambda draw: b"[" * 100_000 + b"]" * 100_000),
    "deep figures": (REFUSED, lambda draw: _changed(stats={"a": _nested(draw.randint(17, 400))})),
    "deep raw figures": (REFUSED, lambda draw: _raw('{"a":' * 90_000 + "1" + "}" * 90_000)),
    "deep settings": (REFUSED, lambda draw: _json(chain(3) | {"settings": {"a": _nested(100)}})),
    "cut off": (REFUSED, _cut),
    "a byte that is none": (REFUSED, _flipped),
    "twice in one file": (REFUSED, lambda draw: _json(chain(5)) * 2),
    "JSON lines": (REFUSED, lambda draw: b"\n".join(_json(each) for each in chain(50)["messages"])),
    "single quotes": (REFUSED, lambda draw: str(chain(5)).encode()),
    "a trailing comma": (REFUSED, lambda draw: _json(chain(5)).replace(b"}]", b"},]")),
    "a comment": (REFUSED, lambda draw: b"// chat\n" + _json(chain(5))),
    "NaN": (REFUSED, lambda draw: _raw('{"a": NaN}')),
    "Infinity": (REFUSED, lambda draw: _json(chain(3) | {"created": float("inf")})),
    "a number beyond floats": (REFUSED, lambda draw: _raw('{"a": 1e999}')),
    "a number of 5,000 digits": (REFUSED, lambda draw: _raw('{"a": ' + "9" * 5_000 + "}")),
    "an id of 4,000 digits": (TAKEN, lambda draw: _json(_alone()).replace(b'"id": 1', b'"id": ' + b"9" * 4_000)),
    "a time after all": (REFUSED, lambda draw: _changed(created=1e300)),
    "a time before all": (REFUSED, lambda draw: _changed(created=-(10.0 ** draw.randint(0, 300)))),
    "figures of the wrong kind": (TAKEN, lambda draw: _changed(stats={"rounds": "many", "draft_ms": {}})),
    "huge figures": (TAKEN, lambda draw: _changed(stats={"rounds": 10**30, "total_ms": 1e308, "proposed": -5})),
    "an id twice": (REFUSED, lambda draw: _changed(id=1)),
    "a key twice": (REFUSED, lambda draw: _json(chain(3)).replace(b'"text":', b'"text": "", "text":', 1)),
    "a circle": (REFUSED, lambda draw: _changed(parent=draw.randint(2, 4))),
    "a parent that is missing": (REFUSED, lambda draw: _changed(parent=10**6)),
    "children before parents": (REFUSED, lambda draw: _json(chat(chain(50)["messages"][::-1]))),
    "a reply to a reply": (REFUSED, lambda draw: _json(_alone(_message(2, "A", 1), _message(4, "B", 2)))),
    "roles of other programs": (REFUSED, lambda draw: _changed(role=draw.choice(["system", "tool", "USER", None, 3]))),
    "messages that are none": (REFUSED, lambda draw: _json(_alone(draw.choice([None, 1, "text", []])))),
    "another program's format": (REFUSED, lambda draw: _json({"mapping": {}, "conversations": [[]] * 1000})),
    "a newer version": (REFUSED, lambda draw: _json(chain(2) | {"version": VERSION + 2**draw.randint(0, 60)})),
    "half a pair": (REFUSED, lambda draw: _said("\ud83d")),
    "halves of pairs in a row": (TAKEN, lambda draw: _said("\ud83d\ude00" * draw.randint(1, 500_000))),
    "right to left": (TAKEN, lambda draw: _said("\u202e\u2066abc\u202d" * 2_000, title="\u202egnp.exe\u2069")),
    "control characters": (TAKEN, lambda draw: _said("".join(map(chr, range(160))) * 50, title="\x00\x07\x1b[31m")),
    "combining marks": (TAKEN, lambda draw: _said("Z" + "\u0310\u0322\u0489" * 5_000)),
    "HTML in messages": (TAKEN, lambda draw: _said("<script>alert(1)</script><img src=x onerror=1>" * 500)),
    "Markdown of nests": (TAKEN, lambda draw: _said("Q", "> " * 500 + "- " * 500 + "*_" * 500 + "[" * 2_000)),
    "a table of many columns": (TAKEN, lambda draw: _said("Q", "".join(f"|{cell}" * 500 + "|\n" for cell in "a-b"))),
    "10 MB in one line": (TAKEN, lambda draw: _said("word " * 2_000_000, "Short")),
    "10 MB in one reply": (TAKEN, lambda draw: _said("Q", "word " * 2_000_000)),
    "a title of a megabyte": (TAKEN, lambda draw: _json(chain(4) | {"title": "title " * 200_000})),
    "100 MB in one text": (REFUSED, lambda draw: _said("x" * 100_000_000, "Short")),
    "100,000 in a chain": (TAKEN, lambda draw: _json(chain(100_000))),
    "10,000 replies to one question": (TAKEN, lambda draw: _json(_siblings(10_000))),
    "10,000 beginnings": (TAKEN, lambda draw: _json(chat([_message(2 * n + 1, "Q") for n in range(10_000)]))),
    "300,000 messages": (REFUSED, lambda draw: _json(chat([_message(2 * n + 1, "") for n in range(300_000)]))),
    "a record that is none": (REFUSED, lambda draw: _changed(trace="!" * draw.randint(1, 10_000))),
    "a record of noise": (TAKEN, lambda draw: _changed(trace=base64.b64encode(draw.randbytes(100_000)).decode())),
    "a chat of another program": (TAKEN, lambda draw: _json(_foreign(draw.randint(1, 20_000)))),
    "an image of another program": (TAKEN, lambda draw: _json(_foreign(1, _picture("A" * 20_000_000)))),
    "a million nodes of another program": (REFUSED, lambda draw: _json(_foreign(1, [[]] * 1_000_000))),
    "many large nodes of another program": (REFUSED, lambda draw: _json(_foreign(1, [[[]] * 20_000] * 2_000))),
    "a million questions of another program": (REFUSED, lambda draw: _json(_foreign(1)[:1] * 1_000_000)),
    "a million answers of another program": (REFUSED, lambda draw: _json(_foreign(1)[1:] * 1_000_000)),
    "deep arguments of another program": (REFUSED, lambda draw: _json(_foreign(1, arguments=_nested(100)))),
    "arguments that are none": (REFUSED, lambda draw: _json(_foreign(1, arguments=draw.choice(["{", "[]", 7])))),
    "no messages": (TAKEN, lambda draw: _json(chat([]))),
}  # fmt: skip


def files(seed: int, names: list[str]) -> Iterator[tuple[str, bool, bytes]]:
    """Give each file of these names: name, whether it is to be imported, content."""
    for name in names:
        taken, make = CASES[name]
        yield name, taken, make(random.Random(f"{seed} {name}"))
