"""Read a piece of Markdown into nodes that a view can write down: CommonMark with GitHub's tables and strikethrough.

A few tags of HTML are shown as what they mean, all others stay text; pictures become their description, and only web
and mail addresses become links. A piece whose brackets or nesting would take the parser long is given as plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from app.state.markdown.formulas import add_formulas
from app.state.markdown.places import SourceFinder

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MOST_NESTING = 40
MOST_BRACKETS = 300
MOST_COLUMNS = 30
LINE_BREAK = "\N{LINE SEPARATOR}"
Alignment = Literal["", "left", "center", "right"]

_SAFE = re.compile(r"(https?://[^\s/]|mailto:[^\s])", re.IGNORECASE)
_BARE = re.compile(r"\bhttps?://[^\s<>\"'`|\\^{}\[\]]{3,2000}", re.IGNORECASE)
_PARTS = re.compile(r"(https?://)([^/?#]*)(.*)", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\]\s+")
_BEFORE = "\N{REFERENCE MARK}"
"""Stands in for the words before a piece that goes on: text behind it begins no list, and may be bold."""
_SIGN = "\N{REPLACEMENT CHARACTER}"
_CONTROL = (code for code in (*range(32), *range(127, 160)) if code not in {9, 10})
# What Qt's documents use for themselves, halves of characters, and overrides of the direction of writing.
_STRANGE = dict.fromkeys((*_CONTROL, 0xFFFC, 0xFDD0, 0xFDD1, *range(0xD800, 0xE000), 0x202D, 0x202E), _SIGN)
_HIDDEN = dict.fromkeys((0x202A, 0x202B, 0x202C, *range(0x2066, 0x206A), 0x2028, 0x2029), _SIGN)


@dataclass(frozen=True, slots=True)
class Run:
    """Hold text in one style.

    `formula`: what is to be set in place of the text, which is its source; `display`: whether on a line of its own.
    `raised`: the mark of a footnote; `high`, `low`: above and below the line; `key`: a key of the keyboard.
    `start`, `end`: where it stands in the piece, -1 where that is not known.
    """

    text: str
    bold: bool = False
    italic: bool = False
    struck: bool = False
    code: bool = False
    link: str = ""
    formula: str = ""
    display: bool = False
    raised: bool = False
    high: bool = False
    low: bool = False
    key: bool = False
    start: int = field(default=-1, compare=False)
    end: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class ListItem:
    """Describe a list item. `group`: its list; `task`: the state of a task, None if it is none."""

    group: int
    depth: int
    number: int | None = None
    task: bool | None = None


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Hold text. `level`: of a heading, 1 to 6; `quotes`, `depth`: nesting of quotes, lists; `item`: the begun item."""

    runs: tuple[Run, ...]
    level: int = 0
    quotes: int = 0
    depth: int = 0
    item: ListItem | None = None

    @property
    def is_display(self) -> bool:
        """Return True if it is one displayed formula."""
        return len(self.runs) == 1 and self.runs[0].display


@dataclass(frozen=True, slots=True)
class Code:
    """Hold code within a list or a quote, or code by its indentation.

    `lines`: where they begin, in it and in the piece.
    """

    text: str
    language: str = ""
    quotes: int = 0
    depth: int = 0
    lines: tuple[tuple[int, int], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    """Hold rows of cells; the first is the head."""

    rows: tuple[tuple[tuple[Run, ...], ...], ...]
    alignments: tuple[Alignment, ...]


@dataclass(frozen=True, slots=True)
class ThematicBreak:
    """Represent a horizontal rule."""


Node = Paragraph | Code | Table | ThematicBreak


def visible(text: str) -> str:
    """Return text as it may be shown: control characters and the like as a sign that something is there."""
    return text.replace("\r\n", "\n").translate(_STRANGE)


def visible_code(text: str) -> str:
    """Return code as it may be shown: signs also replace the characters that would change its order."""
    return visible(text).translate(_HIDDEN)


def is_safe_link(address: str) -> bool:
    """Return True if an address may be opened, after asking."""
    return _SAFE.match(address) is not None


def parse(markdown: str, *, goes_on: bool = False) -> list[Node]:
    """Return the nodes of a piece, in order. `goes_on`: it begins within a paragraph, whatever it looks like."""
    text = (_BEFORE if goes_on else "") + visible(markdown)
    if text.count("[") > MOST_BRACKETS:
        return [_plain(text)]
    tokens = _parser().parse(text)
    if any(token.level >= MOST_NESTING - 1 for token in tokens):
        return [_plain(text)]
    nodes = _Walk(tokens, SourceFinder(text)).nodes
    return _without_before(nodes) if goes_on else nodes


def _without_before(nodes: list[Node]) -> list[Node]:
    """Remove the stand-in for the words before, and correct the places in the source."""
    first = nodes[0]
    if not isinstance(first, Paragraph) or not first.runs[0].text.startswith(_BEFORE):
        return nodes
    run = first.runs[0]
    runs = (replace(run, text=run.text[1:], start=run.start + 1), *first.runs[1:])
    return [replace(first, runs=tuple(each for each in runs if each.text), level=0), *nodes[1:]]


def prepare() -> None:
    """Load the parser now, while nobody waits for it."""
    _parser()


def _plain(text: str) -> Paragraph:
    return Paragraph((Run(text.strip("\n").replace("\n", LINE_BREAK)),))


@cache
def _parser() -> MarkdownIt:
    # The window is on the screen before it is needed.
    from markdown_it import MarkdownIt  # noqa: PLC0415

    from app.state.markdown.dialect import add_dialect  # noqa: PLC0415

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MOST_NESTING})
    # Where a reply says of a name what its address is, the name was used before: so both are shown as they are.
    parser.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])
    add_dialect(parser)
    parser.validateLink = is_safe_link  # type: ignore[assignment, method-assign]
    add_formulas(parser)
    add_footnotes(parser)
    return parser


@dataclass(slots=True)
class _Walk:
    """Walk through the tokens of a piece."""

    tokens: list[Token]
    finder: SourceFinder
    nodes: list[Node] = field(default_factory=list)
    _quotes: int = 0
    _lists: list[tuple[int, int | None]] = field(default_factory=list)
    _groups: int = 0
    _item: ListItem | None = None
    _level: int = 0
    _rows: list[list[tuple[Run, ...]]] = field(default_factory=list)
    _alignments: list[Alignment] = field(default_factory=list)
    _in_table: bool = False

    def __post_init__(self) -> None:
        for token in self.tokens:
            step = _STEPS.get(token.type)
            if step is not None:
                step(self, token)
        self._leave_item()

    def enter_list(self, token: Token) -> None:
        self._leave_item()
        self._groups += 1
        number = None
        if token.type == "ordered_list_open":
            start = token.attrs.get("start", 1)
            number = min(int(start), 2**31 - 1)
        self._lists.append((self._groups, number))

    def leave_list(self, _token: Token) -> None:
        self._leave_item()
        self._lists.pop()

    def enter_item(self, _token: Token) -> None:
        self._leave_item()
        group, number = self._lists[-1]
        self._item = ListItem(group, len(self._lists), number)

    def _leave_item(self) -> None:
        """Leave an item; one without text of its own is an item all the same."""
        if self._item is not None:
            self._add_text(())

    def enter_quote(self, _token: Token) -> None:
        self._leave_item()
        self._quotes += 1

    def leave_quote(self, _token: Token) -> None:
        self._leave_item()
        self._quotes -= 1

    def enter_heading(self, token: Token) -> None:
        self._level = int(token.tag[1])

    def leave_heading(self, _token: Token) -> None:
        self._level = 0

    def take_text(self, token: Token) -> None:
        if token.map:
            self.finder.go_to_line(token.map[0])
        runs = _runs(token.children or [], self.finder)
        if self._in_table:
            self._rows[-1].append(runs)
            return
        if any(child.type == "tag" for child in token.children or []):
            runs = _trimmed(runs)
            if not runs:
                return
        begun = 0
        for at, run in enumerate(runs):
            if run.display and not self._level:
                # It stands between what comes before and what follows, on lines of its own.
                if self._item is not None or runs[begun:at]:
                    self._add_text(_trimmed(runs[begun:at]))
                self._add_text((run,))
                begun = at + 1
        if not begun or _trimmed(runs[begun:]):
            self._add_text(_trimmed(runs[begun:]) if begun else runs)

    def take_formula(self, token: Token) -> None:
        self._leave_item()
        if token.map:
            self.finder.go_to_line(token.map[0])
        first = token.markup.partition("\n")[0]
        start, end = self.finder.find(first)
        if last := token.markup[len(first) :].rpartition("\n")[2]:
            _, end = self.finder.find(last)
        source = token.markup.replace("\n", LINE_BREAK)
        self._add_text((Run(source, formula=token.content, display=True, start=start, end=end),))

    def _add_text(self, runs: tuple[Run, ...]) -> None:
        item, self._item = self._item, None
        if item is not None and runs and (task := _TASK.match(runs[0].text)) and not runs[0].code:
            item = replace(item, task=task[1] != " ")
            start = runs[0].start + task.end() if runs[0].start >= 0 else -1
            runs = (replace(runs[0], text=runs[0].text[task.end() :], start=start), *runs[1:])
        self.nodes.append(Paragraph(runs, self._level, self._quotes, len(self._lists), item))

    def take_code(self, token: Token) -> None:
        self._leave_item()
        first = (token.map or [0])[0] + (token.type == "fence")
        lines = self.finder.lines_of(token.content, first)
        self.nodes.append(Code(token.content, token.info.strip(), self._quotes, len(self._lists), lines))

    def take_rule(self, _token: Token) -> None:
        self._leave_item()
        self.nodes.append(ThematicBreak())

    def enter_table(self, _token: Token) -> None:
        self._leave_item()
        self._in_table, self._rows, self._alignments = True, [], []

    def enter_row(self, _token: Token) -> None:
        self._rows.append([])

    def enter_head(self, token: Token) -> None:
        style = str(token.attrs.get("style", "")).rpartition(":")[2]
        names: dict[str, Alignment] = {"left": "left", "center": "center", "right": "right"}
        self._alignments.append(names.get(style, ""))

    def leave_table(self, _token: Token) -> None:
        self._in_table = False
        if len(self._alignments) > MOST_COLUMNS:
            for row in self._rows:
                self._add_text(tuple(piece for cell in row for piece in (*cell, Run(" | "))))
            return
        rows = tuple(tuple(row) for row in self._rows)
        self.nodes.append(Table(rows, tuple(self._alignments)))


_STEPS = {
    "bullet_list_open": _Walk.enter_list,
    "ordered_list_open": _Walk.enter_list,
    "bullet_list_close": _Walk.leave_list,
    "ordered_list_close": _Walk.leave_list,
    "list_item_open": _Walk.enter_item,
    "blockquote_open": _Walk.enter_quote,
    "blockquote_close": _Walk.leave_quote,
    "heading_open": _Walk.enter_heading,
    "heading_close": _Walk.leave_heading,
    "inline": _Walk.take_text,
    "formula_block": _Walk.take_formula,
    "fence": _Walk.take_code,
    "code_block": _Walk.take_code,
    "hr": _Walk.take_rule,
    "table_open": _Walk.enter_table,
    "table_close": _Walk.leave_table,
    "tr_open": _Walk.enter_row,
    "th_open": _Walk.enter_head,
}


def _trimmed(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Return runs without line breaks and spaces at their edges."""
    kept = list(runs)
    while kept and not kept[0].text.strip(f" {LINE_BREAK}"):
        kept.pop(0)
    while kept and not kept[-1].text.strip(f" {LINE_BREAK}"):
        kept.pop()
    if kept and (text := kept[0].text.lstrip(" ")) != kept[0].text:
        start = kept[0].start + len(kept[0].text) - len(text) if kept[0].start >= 0 else -1
        kept[0] = replace(kept[0], text=text, start=start)
    return tuple(kept)


def _runs(tokens: list[Token], finder: SourceFinder) -> tuple[Run, ...]:
    """Return the text of a paragraph in its looks."""
    found: list[Run] = []
    depth = dict.fromkeys(("strong", "em", "s", "summary", "sup", "sub", "kbd"), 0)
    links: list[str] = []
    before = ""
    for token in tokens:
        passed, before = before, token.markup
        if token.type == "softbreak" and passed.lower().startswith("<br"):
            continue  # One break is enough.
        name, _, edge = token.type.rpartition("_")
        if name in depth:
            depth[name] += 1 if edge == "open" else -1
            if token.markup.startswith("<"):
                finder.find(token.markup)
        elif token.type == "link_open":
            links.append(str(token.attrs.get("href", "")))
        elif token.type == "link_close":
            links.pop()
            finder.skip_target()
        else:
            on = {name for name, open_ in depth.items() if open_}
            look = Run(
                "",
                bold=bool(on & {"strong", "summary"}),
                italic="em" in on,
                struck="s" in on,
                link=links[-1] if links else "",
                high="sup" in on,
                low="sub" in on,
                key="kbd" in on,
            )
            found += _of_one(token, look, finder)
    return tuple(run for run in found if run.text)


def _of_one(token: Token, look: Run, finder: SourceFinder) -> list[Run]:
    if token.type == "code_inline":
        return _placed(replace(look, text=token.content, code=True), finder)
    if token.type == "formula":
        start, end = finder.find(token.markup)
        source = token.markup.replace("\n", LINE_BREAK)
        shown = bool(token.meta["display"])
        return [replace(look, text=source, formula=token.content, display=shown, start=start, end=end)]
    if token.type == "footnote":
        start, end = finder.find(token.markup)
        return [replace(look, text=token.content, raised=True, start=start, end=end)]
    if token.type in {"softbreak", "hardbreak"}:
        # What the model wrote on a line of its own stays on one.
        start, end = finder.find(token.markup or "\n")
        return [replace(look, text=LINE_BREAK, start=start, end=end)]
    if token.type == "image":
        address = str(token.attrs.get("src", ""))
        about = token.content or address
        start, _ = finder.find("![")
        finder.find(token.content)
        finder.skip_target()
        picture = replace(look, text=f"[{about}]", link=look.link or address, start=start, end=finder.at)
        # One that is itself a link leads there, and its own address is a link behind it.
        behind = [] if look.link in ("", address) else [replace(look, text=f" {address}", link=address)]
        return [picture, *behind]
    if token.type == "tag":
        finder.find(token.markup)
        return []
    runs = _with_bare_links(token.content, replace(look, link=""))
    if look.link and [run.link for run in runs if run.text] != [look.link]:
        return _placed(replace(look, text=token.content), finder)
    found: list[Run] = []
    for run in runs:  # An address is shown as it is opened, also one in angle brackets.
        pieces = _placed(run, finder)
        if run.link and run.link != run.text:
            pieces = [replace(pieces[0], text=run.link, end=pieces[-1].end)]
        found += pieces
    return found


def _placed(run: Run, finder: SourceFinder) -> list[Run]:
    """Return a run with its place in the source, in pieces if the source differs from the shown text."""
    if not run.text:
        return []
    return [replace(run, text=text, start=start, end=end) for text, start, end in finder.pieces(run.text)]


def _as_host(address: str) -> str:
    """Return an address with its host in the letters of the network: letters of another script may look like these."""
    scheme, host, rest = _PARTS.fullmatch(address).groups()  # type: ignore[union-attr]
    if host.isascii():
        return address
    from markdown_it.common.normalize_url import normalizeLink  # noqa: PLC0415 - with the parser

    return normalizeLink(f"{scheme.lower()}{host.lower()}") + rest


def _with_bare_links(text: str, look: Run) -> list[Run]:
    """Return the text as runs in which bare addresses are links too."""
    if "://" not in text:
        return [replace(look, text=text)]
    found, at = [], 0
    for match in _BARE.finditer(text):
        address = match[0].rstrip(".,;:!?*_~")
        if address.endswith(")") and address.count(")") > address.count("("):
            address = address.rstrip(")").rstrip(".,;:!?")
        if not is_safe_link(address):
            continue
        end = match.start() + len(address)
        found += [replace(look, text=text[at : match.start()]), replace(look, text=address, link=_as_host(address))]
        at = end
    return [*found, replace(look, text=text[at:])]


_MARK = re.compile(r"\[\^(\d{1,3}|(?:fn|note)[\w-]{0,20})\](:?)")


# Of footnotes only numbers and names such as `note2` count: `[^a-z]` is a regular expression far more often.


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
