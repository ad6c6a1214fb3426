"""Make the masks of a request: those of its constraint, and those that keep its end away."""

from __future__ import annotations

from engine.backends.base import Backend
from engine.chat.reply_parts import PartedReply
from engine.chat.thinking import opens_thought
from engine.config import GenerationRequest
from engine.masks.late_end import LateEnd
from engine.masks.reply_masks import ReplyMasks, thought_of


def masks_of(
    request: GenerationRequest, target: Backend, parted: PartedReply, stop_tokens: frozenset[int]
) -> ReplyMasks | LateEnd | None:
    """Return the masks of the request's constraint, and of the tokens that the reply has at least; None without both.

    `parted`: the parts of the reply, as it begins; `stop_tokens`: those that end it. Raises InvalidRequest.
    """
    inner = _constraint_masks(request, target, parted, stop_tokens)
    if not request.min_tokens or not stop_tokens:
        return inner
    return LateEnd(stop_tokens, request.min_tokens, target.vocab_size, inner)


def _constraint_masks(
    request: GenerationRequest, target: Backend, parted: PartedReply, stop_tokens: frozenset[int]
) -> ReplyMasks | None:
    if request.constraint is None:
        return None
    tokenizer = target.tokenizer
    opened, may_open = parted.channel == "reasoning", request.thinking != "off"
    thought = thought_of(tokenizer, parted.thought_ends, opened=opened, may_open=may_open, opens=opens_thought)
    # A stop token that is text ends a reply only where the constraint allows that text.
    ends = frozenset(token for token in stop_tokens if not tokenizer.piece(token))
    return ReplyMasks(request.constraint, tokenizer, target.vocab_size, ends, thought, parted.content)
