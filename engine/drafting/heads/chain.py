"""Draft a chain of tokens with a head: one after the other (EAGLE-3, MTP) or all at once (DFlash, DSpark)."""

from __future__ import annotations

from dataclasses import replace

from engine.backends.base import Logits
from engine.backends.heads import HeadBackend
from engine.backends.prefix import keep_prefix
from engine.drafting.base import Draft, Drafter, DrafterContext, GoesOn
from engine.drafting.draft_model import DraftModelDrafter
from engine.errors import DegenerateDistribution, ModelNotLoaded
from engine.sampling.rows import Proposal


class HeadDrafter(DraftModelDrafter):
    """Propose as a draft model does, with a head in the place of the model.

    The head must see the target's states: see `make_drafter`.
    """

    def __init__(self, head: HeadBackend, context: DrafterContext) -> None:
        speculation = context.request.speculation
        sampling = speculation.draft_sampling or context.request.sampling
        if speculation.draft_temperature is not None:
            sampling = replace(sampling, temperature=speculation.draft_temperature)
        super().__init__(
            head,
            context.target.vocab_size,
            sampling,
            context.seed,
            stop_tokens=context.stop_tokens,
            min_confidence=speculation.min_draft_confidence,
            rows=context.rows,
            masks=context.masks,
        )
        self.name = head.method
        self._head = head

    @property
    def works_ahead(self) -> bool:
        """Return False: while the target verifies, the states that the head would go on from are not there yet."""
        return False

    def _only_token(self) -> bool:
        """Return False: a head goes on from its own state of each token, so none is passed over."""
        return False

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        if not self._head.ready(len(self._committed)):
            return Draft()
        n = n if self._head.most is None else min(n, self._head.most)
        self._head.expect(n)
        return super().propose(n, goes_on)

    def _draw(self, rows: Logits) -> Proposal | None:
        """Return the next proposal, or None also where none of the head's own vocabulary may come: bans, a mask."""
        try:
            return super()._draw(rows)
        except DegenerateDistribution:
            return None


def make_drafter(context: DrafterContext) -> Drafter:
    """Make the drafter of loaded heads, to which the target shows its states from now on. Raises ModelNotLoaded.

    Where the target holds tokens that it did not show, it forgets them, and reads them anew with the prompt.
    """
    head = context.heads
    if head is None:
        raise ModelNotLoaded("heads")
    context.target.show_states(head)
    keep_prefix(context.target, head.tokens[: head.seen])
    return HeadDrafter(head, context)
