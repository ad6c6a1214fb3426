"""Chat templates, encoding of prompts, incremental decoding and stop strings."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence, Sized
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.backends.base import Tokenizer
from engine.config import Message
from engine.errors import ChatTemplateFailed, InvalidRequest
from engine.translatable import Translatable

_MOST_STEPS = 1_000_000
"""Numbers that a template may count through, and characters or bits that one product in it may have."""
_ENDLESS = Translatable("it does not terminate")
_ANCHOR = "\n"
"""A text before another one that no tokenizer writes with one token for both."""


def encode_prompt(prompt: str | Sequence[Message] | Sequence[int], tokenizer: Tokenizer, *, raw: bool) -> list[int]:
    """The token ids of a prompt: of text as it is (`raw`), of one user turn, of messages, or the ids themselves.

    Where the last of several messages is the assistant's, the reply goes on with it instead of beginning a new turn.
    Raises ChatTemplateFailed, TextNotEncodable, InvalidRequest.
    """
    if isinstance(prompt, str):
        if raw:
            return tokenizer.encode(prompt, add_special=True, parse_special=False)
        return _encode_messages((Message("user", prompt),), tokenizer)
    if isinstance(prompt[0], Message):
        if raw:
            raise InvalidRequest(Translatable("Messages need the chat template: omit raw."))
        return _encode_messages(prompt, tokenizer)  # type: ignore[arg-type]
    return [int(token) for token in prompt]  # type: ignore[arg-type]


def _encode_messages(messages: Sequence[Message], tokenizer: Tokenizer) -> list[int]:
    if len(messages) > 1 and messages[-1].role == "assistant":
        # Apart, as the reply was written: what it says is never read as a control token.
        reply = messages[-1].content
        return _encode_messages(messages[:-1], tokenizer) + (_encode_behind(reply, tokenizer) if reply else [])
    if tokenizer.chat_template is None:
        text = "\n".join(message.content for message in messages)
        return tokenizer.encode(text, add_special=True, parse_special=False)
    text = render_template(tokenizer.chat_template, messages, tokenizer.bos_token, tokenizer.eos_token)
    begun = bool(tokenizer.bos_token) and text.startswith(tokenizer.bos_token)
    return tokenizer.encode(text, add_special=not begun, parse_special=True)


def _encode_behind(text: str, tokenizer: Tokenizer) -> list[int]:
    """The token ids of a text that stands behind other tokens: without the space that some tokenizers put in front.

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


def render_template(template: str, messages: Sequence[Message], bos_token: str, eos_token: str) -> str:
    """The text of a conversation, ready for the assistant's next turn.

    The template comes out of a model file and is untrusted: it runs in Jinja's immutable sandbox, without loaders.
    Raises ChatTemplateFailed.
    """
    try:
        return _compiled(template).render(
            messages=[{"role": message.role, "content": message.content} for message in messages],
            bos_token=bos_token,
            eos_token=eos_token,
            add_generation_prompt=True,
            tools=None,
            range=_Range(),
        )
    except (
        jinja2.TemplateError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
    ) as error:
        raise ChatTemplateFailed(str(error) or type(error).__name__) from error
    except (RecursionError, MemoryError) as error:
        raise ChatTemplateFailed(_ENDLESS) from error


class _Range:
    """`range` for one rendering, which gives no more than a budget of numbers in all its calls."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def __call__(self, *bounds: int) -> range:
        numbers = range(*bounds)
        self._left -= len(numbers)
        if self._left < 0:
            raise OverflowError(_ENDLESS)
        return numbers


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox of jinja2, which leaves open how large a product may become."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """A product, unless it is absurdly large. Raises OverflowError."""
        if operator == "**":
            size = _bits(left) * abs(right) if isinstance(right, int) else 0
        elif isinstance(left, int) and isinstance(right, int):
            size = _bits(left) + _bits(right)
        else:
            size = max(len(left) * right if isinstance(right, int) and isinstance(left, Sized) else 0, 0)
            size = max(len(right) * left if isinstance(left, int) and isinstance(right, Sized) else 0, size)
        if size > _MOST_STEPS:
            raise OverflowError(_ENDLESS)
        return super().call_binop(context, operator, left, right)


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 64


@lru_cache(maxsize=8)
def _compiled(template: str) -> jinja2.Template:
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    environment.filters["tojson"] = _to_json
    return environment.from_string(template)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    return dt.datetime.now().astimezone().strftime(form)


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
