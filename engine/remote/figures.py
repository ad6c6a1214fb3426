"""Calculate the figures of a reply from the server's reports. Missing ones are never guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.remote.assembler import ReplyAssembler
from engine.remote.kinds import ServerKind
from engine.remote.texts import count_of
from engine.stats import GenerationStats, Untold

_LINE = re.compile(r"vllm:(\w+?)(?:_total)?(?:\{(.*)\})? ([0-9.eE+-]+|[+-]?Inf|NaN)(?: \d+)?")
_POSITION = re.compile(r'position="(\d{1,3})"')
_COUNTERS = (
    *("generation_tokens", "request_success", "spec_decode_num_drafts"),
    *("spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens"),
)
_PER_POSITION = "spec_decode_num_accepted_tokens_per_pos"


@dataclass(frozen=True, slots=True)
class Counters:
    """Hold vLLM's counters at one moment: by name, and the accepted tokens by their place in a draft."""

    values: Mapping[str, float]
    by_position: tuple[float, ...] = ()

    @classmethod
    def read(cls, text: str) -> Counters:
        """Return the counters that a page of Prometheus's format tells, added up over its labels."""
        values: dict[str, float] = {}
        places: dict[int, float] = {}
        for line in text.splitlines():
            found = _LINE.fullmatch(line.strip())
            if found is None:
                continue
            name, labels, value = found[1], found[2] or "", float(found[3])
            if name in _COUNTERS:
                values[name] = values.get(name, 0.0) + value
            elif name == _PER_POSITION and (place := _POSITION.search(labels)):
                places[int(place[1])] = places.get(int(place[1]), 0.0) + value
        whole = sorted(places) == list(range(len(places)))
        return cls(values, tuple(places[index] for index in range(len(places))) if whole else ())

    def since(self, before: Counters) -> Counters:
        """Return the counts since an earlier moment."""
        values = {name: value - before.values.get(name, 0.0) for name, value in self.values.items()}
        earlier = (*before.by_position, *[0.0] * (len(self.by_position) - len(before.by_position)))
        return Counters(values, tuple(a - b for a, b in zip(self.by_position, earlier, strict=False)))


@dataclass(frozen=True, slots=True)
class Clock:
    """Hold times measured here: milliseconds from the request to the first piece of the reply, and to its end."""

    first_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class ReplyFigures:
    """Hold the figures of a reply: its statistics, and the tokens of its prompt, all of them and those evaluated."""

    stats: GenerationStats
    prompt_tokens: int
    prompt_evaluated: int


def figures(assembler: ReplyAssembler, kind: ServerKind, clock: Clock, counted: Counters | None) -> ReplyFigures:
    """Return the figures of a reply.

    `counted`: vLLM's counters since the request. They count only where they show that this was the only reply.
    """
    usage, timings, untold = assembler.usage, assembler.timings, list[Untold]()
    written = count_of(usage.get("completion_tokens"))
    if written is None:
        written = count_of(timings.get("predicted_n"))
    prompt = count_of(usage.get("prompt_tokens"))
    cached = _cached(usage, timings)
    if prompt is None and count_of(timings.get("prompt_n")) is not None and cached is not None:
        prompt = cached + (count_of(timings.get("prompt_n")) or 0)
    drafted = _drafted(assembler, kind, counted, written)
    untold += [] if prompt is not None else ["prompt"]
    untold += [] if cached is not None and prompt is not None else ["cached"]
    untold += [] if written is not None else ["tokens"]
    untold += [] if drafted is not None else ["acceptance"]
    rounds = count_of(assembler.meta.get("spec_verify_ct"))
    untold += [] if rounds else ["rounds"]
    untold += ["endings", "times"]
    proposed, accepted = (drafted.proposed, drafted.accepted) if drafted is not None else (0, 0)
    prompt_ms, total_ms = _times(timings, clock)
    stats = GenerationStats(
        rounds=rounds or 0,
        proposed=proposed,
        accepted=accepted,
        rejected=proposed - accepted,
        # A server may count accepted tokens behind the end of the reply: what it wrote is right all the same.
        plain_tokens=(written or accepted) - accepted,
        prompt_ms=prompt_ms,
        total_ms=total_ms,
        proposed_by_position=drafted.proposed_by_position if drafted is not None else (),
        accepted_by_position=drafted.accepted_by_position if drafted is not None else (),
        untold=tuple(untold),
    )
    return ReplyFigures(stats, prompt or 0, (prompt or 0) - (cached or 0))


@dataclass(frozen=True, slots=True)
class _Drafted:
    """Count the proposed and accepted tokens, and both by position if reported."""

    proposed: int
    accepted: int
    proposed_by_position: tuple[int, ...] = ()
    accepted_by_position: tuple[int, ...] = ()


def _drafted(
    assembler: ReplyAssembler, kind: ServerKind, counted: Counters | None, written: int | None
) -> _Drafted | None:
    """Return the server's report of its drafts, or None."""
    timings, meta = assembler.timings, assembler.meta
    pairs = [
        (timings.get("draft_n"), timings.get("draft_n_accepted")),
        (meta.get("spec_draft_token_num"), meta.get("spec_accept_token_num")),
    ]
    for pair in pairs:
        proposed, accepted = map(count_of, pair)
        if proposed is not None and accepted is not None and accepted <= proposed:
            return _Drafted(proposed, accepted)
    if timings and kind.counts_drafts and "draft_n" not in timings:
        return _Drafted(0, 0)
    if counted is None or written is None or not _is_alone(counted, written):
        return None
    names = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
    drafts, proposed, accepted = (count_of(counted.values.get(f"spec_decode_{name}")) for name in names)
    if drafts is None or proposed is None or accepted is None or accepted > proposed:
        return None
    places = [count_of(each) for each in counted.by_position]
    # Only where all drafts were of one length it is known how many were proposed at each place.
    if places and None not in places and proposed == drafts * len(places):
        return _Drafted(proposed, accepted, (drafts,) * len(places), tuple(each or 0 for each in places))
    return _Drafted(proposed, accepted)


def _is_alone(counted: Counters, written: int) -> bool:
    """Return True if the counters speak of one reply only, of so many tokens."""
    values = counted.values
    return values.get("request_success") == 1 and values.get("generation_tokens") == written


def _cached(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    details = usage.get("prompt_tokens_details")
    count = count_of(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return count_of(timings.get("cache_n")) if count is None else count


def _times(timings: Mapping[str, Any], clock: Clock) -> tuple[float, float]:
    """Return milliseconds for the prompt and in all: by the server's clock where it tells, otherwise by ours."""
    prompt, written = (_time(timings.get(name)) for name in ("prompt_ms", "predicted_ms"))
    if prompt is None or written is None:
        return clock.first_ms, clock.total_ms
    return prompt, prompt + written


def _time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return float(value)
