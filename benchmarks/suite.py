"""All benchmarks, one after the other, each in a process of its own; writes results.md.

    make bench                                        all of it, a quarter of an hour on two cores
    make bench ARGS="suite --only overhead,real"      these parts; the other sections of results.md stay
    make bench ARGS="suite --quick"                   a short look at each part, which is printed and not kept
    make bench ARGS="suite --list"                    the parts, their commands and about how long they take

The parts of published models run only where `--only` names them.

A part that cannot be measured here says so in its section, and the others go on; sections are written as they come, the
file always whole. Gives 0 if everything was measured and all musts are met, 1 if a must is not met, 2 if a part was not
measured.
"""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import psutil

from benchmarks import results
from benchmarks.machine import FOLDER, has_own_kernels
from benchmarks.results import Setting
from engine.system.machine import describe_machine
from helpers.paths import ROOT

RUN, SECTIONS = Path(__file__).with_name("run.py"), FOLDER / "sections"
MEASURED, MUST_NOT_MET, NOT_MEASURED = 0, 1, 2
CANCELLED = 130


@dataclass(frozen=True)
class Part:
    """One section: its name, its title if it could not be measured, and the benchmark with its options.

    `quick`: options for a short look. `minutes`: about how long it takes on two cores. `memory_gib`, `disk_gib`: what
    must be free; models that have yet to be grown see to their own room. `named`: it takes long, so that it runs only
    where `--only` names it; its section stays until then.
    """

    name: str
    title: str
    options: str
    quick: str
    minutes: float
    memory_gib: float = 1.0
    disk_gib: float = 0.5
    named: bool = False

    def command(self, options: str) -> str:
        """Return the command for a person to run it."""
        return f'make bench ARGS="{options}"'


PARTS = (
    Part("overhead", "What a round of our loop costs", "overhead", "overhead", 0.5),
    Part(
        "long",
        "Long prompts",
        "long --lengths 2000,10000",
        "long --lengths 200 --parts reading --turns 1",
        30,
        6,
        named=True,
    ),
    Part("real", "Published models", "real", "real --quick", 45, 14, 2, named=True),
    Part("serving", "The local server beside the library", "serving", "serving --runs 1 --tokens 10", 0.3, 1, 1),
    Part("acceptance", "Acceptance by rule", "acceptance", "acceptance --seeds 2", 0.1),
    Part("startup", "From start to first paint", "startup", "startup --pairs 1 --patience 0", 1),
    Part(
        "cold_start",
        "From the start to the first token",
        "cold_start",
        "cold_start --turns 1 --cases smollm2 --ways cli,library --patience 0",
        4,
        4,
        named=True,
    ),
    Part("idle", "What the idle program takes", "idle", "idle --seconds 5 --rest 1 --cases panel", 3),
    Part("window", "The window while a reply streams", "window", "window --replies 2", 1),
    Part("long_reply", "A long reply in the whole window", "long_reply", "long_reply --runs 1 --tokens 2000", 2),
    Part("conversation", "A long conversation in the window", "conversation", "conversation --opens 1", 2),
    Part("replay", "The replay of a long reply", "replay", "replay --seconds 1", 1),
)
ORDER = tuple(part.name for part in PARTS)


@dataclass(frozen=True)
class Outcome:
    """The result of a part: MEASURED, MUST_NOT_MET or NOT_MEASURED, its section, and its duration."""

    status: int
    text: str
    minutes: float


def main() -> int:
    """Run, and write or print."""
    args = _parse()
    if args.list:
        for part in PARTS:
            print(f"{part.name:18} about {part.minutes:3g} min  {part.command(part.options)}")
        return 0
    chosen = [part for part in PARTS if (part.name in args.only if args.only else not part.named)]
    setting = Setting(describe_machine(), has_own_kernels(), _commit())
    if not args.quick:
        _say(f"About {sum(part.minutes for part in chosen):.0f} minutes in all.")
    try:
        statuses = _run_all(chosen, setting, quick=args.quick)
    except KeyboardInterrupt:
        _say("Ended. The parts that were done are kept.")
        return CANCELLED
    return max(statuses, default=MEASURED)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="NAME,…", help=f"of {', '.join(ORDER)}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes; results.md stays as it is")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    args = parser.parse_args()
    if args.only and not set(args.only) <= set(ORDER):
        parser.error(f"parts are {', '.join(ORDER)}")
    return args


def _run_all(parts: list[Part], setting: Setting, *, quick: bool) -> list[int]:
    statuses = []
    for number, part in enumerate(parts, 1):
        options = part.quick if quick else part.options
        if not options:
            continue
        _say(f"[{number} of {len(parts)}] {part.name}: {part.command(options)}")
        outcome = run_part(part, options, setting)
        statuses.append(outcome.status)
        said = {MEASURED: "done", MUST_NOT_MET: "done, a must is NOT met", NOT_MEASURED: "NOT measured"}[outcome.status]
        _say(f"[{number} of {len(parts)}] {part.name}: {said}, {outcome.minutes:.1f} min")
        if quick:
            print(f"{outcome.text}\n", flush=True)
        else:
            keep(part.name, outcome.text, setting)
    return statuses


def keep(name: str, text: str, setting: Setting) -> None:
    """Write a section to a file and rebuild the page, so that ending the suite early loses nothing."""
    results.write_whole(SECTIONS / f"{name}.md", text)
    files = [SECTIONS / f"{name}.md" for name in ORDER]
    sections = [file.read_text(encoding="utf-8").strip() for file in files if file.exists()]
    results.write_whole(FOLDER / "results.md", "\n\n".join([results.make_head(setting).strip(), *sections]) + "\n")


def run_part(part: Part, options: str, setting: Setting) -> Outcome:
    """Run a benchmark and return its section, or the reason for its absence."""
    when, busy = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", psutil.cpu_percent(interval=3.0)
    began = perf_counter()
    problem = _lacking(part)
    status, text, said = (NOT_MEASURED, "", problem) if problem else _run([sys.executable, str(RUN), *options.split()])
    minutes = (perf_counter() - began) / 60.0
    if status not in (MEASURED, MUST_NOT_MET) or not text.startswith("## "):
        status, text = NOT_MEASURED, f"## {part.title}\n\nNot measured: {said or 'it ended without a word'}"
    return Outcome(status, results.with_origin(text, part.command(options), when, minutes, busy, setting), minutes)


def _lacking(part: Part) -> str:
    """Name the machine's missing or scarce resources; "" if it has enough."""
    memory = psutil.virtual_memory().available / 2**30
    if memory < part.memory_gib:
        return f"it needs {part.memory_gib:g} GiB of free memory, and there are {memory:.1f}."
    for folder in (ROOT, Path(tempfile.gettempdir())):
        disk = psutil.disk_usage(str(folder)).free / 2**30
        if disk < part.disk_gib:
            return f"it needs {part.disk_gib:g} GiB on the disk of {folder.name}, and {disk:.1f} are free."
    return ""


def _run(command: list[str]) -> tuple[int, str, str]:
    """Return exit status, stdout, and the last line of stderr, which is passed on as it comes."""
    last = ""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as printed,
        subprocess.Popen(
            command, cwd=ROOT, stdout=printed, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as process,
    ):
        try:
            assert process.stderr is not None
            for line in process.stderr:
                sys.stderr.write(f"    {line}")
                sys.stderr.flush()
                last = line.strip() or last
            status = process.wait()
        except BaseException:
            process.terminate()
            raise
        printed.seek(0)
        return status, printed.read().strip(), last.replace(f"{ROOT}/", "").replace(str(Path.home()), "~")


def _commit() -> str:
    """Return the checked-out commit, marked if files were changed since."""

    def ask(*question: str) -> str:
        try:
            done = subprocess.run(("git", *question), cwd=ROOT, capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = ask("status", "--porcelain", "--untracked-files=no")
    return (ask("rev-parse", "--short", "HEAD") or "unknown") + (" with changes" if changed else "")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
