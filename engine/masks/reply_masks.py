"""Follow a reply, and drafts of its next tokens, through the grammar of a constraint: a mask for each position."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np

from engine.backends.base import Tokenizer
from engine.backends.prefix import common_prefix
from engine.chat.plain_text import encode_behind
from engine.constraint import BLANKS, Constraint, on_constraint_stack
from engine.errors import BackendFailure, InvalidRequest
from engine.masks.vocabulary import vocabulary_of
from engine.sampling.masking import WORD, Mask, Masks, has, only_one
from engine.translatable import Translatable


@dataclass(frozen=True, slots=True)
class Thought:
    """Locate the mask behind a thought. `open`: the reply begins within one; `ends`: markers of which one ends it.

    `openers`: tokens with which a reply that does not begin within a thought may begin one.
    """

    open: bool = False
    ends: tuple[str, ...] = ()
    openers: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Step:
    """Hold one position of the path: behind so many tokens. `mask` None: not computed yet.

    `inside`: the grammar reads from here on; `held`: the end of the thought's text, which may begin a marker;
    `taken`: the grammar holds the token before.
    """

    inside: bool
    held: str = ""
    taken: bool = False
    dead: bool = False
    mask: Mask | None = field(default=None, repr=False)


class ReplyMasks:
    """Compute the masks of a constraint. A position is a number of committed tokens and the tokens behind them.

    A mask has one bit for each token of the target, in words of 32 from the lowest bit on, shape (words,). Before
    the grammar begins, in a thought, all but those that end the reply are allowed; behind its end, and behind a
    token that it does not allow, all are: nothing of what is drawn there stays. A drafter on another thread may ask
    too. Raises InvalidRequest where `begun`, the beginning of the answer that the prompt holds, does not fit.
    """

    def __init__(
        self,
        constraint: Constraint,
        tokenizer: Tokenizer,
        vocab_size: int,
        ends: frozenset[int],
        thought: Thought = Thought(),
        begun: str = "",
    ) -> None:
        self._tokenizer, self._vocab_size, self._thought = tokenizer, vocab_size, thought
        self._ends, self._words = ends, -(-vocab_size // WORD)
        self._room = np.zeros(-(-(vocab_size + (not ends)) // WORD), np.uint32)
        self._any = np.full(self._words, 0xFFFFFFFF, np.uint32)
        self._thinking = self._any.copy()
        """Within a thought nothing ends the reply: its constrained part is still to come."""
        for token in ends:
            self._thinking[token // WORD] &= np.uint32(~(1 << token % WORD) & 0xFFFFFFFF)
        if vocab_size % WORD:
            self._thinking[-1] &= (1 << vocab_size % WORD) - 1
        self._committed: list[int] = []
        self._path: list[int] = []
        self._settled = 0
        """Tokens of the path that are known to be the committed ones."""
        self._steps = [_Step(not thought.open)]
        self._lock = Lock()
        self._matcher: Any = self._begin(constraint)
        looser = iter(BLANKS[BLANKS.index(constraint.blanks) + 1 :])
        while begun and not self._take_begun(begun):  # It may be indented, as one that nobody constrained.
            blanks = next(looser, None)
            if blanks is None:
                raise InvalidRequest(Translatable("The beginning of the reply does not fit the constraint."))
            self._matcher = self._begin(replace(constraint, blanks=blanks))

    def _begin(self, constraint: Constraint) -> Any:
        """Return a matcher that has read nothing. Raises InvalidRequest if nothing at all satisfies it."""
        library: Any = importlib.import_module("llguidance")
        vocabulary = vocabulary_of(self._tokenizer, self._vocab_size, self._ends)
        matcher: Any = on_constraint_stack(
            lambda: library.LLMatcher(vocabulary, constraint.grammar, log_level=0), constraint.grammar
        )
        if not matcher.is_error():
            matcher.unsafe_compute_mask_ptr(self._room.ctypes.data, self._room.nbytes)
        said = str(matcher.get_error()) if matcher.is_error() else _endless(matcher)
        if "NoExtension" in said or (not said and not self._room.any()) or "atisfiable" in said:
            raise InvalidRequest(Translatable("Nothing that this model can write satisfies the constraint."))
        if said:
            raise _unusable(said)
        return matcher

    def _take_begun(self, begun: str) -> bool:
        """Feed the beginning of the answer to the grammar; return False if it does not fit."""
        before = encode_behind(begun, self._tokenizer)
        return bool(self._matcher.try_consume_tokens(before) == len(before))

    def commit(self, token: int) -> bool:
        """Take one more token of the reply; return True if the text is whole and the target has no end token."""
        self._committed.append(token)
        if self._ends:
            return False
        mask = self.mask(len(self._committed))
        return mask is not None and not mask.any()

    def mask(self, base: int, behind: Sequence[int] = ()) -> Mask | None:
        """Return the mask of the position behind so many committed tokens and those `behind`; None: any may come."""
        with self._lock:
            return self._mask_at(self._reach(base, behind))

    def masks(self, base: int, behind: Sequence[int]) -> Masks | None:
        """Return the masks of the positions before each token `behind` and behind the last: shape (n + 1, words).

        None if any token may come at all of them.
        """
        with self._lock:
            last = self._reach(base, behind)
            found = [self._mask_at(index) for index in range(base, last + 1)]
        if all(each is None for each in found):
            return None
        return np.stack([self._any if each is None or not each.any() else each for each in found])

    def fitting(self, base: int, tokens: Sequence[int]) -> int:
        """Return the number of tokens that can stand behind so many committed ones."""
        for count, token in enumerate(tokens):
            mask = self.mask(base, tokens[:count])
            if mask is not None and not has(mask, token):
                return count
        return len(tokens)

    def forced(self, base: int, behind: Sequence[int], most: int) -> list[int]:
        """Return the tokens, `most` of them, that come next because nothing else may."""
        found: list[int] = []
        while len(found) < most:
            mask = self.mask(base, [*behind, *found])
            token = None if mask is None else only_one(mask)
            if token is None:
                break
            found.append(token)
            if token in self._ends:
                break
        return found

    def _reach(self, base: int, behind: Sequence[int]) -> int:
        """Extend the path to these tokens, and perhaps more behind them; return the index of the position."""
        path = self._path
        known = min(self._settled, base)
        wanted = [*self._committed[known:base], *behind]
        kept = known + common_prefix(path[known:], wanted)
        if kept - known < len(wanted) and kept < len(path):
            back = sum(step.taken for step in self._steps[kept + 1 :])
            if back and not self._matcher.rollback(back):
                self._check()
            del path[kept:], self._steps[kept + 1 :]
        for token in wanted[kept - known :]:
            self._step(token)
        self._settled = base
        return base + len(behind)

    def _step(self, token: int) -> None:
        """Add one token to the path."""
        here, number = self._steps[-1], len(self._path)
        following = _Step(here.inside, dead=here.dead)
        if not here.inside:
            piece = self._tokenizer.piece(token).decode("utf-8", "replace") or self._tokenizer.marker(token)
            text, ends = here.held + piece, self._thought.ends
            following.inside = any(end in text for end in ends)
            following.held = text[-max(map(len, ends), default=1) :]
        elif not here.dead:
            mask = self._mask_at(number)
            if number == 0 and token in self._thought.openers:
                following.inside, following.held = False, self._tokenizer.marker(token)
            elif mask is None or not has(mask, token) or token in self._ends:
                following.dead = True
            else:
                following.taken = bool(self._matcher.consume_token(token))
                self._check()
        self._path.append(token)
        self._steps.append(following)

    def _mask_at(self, index: int) -> Mask | None:
        """Return the mask at a place of the path; it is computed while the path ends there."""
        step = self._steps[index]
        if step.dead:
            return None
        if not step.inside:
            return self._thinking if self._ends else None
        if step.mask is None:
            self._matcher.unsafe_compute_mask_ptr(self._room.ctypes.data, self._room.nbytes)
            self._check()
            step.mask = self._room[: self._words].copy()
            if self._vocab_size % WORD:
                step.mask[-1] &= (1 << self._vocab_size % WORD) - 1
            if index == 0:
                for token in self._thought.openers:
                    step.mask[token // WORD] |= np.uint32(1 << token % WORD)
        return step.mask

    def _check(self) -> None:
        """Raise BackendFailure if the model cannot go on, InvalidRequest where the grammar outgrows its limits."""
        if self._matcher.is_error():
            said = str(self._matcher.get_error())
            if "NoExtension" in said:
                raise BackendFailure(Translatable("the model has no token for what the constraint demands here"))
            raise _unusable(said)


def _endless(matcher: Any) -> str:
    """Return the first token's error if the forced text has no end, "" if there is none."""
    forced = matcher.compute_ff_tokens()
    if not forced:
        return ""
    trial = matcher.deep_copy()
    trial.consume_token(forced[0])
    return str(trial.get_error()) if trial.is_error() else ""


def _unusable(said: str) -> InvalidRequest:
    """Return the error for the library's complaint about a constraint."""
    if "ff_tokens" in said:
        return InvalidRequest(
            Translatable("The constraint cannot be used: what it demands has no end, or more than 50,000 letters.")
        )
    reason = " ".join(said.partition("<state>")[0].split()).rstrip(".")
    return InvalidRequest("The constraint cannot be used: {reason}.", reason=reason)


def thought_of(
    tokenizer: Tokenizer, ends: Sequence[str], *, opened: bool, may_open: bool, opens: Callable[[str], bool]
) -> Thought:
    """Find the beginning of a reply's mask. `ends`: markers that end a thought; `opened`: the prompt began one.

    `may_open`: the model may think by itself; `opens`: whether a text ends with a marker that opens a thought.
    """
    added = tokenizer.added_tokens
    if "<|channel|>" in added and "<|message|>" in added:  # A reply names its channel; the last one is the answer.
        return Thought(opened, ("<|channel|>final<|message|>",), frozenset({added["<|channel|>"].id}))
    openers = frozenset(token.id for text, token in added.items() if opens(text)) if may_open and ends else frozenset()
    return Thought(opened and bool(ends), tuple(ends), openers)
