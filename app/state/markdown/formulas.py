r"""Find mathematics in Markdown: `$…$`, `\(…\)`, `$$…$$`, `\[…\]` and bare environments such as `align`.

A dollar is money, a variable of a shell or a part of a path far more often than mathematics, so what stands between
two of them must look like a formula. The tokens keep the source byte for byte: what cannot be set is shown as it was
written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

LONGEST = 2_000
"""Characters of a formula."""

_ENVIRONMENT = re.compile(
    r"\\begin\{((?:align(?:ed|at)?|equation|gather(?:ed)?|multline|split|eqnarray|[pbBvV]?matrix|cases|array)\*?)\}"
)
_OPENING = re.compile(rf" {{0,3}}(?:(\$\$)|(\\\[)|(?={_ENVIRONMENT.pattern}))")
_WORDS = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|operatorname|mbox|begin|end)\*?\s*\{[^{}]*\}")
_COMMAND = re.compile(r"\\[A-Za-z]+|\\[,;:!|{}%#&_$ ]")
_SIGNS = re.compile(r"[\\^_=<>+*/|{}-]")
_SHELL = re.compile(r"\{\w+\}|\(\w+\)|[A-Z]{4,}|[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_PAIRS = {")": "(", "]": "[", "}": "{"}


def looks_like_formula(text: str) -> bool:
    r"""Return True if what stands between two dollars is mathematics.

    >>> looks_like_formula("x"), looks_like_formula(r"\frac{a}{b}"), looks_like_formula("5 or less, that is 4")
    (True, True, False)
    """
    if not text or text[0].isspace() or text[-1].isspace() or _SHELL.fullmatch(text) or not is_balanced(text):
        return False
    has_command = _COMMAND.search(text) is not None
    bare = _COMMAND.sub(" ", _TEXT.sub(" ", text))
    words = _WORDS.findall(bare)
    if has_command or re.search(r"[\^_]", text):
        return len(words) < 3
    if any(word.islower() for word in words):
        return False
    return bool(_SIGNS.search(text)) or " " not in text.strip()


def is_balanced(text: str) -> bool:
    """Return True if braces are closed in their order, and no other bracket closes before it opens."""
    braces = 0
    opened = {"(": 0, "[": 0}
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 2
            continue
        braces += (sign == "{") - (sign == "}")
        if sign in opened:
            opened[sign] += 1
        elif sign in ")]" and "\\" not in text:
            opened[_PAIRS[sign]] -= 1
        if braces < 0 or min(opened.values()) < 0:
            return False
        at += 1
    return braces == 0


def opens_display(line: str) -> str:
    """Return the end mark of a displayed formula that begins with this line; '' where none begins."""
    found = _OPENING.match(line)
    if found is None:
        return ""
    if found[1]:
        return "$$"
    return "\\]" if found[2] else f"\\end{{{found[3]}}}"


def closes_display(line: str, end: str, *, first: bool = False) -> bool:
    """Return True if a displayed formula ends with this line. `first`: it also begins there."""
    stripped = line.strip()
    if first and end in ("$$", "\\]"):
        stripped = stripped[2:]
    return end in stripped


def add_formulas(parser: MarkdownIt) -> None:
    """Teach a parser of Markdown the tokens `formula` (in a line or displayed in one) and `formula_block`."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("code", "formula_block", _block, {"alt": ["paragraph", "blockquote", "list"]})


def _inline(state: StateInline, silent: bool) -> bool:
    found = _formula_at(state.src, state.pos, state.posMax)
    if found is None:
        return False
    end, tex, display = found
    if not silent:
        token = state.push("formula", "", 0)
        token.content = tex
        token.markup = state.src[state.pos : end]
        token.meta = {"display": display, "at": state.pos}
    state.pos = end
    return True


def formula_end(text: str, at: int) -> int:
    """Find the end of the formula that begins here; -1: none does."""
    found = _formula_at(text, at, len(text))
    return -1 if found is None else found[0]


def _formula_at(text: str, at: int, most: int) -> tuple[int, str, bool] | None:
    """Read the formula that begins here: its end, its content, True if it is displayed."""
    two = text[at : at + 2]
    if two == "\\(":
        return _between(text, at, most, "\\)", display=False)
    if two == "\\[":
        return _between(text, at, most, "\\]", display=True)
    if two == "$$":
        return _between(text, at, most, "$$", display=True)
    if two[:1] == "$":
        return _between_dollars(text, at, most)
    if two == "\\b" and (found := _ENVIRONMENT.match(text, at)):
        end = text.find(f"\\end{{{found[1]}}}", at, min(most, at + LONGEST))
        if end >= 0:
            end += len(found[1]) + 6
            return end, text[at:end], True
    return None


def _between(text: str, at: int, most: int, mark: str, *, display: bool) -> tuple[int, str, bool] | None:
    end = text.find(mark, at + 2, min(most, at + LONGEST))
    if end < 0:
        return None
    tex = text[at + 2 : end]
    inner = tex.strip()
    # An escaped bracket is not rare: a task, a number of a source.
    fits = (bool(inner) if mark == "\\)" else _is_sure(inner)) and not _prose(inner)
    return (end + 2, inner, display) if fits else None


def _is_sure(text: str) -> bool:
    return _SIGNS.search(text) is not None


def _prose(text: str) -> bool:
    """Return True if there are words rather than letters."""
    words = _WORDS.findall(_COMMAND.sub(" ", _TEXT.sub(" ", text)))
    return len(words) > 2 and sum(map(len, words)) * 2 > len(text)


def _between_dollars(text: str, at: int, most: int) -> tuple[int, str, bool] | None:
    before = text[at - 1 : at]
    after = text[at + 1 : at + 2]
    if before.isalnum() or before in ("\\", "$", "_", "/") or not after or after.isspace():
        return None
    limit = min(most, at + 500)
    end = at + 1
    while (end := text.find("$", end, limit)) >= 0:
        if text[end - 1] != "\\":
            break
        end += 1
    if end < 0 or "\n\n" in text[at:end]:
        return None
    behind = text[end + 1 : end + 2]
    if behind.isalnum() or behind in ("{", "$", "_", "("):
        return None
    tex = text[at + 1 : end]
    return (end + 1, tex, False) if looks_like_formula(tex) else None


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    begin = state.bMarks[start_line] + state.tShift[start_line]
    line = state.src[begin : state.eMarks[start_line]]
    end = opens_display(line)
    if not end:
        return False
    last = start_line
    while not closes_display(_line(state, last), end, first=last == start_line):
        last += 1
        if last >= end_line or (state.sCount[last] < state.blkIndent and not state.isEmpty(last)):
            return False
    lines = [line, *(_line(state, number) for number in range(start_line + 1, last + 1))]
    source = "\n".join(lines).rstrip()
    skip = 0 if end.startswith("\\end") else 2
    if not source.endswith(end) or len(source) > LONGEST:
        return False
    tex = source if not skip else source[2:-2].strip()
    if not tex or _prose(tex) or end in tex[: len(tex) - len(end)]:
        return False
    if last == start_line and not _is_sure(tex):
        return False
    if silent:
        return True
    token = state.push("formula_block", "", 0)
    token.content, token.markup, token.block = tex, source, True
    token.map = [start_line, last + 1]
    state.line = last + 1
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + min(state.tShift[number], state.blkIndent or 0) : state.eMarks[number]]
