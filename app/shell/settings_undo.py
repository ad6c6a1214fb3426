"""Undo changes of many settings at once: a reset, a preset or prompt that was applied or deleted."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.settings.settings import SETTINGS
from app.shell.program import Program
from app.state.conversations.conversation import Conversation

_MOST = 100
_BESIDE = (
    *("sampling", "next_sampling", "model_choices", "presets", "prompts"),
    *("server_on", "server_host", "server_port", "server_names"),
)
_NAMES = (*(name for name, each in SETTINGS.items() if each.page is not None), *_BESIDE)


@dataclass(frozen=True, slots=True)
class _State:
    """Hold the settings that the dialog can change. `chat`: the one whose `own` settings are among them."""

    values: dict[str, Any]
    chat: Conversation | None
    own: dict[str, Any]


class SettingsUndo:
    """Keep the values before each change, for as long as the program runs.

    What was changed again since is left as it is.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._before: tuple[str, _State] | None = None
        self._done: deque[tuple[str, _State, _State]] = deque(maxlen=_MOST)

    @property
    def words(self) -> str:
        """Name the change that would be undone; empty for none."""
        return self._done[-1][0] if self._done else ""

    def begin(self, words: str) -> None:
        """Store the values before a change of many."""
        self._before = (words, self._now())

    def end(self) -> None:
        """Store the values after the change."""
        if self._before is not None:
            (words, before), after = self._before, self._now()
            self._before = None
            if before != after:
                self._done.append((words, before, after))

    def undo(self) -> None:
        """Restore the values before the last of these changes."""
        if not self._done:
            return
        _, before, after = self._done.pop()
        settings, conversations = self._program.settings, self._program.conversations
        for name, value in _merged(before.values, after.values, self._now().values).items():
            setattr(settings, name, value)
        if before.chat is not None:
            conversations.set_settings(before.chat, _merged(before.own, after.own, before.chat.settings))

    def _now(self) -> _State:
        chat = self._program.conversations.open
        values = {name: getattr(self._program.settings, name) for name in _NAMES}
        return _State(values, chat, {} if chat is None else dict(chat.settings))


def _merged(before: Mapping[str, Any], after: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the present settings with this change taken back."""
    merged = dict(now)
    for name in {*before, *after}:
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if now.get(name) == new:
            merged[name] = old
        elif isinstance(old, list) and isinstance(new, list):
            kept = [each for each in now.get(name, ()) if each in old or each not in new]
            merged[name] = [*kept, *(each for each in old if each not in new and _name(each) not in map(_name, kept))]
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            merged[name] = _merged(old, new, now.get(name, {}))
    return {name: value for name, value in merged.items() if value is not None or name in before}


def _name(item: Mapping[str, Any]) -> str:
    return str(item.get("name", "")).casefold()
