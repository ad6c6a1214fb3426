"""Put the context and the files of a question into words."""

from __future__ import annotations

from app.state.chat.attachments import NotAttached
from app.state.chat.context_use import ContextUse
from app.system.translation import number, say, tr


def context_words(use: ContextUse | None) -> str:
    """Return the words of the meter: 1,234 of 4,096 tokens."""
    if use is None:
        return ""
    used, available = number(use.used), number(use.available)
    if not use.fits:
        text = tr("Context", "too long: {used} tokens, {available} fit")
    elif use.dropped:
        text = tr("Context", "{used} of {available} tokens, without the oldest messages: {free} stay free")
    else:
        text = tr("Context", "{used} of {available} tokens")
    return text.format(used=used, available=available, free=number(use.kept_free))


def context_figures(use: ContextUse | None) -> str:
    """Return the figures of the meter alone, if there is no room for words: 1,234 / 4,096."""
    return "" if use is None else f"{number(use.used)} / {number(use.available)}"


def too_long(use: ContextUse) -> str:
    """Explain that a message does not fit, with remedies."""
    text = tr(
        "Context",
        "Your message and the system prompt alone take {used} tokens, but the context holds only "
        "{available}. Shorten the message or a file, choose another target, or load it with a longer context.",
    )
    return text.format(used=number(use.used), available=number(use.available))


def blind(name: str) -> str:
    """Explain that a model cannot see the pictures of a message, with remedies."""
    text = tr(
        "Context",
        "{name} cannot see pictures. Remove them, or choose a model that sees: one with its projector (mmproj-….gguf) "
        "beside it.",
    )
    return text.format(name=name)


def context_details(use: ContextUse | None) -> str:
    """Describe the details for the tooltip: the messages that the model reads, and the omitted ones."""
    if use is None:
        return ""
    if not use.fits:
        return too_long(use)
    lines = [
        tr("Context", "The model reads {used} tokens; its context holds {available}.").format(
            used=number(use.used), available=number(use.available)
        )
    ]
    if use.typed:
        typed = tr("Context", "Your current message: {count}.")
        lines.append(typed.format(count=number(use.typed)))
    rule = tr(
        "Context",
        "{free} tokens are kept free for the reply: where fewer would be left, the oldest messages are left out until "
        "about half of the context is free. The system prompt and your message are always sent.",
    )
    lines.append(rule.format(free=number(use.kept_free)))
    if use.dropped:
        dropped = tr(
            "Context", "The oldest {count} messages are not sent to the model. A line in the chat marks where they end."
        )
        lines.append(dropped.format(count=number(use.dropped)))
    return "\n".join(lines)


def refusal(error: NotAttached) -> str:
    """Explain the refusal of an attachment, and suggest a remedy."""
    patterns = {
        "missing": tr("Attachments", "{name} no longer exists. Choose another file."),
        "folder": tr("Attachments", "{name} is a folder. Attach its files one by one."),
        "special": tr("Attachments", "{name} is not a regular file. Attach a text file."),
        "unreadable": tr("Attachments", "{name} cannot be read ({detail}). Check its permissions, or attach a copy."),
        "empty": tr("Attachments", "{name} contains no text. Attach another file."),
        "large": tr("Attachments", "{name} is larger than {detail} MiB. Attach only the part that you need."),
        "binary": tr("Attachments", "{name} is not a text file. Save its content as text and attach that file."),
        "encoding": tr(
            "Attachments", "The encoding of {name} is not known ({detail}). Save it as UTF-8 and attach it again."
        ),
        "document": tr(
            "Attachments", "{name} is a {detail} document, which is not read yet. Save its text and attach that file."
        ),
        "refused": tr("Attachments", "{name} cannot be read: {detail}."),
        "scanned": tr("Attachments", "{name} has no text. Its pages are attached as pictures ({detail})."),
        "many": tr("Attachments", "{name} was not attached: a message can have at most {detail} files."),
    }
    unknown = tr("Attachments", "no further details")
    return patterns[error.trouble].format(name=error.name, detail=say(error.detail) or unknown)
