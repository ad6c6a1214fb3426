"""Record each token of a reply: its origin, its probability and its alternatives."""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan, nan
from types import MappingProxyType
from typing import Any, get_args

from app.state.chat.packed import VERSION, DamagedTrace, pack, unpack
from app.state.chat.rounds import Guess, RoundRecord, RoundTrace
from engine import GenerationStats, Origin, RoundEvent, TokenEvent

__all__ = ["ORIGINS", "TOP", "Alternative", "DamagedTrace", "TokenRecord", "TokenTrace"]

ORIGINS: tuple[Origin, ...] = get_args(Origin)
TOP = 5
"""Alternatives that are kept of a token."""
_MOST_ROUNDS = 20_000
_PIECE = 500
"""Texts that become JSON at once."""
_LARGEST = 2**28
"""The largest unpacked record, in bytes: more than any reply, less than any memory."""
_COLUMNS = {"tokens": "i", "origins": "B", "rounds": "I", "logprobs": "f", "draft_logprobs": "f", "tops": "B"}
_TOP_COLUMNS = {"top_tokens": "i", "top_logprobs": "f"}
_NO_NAMES: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Alternative:
    """Hold a token that the target thought probable. `text` None: not known. `logprob` is a natural logarithm."""

    token: int
    text: str | None
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """Describe one token of a reply.

    `text` is its addition to the reply, possibly empty; `name` the text of the token alone (half a character as its
    bytes, a control token as ''), None if not known. `round` counts from 1. `draft_logprob` is None if the draft
    did not propose it. `alternatives`: the target's best, at most TOP, best first; empty if not requested.
    `wanted`: the draft's token at its position, if the target wrote a correction and the proposal is known.
    """

    index: int
    token: int
    text: str
    name: str | None
    origin: Origin
    round: int
    logprob: float
    draft_logprob: float | None
    alternatives: tuple[Alternative, ...]
    wanted: Guess | None = None


class TokenTrace:
    """Hold all tokens of a reply, some 80 bytes each. The record begins empty and grows by `add` and `add_round`.

    Attribute: made (the settings of the reply, for its proof; None if unknown).

    >>> from engine import TokenEvent
    >>> trace = TokenTrace()
    >>> trace.add(TokenEvent(7, "Hi", "accepted", 1, 0, -0.5, -0.1, ((7, -0.5), (9, -1.5))), {7: "Hi", 9: "Ho"})
    >>> trace[0].alternatives[1].text, trace.counts["accepted"]
    ('Ho', 1)
    """

    def __init__(self) -> None:
        self._tokens, self._rounds = array("i"), array("I")
        self._origins, self._tops = array("B"), array("B")
        self._logprobs, self._draft_logprobs = array("f"), array("f")
        self._top_tokens, self._top_logprobs = array("i"), array("f")
        self._texts: list[str] = []
        self._names: dict[int, str] = {}
        self._same: dict[str, str] = {}
        self._counts: dict[Origin, int] = dict.fromkeys(ORIGINS, 0)
        self._judged = RoundTrace()
        self.made: Mapping[str, Any] | None = None
        self._rounds_before = 0
        """Rounds of the reply before it was continued: the engine counts those of each run from 1."""

    def add(self, event: TokenEvent, names: Mapping[int, str] = _NO_NAMES) -> None:
        """Add one token. `names`: the texts of its own id and of its alternatives, each alone, as far as known."""
        top = event.top[:TOP]
        self._tokens.append(event.token)
        self._rounds.append(self._number(event))
        self._origins.append(ORIGINS.index(event.origin))
        self._tops.append(len(top))
        self._logprobs.append(event.logprob)
        self._draft_logprobs.append(nan if event.draft_logprob is None else event.draft_logprob)
        self._counts[event.origin] += 1
        self._learn(event.token, names)
        for token, logprob in top:
            self._top_tokens.append(token)
            self._top_logprobs.append(logprob)
            self._learn(token, names)
        for _ in range(TOP - len(top)):
            self._top_tokens.append(-1)
            self._top_logprobs.append(nan)
        # Last: an entry with a text here is complete, for a concurrent packer.
        self._texts.append(self._same.setdefault(event.text, event.text))

    def _number(self, event: TokenEvent) -> int:
        """Return the number of a token's round, counted on where a reply was continued."""
        last = self._rounds[-1] if len(self._rounds) else 0
        number = self._rounds_before + event.round
        judged = event.origin != "forced" and number <= self._judged.last
        if number < last or judged:
            self._rounds_before = last
            number = last + event.round
        return number

    def add_round(self, event: RoundEvent, names: Mapping[int, str] = _NO_NAMES) -> None:
        """Add the round of the tokens added last. `names`: the known texts of the rejected guesses."""
        for token, _ in event.rejected:
            self._learn(token, names)
        self._judged.add(event._replace(round=self._rounds_before + event.round))

    def begun(self, count: int) -> TokenTrace:
        """Return the record of the first `count` tokens, as if the reply had been stopped there; it can go on."""
        cut, count = TokenTrace(), min(count, len(self))
        for name in _COLUMNS:
            setattr(cut, f"_{name}", getattr(self, f"_{name}")[:count])
        for name in _TOP_COLUMNS:
            setattr(cut, f"_{name}", getattr(self, f"_{name}")[: TOP * count])
        cut._names, cut._same = dict(self._names), dict(self._same)
        for index, origin in enumerate(ORIGINS):
            cut._counts[origin] = cut._origins.count(index)
        last = cut._rounds[-1] if count else 0
        whole = count == len(self) or self._rounds[count] != last
        drafted = ORIGINS.index("accepted")
        of_last = zip(cut._rounds, cut._origins, strict=True)
        kept = sum(number == last and origin == drafted for number, origin in of_last)
        cut._judged = self._judged.begun(last, None if whole else kept)
        cut._texts = self._texts[:count]
        return cut

    def _learn(self, token: int, names: Mapping[int, str]) -> None:
        if token not in self._names and (name := names.get(token)) is not None:
            self._names[token] = self._same.setdefault(name, name)

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> TokenRecord:
        index = range(len(self))[index]
        drafted = self._draft_logprobs[index]
        token, origin, number = self._tokens[index], self.origin(index), self._rounds[index]
        judged = self.round(number) if origin == "correction" else None
        return TokenRecord(
            index,
            token,
            self._texts[index],
            self._names.get(token),
            origin,
            number,
            self._logprobs[index],
            None if isnan(drafted) else drafted,
            tuple(self._alternatives(index)),
            judged.rejected[0] if judged is not None and judged.rejected else None,
        )

    def round(self, number: int) -> RoundRecord | None:
        """Return the round of this number; None in records from before rounds were kept."""
        return self._judged.find(number, self._names)

    def first_rounds(self, count: int) -> list[RoundRecord]:
        """Return the first rounds, at most 20,000 of them."""
        found = map(self.round, range(1, min(count, _MOST_ROUNDS, self._judged.last) + 1))
        return [each for each in found if each is not None]

    def figures(self) -> GenerationStats:
        """Estimate the figures of a reply that has none of its own, from its record: it was cut."""
        rounds, counts = self.first_rounds(_MOST_ROUNDS), self._counts
        draft_ms, target_ms = sum(each.draft_ms for each in rounds), sum(each.target_ms for each in rounds)
        return GenerationStats(
            rounds=len(rounds),
            proposed=sum(each.proposed for each in rounds),
            accepted=counts["accepted"],
            corrections=counts["correction"],
            bonus_tokens=counts["bonus"],
            plain_tokens=counts["plain"],
            forced_tokens=counts["forced"],
            draft_ms=draft_ms,
            target_ms=target_ms,
            total_ms=draft_ms + target_ms,
        )

    def round_of(self, index: int) -> int:
        """Return the number of the round that wrote the token at this index."""
        return self._rounds[index]

    @property
    def has_rounds(self) -> bool:
        """Return True if rounds were recorded, and with them the rejected guesses."""
        return len(self._judged) > 0

    def _alternatives(self, index: int) -> Iterator[Alternative]:
        for place in range(TOP * index, TOP * index + self._tops[index]):
            token = self._top_tokens[place]
            yield Alternative(token, self._names.get(token), self._top_logprobs[place])

    def origin(self, index: int) -> Origin:
        return ORIGINS[self._origins[index]]

    def logprob_of(self, index: int) -> float:
        """Return the natural logarithm of the probability that the target gave the token at this index."""
        return self._logprobs[index]

    def text_of(self, index: int) -> str:
        return self._texts[index]

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(self._tokens[: len(self)])

    @property
    def counts(self) -> Mapping[Origin, int]:
        return MappingProxyType(self._counts)

    # To keep it -------------------------------------------------------------------------------------------------------

    def to_bytes(self, rest: Callable[[], object] = lambda: None) -> bytes:
        """Return the record as compressed JSON. `rest` is called now and then, so that other threads get on meanwhile.

        What is added meanwhile is not in it.
        """
        packer = zlib.compressobj(1)
        packed = []
        for piece in self._pieces():
            packed.append(packer.compress(piece.encode("utf-8", "replace")))
            rest()
        return b"".join([*packed, packer.flush()])

    def _pieces(self) -> Iterator[str]:
        """Return the JSON of the current tokens, in pieces that take less than a millisecond each."""
        count = len(self._texts)
        yield f'{{"version":{VERSION},"count":{count},"texts":['
        for start in range(0, count, _PIECE):
            yield ("," if start else "") + _json(self._texts[start : min(start + _PIECE, count)])[1:-1]
        yield '],"names":{'
        names = [(str(token), name) for token, name in list(self._names.items())]
        for start in range(0, len(names), _PIECE):
            yield ("," if start else "") + _json(dict(names[start : start + _PIECE]))[1:-1]
        yield "}"
        for name in (*_COLUMNS, *_TOP_COLUMNS):
            yield f',"{name}":"'
            yield from pack(getattr(self, f"_{name}"), count * TOP if name in _TOP_COLUMNS else count)
            yield '"'
        if self.has_rounds:
            yield ',"judged":'
            yield from self._judged.pieces()
        if self.made is not None:
            yield f',"made":{_json(self.made)}'
        yield "}"

    @classmethod
    def from_bytes(cls, data: bytes) -> TokenTrace:
        """Return the record that `to_bytes` gave. Raises DamagedTrace, a ValueError."""
        fields = _unpack_all(data)
        trace = cls()
        count, texts, names = fields.get("count"), fields.get("texts"), fields.get("names")
        if not isinstance(count, int) or not isinstance(texts, list) or not isinstance(names, dict):
            raise DamagedTrace
        if len(texts) != count or not all(isinstance(text, str) for text in (*texts, *names.values())):
            raise DamagedTrace
        for name, code in (*_COLUMNS.items(), *_TOP_COLUMNS.items()):
            size = count * TOP if name in _TOP_COLUMNS else count
            setattr(trace, f"_{name}", unpack(fields.get(name), code, size))
        if max(trace._origins, default=0) >= len(ORIGINS) or max(trace._tops, default=0) > TOP:
            raise DamagedTrace
        trace._texts = [trace._same.setdefault(text, text) for text in texts]
        if not all(token.isdecimal() for token in names):
            raise DamagedTrace
        trace._names = {int(token): name for token, name in names.items()}
        trace._judged = RoundTrace.of(fields.get("judged"))
        trace.made = made if isinstance(made := fields.get("made"), dict) else None
        for index, origin in enumerate(ORIGINS):
            trace._counts[origin] = trace._origins.count(index)
        return trace


def _unpack_all(data: bytes) -> dict[str, Any]:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, _LARGEST)
        fields = json.loads(text) if unpacker.eof else None
    except (zlib.error, ValueError, RecursionError) as error:
        raise DamagedTrace from error
    if not isinstance(fields, dict):
        raise DamagedTrace
    if fields.get("version") != VERSION:
        raise DamagedTrace(fields.get("version"))
    return fields


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
