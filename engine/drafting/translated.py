"""Draft with a small model that has another tokenizer: its own tokens are translated through text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from engine.backends.base import Backend, Logits, Tokenizer
from engine.backends.prefix import CHUNK, keep_prefix, read_all
from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.drafting.base import LONG_PROMPT, SHORT_PROMPT, Draft, Drafter, DrafterContext, GoesOn
from engine.drafting.text_align import FARTHEST, TextContinuation, whole_characters
from engine.drafting.vocabulary import LEAST, choose_rows
from engine.errors import Cancelled, EngineError, ModelNotLoaded, RewindNotSupported, TextNotEncodable
from engine.methods import DRAFT_MODEL
from engine.sampling.distribution import best_token, distribution, log_normaliser, sample, uniform

_BYTES_A_TOKEN = 16
"""The most bytes of text per place of the draft's context; text before that is not even encoded."""
_LONGEST_QUARTER = 512
"""The most tokens of the steps in which the beginning of its text moves on."""
_FORWARDS_A_TOKEN = 8
"""A draft of letters needs several for one token of the target; one that needs more does not pay."""
_MOST_CUTS = 64
"""Different characters that the draft's vocabulary may lack before its text is given up."""
_MOST_UNREAD = 512
"""Bytes that may wait to be read while nothing is proposed."""


@dataclass(frozen=True, slots=True)
class _Drafted:
    """Hold a token that the draft wrote, its bytes, and its end-of-text flag."""

    token: int
    piece: bytes
    is_end: bool


class TranslatedDrafter(Drafter):
    """Propose the continuation of a smaller model with another tokenizer.

    The draft reads the committed text. Its own text is translated into the target's tokens, and those independent of
    the text to come are proposed. They carry no probabilities and are verified by exact match: the output is the
    target's, however poor a translation is.

    `tokenizer` and `vocab_size` are the target's. `sampling`: the draft's; a logit bias and banned tokens, which name
    tokens of the target, are ignored. `stop_tokens`: the target's end tokens.
    """

    name = DRAFT_MODEL.name

    def __init__(
        self,
        backend: Backend,
        tokenizer: Tokenizer,
        vocab_size: int,
        sampling: SamplingConfig,
        seed: int,
        *,
        stop_tokens: frozenset[int] = frozenset(),
        min_confidence: float = 0.0,
    ) -> None:
        self._backend = backend
        self._sampling = replace(sampling, logit_bias=(), banned_tokens=())
        self._seed = seed
        self._min_confidence = min_confidence
        self._theirs = TextContinuation(tokenizer, vocab_size)
        self._ours = TextContinuation(backend.tokenizer, backend.vocab_size)
        self._end_token = _end_token(tokenizer, stop_tokens)
        self._begin_tokens = _begin_tokens(backend)
        self._rewritable = backend.rewind.kind == "any"
        self._cancel = CancelToken()
        self._committed: list[int] = []
        self._text = bytearray()
        self._prompt_bytes = self._prompt_tokens = self._chosen_until = 0
        # What the draft has read or is to read next, and how many bytes of the text that is.
        self._read: list[int] = []
        self._covered = 0
        # What the draft wrote behind that.
        self._live: list[_Drafted] = []
        self._declined = self._waits = False

    # The lifecycle ----------------------------------------------------------------------------------------------------

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self._cancel = cancel
        self._backend.watch(cancel)
        self.forwards = 0
        self._theirs.prepare()
        self._committed = list(prompt_tokens)
        text = self._theirs.join(prompt_tokens)
        self._text = bytearray(text.removeprefix(b" ") if self._theirs.adds_space else text)
        self._prompt_bytes = len(self._text)
        self._waits = len(prompt_tokens) > SHORT_PROMPT
        self._read_anew(min(3 * self._backend.context_length // 4, LONG_PROMPT))
        self._prompt_tokens = self._chosen_until = len(self._read)
        self._choose_vocabulary(self._read, judged=False)

    def _choose_vocabulary(self, new: Sequence[int], *, judged: bool = True) -> None:
        if self._backend.vocab_size >= LEAST:
            choose_rows(self._backend, new, judged=judged)

    @property
    def unread(self) -> int:
        return max(len(self._read) - 1 - self._backend.length, 0)

    def _read_first(self, *, in_pieces: bool) -> bool:
        """Return True if the round is to be plain: it is the first one, or a piece of the prompt was read in it."""
        if self._waits:
            self._waits = False
            return True
        unread, held = self.unread, self._backend.length
        if not in_pieces or unread <= CHUNK:
            return False
        piece = unread if unread <= 2 * CHUNK else CHUNK
        read_all(self._backend, self._read[held : held + piece], self._cancel)
        return True

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        if self._cancel.cancelled:
            return Draft()
        context = self._backend.context_length
        if context - len(self._read) <= min(n, context // 8) and not self._live:
            self._read_anew(context // 2)
        self._catch_up()
        self._choose_vocabulary(self._read[self._chosen_until :])
        self._chosen_until = len(self._read)
        if self._read_first(in_pieces=goes_on is not None):
            return Draft()
        proposed = self._translate()
        most = self.forwards + _FORWARDS_A_TOKEN * (n + 1)
        asked = 0
        while True:
            while asked < min(len(proposed), n) and (goes_on is None or goes_on(asked + 1, None)):
                asked += 1
            if asked < len(proposed) or asked >= n or self.forwards >= most or not self._go_on():
                break
            proposed = self._translate()
        return Draft(tuple(proposed[: min(asked + 1, n)]), source=self.name)

    def observe(self, committed_tokens: Sequence[int]) -> None:
        self._committed.extend(committed_tokens)
        if not committed_tokens:
            self._backend.want_rows(None)
        new = self._theirs.join(committed_tokens)
        self._text += new
        self._declined = self._declined and not new
        unread = bytes(self._text[self._covered :])
        while self._live and not self._live[0].is_end and unread.startswith(self._live[0].piece):
            drafted = self._live.pop(0)
            self._read.append(drafted.token)
            self._covered += len(drafted.piece)
            unread = unread[len(drafted.piece) :]
        if not committed_tokens or not self._live_text().startswith(unread):
            self._live = []
        if self._backend.length > len(self._read):
            self._rewind(len(self._read))
        if len(unread) > _MOST_UNREAD and not self.resting and not self._cancel.cancelled:
            self._keep_up()

    # Reading ----------------------------------------------------------------------------------------------------------

    def _read_anew(self, most: int, start: int = 0) -> None:
        """Read the last part of the text from `start` on, at most so many tokens, that the draft can write.

        Raises Cancelled.
        """
        self._live = []
        self._declined = False
        self._covered = whole_characters(self._text)
        quarter = max(min(self._backend.context_length // 4, _LONGEST_QUARTER), 1)
        # What is left out are whole quarters: with a text that grows, the part begins at the same place for a while.
        step = _BYTES_A_TOKEN * quarter
        start += max(-((start + 4 * step - self._covered) // step) * step, 0)
        tokens = self._readable(bytes(self._text[start : self._covered]).decode("utf-8", "replace"))
        surplus = len(self._begin_tokens) + len(tokens) - most
        tokens = tokens[max(-(-surplus // quarter) * quarter, 0) :]
        self._read = [*self._begin_tokens, *tokens]
        known = self._read[:-1]
        shared = keep_prefix(self._backend, known)
        if not self.resting and not self._waits:
            read_all(self._backend, known[shared:], self._cancel)

    def _readable(self, text: str) -> list[int]:
        """Return the tokens of a text, or of its part behind the last character that the draft's vocabulary lacks."""
        for _ in range(_MOST_CUTS):
            try:
                tokens = self._backend.tokenizer.encode(text, add_special=False, parse_special=False)
                return [token for token in tokens if token < self._backend.vocab_size]
            except TextNotEncodable as error:
                _, found, text = text.rpartition(error.character)
                if not found:
                    break
            except EngineError:
                break
        return []

    def _catch_up(self) -> None:
        """Translate newly committed text into the draft's tokens, unless the draft itself wrote it and more."""
        end = whole_characters(self._text)
        unread = bytes(self._text[self._covered : end])
        if self._live or not unread:
            return
        tail = self._read[max(len(self._read) - FARTHEST, len(self._begin_tokens)) :]
        drop, tokens = self._continued(tail, unread)
        if tokens is None:
            self._read_anew(self._backend.context_length // 2, self._covered)
            return
        if drop:
            del self._read[-drop:]
            self._rewind(min(self._backend.length, len(self._read)))
        self._read += tokens
        self._covered = end

    def _continued(self, tail: list[int], unread: bytes) -> tuple[int, list[int] | None]:
        """Count the last tokens to take back, and the tokens to go on with; None: it cannot be written."""
        if tail:
            if self._rewritable and (found := self._ours.rewritten(tail, unread)) is not None:
                return found
            tokens = self._ours.behind(tail, unread)
            if self._ours.join(tokens) == unread:
                return 0, tokens
        # There is nothing before it, or the tokenizer does not keep every letter as it is.
        return 0, self._ours.encode(unread.decode("utf-8", "replace"))

    def _keep_up(self) -> None:
        """Read on while nothing is proposed, so that the next draft need not wait for it."""
        self._backend.watch(None)
        with suppress(Cancelled):
            self._catch_up()
        waiting = self._read[self._backend.length : -1]
        begun = self._backend.length >= self._prompt_tokens - 1  # The prompt is read by the next proposal, in pieces.
        if waiting and begun and len(self._read) <= self._backend.context_length:
            self._backend.forward(waiting, 0)
            self.forwards += 1
        self._backend.watch(self._cancel)

    def _rewind(self, length: int) -> None:
        try:
            self._backend.truncate(length)
        except RewindNotSupported:
            self._backend.truncate(0)

    # Writing ----------------------------------------------------------------------------------------------------------

    def _go_on(self) -> bool:
        """Draft one more token. False if the draft is at an end or cannot."""
        backend = self._backend
        if self._cancel.cancelled or self._declined or (self._live and self._live[-1].is_end):
            return False
        most = {"none": 0, "window": backend.rewind.depth or 0}.get(backend.rewind.kind, backend.context_length)
        if len(self._live) > most or len(self._read) + len(self._live) > backend.context_length:
            return False
        unread, written = bytes(self._text[self._covered :]), self._live_text()
        if len(self._read) <= len(self._begin_tokens) or not written.startswith(unread[: len(written)]):
            return False
        drafted = self._draw(self._next_row())
        if drafted is None:
            self._declined = True
            return False
        self._live.append(drafted)
        return True

    def _next_row(self) -> Logits:
        """Return the logits behind all that was read and written."""
        backend = self._backend
        if backend.length == len(self._read) + len(self._live):
            self._rewind(backend.length - 1)
        waiting = self._read[backend.length :]
        if len(waiting) > CHUNK:
            read_all(backend, waiting[:-1], self._cancel)
            waiting = waiting[-1:]
        written = [drafted.token for drafted in self._live[max(backend.length - len(self._read), 0) :]]
        if waiting and written and backend.rewind.kind == "snapshots":
            backend.forward(waiting, 0)
            waiting = []
        if not waiting and backend.length == len(self._read):
            backend.mark()
        row = backend.forward([*waiting, *written], 1)
        self.forwards += 1
        return row

    def _draw(self, rows: Logits) -> _Drafted | None:
        """Return the next token, or None if the model is not confident, or the token adds no text."""
        row, sampling = rows[0], self._sampling
        if sampling.greedy and not sampling.penalised:
            token = best_token(row)
            if self._min_confidence and float(np.exp(row[token] - log_normaliser(rows)[0])) < self._min_confidence:
                return None
        else:
            probs = distribution(row, sampling, self._history() if sampling.penalised else ())
            if float(probs.max()) < self._min_confidence:
                return None
            # Keyed by the place in the text: a longer draft begins as a shorter one.
            position = self._covered - self._prompt_bytes + len(self._live_text())
            token = int(probs.argmax()) if sampling.greedy else sample(probs, uniform(self._seed, position, "draft"))
        if token in self._backend.eos_token_ids:
            return _Drafted(token, b"", is_end=True)
        piece = self._backend.tokenizer.piece(token)
        return _Drafted(token, piece, is_end=False) if piece else None

    def _history(self) -> list[int]:
        """Return the history for the penalties, in the draft's own tokens."""
        return [*self._read[-self._sampling.penalty_window :], *(drafted.token for drafted in self._live)]

    def _live_text(self) -> bytes:
        return b"".join(drafted.piece for drafted in self._live)

    # Translating ------------------------------------------------------------------------------------------------------

    def _translate(self) -> list[int]:
        """Return the target's tokens for the draft's text beyond the committed text, as far as they are certain."""
        unread = bytes(self._text[self._covered :])
        written = self._live_text()
        if not self._live or not written.startswith(unread):
            return []
        before = bytes(self._text[max(self._covered - 3, 0) : self._covered])
        new = written[len(unread) : whole_characters(before + written) - len(before)]
        tokens = self._theirs.behind(self._committed, new) if new else []
        if not self._live[-1].is_end:
            return self._theirs.settled(tokens)
        if self._end_token is not None and self._theirs.join(tokens) == written[len(unread) :]:
            tokens.append(self._end_token)
        return tokens


def make_drafter(context: DrafterContext) -> Drafter:
    """Make the drafter of a loaded draft model with another tokenizer. Raises ModelNotLoaded."""
    if context.source.model is None:
        raise ModelNotLoaded("draft")
    return TranslatedDrafter(
        context.source.model,
        context.target.tokenizer,
        context.target.vocab_size,
        context.sampling,
        context.seed,
        stop_tokens=context.stop_tokens,
        min_confidence=context.request.speculation.min_draft_confidence,
    )


def _begin_tokens(backend: Backend) -> list[int]:
    """Return the tokens that the draft's tokenizer puts before every text."""
    around = backend.tokenizer.encode("", add_special=True, parse_special=False)
    return around[:1] if backend.tokenizer.bos_token else []


def _end_token(tokenizer: Tokenizer, stop_tokens: frozenset[int]) -> int | None:
    """Return the token with which the target ends its text, if it is known."""
    if len(stop_tokens) == 1:
        return next(iter(stop_tokens))
    try:
        tokens = tokenizer.encode(tokenizer.eos_token, add_special=False, parse_special=True)
    except EngineError:
        return None
    return tokens[-1] if tokens and tokens[-1] in stop_tokens else None
