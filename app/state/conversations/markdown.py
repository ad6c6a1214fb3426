"""Write a conversation in Markdown, to be read by a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from app.state.chat.messages import further_parts, readable
from app.state.chat.pictures import number_of, told_pictures
from app.state.conversations.conversation import Conversation, StoredMessage
from app.state.conversations.stored import stats_from_kept
from engine import FilePart, ImagePart, OtherField, OtherPart, ReasoningPart, TextPart, ToolCall, ToolResult
from engine.host import picture_part

_TICKS = re.compile(r"`{3,}")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True, slots=True)
class Words:
    """Hold the words of an export in Markdown, for a translation."""

    question: str = "You"
    reply: str = "Reply"
    untitled: str = "Conversation"
    with_draft: str = "with {draft}"
    speed: str = "{speed:.1f} tokens/s"
    acceptance: str = "acceptance rate {rate:.0%}"
    statuses: Mapping[str, str] = field(
        default_factory=lambda: {
            "waiting": "being written",
            "writing": "being written",
            "cancelled": "cancelled",
            "failed": "failed",
            "interrupted": "interrupted",
        }
    )
    damaged: str = "This message was damaged on the disk and may not read as it was written."
    instruction: str = "Instruction"
    thought: str = "Thought"
    tool_call: str = "Tool call"
    tool_result: str = "Result of a tool"
    image: str = "Image"
    other: str = "Other content"


def to_markdown(conversation: Conversation, words: Words | None = None) -> str:
    """Return the messages on the screen, to be read by a person."""
    words = Words() if words is None else words
    parts = [f"# {conversation.title or words.untitled}"]
    for message in conversation.path:
        if message.role == "user" and not (message.text or message.messages):
            continue  # The reply goes on from results of tools.
        parts.append(f"## {words.question if message.role == 'user' else words.reply}")
        if message.role == "assistant" and (figures := _figures(message, words)):
            parts.append(f"*{figures}*")
        if message.text.strip():
            text = _closed(readable(message.messages, message.text).strip("\n"))
            parts.append(text if message.role != "user" else told_pictures(text, partial(_picture, conversation)))
        parts += _further_texts(message, words)
        if message.damaged:
            parts.append(f"> {words.damaged}")
        if message.problem:
            parts.append("> " + "\n> ".join(message.problem.splitlines()))
    return "\n\n".join(parts) + "\n"


def _picture(conversation: Conversation, name: str, number: str) -> str:
    """Write a picture of a question, which is in the text as a whole; its name where it is not kept."""
    data = next((each.source for each in conversation.documents if each.name == name), b"")
    title = re.sub(r"([\[\]*_`\\])", r"\\\1", name)
    return f"![{title}](<{picture_part(data).url}>)" if number_of(data) == number else f"*{title}*"


def _further_texts(message: StoredMessage, words: Words) -> list[str]:
    """Write the parts of a message beside its text: named, long ones between fences."""
    texts = []
    for part in further_parts(message.messages, message.text):
        match part:
            case TextPart(text):
                texts += [f"**{words.instruction}**", _closed(text.strip("\n"))]
            case ReasoningPart(text):
                texts += [f"**{words.thought}**", "> " + "\n> ".join(text.splitlines())]
            case FilePart():
                texts.append(part.quoted)
            case ToolCall(name=name):
                texts += [f"**{words.tool_call}** `{name}`", _fenced(part.arguments_json, "json")]
            case ToolResult(name=name, text=text):
                texts += [f"**{words.tool_result}**" + (f" `{name}`" if name else ""), _fenced(text, "")]
            case ImagePart(url):
                texts.append(f"![{words.image}](<{url}>)")
            case OtherPart() | OtherField():
                texts += [f"**{words.other}**", _fenced(part.json, "json")]
    return texts


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, max(map(len, _TICKS.findall(text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _figures(message: StoredMessage, words: Words) -> str:
    texts = []
    if message.target:
        texts.append(message.target)
        if message.draft:
            texts[0] += " " + words.with_draft.format(draft=message.draft)
    stats = stats_from_kept(message.stats)
    if stats is not None and stats.tokens_per_second:
        texts.append(words.speed.format(speed=stats.tokens_per_second))
    if stats is not None and stats.proposed:
        texts.append(words.acceptance.format(rate=stats.acceptance_rate))
    if message.status in words.statuses:
        texts.append(words.statuses[message.status])
    return re.sub(r"([*_`\\])", r"\\\1", " · ".join(texts))


def _closed(text: str) -> str:
    """Return the text with an open fence of code closed: later text is not code."""
    opened = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if not opened:
            opened = fence[1] if fence[1][0] == "~" or "`" not in fence[2] else ""
        elif fence[1].startswith(opened) and not fence[2].strip():
            opened = ""
    return f"{text}\n{opened}" if opened else text
