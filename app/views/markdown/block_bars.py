"""Keep the bars of a text over its code and its tables."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QTextEdit

from app.views.markdown.code_bars import BlockBar, CodeBar
from app.views.markdown.code_writer import CodeBox, TableBox, code_header_height
from app.views.markdown.formula import FormulaObjects
from app.views.markdown.table_bar import TableBar
from app.views.widgets.theme import Theme

MOST = 200
"""Bars of one text. A text with more blocks than this was not written to be copied from."""


class BlockBars:
    """Keep the bars of a text in their places. `refit`: the text takes another height, which places them again."""

    def __init__(self, text: QTextEdit, theme: Theme, formulas: FormulaObjects, refit: Callable[[], None]) -> None:
        self._refit = refit
        self._text = text
        self._theme = theme
        self._formulas = formulas
        self.bars: list[BlockBar] = []
        self._placed = (0, 0)

    def lack(self, boxes: list[CodeBox]) -> bool:
        """Return True if there is a block without a bar."""
        return len(self.bars) < min(len(boxes), MOST)

    def add(self, boxes: list[CodeBox]) -> None:
        """Make the next bar."""
        box = boxes[len(self.bars)]
        bar: BlockBar
        if isinstance(box, TableBox):
            bar = TableBar(box, self._theme, self._text, self._formulas)
        else:
            bar = CodeBar(box, self._theme, self._text)
        bar.changed.connect(self._place_again)
        self.bars.append(bar)

    def place(self) -> None:
        """Put each bar over its block: the new ones, or all of them when the width has changed."""
        # Qt lays nothing out before the text is on the screen.
        now = (len(self.bars), round(self._text.document().textWidth()))
        if now[1] <= 0:
            return
        changed = now != self._placed
        # Code below a bar grows after the bar was placed.
        for bar in self.bars if changed else self.bars[-1:]:
            bar.offer(now[1])
        if not changed:
            return
        first = self._placed[0] if now[1] == self._placed[1] else 0
        self._placed = now
        layout = self._text.document().documentLayout()
        height = code_header_height(self._text.document().defaultFont())
        for place, bar in enumerate(self.bars):
            if place >= first or bar.over is not None:
                bar.place(layout, height)
                bar.show()

    def _place_again(self) -> None:
        self._placed = (0, 0)
        self._refit()

    def be_plain(self) -> None:
        """Show all blocks as they stand in the text."""
        for bar in self.bars:
            bar.be_plain()

    def clear(self) -> None:
        """Clear the bars: the text begins anew."""
        for bar in self.bars:
            bar.leave()
        self.bars = []
        self._placed = (0, 0)
