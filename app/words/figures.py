"""Put figures and states into words and units."""

from __future__ import annotations

from app.state.chat.activity import Activity
from app.state.chat.transcript import Exchange
from app.state.speculation.lookahead import LookaheadNote
from app.system.translation import number, tr

SEPARATOR = " · "
_FEW = 0.05
"""Proposals per token that are too few for a rate: those with which auto tries a draft."""
UNKNOWN = "–"


def named(name: str, value: str) -> str:
    """Return a figure with its name, for screen readers: Rounds: 41."""
    return tr("Figures", "{name}: {value}").format(name=name, value=value)


def tokens(count: int) -> str:
    """Return a number of tokens: 128 tokens."""
    return tr("Figures", "%Ln tokens", None, count)


def lines(count: int) -> str:
    """Return a number of lines: 12 lines."""
    return tr("Figures", "%Ln lines", None, count)


def duration(seconds: float) -> str:
    """Format a duration: 0.4 s, 12 s, 3 min 20 s."""
    if seconds < 0.05:
        return tr("Figures", "under {seconds} s").format(seconds=number(0.1, 1))
    if seconds < 9.95:
        return tr("Figures", "{seconds} s").format(seconds=number(seconds, 1))
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return tr("Figures", "{seconds} s").format(seconds=rest)
    return tr("Figures", "{minutes} min {seconds} s").format(minutes=minutes, seconds=rest)


def times(speedup: float) -> str:
    """Return a speedup: 1.6×."""
    return tr("Figures", "{speedup}×").format(speedup=number(speedup, 1))


def speed(tokens_per_second: float | None) -> str:
    """Return a speed: 41 tok/s."""
    if tokens_per_second is None:
        return tr("Figures", "{speed} tok/s").format(speed=UNKNOWN)
    figure = number(tokens_per_second, 1 if tokens_per_second < 10 else 0)
    return tr("Figures", "{speed} tok/s").format(speed=figure)


def percent(rate: float | None) -> str:
    """Return a rate 0..1: 72 %."""
    if rate is None:
        return f"{UNKNOWN} %"
    return f"{number(100.0 * rate)} %"


def accepted(rate: float | None) -> str:
    """Return an acceptance rate 0..1: 72 % accepted."""
    return tr("Figures", "{rate} accepted").format(rate=percent(rate))


def lookahead_words(note: LookaheadNote) -> str:
    """Describe the lookahead and its reason: 3 ahead · about 1.4× faster expected."""
    patterns = {
        "ready": tr("Lookahead", "auto · chosen by measurement"),
        "drafting": tr("Lookahead", "{k} ahead · about {speedup}× faster expected"),
        "trying": tr("Lookahead", "{k} ahead · testing whether it pays"),
        "plain": tr("Lookahead", "plain · this draft does not pay here"),
        "fixed": tr("Lookahead", "{k} ahead · fixed"),
        "off": tr("Lookahead", "plain · the lookahead is 0"),
        "server": tr("Lookahead", "chosen by the server"),
    }
    if not note.has_draft:
        patterns["off"] = tr("Lookahead", "plain · no draft is chosen")
        if note.automatic and note.lookahead:
            patterns["off"] = tr("Lookahead", "plain · no draft fits")
        patterns["plain"] = tr("Lookahead", "plain · the text repeats too little")
    speedup = UNKNOWN if note.speedup is None else number(note.speedup, 1)
    return patterns[note.kind].format(k=note.lookahead, speedup=speedup)


def lookahead_source(note: LookaheadNote) -> str:
    """Return the title of the line, with where the proposals come from if that is not the draft."""
    if note.from_text:
        return tr("Lookahead", "Lookahead, from the text so far")
    return tr("Lookahead", "Lookahead")


def without_oldest(count: int) -> str:
    """Count the messages that were not sent to the model: without the oldest 2 messages."""
    return tr("Figures", "without the oldest %Ln messages", None, count)


def summary(exchange: Exchange) -> str:
    """Return the line under a reply: 128 tokens · 41 tok/s · 72 % accepted · 3.4 s · 1.6×.

    The time is from the question being taken up to its end. A speedup is there once plain speed was measured.
    """
    parts: list[str] = []
    stats = exchange.stats
    if stats is not None:
        if "tokens" not in stats.untold:
            parts += [tokens(stats.emitted), speed(stats.tokens_per_second)]
        if stats.proposed > _FEW * stats.emitted:
            parts.append(accepted(stats.acceptance_rate))
        parts.append(duration(stats.total_ms / 1000.0))
        if stats.speedup is not None and stats.proposed:
            parts.append(times(stats.speedup))
    parts += _endings(exchange)
    if exchange.dropped_turns:
        parts.append(without_oldest(exchange.dropped_turns))
    return SEPARATOR.join(parts)


def _endings(exchange: Exchange) -> list[str]:
    if exchange.status == "cancelled":
        words = [tr("Figures", "cancelled")]
        if not (exchange.reply or exchange.shown):
            words.append(tr("Figures", "not answered"))
        return words
    if exchange.status == "interrupted":
        return [tr("Figures", "Outrider ended before this reply was complete.")]
    if exchange.finish_reason == "length":
        return [tr("Figures", "stopped at the token limit")]
    if exchange.finish_reason == "context":
        return [tr("Figures", "the context is full")]
    if exchange.status == "done" and not (exchange.reply.strip() or exchange.reply_messages):
        return [tr("Figures", "empty reply")]
    return []


def activity_word(activity: Activity) -> str:
    """Name the current activity for the progress bar; empty if no bar is needed."""
    patterns = {
        "checking": tr("Activity", "Checking {subject}"),
        "loading": tr("Activity", "Loading {subject}"),
        "measuring": tr("Activity", "Measuring this pair (only once)…"),
        "reading": tr("Activity", "Reading the prompt ({subject} tokens)"),
        "scanning": tr("Activity", "Scanning {subject} for models"),
        "proving": tr("Activity", "Waiting for the measurement to finish"),
        "asking": tr("Activity", "Waiting for you to confirm loading {subject}"),
        "asking-server": tr("Activity", "Waiting for {subject}"),
        "importing": tr("Activity", "Importing {subject}"),
        "exporting": tr("Activity", "Exporting {subject}"),
        "queued": tr("Activity", "Waiting for the reply in another chat"),
    }
    if activity.target_there:
        patterns["checking"] = tr("Activity", "The target is loaded. Checking {subject}")
        patterns["loading"] = tr("Activity", "The target is loaded. Loading {subject}")
    word = patterns.get(activity.work, "").format(subject=activity.subject)
    if word and activity.fraction:  # At 0 % it may be that nothing is counted yet.
        word += SEPARATOR + percent(activity.fraction)
    return word
