"""Read web pages: headings, paragraphs, lists and tables in the order in which they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.documents.decoded import decode_text
from engine.documents.document import Document, Section, sections_between, table
from engine.documents.kinds import Budget
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LEFT_OUT = frozenset({"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "head"})
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label"}
    | {"mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var"}
    | {"wbr", "img", "br", "button", "input"}
)
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([a-z0-9_-]{2,30})", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_MOST_NODES = 2_000_000


def read(data: bytes, name: str, budget: Budget) -> Document:
    """Read a page. Raises NotReadable."""
    tree = LexborHTMLParser(page_text(data))
    found = tree.css_first("title")
    title = "" if found is None else " ".join(found.text().split())
    sections = tuple(page_sections(tree, budget))
    if not sections:
        raise NotReadable(Translatable("there is no text in it"))
    return Document(name, "HTML", sections, title=title)


def page_text(data: bytes) -> str:
    """Return a page in the encoding that it names, or as it looks."""
    named = _META.search(data[:2048])
    if named is not None and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        try:
            return data.decode(named[1].decode("ascii"))
        except (LookupError, UnicodeDecodeError):
            pass
    return decode_text(data)


def page_sections(tree: LexborHTMLParser, budget: Budget) -> Iterator[Section]:
    """Yield the pieces of a page between its headings."""
    return sections_between([] if tree.body is None else _blocks(tree.body, budget))


def _blocks(body: LexborNode, budget: Budget) -> Iterator[tuple[int, str]]:
    """Yield paragraphs (level 0) and headings, without recursion: pages may nest as deep as they like."""
    words: list[str] = []
    level, kept, number = 0, 0, 0
    # A node is met twice: before what is in it, and behind that.
    stack: list[tuple[LexborNode, bool]] = [(body, True)]
    while stack and number < _MOST_NODES and not (number % 1000 == 0 and budget.spent):
        number += 1
        node, opens = stack.pop()
        tag = node.tag or ""
        if tag == "-text":
            text = node.text_content or ""
            words.append(text if kept else _BLANKS.sub(" ", text.replace("\n", " ")))
            continue
        block = tag not in _INLINE
        if tag == "br" and opens:
            words.append("\n")
        if block and (text := _tidy("".join(words), kept=bool(kept))):
            yield level, text
        if block:
            words = []
        if not opens:
            level = 0 if tag in _HEADINGS else level
            kept -= tag == "pre"
            continue
        if tag in _LEFT_OUT or tag.startswith("-"):
            continue
        if tag == "table" and node.css_first("table table") is None:
            yield from _table_blocks(node)
            continue
        level = _HEADINGS.get(tag, level)
        kept += tag == "pre"
        words += ["- "] if tag == "li" else []
        stack.append((node, False))
        stack += [(child, True) for child in reversed(list(node.iter(include_text=True)))]
    if text := _tidy("".join(words), kept=False):
        yield level, text


def _table_blocks(node: LexborNode) -> Iterator[tuple[int, str]]:
    caption = node.css_first("caption")
    if caption is not None and (text := _tidy(caption.text(separator=" "), kept=False)):
        yield 0, text
    rows = [[cell.text(separator=" ") for cell in row.iter() if cell.tag in ("td", "th")] for row in node.css("tr")]
    if text := table([row for row in rows if any(map(str.strip, row))]):
        yield 0, text


def _tidy(text: str, *, kept: bool) -> str:
    if kept:
        return text.strip("\n").rstrip()
    text = "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()
    return "" if text == "-" else text
