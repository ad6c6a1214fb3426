"""The texts of a person: added, taken away, searched; in memory, or kept in a folder too."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from engine.cancel import CancelToken
from engine.corpus.segment import END, ORDER, Segment, Tokens, key_of, make_segment, read_segment, write_segment
from engine.system.files import private_folder

MOST_BYTES = 256 * 2**20
"""The size of tokens and index together, in memory and on disk; a token takes 12 bytes."""
LONGEST_TEXT = 2**20
"""Letters that are read of a text: encoding cannot be cancelled, and takes a second for a million of them."""
_SUFFIX = ".own"
_BYTES_A_TOKEN = 12
_ENOUGH = 2**18
"""Tokens of a segment from which on it stays as it is; smaller ones are merged."""
_MOST_SMALL = 6
_LOOKED_AT = 32
"""Places that are compared, the latest ones."""
_MOST_COMPARED = 24
Texts = Iterable[tuple[str, str, Callable[[], str]]]
"""Documents, the latest first: key, version (changes with the text), and the function that reads the text."""
Encode = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Passage:
    """Locate the end of a text in the corpus: `length` tokens of it before each of `places`.

    A place is an array of tokens and the index of the one that came next.
    """

    length: int
    places: tuple[tuple[Tokens, int], ...]

    @property
    def coming(self) -> list[int]:
        """Return the token behind each place."""
        return [int(tokens[place]) for tokens, place in self.places]

    def follow(self, token: int) -> Passage | None:
        """Follow the passage when `token` came next; None if the first place says another one."""
        kept = tuple(
            (tokens, place + 1)
            for (tokens, place), coming in zip(self.places, self.coming, strict=True)
            if coming == token and place + 1 < len(tokens)
        )
        first = self.coming[0] == token and self.places[0][1] + 1 < len(self.places[0][0])
        return Passage(self.length + 1, kept) if first and kept[0][0][kept[0][1]] != END else None

    @property
    def evidence(self) -> Literal["alone", "agreed", "split"]:
        """Return the kind of evidence, by the token that comes next at each place."""
        if len(self.places) == 1:
            return "alone"
        coming = self.coming
        return "agreed" if coming.count(coming[0]) == len(coming) else "split"

    def passage(self, most: int) -> list[int]:
        """Return the tokens behind the first place, up to the document's end."""
        tokens, place = self.places[0]
        return [int(token) for token in _before_end(tokens[place : place + most])]


def _before_end(tokens: Tokens) -> Iterator[int]:
    for token in tokens:
        if token == END:
            return
        yield token


class Corpus:
    """Hold the user's texts in the tokens of one tokenizer.

    `folder`: stores it for the next start (0700, files 0600); None: in memory alone. `most_bytes`: limit of tokens and
    index; the oldest texts are dropped first. One thread may `update` it while another one searches. The folder keeps
    nothing of a removed text.
    """

    def __init__(self, folder: Path | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self._folder, self._most = folder, most_bytes // _BYTES_A_TOKEN
        self._segments: tuple[Segment, ...] = ()
        self._changing = threading.Lock()
        if folder is not None:
            self._segments = tuple(self._read(folder))

    @property
    def tokens(self) -> int:
        """Return the number of indexed tokens."""
        return sum(len(segment.tokens) - len(segment.documents) for segment in self._segments)

    @property
    def documents(self) -> int:
        """Return the number of indexed texts."""
        return sum(len(segment.documents) for segment in self._segments)

    def search(self, end: Sequence[int]) -> Passage | None:
        """Find the end of a text, by the longest match of ORDER tokens at least, the latest first."""
        if len(end) < ORDER:
            return None
        last = np.array(end[-_MOST_COMPARED:][::-1], dtype=np.uint32)
        found: list[tuple[int, Tokens, int]] = []
        key, left = key_of(end), _LOOKED_AT
        for segment in reversed(self._segments):
            for place in segment.find(key, left) if left > 0 else ():
                left -= 1
                if place < len(segment.tokens) and segment.tokens[place] != END:
                    before = segment.tokens[max(place - _MOST_COMPARED, 0) : place][::-1]
                    differ = np.flatnonzero(before[: len(last)] != last[: len(before)])
                    length = int(differ[0]) if len(differ) else min(len(before), len(last))
                    if length >= ORDER:
                        found.append((length, segment.tokens, place))
        if not found:
            return None
        found.sort(key=lambda each: -each[0])
        longest = found[0][0]
        return Passage(longest, tuple((tokens, place) for length, tokens, place in found if length >= longest - 1))

    def update(self, texts: Texts, encode: Encode, *, cancel: CancelToken | None = None) -> None:
        """Make it hold exactly these texts: reads those that are new or have another version, takes others away.

        Raises Cancelled; what was read until then is kept. A text that cannot be read or encoded is left out. Raises
        OSError where the folder cannot be written.
        """
        with self._changing:
            have = {key: (segment, doc) for segment in self._segments for key, doc in segment.documents.items()}
            wanted: dict[str, str] = {}
            fresh: list[tuple[str, str, Sequence[int]]] = []
            room, waiting = self._most, 0
            try:
                for key, version, read in texts:
                    if cancel is not None:
                        cancel.check()
                    if key in have and have[key][1].version == version:
                        wanted[key] = version
                        room -= have[key][1].length + 1
                    else:
                        try:
                            tokens = encode(read()[:LONGEST_TEXT])
                        except (OSError, ValueError):
                            continue
                        if len(tokens) + 1 > room:
                            break
                        room -= len(tokens) + 1
                        fresh.append((key, version, tokens))
                        wanted[key] = version
                        waiting += len(tokens)
                        if waiting >= _ENOUGH:
                            self._put([*self._segments, self._keep(make_segment(fresh))])
                            fresh, waiting = [], 0
                    if room <= 0:
                        break
            finally:
                if fresh:
                    self._put([*self._segments, self._keep(make_segment(fresh))])
            self._tidy(wanted)

    def put(self, texts: Texts, encode: Encode) -> None:
        """Add some texts, each in place of its old version; if there is no room the oldest are dropped.

        Raises as `update` does, for a text that cannot be read or encoded too.
        """
        with self._changing:
            for key, version, read in texts:
                tokens = encode(read()[:LONGEST_TEXT])
                if len(tokens) >= self._most:
                    continue
                wanted = {each: doc for part in self._segments for each, doc in part.documents.items() if each != key}
                room = self._most - len(tokens) - 1 - sum(doc.length + 1 for doc in wanted.values())
                for oldest in [*wanted] if room < 0 else ():
                    room += wanted.pop(oldest).length + 1
                    if room >= 0:
                        break
                versions = {each: doc.version for each, doc in wanted.items()}
                if room >= 0:
                    self._put([*self._segments, self._keep(make_segment([(key, version, tokens)]))])
                    versions[key] = version
                self._tidy(versions)

    def keep(self, keys: Collection[str]) -> None:
        """Take all texts away but those with these keys."""
        with self._changing:
            have = {key: doc.version for segment in self._segments for key, doc in segment.documents.items()}
            if not have.keys() <= set(keys):
                self._tidy({key: version for key, version in have.items() if key in keys})

    def clear(self) -> None:
        """Take all texts away."""
        self.keep(())

    def _tidy(self, wanted: Mapping[str, str]) -> None:
        """Keep of each document the version that is wanted, once; put small segments together."""
        left: list[Segment] = []
        seen: set[str] = set()
        small = [each for each in self._segments if len(each.tokens) < _ENOUGH]
        together: list[tuple[str, str, Sequence[int] | Tokens]] = []
        dropped: list[Segment] = []
        for segment in reversed(self._segments):
            good = {
                key: doc for key, doc in segment.documents.items() if wanted.get(key) == doc.version and key not in seen
            }
            seen |= good.keys()
            joins = len(small) > _MOST_SMALL and len(segment.tokens) < _ENOUGH
            if len(good) == len(segment.documents) and not joins:
                left.insert(0, segment)
                continue
            dropped.append(segment)
            kept: list[tuple[str, str, Sequence[int] | Tokens]] = [
                (key, doc.version, segment.of(doc)) for key, doc in good.items()
            ]
            if joins:
                together[:0] = kept
            elif kept:
                left.insert(0, self._keep(make_segment(kept)))
        if together:
            left.append(self._keep(make_segment(together)))
        self._put(left)
        for segment in dropped:
            if segment.path is not None:
                with suppress(OSError):
                    segment.path.unlink()

    def _put(self, segments: Sequence[Segment]) -> None:
        self._segments = tuple(segments)

    def _keep(self, segment: Segment) -> Segment:
        if self._folder is None:
            return segment
        private_folder(self._folder)
        return write_segment(segment, self._folder / f"{secrets.token_hex(16)}{_SUFFIX}")

    @staticmethod
    def _read(folder: Path) -> Iterator[Segment]:
        files = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns) if folder.is_dir() else []
        for path in files:
            segment = read_segment(path)
            if segment is None:  # Half of one, or of another version: what it held is read again.
                with suppress(OSError):
                    path.unlink()
            else:
                yield segment


def files_of(folders: Iterable[Path], *, most_bytes: int = 2**20) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Yield the text files in folders and below, the latest first, for `Corpus.update`.

    No links are followed. Files of more than `most_bytes`, and those that are not UTF-8, are left out.
    """
    found: list[tuple[int, int, str]] = []
    for folder in folders:
        if folder.is_file():
            found.append((folder.stat().st_mtime_ns, folder.stat().st_size, str(folder)))
        for place, names, files in os.walk(folder, followlinks=False):
            names[:] = [name for name in names if not name.startswith(".")]
            for name in files:
                path = os.path.join(place, name)  # noqa: PTH118 - thousands of files
                with suppress(OSError):
                    status = os.lstat(path)
                    if os.path.isfile(path) and not os.path.islink(path) and 0 < status.st_size <= most_bytes:  # noqa: PTH113, PTH114
                        found.append((status.st_mtime_ns, status.st_size, path))
    for changed, size, path in sorted(found, reverse=True):
        key = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
        yield key, f"{changed}-{size}", partial(Path(path).read_text, encoding="utf-8")


def corpus_of(given: Iterable[str | Path], tokenizer: Encodes, *, cancel: CancelToken | None = None) -> Corpus:
    """Return a corpus in memory of texts, and of the text files at paths. Raises Cancelled."""
    texts: list[tuple[str, str, Callable[[], str]]] = []
    for place, each in enumerate([given] if isinstance(given, str | Path) else given):
        if isinstance(each, Path):
            texts += files_of([each])
        else:
            texts.append((str(place), "", partial(str, each)))
    corpus = Corpus()
    corpus.update(texts, partial(tokenizer.encode, add_special=False, parse_special=False), cancel=cancel)
    return corpus


class Encodes(Protocol):
    """Encode a text, as tokenizers of models do."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> Sequence[int]:
        """Return the tokens."""
        ...


_PROBE = "Probing what a tokenizer makes of 1,234 words: naïve Größe, 東京, عربي, 🙂\n\n\tdef f(x):\n        return x\n"


def open_corpus(folder: Path, tokenizer: Encodes, vocab_size: int) -> Corpus:
    """Return the corpus that a folder keeps for a tokenizer: each has its own, since a corpus holds tokens."""
    tokens = tokenizer.encode(_PROBE, add_special=False, parse_special=False)
    identity = f"{vocab_size} {' '.join(map(str, tokens))}".encode()
    return Corpus(folder / hashlib.blake2b(identity, digest_size=16).hexdigest())


def prune_corpora(folder: Path, keys: Collection[str]) -> None:
    """Take all texts but those with these keys out of every corpus that a folder keeps."""
    for each in folder.iterdir() if folder.is_dir() else ():
        if each.is_dir():
            Corpus(each).keep(keys)
            if not keys:
                with suppress(OSError):
                    each.rmdir()
