"""A conversation as a web page, to be read by a person."""

from __future__ import annotations

from html import escape

from app.state.conversations.conversation import Conversation
from app.state.conversations.markdown import Words


def to_html(conversation: Conversation, words: Words) -> str:
    """Return the messages on the screen as one page, without scripts and without anything from elsewhere."""
    title = escape(conversation.title or words.untitled)
    parts = ["<!DOCTYPE html>", '<meta charset="utf-8">', f"<title>{title}</title>", f"<h1>{title}</h1>"]
    for message in conversation.path:
        parts.append(f"<h2>{escape(words.question if message.role == 'user' else words.reply)}</h2>")
        parts.append(f"<pre>{escape(message.text)}</pre>")
    return "\n".join(parts) + "\n"
