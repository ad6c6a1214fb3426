"""Collect the live figures of one reply: acceptance rate and tokens/s over time, and the counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from app.state.chat.rounds import RoundRecord
from app.state.models.selection import Selection
from app.state.models.targets import Target
from app.state.speculation.figures import Figures, PositionCounts, TimeSplit
from app.state.speculation.lookahead import LookaheadNote, LookaheadWatch
from engine import Event, GenerationStats, PromptProgress, RoundEvent, TextEvent, TokenEvent, Untold

WINDOW_S = 1.0
SMOOTHING = 8
MAX_POINTS = 2_000
FEW = 6
_ROUNDS: tuple[Untold, ...] = ("rounds", "endings", "times")
_UNTIL_TOLD: tuple[Untold, ...] = ("acceptance", *_ROUNDS)
"""Figures of a server's reply that are unknown while it writes: without figures of its drafts, and with them."""


class RateHistory:
    """Hold accepted of proposed, round by round, in at most MAX_POINTS points.

    When there are too many points, neighbours are put together: each point then stands for `rounds_per_point` rounds.
    """

    def __init__(self) -> None:
        self.rounds_per_point = 1
        self._points: list[tuple[int, int]] = []
        self._open = (0, 0)
        self._open_rounds = 0

    def add(self, proposed: int, accepted: int) -> None:
        self._open = (self._open[0] + proposed, self._open[1] + accepted)
        self._open_rounds += 1
        if self._open_rounds < self.rounds_per_point:
            return
        self._points.append(self._open)
        self._open, self._open_rounds = (0, 0), 0
        if len(self._points) >= MAX_POINTS:
            left, right = self._points[0::2], self._points[1::2]
            self._points = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(left, right, strict=True)]
            self.rounds_per_point *= 2

    def per_round(self) -> tuple[list[float], list[float]]:
        """Round numbers and acceptance rates in per cent. Rounds without a proposal have no point."""
        places = [(index + 1) * self.rounds_per_point for index in range(len(self._points))]
        rates = [(x, 100.0 * a / p) for x, (p, a) in zip(places, self._points, strict=True) if p]
        return [float(x) for x, _ in rates], [y for _, y in rates]

    def smoothed(self) -> tuple[list[float], list[float]]:
        """Return the same, over the last SMOOTHING points each."""
        xs: list[float] = []
        ys: list[float] = []
        proposed = accepted = 0
        for index, (p, a) in enumerate(self._points):
            proposed, accepted = proposed + p, accepted + a
            if index >= SMOOTHING:
                old = self._points[index - SMOOTHING]
                proposed, accepted = proposed - old[0], accepted - old[1]
            if proposed:
                xs.append(float((index + 1) * self.rounds_per_point))
                ys.append(100.0 * accepted / proposed)
        return xs, ys


class SpeedHistory:
    """Sample tokens per second over the last WINDOW_S seconds; hold at most MAX_POINTS samples."""

    def __init__(self) -> None:
        self.current = 0.0
        self._marks: deque[tuple[float, int]] = deque()
        self._began: float | None = None
        self._times: list[float] = []
        self._rates: list[float] = []
        self._gap = 0.0
        self._earlier = (0.0, 0)

    def begin(self, now: float) -> None:
        """Begin at this time (seconds), at which the prompt was read."""
        seconds, emitted = self._earlier
        self._began = now - seconds
        self._marks = deque([(now, emitted)])

    def go_on(self, emitted: int) -> None:
        """Continue behind the earlier tokens, when the prompt was read again; `emitted`: tokens so far."""
        self._earlier = self.seconds, emitted

    def count(self, now: float, emitted: int) -> None:
        """Count the tokens that had been emitted at this time."""
        if self._began is None:
            self.begin(now)
        self._marks.append((now, emitted))

    def sample(self, now: float) -> None:
        """Work out the rate of the last window and remember it."""
        if self._began is None:
            return
        while len(self._marks) > 2 and self._marks[1][0] <= now - WINDOW_S:
            self._marks.popleft()
        since, before = self._marks[0]
        span = now - max(since, now - WINDOW_S) if len(self._marks) > 1 else 0.0
        if span < 0.05:
            return
        self.current = (self._marks[-1][1] - before) / max(now - since, span)
        at = now - self._began
        if self._times and at - self._times[-1] < self._gap:
            return
        self._times.append(at)
        self._rates.append(self.current)
        if len(self._times) >= MAX_POINTS:
            self._times, self._rates = self._times[1::2], self._rates[1::2]
            self._gap = max(self._gap * 2, (self._times[-1] - self._times[0]) / len(self._times))

    def finish(self) -> None:
        """Finish the reply. One that was too short for a few samples gets them from its rounds."""
        if self._began is None or len(self._times) >= FEW or len(self._marks) < 2:
            return
        since, before = self._marks[0]
        later = list(self._marks)[1:]
        later = later[:: max(len(later) // (4 * FEW), 1)]
        self._times = [at - self._began for at, _ in later if at > since]
        self._rates = [(count - before) / (at - since) for at, count in later if at > since]

    @property
    def seconds(self) -> float:
        """Return the seconds from the end of the prompt to the last round."""
        return self._marks[-1][0] - self._began if self._began is not None else 0.0

    def points(self) -> tuple[list[float], list[float]]:
        """Return seconds since the reply began, and tokens/s."""
        return list(self._times), list(self._rates)


_OWN_TEXTS = "own-texts"
"""The source that drafts from kept chats."""
_MEASURED_FROM = 16
"""Tokens from which on the speed of a reply is one to compare with."""


def _is_plain(stats: GenerationStats) -> bool:
    """Return True for a reply that measured the speed of plain decoding."""
    return not stats.proposed and not stats.untold and stats.emitted >= _MEASURED_FROM


class Metrics:
    """Hold the figures of one reply: the one that is being written, the last one, or a kept one.

    Attributes: rounds, proposed, accepted, emitted (tokens); from_texts (accepted tokens of the user's own texts);
    rates, speeds, positions (for the plots); first_token_ms (from the prompt to the first token, None until it is
    known); running; version (changes with every change, so that nothing is drawn twice).
    """

    def __init__(self) -> None:
        self.version = 0
        self._plain: dict[Target | None, float] = {}
        self._target: Target | None = None
        self._chosen: Target | None = None
        self._lookahead = LookaheadWatch()
        self.clear()

    def clear(self) -> None:
        self._lookahead.clear()
        self._begin()

    def _begin(self) -> None:
        self.rounds = self.proposed = self.accepted = self.emitted = self._forced = self.from_texts = 0
        self.rates, self.speeds, self.positions = RateHistory(), SpeedHistory(), PositionCounts()
        self._draft_ms = self._target_ms = 0.0
        self._first_round_ms: float | None = None
        self._untold: tuple[Untold, ...] = ()
        self.running = False
        self._final: GenerationStats | None = None
        self.version += 1

    def begin(
        self, target: Target | None = None, earlier: tuple[GenerationStats, list[RoundRecord]] | None = None
    ) -> None:
        """Begin a reply of a target, or go on with one of which there are `earlier` figures and rounds."""
        self._lookahead.begin()
        self._begin()
        if earlier is not None:
            self._take_kept(*earlier)
            stats = earlier[0]
            self.rounds, self.proposed, self.accepted = stats.rounds, stats.proposed, stats.accepted
            self.emitted, self._forced = stats.emitted, stats.forced_tokens
            self.speeds.go_on(self.emitted)
        self._target = target
        self.running = True

    def of_nothing(self) -> Metrics:
        """Return figures of no reply, which know the same speeds of plain decoding."""
        metrics = Metrics()
        metrics._plain = self._plain
        return metrics

    @classmethod
    def of_kept(cls, stats: GenerationStats, rounds: Iterable[RoundRecord] = ()) -> Metrics:
        """Return the figures of an ended reply, from its stored statistics."""
        metrics = cls()
        metrics._take_kept(stats, list(rounds))
        metrics.end(stats)
        return metrics

    def _take_kept(self, stats: GenerationStats, rounds: list[RoundRecord]) -> None:
        now, emitted, speed = 0.0, 0, stats.tokens_per_second
        self.speeds.begin(0.0)
        # A round takes longer than its draft and its verification: with the rest the plot ends where the figure says.
        known = sum(each.draft_ms + each.target_ms for each in rounds) / 1000.0
        stretch = max(stats.emitted / speed / known, 1.0) if speed and known and len(rounds) == stats.rounds else 1.0
        for each in rounds:
            self._count_round(each.proposed, each.accepted, each.draft_ms, each.target_ms)
            now += stretch * (each.draft_ms + each.target_ms) / 1000.0
            emitted += each.accepted + 1
            self.speeds.count(now, emitted)
            self.speeds.sample(now)

    def take(self, now: float, event: Event) -> None:
        """Take an event and the time (seconds, perf_counter) at which the engine gave it."""
        if isinstance(event, TokenEvent):
            self.emitted += 1
            self._forced += event.origin == "forced"
        elif isinstance(event, TextEvent):
            self._untold = _UNTIL_TOLD if self.proposed == 0 else _ROUNDS
            if event.tokens is not None:
                self.emitted = event.tokens
                self.speeds.count(now, self.emitted)
        elif isinstance(event, RoundEvent):
            self._count_round(event.proposed, event.accepted, event.draft_ms, event.target_ms)
            self.from_texts += event.accepted if event.source == _OWN_TEXTS else 0
            self.speeds.count(now, self.emitted)
            self._lookahead.take(now, event)
        elif isinstance(event, PromptProgress) and event.evaluated >= event.total:
            self.speeds.begin(now)

    def _count_round(self, proposed: int, accepted: int, draft_ms: float, target_ms: float) -> None:
        self.rounds += 1
        self.proposed += proposed
        self.accepted += accepted
        self.rates.add(proposed, accepted)
        self.positions.add(proposed, accepted)
        self._draft_ms += draft_ms
        self._target_ms += target_ms
        if self._first_round_ms is None:
            self._first_round_ms = draft_ms + target_ms

    def sample(self, now: float) -> None:
        """Sample the speed at this time. Call a few times a second while a reply is written."""
        if self.running:
            self.speeds.sample(now)
            self.version += 1

    def end(self, stats: GenerationStats | None) -> None:
        """End the reply; its own figures are the last word."""
        self.running = False
        self.speeds.finish()
        self._lookahead.end()
        self._final = stats
        if stats is not None:
            self.rounds, self.proposed = stats.rounds, stats.proposed
            self.accepted, self.emitted, self._forced = stats.accepted, stats.emitted, stats.forced_tokens
            self.from_texts = sum(each.accepted for each in stats.by_method if each.name == _OWN_TEXTS)
            if stats.proposed_by_position:
                self.positions = PositionCounts.of_stats(stats)
            if stats.plain_tokens_per_second is not None:
                self._plain[self._target] = stats.plain_tokens_per_second
            # A plain reply is newer than what was measured before it.
            if _is_plain(stats) and stats.tokens_per_second:
                self._plain[self._target] = stats.tokens_per_second
        self.version += 1

    def note_plain_speed(self, tokens_per_second: float) -> None:
        """Set the speed of plain decoding of the chosen target, measured elsewhere."""
        self._plain[self._chosen] = tokens_per_second
        self.version += 1

    @property
    def plain_speed(self) -> float | None:
        """Return tokens/s of plain decoding of the target that wrote the reply; None until it was measured."""
        return self._plain.get(self._chosen if self.empty else self._target)

    @property
    def first_token_ms(self) -> float | None:
        """Return the milliseconds from the prompt to the first token; None until the reply has ended."""
        if self._final is None or not self._final.emitted:
            return None
        return self._final.prompt_ms + (self._first_round_ms or 0.0)

    @property
    def untold(self) -> tuple[Untold, ...]:
        """List the figures that the reply's server does not report, or not yet."""
        return self._untold if self._final is None else self._final.untold

    @property
    def empty(self) -> bool:
        return not (self.running or self.rounds or self.emitted)

    def choose(self, selection: Selection) -> bool:
        """Set the selection for the next reply; return True if the note changed."""
        changed = self._lookahead.choose(selection)
        self._chosen = selection.target
        self.version += changed
        return changed

    @property
    def lookahead(self) -> LookaheadNote:
        """Explain the lookahead."""
        return self._lookahead.note

    @property
    def times(self) -> TimeSplit:
        """Return the time after the prompt by part, so far or of the whole reply."""
        if "times" in self.untold:
            return TimeSplit()
        if self._final is not None:
            return TimeSplit.of_stats(self._final)
        rest = 1000.0 * self.speeds.seconds - self._draft_ms - self._target_ms
        return TimeSplit(self._draft_ms, self._target_ms, max(rest, 0.0))

    def figures(self) -> Figures:
        return Figures(
            self.rates.per_round(),
            self.rates.smoothed(),
            self.speeds.points(),
            self.plain_speed,
            self.positions.pairs(),
            self.times,
        )

    @property
    def speedup(self) -> float | None:
        """Return tokens/s over the measured plain tokens/s; None if that was not measured or nothing proposed."""
        rate = self.tokens_per_second
        if rate is None or not self.plain_speed or not self.proposed:
            return None
        return rate / self.plain_speed

    @property
    def acceptance_rate(self) -> float | None:
        """Return accepted / proposed, 0..1; None before anything was proposed."""
        return self.accepted / self.proposed if self.proposed else None

    @property
    def mean_length(self) -> float | None:
        """Return the emitted tokens per round; None before the first round."""
        known = self.rounds and "rounds" not in self.untold
        return (self.emitted - self._forced) / self.rounds if known else None

    @property
    def tokens_per_second(self) -> float | None:
        """Return tokens/s of the last second while a reply is written, then of the whole reply; None before any."""
        if self._final is not None:
            return self._final.tokens_per_second if self._final.emitted else None
        return self.speeds.current if self.emitted and self.speeds.current else None
