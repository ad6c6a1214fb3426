"""Make a conversation of messages as OpenAI's chat interface has them: roles, parts, tool calls and their results."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from app.state.chat.messages import Messages, question_messages, reply_messages, text_of_messages
from app.state.conversations.conversation import Conversation, Role, StoredMessage, title_from
from app.state.conversations.json_stream import Senseless
from engine import EngineError, Message, TextPart, Translatable

_LONGEST_SYSTEM = 100_000
"""Characters of an instruction that a person may edit as the system prompt; a longer one stays a message."""

_MOST_IN_A_TURN = 2_000


def is_foreign(data: object) -> bool:
    """Return True if an object is a message of that interface, and none that Outrider exported."""
    return (
        isinstance(data, dict) and "role" in data and "text" not in data and bool({"content", "tool_calls"} & {*data})
    )


class ForeignChat:
    """Add messages to a conversation as they come: questions, each with the reply to it.

    What stands before a question belongs to it (instructions in the middle of a chat, another question), calls of
    tools and their results to the reply. The first instruction becomes the system prompt of the conversation.
    """

    def __init__(self, conversation: Conversation, new_id: Callable[[], int]) -> None:
        self._conversation = conversation
        self._new_id = new_id
        self._created = datetime.now(UTC).timestamp()
        self._role: Role = "user"
        self._group: list[Message] = []
        self._asked = False
        self._last: StoredMessage | None = None
        conversation.created = self._created
        # Without one it would get that of new chats.
        conversation.settings = {"system": ""}

    def add(self, data: object) -> None:
        """Add the next message. Raises Senseless."""
        try:
            message = Message.from_mapping(data)
        except EngineError as error:
            raise Senseless(error.message) from error
        if self._is_system_prompt(message):
            self._conversation.settings = {"system": message.content}
            return
        self._asked |= message.role == "user"
        role: Role = "assistant" if self._asked and message.role in ("assistant", "tool") else "user"
        if role != self._role:
            self._keep()
        if len(self._group) == _MOST_IN_A_TURN:
            raise Senseless("a turn has more than {count} messages", count=_MOST_IN_A_TURN)
        self._role = role
        self._group.append(message)

    def end(self) -> None:
        """Add the remaining messages, and give the conversation a title. Raises Senseless if there is no question."""
        last = self._last
        if self._role == "user" and all(each.role != "user" for each in self._group):
            if last is None:
                raise Senseless(Translatable("it has no question"))
            before = reply_messages if last.role == "assistant" else question_messages
            last.messages = (*before(last.text, last.messages), *self._group) if self._group else last.messages
        else:
            self._keep()
        first = next(iter(self._conversation))
        self._conversation.title = title_from(first.text)

    def _is_system_prompt(self, message: Message) -> bool:
        first = not len(self._conversation) and not self._group and not self._conversation.settings["system"]
        plain = len(message.parts) == 1 and isinstance(message.parts[0], TextPart) and message.role == "system"
        return first and plain and 0 < len(message.content.strip()) <= len(message.content) <= _LONGEST_SYSTEM

    def _keep(self) -> None:
        messages = tuple(self._group)
        text = text_of_messages(each for each in messages if self._role == "assistant" or each.role == "user")
        above = None if self._last is None else self._last.id
        self._last = StoredMessage(
            self._new_id(), above, self._role, text, self._created, messages=_further(self._role, text, messages)
        )
        self._conversation.add(self._last)
        self._group = []


def _further(role: Role, text: str, messages: Messages) -> Messages:
    """Return nothing if the text says everything."""
    plain = (question_messages if role == "user" else reply_messages)(text)
    return () if plain == messages else messages
