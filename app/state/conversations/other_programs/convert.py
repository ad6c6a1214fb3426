"""Make a conversation of a chat of another program: questions and replies in turn, on every branch."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from app.state.conversations.conversation import Conversation, Role, StoredMessage, title_from
from app.state.conversations.files import Imported
from app.state.conversations.json_stream import Senseless
from app.state.conversations.other_programs.layouts import Node, ParsedChat
from engine import Translatable

_CREATED = re.compile(rb'"created": ?(\d{1,12}(?:\.\d{1,12})?)\b')
SOURCE = "source"
"""The key in the settings of a first question that holds its origin: the program and the chat."""
_MOST_NODES = 100_000
_LARGEST = 32 * 2**20
"""The most characters of a conversation: branches that part within a reply repeat the text above."""
_LONGEST_TITLE = 200
_LONGEST_SYSTEM = 100_000
_NAMELESS = "first said "
"""The key of a chat without an id: its first message."""


def source_of(layout: str, chat: ParsedChat) -> str:
    """Fingerprint a chat: the same for the same chat; for one that went on since, the same up to the last colon."""
    digest = hashlib.sha256()
    for node in chat.nodes:
        digest.update(repr((node.id, node.parent, node.role, node.text)).encode())
    first = next((node.text for node in chat.nodes if node.role and node.text.strip()), "")
    known_by = chat.id or _NAMELESS + hashlib.sha256(first.encode()).hexdigest()[:32]
    return f"{layout}:{known_by}:{digest.hexdigest()[:32]}"


def own_source(data: bytes) -> str:
    """Return the same of a chat that Outrider exported."""
    created = _CREATED.search(data[:100_000])
    began = float(created[1]) if created is not None else 0.0
    return f"{own_key(began)}:{hashlib.sha256(data).hexdigest()[:32]}"


def own_key(created: float) -> str:
    """Return the key of a chat of Outrider's own: the time at which it began."""
    return f"outrider:{created!r}"


def what_is_new(old: Conversation, new: Conversation, source: str) -> list[StoredMessage] | None:
    """Return the messages that a chat has since, below those of `old` that they follow; None for another chat.

    Messages are the same where they say the same in the same place. Those of `new` are changed.
    """
    places: dict[int | None, int | None] = {None: None}
    added: list[StoredMessage] = []
    for message in new:
        parent = places[message.parent]
        below = (old[each] for each in old.children(parent))
        same = next((each.id for each in below if (each.role, each.text) == (message.role, message.text)), None)
        places[message.id] = message.id if same is None else same
        if same is None:
            message.parent = parent
            added.append(message)
    least = len(old) if f":{_NAMELESS}" in source else 1
    return added if len(new) - len(added) >= least else None


def conversation_of(chat: ParsedChat, source: str, new_id: Callable[[], int]) -> Imported:
    """Return a chat as a conversation. Raises Senseless if it has no message."""
    if len(chat.nodes) > _MOST_NODES:
        raise Senseless("it has more than {count} messages", count=_MOST_NODES)
    return _Tree(chat, source, new_id).grow()


@dataclass(slots=True)
class _Run:
    """Hold messages of one role that follow each other: they become one. `kept`: its id, once it was added."""

    parent: int | None
    role: Role | None = None
    nodes: tuple[Node, ...] = ()
    kept: int | None = None


class _Tree:
    def __init__(self, chat: ParsedChat, source: str, new_id: Callable[[], int]) -> None:
        self._chat = chat
        self._source = source
        self._new_id = new_id
        dates = [node.created for node in chat.nodes if node.created is not None]
        self._created = chat.created or min(dates, default=None) or datetime.now(UTC).timestamp()
        self._conversation = Conversation(new_id(), self._created)
        self._ids: dict[str, int] = {}
        self._size = 0

    def grow(self) -> Imported:
        chat, made = self._chat, self._conversation
        known = {node.id: node for node in chat.nodes}
        below: dict[str | None, list[Node]] = {}
        for node in known.values():
            parent = node.parent if node.parent in known and node.parent != node.id else None
            below.setdefault(parent, []).append(node)
        for nodes in below.values():
            nodes.sort(key=lambda node: node.created or 0.0)
        waiting = [(node, _Run(None)) for node in reversed(below.get(None, []))]
        while waiting:
            node, run = waiting.pop()
            run = self._with(node, run)
            under = below.get(node.id, ())
            waiting += [(each, run) for each in reversed(under)]
            if not under:
                self._keep(run)
        if not len(made):
            raise Senseless(Translatable("it has no messages"))
        shown = self._current(known)
        if shown is not None:
            made.choose(shown)
        first = made.path[0]
        made.title = " ".join(chat.title.split())[:_LONGEST_TITLE] or title_from(first.text)
        made.settings = {"system": chat.system if len(chat.system) <= _LONGEST_SYSTEM else ""}
        made.updated = chat.updated or made.updated
        return Imported(made, {})

    def _with(self, node: Node, run: _Run) -> _Run:
        """Return the run that a message belongs to: the one above, a longer one, or one that begins with it."""
        if node.role is None or not node.text.strip():
            return run
        if node.role == run.role:
            return _Run(run.parent, run.role, (*run.nodes, node))
        return _Run(self._keep(run), node.role, (node,))

    def _keep(self, run: _Run) -> int | None:
        """Add a run's texts as one message, if it is not there yet, and return its id; None for an empty one."""
        if run.kept is not None or run.role is None:
            return run.kept
        parent = run.parent
        created = next((node.created for node in run.nodes if node.created is not None), None)
        if run.role == "assistant" and parent is None:
            # What begins with a greeting: each reply has a question.
            parent = self._add(None, "user", "", created, "")
        text = "\n\n".join(node.text for node in run.nodes)
        model = next((node.model for node in reversed(run.nodes) if node.model), "")
        run.kept = self._add(parent, run.role, text, created, model)
        for node in run.nodes:
            self._ids.setdefault(node.id, run.kept)
        self._ids[run.nodes[-1].id] = run.kept
        return run.kept

    def _add(self, parent: int | None, role: Role, text: str, created: float | None, model: str) -> int:
        self._size += len(text)
        if self._size > _LARGEST:
            raise Senseless("it is larger than {count} MiB", count=_LARGEST // 2**20)
        if created is None:
            created = self._created if parent is None else self._conversation[parent].created
        message = StoredMessage(self._new_id(), parent, role, text, created, "done", model[:_LONGEST_TITLE])
        if parent is None:
            message.settings = {SOURCE: self._source}
        self._conversation.add(message)
        return message.id

    def _current(self, known: dict[str, Node]) -> int | None:
        """Find the message that was on the screen, or the nearest one above it."""
        step, seen = self._chat.current, set[str]()
        while step is not None and step not in self._ids and step in known and step not in seen:
            seen.add(step)
            step = known[step].parent
        return self._ids.get(step) if step is not None else None
