"""Print the tables of commands; what prints JSON imports nothing for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def console_for(as_json: bool) -> Any:
    """Return a console for tables; for JSON what has its file."""
    if as_json:
        return SimpleNamespace(file=sys.stdout)
    from rich.console import Console  # noqa: PLC0415 - JSON needs none

    return Console()


def shown(text: str) -> str:
    """Return an outside text for the terminal: one line, no markup, no odd bytes."""
    from rich.markup import escape  # noqa: PLC0415 - JSON needs none

    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def folded_table(columns: Sequence[str], title: str | None = None, right: Sequence[str] = ()) -> Table:
    """Return a table whose cells fold, the columns `right` to the right."""
    from rich.table import Table  # noqa: PLC0415 - JSON needs none

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column in right else "left")
    return table
