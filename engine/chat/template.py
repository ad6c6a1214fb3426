"""Render chat templates, encode prompts, decode incrementally and find stop strings."""

from __future__ import annotations

from collections.abc import Sequence

from engine.backends.base import Tokenizer
from engine.chat.inputs import PLAIN_INPUT, TemplateInput, template_message
from engine.chat.render import Renderer
from engine.chat.repairs import TemplateChat, render_usable
from engine.errors import InvalidRequest
from engine.messages.message import Message
from engine.translatable import Translatable

_ANCHOR = "\n"
"""A text before another one that no tokenizer writes with one token for both."""


def encode_prompt(
    prompt: str | Sequence[Message] | Sequence[int],
    tokenizer: Tokenizer,
    *,
    raw: bool,
    renderer: Renderer | None = None,
    given: TemplateInput = PLAIN_INPUT,
) -> list[int]:
    """Return the token ids of a prompt: of text as it is (`raw`), of one user turn, of messages, or the ids themselves.

    Where the last of several messages is the assistant's, the reply goes on with it instead of beginning a new turn.
    `renderer`: of the call that this is a part of; its `notes` say what the template made change in the conversation.
    `given`: what the template reads beside the messages. Raises ChatTemplateFailed, TextNotEncodable, InvalidRequest,
    Cancelled.
    """
    renderer = renderer or Renderer()
    if isinstance(prompt, str):
        if raw:
            return tokenizer.encode(prompt, add_special=True, parse_special=False)
        return _encode_messages((Message("user", prompt),), tokenizer, renderer, given)
    if isinstance(prompt[0], Message):
        if raw:
            raise InvalidRequest(Translatable("Messages need the chat template: omit raw."))
        return _encode_messages(prompt, tokenizer, renderer, given)  # type: ignore[arg-type]
    return [int(token) for token in prompt]  # type: ignore[arg-type]


def _encode_messages(
    messages: Sequence[Message], tokenizer: Tokenizer, renderer: Renderer, given: TemplateInput
) -> list[int]:
    if len(messages) > 1 and messages[-1].role == "assistant":
        # Apart, as the reply was written: what it says is never read as a control token.
        reply = messages[-1].content
        before = _encode_messages(messages[:-1], tokenizer, renderer, given)
        return before + (_encode_behind(reply, tokenizer) if reply else [])
    if tokenizer.chat_template is None:
        text = "\n".join(message.content for message in messages)
        return tokenizer.encode(text, add_special=True, parse_special=False)
    asked = TemplateChat([*map(template_message, messages)], given, tokenizer.bos_token, tokenizer.eos_token)
    text = render_usable(renderer, tokenizer.chat_template, asked)
    begun = bool(tokenizer.bos_token) and text.startswith(tokenizer.bos_token)
    return tokenizer.encode(text, add_special=not begun, parse_special=True)


def _encode_behind(text: str, tokenizer: Tokenizer) -> list[int]:
    """Return the token ids of a text that stands behind other tokens.

    They leave out the space that some tokenizers put in front.

    Where that space cannot be kept out it stays.
    """
    plain, data = _encode_plain(text, tokenizer), text.encode("utf-8", "replace")
    if _join(plain, tokenizer) != b" " + data:
        return plain
    if text.startswith(" "):
        bare = _encode_plain(text[1:], tokenizer)
        return bare if _join(bare, tokenizer) == data else plain
    anchor = _encode_plain(_ANCHOR, tokenizer)
    both = _encode_plain(_ANCHOR + text, tokenizer)
    rest = both[len(anchor) :]
    return rest if both[: len(anchor)] == anchor and _join(rest, tokenizer) == data else plain


def _encode_plain(text: str, tokenizer: Tokenizer) -> list[int]:
    return tokenizer.encode(text, add_special=False, parse_special=False)


def _join(tokens: Sequence[int], tokenizer: Tokenizer) -> bytes:
    return b"".join(map(tokenizer.piece, tokens))
