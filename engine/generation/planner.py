"""Turn a request and the loaded models into a plan of one reply, which the loop runs."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from threading import Event
from time import perf_counter

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import GenerationRequest
from engine.generation.reading import Reading, read_with_room
from engine.generation.sources import Models, Proposing, choose_proposing
from engine.generation.verifier import Verifier

_SEED_BITS = 53
"""The bits of a drawn seed: JSON readers keep so many."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold one reply to be written: its prompt, sources and verifier, and its end.

    `answer_now`: set by another thread to end the reasoning; `seed`: of the draws; `started`: the time of the request;
    `plain_tokens_per_second`: measured, or None.
    """

    target: Backend
    reading: Reading
    proposing: Proposing
    verifier: Verifier
    cancel: CancelToken
    seed: int | None = None
    answer_now: Event = field(default_factory=Event)
    started: float = field(default_factory=perf_counter)
    plain_tokens_per_second: float | None = None

    @property
    def one_token(self) -> bool:
        """True if one token at a time is verified, so that nothing is ever taken back."""
        return self.reading.request.speculation.force_n1 or self.target.rewind.kind == "none"

    @property
    def late(self) -> bool:
        """True if the time of the reply is over: no round begins any more."""
        most = self.reading.request.max_time
        return most is not None and perf_counter() >= self.started + most

    def left(self, emitted: int) -> int | None:
        """Return the number of tokens that the reply may still have, None if there is no limit."""
        most = self.reading.request.max_tokens
        return None if most is None else most - emitted

    def room(self, emitted: int) -> int:
        """Return the most tokens of a draft: the rest of the reply, of the context, of a window to go back.

        It may be less than 1.
        """
        if self.one_token:
            return 1
        target, left = self.target, self.left(emitted)
        room = target.context_length - target.length - 1
        if left is not None:
            room = min(room, left - 1)
        if target.rewind.kind == "window":
            room = min(room, target.rewind.depth or 0)
        return room


def make_plan(
    request: GenerationRequest,
    models: Models,
    cancel: CancelToken,
    *,
    answer_now: Event,
    started: float,
    plain_tokens_per_second: float | None,
) -> Plan:
    """Return the plan for a request whose lookahead is resolved.

    Raises ContextFull, ModelNotLoaded, NotAvailable, InvalidRequest and its kinds.
    """
    target = models.target
    seed = secrets.randbits(_SEED_BITS) if request.sampling.seed is None else request.sampling.seed
    reading = read_with_room(request, target, models.sources, cancel)
    proposing = choose_proposing(reading, models, seed)
    request = reading.request
    verifier = Verifier(
        target,
        request.sampling,
        request.speculation.acceptance,
        seed,
        request.top,
        rows=models.rows,
        masks=reading.masks,
    )
    return Plan(target, reading, proposing, verifier, cancel, seed, answer_now, started, plain_tokens_per_second)
