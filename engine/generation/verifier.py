"""Verify a draft with one target pass, and apply the acceptance rule to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend, Logits
from engine.config import Acceptance, SamplingConfig
from engine.drafting.base import Draft
from engine.errors import DegenerateDistribution
from engine.events import Origin
from engine.sampling.acceptance import accept, accept_sibling, residual_distribution
from engine.sampling.candidates import Candidates, Drawn
from engine.sampling.distribution import candidates, logprob, top_tokens, uniform
from engine.sampling.history import History
from engine.sampling.masking import Mask, MaskSource
from engine.sampling.native_draw import records_of
from engine.sampling.rows import NUMPY, Judged, Rows, Top


class Verdict(NamedTuple):
    """Hold the result of a round: `tokens`, the `accepted` ones of the draft and then one more of another `origin`.

    There is no such last one if the guess was accepted. `proposed`: tokens of the draft, and the guess if it was
    verified. `logprobs` and `top` belong to the tokens, `draft_logprobs` to the accepted ones (see TokenEvent).
    `rejected`: the other proposals (see RoundEvent).
    """

    tokens: tuple[int, ...]
    accepted: int
    proposed: int
    origin: Origin
    logprobs: tuple[float, ...]
    draft_logprobs: tuple[float, ...]
    top: tuple[Top, ...]
    rejected: tuple[tuple[int, float | None], ...] = ()


class Verifier:
    """Judge drafts with the target's distribution after all processors.

    `rows`: what draws; `masks`: those of a constraint, which are the first of the processors.
    """

    def __init__(
        self,
        target: Backend,
        sampling: SamplingConfig,
        acceptance: Acceptance,
        seed: int,
        top: int,
        *,
        rows: Rows = NUMPY,
        masks: MaskSource | None = None,
    ) -> None:
        self._target = target
        self._sampling = sampling
        self._greedy = sampling.greedy and not sampling.reshaped
        self._penalised = sampling.penalised
        self._exact = acceptance == "exact"
        self._seed = seed
        self._top = top
        self._past = History(sampling.penalty_window)
        self._rows = rows
        self._masks = masks
        self._sampler = rows.sampler(sampling, seed, 0.0, top)

    def verify(
        self,
        pending: int,
        draft: Draft,
        history: Sequence[int],
        position: int,
        guess: Callable[[], Draft] | None = None,
    ) -> Verdict:
        """Feed the pending token and the draft in one forward and verify the draft.

        `history` are the committed tokens: the same list in each round, which grows at its end, or another one.
        `position` is the index in the reply of the next token. If the whole draft is accepted, `guess` is called
        for one more proposal, which is verified with the last row instead of drawing a bonus token: it need not be fed.
        A tree has no guess; the target keeps its accepted path and drops the rest.
        Raises DegenerateDistribution and what the target raises.
        """
        if draft.parents is not None:
            return self._verify_tree(pending, draft, draft.parents, history, position)
        proposed = len(draft.tokens)
        rows = self._target.forward([pending, *draft.tokens], 1 + proposed)
        if guess is None:
            tokens, kept, logprobs, top = self._judge(rows, range(1 + proposed), draft, history, position)
        else:
            tokens, kept, logprobs, top = self._judge(rows, range(proposed), draft, history, position)
            if kept == proposed:
                draft = _joined(draft, guess())
                last = self._judge(rows, range(proposed, 1 + proposed), draft, history, position)
                tokens, kept, logprobs = tokens + last.tokens, kept + last.kept, logprobs + last.logprobs
                top = top + last.top
        origin: Origin = "bonus"
        if kept < len(tokens):
            origin = "correction" if kept < len(draft.tokens) else "bonus" if draft.tokens else "plain"
        shares = draft.logprobs[:kept]
        return Verdict(
            tuple(tokens), kept, len(draft.tokens), origin, tuple(logprobs), shares, tuple(top), _behind(draft, kept)
        )

    def _verify_tree(
        self, pending: int, draft: Draft, parents: Sequence[int], history: Sequence[int], position: int
    ) -> Verdict:
        """Feed the pending token and a tree behind it, and walk from it to the last token that is accepted."""
        rows = self._target.forward_tree([pending, *draft.tokens], [-1, *(parent + 1 for parent in parents)])
        tokens: list[int] = []
        logprobs: list[float] = []
        top: list[Top] = []
        path: list[int] = []
        siblings: list[int] = []
        past = self._past
        if self._penalised:
            past.after(history)
        while True:
            row, place = rows[path[-1] + 1 if path else 0], position + len(path)
            behind = path[-1] if path else -1
            siblings = [n for n, parent in enumerate(parents) if parent == behind and self._target.has_own_row(n + 1)]
            mask = None if self._masks is None else self._masks.mask(position, tokens)
            try:
                token, kept, share = self._judge_siblings(row, draft, siblings, past, place, mask=mask)
            except DegenerateDistribution as error:
                raise DegenerateDistribution(error.reason, place) from None
            tokens.append(token)
            logprobs.append(share)
            if self._top:
                top.append(top_tokens(row, float(row[token]) - share, self._top))
            if kept is None:
                break
            path.append(kept)
            if self._penalised:
                past.append(token)
        self._target.keep_path([0, *(node + 1 for node in path)])
        others = [*siblings, *(node for node in range(len(parents)) if node not in path and node not in siblings)]
        known = draft.logprobs
        return Verdict(
            tuple(tokens),
            len(path),
            len(parents),
            "correction" if siblings else "bonus",
            tuple(logprobs),
            tuple(known[node] for node in path) if known else (),
            tuple(top),
            tuple((draft.tokens[node], known[node] if known else None) for node in others),
        )

    def _judge_siblings(
        self,
        row: Logits,
        draft: Draft,
        nodes: Sequence[int],
        history: Sequence[int],
        position: int,
        *,
        mask: Mask | None,
    ) -> tuple[int, int | None, float]:
        """Return the token at a position for which a tree proposes those of `nodes`, its node, and its log-probability.

        Without a draw, or to be matched exactly, the node is that of the token which the target draws itself.
        """
        if self._greedy and mask is None:
            token, share = self._rows.best(row)
            return token, _node_of(draft, nodes, token), share
        target = candidates(row, self._sampling, history, rows=self._rows, mask=mask)
        if draft.probs is None or self._exact or self._sampling.greedy or not nodes:
            u = 0.0 if self._sampling.greedy else uniform(self._seed, position, "target")
            token = target.draw(u, self._rows.quantile)
            return token, _node_of(draft, nodes, token), logprob(row, token, target, self._rows)
        ids, siblings = target.tokens, []
        for branch, node in enumerate(nodes):
            token, found = draft.tokens[node], draft.probs
            theirs = found.candidates[node].at(ids) if isinstance(found, Drawn) else found[node][_all_or(ids)]
            place: int | None = token if ids is None else int(ids.searchsorted(token))
            if ids is not None and (place == len(ids) or ids[place] != token):
                place = None
            siblings.append((place, theirs, uniform(self._seed, position, "accept", branch)))
        chosen, left = accept_sibling(siblings, target.at(ids))
        if chosen is not None:
            token = draft.tokens[nodes[chosen]]
            return token, nodes[chosen], logprob(row, token, target, self._rows)
        place = self._rows.quantile(left, uniform(self._seed, position, "correction"))
        token = place if ids is None else int(ids[place])
        return token, None, logprob(row, token, target, self._rows)

    def force(self, pending: int, token: int) -> Verdict:
        """Feed the pending token, and give a verdict with a token that was chosen by nobody's distribution."""
        row = self._target.forward([pending], 1)[0]
        share = logprob(row, token, None, self._rows)
        top = (top_tokens(row, float(row[token]) - share, self._top),) if self._top else ()
        return Verdict((token,), 0, 0, "forced", (share,), (), top)

    def _judge(self, rows: Logits, part: range, draft: Draft, history: Sequence[int], position: int) -> Judged:
        """Judge a part of the rows, up to the first token that is no proposal.

        `position` is that of row 0, `history` what comes before it. All proposals before the part were kept.
        """
        past = self._past
        masks = None if self._masks is None else self._masks.masks(position, draft.tokens[: part.stop - 1])
        matches = draft.probs is None or self._exact or self._sampling.greedy
        if self._sampler is not None:
            records = None if matches else records_of(draft.probs, len(draft.tokens))
            if matches or records:
                if self._penalised:
                    past.after(history)
                return self._sampler.judge(rows, part, draft.tokens, records, position, past, masks=masks)
        tokens: list[int] = []
        logprobs: list[float] = []
        top: list[Top] = []
        if self._penalised:
            past.after(history, draft.tokens[: part.start])
        kept = True
        for index in part:
            try:
                mask = None if masks is None else masks[index]
                token, kept, share = self._judge_one(rows[index], draft, index, past, position + index, mask=mask)
            except DegenerateDistribution as error:
                raise DegenerateDistribution(error.reason, position + index) from None
            tokens.append(token)
            logprobs.append(share)
            if self._top:
                top.append(top_tokens(rows[index], float(rows[index][token]) - share, self._top))
            if self._penalised:
                past.append(token)
            if not kept:
                break
        return Judged(tokens, len(tokens) - (not kept), logprobs, top)

    def _judge_one(
        self, row: Logits, draft: Draft, index: int, history: Sequence[int], position: int, *, mask: Mask | None
    ) -> tuple[int, bool, float]:
        """Return the token at one position, its acceptance, and its log-probability by the row itself."""
        proposed = draft.tokens[index] if index < len(draft.tokens) else None
        if self._greedy and mask is None:
            token, share = self._rows.best(row)
            return token, token == proposed, share
        target = candidates(row, self._sampling, history, rows=self._rows, mask=mask)
        if proposed is None or draft.probs is None or self._exact or self._sampling.greedy:
            u = 0.0 if self._sampling.greedy else uniform(self._seed, position, "target")
            token = target.draw(u, self._rows.quantile)
            kept = token == proposed
        else:
            draft_probs = draft.probs.candidates[index] if isinstance(draft.probs, Drawn) else draft.probs[index]
            token, kept = self._reject_or_accept(proposed, draft_probs, target, position)
        return token, kept, logprob(row, token, target, self._rows)

    def _reject_or_accept(
        self, proposed: int, draft_probs: Candidates | NDArray[np.float64], target: Candidates, position: int
    ) -> tuple[int, bool]:
        if accept(proposed, draft_probs, target, uniform(self._seed, position, "accept")):
            return proposed, True
        # What the target cannot give has no residual: the rule needs no more than the tokens that it can.
        tokens = target.tokens
        if isinstance(draft_probs, Candidates):
            theirs = draft_probs.at(tokens)
        else:
            theirs = draft_probs if tokens is None else draft_probs[tokens]
        residual = residual_distribution(target.at(tokens), theirs)
        place = self._rows.quantile(residual, uniform(self._seed, position, "correction"))
        return (place if tokens is None else int(tokens[place])), False


def _node_of(draft: Draft, nodes: Sequence[int], token: int) -> int | None:
    """Return the node that proposes a token, or None."""
    return next((node for node in nodes if draft.tokens[node] == token), None)


def _all_or(tokens: NDArray[np.intp] | None) -> NDArray[np.intp] | slice:
    return slice(None) if tokens is None else tokens


def _behind(draft: Draft, kept: int) -> tuple[tuple[int, float | None], ...]:
    """Return the proposals behind the first `kept` ones, each with the probability that the draft gave it."""
    tokens = draft.tokens[kept:]
    known = draft.logprobs[kept:]
    return tuple(zip(tokens, known if len(known) == len(tokens) else (None,) * len(tokens), strict=True))


def _joined(draft: Draft, guess: Draft) -> Draft:
    """Return a draft with the first token of another one behind it."""
    if not guess.tokens:
        return draft
    probs: Sequence[NDArray[np.float64]] | None = None
    if guess.probs is not None and not draft.tokens:
        probs = guess.probs[:1]
    elif isinstance(guess.probs, Drawn) and isinstance(draft.probs, Drawn):
        probs = Drawn((*draft.probs.candidates, guess.probs.candidates[0]))
    elif guess.probs is not None and draft.probs is not None:
        probs = (*draft.probs, guess.probs[0])
    return Draft((*draft.tokens, guess.tokens[0]), probs, (*draft.logprobs, *guess.logprobs[:1]), source=draft.source)
