"""Run `convert-head`: make safetensors of published heads that are pickled."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.cancel import CancelToken
from engine.cli.cancellable import EXIT_DONE, run_cancellable
from engine.loading.convert import convert_pickled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("source", metavar="IN", type=Path, help="pickled weights: a .bin or .pt file")
    parser.add_argument("out", metavar="OUT", type=Path, help="the new file, which ends in .safetensors")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Convert, and report the result."""
    cancel = CancelToken()

    def work() -> int:
        count = convert_pickled(args.source, args.out, cancel)
        print(f"{count} tensors written to {args.out}. A head is a folder: its config.json belongs beside them.")
        return EXIT_DONE

    return run_cancellable(work, cancel)
