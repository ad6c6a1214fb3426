"""Grow a tree of proposals, level by level: at each depth the likeliest continuations of the nodes before.

Source of the choice: Li et al., "EAGLE-2" (2024, arXiv:2406.16858), section 4.1: a node is worth the product of the
draft's probabilities on its path. How many tokens follow a node is decided before any of them is drawn, and each that
was drawn stays in the tree: so what the draft proposes bends nothing (see engine.sampling.acceptance.accept_sibling).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from math import exp
from typing import NamedTuple

from engine.backends.base import Backend
from engine.checks import MOST_WIDTH, TreeWish
from engine.config import MAX_LOOKAHEAD
from engine.drafting.base import Draft, GoesOn, TreeShape
from engine.drafting.tree_prices import TreePrices
from engine.sampling.candidates import Candidates, Drawn
from engine.translatable import Translatable

ROOT = -1
"""The parent of nodes that follow the committed tokens."""


def choose_shape(
    size: TreeWish | None, target: Backend, *, through_text: bool, prices: TreePrices | None = None
) -> tuple[TreeShape | None, tuple[str, ...]]:
    """Return the shape of trees of a width and depth, or None, and the reason for chains alone in a sentence.

    `prices`: by which trees are chosen where they are to be by cost; None: there are none then.
    """
    if size is None or (size != "auto" and size[0] == 1):
        return None, ()
    if through_text:
        return None, (Translatable("A draft with another tokenizer proposes chains only, no trees."),)
    if not target.trees:
        return None, (Translatable("{name} verifies chains only: no trees are proposed.", name=target.name),)
    if size == "auto":
        chosen = TreeShape(MOST_WIDTH, MAX_LOOKAHEAD, target.context_length, prices)
        return None if prices is None else chosen, ()
    return TreeShape(*size, target.context_length), ()


class NextTokens(NamedTuple):
    """Forecast the token after a node: the likeliest ones, each with its probability among those that may be drawn.

    `shares`: gives the natural logarithm of the model's own probability of a token; valid until the next look.
    `probs`: the distribution that tokens are drawn from; None: the best ones are taken without a draw.
    """

    best: Sequence[tuple[int, float]]
    shares: Callable[[int], float]
    probs: Candidates | None = None


@dataclass(slots=True)
class Tree:
    """Hold the nodes of a tree, each behind its parent.

    `reach`: the probability that the draft gives a whole path. `last`: where the path ends that is followed alone.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    probs: list[Candidates] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    reach: list[float] = field(default_factory=list)
    last: int = ROOT

    def path(self, node: int) -> list[int]:
        """Return the tokens from the first level to a node."""
        found: list[int] = []
        while node != ROOT:
            found.append(self.tokens[node])
            node = self.parents[node]
        return found[::-1]

    @property
    def first_path(self) -> list[int]:
        """Return the nodes that are judged first, from the first level on."""
        first = [0]
        while first[-1] in self.parents:
            first.append(self.parents.index(first[-1]))
        return first

    def draft(self, source: str) -> Draft:
        """Return it as proposals, those of its first path before the others; a tree of no node is an empty draft."""
        if not self.tokens:
            return Draft()
        first = self.first_path
        order = [*first, *sorted({*range(len(self.tokens))} - {*first})]
        places = {ROOT: ROOT} | {node: place for place, node in enumerate(order)}
        probs = Drawn(self.probs[node] for node in order) if self.probs else None
        tokens, logprobs = (tuple(values[node] for node in order) for values in (self.tokens, self.logprobs))
        chain = len(first) == len(order)
        parents = None if chain else tuple(places[self.parents[node]] for node in order)
        return Draft(tokens, probs, logprobs, parents, source)


Look = Callable[[Tree, list[int]], Sequence[NextTokens | None]]
"""Returns a forecast for each node of a level, or None: it ends. The first node is judged before the others."""


def grow(shape: TreeShape, depth: int, most: int, look: Look, draw: Callable[[Candidates, int], int]) -> Tree:
    """Return a tree of at most `depth` levels and `most` nodes.

    `draw`: draws the token of a node, whose number is given, from a distribution.
    """
    tree, level = Tree(), [ROOT]
    for _ in range(min(depth, shape.depth)):
        room = min(shape.width, most - len(tree.tokens))
        if room <= 0 or not level:
            break
        followings = look(tree, level)
        wanted = _chosen(tree, level, followings, room)
        begun = len(tree.tokens)
        for place, node in enumerate(level):
            following = followings[place]
            if following is not None and wanted[place]:
                _add(tree, node, following, wanted[place], draw)
        level = [*range(begun, len(tree.tokens))]
    return tree


def grow_by_cost(
    shape: TreeShape,
    prices: TreePrices,
    depth: int,
    most: int,
    look: Look,
    draw: Callable[[Candidates, int], int],
    *,
    goes_on: GoesOn,
) -> Tree:
    """Return a tree of one path, as long as `goes_on` allows, and of the tokens worth standing beside it.

    How many follow a node is decided by what the draft says behind it, before any of them is drawn.
    """
    tree, node = Tree(), ROOT
    for level in range(depth):
        following = look(tree, [node])[0] if len(tree.tokens) < most else None
        if following is None:
            break
        best = following.best[: min(shape.width, most - len(tree.tokens))]
        count = 1 + prices.siblings(level, len(tree.tokens), [exp(following.shares(token)) for token, _ in best])
        node = len(tree.tokens)
        _add(tree, ROOT if not level else tree.last, following, count, draw)
        tree.last = node
        if not goes_on(level + 1, exp(tree.logprobs[node])):
            break
    return tree


def _chosen(tree: Tree, level: Sequence[int], followings: Sequence[NextTokens | None], room: int) -> list[int]:
    """Count the tokens that follow each node of a level: as many as are among the `room` likeliest of all."""
    worth = [
        ((1.0 if node == ROOT else tree.reach[node]) * share, -place, -rank)
        for place, (node, following) in enumerate(zip(level, followings, strict=True))
        if following is not None
        for rank, (_, share) in enumerate(following.best)
    ]
    counts = [0] * len(level)
    for _, place, _ in nlargest(room, worth):
        counts[-place] += 1
    return counts


def _add(tree: Tree, node: int, following: NextTokens, count: int, draw: Callable[[Candidates, int], int]) -> None:
    reach = 1.0 if node == ROOT else tree.reach[node]
    left = following.probs
    for likely, likelihood in following.best[:count]:
        token, share = likely, likelihood
        if following.probs is not None:
            if left is None:
                break
            token = draw(left, len(tree.tokens))
            share = following.probs[token]
            tree.probs.append(left)
            left = left.without(token)
        tree.tokens.append(token)
        tree.parents.append(node)
        tree.logprobs.append(following.shares(token))
        tree.reach.append(reach * share)
