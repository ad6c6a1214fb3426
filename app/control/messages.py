"""Store questions and replies: the exchanges on the screen as messages of their conversations in the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.control.conversations import ConversationController
from app.state.chat.messages import edited
from app.state.chat.transcript import Exchange
from app.state.conversations.conversation import Conversation
from app.state.conversations.stored import models, stats_to_kept
from app.store.conversations import ConversationStore


class KeptMessages:
    """Store all messages: the chat's interface to the store."""

    def __init__(self, conversations: ConversationController) -> None:
        self._conversations = conversations

    @property
    def _store(self) -> ConversationStore:
        return self._conversations.store

    # Questions --------------------------------------------------------------------------------------------------------

    def ask(self, exchange: Exchange, conversation: Conversation | None = None) -> Conversation:
        """Keep a question in a conversation and return that: by default the open or a new one. Raises StoreError."""
        conversation = self._conversations.current() if conversation is None else conversation
        question = self._store.ask(conversation, exchange.question)
        exchange.question_id, exchange.created = question.id, question.created
        exchange.question_branch = conversation.branch(question.id)
        self._conversations.note(conversation)
        return conversation

    def ask_in_other_words(self, conversation: Conversation, question: int, text: str) -> int:
        """Keep another version of a question beside it; return its id."""
        before, text = conversation[question], text.strip("\n")
        messages = edited(before.messages, text)
        return self._store.ask(conversation, text, before.parent, first=before.parent is None, messages=messages).id

    def show(self, conversation: Conversation, question: int) -> Exchange:
        """Show the branch of a question; return an exchange that is to have its next reply."""
        self._store.choose(conversation, question)
        message = conversation[question]
        exchange = Exchange(
            message.text, question_id=question, created=message.created, question_messages=message.messages
        )
        exchange.question_branch = conversation.branch(question)
        if message.damaged:
            exchange.damaged = frozenset({"question"})
        return exchange

    def step(self, conversation: Conversation, message: int, step: int) -> None:
        """Show the version of a message that is so many places further."""
        self._store.step(conversation, message, step)

    # Replies ----------------------------------------------------------------------------------------------------------

    def begin_reply(
        self, conversation: Conversation, exchange: Exchange, *, target: str, draft: str, settings: Mapping[str, Any]
    ) -> None:
        """Store an empty reply to a stored question without one; a reply that goes on stays as it is."""
        if exchange.question_id is None or exchange.reply_id is not None:
            return
        reply = self._store.begin_reply(
            conversation, exchange.question_id, target=target, draft=draft, settings=settings
        )
        exchange.reply_id = reply.id
        exchange.reply_branch = conversation.branch(reply.id)
        exchange.models = models(target, draft)
        if exchange.reply:
            self._store.append(conversation, reply.id, exchange.reply)

    def answer_in_other_words(self, conversation: Conversation, reply: int, text: str) -> None:
        """Store another version of a reply beside it, and show that. It has no statistics."""
        old = conversation[reply]
        if old.parent is None:
            return
        written = self._store.begin_reply(
            conversation, old.parent, target=old.target, draft=old.draft, settings=old.settings
        )
        self._store.finish(conversation, written.id, text.strip("\n"), "done", finish_reason="stop")
        self._conversations.note(conversation)

    def resume(self, conversation: Conversation, reply: int, settings: Mapping[str, Any]) -> None:
        """Reopen a reply that had ended."""
        self._store.resume(conversation, reply, settings)

    def grow(self, conversation: Conversation | None, exchange: Exchange, text: str) -> None:
        """Store more of a reply; nothing if it is deleted or was never stored."""
        reply = exchange.reply_id
        if conversation is not None and reply is not None and reply in conversation:
            self._store.append(conversation, reply, text)

    def finish(self, conversation: Conversation | None, exchange: Exchange) -> None:
        """Keep a reply as it ended, with the record of its tokens."""
        self.keep_results(conversation, exchange)
        reply = exchange.reply_id
        kept = conversation is not None and reply is not None and reply in conversation
        if kept and reply is not None and exchange.trace is not None:
            self._conversations.keep_trace(reply, exchange.trace)

    def go_on(self, conversation: Conversation, exchange: Exchange) -> Exchange:
        """Keep that a reply goes on from results of tools, below the one that called them; return its exchange."""
        question = self._store.ask(conversation, "", exchange.reply_id)
        following = Exchange("", question_id=question.id, created=question.created)
        self._conversations.note(conversation)
        return following

    def keep_results(self, conversation: Conversation | None, exchange: Exchange) -> None:
        """Store an ended reply, and the results of its tool calls."""
        reply = exchange.reply_id
        if conversation is None or reply is None or reply not in conversation:
            return
        self._store.finish(
            conversation,
            reply,
            exchange.reply,
            exchange.status,
            stats=stats_to_kept(exchange),
            finish_reason=exchange.finish_reason,
            problem=None if exchange.problem is None else exchange.problem.text,
            messages=exchange.reply_messages,
        )
