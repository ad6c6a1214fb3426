"""Read EPUB books: the chapters in the order of their spine."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote
from zipfile import ZipFile

from selectolax.lexbor import LexborHTMLParser

from engine.documents.document import Document, Section
from engine.documents.kinds import Budget, open_zip
from engine.documents.kinds.web import page_sections, page_text
from engine.documents.refused import NotReadable
from engine.translatable import Translatable

_TITLE = re.compile(r"<dc:title[^>]*>(.*?)</dc:title>", re.DOTALL | re.IGNORECASE)


def read(data: bytes, name: str, budget: Budget) -> Document:
    """Read a book. Raises NotReadable."""
    archive = open_zip(data)
    names = set(archive.namelist())
    if "META-INF/encryption.xml" in names and b"EncryptedData" in archive.read("META-INF/encryption.xml"):
        raise NotReadable(Translatable("it is encrypted"))
    container = LexborHTMLParser(archive.read("META-INF/container.xml").decode("utf-8", "replace"))
    root = container.css_first("rootfile")
    place = "" if root is None else root.attributes.get("full-path") or ""
    if place not in names:
        raise NotReadable(Translatable("it is damaged"))
    package = archive.read(place).decode("utf-8", "replace")
    found = _TITLE.search(package)
    title = " ".join(html.unescape(found[1]).split()) if found else ""
    sections: list[Section] = []
    for member in _spine(package, posixpath.dirname(place)):
        if budget.spent:
            break
        if member in names:
            sections += _chapter(archive, member, budget)
    if not sections:
        raise NotReadable(Translatable("there is no text in it"))
    chapters = len({each.at for each in sections})
    return Document(name, "EPUB", tuple(sections), pages=chapters, title=title)


def _spine(package: str, folder: str) -> Iterator[str]:
    tree = LexborHTMLParser(package)
    files = {each.attributes.get("id"): each.attributes.get("href") or "" for each in tree.css("item")}
    for each in tree.css("itemref"):
        href = files.get(each.attributes.get("idref"), "")
        yield posixpath.normpath(posixpath.join(folder, unquote(href or "").partition("#")[0]))


def _chapter(archive: ZipFile, member: str, budget: Budget) -> list[Section]:
    tree = LexborHTMLParser(page_text(archive.read(member)))
    found = list(page_sections(tree, budget))
    named = next((each.headings[0] for each in found if each.headings), "")
    title = tree.css_first("title")
    at = named or ("" if title is None else " ".join(title.text().split())) or posixpath.basename(member)
    return [replace(each, place="chapter", at=at, headings=each.headings[1:]) for each in found]
