"""Search the kept chats. Whoever keeps them gives the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine.cancel import CancelToken
from engine.tools.builtin.base import ToolRefused, own_tool, text_argument
from engine.tools.tool import ToolOutput, one_line
from engine.translatable import Translatable

MOST_CHATS = 10
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class FoundChat:
    """Hold a found chat: its title, the time of its last change, and an excerpt."""

    title: str
    when: datetime
    text: str


SearchChats = Callable[[str, int], Sequence[FoundChat]]
"""Return the chats that hold all of these words, so many at most. Called on worker threads. Raises EngineError."""


class SearchChatsTool:
    """Search the chats by their words."""

    tool = own_tool(
        "search_chats",
        Translatable("Search my chats"),
        "Search the user's earlier chats. Gives the title, the date and a passage of each chat that has all the words.",
        words={"type": "string", "description": "A few words that must all occur."},
    )

    def __init__(self, search: SearchChats) -> None:
        self._search = search

    def call(self, arguments: Mapping[str, Any], _cancel: CancelToken, _timeout: float) -> ToolOutput:
        """Return the results as text. Raises ToolRefused, and the errors of the search."""
        words = text_argument(arguments, "words", most=500)
        if not any(sign.isalnum() for sign in words):
            raise ToolRefused('"words" must have letters or digits.')
        found = self._search(words, MOST_CHATS)
        lines = [
            f"{one_line(each.title) or '(untitled)'} ({each.when:%Y-%m-%d})\n{each.text[:_LONGEST]}" for each in found
        ]
        return ToolOutput("\n\n".join(lines) or "No chat has these words.")
