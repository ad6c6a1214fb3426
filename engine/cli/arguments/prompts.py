"""Read prompts: from the command line, from files (`@FILE`), and from standard input (`-`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.cli.common import read_text
from engine.errors import InvalidRequest
from engine.messages.message import Message

_MOST_BYTES = 2**28
_INPUT = Path("-")


def read_text_argument(text: str) -> str:
    """Return a text as an argument tells it: itself, `@FILE`: of a file, `-`: of standard input.

    The line end behind the last line is left out. Raises InvalidRequest.
    """
    if text != "-" and (not text.startswith("@") or len(text) == 1):
        return text
    found = read_input() if text == "-" else read_text(Path(text[1:]).expanduser())
    return found.removesuffix("\n").removesuffix("\r")


def read_input() -> str:
    """Read standard input. Raises InvalidRequest."""
    try:
        return sys.stdin.buffer.read(_MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest("Standard input is not UTF-8 text.") from None


def read_messages(path: Path, *, ask: bool = True) -> list[Message]:
    """Return the messages of a JSON file, or of standard input. `ask`: there must be one to answer.

    Raises InvalidRequest.
    """
    name = "Standard input" if path == _INPUT else str(path)
    try:
        data = json.loads(read_input() if path == _INPUT else read_text(path))
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{name} is not JSON: {error}.") from None
    if not isinstance(data, list) or not data:
        raise InvalidRequest(f'{name} must contain a JSON list of {{"role", "content"}}.')
    messages = [Message.from_mapping(item) for item in data]
    if ask and not any(message.role == "user" for message in messages):
        raise InvalidRequest(f"{name} has no user message to answer.")
    return messages


def with_system(messages: Sequence[Message], system: str | None) -> list[Message]:
    """Return the messages behind a system message. Raises InvalidRequest if they bring one."""
    if system is None:
        return list(messages)
    if any(message.instructs for message in messages):
        raise InvalidRequest("The messages have a system message of their own: omit --system.")
    return [Message("system", system), *messages]
