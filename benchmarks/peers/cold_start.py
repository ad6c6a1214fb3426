"""Measure the time to the first token: command line, library and window against llama.cpp's server.

    make bench ARGS="cold_start [--models FOLDER] [--turns 5] [--ways cli,library,window] [--cases qwen,smollm2]"

Files are in the page cache. llama.cpp's server takes from the start of its process until it is ready, and from there to
its first token. Ours take from the start of the process to the first token of its reply: `generate` on the command
line, `load` and `stream` in a fresh Python. In the window, which is open, it is from choosing the models to the first
token of a message that is sent at once. Each of ours is measured with an empty cache folder (a first ever start) and
with the folder that this start left. All take turns.

The musts: at most 1.3 times the server, and 2 times with an empty cache folder. Gives 0 if they are met, 1 if not, 2 if
it could not be measured: the models are published ones, in `--models` or the folder that REAL_MODELS names.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory, gettempdir
from time import perf_counter
from typing import Any

from benchmarks.machine import FOLDER, Quiet, say
from benchmarks.peers.llama_programs import NotBuilt, build_server
from benchmarks.peers.server_program import DEFAULT_LOOKAHEAD, Server, ServerFailed, Settings
from engine.library.scan import known_model
from engine.system.machine import physical_cores
from helpers.paths import ROOT

MUSTS = {"later": 1.3, "first": 2.0}
WAYS = ("cli", "library", "window")
PROMPT = "Write a Python function that checks if a number is prime."
_SIDES = Path(__file__).with_name("cold_start_sides.py")
_RUN_S = 180.0
_BYTECODE = Path(gettempdir()) / "outrider-bench-bytecode"
"""Where our modules' bytecode is kept."""


@dataclass(frozen=True)
class Case:
    """Models to start. `files`: prefixes of the target's and the draft's file names."""

    title: str
    files: tuple[str, ...]


CASES = {
    "smollm2": Case("SmolLM2 135M alone", ("SmolLM2-135M",)),
    "qwen": Case("Qwen2.5-Coder 1.5B ← 0.5B", ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")),
}


class NoModels(Exception):
    """There are no models to measure with; the message says which."""


def find_models(folder: Path, case: Case) -> tuple[Path, Path | None]:
    """The target of a case, and its draft if it has one. Raises NoModels."""
    found = []
    for name in case.files:
        files = sorted(folder.glob(f"{name}*.gguf"))
        if not files:
            raise NoModels(f"{folder} has no {name}*.gguf.")
        found.append(files[0])
    return found[0], found[1] if len(found) > 1 else None


def server_ms(program: Path, models: tuple[Path, Path | None]) -> float:
    """Milliseconds from the start of llama.cpp's server to its first token."""
    lookahead = 0 if models[1] is None else DEFAULT_LOOKAHEAD
    context = known_model(models[0]).context_held()  # Ours without an option.
    settings = Settings(*models, lookahead, physical_cores(), context)
    began = perf_counter()
    with Server(program, settings, poll_s=0.005) as server:
        server.first_token(PROMPT)
        return 1000.0 * (perf_counter() - began)


def our_ms(way: str, models: tuple[Path, Path | None], cache: Path) -> float:
    """Milliseconds to the first token of one of our ways, with this cache folder."""
    target, draft = models
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "QT_QPA_PLATFORM": "offscreen"}
    # As an installed program has it: each module's bytecode, kept from the first start on.
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(_BYTECODE)}
    if way == "cli":
        named = ["-m", str(target), *(["-d", str(draft)] if draft else [])]
        command = ["-m", "engine", "generate", *named, "-n", "24", "--temperature", "0", "--quiet", PROMPT]
    else:
        command = [str(_SIDES), way, PROMPT, str(target), *([str(draft)] if draft else [])]
    began = perf_counter()
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        taken = 1000.0 * (perf_counter() - began)
        whole = (first + process.stdout.read()).decode("utf-8", "replace")
    if not first or process.returncode:
        raise RuntimeError(f"{way} ended with {process.returncode}")
    return float(whole.split()[-1]) if way == "window" else taken


def measure(case: Case, models: tuple[Path, Path | None], program: Path, args: argparse.Namespace) -> dict[str, Any]:
    """The figures of a case: milliseconds of the server, and of our ways with their ratios to it."""
    quiet = Quiet(args.patience)
    server: list[float] = []
    ours: dict[str, list[float]] = {f"{way}, {when}": [] for way in args.ways for when in ("first", "later")}
    server_ms(program, models)  # Reads the files into the page cache.
    for way in args.ways:
        with TemporaryDirectory(prefix="outrider-bench-") as cache:
            our_ms(way, models, Path(cache))  # Writes the bytecode.
    for turn in range(args.turns):
        say(f"{case.title}: turn {turn + 1} of {args.turns}")
        server.append(quiet.measure(partial(server_ms, program, models)))
        for way in args.ways:
            with TemporaryDirectory(prefix="outrider-bench-") as cache:
                ours[f"{way}, first"].append(our_ms(way, models, Path(cache)))
                ours[f"{way}, later"].append(quiet.measure(partial(our_ms, way, models, Path(cache))))
    ratios = {name: [mine / other for mine, other in zip(found, server, strict=True)] for name, found in ours.items()}
    return {"title": case.title, "server": server, "ours": ours, "ratios": ratios, "others": max(quiet.others)}


def _must(name: str) -> float:
    return MUSTS[name.rpartition(" ")[2]]


def table(reports: list[dict[str, Any]]) -> str:
    """The figures for people, and for results.md."""
    lines = [
        "## From the start to the first token",
        "",
        (
            "Milliseconds to the first token, in turns with llama.cpp's server (its start until it is ready, and its "
            f"first token). *First*: with an empty cache folder; the musts are {MUSTS['later']} and there "
            f"{MUSTS['first']} times the server."
        ),
    ]
    for report in reports:
        lines += ["", f"{report['title']}; llama.cpp's server {_shown(report['server'], 0)} ms.", ""]
        lines += ["| way | ms | times the server | must |", "|---|---|---|---|"]
        for name, found in report["ours"].items():
            ratio = report["ratios"][name]
            met = "met" if median(ratio) <= _must(name) else "not met"
            lines.append(f"| {name} | {_shown(found, 0)} | {_shown(ratio, 2)} | {_must(name)}: {met} |")
    return "\n".join(lines)


def _shown(values: list[float], digits: int) -> str:
    low, _, high = quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return f"{median(values):,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = os.environ.get("REAL_MODELS") or str(Path.home() / ".cache" / "real-models")
    parser.add_argument("--models", type=Path, default=Path(usual), metavar="FOLDER", help="with published models")
    parser.add_argument("--cases", type=lambda text: text.split(","), default=[*CASES], metavar="NAME,…")
    parser.add_argument("--ways", type=lambda text: text.split(","), default=[*WAYS], metavar="NAME,…")
    parser.add_argument("--turns", type=int, default=5, metavar="N")
    parser.add_argument("--server", type=Path, metavar="PROGRAM", help="another llama-server than that built here")
    parser.add_argument("--patience", type=float, default=60.0, metavar="S", help="to wait for other programs, a case")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    if not set(args.cases) <= set(CASES) or not set(args.ways) <= set(WAYS) or args.turns < 1:
        parser.error(f"cases are {', '.join(CASES)}, ways {', '.join(WAYS)}; there must be a turn")
    try:
        found = {name: find_models(args.models, CASES[name]) for name in args.cases}
        program = args.server or build_server(FOLDER)
        reports = [measure(CASES[name], models, program, args) for name, models in found.items()]
    except (NoModels, NotBuilt, ServerFailed) as error:
        print(f"Cold starts could not be measured: {error}", file=sys.stderr)
        return 2
    print(json.dumps(reports) if args.json else table(reports))
    ratios = [(name, median(ratio)) for report in reports for name, ratio in report["ratios"].items()]
    return 0 if all(ratio <= _must(name) for name, ratio in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
