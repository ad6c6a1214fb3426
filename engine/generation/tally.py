"""Count the events of one reply while it is generated, and make its result."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from engine.drafting.base import Draft
from engine.events import FinishReason, GenerationResult, RoundEvent
from engine.generation.planner import Plan
from engine.generation.verifier import Verdict
from engine.methods import PLAIN
from engine.sampling.rows import Top
from engine.stats import StatsRecorder


class Tally:
    """Count the rounds of one reply. Attribute: rounds (their number, set by the loop when one begins)."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._stats = StatsRecorder()
        self._evaluated = 0
        self._logprobs: list[float] = []
        self._top: list[Top] = []
        self.rounds = 0

    def note_prompt(self, evaluated: int) -> None:
        """Record that the prompt has been read now, of which `evaluated` tokens were not in the cache."""
        self._evaluated = evaluated
        self._stats.put(prompt_ms=1000.0 * (perf_counter() - self._plan.started))

    def note_token(self, logprob: float, top: Top) -> None:
        """Store a token's probabilities for the result. `top`: () if they were not requested."""
        self._logprobs.append(logprob)
        if top:
            self._top.append(top)

    def note_overlap(self) -> None:
        """Record that the drafter works ahead in this round."""
        self._stats.add(overlapped_rounds=1)

    def note_wait(self, milliseconds: float) -> None:
        """Record a wait for the work ahead."""
        self._stats.add(draft_ms=milliseconds)

    def count_forced(self, emitted: int, milliseconds: float) -> None:
        """Count a forward behind which a token was forced; `emitted`: 1, or 0 if the reply ended before."""
        self._stats.add(forced_tokens=emitted, target_forwards=1, target_ms=milliseconds)
        self._stats.add_forward(1, milliseconds)

    def count(
        self, lookahead: int, draft: Draft, verdict: Verdict, emitted: int, times: tuple[float, float], *, ended: bool
    ) -> RoundEvent:
        """Count a round that emitted so many tokens. `times`: milliseconds of drafting and of verifying.

        `ended`: the reply ended with it; tokens that were drafted past its end count nowhere, but in a whole draft.
        """
        plan, stats = self._plan, self._stats
        levels = draft.by_depth[:emitted] if ended else draft.by_depth
        if draft.parents is None:
            proposed = min(verdict.proposed, emitted) if ended and not draft.whole else verdict.proposed
        else:
            proposed = sum(levels)
        accepted = min(verdict.accepted, emitted)
        ending = verdict.origin if emitted > accepted else None
        stats.add_round(lookahead, proposed, accepted, ending, times, levels if draft.parents is not None else None)
        if plan.one_token and draft.tokens:
            stats.add(n1_fallbacks=1)
        source = draft.source or plan.proposing.drafter.name
        stats.add_forward(1 if plan.one_token else 1 + len(draft.tokens), times[1])
        stats.add_method(source if draft.tokens else PLAIN, proposed, accepted, emitted, times)
        rejected = verdict.rejected[: proposed - accepted]
        speedup = plan.proposing.policy.speedup
        return RoundEvent(self.rounds, source, lookahead, proposed, accepted, *times, speedup, rejected)

    def result(
        self, tokens: Sequence[int], finish: FinishReason | None, stop_reason: str | int | None
    ) -> GenerationResult:
        """Return the result of the reply, which has these tokens."""
        plan = self._plan
        # Text that is still held back for a stop string is in no event, so it is not in the result.
        self._stats.put(
            total_ms=1000.0 * (perf_counter() - plan.started),
            draft_forwards=plan.proposing.drafter.forwards,
            plain_tokens_per_second=plan.plain_tokens_per_second,
        )
        parts = plan.reading.parser.finish(ended=finish == "stop")
        return GenerationResult(
            text=plan.reading.reply.text,
            tokens=tuple(tokens),
            prompt_tokens=len(plan.reading.prompt),
            prompt_evaluated=self._evaluated,
            finish_reason=finish or "stop",
            method=plan.proposing.method,
            lookahead=plan.proposing.lookahead,
            dropped_turns=plan.reading.dropped_turns,
            notes=(*plan.reading.notes, *plan.proposing.notes, *plan.reading.parser.notes),
            stop_reason=stop_reason,
            seed=plan.seed,
            logprobs=tuple(self._logprobs),
            top=tuple(self._top),
            stats=self._stats.snapshot(),
            reasoning=parts.reasoning,
            content=parts.content,
            tool_calls=parts.complete_calls,
        )
