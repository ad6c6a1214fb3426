"""Replies of drafters of a test's own, through the generation loop."""

from collections.abc import Sequence

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat.reply_text import ReplyText
from engine.config import SamplingConfig, SpeculationConfig
from engine.drafting.base import Drafter
from engine.generation.plan import Plan
from engine.generation.verifier import Verifier
from engine.lookahead.policy import make_policy


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
    return Plan(
        target=target,
        drafter=drafter,
        verifier=Verifier(target, sampling, "rejection", seed, 0),
        policy=make_policy(SpeculationConfig(lookahead=lookahead)),
        prompt=list(prompt),
        reply=ReplyText(target.tokenizer),
        stop_tokens=target.eos_token_ids,
        max_tokens=length,
        one_token=False,
        cancel=CancelToken(),
        method="draft-model",
        lookahead=lookahead,
    )
