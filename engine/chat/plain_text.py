"""Protect text of any origin (a person, a file, an earlier reply) from being read as control tokens.

Places that look like such a token are found from the vocabulary's own list. In what a template reads, one character of
each is replaced by a private one, so that the template writes its markers around it as around any text; afterwards the
text is read in two pieces there. Where nothing looks like a control token, nothing is different.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from weakref import WeakKeyDictionary

from engine.backends.base import Tokenizer
from engine.errors import InvalidRequest
from engine.translatable import Translatable

_PRIVATE = (range(0xE000, 0xF8FF), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
_UNSAFE = frozenset("\"'\\<>&/")
"""Characters that templates and JSON escape: another one of the token is replaced, if there is one."""
_ANCHOR = "\n"
"""A text before another one that no tokenizer writes with one token for both."""
_PAIRS = {"<": "</", "[": "[/"}
_THOUGHTS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))
_ROLES = frozenset({"role", "type"})
"""Names of values that templates compare, and that nobody writes."""


class Lookalikes:
    """Find the places of a text that a tokenizer would read as one of certain tokens.

    `texts`: of these tokens. Those of a single character cannot be taken apart, and are left out.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = frozenset(text for text in texts if len(text) > 1 and not text.isspace())
        self._by_start: dict[str, list[str]] = {}
        for text in sorted(self.texts, key=len, reverse=True):
            self._by_start.setdefault(text[:2], []).append(text)
        starts = "|".join(map(re.escape, self._by_start))
        self._start = re.compile(starts) if starts else None
        self._beginnings = {text[:size] for text in self.texts for size in range(1, len(text))}
        self._endings = {text[size:] for text in self.texts for size in range(1, len(text))}
        self._longest = max(map(len, self.texts), default=0)

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield begin and end of every place that looks like one of the tokens, also of those that overlap."""
        found = None if self._start is None else self._start.search(text)
        while found is not None and self._start is not None:
            place = found.start()
            for token in self._by_start[found[0]]:
                if text.startswith(token, place):
                    yield place, place + len(token)
            found = self._start.search(text, place + 1)

    def cuts(self, text: str) -> list[int]:
        """Return the places to cut a text, so that no piece has such a place."""
        made: list[int] = []
        for begin, end in self.places(text):
            if not any(begin < cut < end for cut in made[-_NEAR:]):
                made.append(_cut(text, begin, end))
        return sorted(set(made))

    def half_at_end(self, text: str) -> bool:
        """Return True if a text ends in the beginning of such a token."""
        return any(text[-size:] in self._beginnings for size in range(1, min(self._longest, len(text)) + 1))

    def half_at_start(self, text: str) -> bool:
        """Return True if a text begins with the end of such a token."""
        return any(text[:size] in self._endings for size in range(1, min(self._longest, len(text)) + 1))


_NEAR = 64
"""Earlier cuts that may lie in the same place."""


def _cut(text: str, begin: int, end: int) -> int:
    inner = range(begin + 1, end)
    return next((place for place in inner if text[place] not in _UNSAFE and not text[place].isspace()), begin + 1)


_known: WeakKeyDictionary[Tokenizer, tuple[tuple[str, ...], Lookalikes]] = WeakKeyDictionary()


def lookalikes_of(tokenizer: Tokenizer) -> Lookalikes:
    """Return the markers that must stay text in the prompts of a model.

    These are its control and unknown tokens, and user-defined ones that stand in its chat templates, as many families
    mark thoughts and tool calls; of a pair such as <think> and </think> both.
    """
    templates = tuple(tokenizer.chat_templates.values())
    kept = _known.get(tokenizer)
    if kept is None or kept[0] != templates:
        written = "\n".join(templates)
        texts = {text for text, token in tokenizer.added_tokens.items() if token.control or text in written}
        pairs = {_PAIRS[text[0]] + text[1:] for text in texts if text[:1] in _PAIRS}
        kept = templates, Lookalikes(texts | (pairs & tokenizer.added_tokens.keys()))
        _known[tokenizer] = kept
    return kept[1]


# In what a template reads ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CutText:
    """Hold a text and the places that part it into pieces for the tokenizer."""

    text: str
    cuts: tuple[int, ...] = ()


NOTHING = CutText("")
"""No text."""


class Disguise:
    """Replace characters of texts by private ones, and put them back.

    `taken`: a JSON value whose private characters mean something else.
    """

    def __init__(self, lookalikes: Lookalikes, taken: object = None) -> None:
        self._lookalikes = lookalikes
        self._given = taken
        self._free: Iterator[str] | None = None
        self._signs: dict[tuple[str, int], str] = {}

    def put_on(self, messages: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
        """Return messages whose texts contain nothing like a control token.

        The markers of the thought with which an earlier reply begins stay: the template looks for them.
        """
        return [self._message(message) for message in messages]

    def value(self, value: object) -> object:
        """Return a JSON value whose texts contain nothing like a control token."""
        if isinstance(value, str):
            return self._text(value, self._lookalikes.cuts(value))
        if isinstance(value, Mapping):
            return {str(self.value(name)): each if name in _ROLES else self.value(each) for name, each in value.items()}
        return [self.value(each) for each in value] if isinstance(value, list | tuple) else value

    def _message(self, message: Mapping[str, object]) -> dict[str, object]:
        made: dict[str, object] = {}
        for name, value in message.items():
            if name in _ROLES:
                made[name] = value
            elif isinstance(value, str):
                cuts = self._lookalikes.cuts(value)
                made[name] = self._whole(value, cuts, thought=message.get("role") == "assistant")
            else:
                made[name] = self.value(value)
        return made

    def _whole(self, text: str, cuts: Sequence[int], *, thought: bool) -> str:
        """Return a text that may stand beside another one with nothing between."""
        kept = _thought(text) if thought else ()
        text = self._text(text, [cut for cut in cuts if not any(begin < cut < end for begin, end in kept)])
        first, last = len(text) - len(text.lstrip()), len(text.rstrip()) - 1
        if last < 0:
            return text
        if self._lookalikes.half_at_end(text[: last + 1]):
            text = text[:last] + self._sign(text[last], 1) + text[last + 1 :]
        if self._lookalikes.half_at_start(text[first:]):
            text = text[:first] + self._sign(text[first], 0) + text[first + 1 :]
        return text

    def _text(self, text: str, cuts: Sequence[int]) -> str:
        if not cuts:
            return text
        letters = list(text)
        for cut in cuts:
            letters[cut] = self._sign(letters[cut], 0)
        return "".join(letters)

    def _sign(self, character: str, side: int) -> str:
        """Return the stand-in for a character with a cut before it (0) or behind it (1)."""
        if self._free is None:
            taken = json.dumps(self._given, ensure_ascii=False)
            used = {*taken, *re.findall(r"\\u[0-9a-f]{4}", taken.lower())}
            self._free = (sign for sign in map(chr, chain(*_PRIVATE)) if used.isdisjoint({sign, _forms(sign)[1][-6:]}))
        if (character, side) not in self._signs:
            sign = next(self._free, None)
            if sign is None:
                raise InvalidRequest(Translatable("The conversation uses all of Unicode's private characters."))
            self._signs[character, side] = sign
        return self._signs[character, side]

    def take_off(self, text: str) -> CutText:
        """Return a rendered text as it was meant, with the cuts that are needed in it."""
        if not self._signs:
            return CutText(text)
        meant = {form: (character, side) for (character, side), sign in self._signs.items() for form in _forms(sign)}
        pieces, cuts, place, length = [], set(), 0, 0
        for found in re.finditer("|".join(map(re.escape, meant)), text):
            character, side = meant[found[0]]
            length += found.start() - place
            pieces += [text[place : found.start()], character]
            cuts.add(length + side)
            length, place = length + 1, found.end()
        made = "".join([*pieces, text[place:]])
        needed = {cut for begin, end in self._lookalikes.places(made) for cut in cuts if begin < cut < end}
        return CutText(made, tuple(sorted(needed)))


def _forms(sign: str) -> tuple[str, str]:
    """Return a sign as it is, and escaped as in ASCII JSON."""
    return sign, json.dumps(sign)[1:-1]


def reply_cuts(reply: str, before: str, lookalikes: Lookalikes) -> list[int]:
    """Return the cuts of a reply that is continued. The markers of the thought that it begins with stay markers.

    `before`: the prompt, which may have opened that thought.
    """
    kept = list(_thought(reply))
    begin = len(reply) - len(reply.lstrip())
    for opening, closing in _THOUGHTS if not kept else ():
        end = reply.find(closing)
        if reply.startswith(opening, begin):
            kept.append((begin, begin + len(opening)))
        elif before.rstrip().endswith(opening) and end >= 0:
            kept.append((end, end + len(closing)))
    return [cut for cut in lookalikes.cuts(reply) if not any(first < cut < last for first, last in kept)]


def _thought(text: str) -> tuple[tuple[int, int], ...]:
    """Return the places of the markers around the thought with which a text begins, none if it is not closed."""
    begin = len(text) - len(text.lstrip())
    for opening, closing in _THOUGHTS:
        end = text.find(closing, begin)
        if text.startswith(opening, begin) and end >= 0:
            return (begin, begin + len(opening)), (end, end + len(closing))
    return ()


# To tokens ------------------------------------------------------------------------------------------------------------


def encode_cut(cut: CutText, tokenizer: Tokenizer, *, add_special: bool, parse_special: bool) -> list[int]:
    """Return the token ids of a text that is read in pieces; of one without cuts those that the tokenizer gives.

    What `add_special` puts behind it is left out.
    """
    places = [0, *cut.cuts, len(cut.text)]
    tokens = tokenizer.encode(cut.text[: places[1]], add_special=add_special, parse_special=parse_special)
    if add_special and tokenizer.ends:
        del tokens[-tokenizer.ends :]
    for begin, end in pairwise(places[1:]):
        tokens += encode_behind(cut.text[begin:end], tokenizer, parse_special=parse_special)
    return tokens


def encode_written(text: str, tokenizer: Tokenizer) -> list[int]:
    """Return the token ids of a text that somebody wrote, by itself."""
    cut = CutText(text, tuple(lookalikes_of(tokenizer).cuts(text)))
    return encode_cut(cut, tokenizer, add_special=False, parse_special=False)


def encode_behind(text: str, tokenizer: Tokenizer, *, parse_special: bool = False) -> list[int]:
    """Return the token ids of a text that stands behind other tokens.

    They leave out the space that some tokenizers put in front. Where that space cannot be kept out it stays.
    """

    def encode(some: str) -> list[int]:
        return tokenizer.encode(some, add_special=False, parse_special=parse_special)

    plain, data = encode(text), text.encode("utf-8", "replace")
    joined = join_pieces(plain, tokenizer)
    added = joined.startswith(b" ") and not text.startswith(" ") if parse_special else joined == b" " + data
    if not added:
        return plain
    if text.startswith(" "):
        bare = encode(text[1:])
        return bare if join_pieces(bare, tokenizer) == data else plain
    anchor, both = encode(_ANCHOR), encode(_ANCHOR + text)
    rest = both[len(anchor) :]
    return rest if both[: len(anchor)] == anchor and join_pieces(rest, tokenizer) == joined[1:] else plain


def join_pieces(tokens: Sequence[int], tokenizer: Tokenizer) -> bytes:
    """Return the bytes that tokens add to a text."""
    return b"".join(map(tokenizer.piece, tokens))
