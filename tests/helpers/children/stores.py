"""Stores with something in them, for tests."""

from app.state.conversations.conversation import ConversationSummary, StoredMessage
from app.store.store import Store


def head(number: int, title: str = "", updated: float = 0.0) -> ConversationSummary:
    """A conversation without messages."""
    return ConversationSummary(number, title, 0.0, updated)


def fill(store: Store, conversation: int, *texts: str, title: str = "") -> list[int]:
    """A conversation in one line. Its messages' ids are 1000 times its own and some."""
    messages = []
    for place, text in enumerate(texts):
        number = conversation * 1000 + place
        parent = number - 1 if place else None
        messages.append(StoredMessage(number, parent, "assistant" if place % 2 else "user", text, 1.0 + place))
    with store.changes():
        store.add_conversation(head(conversation, title, updated=float(conversation)))
        store.add_messages(conversation, messages)
    return [message.id for message in messages]


def reopen(store: Store) -> Store:
    store.close()
    return Store.open(store.path)
