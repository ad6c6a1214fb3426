"""A small model as drafter, with a cache of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend, Logits
from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.drafting.base import Draft, Drafter
from engine.prompt import common_prefix, keep_prefix, read
from engine.sampling import best_token, distribution, log_normaliser, sample, uniform

_MOST_BEHIND = 2
"""The cache is at most this many committed tokens short: the last draft token and the bonus after a full acceptance."""


class DraftModelDrafter(Drafter):
    """Proposes what a smaller model of the same vocabulary would write.

    `vocab_size` is the target's: ids that it lacks are never proposed, ids that the draft lacks have probability 0.
    `sampling` is how the draft draws; greedy drafts carry no probabilities.
    """

    name = "draft-model"

    def __init__(
        self,
        backend: Backend,
        vocab_size: int,
        sampling: SamplingConfig,
        seed: int,
        *,
        stop_tokens: frozenset[int] = frozenset(),
        min_confidence: float = 0.0,
    ) -> None:
        self._backend = backend
        self._vocab_size = vocab_size
        self._shared_vocab = min(vocab_size, backend.vocab_size)
        self._sampling = sampling
        self._seed = seed
        self._stop_tokens = stop_tokens | backend.eos_token_ids
        self._min_confidence = min_confidence
        self._cancel = CancelToken()
        self._committed: list[int] = []
        self._prompt_length = 0
        self._readable = 0

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self._cancel = cancel
        self._backend.watch(cancel)
        self._committed = list(prompt_tokens)
        self._prompt_length = len(prompt_tokens)
        self.forwards = 0
        self._readable = 0
        self._find_readable()
        known = self._committed[: min(self._readable, len(self._committed) - 1, self._backend.context_length)]
        shared = keep_prefix(self._backend, known)
        for _ in read(self._backend, known[shared:], cancel):
            pass

    def _find_readable(self) -> None:
        """Move on to the first committed token that the draft's vocabulary lacks: it cannot read past it."""
        while self._readable < len(self._committed) and self._committed[self._readable] < self._backend.vocab_size:
            self._readable += 1

    def propose(self, n: int) -> Draft:
        backend = self._backend
        if self._readable < len(self._committed):
            return Draft()
        feed = self._committed[backend.length :]
        n = min(n, backend.context_length - backend.length - len(feed) + 1)
        if backend.rewind.kind == "window":
            n = min(n, (backend.rewind.depth or 0) + 1)
        elif backend.rewind.kind == "none":
            n = min(n, 1)
        tokens: list[int] = []
        probs: list[NDArray[np.float64]] = []
        logprobs: list[float] = []
        while len(tokens) < n and not self._cancel.cancelled:
            row = backend.forward(feed, 1)[:, : self._shared_vocab]
            self.forwards += 1
            if not tokens:
                backend.mark()
            normaliser = float(log_normaliser(row)[0])
            token, drawn_from = self._draw(row[0], normaliser, tokens)
            if token is None:
                break
            tokens.append(token)
            logprobs.append(float(row[0, token]) - normaliser)
            if drawn_from is not None:
                probs.append(drawn_from)
            if token in self._stop_tokens:
                break
            feed = [token]
        drawn = tuple(probs) if tokens and not self._sampling.greedy else None
        return Draft(tuple(tokens), drawn, tuple(logprobs), source=self.name)

    def _draw(
        self, row: Logits, normaliser: float, drafted: list[int]
    ) -> tuple[int | None, NDArray[np.float64] | None]:
        """The next token and what it was drawn from; no token where the model is not confident before the draw."""
        if self._sampling.greedy and not self._sampling.penalised:
            token = best_token(row)
            if self._min_confidence and float(np.exp(row[token] - normaliser)) < self._min_confidence:
                return None, None
            return token, None
        probs = distribution(row, self._sampling, [*self._committed, *drafted] if self._sampling.penalised else ())
        if float(probs.max()) < self._min_confidence:
            return None, None
        if self._sampling.greedy:
            return int(probs.argmax()), None
        if len(probs) < self._vocab_size:
            probs = np.concatenate([probs, np.zeros(self._vocab_size - len(probs))])
        position = len(self._committed) - self._prompt_length + len(drafted)
        return sample(probs, uniform(self._seed, position, "draft")), probs

    def observe(self, committed_tokens: Sequence[int]) -> None:
        backend = self._backend
        known = len(self._committed)
        self._committed.extend(committed_tokens)
        if backend.length > known:
            live = backend.tokens[known:]
            backend.truncate(known + common_prefix(live, committed_tokens))
        self._find_readable()
        behind = self._committed[backend.length : self._readable]
        if self._cancel.cancelled:
            return
        if len(behind) > _MOST_BEHIND and backend.length + len(behind) <= backend.context_length:
            backend.watch(None)
            backend.forward(behind[:-1], 0)
            backend.watch(self._cancel)
            self.forwards += 1
