"""Run the generation loop. Every method goes through it, plain decoding too."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from math import exp
from time import perf_counter

from engine.backends.pictures import without_pictures
from engine.backends.prefix import common_prefix, keep_prefix, read
from engine.chat.reply_parts import Delta
from engine.config import MAX_LOOKAHEAD
from engine.drafting.base import Draft
from engine.errors import Cancelled, ContextFull, EngineError
from engine.events import Channel, Event, Finished, FinishReason, PromptProgress, TokenEvent
from engine.generation.overlap import AheadDrafting
from engine.generation.planner import Plan
from engine.generation.tally import Tally
from engine.generation.verifier import Verdict
from engine.masks.call_guess import CallGuess, CallKind

Events = Generator[Event, bool | None, None]

_NOTHING = Draft()
_BY_MASK = "constraint"
"""The source of tokens that were proposed because the masks leave no others."""
_CAUGHT_UP = 16
"""Tokens that a drafter may be behind without it being taken for reading."""
USUAL_REPLY = 256
"""Tokens that a reply of unknown length is expected to go on for; and as many again as there are."""


class GenerationLoop:
    """Run one plan. After every round the target holds all committed tokens but the last, *pending* one."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._reading, self._proposing = plan, plan.reading, plan.proposing
        self._committed = without_pictures(self._reading.prompt)
        self._seen = len(self._reading.prompt) - len(self._committed)
        """Positions of pictures in the prompt: the target alone knows of them."""
        self._known_to_drafter = self._prompt_length = len(self._committed)
        """Committed tokens that the drafter knows."""
        self._forced: Sequence[int] = self._reading.forced
        self._finish: FinishReason | None = None
        self._stop_reason: str | int | None = None
        self._tally = Tally(plan)
        self._unread = 0
        """Tokens that the drafter had to read when the round began."""
        drafter = plan.proposing.drafter
        self._ahead = AheadDrafting(drafter) if plan.proposing.overlap and drafter.works_ahead else None

    def run(self) -> Events:
        """Return the events of the reply.

        A consumer may send False after a TokenEvent to end the reply with that token.

        Raises ContextFull and Cancelled before the first token. A later error follows a Finished event with the
        partial result and the finish reason 'error'.
        """
        plan = self._plan
        failure: EngineError | None = None
        # 1. Read what the caches do not hold of the prompt.
        yield from self._read_prompt()
        if self._finish is not None:
            return
        try:
            while not (yield from self._over()):
                # 2. Propose.
                began = perf_counter()
                plan.cancel.check()
                lookahead = self._choose()
                draft = self._propose(lookahead)
                lookahead = max(lookahead, len(draft.by_depth))
                drafted = perf_counter()
                # 3. Verify, and draw the token that ends the round.
                verdict = self._verify(draft, lookahead)
                times = (1000.0 * (drafted - began), 1000.0 * (perf_counter() - drafted))
                # 4. Commit, and take back what was rejected.
                before = len(self._committed)
                try:
                    yield from self._commit(verdict)
                finally:
                    committed = perf_counter()
                    self._settle(verdict)
                # 5. Learn from the round, and count it.
                self._learn(draft, verdict, times, 1000.0 * (perf_counter() - committed))
                emitted, ended = len(self._committed) - before, self._finish is not None
                yield self._tally.count(lookahead, draft, verdict, emitted, times, ended=ended)
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
        yield Finished(self._tally.result(self._committed[self._prompt_length :], self._finish, self._stop_reason))
        if failure is not None:
            raise failure

    def _learn(self, draft: Draft, verdict: Verdict, times: tuple[float, float], rest_ms: float) -> None:
        """Report a round to the policy. `rest_ms`: its time since its tokens were handed out."""
        if self._proposing.policy.asleep or draft.source == _BY_MASK:
            return
        # Of a tree the policy learns how far its first path reached; what stands beside it, the drafter knows.
        path = len(draft.by_depth)
        accepted = common_prefix(draft.tokens[:path], verdict.tokens[: verdict.accepted])
        confidences = tuple(map(exp, draft.logprobs[:path]))
        if (read := self._unread - self._proposing.drafter.unread) > 0:
            self._proposing.policy.observe_read(read, None if draft.tokens else times[0])
        self._proposing.policy.observe(path, accepted, *times, confidences, rest_ms, nodes=len(draft.tokens))

    @property
    def _emitted(self) -> int:
        return len(self._committed) - self._prompt_length

    def _read_prompt(self) -> Iterator[Event]:
        plan, target = self._plan, self._plan.target
        if len(self._reading.prompt) > target.context_length:
            raise ContextFull(len(self._reading.prompt), target.context_length)
        target.watch(plan.cancel)
        known = self._reading.prompt[:-1]
        shared = keep_prefix(target, known)
        evaluated = len(self._reading.prompt) - shared
        done = 0
        yield PromptProgress(done, evaluated)
        for count in read(target, known[shared:], plan.cancel):
            done += count
            yield PromptProgress(done, evaluated)
            if plan.late:
                self._finish = "time"
                self._tally.note_prompt(done)
                yield Finished(self._tally.result(self._committed[self._prompt_length :], self._finish, None))
                return
        self._proposing.drafter.resting = self._proposing.policy.resting
        self._proposing.drafter.begin(list(self._committed), plan.cancel)
        self._tally.note_prompt(evaluated)
        yield PromptProgress(evaluated, evaluated)

    def _choose(self) -> int:
        """Return the lookahead of the round, once the policy knows the drafter's unread tokens."""
        policy, more = self._proposing.policy, max(USUAL_REPLY, self._emitted)
        unread, left = self._proposing.drafter.unread, self._plan.left(self._emitted)
        self._unread = unread if unread > _CAUGHT_UP else 0
        policy.to_read = self._unread, more if left is None else min(left, more)
        return policy.choose()

    def _propose(self, lookahead: int) -> Draft:
        """Return the draft of the round: the forced rest of a call, the drafter's, or likely tokens of a call."""
        plan, masks, emitted = self._plan, self._reading.masks, self._emitted
        guess, proposes = self._reading.guess, self._proposing.lookahead != 0
        if guess is not None and masks is None and self._ahead is None and proposes:
            guessed = self._guessed(guess)
            if guessed.tokens:
                return guessed
        draft = self._ask_drafter(lookahead)
        if masks is None:
            return draft
        if (
            draft.tokens and draft.probs is None and draft.parents is None and self._ahead is None
        ):  # What is known before any draw may be cut.
            fits = masks.fitting(emitted, draft.tokens)
            draft = draft._replace(tokens=draft.tokens[:fits], logprobs=draft.logprobs[:fits])
        if not draft.tokens and proposes:
            only = masks.forced(emitted, (), min(plan.room(emitted), MAX_LOOKAHEAD))
            return Draft(tuple(only), source=_BY_MASK)
        return draft

    def _guessed(self, guess: CallGuess) -> Draft:
        """Return the forced rest of the call that the reply is in, if it is in one."""
        parser, room = self._reading.parser, min(self._plan.room(self._emitted), MAX_LOOKAHEAD)
        kind: CallKind | None = "marked" if parser.channel == "tool" else "bare" if parser.in_bare_call else None
        if not kind:
            guess.leave()
            return _NOTHING
        return Draft(tuple(guess.next(self._committed[self._prompt_length :], kind, room)), source=_BY_MASK)

    def _ask_drafter(self, lookahead: int) -> Draft:
        plan, policy = self._plan, self._proposing.policy
        if policy.asleep:
            return _NOTHING
        self._proposing.drafter.resting = policy.resting
        limit = policy.limit
        most = lookahead if limit is None else limit
        if most:
            most = min(most, plan.room(self._emitted))
        if most <= 0:
            return _NOTHING
        drafter = self._proposing.drafter
        return drafter.propose(most) if limit is None else drafter.propose(most, policy.goes_on)

    def _verify(self, draft: Draft, lookahead: int) -> Verdict:
        """Return one target pass; meanwhile, where drafting overlaps, the drafter goes on."""
        plan, ahead, committed = self._plan, self._ahead, self._committed
        if plan.one_token:
            return plan.verifier.verify(committed[-1], Draft(), committed, self._emitted, lambda: draft)
        if draft.tokens:
            plan.target.mark()
        room = 0 if ahead is None else ahead.room(draft, lookahead, plan.left(self._emitted))
        if ahead is None or not room:
            return plan.verifier.verify(committed[-1], draft, committed, self._emitted)
        ahead.start(room)
        self._tally.note_overlap()
        return plan.verifier.verify(committed[-1], draft, committed, self._emitted, ahead.guess)

    def _commit(self, verdict: Verdict, *, goes_on: bool = False) -> Events:
        """Take the round's tokens one by one, until one of them ends the reply. `goes_on`: end tokens end nothing."""
        self._tally.rounds += verdict.origin != "forced"
        for index, token in enumerate(verdict.tokens):
            self._committed.append(token)
            text = self._take(token, goes_on=goes_on)
            top = verdict.top[index] if verdict.top else ()
            self._tally.note_token(verdict.logprobs[index], top)
            wanted = yield TokenEvent(
                token,
                text,
                "accepted" if index < verdict.accepted else verdict.origin,
                self._tally.rounds,
                self._emitted - 1,
                verdict.logprobs[index],
                verdict.draft_logprobs[index] if index < len(verdict.draft_logprobs) else None,
                top,
                *self._part(text),
            )
            if wanted is False and self._finish is None:
                self._finish = "stop"
            if self._finish is not None:
                return

    def _over(self) -> Generator[Event, bool | None, bool]:
        """Return True if the reply is over, once its forced beginning is written, and an ended thought is closed."""
        forced, self._forced = self._forced, ()
        yield from self._force(forced, whole=True)
        if self._plan.answer_now.is_set():
            self._plan.answer_now.clear()
            yield from self._end_thought()
        if self._finish is None and self._plan.late:
            self._finish = "time"
        return self._finish is not None

    def _end_thought(self) -> Events:
        """Write the tokens that end the thought and begin the answer."""
        # Asked for outside of a thought, it comes too late, or is meant for nothing.
        if self._reading.parser.channel == "reasoning":
            yield from self._force(self._reading.thought_end())

    def _force(self, tokens: Sequence[int], *, whole: bool = False) -> Events:
        """Write tokens, a forward each: nobody proposes them, and nobody judges. `whole`: end tokens among them end."""
        plan = self._plan
        for token in tokens:
            plan.cancel.check()
            began, before = perf_counter(), self._emitted
            verdict = plan.verifier.force(self._committed[-1], token)
            milliseconds = 1000.0 * (perf_counter() - began)
            try:
                yield from self._commit(verdict, goes_on=not whole)
            finally:
                self._settle(verdict)
                self._tally.count_forced(self._emitted - before, milliseconds)
            if self._finish is not None:
                return

    def _take(self, token: int, *, goes_on: bool) -> str:
        """Return the text that a token releases, and set the end of the reply if it ends there."""
        plan = self._plan
        whole = self._reading.masks is not None and self._reading.masks.commit(token)
        if token in self._reading.stop_tokens and not goes_on:
            self._finish, self._stop_reason = "stop", token
            return self._reading.reply.finish()
        text = self._reading.reply.push(token)
        if self._reading.reply.stopped or whole:
            self._finish, self._stop_reason = "stop", self._reading.reply.stopped
        elif self._emitted == self._reading.request.max_tokens:
            self._finish = "length"
        elif len(self._committed) + self._seen > plan.target.context_length:
            self._finish = "context"
        return text + self._reading.reply.finish() if self._finish else text

    def _part(self, text: str) -> tuple[Channel, tuple[Delta, ...]]:
        """Return the current part of the reply, and the additions to its parts by the text released last."""
        added = self._reading.parser.feed(self._reading.reply.marked(text))
        if self._reading.parser.enough and self._finish is None:
            self._finish = "stop"
        if self._finish is not None:
            added += self._reading.parser.flush(ended=self._finish == "stop")
        return self._reading.parser.channel, tuple(added)

    def _settle(self, verdict: Verdict) -> None:
        """Settle the caches after a round: they hold no token that was not committed, but for live proposals."""
        try:
            if self._ahead is not None:
                holds = self._finish is None and verdict.accepted == len(verdict.tokens)
                self._tally.note_wait(self._ahead.settle(holds=holds))
        finally:  # The drafter learns what was committed even where its work ahead was cancelled or failed.
            self._truncate()
            if not self._proposing.policy.asleep:
                self._tell(all_of_it=self._finish is not None)

    def _leave(self) -> None:
        """Leave only committed tokens in the caches after the reply, however it ended."""
        if self._ahead is not None:
            self._ahead.close()
        self._truncate()
        self._tell(all_of_it=True)

    def _truncate(self) -> None:
        target = self._plan.target
        target.truncate(min(target.length, len(self._committed) + self._seen - 1))

    def _tell(self, *, all_of_it: bool = False) -> None:
        """Pass newly committed tokens to the drafter; `all_of_it`: no more will come."""
        known, self._known_to_drafter = self._known_to_drafter, len(self._committed)
        if known < self._known_to_drafter or not all_of_it:
            self._proposing.drafter.observe(self._committed[known:])
        if all_of_it:
            self._proposing.drafter.observe(())
