"""Decode text in any encoding: the declared one, or one judged by its looks."""

from __future__ import annotations

import re
from typing import Literal

_MOST_CONTROLS = 0.01
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_LATIN = "cp1252"
_NARROW = (
    *(_LATIN, "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "iso8859_2", "iso8859_5", "iso8859_7"),
    *("cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "euc_kr", "koi8_r", "cp866", "cp850", "mac_roman"),
)
"""Encodings of files that do not say theirs; rarer ones would only be taken for these."""
_WIDE = ("utf_16_le", "utf_16_be")
_WESTERN = frozenset("äöüßéèêëàâáçñóíúôûîïåøæãõìòùœÿ–—‘’“”„‚…€§°·«»©®™×½²³µ")  # noqa: RUF001 - what such texts have
_MOST_WESTERN, _RUN = 24, re.compile(r"[^\W\d_a-zA-Z]{3}")
"""Letters beyond ASCII up to which their kind alone decides; three of them in a row are another script."""


class TextRefused(Exception):
    """Report bytes that are no text. Attributes: trouble, detail (the byte that is wrong, or "")."""

    def __init__(self, trouble: Literal["empty", "binary", "encoding"], detail: str = "") -> None:
        self.trouble: Literal["empty", "binary", "encoding"] = trouble
        self.detail = detail
        super().__init__(trouble)


def decode_text(data: bytes) -> str:
    """Return the text of a file's bytes: UTF-8, UTF-16 or UTF-32 that says so, or as it looks. Raises TextRefused."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "")
    try:
        text = data.decode(encoding or "utf-8")
        # In UTF-8 that is no text; in UTF-16 it is half of most letters, and ISO-2022 begins its letters so.
        guessed = not encoding and ("\0" in text or "\x1b$" in text)
    except UnicodeDecodeError as error:
        if encoding:
            raise TextRefused("encoding", f"0x{error.object[error.start]:02X}") from error
        guessed = True
    if guessed:
        text = _as_it_looks(data)
    text = _STYLE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    if len(_CONTROL.findall(text)) > _MOST_CONTROLS * len(text):
        raise TextRefused("binary")
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
    if not text.strip():
        raise TextRefused("empty")
    return text.rstrip("\n")


def _as_it_looks(data: bytes) -> str:
    """Return the text of bytes that do not say their encoding. Raises TextRefused."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few files need it, and it takes a moment

    wide = b"\0" in data
    controls = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in data[:4096])
    if not wide and controls > _MOST_CONTROLS * len(data[:4096]):
        raise TextRefused("binary")
    if not wide and (text := _western(data)):
        return text
    found = from_bytes(data, cp_isolation=[*(_WIDE if wide else _NARROW)])
    best = found.best()
    if best is None:
        raise TextRefused("binary" if wide else "encoding")
    # Of a few letters it can't tell; most such files are Latin-1, or its superset.
    even = sorted((each for each in found if each.chaos == best.chaos), key=lambda each: -each.coherence) or [best]
    latin = (each for each in even if _LATIN in each.could_be_from_charset)
    return str(next((each for each in latin if each.coherence == even[0].coherence), even[0]))


def _western(data: bytes) -> str:
    """Return a text with a few letters as Western languages have them; "" for any other."""
    try:
        text = data.decode(_LATIN)
    except UnicodeDecodeError:
        return ""
    high = [letter for letter in text if not letter.isascii()]
    plain = len(high) <= _MOST_WESTERN and all(letter.lower() in _WESTERN for letter in high)
    return text if plain and _RUN.search(text) is None else ""
