"""The frozen program against the run from source, on the same machine: tokens/s, prompt speed, time to the first paint.

    make bench ARGS="frozen [--parts speed,paint] [--models demo,shared,random,q8_0,q4_0,f16] [--pairs N]"

Both sides take turns, and who begins changes from pair to pair; a ratio is the median over the pairs. *speed*: one
process of the engine's command line a run, which answers a conversation: its first turn does not count, two replies
are timed (six of small models, which are quick), then a long prompt. The models: *demo* (the bundled pair), *shared*
(small models of other people, where there are), *random* (503 M random weights), *q8_0*, *q4_0* and *f16* (the grown
demo target with the demo draft). *paint*: the window's own smoke test tells when it was first painted, after a start
from warm files, and from cold ones: the system is told to forget each file that the side is made of (Linux; what
another process has mapped stays warm).

The musts: tokens/s at least 0.97 of the source run's, the first paint at most 1.5 times as late.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from time import sleep
from typing import Any, TypeVar

import psutil

from benchmarks.machine import Quiet
from engine import bundled_pair
from engine.errors import GrowthError
from engine.growth.grown import grown_target
from engine.system.machine import describe_machine
from helpers import xvfb
from helpers.models.random_model import HALF_BILLION, write_random_model
from helpers.paths import ROOT, SHARED_MODELS

MUST_SPEED, MUST_PAINT = 0.97, 1.5
FOLDER = ROOT / "build" / "bench"
_STORIES = ("a shy dragon", "a lonely lighthouse", "a small boat", "a dog that sings", "a lost key", "a kind robot")
_LONG = "the story of a dog and a boat " * 10
_PARTS = ("speed", "paint")
_MODELS = ("demo", "shared", "random", "q8_0", "q4_0", "f16")
_RUN_S = 900.0
T = TypeVar("T")


class NotMeasured(Exception):
    """A side did not run; the message says how it ended."""


@dataclass(frozen=True)
class Side:
    """One of the two: the commands for the window and for the engine, and the folders of the files it is made of."""

    name: str
    window: tuple[str, ...]
    engine: tuple[str, ...]
    folders: tuple[Path, ...]


@dataclass(frozen=True)
class Case:
    """What is timed: a target, perhaps with a draft, on how many threads."""

    name: str
    target: Path
    draft: Path | None
    threads: int = 1

    def arguments(self, tokens: int, folder: Path) -> list[str]:
        """For the engine's command line; `folder` is for the file with the conversation."""
        stories = _STORIES if self.threads == 1 else _STORIES[:2]
        turns = ["Hello!", *(f"Tell me a story about {what}." for what in stories), _LONG]
        messages = folder / f"{len(turns)}-turns.json"
        messages.write_text(json.dumps([{"role": "user", "content": turn} for turn in turns]), encoding="utf-8")
        draft = ["--draft", "none"] if self.draft is None else ["--draft", str(self.draft), "--lookahead", "4"]
        limits = ["--threads", str(self.threads), "--max-tokens", str(tokens), "--messages", str(messages)]
        return ["generate", "--json", "--target", str(self.target), *draft, *limits]


@dataclass(frozen=True)
class Run:
    """One process: tokens/s over the timed replies, prompt tokens/s, and the tokens, to compare."""

    speed: float
    prompt_speed: float
    tokens: list[list[int]]


def main() -> int:
    """Measure and print. 0: the musts are met, 1: they are not, 2: it could not be measured."""
    args = _parse()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outrider-bench-")))
        try:
            report = _measure(_sides(args.program), args, folder)
        except (NotMeasured, GrowthError) as error:
            print(error, file=sys.stderr)
            return 2
    print(json.dumps(report) if args.json else _tables(report))
    return 0 if all(row["met"] for row in (*report["speed"], *report["paint"])) else 1


def _parse() -> argparse.Namespace:
    def listed(names: tuple[str, ...]) -> Callable[[str], list[str]]:
        def parse(text: str) -> list[str]:
            found = text.split(",")
            if not set(found) <= set(names):
                raise argparse.ArgumentTypeError(f"of {', '.join(names)}")
            return found

        return parse

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--program", type=Path, default=ROOT / "dist" / "outrider" / "outrider", metavar="FILE", help="the frozen one")
    add("--parts", type=listed(_PARTS), default=list(_PARTS), metavar="PART,…")
    add("--models", type=listed(_MODELS), default=list(_MODELS[:-1]), metavar="NAME,…", help="all but f16")
    add("--pairs", type=int, default=7, metavar="N", help="runs of each side for each figure (7)")
    add("--tokens", type=int, default=64, metavar="N", help="of each timed reply at most (64)")
    add("--threads", type=int, default=2, metavar="N")
    add("--patience", type=float, default=600.0, metavar="S", help="to wait for other programs, in all (600)")
    add("--json", action="store_true")
    return parser.parse_args()


def _sides(program: Path) -> tuple[Side, Side]:
    engine = program.with_name(f"outrider-engine{program.suffix}")
    for path in (program, engine):
        if not path.is_file():
            raise NotMeasured(f"There is no {path}: build it with `make dist`, or name another with --program.")
    source = tuple(ROOT / name for name in ("app", "engine", "resources"))
    python = (Path(sys.prefix), Path(sysconfig.get_path("stdlib")))
    return (
        Side("frozen", (str(program),), (str(engine),), (program.resolve().parent,)),
        Side("source", (sys.executable, "-m", "app"), (sys.executable, "-m", "engine"), (*source, *python)),
    )


def _measure(sides: tuple[Side, Side], args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    environment = os.environ | {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    quiet = Quiet(args.patience)
    report: dict[str, Any] = {
        "machine": describe_machine(),
        "threads": args.threads,
        "pairs": args.pairs,
        "busy_before_percent": psutil.cpu_percent(interval=3.0),
        "modules": {side.name: _processor_module(side, environment) for side in sides},
        "speed": [],
        "paint": [],
    }
    if "speed" in args.parts:
        for case in _cases(args):
            report["speed"].append(_speed(case, sides, args, environment, quiet, folder))
    if "paint" in args.parts:
        report["paint"] = list(_paints(sides, args, environment, quiet))
    return report | {"repeated": quiet.repeated, "others": quiet.others}


def _cases(args: argparse.Namespace) -> Iterator[Case]:
    target, draft = bundled_pair()
    shared = SHARED_MODELS / "gguf"
    for name in args.models:
        if name == "demo":
            yield Case("demo target", target, None)
            yield Case("demo pair", target, draft)
        elif name == "shared" and shared.is_dir():
            for kind in ("F32", "Q8_0", "Q4_0"):
                yield Case(f"stories260K {kind}", shared / f"stories260K-{kind}.gguf", None)
            small = shared / "stories-draft43K-F32.gguf"
            yield Case("stories260K F32 with draft", shared / "stories260K-F32.gguf", small)
        elif name == "random":
            path = FOLDER / f"random-{HALF_BILLION.parameters // 10**6}M-Q8_0.gguf"
            if not path.exists():
                FOLDER.mkdir(parents=True, exist_ok=True)
                write_random_model(path, HALF_BILLION)
            yield Case("503 M random, Q8_0", path, None, args.threads)
        elif name != "shared":
            path = grown_target(name, say=_say)
            yield Case(f"grown target {name}", path, None, args.threads)
            yield Case(f"grown target {name} with draft", path, draft, args.threads)


# Speed ----------------------------------------------------------------------------------------------------------------


def _speed(
    case: Case,
    sides: tuple[Side, Side],
    args: argparse.Namespace,
    environment: dict[str, str],
    quiet: Quiet,
    folder: Path,
) -> dict[str, Any]:
    """One row: the figures of both sides, and their ratios pair by pair."""
    arguments = case.arguments(args.tokens, folder)

    def work(side: Side) -> Run:
        return _generate([*side.engine, *arguments], environment)

    for side in sides:
        # The models are judged and the files read once, which does not count.
        work(side)
    frozen, source = _in_turns(sides, args.pairs, lambda side: quiet.measure(lambda: work(side)))
    ratios = [mine.speed / other.speed for mine, other in zip(frozen, source, strict=True)]
    prompt = [mine.prompt_speed / other.prompt_speed for mine, other in zip(frozen, source, strict=True)]
    row = {
        "name": case.name,
        "frozen": [run.speed for run in frozen],
        "source": [run.speed for run in source],
        "ratios": ratios,
        "prompt_frozen": [run.prompt_speed for run in frozen],
        "prompt_source": [run.prompt_speed for run in source],
        "prompt_ratios": prompt,
        "same_text": sum(mine.tokens == other.tokens for mine, other in zip(frozen, source, strict=True)),
        "met": median(ratios) >= MUST_SPEED,
    }
    _say(f"{case.name}: {median(ratios):.3f}, prompt {median(prompt):.3f}")
    return row


def _generate(command: list[str], environment: dict[str, str]) -> Run:
    replies = [json.loads(line) for line in _output(command, environment).splitlines()]
    timed, last = replies[1:-1], replies[-1]
    emitted = sum(reply["stats"]["emitted"] for reply in timed)
    ms = sum(reply["stats"]["total_ms"] - reply["stats"]["prompt_ms"] for reply in timed)
    prompt = 1000.0 * last["prompt_evaluated"] / last["stats"]["prompt_ms"]
    return Run(1000.0 * emitted / ms, prompt, [reply["tokens"] for reply in replies])


def _in_turns(sides: tuple[Side, Side], pairs: int, work: Callable[[Side], T]) -> tuple[list[T], list[T]]:
    found: dict[str, list[T]] = {side.name: [] for side in sides}
    for number in range(pairs):
        for side in sides if number % 2 == 0 else sides[::-1]:
            found[side.name].append(work(side))
    return found[sides[0].name], found[sides[1].name]


def _output(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_RUN_S, check=False)
    if done.returncode != 0:
        raise NotMeasured(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


def _processor_module(side: Side, environment: dict[str, str]) -> str:
    """Which of llama.cpp's processor modules the side has mapped while it writes; before, each is tried in turn."""
    command = [*side.engine, "generate", "--json", "Tell me a story about a shy dragon."]
    found: set[str] = set()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            with suppress(OSError):
                lines = Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8").splitlines()
                found = {Path(line.split()[-1]).name for line in lines if "ggml-cpu" in line} or found
            sleep(0.01)
    return ", ".join(sorted(found)) or "unknown"


# First paint ----------------------------------------------------------------------------------------------------------


def _paints(
    sides: tuple[Side, Side], args: argparse.Namespace, environment: dict[str, str], quiet: Quiet
) -> Iterator[dict[str, Any]]:
    """A row for each display, warm and cold."""
    with ExitStack() as stack:
        displays = {"offscreen": environment | {"QT_QPA_PLATFORM": "offscreen"}}
        if xvfb.available():
            display = stack.enter_context(xvfb.x_server())
            plain = {name: value for name, value in environment.items() if name != "WAYLAND_DISPLAY"}
            displays["Xvfb"] = plain | {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        for name, variables in displays.items():
            for side in sides:
                _first_paint(side, variables)
            warm = partial(_first_paint_when_quiet, environment=variables, quiet=quiet, cold=False)
            yield _paint(f"{name}, warm", sides, args.pairs, warm)
        if hasattr(os, "posix_fadvise"):
            last = list(displays)[-1]
            cold = partial(_first_paint_when_quiet, environment=displays[last], quiet=quiet, cold=True)
            yield _paint(f"{last}, cold", sides, args.pairs, cold)


def _paint(name: str, sides: tuple[Side, Side], pairs: int, work: Callable[[Side], float]) -> dict[str, Any]:
    frozen, source = _in_turns(sides, pairs, work)
    ratios = [mine / other for mine, other in zip(frozen, source, strict=True)]
    _say(f"first paint, {name}: {median(ratios):.3f}")
    return {
        "name": name,
        "frozen": frozen,
        "source": source,
        "ratios": ratios,
        "met": median(ratios) <= MUST_PAINT,
    }


def _first_paint_when_quiet(side: Side, environment: dict[str, str], quiet: Quiet, *, cold: bool) -> float:
    def work() -> float:
        if cold:
            _forget_files(side)
        return _first_paint(side, environment)

    return quiet.measure(work)


def _first_paint(side: Side, environment: dict[str, str]) -> float:
    """Milliseconds from the start of the process, as the program tells it."""
    report = json.loads(_output([*side.window, "--smoke-test"], environment))
    return float(report["first_paint_ms"])


def _forget_files(side: Side) -> None:
    """Have the system read the side's files from the disk next time."""
    for folder in side.folders:
        for path in folder.rglob("*"):
            if path.is_symlink() or not path.is_file():
                continue
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


# Tables ---------------------------------------------------------------------------------------------------------------


def _tables(report: dict[str, Any]) -> str:
    busy = sum(share > Quiet.limit for share in report["others"])
    modules = ", ".join(f"{name} {module}" for name, module in report["modules"].items())
    where = (
        f"{report['threads']} threads (the small models 1), {report['pairs']} pairs in turns, medians (middle half). "
        f"llama.cpp's module for the processor: {modules}. During {busy} of {len(report['others'])} runs other "
        "programs took more than 5 % of the processors."
    )
    lines = ["## The frozen program against the run from source", "", where]
    if report["speed"]:
        lines += [
            "",
            f"The must is a ratio of the tokens/s of at least {MUST_SPEED}.",
            "",
            "| model | tokens/s: frozen | source | ratio | prompt tokens/s: frozen | source | ratio | same text |",
            "|---|---|---|---|---|---|---|---|",
        ]
    for row in report["speed"]:
        cells = [_shown(row[key], 1) for key in ("frozen", "source")] + [_verdict(row)]
        cells += [_shown(row[key], 0) for key in ("prompt_frozen", "prompt_source")]
        cells += [_shown(row["prompt_ratios"], 3), f"{row['same_text']} of {len(row['ratios'])}"]
        lines.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    if report["paint"]:
        lines += [
            "",
            f"The must is a ratio of at most {MUST_PAINT}.",
            "",
            "| first paint | frozen, ms | source, ms | ratio |",
            "|---|---|---|---|",
        ]
    for row in report["paint"]:
        cells = [_shown(row[key], 0) for key in ("frozen", "source")] + [_verdict(row)]
        lines.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _verdict(row: dict[str, Any]) -> str:
    return _shown(row["ratios"], 3) + ("" if row["met"] else ", NOT met")


def _shown(values: list[float], digits: int) -> str:
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{median(values):.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
