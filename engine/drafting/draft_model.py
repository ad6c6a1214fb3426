"""Draft with a small model, which has a cache of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend, Logits
from engine.backends.prefix import CHUNK, common_prefix, keep_prefix, read_all
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, SamplingConfig
from engine.drafting.base import (
    BEGINNING,
    LONG_PROMPT,
    SHORT_PROMPT,
    STEP,
    Draft,
    Drafter,
    DrafterContext,
    GoesOn,
    TreeShape,
)
from engine.drafting.tree_prices import TreePrices
from engine.drafting.trees import ROOT, NextTokens, Tree, grow, grow_by_cost
from engine.drafting.vocabulary import LEAST, choose_rows
from engine.errors import DegenerateDistribution, ModelNotLoaded
from engine.methods import DRAFT_MODEL
from engine.sampling.candidates import Candidates, Drawn
from engine.sampling.distribution import candidates, logprob, round_seed, uniform
from engine.sampling.history import History
from engine.sampling.masking import MaskSource, any_below, only_one
from engine.sampling.rows import NUMPY, Proposal, Rows

_RESHAPING = (
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "penalty_window",
    "logit_bias",
    "banned_tokens",
)
_MOST_BEHIND = 2
"""The cache is at most this many committed tokens short: the last draft token and the bonus after a full acceptance.

While the drafter rests, and with the automatic lookahead, it falls behind, and catches up with the next proposal: a
forward for what others proposed would hold up the round, and take as long as one that proposes.
"""
_FAR = 6.0
"""Logits below the best one beyond which no token is worth a place beside it."""

Grow = Callable[[Sequence[int], Sequence[int]], Logits]


class FromStates(NamedTuple):
    """Describe drafting from states: `grow` computes nodes of a tree; `past_ends`: it continues behind a text's end."""

    grow: Grow | None
    past_ends: bool


class DraftModelDrafter(Drafter):
    """Propose a smaller model's continuation; both models have one vocabulary.

    `vocab_size` is the target's: ids beyond it are never proposed, ids that the draft lacks have probability 0.
    `sampling`: the draft's, with `rows`; greedy drafts carry no probabilities. `masks`: of a constraint.
    `tree`: propose trees of this shape.

    The reply's first token does not wait for the draft: the draft reads the prompt after it (with the automatic
    lookahead in pieces, a plain round after each), and of a long prompt only both ends.

    `states`: the model is a head, which continues the target's hidden states. It has read the prompt with the target,
    skips no token, computes nothing ahead of those states, and its vocabulary may lack all possible next tokens.
    """

    name = DRAFT_MODEL.name

    def __init__(
        self,
        backend: Backend,
        vocab_size: int,
        sampling: SamplingConfig,
        seed: int,
        *,
        stop_tokens: frozenset[int] = frozenset(),
        min_confidence: float = 0.0,
        rows: Rows = NUMPY,
        masks: MaskSource | None = None,
        tree: TreeShape | None = None,
        states: FromStates | None = None,
    ) -> None:
        self._states, self._grow = states is not None, None if states is None else states.grow
        self._backend = backend
        self._vocab_size = vocab_size
        self._shared_vocab = min(vocab_size, backend.vocab_size)
        self._sampling = _within(sampling, self._shared_vocab)
        self._greedy = sampling.greedy and not self._sampling.reshaped
        self._seed = self._drawing_seed = seed
        self._round = 0
        past_ends = states is not None and states.past_ends
        self._stop_tokens = frozenset() if past_ends else stop_tokens | backend.eos_token_ids
        self._min_confidence = min_confidence
        self._rows = rows
        self._masks = masks
        self._shape = tree
        self._ranking = SamplingConfig(
            1.0,
            **{name: getattr(self._sampling, name) for name in _RESHAPING},
        )
        """The rules by which the best tokens are found where none is drawn."""
        self._sampler = rows.sampler(self._sampling, seed, min_confidence)
        self._cancel = CancelToken()
        self._committed: list[int] = []
        self._history = History(sampling.penalty_window)
        self._penalised, self._draws = sampling.penalised, not sampling.greedy
        self._counted = False
        """True if the history is that of this round's last proposal (with a sampler: of this round)."""
        self._live: list[Proposal] = []
        self._ahead: list[int] = []
        """The tokens of the live proposals; a new list wherever any of them go."""
        self._offered = 0
        self._declined = self._automatic = False
        self._prompt_length = self._skipped = 0
        self._readable = 0
        self._grown_tree = Tree()
        self._numbers: dict[int, int] = {}
        """The numbers of this round's tree nodes that `grow` has computed."""
        self._open: list[list[int]] = []
        """The nodes at each place of the first path, of a tree chosen by cost."""

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self._cancel = cancel
        self._backend.watch(cancel)
        self._committed = list(prompt_tokens) if self._states else _ends_of(prompt_tokens)
        self._skipped = len(prompt_tokens) - len(self._committed)
        self._live, self._ahead = [], []
        self._counted = False
        self._offered = 0
        self._declined = False
        self._prompt_length = len(self._committed)
        self.forwards = 0
        self._readable = 0
        self._find_readable()
        self._begin_round(0)
        self._choose_vocabulary(prompt_tokens)
        known = self._committed[: min(self._readable, len(self._committed) - 1, self._backend.context_length)]
        shared = keep_prefix(self._backend, known)
        if not self.resting and not self._late:
            read_all(self._backend, known[shared:], cancel)

    def _choose_vocabulary(self, new: Sequence[int], *, judged: bool = False) -> None:
        """Compute the draft's output layer for common tokens and those of the text alone, if that pays.

        Not with the masks of a constraint, which may permit only others.
        """
        if self._masks is None and self._backend.vocab_size >= LEAST and not self._states:
            choose_rows(self._backend, new, judged=judged)

    @property
    def _may_lack_all(self) -> bool:
        """True if a row may hold nothing that may come: a reply beside this one may want other rows of the weights."""
        return self._states or self._masks is not None

    @property
    def _late(self) -> bool:
        """True if the prompt is read behind the first token."""
        return not self._states and self._skipped + self._prompt_length > SHORT_PROMPT

    @property
    def unread(self) -> int:
        return max(min(len(self._committed), self._readable) - 1 - self._backend.length, 0)

    def _read_first(self, *, in_pieces: bool) -> bool:
        """Return True if the round is to be plain: it is the first one, or a piece of the prompt was read in it."""
        unread, first = self.unread, len(self._committed) == self._prompt_length
        if first and self._late and (unread > CHUNK or not in_pieces):
            return True  # Without pieces whatever the cache holds: what is proposed decides what a seed draws.
        if not in_pieces or unread <= CHUNK or len(self._committed) > self._backend.context_length:
            return False
        held = self._backend.length
        piece = unread if unread <= 2 * CHUNK else CHUNK
        read_all(self._backend, self._committed[held : held + piece], self._cancel)
        return True

    def _begin_round(self, number: int) -> None:
        """Begin a round, so that no position of the reply is drawn for twice with the same random number."""
        self._round = number
        if self._draws:
            self._drawing_seed = round_seed(self._seed, number)
            if self._sampler is not None:
                self._sampler.reseed(self._drawing_seed)

    def _find_readable(self) -> None:
        """Move on to the first committed token that the draft's vocabulary lacks: it cannot read past it."""
        committed, vocab_size = self._committed, self._backend.vocab_size
        for place in range(self._readable, len(committed)):
            if committed[place] >= vocab_size:
                break
            self._readable = place + 1

    @property
    def works_ahead(self) -> bool:
        """Return True if the cache can go back to any place: a saved state would be replayed from ever farther."""
        return self._backend.rewind.kind == "any" and self._shape is None and not self._states

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        self._offered, self._automatic = 0, goes_on is not None
        if self._readable < len(self._committed):
            self._find_readable()
            if self._readable < len(self._committed):
                return Draft()
        if not self._states and self._read_first(in_pieces=goes_on is not None):
            return Draft()
        rewind = self._backend.rewind
        if rewind.kind == "window":
            n = min(n, (rewind.depth or 0) + 1)
        elif rewind.kind == "none":
            n = min(n, 1)
        shape, self._open = self._shape, []
        if shape is not None and (shape.prices is None or (goes_on is not None and shape.prices.promising)):
            return self._propose_tree(shape, n, goes_on)
        while self._offered < n:
            self._extend(n if goes_on is None else self._offered + 1)
            if len(self._live) <= self._offered:
                break
            self._offered = min(n, len(self._live)) if goes_on is None else self._offered + 1
            if goes_on is not None and not goes_on(self._offered, exp(self._live[self._offered - 1].logprob)):
                break
        return self._draft(0, self._offered)

    def propose_ahead(self, n: int, stop: Callable[[], bool]) -> Draft:
        if not self._offered:
            return Draft()
        self._extend(self._offered + n, stop)
        return self._draft(self._offered, self._offered + n)

    def _extend(self, count: int, stop: Callable[[], bool] | None = None) -> None:
        """Draft on until there are `count` live proposals, the draft ends, or `stop` returns True."""
        backend, live, ahead = self._backend, self._live, self._ahead
        while len(live) < count and not self._declined and not (live and ahead[-1] in self._stop_tokens):
            if self._only_token():
                continue
            rows = self._next_row(stop)
            if rows is None:
                return
            if not live:
                backend.mark()
            try:
                proposal = self._draw(rows)
            except DegenerateDistribution:
                if not self._may_lack_all:
                    raise
                proposal = None
            if proposal is None:
                self._declined = True
            else:
                live.append(proposal)
                ahead.append(proposal.token)

    def _next_row(self, stop: Callable[[], bool] | None = None) -> Logits | None:
        """Return the row behind the text and the tokens ahead of it, or None if there is no room or it is to stop."""
        backend, ahead, committed = self._backend, self._ahead, self._committed
        held = backend.length
        if held == len(committed) + len(ahead):  # The draft declined here, and all that it had proposed was accepted.
            held -= 1
            backend.truncate(held)
        feed = ahead[held - len(committed) :] if held >= len(committed) else committed[held:] + ahead
        if self._cancel.cancelled or (stop is not None and stop()) or held + len(feed) > backend.context_length:
            return None
        if len(feed) > CHUNK:
            read_all(backend, feed[:-1], self._cancel)
            feed = feed[-1:]
        rows = backend.forward(feed, 1)
        self.forwards += 1
        return rows

    def _propose_tree(self, shape: TreeShape, n: int, goes_on: GoesOn | None) -> Draft:
        """Propose a tree. It follows the path that is judged first: its other nodes cost the draft nothing."""
        self._live, self._ahead = [], []
        base = len(self._committed) - self._prompt_length
        most = min(MAX_LOOKAHEAD, shape.context - len(self._committed) - self._skipped)

        def draw(probs: Candidates, node: int) -> int:
            return probs.draw(uniform(self._drawing_seed, base, "draft", node + 1), self._rows.quantile)

        if shape.prices is None or goes_on is None:
            return grow(shape, n, most, self._look, draw).draft(self.name)
        tree = grow_by_cost(shape, shape.prices, n, most, self._look, draw, goes_on=goes_on)
        places = [ROOT, *tree.first_path] if tree.tokens else []
        self._open = [[node for node, parent in enumerate(tree.parents) if parent == place] for place in places]
        self._open = [nodes for nodes in self._open if nodes]
        self._grown_tree = tree
        return tree.draft(self.name)

    def _learn_tree(self, prices: TreePrices, committed: Sequence[int]) -> None:
        """Learn the outcome of the tokens beside the first path, where that path was rejected."""
        tree = self._grown_tree
        for nodes, token in zip(self._open, committed, strict=False):
            tokens = [tree.tokens[node] for node in nodes]
            if token != tokens[0]:
                if len(nodes) > 1:
                    shares = [exp(tree.logprobs[node]) for node in nodes]
                    prices.learn(shares, tokens.index(token) if token in tokens else None)
                return

    def _look(self, tree: Tree, level: list[int]) -> list[NextTokens | None]:
        """Return the next tokens behind the first node of a level, the others are leaves; with `grow`, behind each."""
        if level[0] == ROOT:
            self._numbers = {}
        elif self._grow is not None:
            return self._look_at_all(self._grow, tree, level)
        node, leaves = level[0], [None] * (len(level) - 1)
        if node != ROOT:
            if tree.tokens[node] in self._stop_tokens:
                return [None, *leaves]
            self._ahead.append(tree.tokens[node])
        rows = self._next_row()
        if rows is None:
            return [None, *leaves]
        if node == ROOT:
            self._backend.mark()
        return [self._next_tokens(rows[0], self._ahead), *leaves]

    def _look_at_all(self, grow: Grow, tree: Tree, level: list[int]) -> list[NextTokens | None]:
        open_ones = [node for node in level if tree.tokens[node] not in self._stop_tokens]
        if not open_ones or self._cancel.cancelled:
            return [None] * len(level)
        parents = [self._numbers.get(tree.parents[node], ROOT) for node in open_ones]
        rows = grow([tree.tokens[node] for node in open_ones], parents)
        self.forwards += 1
        for node in open_ones:
            self._numbers[node] = len(self._numbers)
        found = {node: self._next_tokens(row, tree.path(node)) for node, row in zip(open_ones, rows, strict=True)}
        return [found.get(node) for node in level]

    def _next_tokens(self, whole: NDArray[np.float32], path: Sequence[int]) -> NextTokens | None:
        """Return the next tokens behind a path by its row of logits; None if none is usable."""
        row, width = whole[: self._shared_vocab], 0 if self._shape is None else self._shape.width
        mask = None
        if self._masks is not None:
            mask = self._masks.mask(len(self._committed) - self._prompt_length, path)
        if mask is not None and not any_below(mask, self._shared_vocab):
            return None
        if self._greedy and mask is None and self._shape is not None and self._shape.prices is not None:
            return self._likely_tokens(row, width)
        history = self._history.after(self._committed, path) if self._penalised else ()
        rules = self._sampling if self._draws else self._ranking
        try:
            probs = candidates(row, rules, history, self._vocab_size, self._rows, mask)
        except DegenerateDistribution:
            if not self._may_lack_all:
                raise
            return None
        best = probs.best(width)
        if self._min_confidence and best[0][1] < self._min_confidence:
            return None
        first = float(row[best[0][0]]) - logprob(row, best[0][0], probs, self._rows)
        return NextTokens(best, lambda token: float(row[token]) - first, probs if self._draws else None)

    def _likely_tokens(self, row: NDArray[np.float32], width: int) -> NextTokens | None:
        """Return those of the best tokens of a row that may be worth a place, without weighing the whole vocabulary."""
        token, share = self._rows.best(row)
        if self._min_confidence and exp(share) < self._min_confidence:
            return None
        normaliser = float(row[token]) - share
        near = np.flatnonzero(row >= row[token] - _FAR)
        near = near[np.argsort(-row[near], kind="stable")[:width]]
        best = [(int(found), exp(float(row[found]) - normaliser)) for found in near]
        return NextTokens(best, lambda token: float(row[token]) - normaliser)

    def _only_token(self) -> bool:
        """Propose the next token without a forward if the masks leave only one; return True if they do."""
        if self._states or self._masks is None or self._backend.rewind.kind != "any":
            return False  # Others are marked between these tokens, and a head goes on from its state of each.
        mask = self._masks.mask(len(self._committed) - self._prompt_length, self._ahead)
        token = None if mask is None else only_one(mask)
        if token is None or token >= self._shared_vocab:
            return False
        self._live.append(self._certain(token))
        self._ahead.append(token)
        return True

    def _certain(self, token: int) -> Proposal:
        """Return the proposal of a token that is certain to come."""
        if not self._draws:
            return Proposal(token, None, 0.0)
        if self._sampler is not None:
            return self._sampler.certain(token, self._vocab_size)
        return Proposal(token, Candidates(self._vocab_size, np.ones(1), np.array([token])), 0.0)

    def _draft(self, first: int, last: int) -> Draft:
        """Return the live proposals from `first` to before `last`."""
        proposals = self._live[first:last]
        probs = None
        if proposals and self._draws:
            probs = Drawn([proposal.probs for proposal in proposals if proposal.probs is not None])
        logprobs = tuple([proposal.logprob for proposal in proposals])
        return Draft(tuple(self._ahead[first:last]), probs, logprobs, source=self.name)

    def _draw(self, rows: Logits) -> Proposal | None:
        """Return the next proposal, or None if the model is not confident: that is decided before the draw."""
        sampling = self._sampling
        base = len(self._committed) - self._prompt_length
        position = base + len(self._live)
        mask = None if self._masks is None else self._masks.mask(base, self._ahead)
        if mask is not None and not any_below(mask, self._shared_vocab):
            return None
        if self._sampler is not None:
            if self._penalised and not self._counted:
                self._history.after(self._committed)
                self._counted = True
            return self._sampler.propose(
                rows, self._shared_vocab, self._vocab_size, position, self._history, self._ahead, mask=mask
            )
        history = self._before() if self._penalised else ()
        row = rows[0][: self._shared_vocab]
        if self._greedy and mask is None:
            best, share = self._rows.best(row)
            unsure = self._min_confidence and exp(share) < self._min_confidence
            return None if unsure else Proposal(best, None, share)
        probs = candidates(row, sampling, history, self._vocab_size, self._rows, mask)
        if self._min_confidence and probs.highest < self._min_confidence:
            return None
        u = 0.0 if sampling.greedy else uniform(self._drawing_seed, position, "draft")
        token = probs.draw(u, self._rows.quantile)
        return Proposal(token, None if sampling.greedy else probs, logprob(row, token, probs, self._rows))

    def _before(self) -> History:
        """Return all tokens before the next proposal."""
        history, ahead = self._history, self._ahead
        if self._counted and len(history) + 1 == len(self._committed) + len(ahead):
            history.append(ahead[-1])
        else:
            history.after(self._committed, ahead)
        self._counted = True
        return history

    def observe(self, committed_tokens: Sequence[int]) -> None:
        backend = self._backend
        known = len(self._committed)
        self._counted = False
        self._begin_round(self._round + 1)
        if self._open and self._shape is not None and self._shape.prices is not None:
            self._learn_tree(self._shape.prices, committed_tokens)
            self._open = []
        self._committed.extend(committed_tokens)
        if committed_tokens:
            self._choose_vocabulary(committed_tokens, judged=True)
        else:
            self._backend.want_rows(None)  # What else the model is used for wants them all.
        if self.resting and not self._live and backend.length <= known:  # Nothing more to do, and it should be quick.
            self._declined = False
            return
        kept = common_prefix(self._ahead, committed_tokens)
        kept = kept if 0 < kept == len(committed_tokens) else len(self._live)
        self._live, self._ahead = self._live[kept:], self._ahead[kept:]
        if not self._live:
            self._declined, self._ahead = False, []
            if backend.length > known:
                backend.truncate(known + common_prefix(backend.tokens[known:], committed_tokens))
        self._find_readable()
        if self.resting or self._automatic or self._cancel.cancelled:
            return
        if self._late and backend.length < self._prompt_length - 1:
            return
        behind = self._committed[backend.length : self._readable]
        if len(behind) > _MOST_BEHIND and backend.length + len(behind) <= backend.context_length:
            backend.watch(None)
            backend.forward(behind[:-1], 0)
            backend.watch(self._cancel)
            self.forwards += 1


def make_drafter(context: DrafterContext) -> Drafter:
    """Make the drafter of a loaded draft model with the target's tokenizer. Raises ModelNotLoaded."""
    if context.source.model is None:
        raise ModelNotLoaded("draft")
    return DraftModelDrafter(
        context.source.model,
        context.target.vocab_size,
        context.sampling,
        context.seed,
        stop_tokens=context.stop_tokens,
        min_confidence=context.request.speculation.min_draft_confidence,
        rows=context.rows,
        masks=context.masks,
        tree=context.tree,
    )


def _ends_of(prompt: Sequence[int]) -> list[int]:
    """Return the beginning and the end of a long prompt, a short one whole."""
    if len(prompt) <= LONG_PROMPT:
        return list(prompt)
    skipped = ((len(prompt) - BEGINNING) // STEP - 1) * STEP
    return [*prompt[:BEGINNING], *prompt[BEGINNING + skipped :]]


def _within(sampling: SamplingConfig, vocab_size: int) -> SamplingConfig:
    """Return the sampling without the bias and bans of tokens that the draft does not have."""
    return replace(
        sampling,
        logit_bias=tuple(pair for pair in sampling.logit_bias if pair[0] < vocab_size),
        banned_tokens=tuple(token for token in sampling.banned_tokens if token < vocab_size),
    )
