"""Put the library into words: columns, states and reasons."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from app.state.models.library import SIZES, LibraryRow, Subset
from app.state.models.names import file_size, parameters, shown_name, size_of
from app.system.translation import fill, say, tr
from app.words.figures import SEPARATOR, UNKNOWN
from app.words.get_models import became
from engine import Translatable

_NUMBER = re.compile(r"\d+")


def context_words(row: LibraryRow) -> str:
    """Return the tokens that it is loaded with, of those that it was trained for: 4,096 / 32,768."""
    if not row.model.context_length:
        return UNKNOWN
    if row.context and row.context != row.model.context_length:
        return fill("{used:,} / {most:,}", used=row.context, most=row.model.context_length)
    return fill("{most:,}", most=row.model.context_length)


def state_words(row: LibraryRow) -> str:
    """Describe the state of a model, with the reason if it cannot be used."""
    loaded = {
        "target": tr("Library", "Loaded as target"),
        "draft": tr("Library", "Loaded as draft"),
        "both": tr("Library", "Loaded as target and draft"),
    }
    if row.loaded:
        return loaded[row.loaded]
    if row.state == "problem":
        return say(row.model.problem or "")
    if row.state == "away":
        return tr("Library", "Its folder is not available")
    if row.state == "large":
        words = tr("Library", "Too large: needs {needed}, {free} free")
        return words.format(needed=say(file_size(row.needed)), free=say(file_size(row.free)))
    chosen = {
        "target": tr("Library", "Target, not loaded yet"),
        "draft": tr("Library", "Draft, not loaded yet"),
        "both": tr("Library", "Target and draft, not loaded yet"),
    }
    return chosen[row.chosen] if row.chosen else tr("Library", "Ready")


def facts(row: LibraryRow) -> str:
    """Return all figures of a model in a line."""
    return SEPARATOR.join(fact_lines(row))


def fact_lines(row: LibraryRow) -> list[str]:
    """Describe a model, a line each: family, figures, context, form of chats, memory."""
    counted = parameters(row.model.parameters)
    size = row.model.size_label
    both = f"{size} ({counted})" if size and counted and size != counted else size or counted
    figures = (both, row.model.quantisation, say(file_size(row.model.size_bytes)))
    parts = [row.model.architecture, SEPARATOR.join(part for part in figures if part)]
    if row.model.context_length:
        words = tr("Library", "context {context}")
        parts.append(words.format(context=context_words(row)))
    if row.model.turns == "plain text":
        if row.model.usable:
            parts.append(tr("Library", "no chat template: it reads chats as plain text"))
    elif row.model.turns not in ("", "template"):
        words = tr("Library", "no chat template: chats are written as {format}")
        parts.append(words.format(format=row.model.turns))
    if row.needed:
        words = tr("Library", "needs {needed} of memory")
        parts.append(words.format(needed=say(file_size(row.needed))))
    parts.append(became(row.measured))
    return [part for part in parts if part]


def subset_words(subset: Subset) -> str:
    return {
        "": tr("Library", "All models"),
        "favourites": tr("Library", "Favourites"),
        "recent": tr("Library", "Recently used"),
    }[subset]


def size_words(group: int) -> str:
    """Name a group of sizes (see LibraryRow.size): Up to 1 GB, 1 to 4 GB, Over 40 GB."""
    bounds = [size // 10**9 for size in SIZES]
    if group == 0:
        return tr("Library", "Up to {most} GB").format(most=bounds[0])
    if group == len(bounds):
        return tr("Library", "Over {least} GB").format(least=bounds[-1])
    words = tr("Library", "{least} to {most} GB")
    return words.format(least=bounds[group - 1], most=bounds[group])


def free_words(free: int) -> str:
    """Describe the free memory: 5.6 GB free."""
    return tr("Library", "{free} of memory free").format(free=say(file_size(free))) if free else ""


def row_words(row: LibraryRow) -> str:
    """Return a whole row, for screen readers."""
    return SEPARATOR.join(part for part in (say(shown_name(row.model)), facts(row), state_words(row)) if part)


# The table -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LibraryColumn:
    """Describe a column of the library's table.

    `heading`, `help`: phrases. `cell`: what stands there for a model. `sort`: what it is sorted by, one type a column,
    as Qt would compare small and large whole numbers wrongly. `sample`: as wide as its words usually are, "" for what
    takes the room that is left. `gives_way`: where there is no room columns go in this order, 0: it stays; what they
    tell stands under the table too. `figure`: a number.
    """

    heading: str
    cell: Callable[[LibraryRow], str]
    sort: Callable[[LibraryRow], str | float]
    help: str = ""
    sample: str = ""
    gives_way: int = 0
    figure: bool = False


def _name_order(row: LibraryRow) -> str:
    # 7B before 13B.
    return _NUMBER.sub(lambda found: found[0].zfill(8), say(shown_name(row.model)).casefold())


def _state_cell(row: LibraryRow) -> str:
    """Return the state in a word; all of it stands beside the table."""
    if row.loaded:
        return tr("Library", "Loaded")
    if row.state == "ok":
        chosen, ready = tr("Library", "Chosen"), tr("Library", "Ready")
        return chosen if row.chosen else ready
    return {"large": tr("Library", "Too large"), "away": tr("Library", "Away"), "problem": tr("Library", "Unusable")}[
        row.state
    ]


def _state_order(row: LibraryRow) -> float:
    """Order states: loaded, chosen, fitting, too large, not there, not usable."""
    if row.loaded:
        return 0.0
    return 1.0 if row.chosen else 2.0 + ("ok", "large", "away", "problem").index(row.state)


_TABLE = {
    "name": LibraryColumn(Translatable("Name"), lambda row: say(shown_name(row.model)), _name_order),
    "parameters": LibraryColumn(
        Translatable("Parameters"),
        lambda row: size_of(row.model) or UNKNOWN,
        lambda row: float(row.model.parameters),
        sample="888.8M",
        gives_way=3,
        figure=True,
    ),
    "quantisation": LibraryColumn(
        Translatable("Quantisation"),
        lambda row: row.model.quantisation or UNKNOWN,
        lambda row: row.model.quantisation.casefold(),
        sample="IQ4_XXS_M",
        gives_way=4,
    ),
    "size": LibraryColumn(
        Translatable("Size"),
        lambda row: say(file_size(row.model.size_bytes)) or UNKNOWN,
        lambda row: float(row.model.size_bytes),
        sample="888.8 MB",
        gives_way=2,
        figure=True,
    ),
    "context": LibraryColumn(
        Translatable("Context"),
        context_words,
        lambda row: float(row.model.context_length),
        Translatable("Context length in tokens: as loaded / as trained"),
        sample="888,888 / 888,888",
        gives_way=1,
        figure=True,
    ),
    "memory": LibraryColumn(
        Translatable("Memory"),
        lambda row: say(file_size(row.needed)) or UNKNOWN,
        lambda row: float(row.needed),
        Translatable("Estimated memory needed to run the model, and free memory"),
        sample="888.8 MB",
        figure=True,
    ),
    "state": LibraryColumn(Translatable("State"), _state_cell, _state_order),
}
COLUMNS = tuple(_TABLE)
"""Their names, from left to right."""


def column(name: str) -> LibraryColumn:
    return _TABLE[name]


def heading(name: str) -> str:
    return say(_TABLE[name].heading)
