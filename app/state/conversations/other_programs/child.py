"""Convert chats of other programs in the child: the output has Outrider's own form, in pieces."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from app.state.conversations.files import ConversationRefused, to_json
from app.state.conversations.json_stream import Senseless
from app.state.conversations.other_programs.convert import conversation_of, own_source, source_of
from app.state.conversations.other_programs.find import Found, chats_in, is_source
from engine.host import Tell, answer_parent, close_doors, packed

_MEMORY_BYTES = 800 * 2**20
"""The memory of reading beside the process itself."""
_PIECE = 2**18
"""Characters that the parent takes at once: its window stands still meanwhile."""
_STEPS = 200
"""The progress reports of a file."""


def run(_argument: str) -> int:
    """Answer one request, and give the exit code."""
    return answer_parent(_answer, _MEMORY_BYTES)


def _answer(request: dict[str, Any], _data: bytes, tell: Tell) -> None:
    path = Path(request["path"])
    reported = 0

    def note(share: float) -> None:
        nonlocal reported
        if int(share * _STEPS) > reported:
            reported = int(share * _STEPS)
            tell({"share": share})

    try:
        if is_source(path, None):
            for found in chats_in(path, note, close_doors):
                _tell_chat(found, tell)
        else:
            tell({"other": True})
    except ConversationRefused as error:
        tell({"reason": packed(error.reason)})
    tell({"end": True})


def _tell_chat(found: Found, tell: Tell) -> None:
    """Send a chat as an export of Outrider, or the reason why it cannot be read."""
    try:
        source, text = _exported(found)
    except Senseless as error:
        tell({"chat": found.name, "refused": packed(error.args[0])})
        return
    head: dict[str, Any] = {"chat": found.name, "source": source}
    for at in range(0, len(text), _PIECE):
        tell(head | {"text": text[at : at + _PIECE], "more": at + _PIECE < len(text)})
        head = {}


def _exported(found: Found) -> tuple[str, str]:
    """Return the source of a chat, and its export. Raises Senseless."""
    if found.own:
        return own_source(found.own), found.own.decode()
    if found.chat is None:
        raise Senseless(found.reason)
    source = source_of(found.layout, found.chat)
    return source, to_json(conversation_of(found.chat, source, itertools.count(1).__next__).conversation)
