"""Hold the conversations of the list in the order of their last messages, so that 50,000 cost no more than a few."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from itertools import islice

from app.state.conversations.conversation import ConversationSummary

Key = tuple[int, float, int]


class ListedConversations(dict[int, ConversationSummary]):
    """Map ids to conversations. One whose time, pin or project changes is put in again (`put`)."""

    def __init__(self, summaries: Iterable[ConversationSummary] = ()) -> None:
        super().__init__((each.id, each) for each in summaries)
        self._apart = {each.id for each in self.values() if each.pinned or each.project}
        self._messages: dict[int, int] = {}
        self._keys = {number: self._key(each) for number, each in self.items()}
        self._ordered = sorted(key for number, key in self._keys.items() if number not in self._apart)

    def put(self, summary: ConversationSummary) -> None:
        """Add a conversation, or what it has become."""
        self._take_out(summary.id)
        self[summary.id], key = summary, self._key(summary)
        self._keys[summary.id] = key
        if summary.pinned or summary.project:
            self._apart.add(summary.id)
        else:
            insort(self._ordered, key)

    def put_on_top(self, summary: ConversationSummary) -> None:
        """Add one with a new message: it is the latest, also where the clock was put back meanwhile."""
        self._messages[summary.id] = max(self._messages.values(), default=0) + 1
        self.put(summary)

    def take(self, number: int) -> ConversationSummary:
        """Remove a conversation, and return it."""
        self._take_out(number)
        del self._keys[number]
        return super().pop(number)

    def latest(self, most: int) -> list[ConversationSummary]:
        """Return those that are pinned or in a project, and so many others: the latest first."""
        others = (self[key[-1]] for key in islice(reversed(self._ordered), most))
        return sorted([*map(self.__getitem__, self._apart), *others], key=self._key, reverse=True)

    def are_more(self, most: int) -> bool:
        """Return True if `latest` leaves some out."""
        return len(self._ordered) > most

    def ordered(self) -> list[ConversationSummary]:
        """Return all of them, the latest first."""
        return [self[key[-1]] for key in sorted(self._keys.values(), reverse=True)]

    def _key(self, summary: ConversationSummary) -> Key:
        return self._messages.get(summary.id, 0), summary.updated, summary.id

    def _take_out(self, number: int) -> None:
        if number in self._apart:
            self._apart.discard(number)
        elif number in self._keys:
            del self._ordered[bisect_left(self._ordered, self._keys[number])]
