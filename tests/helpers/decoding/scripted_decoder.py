"""A decoder that says what it is told to, at the speed that it is told: for tests of what stands around the engine."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine import (
    Cancelled,
    CancelToken,
    Event,
    Finished,
    FinishReason,
    GenerationResult,
    GenerationStats,
    LoadConfig,
    LoadProgress,
    Message,
    PromptProgress,
    ReadPrompt,
    RoundEvent,
    TokenEvent,
    ToolCall,
)
from engine.chat.reply_grammar import TagGrammar
from engine.chat.reply_parts import ReplyParser
from engine.host import PromptFit, ThinkingSwitch
from engine.loading.source import Source
from engine.methods import DRAFT_MODEL
from helpers.decoding.fake_backend import FakeBackend

PER_ROUND = 3


@dataclass
class Script:
    """What a `ScriptedDecoder` does.

    `reply` is cut into `tokens` of four characters; a round of three of them (two accepted of four proposed, and a
    correction) takes `round_s` seconds, a load `load_s`, reading the prompt `read_s`, the first whole calibration after
    a load `measure_s`. `errors` are raised, one a call. With lookahead auto each round says the next of `speedups`, of
    which the last goes on for ever; one of 1.0 is a round in which nothing is proposed. `opened`: the prompt opens the
    thought; `thinking`: how it is told to think; `hurried`: how often it was asked to answer now. `threads`: those that
    ran it; `counters`: those that counted.
    """

    reply: str | Callable[[Sequence[Message]], str] = "All right."
    round_s: float = 0.0
    load_s: float = 0.0
    read_s: float = 0.0
    measure_s: float = 0.0
    speedups: Sequence[float] = (1.5,)
    load_errors: list[Exception] = field(default_factory=list)
    reply_errors: list[Exception] = field(default_factory=list)
    late_errors: list[Exception] = field(default_factory=list)
    deaf: bool = False
    opened: bool = False
    tool_calls: tuple[ToolCall, ...] | Callable[[Sequence[Message]], tuple[ToolCall, ...]] = ()
    thinking: ThinkingSwitch = "none"
    context: int = 4_096
    prompts: list[tuple[Message, ...]] = field(default_factory=list)
    loads: list[tuple[str, Path | None]] = field(default_factory=list)
    lookaheads: list[int | str] = field(default_factory=list)
    options: list[dict[str, Any]] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)
    hurried: int = 0
    closed: bool = False

    def calls(self, prompt: Sequence[Message]) -> tuple[ToolCall, ...]:
        """The tool calls of the reply to a prompt."""
        return self.tool_calls if isinstance(self.tool_calls, tuple) else self.tool_calls(prompt)


class ScriptedDecoder:
    """Stands in for `engine.SpeculativeDecoder`."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.target: object | None = None
        self.sources: tuple[Source, ...] = ()
        self._calibrated = False

    def attach_target(self, model: LoadConfig, *, progress: Callable[..., None], cancel: CancelToken) -> None:
        self._load("target", model.path, progress, cancel)
        self.target = FakeBackend(name=model.path.stem)

    @property
    def draft(self) -> object | None:
        """The draft model."""
        return self.sources[0].model if self.sources else None

    def attach(
        self,
        target: LoadConfig | None,
        sources: Sequence[LoadConfig],
        *,
        progress: Callable[..., None],
        cancel: CancelToken,
    ) -> None:
        if target is not None:
            self.attach_target(target, progress=progress, cancel=cancel)
        there = {source.config: source for source in self.sources}
        for config in sources:
            if config not in there:
                self._load("draft", config.path, progress, cancel)
                there[config] = Source(DRAFT_MODEL, FakeBackend(name=config.path.stem), config)
        self.sources = tuple(there[config] for config in sources)

    def _load(self, part: Any, path: Path, progress: Callable[..., None], cancel: CancelToken) -> None:
        self.script.threads.add(threading.current_thread().name)
        self.script.loads.append((part, path))
        for step in range(11):
            progress(LoadProgress(part, "loading", step / 10))
            self._wait(self.script.load_s / 11, cancel)
        if self.script.load_errors:
            raise self.script.load_errors.pop(0)
        self._calibrated = False

    sees = True
    corpus: object = None

    def count_picture(self, _address: str) -> int:
        """Count as many tokens for each picture."""
        return 64

    def keep_caches(self, folder: Path | None, *, each_reply: bool) -> None:
        """Keep none: there is nothing in them."""

    def attach_corpus(self, corpus: object) -> None:
        """Draft from nothing."""

    def calibrate(self, *, cancel: CancelToken) -> None:
        """Take a while, once a pair; note what came of it."""
        self.script.threads.add(threading.current_thread().name)
        if self._calibrated:
            return
        try:
            self._wait(self.script.measure_s, cancel)
        except Cancelled:
            self.script.measured.append("cancelled")
            raise
        self._calibrated = True
        self.script.measured.append("done")

    def _wait(self, seconds: float, cancel: CancelToken) -> None:
        end = time.perf_counter() + seconds
        while True:
            if cancel.cancelled and not self.script.deaf:
                cancel.clear()
                raise Cancelled
            left = end - time.perf_counter()
            if left <= 0:
                return
            time.sleep(min(left, 0.005))

    @property
    def thinking(self) -> ThinkingSwitch:
        return self.script.thinking

    @property
    def thinking_modes(self) -> tuple[str, ...]:
        return {"none": (), "on-off": ("on", "off"), "effort": ("low", "medium", "high")}[self.script.thinking]

    def answer_now(self) -> None:
        """Count the wish."""
        self.script.hurried += 1

    def read_prompt(
        self,
        messages: Sequence[Message],
        *,
        thinking: str = "default",
        reply_next: bool = True,
        cancel: CancelToken | None = None,
    ) -> ReadPrompt:
        """Each message between markers."""
        text, markers = "", []
        for message in messages:
            for piece in (f"<{message.role}>", message.content, "<end>"):
                if piece.startswith("<") and piece is not message.content:
                    markers.append((len(text), len(text) + len(piece)))
                text += piece
        return ReadPrompt(text, tuple(markers), self.count(text), (f"thinking: {thinking}",))

    def fit(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        thinking: str = "default",
        tools: Sequence[Any] = (),
        cancel: CancelToken | None = None,
    ) -> PromptFit:
        """Four characters are a token; the oldest exchanges go where there is no room."""
        self.script.counters.add(threading.current_thread().name)
        sizes = [self.count(message.content) for message in messages]
        sizes[:1] = [size + self.count(json.dumps(tools) if tools else "") for size in sizes[:1]]
        dropped, left = 0, sum(sizes)
        while left > self.script.context and dropped + 2 < len(sizes):
            left -= sum(sizes[dropped : dropped + 2])
            dropped += 2
        return PromptFit(left, sizes[-1], self.script.context, dropped, left <= self.script.context)

    def count(self, text: str) -> int:
        """Four characters are a token."""
        return (len(text) + 3) // 4

    def token_text(self, token: int) -> str:
        """A name for a token."""
        return f"token {token}"

    def stream(
        self, prompt: Sequence[Message], *, cancel: CancelToken, lookahead: int | str, top: int = 0, **options: Any
    ) -> Iterator[Event]:
        script = self.script
        script.threads.add(threading.current_thread().name)
        script.prompts.append(tuple(prompt))
        script.lookaheads.append(lookahead)
        script.options.append(options)
        for step in range(5):
            yield PromptProgress(step * 10, 40)
            self._wait(script.read_s / 5, cancel)
        if script.reply_errors:
            raise script.reply_errors.pop(0)
        text = script.reply if isinstance(script.reply, str) else script.reply(prompt)
        pieces = [text[start : start + 4] for start in range(0, len(text), 4)]
        reason: FinishReason = "stop"
        before = prompt[-1].content if prompt[-1].role == "assistant" else ""
        parted = ReplyParser(TagGrammar(opened=script.opened), before)
        done = 0
        rounds = 0
        while done < len(pieces):
            try:
                self._wait(script.round_s, cancel)
            except Cancelled:
                if not done:
                    raise
                reason = "cancelled"
                break
            rounds += 1
            for piece in pieces[done : done + PER_ROUND]:
                added = parted.feed(piece)
                done += 1
                added += parted.flush() if done == len(pieces) else []
                yield self._token(done - 1, piece, rounds, top)._replace(channel=parted.channel, added=tuple(added))
            yield self._round(rounds, lookahead)
            if script.late_errors:
                reason = "error"
                break
        parts = parted.finish(ended=reason == "stop")
        result = self._result("".join(pieces[:done]), done, rounds, reason)
        said = {"reasoning": parts.reasoning, "content": parts.content, "tool_calls": script.calls(prompt)}
        yield Finished(replace(result, **said))  # type: ignore[arg-type]
        if reason == "error":
            raise script.late_errors.pop(0)

    def _token(self, place: int, piece: str, round_number: int, top: int) -> TokenEvent:
        """The third token of a round is its correction, the others were accepted."""
        others = tuple((place + step, -0.1 - step) for step in range(top))
        if place % PER_ROUND == PER_ROUND - 1:
            return TokenEvent(place, piece, "correction", round_number, place, -0.1, None, others)
        return TokenEvent(place, piece, "accepted", round_number, place, -0.1, -0.2, others)

    def _round(self, number: int, lookahead: int | str) -> RoundEvent:
        if isinstance(lookahead, int):
            return RoundEvent(number, "scripted", lookahead, 4, 2, 1.0, 2.0)
        speedups = self.script.speedups
        speedup = speedups[min(number, len(speedups)) - 1]
        return RoundEvent(number, "scripted", 4, *((4, 2) if speedup > 1.0 else (0, 0)), 1.0, 2.0, speedup)

    def _result(self, text: str, done: int, rounds: int, reason: FinishReason) -> GenerationResult:
        accepted = done - done // PER_ROUND
        stats = GenerationStats(
            rounds=rounds,
            proposed=4 * rounds,
            accepted=accepted,
            rejected=4 * rounds - accepted,
            corrections=done - accepted,
            prompt_ms=10.0,
            total_ms=10.0 + 1000.0 * max(rounds * self.script.round_s, 0.001),
        )
        return GenerationResult(text, tuple(range(done)), 40, 40, reason, "draft-model", 4, stats)

    def close(self) -> None:
        self.script.closed = True
        self.sources = ()
