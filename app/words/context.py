"""Put the context and the files of a question into words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.state.chat.attachments import NotAttached
from app.state.chat.context_use import ContextUse
from app.system.translation import number, say


def context_words(use: ContextUse | None) -> str:
    """Return the words of the meter: 1,234 of 4,096 tokens."""
    if use is None:
        return ""
    used, available = number(use.used), number(use.available)
    if not use.fits:
        text = QCoreApplication.translate("Context", "too long: {used} tokens, {available} fit")
    elif use.dropped:
        text = QCoreApplication.translate(
            "Context", "{used} of {available} tokens, without the oldest messages: {free} stay free"
        )
    else:
        text = QCoreApplication.translate("Context", "{used} of {available} tokens")
    return text.format(used=used, available=available, free=number(use.kept_free))


def context_figures(use: ContextUse | None) -> str:
    """Return the figures of the meter alone, if there is no room for words: 1,234 / 4,096."""
    return "" if use is None else f"{number(use.used)} / {number(use.available)}"


def too_long(use: ContextUse) -> str:
    """Explain that a message does not fit, with remedies."""
    text = QCoreApplication.translate(
        "Context",
        "Your message and the system prompt alone take {used} tokens, but the context holds only "
        "{available}. Shorten the message or a file, choose another target, or load it with a longer context.",
    )
    return text.format(used=number(use.used), available=number(use.available))


def blind(name: str) -> str:
    """Explain that a model cannot see the pictures of a message, with remedies."""
    text = QCoreApplication.translate(
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
        QCoreApplication.translate("Context", "The model reads {used} tokens; its context holds {available}.").format(
            used=number(use.used), available=number(use.available)
        )
    ]
    if use.typed:
        typed = QCoreApplication.translate("Context", "Your current message: {count}.")
        lines.append(typed.format(count=number(use.typed)))
    rule = QCoreApplication.translate(
        "Context",
        "{free} tokens are kept free for the reply: where fewer would be left, the oldest messages are left out until "
        "about half of the context is free. The system prompt and your message are always sent.",
    )
    lines.append(rule.format(free=number(use.kept_free)))
    if use.dropped:
        dropped = QCoreApplication.translate(
            "Context",
            "The oldest {count} messages are not sent to the model. A line in the chat marks where they end.",
        )
        lines.append(dropped.format(count=number(use.dropped)))
    return "\n".join(lines)


def refusal(error: NotAttached) -> str:
    """Explain the refusal of an attachment, and suggest a remedy."""
    patterns = {
        "missing": QCoreApplication.translate("Attachments", "{name} no longer exists. Choose another file."),
        "folder": QCoreApplication.translate("Attachments", "{name} is a folder. Attach its files one by one."),
        "special": QCoreApplication.translate("Attachments", "{name} is not a regular file. Attach a text file."),
        "unreadable": QCoreApplication.translate(
            "Attachments", "{name} cannot be read ({detail}). Check its permissions, or attach a copy."
        ),
        "empty": QCoreApplication.translate("Attachments", "{name} contains no text. Attach another file."),
        "large": QCoreApplication.translate(
            "Attachments", "{name} is larger than {detail} MiB. Attach only the part that you need."
        ),
        "binary": QCoreApplication.translate(
            "Attachments", "{name} is not a text file. Save its content as text and attach that file."
        ),
        "encoding": QCoreApplication.translate(
            "Attachments", "The encoding of {name} is not known ({detail}). Save it as UTF-8 and attach it again."
        ),
        "document": QCoreApplication.translate(
            "Attachments", "{name} is a {detail} document, which is not read yet. Save its text and attach that file."
        ),
        "refused": QCoreApplication.translate("Attachments", "{name} cannot be read: {detail}."),
        "scanned": QCoreApplication.translate(
            "Attachments", "{name} has no text. Its pages are attached as pictures ({detail})."
        ),
        "many": QCoreApplication.translate(
            "Attachments", "{name} was not attached: a message can have at most {detail} files."
        ),
    }
    unknown = QCoreApplication.translate("Attachments", "no further details")
    return patterns[error.trouble].format(name=error.name, detail=say(error.detail) or unknown)
