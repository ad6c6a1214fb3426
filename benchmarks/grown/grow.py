"""Grow the demo target to a real model's size, its text unchanged: an honest workload without any download.

    make bench ARGS="grow --kind q8_0|q4_0|f16|transformers [--to FOLDER]"
        [--layers 22 --width 2048 --feed-forward 5632] [--target FILE]

Prints the path of what it made, or of what was there already. The work is done by engine/growth.
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import get_args

from engine.errors import GrowthError
from engine.growth.arithmetic import FULL, GrownKind, GrownShape
from engine.growth.grown import cache_folder, grown_target


def main() -> int:
    """Grow, and print the path: 0. Where that cannot be: why, and 2."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, metavar="FOLDER", help=f"where to keep it ({cache_folder()})")
    parser.add_argument("--kind", choices=get_args(GrownKind), default="q8_0")
    parser.add_argument("--layers", type=int, default=FULL.layers, metavar="N")
    parser.add_argument("--width", type=int, default=FULL.width, metavar="N")
    parser.add_argument("--feed-forward", type=int, default=FULL.feed_forward, metavar="N")
    parser.add_argument("--target", type=Path, metavar="FILE", help="what to grow (the demo target)")
    args = parser.parse_args()
    began = perf_counter()
    shape = GrownShape(args.layers, args.width, args.feed_forward)
    try:
        path = grown_target(args.kind, shape, folder=args.to, target=args.target, say=_say)
    except GrowthError as error:
        print(error, file=sys.stderr)
        return 2
    _say(f"{perf_counter() - began:.1f} s")
    print(path)
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
