"""Run `train-head`: make a draft head for a model, from its own replies."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

import psutil

from engine.cancel import CancelToken
from engine.cli.cancellable import EXIT_DONE, run_cancellable
from engine.training.head import TrainingProgress, train_head

_SAID_EVERY_S = 20.0
_MEASURED = """\
Expect little. From 200,000 tokens of SmolLM2 135M, 0.35 of the first drafted
tokens were accepted, and replies were about as quick as plain ones (0.94 to
0.98 times; beside the n-gram index 1.00 to 1.12 times, which alone was 1.01 to
1.05 times). Published heads learned from a hundred times as many tokens.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = _MEASURED
    add = parser.add_argument
    add("-m", "--model", metavar="M", required=True, help="the target: a GGUF file, or the name of one")
    add("--out", metavar="FILE", type=Path, help="the head's file (default: beside the model, MODEL-head.gguf)")
    add(
        "--prompts",
        metavar="FOLDER",
        type=Path,
        help="text files with a question a line (default: some that come along)",
    )
    add("--tokens", metavar="N", type=int, default=200_000, help="tokens of replies to learn from (default: 200000)")
    add("--hours", metavar="N", type=float, help="take no longer, and learn from fewer (default: no limit)")
    add("--resume", action="store_true", help="go on with a training that was ended")
    add("-s", "--seed", type=int, metavar="N", default=0, help="another one gives another head (default: 0)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train at the lowest priority, and report the head's quality."""
    psutil.Process().nice(getattr(psutil, "IDLE_PRIORITY_CLASS", 19))
    cancel, said = CancelToken(), -_SAID_EVERY_S

    def note(progress: TrainingProgress) -> None:
        nonlocal said
        if progress.disk:
            print(f"It takes up to {progress.disk / 1e9:.2f} GB of disk until it is done.", file=sys.stderr)
            return
        if perf_counter() - said > _SAID_EVERY_S:
            said = perf_counter()
            what = "tokens collected" if progress.stage == "collecting" else "steps learned"
            print(f"{progress.done:,} of {progress.total:,} {what}{_shares(progress.acceptance)}", file=sys.stderr)

    def work() -> int:
        head = train_head(
            args.model,
            args.out,
            prompts=args.prompts,
            tokens=args.tokens,
            hours=args.hours,
            seed=args.seed,
            resume=args.resume,
            progress=note,
            cancel=cancel,
        )
        print(f"{head.path}: {head.tokens:,} tokens, {head.seconds / 3600:.2f} hours{_shares(head.acceptance)}")
        return EXIT_DONE

    return run_cancellable(work, cancel)


def _shares(acceptance: tuple[float, ...]) -> str:
    return f", accepted by depth: {' '.join(f'{share:.2f}' for share in acceptance)}" if acceptance else ""
