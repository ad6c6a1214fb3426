"""Measure a target's speed: plain, with each fixed lookahead, with auto, and from an n-gram index.

All ways answer the same prompts alternately in one process, each turn in another order (Williams 1949: each way
equally often at each position and after each other one), so that a slow phase of the machine and the aftereffects of a
reply (frequencies, caches) affect all alike. In the first turn the caches are emptied before each reply, so that
reading the prompt and the first token are timed as in a new chat; in later turns the prompt may stay in the caches,
since the compared speed, tokens/s after the prompt was read, does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from engine import methods
from engine.backends.base import Backend
from engine.backends.prefix import CHUNK
from engine.bench.prompts import BenchPrompt
from engine.cancel import CancelToken
from engine.chat.render import Renderer
from engine.chat.template import encode_prompt
from engine.config import SamplingConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, ChatTemplateFailed, InvalidRequest, ModelNotLoaded, TextNotEncodable
from engine.events import Finished, GenerationResult, TextEvent, TokenEvent
from engine.generation.responder import Responder
from engine.translatable import Translatable

PLAIN, AUTO, NGRAM, SERVER = "plain", "auto", methods.NGRAM.name, "server"
DEFAULT_LOOKAHEADS = (1, 2, 3, 4, 6, 8, 12, 16)
CLOSE = 1e-3
"""Two logits closer than this may change places between batches of different size (ARCHITECTURE.md, *Contracts*)."""
BUDGET_S = 480.0
"""The seconds of the measurement if no sizes are given."""
_REPEATS, _MOST_TOKENS, _FEWEST_TOKENS = 3, 64, 24
_WARM_TOKENS = 8
_TOGETHER = (5, 2, 9, 17)
"""Tokens read at once, to see the effect: as lookaheads of 4, 1, 8 and 16 have verified. A card computes
up to eight with other kernels than more."""
_SMALLEST_ROOM = 8
"""Tokens of a reply that must fit the context behind a prompt."""


@dataclass(frozen=True, slots=True)
class Way:
    """Describe one way of decoding: its name (plain, a lookahead, auto, ngram) and its options for `generate`.

    `responder`: answers instead of the decoder, under the name "server".
    """

    name: str
    options: Mapping[str, Any]
    responder: Responder | None = None


@dataclass(frozen=True, slots=True)
class PreparedPrompt:
    """Hold a prompt as token ids and as it was given, and the longest length of its reply."""

    category: str
    number: int
    tokens: tuple[int, ...]
    max_tokens: int
    prompt: Any = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Name a prompt that this target cannot answer, with the reason."""

    category: str
    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Pace:
    """Hold milliseconds from a warm-up: of plain decoding for a token, and of the target to read one of the prompt."""

    token_ms: float
    prompt_token_ms: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """Hold the repetitions of each reply, its longest length in tokens, and the estimated seconds of the whole."""

    repeats: int
    max_tokens: int
    seconds: float


def balanced_order(count: int, number: int) -> list[int]:
    """Return the `number`-th order of the indices below `count`.

    In `count` orders in a row (2 · `count` if it is odd) each index occurs equally often at each position, and equally
    often after each other one: the Latin squares of E. J. Williams, "Experimental Designs Balanced for the
    Estimation of Residual Effects of Treatments" (1949).
    """
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(count)]
    order = [(step + number) % count for step in zigzag]
    return order[::-1] if count % 2 and number // count % 2 else order


@dataclass(frozen=True, slots=True)
class Reply:
    """Hold one measured reply.

    `prompt` is an index into the prompts, `turn` counts from 0: replies with both equal are compared. `order` is the
    position in the turn. `fresh`: the caches were empty, so `first_token_ms` and the time of the prompt are those of
    a new chat.
    """

    way: str
    category: str
    prompt: int
    turn: int
    order: int
    fresh: bool
    first_token_ms: float
    result: GenerationResult

    @property
    def speed(self) -> float:
        """Return the tokens/s after the prompt was read."""
        return self.result.stats.tokens_per_second


def drafting_method(decoder: SpeculativeDecoder) -> str | None:
    """Return the method of a fixed lookahead: that of the first loaded source; None: nothing drafts."""
    return decoder.sources[0].method.name if decoder.sources else None


def make_ways(lookaheads: Sequence[int], method: str | None, *, ngram: bool) -> tuple[Way, ...]:
    """List the ways to compare: plain always; each lookahead and auto where something drafts; the n-gram index."""
    ways = [Way(PLAIN, {"lookahead": 0})]
    if method is not None:
        ways += [Way(str(k), {"method": method, "lookahead": k}) for k in sorted(set(lookaheads) - {0})]
        ways.append(Way(AUTO, {"lookahead": "auto"}))
    if ngram:
        ways.append(Way(NGRAM, {"method": NGRAM, "lookahead": "default"}))
    return tuple(ways)


def prepare(
    target: Backend,
    prompts: Sequence[BenchPrompt],
    *,
    raw: bool = False,
    max_tokens: int | None = None,
    cancel: CancelToken | None = None,
) -> tuple[list[PreparedPrompt], list[LeftOut]]:
    """Return the prompts as this target reads them, and those that it cannot answer.

    A reply's length is the minimum of the prompt's own, `max_tokens` and the room in the context.
    Raises InvalidRequest if nothing is left, Cancelled.
    """
    prepared: list[PreparedPrompt] = []
    left_out: list[LeftOut] = []
    for each in prompts:
        try:
            # What was written as one text needs no template; the turns of a chat cannot do without.
            plain = raw and isinstance(each.prompt, str)
            tokens = tuple(encode_prompt(each.prompt, target.tokenizer, raw=plain, renderer=Renderer(cancel)))
        except (TextNotEncodable, ChatTemplateFailed) as error:
            left_out.append(LeftOut(each.category, each.number, str(error)))
            continue
        room = target.context_length - len(tokens)
        if not tokens or room < _SMALLEST_ROOM:
            why = f"it has {len(tokens)} tokens, but the context holds {target.context_length}"
            left_out.append(LeftOut(each.category, each.number, why))
            continue
        most = min([room, *(limit for limit in (each.max_tokens, max_tokens) if limit is not None)])
        prepared.append(PreparedPrompt(each.category, each.number, tokens, most, each.prompt))
    if not prepared and len(left_out) == 1:
        raise InvalidRequest(
            "{name} cannot answer this prompt: {why}.", name=target.name, why=left_out[0].why.rstrip(".")
        )
    if not prepared:
        raise InvalidRequest(
            "{name} can answer none of the prompts. The first: {why}", name=target.name, why=left_out[0].why
        )
    return prepared, left_out


def choose_sizes(
    pace: Pace,
    prompts: Sequence[PreparedPrompt],
    ways: int,
    *,
    repeats: int | None = None,
    max_tokens: int | None = None,
    budget_s: float = BUDGET_S,
) -> Sizes:
    """Choose sizes that keep the measurement within a budget, first shorter replies, then fewer turns; given ones stay.

    Speculative replies are assumed to take as long as plain ones.
    """
    reading_s = ways * sum(len(prompt.tokens) for prompt in prompts) * pace.prompt_token_ms / 1000.0

    def seconds(turns: int, tokens: int) -> float:
        new = sum(min(prompt.max_tokens, tokens) for prompt in prompts)
        return reading_s + turns * ways * new * pace.token_ms / 1000.0

    tokens = max_tokens or _MOST_TOKENS
    turns = repeats or _REPEATS
    if max_tokens is None:
        share = (budget_s - reading_s) / max(seconds(turns, tokens) - reading_s, 1e-9)
        tokens = max(_FEWEST_TOKENS, min(tokens, int(tokens * share)))
    if repeats is None:
        while turns > 1 and seconds(turns, tokens) > budget_s:
            turns -= 1
    return Sizes(turns, tokens, seconds(turns, tokens))


@dataclass
class Bench:
    """Run the replies. `clock` gives seconds.

    Attributes: decoder (loaded), ways, prompts, sampling (its seed is raised by one each turn; None: 0), cancel.
    """

    decoder: SpeculativeDecoder
    ways: Sequence[Way]
    prompts: Sequence[PreparedPrompt]
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    cancel: CancelToken = field(default_factory=CancelToken)
    clock: Callable[[], float] = perf_counter

    def warm_up(self, note: Callable[[int], None] = lambda _done: None) -> Pace:
        """Run each way once, so that no first-use cost falls into the measurement, and time plain decoding.

        `note` receives the number of ways done. Raises Cancelled.
        """
        prompt = self.prompts[0]
        for done, way in enumerate(self.ways):
            note(done)
            self._generate(way, prompt, 0, _WARM_TOKENS, fresh=True)
        note(len(self.ways))
        stats = self._generate(self.ways[0], prompt, 0, 2 * _WARM_TOKENS, fresh=True)[1].stats
        return Pace(1000.0 / max(stats.tokens_per_second, 1e-9), stats.prompt_ms / len(prompt.tokens))

    def replies(self, repeats: int, max_tokens: int) -> Iterator[Reply]:
        """Measure, one reply after the other. Raises Cancelled; a reply that was cancelled midway is not given."""
        for turn in range(repeats):
            for index, prompt in enumerate(self.prompts):
                for order, place in enumerate(balanced_order(len(self.ways), turn + index)):
                    way = self.ways[place]
                    most = min(prompt.max_tokens, max_tokens)
                    first_ms, result = self._generate(way, prompt, turn, most, fresh=turn == 0)
                    yield Reply(way.name, prompt.category, index, turn, order, turn == 0, first_ms, result)

    def _generate(
        self, way: Way, prompt: PreparedPrompt, turn: int, max_tokens: int, *, fresh: bool
    ) -> tuple[float, GenerationResult]:
        """Return milliseconds to the first token, and the result."""
        if fresh:
            self._empty_caches()
        seen: list[float] = []

        def note(_event: TokenEvent) -> None:
            if not seen:
                seen.append(self.clock())

        sampling = replace(self.sampling, seed=((self.sampling.seed or 0) + turn) % 2**64)
        began = self.clock()
        if way.responder is not None:
            return self._ask(way.responder, prompt, sampling, max_tokens)
        result = self.decoder.generate(
            prompt.tokens, on_token=note, cancel=self.cancel, sampling=sampling, max_tokens=max_tokens, **way.options
        )
        if result.finish_reason == "cancelled":
            raise Cancelled(Translatable("The measurement"))
        return 1000.0 * (seen[0] - began), result

    def _ask(
        self, responder: Responder, prompt: PreparedPrompt, sampling: SamplingConfig, max_tokens: int
    ) -> tuple[float, GenerationResult]:
        """Return the same of a reply of another responder, which reads the prompt by itself."""
        began, first = self.clock(), None
        options: Any = {"sampling": sampling, "max_tokens": max_tokens}
        for event in responder.stream(prompt.prompt, cancel=self.cancel, **options):
            if first is None and isinstance(event, TokenEvent | TextEvent):
                first = self.clock()
            if isinstance(event, Finished) and event.result.finish_reason == "cancelled":
                break
            if isinstance(event, Finished):
                return 1000.0 * ((first or self.clock()) - began), event.result
        raise Cancelled(Translatable("The measurement"))

    def _empty_caches(self) -> None:
        for backend in (self.decoder.target, *(source.model for source in self.decoder.sources)):
            if backend is not None:
                backend.truncate(0)


# Equality of greedy replies -------------------------------------------------------------------------------------------

SAME, NEAR_TIE, DIFFERENT, UNEXAMINED = "same", "near tie", "different", "not examined"


@dataclass(frozen=True, slots=True)
class Equality:
    """Compare a greedy reply with the first plain one to its prompt.

    `verdict`: SAME, token for token; NEAR_TIE, they diverge where the target's two best logits, computed as in plain
    decoding, differ by less than `CLOSE` and are the two chosen tokens (without batch invariance: by less than twice
    the effect of computing several tokens at once there); DIFFERENT, any other divergence; UNEXAMINED, they diverge,
    and the target was not run. `alike`: tokens before the divergence. `tokens`: of the plain reply. `gap`: between the
    target's two best logits there, None if it was not run.
    """

    verdict: str
    alike: int
    tokens: int
    gap: float | None = None


def compare_replies(bench: Bench, replies: Sequence[Reply], *, examine: bool = True) -> list[Equality | None]:
    """Compare each reply with the plain one; None if tokens are drawn, or there is no plain one.

    `examine`: run the target on those that diverge. Raises ModelNotLoaded, Cancelled.
    """
    if not bench.sampling.greedy:
        return [None] * len(replies)
    plain: dict[int, tuple[int, ...]] = {}
    for reply in replies:
        if reply.way == PLAIN:
            plain.setdefault(reply.prompt, reply.result.tokens)
    elsewhere = {way.name for way in bench.ways if way.responder is not None}
    known: dict[tuple[int, tuple[int, ...]], Equality] = {}
    found: list[Equality | None] = []
    for reply in replies:
        reference, tokens = plain.get(reply.prompt), reply.result.tokens
        if reference is None or reply.way in elsewhere:
            found.append(None)
            continue
        key = reply.prompt, tokens
        if key not in known:
            known[key] = _compare(bench, reply.prompt, reference, tokens, examine=examine)
        found.append(known[key])
    return found


def _compare(bench: Bench, prompt: int, plain: tuple[int, ...], other: tuple[int, ...], *, examine: bool) -> Equality:
    if plain == other:
        return Equality(SAME, len(plain), len(plain))
    alike = next((i for i, (a, b) in enumerate(zip(plain, other, strict=False)) if a != b), None)
    before = min(len(plain), len(other)) if alike is None else alike
    if not examine:
        return Equality(UNEXAMINED, before, len(plain))
    # Where logits are changed by a history or a bias, those of the model alone prove nothing.
    if alike is None or bench.sampling.reshaped:
        return Equality(DIFFERENT, before, len(plain))
    target = bench.decoder.target
    if target is None:
        raise ModelNotLoaded
    row = _row_after(target, bench.prompts[prompt].tokens, plain, alike, bench.cancel).copy()
    first, second = (int(token) for token in np.argsort(-row, kind="stable")[:2])
    gap = float(row[first] - row[second])
    close = CLOSE
    if target.batch_invariant is False and {plain[alike], other[alike]} == {first, second}:
        for step in _TOGETHER:
            together = _row_after(target, bench.prompts[prompt].tokens, plain, alike, bench.cancel, step=step)
            close = max(close, 2.0 * float(np.abs(row - together).max()))
    tie = gap < close and {plain[alike], other[alike]} == {first, second}
    return Equality(NEAR_TIE if tie else DIFFERENT, alike, len(plain), gap)


def _row_after(
    target: Backend, prompt: Sequence[int], reply: Sequence[int], count: int, cancel: CancelToken, step: int = 1
) -> Any:
    """Return the logits after a prompt and `count` tokens of a reply, shape (vocab_size,).

    Computed token by token as in plain decoding, or `step` tokens at once, with those that follow.
    """
    target.truncate(0)
    target.watch(cancel)
    for start in range(0, len(prompt) - 1, CHUNK):
        target.forward(prompt[start : min(start + CHUNK, len(prompt) - 1)], 0)
    tokens, row = [prompt[-1], *reply], None
    for start in range(0, count + 1, step):
        piece = tokens[start : start + step]
        row = target.forward(piece, len(piece))[min(count - start, step - 1)]
    return row
