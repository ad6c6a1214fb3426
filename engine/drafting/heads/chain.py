"""Draft a chain or a tree with a head: one token after the other (EAGLE-3, MTP) or all at once (DFlash, Medusa)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.backends.heads import HeadBackend
from engine.backends.pictures import with_pictures
from engine.backends.prefix import rewind_to
from engine.cancel import CancelToken
from engine.drafting.base import Draft, Drafter, DrafterContext, GoesOn
from engine.drafting.draft_model import DraftModelDrafter, FromStates
from engine.errors import ModelNotLoaded


class HeadDrafter(Drafter):
    """Propose as a draft model does, with a head in the place of the model.

    The head must see the target's states: see `make_drafter`. With a lookahead that the caller has fixed its chain is
    as long as that in every round, as in llama.cpp's server: the first one follows the reply's first token, it goes on
    behind a token that ends the reply, what lies there counts as proposed, and a greedy one may hold the model's own
    end tokens where the target must not write them (`ignore_eos`). So what is proposed and accepted can be compared;
    any other lookahead, a tree and a constraint begin behind the prompt, and spare these tokens.
    """

    def __init__(self, head: HeadBackend, context: DrafterContext) -> None:
        speculation, sampling = context.request.speculation, context.sampling
        fixed = isinstance(speculation.lookahead, int) and context.tree is None and context.masks is None
        if fixed and context.request.ignore_eos and sampling.greedy and speculation.draft_sampling is None:
            ends = context.target.eos_token_ids
            kept = tuple(token for token in sampling.banned_tokens if token not in ends)
            sampling = replace(sampling, banned_tokens=kept)
        self.name = head.method
        self._chain = DraftModelDrafter(
            head,
            context.target.vocab_size,
            sampling,
            context.seed,
            stop_tokens=context.stop_tokens,
            min_confidence=speculation.min_draft_confidence,
            rows=context.rows,
            masks=context.masks,
            tree=context.tree,
            states=FromStates(head.grow if head.grows else None, fixed),
        )
        self._fixed = fixed
        self._head = head
        self._cancel = CancelToken()
        self._prompt_length = self._length = 0

    @property
    def unread(self) -> int:
        return self._chain.unread

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self._cancel = cancel
        self._prompt_length = self._length = len(prompt_tokens)
        self._chain.resting = self._head.resting = self.resting
        self._chain.begin(prompt_tokens, cancel)
        self.forwards = self._chain.forwards

    def observe(self, committed_tokens: Sequence[int]) -> None:
        self._length += len(committed_tokens)
        self._chain.resting = self._head.resting = self.resting
        self._chain.observe(committed_tokens)
        self.forwards = self._chain.forwards

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        if (self._fixed and self._length == self._prompt_length) or not self._head.ready(self._length):
            return Draft()
        while self._head.read_on():
            if self._cancel.cancelled:
                return Draft()
        n = n if self._head.most is None else min(n, self._head.most)
        self._head.expect(n)
        draft = self._chain.propose(n, goes_on)
        self.forwards = self._chain.forwards
        return draft._replace(source=self.name if draft.source else "", whole=self._fixed)


def make_drafter(context: DrafterContext) -> Drafter:
    """Make the drafter of loaded heads, to which the target shows its states from now on. Raises ModelNotLoaded.

    Where the target holds tokens that it did not show, it forgets them, and reads them anew with the prompt.
    """
    head = context.source.model
    if not isinstance(head, HeadBackend):
        raise ModelNotLoaded("heads")
    context.target.show_states(head)
    rewind_to(context.target, with_pictures(context.target.tokens, [*head.tokens[: head.seen]]))
    return HeadDrafter(head, context)
