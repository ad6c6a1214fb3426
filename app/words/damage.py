"""Describe the damaged parts of a chat: its file was changed on the disk."""

from __future__ import annotations

from app.state.conversations.conversation import Conversation, StoredMessage
from app.system.translation import tr

_NAMED = 5
_BEGINNING = 40


def damage_note() -> str:
    return tr("Damage", "This message was damaged on the disk and may not read as it was written.")


def damage_words(conversation: Conversation) -> str:
    """Name the damaged parts of a chat; empty if nothing is."""
    damaged = [message for message in conversation if message.damaged]
    if not damaged and not conversation.damaged:
        return ""
    parts = []
    if "title" in conversation.damaged:
        parts.append(tr("Damage", "its title"))
    if "settings" in conversation.damaged:
        parts.append(tr("Damage", "its settings"))
    parts += [_named(conversation, message) for message in damaged[:_NAMED]]
    if len(damaged) > _NAMED:
        parts.append(tr("Damage", "%Ln more messages", None, len(damaged) - _NAMED))
    text = tr(
        "Damage",
        "Parts of the chat “{title}” were damaged on the disk and may not read as they were written: {parts}. "
        "Everything else in it is unharmed.",
    )
    return text.format(title=conversation.title, parts=", ".join(parts))


def _named(conversation: Conversation, message: StoredMessage) -> str:
    place = len(conversation.above(message.id))
    text = " ".join(message.text[: 4 * _BEGINNING].split())
    if not text:
        return tr("Damage", "message {place}, which is lost").format(place=place)
    beginning = text if len(text) <= _BEGINNING else f"{text[:_BEGINNING].rstrip()}…"
    return tr("Damage", "message {place} (“{beginning}”)").format(place=place, beginning=beginning)
