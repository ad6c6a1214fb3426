"""Print the report of `bench` as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from engine.bench.figures import called, count_threads
from engine.bench.prompts import ALL
from engine.bench.runs import AUTO, PLAIN
from engine.methods import PARTS

_Spread = Mapping[str, float] | None
_FEW = 100.0
"""The speed from which on speeds are shown without decimals."""


def print_report(report: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the tables and the notes of a report."""
    out = console or Console()
    for line in _head(report):
        out.print(line, highlight=False, markup=False)
    out.print(_speed_table(report))
    if set(report["categories"]) - {ALL}:
        out.print(_categories_table(report["categories"], list(report["ways"])))
    out.print(_prompt_table(report["ways"]))
    for note in report["notes"]:
        out.print(f"· {_clean(note)}", highlight=False, markup=False)


def _head(report: Mapping[str, Any]) -> list[str]:
    machine, memory, settings = report["machine"], report["memory"], report["settings"]
    models = [_model(report[part]) for part in PARTS if report[part] is not None]
    temperature = settings["sampling"]["temperature"]
    how = "greedy" if temperature == 0 else f"temperature {temperature:g}"
    turns = "1 run" if settings["repeats"] == 1 else f"{settings['repeats']} runs"
    size = f"{len(report['prompts'])} prompts, {turns}, up to {settings['max_tokens']} tokens"
    loaded, at_end = (memory[key] / 2**20 for key in ("loaded", "at_end"))
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    lines = [
        " ← ".join(models),
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}",
        f"Outrider {report['version']}, Python {machine['python']}, {libraries}",
        f"loaded in {report['load_s']:.1f} s; memory: {loaded:,.0f} MiB after loading, {at_end:,.0f} MiB at the end",
        f"{len(report['replies'])} replies ({how}): {size}",
    ]
    if report["partial"]:
        lines.append("PARTIAL: the measurement was cancelled; these are the finished replies.")
    return [_clean(line) for line in lines]


def _model(model: Mapping[str, Any]) -> str:
    return f"{model['name']} ({model['parameters'] / 1e6:,.1f} M weights, {count_threads(model['threads'])})"


def _speed_table(report: Mapping[str, Any]) -> Table:
    best = report["best_fixed"]
    table = _table(
        "Speed: median, and below it the interquartile range of all replies",
        "speedup: against the plain reply to the same prompt in the same run; range: minimum to maximum of both",
        ("lookahead", "tokens/s", "speedup", "range", "acceptance\nrate", "mean\nlength"),
    )
    for name, row in report["ways"].items():
        marked = best is not None and name == best["way"] and not best["not_told_apart"]
        speed, speedup = row["tokens_per_second"], row["speedup"] if name != PLAIN else None
        table.add_row(
            _label(name, row) + ("\n[green]best fixed[/green]" if marked else ""),
            _with_middle_half(speed),
            _with_middle_half(speedup) if name != PLAIN else "1",
            "\n".join(_range(values, "least", "most") for values in (speed, speedup) if values is not None),
            _percent(row["acceptance_rate"]),
            "" if row["mean_length"] is None else f"{row['mean_length']:.2f}",
        )
    return table


def _prompt_table(ways: Mapping[str, Any]) -> Table:
    table = _table(
        "Reading the prompt with empty caches: median and interquartile range",
        "",
        ("lookahead", "tokens/s", "interquartile", "first token (ms)", "interquartile"),
    )
    for name, row in ways.items():
        cells: list[str] = []
        for values in (row["prompt_tokens_per_second"], row["first_token_ms"]):
            cells += ["", ""] if values is None else [_number(values["median"]), _range(values, "low", "high")]
        table.add_row(name, *cells)
    return table


def _table(title: str, caption: str, columns: Sequence[str]) -> Table:
    """Return a table whose first column holds names, the others figures."""
    table = Table(title=title, title_justify="left", caption=caption or None, caption_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def _label(name: str, row: Mapping[str, Any]) -> str:
    average = row["average_lookahead"]
    return f"{name}\n[dim]{average:.1f} on average[/dim]" if name == AUTO and average is not None else name


def _categories_table(categories: Mapping[str, Any], ways: list[str]) -> Table:
    table = _table(
        "Speedup and acceptance rate by category",
        "green: the best fixed lookahead, where its lead exceeds the spread",
        ("lookahead", *(escape(_clean(name)) for name in categories)),
    )
    for way in ways[1:]:
        table.add_row(way, *(_category_cell(summary, way) for summary in categories.values()))
    if AUTO in ways:
        table.add_section()
        table.add_row("auto / best", *(_auto_cell(summary["auto_to_best"]) for summary in categories.values()))
    return table


def _category_cell(summary: Mapping[str, Any], way: str) -> str:
    row, best = summary["ways"][way], summary["best_fixed"]
    if row["speedup"] is None:
        return ""
    speedup = f"{row['speedup']['median']:.2f}"
    if best is not None and best["way"] == way and not best["not_told_apart"]:
        speedup = f"[green]{speedup}[/green]"
    rate = _percent(row["acceptance_rate"])
    return f"{speedup} [dim]{rate:>5}[/dim]" if rate else speedup


def _auto_cell(auto: Mapping[str, Any] | None) -> str:
    return (
        "" if auto is None else f"{auto['ratio']['median']:.2f} [dim]of {called(auto['way']).partition(' ')[0]}[/dim]"
    )


def _with_middle_half(values: _Spread) -> str:
    return "" if values is None else f"{_number(values['median'])}\n[dim]{_range(values, 'low', 'high')}[/dim]"


def _range(values: Mapping[str, float], low: str, high: str) -> str:
    return f"{_number(values[low])}–{_number(values[high])}"


def _number(value: float) -> str:
    if value >= _FEW**2:
        return f"{value / 1000:,.1f}k"
    return f"{value:,.0f}" if value >= _FEW else f"{value:.1f}" if value >= _FEW / 10 else f"{value:.2f}"


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{100 * rate:.0f} %"


def _clean(text: str) -> str:
    """Return a text in which names from files may stand, on one line and without odd bytes."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
