"""What auto gains on the grown demo target, over the bundled sets of prompts: `python -m engine bench`, and the musts.

    make bench ARGS="auto [--kinds q8_0,q4_0] [--temperatures 0,0.8] [--familiar] [--prompts 4] [--turns 4]
                          [--drawn-turns 6] [--tokens 40] [--json]"

For each kind of weights and each temperature it runs the engine's own command, which measures plain decoding, fixed
lookaheads, auto and the n-gram index in turns, and shows its figures by sets of prompts (see auto_figures.py for the
musts). Drawn replies differ from way to way in text and length, so that it takes more turns. `--familiar` takes the
sets of familiar.json instead, of what both demo models learned to say, since no bundled set has an acceptance rate from
which a gain is due. Gives 0 if the musts are met, 1 if not, 2 if it could not be measured.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.policy.auto_figures import compare_sets, find_musts, show
from engine.bench.runs import DEFAULT_LOOKAHEADS
from engine.errors import GrowthError
from engine.growth.arithmetic import FULL, GrownKind
from engine.growth.grown import grown_target
from helpers.paths import ROOT

FAMILIAR = Path(__file__).with_name("familiar.json")


class BenchFailed(Exception):
    """The engine's command did not measure; the message says what it said."""


def main() -> int:
    """Measure and print."""
    args = _parse()
    reports: dict[str, dict[float, dict[str, Any]]] = {}
    try:
        for kind in args.kinds:
            path = grown_target(kind, FULL, folder=args.to, say=_say)
            reports[kind] = {temperature: _bench(path, temperature, args) for temperature in args.temperatures}
    except (GrowthError, BenchFailed) as error:
        print(error, file=sys.stderr)
        return 2
    musts = find_musts(reports)
    if args.json:
        print(json.dumps({"reports": reports, "musts": [vars(must) for must in musts]}))
    else:
        print(show(reports, musts, familiar=args.familiar))
    return 0 if all(must.met for must in musts) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kinds", type=lambda text: text.split(","), default=["q8_0"], metavar="KIND,…", help="q8_0, q4_0, f16 (q8_0)")
    add(
        "--temperatures",
        type=lambda text: [float(item) for item in text.split(",")],
        default=[0.0, 0.8],
        metavar="X,…",
        help="(0,0.8)",
    )
    add("--lookaheads", default=",".join(map(str, DEFAULT_LOOKAHEADS)), metavar="N,…", help="4 must be among them")
    add("--familiar", action="store_true", help="prompts that the demo draft knows well")
    add("--prompts", type=int, default=4, metavar="N", help="of each set (4)")
    add("--turns", type=int, default=4, metavar="N", help="how often each reply is measured (4)")
    add("--drawn-turns", type=int, default=6, metavar="N", help="how often, where tokens are drawn (6)")
    add("--tokens", type=int, default=40, metavar="N", help="of each reply at most (40)")
    add("--threads", type=int, metavar="N", help="of the target (what we would choose)")
    add("--to", type=Path, metavar="FOLDER", help="where grown models are kept (the user's cache)")
    add("--json", action="store_true")
    args = parser.parse_args()
    kinds: tuple[GrownKind, ...] = ("q8_0", "q4_0", "f16")
    if not set(args.kinds) <= set(kinds):
        parser.error("kinds are q8_0, q4_0 and f16")
    if "4" not in args.lookaheads.split(","):
        parser.error("the lookaheads need 4: the musts go by the acceptance rate there")
    return args


def _bench(path: Path, temperature: float, args: argparse.Namespace) -> dict[str, Any]:
    """The report of the engine's command, without the single replies. Raises BenchFailed."""
    _say(f"{path.stem}, temperature {temperature:g}…")
    command = [sys.executable, "-m", "engine", "bench", "--json", "--target", str(path), "--draft", "demo"]
    turns = args.drawn_turns if temperature > 0.0 else args.turns
    sizes = {"per-category": args.prompts, "repeats": turns, "max-tokens": args.tokens, "threads": args.threads}
    for name, value in {"temperature": temperature, "lookaheads": args.lookaheads, **sizes}.items():
        command += [] if value is None else [f"--{name}", str(value)]
    command += ["--prompts", str(FAMILIAR)] if args.familiar else []
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchFailed(f"`engine bench` ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    replies = report.pop("replies")
    for name, found in report["categories"].items():
        found["auto_to_best"] = compare_sets([reply for reply in replies if reply["category"] == name])
    report["auto_to_best"] = compare_sets(replies)
    return report


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
