"""Draft a chain or a tree with a head: one token after the other (EAGLE-3, MTP) or all at once (DFlash, Medusa)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Logits
from engine.backends.heads import HeadBackend
from engine.backends.prefix import rewind_to
from engine.cancel import CancelToken
from engine.drafting.base import Draft, Drafter, DrafterContext, GoesOn
from engine.drafting.draft_model import DraftModelDrafter
from engine.drafting.trees import ROOT, Outlook, Tree
from engine.errors import DegenerateDistribution, ModelNotLoaded
from engine.sampling.rows import Proposal


class HeadDrafter(DraftModelDrafter):
    """Propose as a draft model does, with a head in the place of the model.

    The head must see the target's states: see `make_drafter`. With a lookahead that the caller has fixed its chain is
    as long as that in every round, as in llama.cpp's server: the first one follows the reply's first token, it goes on
    behind a token that ends the reply, what lies there counts as proposed, and a greedy one may hold the model's own
    end tokens where the target must not write them (`ignore_eos`). So what is proposed and accepted can be compared;
    any other lookahead, a tree and a constraint begin behind the prompt, and spare these tokens.
    """

    reads_late = limits_vocabulary = False

    def __init__(self, head: HeadBackend, context: DrafterContext) -> None:
        speculation = context.request.speculation
        sampling = speculation.draft_sampling or context.request.sampling
        if speculation.draft_temperature is not None:
            sampling = replace(sampling, temperature=speculation.draft_temperature)
        fixed = isinstance(speculation.lookahead, int) and context.tree is None and context.masks is None
        if fixed and context.request.ignore_eos and sampling.greedy and speculation.draft_sampling is None:
            ends = context.target.eos_token_ids
            kept = tuple(token for token in sampling.banned_tokens if token not in ends)
            sampling = replace(sampling, banned_tokens=kept)
        super().__init__(
            head,
            context.target.vocab_size,
            sampling,
            context.seed,
            stop_tokens=context.stop_tokens,
            min_confidence=speculation.min_draft_confidence,
            rows=context.rows,
            masks=context.masks,
            tree=context.tree,
        )
        self._fixed = fixed
        if fixed:
            self._stop_tokens = frozenset()
        self.name = head.method
        self._head = head
        self._grown: dict[int, int] = {}
        """Of the nodes of this round's tree that the head has computed, its own numbers."""

    @property
    def works_ahead(self) -> bool:
        """Return False: while the target verifies, the states that the head would go on from are not there yet."""
        return False

    def _only_token(self) -> bool:
        """Return False: a head goes on from its own state of each token, so none is passed over."""
        return False

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self._head.resting = self.resting
        super().begin(prompt_tokens, cancel)

    def observe(self, committed_tokens: Sequence[int]) -> None:
        self._head.resting = self.resting
        super().observe(committed_tokens)

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        if self._fixed and len(self._committed) == self._prompt_length:
            return Draft()
        if not self._head.ready(len(self._committed)):
            return Draft()
        while self._head.read_on():
            if self._cancel.cancelled:
                return Draft()
        n = n if self._head.most is None else min(n, self._head.most)
        self._head.expect(n)
        return super().propose(n, goes_on)._replace(whole=self._fixed)

    def _look(self, tree: Tree, level: list[int]) -> list[Outlook | None]:
        """Return what may follow each node of a level, where the head computes trees; else as a draft model does."""
        if level[0] == ROOT:
            self._grown = {}
        if level[0] == ROOT or not self._head.grows:
            return super()._look(tree, level)
        open_ones = [node for node in level if tree.tokens[node] not in self._stop_tokens]
        if not open_ones or self._cancel.cancelled:
            return [None] * len(level)
        parents = [self._grown.get(tree.parents[node], ROOT) for node in open_ones]
        rows = self._head.grow([tree.tokens[node] for node in open_ones], parents)
        self.forwards += 1
        for node in open_ones:
            self._grown[node] = len(self._grown)
        found = {node: self._outlook(row, tree.path(node)) for node, row in zip(open_ones, rows, strict=True)}
        return [found.get(node) for node in level]

    def _outlook(self, whole: NDArray[np.float32], path: Sequence[int]) -> Outlook | None:
        """Return what may follow a path, or None also where it is none of the head's own vocabulary."""
        try:
            return super()._outlook(whole, path)
        except DegenerateDistribution:
            return None

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
    rewind_to(context.target, head.tokens[: head.seen])
    return HeadDrafter(head, context)
