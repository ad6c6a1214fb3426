"""The library in words: columns, states and reasons."""

from __future__ import annotations

import re

from PySide6.QtCore import QCoreApplication

from app.state.models.library import LibraryRow
from app.state.models.names import file_size, parameters
from app.system.translation import fill, say
from app.words.figures import SEPARATOR, UNKNOWN

_NUMBER = re.compile(r"\d+")
COLUMNS = ("name", "parameters", "quantisation", "size", "context", "memory", "state")


def heading(column: str) -> str:
    """Return the heading of a column."""
    words = {
        "name": QCoreApplication.translate("Library", "Name"),
        "parameters": QCoreApplication.translate("Library", "Parameters"),
        "quantisation": QCoreApplication.translate("Library", "Quantisation"),
        "size": QCoreApplication.translate("Library", "Size"),
        "context": QCoreApplication.translate("Library", "Context"),
        "memory": QCoreApplication.translate("Library", "Memory"),
        "state": QCoreApplication.translate("Library", "State"),
    }
    return words[column]


def heading_help(column: str) -> str:
    """Return the tooltip of a column's heading."""
    words = {
        "context": QCoreApplication.translate("Library", "Context length in tokens: as loaded / as trained"),
        "memory": QCoreApplication.translate("Library", "Estimated memory needed to run the model, and free memory"),
    }
    return words.get(column, heading(column))


def cell(row: LibraryRow, column: str) -> str:
    """Return the text of a cell."""
    if column == "name":
        return row.name
    if column == "parameters":
        return parameters(row.parameters) or UNKNOWN
    if column == "quantisation":
        return row.quantisation or UNKNOWN
    if column == "size":
        return say(file_size(row.size)) or UNKNOWN
    if column == "context":
        return context_words(row)
    if column == "memory":
        return say(file_size(row.needed)) or UNKNOWN
    if row.state == "large" and not row.loaded:
        words = QCoreApplication.translate("Library", "Needs {needed}, {free} free")
        return words.format(needed=say(file_size(row.needed)), free=say(file_size(row.free)))
    return state_words(row)


def sort_value(row: LibraryRow, column: str) -> str | float:
    """Return the sort key of a column: one type per column, as Qt compares small and large whole numbers wrongly.

    States: loaded, chosen, what fits, too large, not there, not usable.
    """
    if column == "name":
        # 7B before 13B.
        return _NUMBER.sub(lambda found: found[0].zfill(8), row.name.casefold())
    if column == "quantisation":
        return row.quantisation.casefold()
    if column == "context":
        return float(row.context_max)
    if column == "state":
        if row.loaded:
            return 0.0
        return 1.0 if row.chosen else 2.0 + ("ok", "large", "away", "problem").index(row.state)
    return float({"parameters": row.parameters, "size": row.size, "memory": row.needed}[column])


def context_words(row: LibraryRow) -> str:
    """Tokens that it is loaded with, of those that it was trained for: 4,096 / 32,768."""
    if not row.context_max:
        return UNKNOWN
    if row.context and row.context != row.context_max:
        return fill("{used:,} / {most:,}", used=row.context, most=row.context_max)
    return fill("{most:,}", most=row.context_max)


def state_words(row: LibraryRow) -> str:
    """Say whether a model can be used, and why not."""
    loaded = {
        "target": QCoreApplication.translate("Library", "Loaded as target"),
        "draft": QCoreApplication.translate("Library", "Loaded as draft"),
        "both": QCoreApplication.translate("Library", "Loaded as target and draft"),
    }
    if row.loaded:
        return loaded[row.loaded]
    if row.state == "problem":
        return say(row.reason)
    if row.state == "away":
        return QCoreApplication.translate("Library", "Its folder is not available")
    if row.state == "large":
        words = QCoreApplication.translate("Library", "Too large: needs {needed}, {free} free")
        return words.format(needed=say(file_size(row.needed)), free=say(file_size(row.free)))
    chosen = {
        "target": QCoreApplication.translate("Library", "Target, not loaded yet"),
        "draft": QCoreApplication.translate("Library", "Draft, not loaded yet"),
        "both": QCoreApplication.translate("Library", "Target and draft, not loaded yet"),
    }
    return chosen[row.chosen] if row.chosen else QCoreApplication.translate("Library", "Ready")


def facts(row: LibraryRow) -> str:
    """All figures of a model in a line."""
    parts = [parameters(row.parameters), row.quantisation, say(file_size(row.size))]
    if row.context_max:
        words = QCoreApplication.translate("Library", "context {context}")
        parts.append(words.format(context=context_words(row)))
    if row.needed:
        words = QCoreApplication.translate("Library", "needs {needed} of memory")
        parts.append(words.format(needed=say(file_size(row.needed))))
    return SEPARATOR.join(part for part in parts if part)


def free_words(free: int) -> str:
    """Say how much memory is free: 5.6 GB free."""
    return (
        QCoreApplication.translate("Library", "{free} of memory free").format(free=say(file_size(free))) if free else ""
    )


def row_words(row: LibraryRow) -> str:
    """A whole row, as it is read out."""
    return SEPARATOR.join(part for part in (row.name, facts(row), state_words(row)) if part)
