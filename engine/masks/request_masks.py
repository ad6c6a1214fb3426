"""Make the masks of a request: those of its constraint, and those that keep its end away."""

from __future__ import annotations

from engine.backends.base import Backend
from engine.chat.call_form import CallForm
from engine.chat.reply_parts import ReplyParser
from engine.chat.thinking import opens_thought
from engine.config import GenerationRequest
from engine.masks.call_grammar import calls_constraint
from engine.masks.late_end import LateEnd
from engine.masks.reply_masks import ReplyMasks, Thought, thought_of

_HARMONY = "<|channel|>"
"""The marker of the parts of replies that include calls."""


def masks_of(
    request: GenerationRequest,
    target: Backend,
    parser: ReplyParser,
    stop_tokens: frozenset[int],
    form: CallForm | None = None,
) -> ReplyMasks | LateEnd | None:
    """Return the masks of the request's constraint, and of the tokens that the reply has at least; None without both.

    `parser`: of the reply, as it begins; `stop_tokens`: those that end it; `form`: of the calls that the
    reply is to have, or may have in place of what the constraint says. Raises InvalidRequest.
    """
    inner = _constraint_masks(request, target, parser, stop_tokens, form)
    if not request.min_tokens or not stop_tokens:
        return inner
    return LateEnd(stop_tokens, request.min_tokens, target.vocab_size, inner)


def _constraint_masks(
    request: GenerationRequest, target: Backend, parser: ReplyParser, stop_tokens: frozenset[int], form: CallForm | None
) -> ReplyMasks | None:
    tokenizer, constraint = target.tokenizer, request.constraint
    if form is not None:
        wanted = [
            tool for tool in request.tools if tool["function"]["name"] in request.must_call or not request.must_call
        ]
        other = None if request.must_call else constraint
        constraint = calls_constraint(wanted, form, tokenizer, one=request.one_call, other=other)
    if constraint is None:
        return None
    opened, may_open = parser.in_thought, request.thinking != "off"
    thought = thought_of(tokenizer, parser.thought_ends, opened=opened, may_open=may_open, opens=opens_thought)
    if form is not None and _HARMONY in tokenizer.added_tokens and not opened:
        thought = Thought()  # A call is a part of its own there, which no thought need precede.
    # A stop token that is text ends a reply only where the constraint allows that text.
    ends = frozenset(token for token in stop_tokens if not tokenizer.piece(token))
    return ReplyMasks(constraint, tokenizer, target.vocab_size, ends, thought, parser.content)
