"""Measure the cost of a draft token and of a target forward of n tokens here, and derive the lookahead from them.

With --json one JSON object on a line:
{"target": {"name", "path"}, "draft": {"name", "path"} | null, "machine": {…}, "device",
 "draft_device": as device | null,
 "batch_invariant": whether the target's logits were found not to depend on how many tokens are computed at once | null,
 "threads",
 "draft_threads": n | null, "threads_asked": n | null (each model has what is quickest), "context_length",
 "source": "measured" | "remembered", "seconds": of measuring | null, "kept": path | null,
 "verify": [{"tokens", "ms", "times_of_one", "ms_per_token"}…] of the measured sizes, the smallest first,
 "draft_ms": of one draft token | null, "draft_ratio": draft_ms / ms of one target token | null,
 "expected": [{"acceptance", "lookahead", "speedup"}…],
 "warnings": sentences on how the models were loaded, and on the pair}
"expected" is worked out, not measured: the fixed lookahead of the most tokens per second where each draft token is
accepted with this chance, and its speedup against plain decoding. Without a draft model proposals cost nothing there.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from engine.backends.base import Backend
from engine.bench.figures import count_threads
from engine.cancel import CancelToken
from engine.cli.cancellable import run_cancellable
from engine.cli.common import add_loading_options, load_named, shown_in
from engine.decoder import SpeculativeDecoder
from engine.errors import BackendFailure, Cancelled, InvalidRequest, PairWarning
from engine.lookahead.calibration import calibrate, free_models
from engine.lookahead.costs import CostModel
from engine.lookahead.knowledge import costs_key, costs_place, recall, remember, remembered
from engine.system.machine import describe_machine

ACCEPTANCES = (0.5, 0.6, 0.7, 0.8, 0.9)
_BUDGET_S = 10.0
_MOST_BUDGET_S = 3600.0


@dataclass(frozen=True, slots=True)
class _Result:
    """Hold the costs; seconds of measuring, None if they were remembered; where they are kept, None: nowhere."""

    costs: CostModel
    seconds: float | None
    kept: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `calibrate`."""
    add = parser.add_argument
    add("-m", "--target", metavar="T", help="as for generate (default: the bundled pair)")
    add("-d", "--draft", metavar="D", help="like --target, or none")
    add_loading_options(add)
    add(
        "--budget",
        type=float,
        metavar="S",
        default=_BUDGET_S,
        help=f"measuring time in seconds (default: {_BUDGET_S:g})",
    )
    add("--fresh", action="store_true", help="measure again instead of using the stored result")
    add("--json", action="store_true", help="print one JSON object instead of tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Load the models, measure or remember their costs, and print them. Gives the exit code."""
    if not 0.0 < args.budget <= _MOST_BUDGET_S:
        raise InvalidRequest(f"The budget must be above 0 and at most {_MOST_BUDGET_S:g} seconds, not {args.budget:g}.")
    cancel = CancelToken()
    status = Console(stderr=True)

    def work() -> int:
        with _load(args, status, cancel) as decoder:
            result = _costs(decoder, args, status, cancel)
            report = make_report(decoder, result)
            for warning in decoder.warnings:
                status.print(f"outrider-engine: {warning}", highlight=False, markup=False, soft_wrap=True)
        if args.json:
            sys.stdout.write(json.dumps(report) + "\n")
        else:
            _print(report, result, Console())
        return 0

    return run_cancellable(work, cancel)


def _load(args: argparse.Namespace, console: Console, cancel: CancelToken) -> SpeculativeDecoder:
    """Load the named models. Without names it is the bundled pair."""
    draft = "demo" if args.target is None and args.draft is None else args.draft
    with console.status("Loading…") as status, warnings.catch_warnings():
        warnings.simplefilter("ignore", PairWarning)
        named = None if draft in (None, "none") else draft
        return load_named(args, args.target or "demo", named, progress=shown_in(status), cancel=cancel)


def _costs(decoder: SpeculativeDecoder, args: argparse.Namespace, console: Console, cancel: CancelToken) -> _Result:
    loaded = _loaded(decoder)
    models = {"target": (loaded, decoder.config_of("target")), "draft": (decoder.draft, decoder.config_of("draft"))}
    key, free = costs_key(models), free_models(models)
    known = None if key is None or args.fresh else recall(key, free)
    if known is not None and key is not None:
        return _Result(known, None, costs_place(key))
    if cancel.cancelled:
        raise Cancelled
    with console.status(f"Measuring, {args.budget:g} seconds at most…"):
        began = perf_counter()
        costs = calibrate(loaded, decoder.draft, budget_s=args.budget, cancel=cancel, free=free)
        seconds = perf_counter() - began
    if not costs.measured:
        raise BackendFailure("its context is too short for a measurement")
    if key is not None:
        remember(key, costs, threads={part: backend.threads for part, backend in free.items()})
    kept = None if key is None or remembered(key) is None else costs_place(key)
    return _Result(costs, seconds, kept)


def _loaded(decoder: SpeculativeDecoder) -> Backend:
    if decoder.target is None:
        raise BackendFailure("it was closed")
    return decoder.target


# Report -------------------------------------------------------------------------------------------------------------


def best_lookahead(costs: CostModel, acceptance: float, *, drafted: bool) -> tuple[int, float]:
    """Return the fixed lookahead of the most expected tokens per second, and its expected speedup.

    Each draft token is accepted with the chance `acceptance`, given those before it. `drafted`: a draft model proposes,
    so that a proposal costs time too. Looks no further than the largest measured size reaches.
    E[tokens] / (v(K + 1) + K · c), see ARCHITECTURE.md, *Lookahead*.
    """
    one, each = costs.verify(1), costs.draft() if drafted else 0.0
    best, speedup = 0, 1.0
    expected, kept = 1.0, 1.0
    for lookahead in range(1, max(costs.measured, default=1)):
        kept *= acceptance
        expected += kept
        gain = expected * one / (costs.verify(lookahead + 1) + lookahead * each)
        if gain > speedup:
            best, speedup = lookahead, gain
    return best, speedup


def make_report(decoder: SpeculativeDecoder, result: _Result) -> dict[str, Any]:
    """Make the object that --json prints (see the module)."""
    loaded, costs = _loaded(decoder), result.costs
    target, draft = decoder.config_of("target"), decoder.config_of("draft")
    one = costs.verify(1)
    drafted = draft is not None and costs.knows_draft
    expected = []
    for acceptance in ACCEPTANCES:
        lookahead, speedup = best_lookahead(costs, acceptance, drafted=drafted)
        expected.append({"acceptance": acceptance, "lookahead": lookahead, "speedup": round(speedup, 4)})
    return {
        "target": {"name": loaded.name, "path": None if target is None else str(target.path)},
        "draft": None
        if decoder.draft is None or draft is None
        else {"name": decoder.draft.name, "path": str(draft.path)},
        "machine": describe_machine(),
        "device": loaded.device,
        "draft_device": None if decoder.draft is None else decoder.draft.device,
        "batch_invariant": loaded.batch_invariant,
        "threads": loaded.threads,
        "draft_threads": None if decoder.draft is None else decoder.draft.threads,
        "threads_asked": None if target is None else target.threads,
        "context_length": loaded.context_length,
        "source": "remembered" if result.seconds is None else "measured",
        "seconds": None if result.seconds is None else round(result.seconds, 3),
        "kept": None if result.kept is None else str(result.kept),
        "verify": [
            {"tokens": n, "ms": round(ms, 5), "times_of_one": round(ms / one, 4), "ms_per_token": round(ms / n, 5)}
            for n, ms in costs.measured.items()
        ],
        "draft_ms": round(costs.draft(), 5) if drafted else None,
        "draft_ratio": round(costs.draft() / one, 5) if drafted else None,
        "expected": expected,
        "warnings": list(decoder.warnings),
    }


def _print(report: dict[str, Any], result: _Result, console: Console) -> None:
    names = escape(report["target"]["name"] + (f" with {report['draft']['name']}" if report["draft"] else ""))
    measured = "stored earlier" if result.seconds is None else f"measured in {result.seconds:.1f} s"
    threads = count_threads(report["threads"])
    if report["draft_threads"] is not None:
        threads += f", the draft {count_threads(report['draft_threads'])}"
    if report["threads_asked"] is not None:
        threads += " (as requested)"
    console.print(f"{names} · {report['device']}, {threads} · {measured}", highlight=False, soft_wrap=True)
    if report["batch_invariant"] is False:
        console.print(
            "Not batch-invariant: a greedy reply with a draft may part from plain decoding at near ties.",
            highlight=False,
            soft_wrap=True,
        )
    table = Table("Tokens", "ms", "Relative to 1", "ms per token", title="Target forward pass")
    for row in report["verify"]:
        table.add_row(
            str(row["tokens"]), f"{row['ms']:.2f}", f"{row['times_of_one']:.2f}×", f"{row['ms_per_token']:.2f}"
        )
    for column in table.columns:
        column.justify = "right"
    console.print(table)
    if report["draft_ms"] is not None:
        console.print(
            f"One draft token: {report['draft_ms']:.2f} ms, {report['draft_ratio']:.3f}× a target token",
            highlight=False,
            soft_wrap=True,
        )
    _print_expected(report, console)
    if result.kept is not None:
        hint = " (--fresh measures again)" if result.seconds is None else ""
        console.print(f"Stored in {escape(str(result.kept))}{hint}", highlight=False, soft_wrap=True)


def _print_expected(report: dict[str, Any], console: Console) -> None:
    whose = "Best fixed lookahead" if report["draft"] else "Best fixed lookahead for proposals without cost"
    table = Table("Acceptance rate", "Lookahead", "Expected speedup", title=f"{whose}, expected")
    for row in report["expected"]:
        plain = row["lookahead"] == 0
        table.add_row(
            f"{100 * row['acceptance']:.0f} %",
            "0 (plain)" if plain else str(row["lookahead"]),
            f"{row['speedup']:.2f}×",
        )
    for column in table.columns:
        column.justify = "right"
    console.print(table)
