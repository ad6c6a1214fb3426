"""Find footnotes in Markdown: `[^1]` in the text, `[^1]:` where the note itself stands.

Only numbers and names such as `note2` count: `[^a-z]` is a regular expression far more often.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_MARK = re.compile(r"\[\^(\d{1,3}|(?:fn|note)[\w-]{0,20})\](:?)")


def add_footnotes(parser: MarkdownIt) -> None:
    """Teach a parser of Markdown the token `footnote`: its content is the number or the name."""
    parser.inline.ruler.before("link", "footnote", _inline)


def _inline(state: StateInline, silent: bool) -> bool:
    found = _MARK.match(state.src, state.pos)
    if found is None:
        return False
    begins = state.pos == 0 or state.src[state.pos - 1] == "\n"
    end = found.end() if begins else found.end(1) + 1
    if not silent:
        token = state.push("footnote", "", 0)
        token.content, token.markup = found[1], state.src[state.pos : end]
    state.pos = end
    return True
