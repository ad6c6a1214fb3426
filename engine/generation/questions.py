"""Answer questions to a target that need no reply: the prompt of a conversation, and the tokens of a gap to fill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from engine.backends.base import Backend
from engine.errors import InvalidRequest
from engine.messages.picture import Picture


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """Hold the prompt of a conversation as the model reads it.

    `text`: with the texts of its control tokens; `markers`: where these are, as (begin, end) of the text; `tokens`:
    how many tokens it has; `notes`: what the chat template made change in the conversation, in sentences.
    """

    text: str
    markers: tuple[tuple[int, int], ...]
    tokens: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Infill:
    """Hold the texts around a gap that is to be filled: `before` and `behind` it.

    `begun`: how the text of the gap begins; `files`: names and texts of other files of the same work.
    """

    before: str
    behind: str
    begun: str = ""
    files: tuple[tuple[str, str], ...] = ()


_GAP_TOKENS = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
    ("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
    ("<PRE>", "<SUF>", "<MID>"),
)
"""The tokens with which families mark the text before a gap, the text behind it, and the gap."""
_FILE_MARKS = ("<|file_sep|>", "<file_sep>", "<|file_separator|>")


def infill_tokens(target: Backend, gap: Infill) -> list[int]:
    """Return the tokens that have the target fill a gap: before, behind, and the mark that asks for the rest.

    Raises InvalidRequest (it has no such marks), TextNotEncodable.
    """
    tokenizer, name = target.tokenizer, target.name
    added = {text: token.id for text, token in tokenizer.added_tokens.items()}
    named = next((marks for marks in _GAP_TOKENS if all(mark in added for mark in marks)), None)
    marks = target.gap_tokens if named is None else tuple(added[each] for each in named)
    if marks is None:
        raise InvalidRequest("The model {name} cannot fill gaps: it has no tokens for them. Choose another.", name=name)

    def read(text: str) -> list[int]:
        return tokenizer.encode(text, add_special=False, parse_special=False)

    begin = tokenizer.encode("", add_special=True, parse_special=False)
    tokens = begin[: len(begin) - tokenizer.ends]
    mark = next((added[each] for each in _FILE_MARKS if each in added), None)
    for title, text in gap.files:
        tokens += read(f"{title}\n{text}\n") if mark is None else [mark, *read(f"{title}\n{text}\n")]
    before, behind, middle = marks
    return [*tokens, before, *read(gap.before), behind, *read(gap.behind), middle, *read(gap.begun)]


def eyes_of(target: Backend) -> Callable[[str], Sequence[int]] | None:
    """Return the function from a picture's address to the target's tokens; None if the target reads no pictures."""
    if not target.sees:
        return None
    from engine.documents.picture import decode_picture  # noqa: PLC0415 - for models that see

    return lambda address: target.see(Picture(address, partial(decode_picture, address)))
