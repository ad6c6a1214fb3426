"""The generation loop. Every method goes through it, plain decoding too."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from math import exp
from time import perf_counter

from engine.backends.prefix import keep_prefix, read
from engine.config import MAX_LOOKAHEAD
from engine.drafting.base import Draft
from engine.errors import Cancelled, ContextFull, EngineError
from engine.events import (
    Event,
    Finished,
    FinishReason,
    GenerationResult,
    PromptProgress,
    RoundEvent,
    TokenEvent,
)
from engine.generation.overlap import AheadDrafting
from engine.generation.plan import Job
from engine.generation.verifier import Verdict
from engine.stats import PLAIN, StatsRecorder
from engine.thawed import thawed

Events = Generator[Event, bool | None, None]

_NOTHING = Draft()
_token_event, _round_event = thawed(TokenEvent), thawed(RoundEvent)


class GenerationLoop:
    """Runs one job. After every round the target holds all committed tokens but the last, *pending* one."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._committed = list(job.prompt)
        self._prompt_length = len(job.prompt)
        self._told = self._prompt_length
        """How many of the committed tokens the drafter knows."""
        self._evaluated = 0
        self._rounds = 0
        self._finish: FinishReason | None = None
        self._stats = StatsRecorder()
        self._ahead = AheadDrafting(job.drafter) if job.overlap and job.drafter.works_ahead else None

    def run(self) -> Events:
        """The events of the reply. A consumer may send False after a TokenEvent to end the reply with that token.

        Raises ContextFull and Cancelled before the first token. An error after it comes behind a Finished event that
        carries what there is, with finish reason 'error'.
        """
        failure: EngineError | None = None
        # 1. Read what the caches do not hold of the prompt.
        yield from self._read_prompt()
        try:
            while self._finish is None:
                # 2. Propose.
                began = perf_counter()
                self._job.cancel.check()
                lookahead = self._job.policy.choose()
                draft = self._propose(lookahead)
                lookahead = max(lookahead, len(draft.tokens))
                drafted = perf_counter()
                # 3. Verify, and draw the token that ends the round.
                verdict = self._verify(draft, lookahead)
                times = (1000.0 * (drafted - began), 1000.0 * (perf_counter() - drafted))
                # 4. Commit, and take back what was rejected.
                before = len(self._committed)
                try:
                    yield from self._commit(verdict)
                finally:
                    self._settle(verdict)
                # 5. Count.
                yield self._count(lookahead, draft, verdict, len(self._committed) - before, times)
        except Cancelled:
            self._finish = "cancelled"
            if not self._emitted:
                raise
        except EngineError as error:
            if not self._emitted:
                raise
            self._finish, failure = "error", error
        finally:
            self._leave()
        yield Finished(self._result())
        if failure is not None:
            raise failure

    @property
    def _emitted(self) -> int:
        return len(self._committed) - self._prompt_length

    def _read_prompt(self) -> Iterator[Event]:
        job, target = self._job, self._job.target
        if len(job.prompt) > target.context_length:
            raise ContextFull(len(job.prompt), target.context_length)
        target.watch(job.cancel)
        known = job.prompt[:-1]
        shared = keep_prefix(target, known)
        self._evaluated = len(job.prompt) - shared
        done = 0
        yield PromptProgress(done, self._evaluated)
        for count in read(target, known[shared:], job.cancel):
            done += count
            yield PromptProgress(done, self._evaluated)
        job.drafter.resting = job.policy.resting
        job.drafter.begin(job.prompt, job.cancel)
        self._stats.put(prompt_ms=1000.0 * (perf_counter() - job.started))
        yield PromptProgress(self._evaluated, self._evaluated)

    def _propose(self, lookahead: int) -> Draft:
        """A draft that fits what is left of the reply, of the context and of a window that can be taken back."""
        job = self._job
        policy = job.policy
        if policy.asleep:
            return _NOTHING
        job.drafter.resting = policy.resting
        limit = policy.limit
        left = lookahead if limit is None else limit
        if not left:
            return _NOTHING
        if job.one_token:
            left = min(left, 1)
        else:
            left = min(left, job.target.context_length - job.target.length - 1)
            if job.max_tokens is not None:
                left = min(left, job.max_tokens - self._emitted - 1)
            if job.target.rewind.kind == "window":
                left = min(left, job.target.rewind.depth or 0)
        if left <= 0:
            return _NOTHING
        return job.drafter.propose(left) if limit is None else job.drafter.propose(left, policy.goes_on)

    def _verify(self, draft: Draft, lookahead: int) -> Verdict:
        """One target pass; meanwhile, where drafting overlaps, the drafter goes on."""
        job = self._job
        if job.one_token:
            return job.verifier.verify(self._committed[-1], Draft(), self._committed, self._emitted, lambda: draft)
        if draft.tokens:
            job.target.mark()
        room = 0 if self._ahead is None else self._room_ahead(draft, lookahead)
        if self._ahead is None or not room:
            return job.verifier.verify(self._committed[-1], draft, self._committed, self._emitted)
        self._ahead.start(room)
        self._stats.add(overlapped_rounds=1)
        return job.verifier.verify(self._committed[-1], draft, self._committed, self._emitted, self._ahead.guess)

    def _room_ahead(self, draft: Draft, lookahead: int) -> int:
        """How many tokens may be drafted ahead: a guess and the next draft, if the reply can go on behind this one."""
        if not draft.tokens:
            return 0
        left = MAX_LOOKAHEAD if self._job.max_tokens is None else self._job.max_tokens - self._emitted
        return max(0, min(lookahead + 1, left - len(draft.tokens) - 1))

    def _commit(self, verdict: Verdict) -> Events:
        """Take the round's tokens one by one, until one of them ends the reply."""
        self._rounds += 1
        for index, token in enumerate(verdict.tokens):
            self._committed.append(token)
            text = self._take(token)
            wanted = yield _token_event(
                token,
                text,
                "accepted" if index < verdict.accepted else verdict.origin,
                self._rounds,
                self._emitted - 1,
                verdict.logprobs[index],
                verdict.draft_logprobs[index] if index < len(verdict.draft_logprobs) else None,
                verdict.top[index] if verdict.top else (),
            )
            if wanted is False and self._finish is None:
                self._finish = "stop"
            if self._finish is not None:
                return

    def _take(self, token: int) -> str:
        """The text that a token releases; notes whether the reply ends with it."""
        job = self._job
        if token in job.stop_tokens:
            self._finish = "stop"
            return job.reply.finish()
        text = job.reply.push(token)
        if job.reply.stopped:
            self._finish = "stop"
        elif self._emitted == job.max_tokens:
            self._finish = "length"
        elif len(self._committed) > job.target.context_length:
            self._finish = "context"
        return text + job.reply.finish() if self._finish else text

    def _settle(self, verdict: Verdict) -> None:
        """Caches after a round: no token in them that was not committed, but for live proposals."""
        try:
            self._wait_for_ahead(verdict)
        finally:  # The drafter learns what was committed even where its work ahead was cancelled or failed.
            target = self._job.target
            target.truncate(min(target.length, len(self._committed) - 1))
            if self._finish is not None:
                self._tell_all()
            elif not self._job.policy.asleep:
                self._tell()

    def _wait_for_ahead(self, verdict: Verdict) -> None:
        """Let the work ahead come to its end where it still holds, or stop it."""
        if self._ahead is None:
            return
        began = perf_counter()
        if self._finish is None and verdict.accepted == len(verdict.tokens):
            self._ahead.finish()
        else:
            self._ahead.stop()
        self._stats.add(draft_ms=1000.0 * (perf_counter() - began))

    def _leave(self) -> None:
        """Caches after the reply, however it ended: committed tokens only."""
        if self._ahead is not None:
            self._ahead.close()
        target = self._job.target
        target.truncate(min(target.length, len(self._committed) - 1))
        self._tell_all()

    def _tell(self) -> None:
        """Tell the drafter what it does not know yet of what was committed."""
        told, self._told = self._told, len(self._committed)
        self._job.drafter.observe(self._committed[told:])

    def _tell_all(self) -> None:
        """And that nothing more will be committed."""
        if self._told < len(self._committed):
            self._tell()
        self._job.drafter.observe(())

    def _count(
        self,
        lookahead: int,
        draft: Draft,
        verdict: Verdict,
        emitted: int,
        times: tuple[float, float],
    ) -> RoundEvent:
        """Counters of a round; tokens drafted past the end of the reply count nowhere."""
        proposed = verdict.proposed if self._finish is None else min(verdict.proposed, emitted)
        accepted = min(verdict.accepted, emitted)
        self._stats.add_round(lookahead, proposed, accepted, verdict.origin if emitted > accepted else None, times)
        if self._job.one_token and draft.tokens:
            self._stats.add(n1_fallbacks=1)
        source = draft.source or self._job.drafter.name
        self._stats.add_forward(1 if self._job.one_token else 1 + len(draft.tokens), times[1])
        self._stats.add_method(source if draft.tokens else PLAIN, proposed, accepted, emitted, times)
        confidences = tuple(map(exp, draft.logprobs))
        self._job.policy.observe(len(draft.tokens), min(verdict.accepted, len(draft.tokens)), *times, confidences)
        return _round_event(self._rounds, source, lookahead, proposed, accepted, *times, self._job.policy.speedup)

    def _result(self) -> GenerationResult:
        job = self._job
        job.reply.finish()
        self._stats.put(
            total_ms=1000.0 * (perf_counter() - job.started),
            draft_forwards=job.drafter.forwards,
            plain_tokens_per_second=job.plain_tokens_per_second,
        )
        return GenerationResult(
            text=job.reply.text,
            tokens=tuple(self._committed[len(job.prompt) :]),
            prompt_tokens=len(job.prompt),
            prompt_evaluated=self._evaluated,
            finish_reason=self._finish or "stop",
            method=job.method,
            lookahead=job.lookahead,
            dropped_turns=job.dropped_turns,
            stats=self._stats.snapshot(),
        )
