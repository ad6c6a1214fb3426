"""Check a graphics card's requirements and tabulate the figures of card.py."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.backends.llama_cpp import library
from engine.config import MAX_LOOKAHEAD

SIZES = range(1, MAX_LOOKAHEAD + 2)
PLACES_OF_TARGET = ("on the card", "shared, 8 layers on the card", "on the processor")
TESTS = "tests/engine/backends/test_cards.py"
_SHOWN = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 24, 32, 33)


def find_musts(report: Mapping[str, Any]) -> dict[str, bool]:
    """Return a card's requirements, each with True if it is met."""
    places, pairs = report["places"], report["pairs"].values()
    reports = [way for pair in pairs for way in pair["ways"].values()]
    *on_card, beside = (places[name] for name in PLACES_OF_TARGET)
    musts = {
        "the card computes, and kernels of this project do not": all(
            found["device"] != "cpu" and not found["own_kernels"] for found in on_card
        ),
        "a row that depends on the others is detected when the model is loaded": all(
            bool(found["noted_difference"]) == any(found["differences"].values()) for found in places.values()
        ),
        "no greedy reply with a draft is different from the plain one, but at near-ties": not any(
            found["equal"]["different"] or found["equal"]["not_examined"] for found in reports
        ),
    }
    musts["beside the card the processor computes, as where there is none"] = (
        beside["device"] == "cpu" and beside["own_kernels"] == library.computes_alike()
    )
    if beside["own_kernels"]:
        musts["beside the card a row never depends on the others"] = not any(beside["differences"].values())
    if report["tests"] is not None:
        musts["the tests for cards pass"] = "passed" in report["tests"] and "failed" not in report["tests"]
    return musts


def show(report: Mapping[str, Any], musts: Mapping[str, bool]) -> str:
    """Write the figures as Markdown."""
    lines = ["## A graphics card", "", f"{', '.join(report['cards'])}."]
    if report["tests"] is not None:
        lines += ["", f"`{TESTS}`: {report['tests']}."]
    lines += ["", "| target | device | kernels | loaded in | a token | a row alone and as one of n |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [_place_row(name, found) for name, found in report["places"].items()]
    for name, found in report["pairs"].items():
        lines += ["", *_cost_table(name, found["costs"]), "", *_way_table(found["ways"])]
    lines += ["", *(f"- {name}: {'met' if met else 'NOT met'}" for name, met in musts.items())]
    return "\n".join(lines)


def _place_row(name: str, found: Mapping[str, Any]) -> str:
    same = [size for size, difference in found["differences"].items() if not difference]
    told = "the same bits at every n" if len(same) == len(SIZES) else f"the same bits at n = {_ranges(same)}, elsewhere"
    largest = max(found["differences"].values())
    apart = "" if len(same) == len(SIZES) else f" up to {largest:.3f} apart"
    kernels = "this project's" if found["own_kernels"] else "llama.cpp's"
    times = f"{found['load_s']:.1f} s | {found['token_ms']:.2f} ms"
    return f"| {name} | {found['device']} | {kernels} | {times} | {told}{apart} |"


def _ranges(sizes: Sequence[int]) -> str:
    """Numbers in a row as 1–4, 9."""
    runs: list[list[int]] = []
    for size in sizes:
        if runs and runs[-1][-1] == size - 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def _cost_table(name: str, costs: Mapping[str, Any]) -> list[str]:
    draft = costs.get("draft")
    token = (
        f" A draft's token: {draft['card']:.2f} ms on the card, {draft['processor']:.2f} ms on the processor."
        if draft
        else ""
    )
    lines = [
        f"**{name}**, {costs['weight_bytes'] / 2**20:,.0f} MiB on the card; milliseconds.{token}",
        "",
        f"| tokens in a forward | {' | '.join(map(str, _SHOWN))} |",
        "|---|" + "---|" * len(_SHOWN),
    ]
    for row, title in (
        ("in_a_row", "the same size again"),
        ("after_another", "after another size"),
        ("calibrated", "as calibrated"),
    ):
        lines.append(f"| {title} | {' | '.join(f'{costs[row][size]:.2f}' for size in _SHOWN)} |")
    return lines


def _way_table(ways: Mapping[str, Any]) -> list[str]:
    names = list(dict.fromkeys(way for report in ways.values() for way in report["ways"]))
    heads = ["where", *(f"{name}" for name in names), "accepted by auto", "greedy replies: same, near-tie, different"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for place, report in ways.items():
        cells = [_speed(report["ways"].get(name)) for name in names]
        rate = report["ways"].get("auto", {}).get("acceptance_rate")
        equal = report["equal"]
        compared = (
            f"{equal['same']}, {equal['parted_at_a_near_tie']}, {equal['different']}" if equal["checked"] else "–"
        )
        lines.append(f"| {place} | {' | '.join(cells)} | {'–' if rate is None else f'{rate:.2f}'} | {compared} |")
    return lines


def _speed(found: Mapping[str, Any] | None) -> str:
    """Tokens/s, and behind it times plain decoding."""
    if found is None or found["tokens_per_second"] is None:
        return "–"
    speedup = "" if found["speedup"] is None else f" ({found['speedup']['median']:.2f})"
    return f"{found['tokens_per_second']['median']:.0f}{speedup}"
