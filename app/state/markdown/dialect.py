"""Extensions of CommonMark in models' text: bold beside CJK signs, a few HTML tags, bars within table cells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block.table import table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned

from app.state.markdown.formulas import formula_end

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping
    from typing import Any

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

PAIRED_TAGS = ("sub", "sup", "kbd", "summary")
"""Tags between which text looks different."""
_TAG = re.compile(r"<(/?)(br|details|sub|sup|kbd|summary)\s*/?>", re.IGNORECASE)
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)
_RULE = re.compile(r"[ >]*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_FORMULA = re.compile(r"\$|\\\(")
_BAR = re.compile(r"(?<!\\)\|")
_MASK = "\ufdd2"
"""Stands for a bar that parts no cells while a table is read; nobody can write it."""


def add_dialect(parser: MarkdownIt) -> None:
    """Teach a parser of Markdown all of it."""
    inline = _Inline()
    inline.ruler, inline.ruler2 = parser.inline.ruler, parser.inline.ruler2
    parser.inline = inline
    parser.inline.ruler.before("autolink", "tag", _tag)
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - the parser's names
        """Return True if stars may open and close here: beside CJK writing, which has no spaces, whatever is there."""
        found = super().scanDelims(start, canSplitWord)
        before = self.src[start - 1] if start > 0 else " "
        after = self.src[start + found.length] if start + found.length < self.posMax else " "
        if not canSplitWord or not (_CJK.match(before) or _CJK.match(after)):
            return found
        return Scanned(not after.isspace(), not before.isspace(), found.length)


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]) -> list[Token]:
        """Read a text with the state of this dialect."""
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _tag(state: StateInline, silent: bool) -> bool:
    found = _TAG.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    name, ends = found[2].lower(), bool(found[1])
    if name in PAIRED_TAGS:
        opened = sum(token.nesting for token in state.tokens if token.tag == name)
        # One without the other is a text like any other.
        if opened <= 0 if ends else f"</{name}>" not in state.src[found.end() : state.posMax].lower():
            return False
    if not silent:
        if name in PAIRED_TAGS:
            token = state.push(f"{name}_{'close' if ends else 'open'}", name, -1 if ends else 1)
        else:
            token = state.push("hardbreak" if name == "br" else "tag", "", 0)
        token.markup = found[0]
    state.pos = found.end()
    return True


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a table; text that GitHub's rules would drop stays in the row's last cell, and bars in code are kept."""
    if start + 2 > end or not _RULE.match(_line(state, start + 1)):
        return table(state, start, end, silent)
    source, before = state.src, len(state.tokens)
    columns = len(_cells(_line(state, start + 1)))
    pieces, at = [], 0
    for number in range(start, end):
        if state.isEmpty(number):
            break
        begin, stop = state.bMarks[number] + state.tShift[number], state.eMarks[number]
        pieces += [source[at:begin], _masked(source[begin:stop], columns if number > start else len(source))]
        at = stop
    state.src = "".join(pieces) + source[at:]
    try:
        found = table(state, start, end, silent)
    finally:
        state.src = source
    for token in state.tokens[before:]:
        token.content = token.content.replace(_MASK, "|")
    return found


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _cells(line: str) -> list[str]:
    return _BAR.split(line.strip().removeprefix("|").removesuffix("|"))


def _masked(line: str, columns: int) -> str:
    """Return a row of a table without the bars that part no cells."""
    line = _CODE.sub(_without_bars, line)
    stop = 0
    for begin in (match.start() for match in _FORMULA.finditer(line)):
        if begin >= stop and (stop := max(formula_end(line, begin), begin)) > begin:
            line = line[:begin] + line[begin:stop].replace("|", _MASK) + line[stop:]
    bars = [match.start() for match in _BAR.finditer(line)]
    inner = [bar for bar in bars if line[:bar].strip() and line[bar + 1 :].strip()]
    return _replaced(line, inner[columns - 1 :])


def _without_bars(code: re.Match[str]) -> str:
    return re.sub(r"(?<!\\)\|", _MASK, code[0])


def _replaced(line: str, places: Iterable[int]) -> str:
    signs = list(line)
    for place in places:
        signs[place] = _MASK
    return "".join(signs)
