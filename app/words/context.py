"""The context and the files of a question in words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.state.chat.attachments import NotAttached
from app.state.chat.context_use import ContextUse
from app.system.translation import number


def context_words(use: ContextUse | None) -> str:
    """The words of the meter: 1,234 of 4,096 tokens."""
    if use is None:
        return ""
    used, available = number(use.used), number(use.available)
    if not use.fits:
        text = QCoreApplication.translate("Context", "too long: {used} tokens, {available} fit")
    elif use.dropped:
        text = QCoreApplication.translate("Context", "{used} of {available} tokens, without the oldest messages")
    else:
        text = QCoreApplication.translate("Context", "{used} of {available} tokens")
    return text.format(used=used, available=available)


def context_details(use: ContextUse | None) -> str:
    """What stands behind it, for the tooltip: what the model reads, and what it would be shown no more."""
    if use is None:
        return ""
    if not use.fits:
        text = QCoreApplication.translate(
            "Context",
            "Your message and the system prompt alone have {used} tokens, and the context holds {available}. "
            "Shorten it, leave a file out, or load the target with a longer context.",
        )
        return text.format(used=number(use.used), available=number(use.available))
    lines = [
        QCoreApplication.translate(
            "Context", "The model reads {used} tokens, and its context holds {available}."
        ).format(used=number(use.used), available=number(use.available))
    ]
    if use.typed:
        typed = QCoreApplication.translate("Context", "What you write now: {count}.")
        lines.append(typed.format(count=number(use.typed)))
    if use.dropped:
        dropped = QCoreApplication.translate(
            "Context",
            "There is no room for the oldest {count} messages: it is not shown them. A line in the conversation shows "
            "where they end. The system prompt and your question always stay.",
        )
        lines.append(dropped.format(count=number(use.dropped)))
    else:
        lines.append(
            QCoreApplication.translate(
                "Context",
                "When it is full, the oldest messages are left out. The system prompt and your question always stay.",
            )
        )
    return "\n".join(lines)


def refusal(error: NotAttached) -> str:
    """Why a file cannot go with the question, and what to do."""
    patterns = {
        "missing": QCoreApplication.translate("Attachments", "{name} is not there any more. Choose another file."),
        "folder": QCoreApplication.translate("Attachments", "{name} is a folder. Attach the files in it one by one."),
        "special": QCoreApplication.translate("Attachments", "{name} is no ordinary file. Attach a text file."),
        "unreadable": QCoreApplication.translate(
            "Attachments", "{name} cannot be read ({detail}). See whether you may open it, or attach a copy."
        ),
        "empty": QCoreApplication.translate("Attachments", "There is no text in {name}. Attach another file."),
        "large": QCoreApplication.translate(
            "Attachments", "{name} is larger than {detail} MiB. Attach the part that matters."
        ),
        "binary": QCoreApplication.translate(
            "Attachments", "{name} is no text. Only text files can be attached; save its text as one."
        ),
        "encoding": QCoreApplication.translate(
            "Attachments", "{name} is no text in UTF-8 (byte {detail}). Save it as UTF-8 and attach it again."
        ),
        "many": QCoreApplication.translate(
            "Attachments", "{name} was not attached: no more than {detail} files go with one question."
        ),
    }
    unknown = QCoreApplication.translate("Attachments", "the system says no more")
    return patterns[error.trouble].format(name=error.name, detail=error.detail or unknown)
