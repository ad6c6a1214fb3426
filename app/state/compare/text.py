"""Write the result of a measurement as plain text for forums, always in English."""

from __future__ import annotations

from app.state.compare.compare import AUTO, PLAIN, OutputEquality, as_lookahead, best_lookahead, rivals, verdict
from app.state.models.names import parameters
from engine import ModelFacts, Spread, WayFigures, WaysReport

_MOST_PROMPT = 200


def compare_text(report: WaysReport, prompt: str) -> str:
    rows = [_compare_row(way) for way in report.ways if way.tokens_per_second is not None]
    lines = [*_head(report, "Outrider: plain against speculative decoding"), "", *rows, "", _outputs(verdict(report))]
    return "\n".join([*lines, *_notes(report), _prompt(prompt)]) + "\n"


def sweep_text(report: WaysReport, prompt: str) -> str:
    lines = [*_head(report, "Outrider: lookahead sweep"), "", f"{'K':>5}  {'tok/s':>7}  {'half of runs':>15}  speedup"]
    for way in report.ways:
        if way.tokens_per_second is not None:
            speed, gain = way.tokens_per_second, way.speedup
            middle = f"{speed.low:.1f}–{speed.high:.1f}"
            times = "" if gain is None else f"{gain.median:.2f}x"
            name = "0" if way.name == PLAIN else way.name
            lines.append(f"{name:>5}  {speed.median:>7.1f}  {middle:>15}  {times}")
    return "\n".join([*lines, "", *_best(report), *_notes(report), _prompt(prompt)]) + "\n"


def _head(report: WaysReport, title: str) -> list[str]:
    pair = [_model(each) for each in (report.target, *report.sources)]
    temperature = report.sampling.temperature
    how = "greedy" if temperature == 0 else f"temperature {temperature:g}"
    lines = [title, "target " + ", draft ".join(pair)]
    if report.repeats is not None:
        size = f"{report.repeats} runs of up to {report.max_tokens} tokens"
        lines.append(f"{how}, {size}, prompt of {report.prompt_tokens} tokens")
    machine = report.machine
    if machine:
        libraries = ", ".join(f"{name} {number}" for name, number in machine["libraries"].items())
        lines.append(
            f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}"
        )
        lines.append(f"Outrider {machine['outrider']}, Python {machine['python']}, {libraries}")
    if report.partial:
        lines.append("PARTIAL: the measurement was cancelled; these are the finished runs.")
    return lines


def _model(model: ModelFacts) -> str:
    size = f"{parameters(model.parameters)}, " if model.parameters else ""
    return f"{model.name} ({size}{model.threads} thread{'' if model.threads == 1 else 's'}, {model.device})"


def way_name(name: str) -> str:
    """Return a way's name: plain, K = 4, auto."""
    return name if as_lookahead(name) in (None, 0) else f"K = {name}"


def _compare_row(way: WayFigures) -> str:
    parts = [f"{way_name(way.name):<8}{_range(way.tokens_per_second)} tok/s"]
    if way.name != PLAIN:
        parts.append(f"speedup {_range(way.speedup, 2)}")
        if way.acceptance_rate is not None:
            parts.append(f"{100 * way.acceptance_rate:.0f} % accepted")
        if way.mean_length is not None:
            parts.append(f"{way.mean_length:.2f} tokens per round")
        if way.name == AUTO and way.average_lookahead is not None:
            parts.append(f"lookahead {way.average_lookahead:.1f} on average")
    return ", ".join(parts)


def _range(values: Spread | None, digits: int = 1) -> str:
    if values is None:
        return "–"
    return f"{values.median:.{digits}f} ({values.low:.{digits}f}–{values.high:.{digits}f})"


def _outputs(found: OutputEquality) -> str:
    of = f"{found.alike} of {found.tokens} tokens"
    gap = "" if found.gap is None else f", {found.gap:.1g} apart"
    return {
        "identical": f"Outputs: identical, {of}.",
        "tie": f"Outputs: identical up to a tie after {of} (the two best logits are too close to call{gap}).",
        "different": f"Outputs: DIFFERENT after {of}. This is a bug.",
        "unexamined": f"Outputs: they differ after {of}; the cause was not examined.",
        "drawn": "Outputs: sampled from the same distribution; the texts differ, as any two replies do.",
        "none": "Outputs: not compared.",
    }[found.kind]


def _best(report: WaysReport) -> list[str]:
    best = best_lookahead(report)
    if best is None:
        return []
    others = rivals(report)
    within = f"; no measurable difference from {', '.join(map(str, others))}" if others else ""
    return [f"Fastest lookahead: {best}{within}."]


def _notes(report: WaysReport) -> list[str]:
    lines = ["Figures are medians; the range is half of the runs."]
    if report.other_programs > 0.0:
        lines.append(f"Other programs used {100 * report.other_programs:.0f} % of the processors meanwhile.")
    if report.unsteady > 0.0:
        lines.append(f"Plain decoding varied by {100 * report.unsteady:.0f} % between runs.")
    return lines


def _prompt(prompt: str) -> str:
    line = " ".join(prompt.split())
    return f"Prompt: {line if len(line) <= _MOST_PROMPT else line[:_MOST_PROMPT] + '…'}"
