"""Hold the generation settings: of the shown chat, and of new chats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.control.conversations import ConversationController
from app.settings.settings import Settings
from app.state.models.models import Lookahead, Selection
from app.state.settings.generation import CONVERSATION, FIELDS, NEEDS_DRAFT, SPECULATION, GenerationChoice


class Choices(QObject):
    """Hold the generation choices: each conversation has its own sampling and system prompt, all share the speculation.

    A new conversation begins with the defaults, or with what was chosen for it before its first question; from then on
    it keeps what it has. They are built when something is chosen or another conversation is opened, and kept.

    Attributes: defaults (the settings that new chats start with), own (the settings for the next reply of the shown
    chat). Signal: changed().
    """

    changed = Signal()

    def __init__(self, settings: Settings, conversations: ConversationController) -> None:
        super().__init__()
        self._settings = settings
        self._conversations = conversations
        self._build()
        conversations.open_changed.connect(self._opened)

    def asked(self, selection: Selection) -> GenerationChoice:
        """Return `own` with the draft that is chosen: none, or the text so far, decides the method."""
        method = selection.method or self.own.method
        if method in NEEDS_DRAFT and selection.draft is None:
            method = "auto"
        if method not in self._by_method:
            self._by_method[method] = replace(self.own, method=method)
        return self._by_method[method]

    def applied(self, selection: Selection) -> Selection:
        """Return the choice with the lookahead that the next reply really uses."""
        has_draft = selection.draft is not None
        lookahead = self.asked(selection).lookahead_for(selection.lookahead, has_draft=has_draft)
        return selection if lookahead == selection.lookahead else replace(selection, lookahead=lookahead)

    def choose(self, choice: GenerationChoice) -> None:
        """Ask the next replies of the chat on the screen with this; its speculation is that of all chats."""
        shown = self._conversations.open
        told = choice.to_mapping()
        if shown is None:
            self._settings.next_sampling = told
        elif told != shown.settings:
            self._conversations.set_settings(shown, told)
        self.choose_speculation(choice)

    def choose_defaults(self, choice: GenerationChoice) -> None:
        """Begin new conversations with this; its speculation is that of all chats."""
        self._settings.sampling = choice.to_mapping()
        self.choose_speculation(choice)

    def choose_speculation(self, choice: GenerationChoice) -> None:
        """Choose only how it speculates, in all chats."""
        for name in SPECULATION:
            setattr(self._settings, name, getattr(choice, name))
        self._build()
        self.changed.emit()

    def _build(self) -> None:
        """Build what is kept anew: something else is chosen, or another conversation is open."""
        speculation = {name: getattr(self._settings, name) for name in SPECULATION}
        self.defaults = GenerationChoice.from_mapping({**self._settings.sampling, **speculation})
        shown = self._conversations.open
        kept = self._settings.next_sampling if shown is None else shown.settings
        told = {name: kept[name] for name in CONVERSATION if name in kept}
        self.own = GenerationChoice.from_mapping(told, self.defaults)
        self._by_method = {self.own.method: self.own}

    def _opened(self) -> None:
        shown = self._conversations.open
        if shown is not None and not len(shown) and not shown.settings:
            begins_with = self._settings.next_sampling or self.defaults.to_mapping()
            self._conversations.set_settings(shown, begins_with)
        self._settings.next_sampling = {}
        self._build()
        self.changed.emit()


def as_kept(choice: GenerationChoice, lookahead: Lookahead) -> dict[str, Any]:
    """Return the settings of a reply in the form that is stored with the message."""
    return {"lookahead": lookahead, **choice.to_mapping(FIELDS)}
