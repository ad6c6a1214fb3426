"""Record the rounds of a reply: the time of each, and the draft's rejected guesses."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

from app.state.chat.packed import DamagedTrace, pack, unpack
from engine import RoundEvent

MOST_REJECTED = 16
"""Rejected guesses that are kept of a round: a record stays small, and nobody reads more."""
_COLUMNS = {"numbers": "I", "proposed": "B", "accepted": "B", "draft_ms": "f", "target_ms": "f", "kept": "B"}
_GUESSES = {"guesses": "i", "guess_logprobs": "f"}


@dataclass(frozen=True, slots=True)
class Guess:
    """Hold a token that the draft proposed. `text` and `logprob` (the draft's own, natural) None: not known."""

    token: int
    text: str | None
    logprob: float | None


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """Describe one round. `rejected`: at most MOST_REJECTED guesses, the one that the target replaced first."""

    number: int
    proposed: int
    accepted: int
    draft_ms: float
    target_ms: float
    rejected: tuple[Guess, ...]


class RoundTrace:
    """Hold the rounds of a reply in their order, some 15 bytes each and 8 for each rejected guess."""

    def __init__(self) -> None:
        self._numbers, self._kept = array("I"), array("B")
        self._proposed, self._accepted = array("B"), array("B")
        self._draft_ms, self._target_ms = array("f"), array("f")
        self._guesses, self._guess_logprobs = array("i"), array("f")
        self._starts = array("I")

    def add(self, event: RoundEvent) -> None:
        rejected = event.rejected[:MOST_REJECTED]
        self._starts.append(len(self._guesses))
        for token, logprob in rejected:
            self._guesses.append(token)
            self._guess_logprobs.append(nan if logprob is None else logprob)
        self._kept.append(len(rejected))
        self._proposed.append(min(event.proposed, 255))
        self._accepted.append(min(event.accepted, 255))
        self._draft_ms.append(event.draft_ms)
        self._target_ms.append(event.target_ms)
        # Last: an entry with a number here is complete, for a concurrent packer.
        self._numbers.append(event.round)

    def begun(self, last: int, kept: int | None) -> RoundTrace:
        """Return the rounds up to this number. `kept`: guesses of the last that stay, None if it is whole."""
        cut = RoundTrace()
        for number in self._numbers:
            found = self.find(number, {})
            if found is None or number > last:
                break
            figures = (found.proposed, found.accepted, found.draft_ms, found.target_ms)
            rejected = tuple((guess.token, guess.logprob) for guess in found.rejected)
            if number == last and kept is not None:
                figures, rejected = (kept, kept, found.draft_ms, found.target_ms), ()
            cut.add(RoundEvent(number, "", 0, *figures, rejected=rejected))
        return cut

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def last(self) -> int:
        """Return the number of the last round, 0 if there is none."""
        return self._numbers[-1] if len(self._numbers) else 0

    def find(self, number: int, names: Mapping[int, str]) -> RoundRecord | None:
        """Return the round of this number, None if it is unknown. `names`: the texts of tokens."""
        index = bisect_left(self._numbers, number)
        if index == len(self._numbers) or self._numbers[index] != number:
            return None
        start = self._starts[index]
        return RoundRecord(
            number,
            self._proposed[index],
            self._accepted[index],
            self._draft_ms[index],
            self._target_ms[index],
            tuple(self._guess(place, names) for place in range(start, start + self._kept[index])),
        )

    def _guess(self, place: int, names: Mapping[int, str]) -> Guess:
        token, logprob = self._guesses[place], self._guess_logprobs[place]
        return Guess(token, names.get(token), None if isnan(logprob) else logprob)

    def pieces(self) -> Iterator[str]:
        """Return the JSON object of the current rounds, in pieces."""
        count = len(self._numbers)
        guesses = sum(self._kept[:count])
        yield f'{{"count":{count}'
        for name in (*_COLUMNS, *_GUESSES):
            yield f',"{name}":"'
            yield from pack(getattr(self, f"_{name}"), guesses if name in _GUESSES else count)
            yield '"'
        yield "}"

    @classmethod
    def of(cls, fields: object) -> RoundTrace:
        """Return the rounds of a parsed JSON object; none, where the record has none. Raises DamagedTrace."""
        trace = cls()
        if fields is None:
            return trace
        count: Any = fields.get("count") if isinstance(fields, dict) else None
        if not isinstance(fields, dict) or not isinstance(count, int) or count < 0:
            raise DamagedTrace
        for name, code in _COLUMNS.items():
            setattr(trace, f"_{name}", unpack(fields.get(name), code, count))
        guesses = sum(trace._kept)
        for name, code in _GUESSES.items():
            setattr(trace, f"_{name}", unpack(fields.get(name), code, guesses))
        start = 0
        for kept in trace._kept:
            trace._starts.append(start)
            start += kept
        if any(later <= earlier for earlier, later in zip(trace._numbers, trace._numbers[1:], strict=False)):
            raise DamagedTrace
        return trace
