"""Define the reader's intents for a message, one class each, from the view to the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.state.chat.citations import CitedPart
from app.state.chat.transcript import Action, Exchange, ExchangePart, Problem
from engine import Permission


@dataclass(frozen=True, slots=True)
class Edit:
    """Ask a question in other words, beside the old one."""

    exchange: Exchange
    text: str


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Generate another reply to a question, beside the present one.

    `context`: reload the target with so many tokens of context first; None: no reload.
    """

    exchange: Exchange
    context: int | None = None


@dataclass(frozen=True, slots=True)
class GoOn:
    """Continue a reply from the token at `index`, with another token or the reader's words in its place, beside it."""

    exchange: Exchange
    index: int
    given: str | int


@dataclass(frozen=True, slots=True)
class ShowRewrite:
    """Open the dialog for rewriting a reply, and show a rewrite's changes."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Continue:
    """Continue an unfinished reply."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a question with all that came of it."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class EditReply:
    """Put other words in the place of a reply, beside it: the model reads them as its own."""

    exchange: Exchange
    text: str


@dataclass(frozen=True, slots=True)
class KeepDraft:
    """Keep the other words that are being typed for a question or a reply; "" once they are sent or given up."""

    exchange: Exchange
    part: ExchangePart
    text: str


@dataclass(frozen=True, slots=True)
class DeleteReply:
    """Delete a reply with all that came of it; its question stays."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class ShowVersion:
    """Show another version of a question or a reply: the one before (`step` -1) or the next one (1)."""

    exchange: Exchange
    part: Literal["question", "reply"]
    step: int


@dataclass(frozen=True, slots=True)
class AnswerNow:
    """End the thought of the reply that is being written, and let the answer begin."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """Allow the tool call that waits below a reply, or refuse it. `changed`: arguments in place of the model's."""

    exchange: Exchange
    permission: Permission
    changed: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class CancelCall:
    """End the running tool call, or drop the waiting one; the model is informed."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class MoreCalls:
    """Continue calling tools for this question, beyond the limit."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class ShowPrompt:
    """Show the prompt of the conversation up to a question or its reply."""

    exchange: Exchange
    part: Literal["question", "reply"]


@dataclass(frozen=True, slots=True)
class LoadTrace:
    """Load the record of a reply's tokens into the exchange at once, if there is one."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class ChooseToken:
    """Colour the tokens, and let the keys go through those of a reply."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class MarkDoubt:
    """Colour tokens by the target's certainty, or else by their origin."""

    on: bool


@dataclass(frozen=True, slots=True)
class LoadSources:
    """Put the parts of documents that the model had read into the exchange at once."""

    exchange: Exchange


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


@dataclass(frozen=True, slots=True)
class ReadAloud:
    """Read a reply aloud, or stop."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class ShowReplay:
    """Play a reply again, round by round."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class ExportProof:
    """Write the proof of a reply into a file, by which it can be computed again."""

    exchange: Exchange


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
