"""Turn a request and the loaded models into a plan of one reply."""

from __future__ import annotations

import secrets
from threading import Event

from engine.cancel import CancelToken
from engine.chat.reply_text import ReplyText
from engine.config import GenerationRequest
from engine.errors import ContextFull
from engine.generation.overlap import overlap_pays
from engine.generation.plan import Plan
from engine.generation.reading import Reading, read_request
from engine.generation.sources import Models, choose_proposing
from engine.generation.verifier import Verifier
from engine.loading.source import model_for

_SEED_BITS = 53
"""Of a seed that is drawn: it is told in JSON, whose readers keep so many."""
_MOST_KEPT_FREE = 4096
"""Tokens for the reply for which a context grows, at most."""


def _read(request: GenerationRequest, models: Models, cancel: CancelToken) -> Reading:
    """Return what the target reads; where it has no room for it, in a larger context, if it can have one.

    Raises what `read_request` raises.
    """
    target = models.target
    while True:
        reading, problem = None, None
        try:
            reading = read_request(request, target, cancel)
        except ContextFull as error:
            problem = error
        wanted = min(request.max_tokens or target.context_length // 4, _MOST_KEPT_FREE)
        whole = reading is not None and not reading.dropped_turns
        enough = whole and reading is not None and len(reading.prompt) + wanted <= target.context_length
        if enough or not target.grow_context(2 * target.context_length):
            if reading is None:
                raise problem or ContextFull(0, target.context_length)
            return reading
        for source in models.sources:
            if source.model is not None and not source.reads_states:
                source.model.grow_context(target.context_length)


def make_plan(
    request: GenerationRequest,
    models: Models,
    cancel: CancelToken,
    *,
    answer_now: Event,
    started: float,
    plain_tokens_per_second: float | None,
) -> Plan:
    """Return the plan for a request whose lookahead is settled.

    Raises ContextFull, ModelNotLoaded, NotAvailable, InvalidRequest and its kinds.
    """
    target = models.target
    seed = secrets.randbits(_SEED_BITS) if request.sampling.seed is None else request.sampling.seed
    reading = _read(request, models, cancel)
    proposing = choose_proposing(reading, models, seed)
    request, masks, speculation = reading.request, reading.masks, reading.request.speculation
    reply = ReplyText(target.tokenizer, reading.stop_texts)
    reply.follow(reading.begun)
    return Plan(
        target=target,
        drafter=proposing.drafter,
        verifier=Verifier(
            target, request.sampling, speculation.acceptance, seed, request.top, rows=models.rows, masks=masks
        ),
        policy=proposing.policy,
        prompt=reading.prompt,
        reply=reply,
        parted=reading.parted,
        thought_end=reading.thought_end,
        forced=reading.forced,
        masks=masks,
        guess=reading.guess,
        answer_now=answer_now,
        stop_tokens=reading.stop_tokens,
        max_tokens=request.max_tokens,
        one_token=speculation.force_n1 or target.rewind.kind == "none",
        cancel=cancel,
        method=proposing.method,
        lookahead=proposing.lookahead,
        overlap=overlap_pays(speculation.overlap, target, model_for("draft", models.sources)),
        dropped_turns=reading.dropped_turns,
        notes=(*reading.notes, *proposing.notes),
        seed=seed,
        ends_at=None if request.max_time is None else started + request.max_time,
        plain_tokens_per_second=plain_tokens_per_second,
        started=started,
    )
