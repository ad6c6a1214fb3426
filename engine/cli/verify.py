"""Run `verify`: compute a reply again, by the proof that was exported with it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from engine.cancel import CancelToken
from engine.cli.cancellable import EXIT_DONE, run_cancellable
from engine.library.known import download_folder
from engine.library.names import bundled_pair, resolve_source
from engine.library.scan import scan_folder
from engine.proof.content import find_models, load_proof
from engine.proof.verify import verify_proof

EXIT_DIFFERS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `verify`."""
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="the proof, as `generate --proof` and the window write it")
    add("-m", "--target", metavar="M", help="the target, as a file or a name (default: it is looked for)")
    add("-d", "--draft", metavar="M", help="the draft, where the proof needs it")
    add("--heads", metavar="M", help="the draft heads, where the proof needs them")
    add("--folder", metavar="F", type=Path, help="folder in which the models are looked for, by size and SHA-256")
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the result of a verification; return exit code 1 if the reply differs. Raises EngineError."""
    proof, cancel = load_proof(args.file), CancelToken()
    exit_code = EXIT_DONE

    def work() -> int:
        named = {part: resolve_source(name) for part in proof.needs if (name := getattr(args, part)) is not None}
        found = find_models(proof, _candidates(args.folder), cancel) if len(named) < len(proof.needs) else {}
        verified = verify_proof(proof, found | named, cancel=cancel)
        if args.json:
            print(json.dumps(verified.to_dict()))
        else:
            print("\n".join(map(str, verified.sentences)))
        return exit_code if verified.identical else EXIT_DIFFERS

    return run_cancellable(work, cancel)


def _candidates(folder: Path | None) -> Iterator[Path]:
    """Return the models that are looked at: those of the program, of the folder, and of the downloads."""
    yield from (*bundled_pair(), resolve_source("demo-head"))
    for place in (folder, download_folder()):
        if place is not None and (place is folder or place.is_dir()):
            yield from (model.path for model in scan_folder(place))
