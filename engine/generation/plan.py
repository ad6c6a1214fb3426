"""Hold the input of the generation loop: one reply to be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from time import perf_counter

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat.reply_grammar import TagGrammar
from engine.chat.reply_parts import PartedReply
from engine.chat.reply_text import ReplyText
from engine.drafting.base import Drafter
from engine.generation.verifier import Verifier
from engine.lookahead.policy import LookaheadPolicy
from engine.masks.call_guess import CallGuess
from engine.masks.late_end import LateEnd
from engine.masks.reply_masks import ReplyMasks


@dataclass(slots=True)
class Plan:
    """Hold one reply to be written: who takes part, and where it ends.

    Attributes: target, drafter, verifier, policy; prompt (token ids, one at least); reply; stop_tokens; max_tokens
    (None: no limit); one_token (verify one token at a time, so that nothing is ever taken back); cancel; forced (tokens
    that the reply begins with); method and lookahead (names for the result); parted (the parts of the reply);
    thought_end (returns the tokens that end a thought and begin the answer); masks (those of a constraint); guess (what
    comes next of calls that nobody demanded); answer_now (set by another thread: end the thought); overlap (whether the
    drafter works ahead); seed (of the draws); ends_at (the time, as perf_counter tells it, after which no round begins;
    None: no limit); dropped_turns (oldest turns that were left out of the prompt); notes (sentences on how the prompt
    was made); plain_tokens_per_second (measured, or None); started (time of the request).
    """

    target: Backend
    drafter: Drafter
    verifier: Verifier
    policy: LookaheadPolicy
    prompt: list[int]
    reply: ReplyText
    stop_tokens: frozenset[int]
    max_tokens: int | None
    one_token: bool
    cancel: CancelToken
    method: str
    lookahead: int | str
    parted: PartedReply = field(default_factory=lambda: PartedReply(TagGrammar()))
    thought_end: Callable[[], list[int]] = list
    forced: Sequence[int] = ()
    answer_now: Event = field(default_factory=Event)
    masks: ReplyMasks | LateEnd | None = None
    guess: CallGuess | None = None
    overlap: bool = False
    seed: int | None = None
    ends_at: float | None = None
    dropped_turns: int = 0
    notes: tuple[str, ...] = ()
    plain_tokens_per_second: float | None = None
    started: float = field(default_factory=perf_counter)

    @property
    def late(self) -> bool:
        """Return whether the time of the reply is over."""
        return self.ends_at is not None and perf_counter() >= self.ends_at

    def left(self, emitted: int) -> int | None:
        """Return how many tokens the reply may have beside those emitted so far, None where there is no limit."""
        return None if self.max_tokens is None else self.max_tokens - emitted

    def room(self, emitted: int) -> int:
        """Return how many tokens a draft may have: what is left of the reply, of the context, of a window to go back.

        It may be less than 1.
        """
        if self.one_token:
            return 1
        target = self.target
        room = target.context_length - target.length - 1
        if self.max_tokens is not None:
            room = min(room, self.max_tokens - emitted - 1)
        if target.rewind.kind == "window":
            room = min(room, target.rewind.depth or 0)
        return room
