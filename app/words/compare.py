"""Describe the figures of Compare and the lookahead sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.state.compare.compare import (
    AUTO,
    PLAIN,
    SERVER,
    ComparedModels,
    CompareKind,
    CompareRun,
    OutputEquality,
    doubts,
    outcome,
)
from app.state.compare.race import Race
from app.system.translation import number, tr
from app.words.figures import SEPARATOR, UNKNOWN, accepted, percent, speed, times

if TYPE_CHECKING:
    from engine import Spread, WayFigures, WaysReport


def duration(seconds: float) -> str:
    """Return the approximate duration: 40 s, 3 min."""
    if seconds < 90:
        return tr("Proof", "{count} s").format(count=max(round(seconds), 1))
    return tr("Proof", "{count} min").format(count=round(seconds / 60))


def pair_words(pair: ComparedModels, kind: CompareKind) -> str:
    """Name the models to be measured: target demo-target · draft demo-draft · lookahead auto."""
    if not pair.target:
        return tr("Proof", "No target is chosen.")
    parts = [tr("Proof", "Target {name}").format(name=pair.target)]
    if pair.draft:
        parts.append(tr("Proof", "draft {name}").format(name=pair.draft))
    else:
        parts.append(tr("Proof", "no draft"))
    if kind == "compare" and pair.server:
        parts.insert(0, tr("Proof", "Server {name}").format(name=pair.server))
    if kind == "compare":
        compared = AUTO if pair.lookahead == 0 or not pair.draft else pair.lookahead
        auto = tr("Proof", "auto")
        parts.append(tr("Proof", "lookahead {lookahead}").format(lookahead=auto if compared == AUTO else compared))
    return SEPARATOR.join(parts)


def way_words(name: str) -> str:
    """Name a mode of decoding: Plain; Speculative, lookahead 4."""
    if name == PLAIN:
        return tr("Proof", "Plain")
    if name == SERVER:
        return tr("Proof", "Server")
    if name == AUTO:
        return tr("Proof", "Speculative, auto")
    return tr("Proof", "Speculative, lookahead {k}").format(k=name)


def progress_words(run: CompareRun) -> str:
    """Describe the progress; empty if there is nothing to say."""
    patterns = {
        "waiting": tr("Proof", "Waiting for the current task to finish"),
        "asking": tr("Proof", "Confirm in the main window that the models may be loaded"),
        "loading": tr("Proof", "Loading the models"),
        "racing": tr("Proof", "Racing: plain first, then speculative, each alone"),
        "calibrating": tr("Proof", "Measuring this pair (only once)"),
        "warming up": tr("Proof", "Warming up"),
        "measuring": tr("Proof", "Measuring"),
        "comparing": tr("Proof", "Comparing the outputs"),
    }
    word = patterns.get(run.status, "")
    if run.status in ("warming up", "measuring"):
        if run.fraction is not None:
            word += SEPARATOR + percent(run.fraction)
        if run.seconds_left is not None:
            left = duration(run.seconds_left)
            word += SEPARATOR + tr("Proof", "about {time} left").format(time=left)
    return word


def clock_words(seconds: float) -> str:
    """Return the clock of a race: 2.74 s."""
    return tr("Proof", "{seconds} s").format(seconds=number(seconds, 2))


def race_words(race: Race, *, sampled: bool) -> str:
    """Describe the end of a race: identical · 2.1×. Empty while it goes on. `sampled`: the tokens were drawn.

    Texts that differ differ in length too, so their clocks tell nothing: their speeds are given.
    """
    if race.speedup is None:
        return ""
    if race.identical:
        same = tr("Proof", "identical")
    elif sampled:
        same = tr("Proof", "sampled, so the texts differ")
    else:
        same = tr("Proof", "the texts differ, see below")
    if not race.identical:
        both = (speed(lane.speed) for lane in race.lanes)
        same += SEPARATOR + tr("Proof", "by speed: {plain} and {other}").format(
            **dict(zip(("plain", "other"), both, strict=True))
        )
    return same + SEPARATOR + times(race.speedup)


def ended_words(run: CompareRun) -> str:
    report = run.report
    if run.status not in ("done", "cancelled"):
        return ""
    if report is None or not any(way.replies for way in report.ways):
        return tr("Proof", "Cancelled before anything was measured.")
    size = tr("Proof", "{turns} runs of up to {tokens} tokens, prompt of {prompt} tokens")
    if report.repeats == 1:
        size = tr("Proof", "one run of up to {tokens} tokens, prompt of {prompt} tokens")
    words = size.format(turns=report.repeats, tokens=report.max_tokens, prompt=number(report.prompt_tokens))
    if run.status == "cancelled":
        return tr("Proof", "Cancelled. Partial figures from {size}.").format(size=words)
    return tr("Proof", "Medians of {size}.").format(size=words)


def between(values: Spread | None) -> str:
    """Return the range of half of the runs: 50–53."""
    if values is None:
        return ""
    digits = 1 if values.high < 10 else 0
    return tr("Proof", "half of the runs: {low}–{high}").format(
        low=number(values.low, digits), high=number(values.high, digits)
    )


def speed_words(way: WayFigures | None) -> str:
    """Return the speed of a way: 41 tok/s."""
    return speed(None if way is None or way.tokens_per_second is None else way.tokens_per_second.median)


def speedup_words(way: WayFigures | None) -> str:
    """Return the speedup: 1.37×."""
    return f"{UNKNOWN}×" if way is None or way.speedup is None else f"{number(way.speedup.median, 2)}×"


def outcome_words(way: WayFigures | None) -> str:
    if way is None or way.speedup is None:
        return tr("Proof", "speedup")
    words = {
        "faster": tr("Proof", "the speed of plain decoding"),
        "slower": tr("Proof", "the speed of plain decoding"),
        "level": tr("Proof", "no measurable difference from plain decoding"),
        "unknown": tr("Proof", "too few runs to tell"),
    }[outcome(way)]
    spread = tr("Proof", "half of the runs: {low}–{high}").format(
        low=number(way.speedup.low, 2), high=number(way.speedup.high, 2)
    )
    return words + SEPARATOR + spread


def rounds_words(way: WayFigures | None) -> str:
    """Describe the proposals: 72 % accepted · 3.1 tokens per round."""
    if way is None or way.acceptance_rate is None:
        return ""
    parts = [accepted(way.acceptance_rate)]
    if way.mean_length is not None:
        pattern = tr("Proof", "{length} tokens per round")
        parts.append(pattern.format(length=number(way.mean_length, 1)))
    if way.name == AUTO and way.average_lookahead is not None:
        pattern = tr("Proof", "lookahead {k} on average")
        parts.append(pattern.format(k=number(way.average_lookahead, 1)))
    return SEPARATOR.join(parts)


def verdict_words(found: OutputEquality) -> str:
    patterns = {
        "identical": tr("Proof", "✓ identical, {alike} of {tokens} tokens"),
        "tie": tr(
            "Proof", "✓ identical up to a tie after {alike} of {tokens} tokens: the two best logits differ by {gap}"
        ),
        "different": tr("Proof", "✗ DIFFERENT after {alike} of {tokens} tokens. This is a bug: please report it."),
        "unexamined": tr(
            "Proof",
            "The outputs differ after {alike} of {tokens} tokens; the measurement was cancelled before "
            "the cause was examined.",
        ),
        "drawn": tr("Proof", "✓ same distribution"),
        "none": "",
    }
    gap = "" if found.gap is None else f"{found.gap:.1g}"
    return patterns[found.kind].format(alike=found.alike, tokens=found.tokens, gap=gap)


def verdict_help(found: OutputEquality) -> str:
    """Explain the verdict if it needs an explanation."""
    if found.kind == "drawn":
        return tr(
            "Proof",
            "Tokens are sampled here, so two replies differ, just as two plain replies do. Either way each token "
            "follows the target's own distribution: a proposed token is kept with probability min(1, target / "
            "draft); otherwise a token is sampled from what remains of the target's distribution.",
        )
    if found.kind == "tie":
        return tr(
            "Proof",
            "Batches of different sizes round the last bits differently, so where two tokens are almost equally "
            "likely, either may be chosen. Both outputs are the target's own.",
        )
    return ""


def doubts_words(report: WaysReport | None) -> str:
    """List the reasons to doubt the figures; usually empty."""
    lines = []
    for doubt in doubts(report) if report is not None else ():
        if report is not None and doubt == "busy":
            pattern = tr("Proof", "Other programs used {share} of the processors meanwhile.")
            lines.append(pattern.format(share=percent(report.other_programs)))
        elif report is not None and doubt == "unsteady":
            pattern = tr("Proof", "Plain decoding itself varied by {share} between runs.")
            lines.append(pattern.format(share=percent(report.unsteady)))
        else:
            lines.append(tr("Proof", "Fewer than three runs give only a first impression."))
    return " ".join(lines)


def use_words(lookahead: int | None) -> str:
    """Return the words of the button that sets the picker."""
    if lookahead is None:
        return tr("Proof", "Use the best lookahead")
    return tr("Proof", "Use lookahead {k}").format(k=lookahead)


def best_words(lookahead: int | None, others: list[int]) -> str:
    if lookahead is None:
        return ""
    name = str(lookahead)
    if lookahead == 0:
        name = tr("Proof", "0 (plain decoding)")
    if not others:
        return tr("Proof", "Fastest lookahead: {name}").format(name=name)
    pattern = tr(
        "Proof", "Lookahead {name} has the highest median speedup, but its lead over {others} is within the spread"
    )
    return pattern.format(name=name, others=_ranges(sorted(others)))


def _ranges(numbers: list[int]) -> str:
    """Return rising whole numbers, three or more in a row as a range: 0, 2–5, 8."""
    runs: list[list[int]] = []
    for each in numbers:
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
