"""Replies of drafters of a test's own, through the generation loop."""

from collections.abc import Sequence

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat.reply_text import ReplyText
from engine.config import GenerationRequest, SamplingConfig, SpeculationConfig
from engine.drafting.base import Drafter
from engine.generation.planner import Plan
from engine.generation.reading import Reading
from engine.generation.sources import Proposing
from engine.generation.verifier import Verifier
from engine.lookahead.policy import LookaheadPolicy, make_policy
from engine.masks.reply_masks import ReplyMasks


def loop_plan(
    target: Backend,
    drafter: Drafter,
    sampling: SamplingConfig,
    prompt: Sequence[int],
    *,
    lookahead: int = 4,
    length: int = 40,
    seed: int = 5,
) -> Plan:
    """A reply of at most `length` tokens, with a fixed lookahead and the rejection rule."""
    speculation = SpeculationConfig(lookahead=lookahead)
    request = GenerationRequest(tuple(prompt), max_tokens=length, sampling=sampling, speculation=speculation)
    verifier = Verifier(target, sampling, "rejection", seed, 0)
    return plan_of(target, request, drafter, make_policy(speculation), verifier)


def plan_of(
    target: Backend,
    request: GenerationRequest,
    drafter: Drafter,
    policy: LookaheadPolicy,
    verifier: Verifier,
    *,
    stop_tokens: frozenset[int] | None = None,
    masks: ReplyMasks | None = None,
) -> Plan:
    """A plan with a drafter and a policy of a test's own."""
    prompt = [token for token in request.prompt if isinstance(token, int)]
    ends = target.eos_token_ids if stop_tokens is None else stop_tokens
    reading = Reading(request, prompt, ReplyText(target.tokenizer), ends, masks=masks)
    speculation = request.speculation
    overlap = speculation.overlap == "on"
    return Plan(
        target,
        reading,
        Proposing("draft-model", speculation.lookahead, drafter, policy, overlap),
        verifier,
        CancelToken(),
    )
