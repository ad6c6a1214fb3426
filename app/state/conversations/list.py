"""Hold the rows of the chat list: chats in groups, or the results of a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

Group = Literal["project", "pinned", "today", "yesterday", "week", "older"]
_ORDER: tuple[Group, ...] = ("pinned", "today", "yesterday", "week", "older")
_WEEK_DAYS = 7
MOST_AT_FIRST = 200
_BEFORE_HIT = 14


@dataclass(frozen=True, slots=True)
class ConversationItem:
    """Hold a conversation. `changed`: seconds since 1970. `snippet`: a search hit's text, `hits`: its (start, end).

    `title` is empty while nobody has said anything; `project`: the one that it is in, 0 for none.
    """

    id: int
    title: str
    pinned: bool
    changed: float
    snippet: str = ""
    hits: tuple[tuple[int, int], ...] = ()
    project: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """Head the conversations of a group. `project`, `name`: of that one; `folded`: they are hidden."""

    group: Group
    project: int = 0
    name: str = ""
    folded: bool = False


Row = Heading | ConversationItem


class ConversationList:
    """Hold the rows of the list, and which conversation is open.

    `projects`: their headings; `query`: what is searched for, empty for everything; `writing`: where a reply is being
    written or waits for that. `most`: how many chats outside of projects are shown; `more`: there are others.
    """

    def __init__(self) -> None:
        self.most, self.more = MOST_AT_FIRST, False
        self.rows: list[Row] = []
        self.projects: list[Heading] = []
        self.open_id: int | None = None
        self.query = ""
        self.writing: frozenset[int] = frozenset()

    def show(
        self,
        items: Iterable[ConversationItem],
        now: datetime | None = None,
        zone: tzinfo | None = None,
        projects: Iterable[Heading] = (),
    ) -> None:
        """Show these (latest first), each below its project or in its group.

        `zone`: whose days they are; None: the system's.
        """
        self.query = ""
        members: dict[int, list[ConversationItem]] = {0: []}
        for item in items:
            members.setdefault(item.project, []).append(item)
        self.rows = []
        self.projects = list(projects)
        for heading in self.projects:
            inside = [] if heading.folded else members.get(heading.project, [])
            self.rows += [heading, *sorted(inside, key=lambda each: not each.pinned)]
        self.rows += grouped(members[0], now or datetime.now(UTC), zone)

    def show_found(self, query: str, items: Sequence[ConversationItem]) -> None:
        """Show the results of a search, best first."""
        self.query = query
        self.rows = list(items)

    def row_of(self, conversation: int | None) -> int | None:
        for row, item in enumerate(self.rows):
            if isinstance(item, ConversationItem) and item.id == conversation:
                return row
        return None

    def item(self, conversation: int | None) -> ConversationItem | None:
        row = self.row_of(conversation)
        found = None if row is None else self.rows[row]
        return found if isinstance(found, ConversationItem) else None


def grouped(items: Iterable[ConversationItem], now: datetime, zone: tzinfo | None = None) -> Iterable[Row]:
    """Yield headings and items, in the order of the groups; items of a group keep their order."""
    groups: dict[Group, list[ConversationItem]] = {group: [] for group in _ORDER}
    for item in items:
        groups[group_of(item, now, zone)].append(item)
    for group, members in groups.items():
        if members:
            yield Heading(group)
            yield from members


def group_of(item: ConversationItem, now: datetime, zone: tzinfo | None = None) -> Group:
    """Return the group of a conversation, by calendar days, not by hours."""
    if item.pinned:
        return "pinned"
    changed = datetime.fromtimestamp(item.changed, UTC)
    days = (now.astimezone(zone).date() - changed.astimezone(zone).date()).days
    return "today" if days <= 0 else "yesterday" if days == 1 else "week" if days <= _WEEK_DAYS else "older"


def around_hit(snippet: str, hits: tuple[tuple[int, int], ...]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a snippet cut so that the hit stands near its beginning, where a narrow list shows it."""
    if not hits or hits[0][0] <= _BEFORE_HIT:
        return snippet, hits
    cut = hits[0][0] - _BEFORE_HIT
    space = snippet.find(" ", cut, hits[0][0])
    cut = cut if space < 0 else space + 1
    return "…" + snippet[cut:], tuple((start - cut + 1, end - cut + 1) for start, end in hits)
