"""Define the reader's intents for a message, one class each, from the view to the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.state.chat.citations import CitedPart
from app.state.chat.transcript import Action, Exchange, ExchangePart, Problem
from engine import Permission


@dataclass(frozen=True, slots=True)
class _OfExchange:
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Edit(_OfExchange):
    """Ask a question in other words, beside the old one."""

    text: str


@dataclass(frozen=True, slots=True)
class Regenerate(_OfExchange):
    """Generate another reply to a question, beside the present one.

    `context`: reload the target with so many tokens of context first; None: no reload.
    """

    context: int | None = None


@dataclass(frozen=True, slots=True)
class GoOn(_OfExchange):
    """Continue a reply from the token at `index`, with another token or the reader's words in its place, beside it."""

    index: int
    given: str | int


class ShowRewrite(_OfExchange):
    """Open the dialog for rewriting a reply, and show a rewrite's changes."""


class Continue(_OfExchange):
    """Continue an unfinished reply."""


class Delete(_OfExchange):
    """Delete a question with all that came of it."""


@dataclass(frozen=True, slots=True)
class EditReply(_OfExchange):
    """Put other words in the place of a reply, beside it: the model reads them as its own."""

    text: str


@dataclass(frozen=True, slots=True)
class KeepDraft(_OfExchange):
    """Keep the other words that are being typed for a question or a reply; "" once they are sent or given up."""

    part: ExchangePart
    text: str


class DeleteReply(_OfExchange):
    """Delete a reply with all that came of it; its question stays."""


@dataclass(frozen=True, slots=True)
class ShowVersion(_OfExchange):
    """Show another version of a question or a reply: the one before (`step` -1) or the next one (1)."""

    part: Literal["question", "reply"]
    step: int


class AnswerNow(_OfExchange):
    """End the thought of the reply that is being written, and let the answer begin."""


@dataclass(frozen=True, slots=True)
class AnswerCall(_OfExchange):
    """Allow the tool call that waits below a reply, or refuse it. `changed`: arguments in place of the model's."""

    permission: Permission
    changed: Mapping[str, Any] = field(default_factory=dict, hash=False)


class CancelCall(_OfExchange):
    """End the running tool call, or drop the waiting one; the model is informed."""


class MoreCalls(_OfExchange):
    """Continue calling tools for this question, beyond the limit."""


@dataclass(frozen=True, slots=True)
class ShowPrompt(_OfExchange):
    """Show the prompt of the conversation up to a question or its reply."""

    part: Literal["question", "reply"]


class LoadTrace(_OfExchange):
    """Load the record of a reply's tokens into the exchange at once, if there is one."""


class ChooseToken(_OfExchange):
    """Colour the tokens, and let the keys go through those of a reply."""


@dataclass(frozen=True, slots=True)
class MarkDoubt:
    """Colour tokens by the target's certainty, or else by their origin."""

    on: bool


class LoadSources(_OfExchange):
    """Put the parts of documents that the model had read into the exchange at once."""


@dataclass(frozen=True, slots=True)
class ShowSource:
    """Show a document at the place of a part."""

    source: CitedPart


@dataclass(frozen=True, slots=True)
class ShowPicture:
    """Show a picture of a question, no side longer than `most` pixels. `shown`: the function that shows it.

    It gets the picture as PNG, or None if it was not kept; without a function, a separate window shows the picture.
    """

    name: str
    number: str
    most: int
    shown: Callable[[bytes | None], None] | None = None


class ReadAloud(_OfExchange):
    """Read a reply aloud, or stop."""


class ShowReplay(_OfExchange):
    """Play a reply again, round by round."""


class ExportProof(_OfExchange):
    """Write the proof of a reply into a file, by which it can be computed again."""


@dataclass(frozen=True, slots=True)
class Act:
    """Press the button of a problem."""

    action: Action


@dataclass(frozen=True, slots=True)
class ShowDetails:
    """Show the details of a problem."""

    problem: Problem


ToolIntent = AnswerCall | CancelCall | MoreCalls
ChatIntent = (
    Edit
    | EditReply
    | Regenerate
    | GoOn
    | Continue
    | Delete
    | DeleteReply
    | ShowVersion
    | LoadTrace
    | LoadSources
    | AnswerNow
    | ToolIntent
)
"""Carried out by the ChatController."""
EntryIntent = (
    ChatIntent
    | KeepDraft
    | Act
    | ShowDetails
    | ShowPrompt
    | ShowReplay
    | ShowRewrite
    | ExportProof
    | ShowSource
    | ShowPicture
    | ReadAloud
    | ChooseToken
    | MarkDoubt
)
"""All that can be asked of an entry."""
