"""Read chats in the layouts of other programs, which are recognised by their shapes.

Every value comes from outside and may be anything: what has another type than it should counts as not there.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.state.chat.thoughts import CLOSING, OPENING
from app.state.conversations.conversation import Role, clean
from engine import FilePart

_LAST_DAY = 253_402_300_799
_MILLISECONDS = 10**11
"""A time that is larger counts thousandths of a second."""
_LONGEST_NAME = 200
_LONGEST_FORM = 100_000
_MOST_MARKS = 500
_FRAGMENTS = ("REQUEST", "THINK", "RESPONSE")
"""The parts of a message that DeepSeek shows."""
_MARKED = re.compile(r"[ \t]?\ue200([^\ue200\ue201]*+)\ue201")
_LOOSE_MARKS = re.compile("[\ue200-\ue20f]")
_FENCES = re.compile(r"`{3,}")
_REASONING = '<details type="reasoning"'
_DAY = re.compile(r"([A-Za-z]{3})[a-z]* (\d{1,2}), (\d{4}) (\d{1,2}):(\d{2}) ?([ap])m")
_AT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(
        ("assistant", "gpt", "chatgpt", "model", "bot", "ai", "bing", "bard", "claude", "gemini", "tool"), "assistant"
    ),
}


@dataclass(slots=True)
class Node:
    """Hold a message as another program has it. `role` None: it is hidden, its children are not.

    `parent`: id of the message above it; `created`: seconds since 1970, where that is known.
    """

    id: str
    parent: str | None
    role: Role | None
    text: str = ""
    created: float | None = None
    model: str = ""


@dataclass(slots=True)
class ParsedChat:
    """Hold a chat as another program has it. `current`: the message that was on the screen last."""

    id: str = ""
    title: str = ""
    created: float | None = None
    updated: float | None = None
    system: str = ""
    current: str | None = None
    nodes: list[Node] = field(default_factory=list)


# Values ---------------------------------------------------------------------------------------------------------------


def _text(value: object) -> str:
    return clean(value).replace("\0", "\ufffd") if isinstance(value, str) else ""


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _maps(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _id(value: object) -> str | None:
    return str(value)[:_LONGEST_NAME] if isinstance(value, str | int) and value != "" else None


def _one_of(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) not in (None, "", [])), None)


def _time(value: object) -> float | None:
    """Return seconds since 1970, of a number or of a text in one of the forms that are in use."""
    try:
        if isinstance(value, str):
            value = float(value) if value.replace(".", "", 1).isdecimal() else _time_said(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        seconds = value / 1000 if abs(value) > _MILLISECONDS else float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and 0 < seconds <= _LAST_DAY else None


def _time_said(text: str) -> float:
    if day := _DAY.match(text):
        month, hour = _MONTHS.index(day[1].lower()) + 1, int(day[4]) % 12 + 12 * (day[6] == "p")
        return datetime(int(day[3]), month, int(day[2]), hour, int(day[5])).astimezone().timestamp()
    if at := _AT.match(text):
        return datetime(*map(int, at.groups())).astimezone().timestamp()  # type: ignore[arg-type]  # six numbers
    found = datetime.fromisoformat(text[:40])
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


# What messages say ----------------------------------------------------------------------------------------------------


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in (each.strip("\n") for each in parts) if part.strip())


def _note(kind: str, name: object = "") -> str:
    """Make a stand-in for something that is no text. It can be no link, whatever its name is."""
    plain = "".join(sign if sign.isalnum() or sign in "._-:/" else " " for sign in _text(name)[:_LONGEST_NAME])
    plain = "" if plain.startswith("data:") else " ".join(plain.split())
    return f"[{kind}: {plain}]" if plain else f"[{kind}]"


def _thought(text: object) -> str:
    said = _text(text).strip()
    return f"{OPENING}\n{said}\n{CLOSING}" if said else ""


def _fenced(text: object, language: str = "") -> str:
    said = _text(text).strip("\n")
    fence = "`" * max(3, 1 + max((len(each) for each in _FENCES.findall(said)), default=0))
    return f"{fence}{language}\n{said}\n{fence}" if said.strip() else ""


def _called(name: object, form: object = None) -> str:
    """Make a stand-in for the call of a tool."""
    if isinstance(form, dict | list):
        form = json.dumps(form, ensure_ascii=False)
    return _joined((_note("tool call", name), _fenced(_text(form)[:_LONGEST_FORM])))


def _file(name: object, text: object) -> str:
    said = _text(text)
    return FilePart(_text(name)[:_LONGEST_NAME] or "file", said).quoted if said.strip() else _note("file", name)


def _parts(content: object) -> Iterator[str]:
    """Yield the texts of a message's parts, which are texts or objects with a type, as in most layouts."""
    if isinstance(content, str):
        yield _text(content)
    for part in content if isinstance(content, list) else ():
        yield _text(part) if isinstance(part, str) else _part(_map(part))


def _part(part: dict[str, Any]) -> str:
    kind, said = _text(part.get("type")), part.get("text")
    if kind in ("thinking", "reasoning"):
        return _thought(_one_of(part, "thinking", "reasoning") or said or _joined(_parts(part.get("content"))))
    if kind in ("text", "input_text", "output_text"):
        return _text(said.get("value") if isinstance(said, dict) else said)
    if kind in ("tool_use", "tool_call", "toolCallRequest"):
        return _called(_map(part.get("function")).get("name") or part.get("name"), _one_of(part, "input", "parameters"))
    if kind in ("tool_result", "toolCallResult"):
        said = part.get("content")
        return _joined((_note("tool result", part.get("name")), *(map(_fenced, _parts(said)))))
    if "image" in kind:
        return _note(
            "image", _one_of(part, "fileIdentifier", "file_name", "name") or _map(part.get("image_url")).get("url")
        )
    return (
        _note(kind or "part", _one_of(part, "fileIdentifier", "file_name", "filename", "name", "title")) if part else ""
    )


# ChatGPT --------------------------------------------------------------------------------------------------------------


def _chatgpt(data: dict[str, Any]) -> ParsedChat:
    chat = _head(data, id=("conversation_id", "id"), title=("title",))
    chat.current = _id(data.get("current_node"))
    usual = _text(data.get("default_model_slug"))
    for key, each in _map(data.get("mapping")).items():
        node, message = _map(each), _map(_map(each).get("message"))
        role, text = _chatgpt_message(message)
        model = _text(_map(message.get("metadata")).get("model_slug")) or usual
        made = Node(key, _id(node.get("parent")), role, text, _time(message.get("create_time")))
        made.model = model if role == "assistant" else ""
        chat.nodes.append(made)
    return chat


def _chatgpt_message(message: dict[str, Any]) -> tuple[Role | None, str]:
    metadata, content = _map(message.get("metadata")), _map(message.get("content"))
    author, kind = _text(_map(message.get("author")).get("role")), _text(content.get("content_type"))
    role = _ROLES.get(author)
    if (
        role is None
        or metadata.get("is_visually_hidden_from_conversation")
        or message.get("weight") == 0
        or kind.endswith("_editable_context")
    ):
        return None, ""
    if author == "tool" and kind not in ("multimodal_text", "execution_output"):
        return None, ""
    text = _joined(_chatgpt_content(kind, content))
    if author == "tool" and kind == "multimodal_text":
        text = _joined(_chatgpt_part(each) for each in _maps(content.get("parts")))
    text = _unmarked(text, metadata)
    if role == "assistant" and _text(message.get("recipient")) not in ("", "all"):
        text = _called(message.get("recipient"), text if kind != "code" else content.get("text"))
    files = (_note("file", each.get("name")) for each in _maps(metadata.get("attachments")))
    return role, _joined((text, *files))


def _chatgpt_content(kind: str, content: dict[str, Any]) -> Iterator[str]:
    if kind == "thoughts":
        for each in _maps(content.get("thoughts")):
            yield _thought(_joined((_text(each.get("summary")), _text(each.get("content")))))
    elif kind in ("code", "execution_output"):
        language = _text(content.get("language"))
        yield _fenced(content.get("text"), language if language.isalnum() and language != "unknown" else "")
    elif kind != "reasoning_recap":
        for part in content["parts"] if isinstance(content.get("parts"), list) else ():
            yield _text(part) if isinstance(part, str) else _chatgpt_part(_map(part))
        yield _text(_one_of(content, "text", "result"))


def _chatgpt_part(part: dict[str, Any]) -> str:
    kind = _text(part.get("content_type"))
    if kind == "audio_transcription":
        return _text(part.get("text"))
    words = {"image_asset_pointer": "image", "audio_asset_pointer": "audio"}
    return _note(words.get(kind, kind or "part"), part.get("asset_pointer")) if part else ""


def _unmarked(text: str, metadata: dict[str, Any]) -> str:
    """Replace the marks of citations in a text, which are no letters of any script, by their labels."""
    if not _LOOSE_MARKS.search(text):
        return text
    for each in _maps(metadata.get("content_references"))[:_MOST_MARKS]:
        mark, shown = _text(each.get("matched_text")), _text(each.get("alt"))
        if mark.startswith("\ue200") and shown:
            text = text.replace(mark, shown)
    return _LOOSE_MARKS.sub("", _MARKED.sub(_shown_mark, text))


def _shown_mark(mark: re.Match[str]) -> str:
    kind, *rest = mark[1].split("\ue202")
    space = " " if mark[0][0] in " \t" else ""
    shown = rest[0] if rest and kind in ("url", "link_title") else ""
    if rest and kind == "entity":
        try:
            said = json.loads(rest[0])
        except (ValueError, RecursionError):
            said = None
        shown = said[1] if isinstance(said, list) and len(said) > 1 and isinstance(said[1], str) else ""
    return space + shown if shown else ""


# Others ---------------------------------------------------------------------------------------------------------------


def _head(data: dict[str, Any], **names: tuple[str, ...]) -> ParsedChat:
    """Return a chat without messages, from the keys that most layouts share."""
    title = _text(_one_of(data, *names.get("title", ("title", "name"))))
    return ParsedChat(
        _id(_one_of(data, *names.get("id", ("id", "uuid")))) or "",
        title,
        _time(_one_of(data, "create_time", "created_at", "createdAt", "created", "create_date", "inserted_at")),
        _time(_one_of(data, "update_time", "updated_at", "updatedAt", "updated", "lastModified", "lastMessagedAt")),
    )


def _deepseek(data: dict[str, Any]) -> ParsedChat:
    """Return a chat of DeepSeek: ChatGPT's tree, whose messages are fragments."""
    chat = _head(data)
    for key, each in _map(data.get("mapping")).items():
        node, message = _map(each), _map(_map(each).get("message"))
        parts = [(_text(part.get("type")), part.get("content")) for part in _maps(message.get("fragments"))]
        role: Role = "user" if any(kind == "REQUEST" for kind, _ in parts) else "assistant"
        said = (_thought(text) if kind == "THINK" else _text(text) for kind, text in parts if kind in _FRAGMENTS)
        files = (_note("file", file.get("file_name")) for file in _maps(message.get("files")))
        model = _text(message.get("model")) if role == "assistant" else ""
        text, when = _joined((*said, *files)), _time(message.get("inserted_at"))
        chat.nodes.append(Node(key, _id(node.get("parent")), role if parts else None, text, when, model))
    return chat


def _claude(data: dict[str, Any]) -> ParsedChat:
    chat = _head(data)
    chat.current = _id(data.get("current_leaf_message_uuid"))
    above: str | None = None
    for place, message in enumerate(_maps(data.get("chat_messages"))):
        number = _id(message.get("uuid")) or f"{place}"
        role = _ROLES.get(_text(message.get("sender")))
        parts = [*_parts(message.get("content"))]
        said = _joined(parts) or _text(message.get("text"))
        quoted = [
            _file(each.get("file_name"), each.get("extracted_content")) for each in _maps(message.get("attachments"))
        ]
        notes = [_note("file", each.get("file_name")) for each in _maps(message.get("files"))]
        parent = _id(message["parent_message_uuid"]) if "parent_message_uuid" in message else above
        made = Node(number, parent, role, _joined((*quoted, said, *notes)), _time(message.get("created_at")))
        made.model = _text(_one_of(message, "model") or data.get("model")) if role == "assistant" else ""
        chat.nodes.append(made)
        above = number
    return chat


def _openwebui(data: dict[str, Any]) -> ParsedChat:
    inner = _map(data.get("chat")) or data
    chat = _head({**inner, **data})
    history = _map(inner.get("history"))
    chat.system = _text(_one_of(inner, "system") or _map(inner.get("params")).get("system"))
    chat.current = _id(history.get("currentId"))
    kept = _map(history.get("messages"))
    above: str | None = None
    for key, message in kept.items() if kept else enumerate(_maps(inner.get("messages"))):
        each = _map(message)
        number = _id(each.get("id")) or str(key)
        role = _ROLES.get(_text(each.get("role")))
        said = _unfolded(_joined(_parts(each.get("content"))))
        notes = [
            _note("image" if file.get("type") == "image" else "file", _one_of(file, "name") or file.get("url"))
            for file in _maps(each.get("files"))
        ]
        made = Node(number, _id(each.get("parentId")) if kept else above, role, _joined((said, *notes)))
        made.created = _time(each.get("timestamp"))
        made.model = _text(_one_of(each, "model", "modelName")) if role == "assistant" else ""
        chat.nodes.append(made)
        above = number
    return chat


def _unfolded(text: str) -> str:
    """Return a reply with its thoughts between the usual markers: there they are folded away as HTML."""
    before, sign, rest = text.partition(_REASONING)
    said = [before]
    while sign:
        inside, closed, after = rest.partition("</details>")
        if not closed:
            said.append(sign + rest)
            break
        _, _, inside = inside.partition(">")
        _, summed, shown = inside.partition("</summary>")
        lines = (shown if summed else inside).strip().splitlines()
        said.append(_thought(html.unescape("\n".join(line.removeprefix("> ").removeprefix(">") for line in lines))))
        before, sign, rest = after.partition(_REASONING)
        said.append(before)
    return _joined(said)


def _lmstudio(data: dict[str, Any]) -> ParsedChat:
    chat = _head(data)
    chat.id = chat.id or _text(str(data.get("createdAt", "")))
    chat.updated = _time(_one_of(data, "assistantLastMessagedAt", "userLastMessagedAt")) or chat.updated
    chat.system = _text(data.get("systemPrompt"))
    model = _text(_one_of(_map(data.get("lastUsedModel")), "identifier", "indexedModelIdentifier"))
    for place, message in enumerate(_maps(data.get("messages"))):
        versions = [(_map(each).get("role"), *_lmstudio_version(_map(each))) for each in message.get("versions") or ()]
        _add_versions(chat, place, versions, message.get("currentlySelected"), model)
    return chat


def _lmstudio_version(version: dict[str, Any]) -> tuple[str, float | None, str]:
    texts, model = [*_parts(version.get("content"))], _text(_map(version.get("senderInfo")).get("senderName"))
    for step in _maps(version.get("steps")):
        if step.get("type") not in ("contentBlock", "toolStatus", None):
            continue
        said = _joined(_parts(step.get("content")))
        texts.append(_thought(said) if _map(step.get("style")).get("type") == "thinking" else said)
        model = model or _text(_one_of(_map(step.get("genInfo")), "identifier", "indexedModelIdentifier"))
    return _joined(texts), _time(_one_of(version, "createdAt", "timestamp")), model


def _add_versions(
    chat: ParsedChat,
    place: int,
    versions: Sequence[tuple[object, str, float | None, str]],
    chosen: object,
    usual: str = "",
) -> None:
    """Add the versions of a message below the one of the message before it that was on the screen."""
    shown = chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else len(versions) - 1
    above = chat.current
    for number, (data, text, created, model) in enumerate(versions):
        role = _ROLES.get(_text(data))
        node = Node(f"{place}.{number}", above, role, text, created, (model or usual) if role == "assistant" else "")
        chat.nodes.append(node)
        if number == shown:
            chat.current = node.id


def _llamacpp(data: dict[str, Any]) -> ParsedChat:
    conv = _map(data.get("conv"))
    chat = _head(conv)
    chat.current = _id(conv.get("currNode"))
    for message in _maps(data.get("messages")):
        role = None if message.get("type") == "root" else _ROLES.get(_text(message.get("role")))
        if message.get("role") == "system" and not chat.system:
            chat.system = _text(message.get("content"))
        files = [
            _file(each.get("name"), each.get("content"))
            if _text(each.get("content"))
            else _note(_text(each.get("type")).lower().removesuffix("file") or "file", each.get("name"))
            for each in _maps(message.get("extra"))
        ]
        thought = _thought(_one_of(message, "reasoningContent", "reasoning_content", "thinking"))
        called = _called("", message["toolCalls"]) if message.get("toolCalls") not in (None, "", []) else ""
        text = _joined((*files, thought, *_parts(message.get("content")), called))
        number = _id(message.get("id")) or f"{len(chat.nodes)}"
        made = Node(number, _id(message.get("parent")), role, text, _time(message.get("timestamp")))
        made.model = _text(message.get("model")) if role == "assistant" else ""
        chat.nodes.append(made)
    return chat


def _turns(data: dict[str, Any], turns: Iterable[dict[str, Any]]) -> ParsedChat:
    """Return a chat without branches: ShareGPT's, Jan's, and messages as OpenAI's interface has them."""
    chat = _head(data)
    chat.title = chat.title or _text(_map(data.get("metadata")).get("title"))
    chat.system = _text(data.get("system"))
    assistants = _maps(data.get("assistants"))
    usual = _id(_one_of(data, "model")) or _id(_map(data.get("model")).get("id"))
    usual = usual or next((_text(_map(each.get("model")).get("id")) for each in assistants), "")
    for place, each in enumerate(turns):
        said = _text(_one_of(each, "from", "role")).lower()
        role: Role | None = _ROLES.get(said)
        text = _joined((_thought(each.get("reasoning_content")), *_parts(_one_of(each, "value", "content", "text"))))
        if said == "system" and not chat.system:
            chat.system = text
        if each.get("tool_calls") or said in ("function_call", "observation"):
            role, text = "assistant", _joined((_called("", each.get("tool_calls") or text),))
        node = Node(str(place), str(place - 1) if place else None, role, text)
        node.created = _time(_one_of(each, "created_at", "timestamp", "completed_at"))
        node.model = (_text(_map(each.get("metadata")).get("modelId")) or _text(usual)) if role == "assistant" else ""
        chat.nodes.append(node)
    return chat


def _sillytavern(data: dict[str, Any]) -> ParsedChat:
    head, *lines = data["lines"] if "mes" not in data["lines"][0] else ({}, *data["lines"])
    chat = _head(head, title=("character_name",))
    chat.id = _text(_map(head.get("chat_metadata")).get("integrity")) or _text(head.get("create_date"))
    for place, each in enumerate(lines):
        role = None if each.get("is_system") else "user" if each.get("is_user") else "assistant"
        swipes, infos = each.get("swipes"), _maps(each.get("swipe_info"))
        texts = swipes if isinstance(swipes, list) and len(swipes) > 1 else [each.get("mes")]
        versions = []
        for number, text in enumerate(texts):
            info = infos[number] if len(texts) > 1 and number < len(infos) else each
            extra = _map(info.get("extra"))
            said = _joined((_thought(extra.get("reasoning")), _text(text)))
            model = _text(extra.get("model")) or _text(_map(each.get("extra")).get("model"))
            versions.append((role, said, _time(info.get("send_date")) or _time(each.get("send_date")), model))
        _add_versions(chat, place, versions, each.get("swipe_id"))
    return chat


# The table ------------------------------------------------------------------------------------------------------------


def _first(value: object) -> dict[str, Any]:
    return next(iter(_maps(value)), {})


def is_thread(data: object) -> bool:
    """Return True if a value describes a chat of Jan's, whose messages may be in a file beside it."""
    return _map(data).get("object") == "thread"


def is_session(data: object) -> bool:
    """Return True if a value heads a chat of llama.cpp's window, whose messages are the lines behind it."""
    return _map(data).get("type") == "session" and "currNode" in _map(data)


@dataclass(frozen=True, slots=True)
class Layout:
    """Describe a layout: the name in ids, the test for a chat in it, and its reader."""

    name: str
    fits: Callable[[dict[str, Any]], bool]
    read: Callable[[dict[str, Any]], ParsedChat]


LAYOUTS = (
    Layout("deepseek", lambda data: isinstance(data.get("mapping"), dict) and "inserted_at" in data, _deepseek),
    Layout("chatgpt", lambda data: isinstance(data.get("mapping"), dict), _chatgpt),
    Layout("claude", lambda data: isinstance(data.get("chat_messages"), list), _claude),
    Layout(
        "openwebui",
        lambda data: isinstance(data.get("chat"), dict) or isinstance(_map(data.get("history")).get("messages"), dict),
        _openwebui,
    ),
    Layout("llamacpp", lambda data: isinstance(data.get("conv"), dict) and "messages" in data, _llamacpp),
    Layout("lmstudio", lambda data: isinstance(_first(data.get("messages")).get("versions"), list), _lmstudio),
    Layout("jan", is_thread, lambda data: _turns(data, _maps(data.get("messages")))),
    Layout("sillytavern", lambda data: "lines" in data and not _is_jan(_first(data["lines"])), _sillytavern),
    Layout("jan", lambda data: "lines" in data, lambda data: _turns(_map(data.get("thread")), data["lines"])),
    Layout(
        "sharegpt",
        lambda data: bool({"from", "role"} & {*_first(_sharegpt(data))}),
        lambda data: _turns(data, _maps(_sharegpt(data))),
    ),
    Layout(
        "messages",
        lambda data: "format" not in data and "role" in _first(data.get("messages")),
        lambda data: _turns(data, _maps(data.get("messages"))),
    ),
)
"""The layouts in the order in which they are tried."""


def _sharegpt(data: dict[str, Any]) -> object:
    return _one_of(data, "conversations", "conversation", "items")


def _is_jan(data: dict[str, Any]) -> bool:
    return data.get("object") == "thread.message" or {"thread_id", "role", "content"} <= data.keys()


def is_line(data: object) -> bool:
    """Return True if a value is one message of a chat, or the head of one, of which all lines of the file are."""
    keys = _map(data).keys()
    tavern = ("mes" in keys and bool(keys & {"is_user", "is_system"})) or {"user_name", "character_name"} <= keys
    return tavern or _is_jan(_map(data))


def layout_of(data: object) -> Layout | None:
    """Return the layout in which a value is a chat."""
    return next((each for each in LAYOUTS if each.fits(data)), None) if isinstance(data, dict) else None
