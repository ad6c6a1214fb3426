"""Ask one hub after the other: the second one where the first cannot be reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from engine.cancel import CancelToken
from engine.errors import DownloadFailed
from engine.hub.hugging_face import FoundRepository, HuggingFace, Repository
from engine.hub.model_scope import ModelScope
from engine.hub.refusals import place
from engine.hub.web import Patience, Web
from engine.translatable import Translatable

T = TypeVar("T")
_SHORT = Patience(tries=3)
"""For the first request to a hub that has another one as a fallback."""


class Hub(Protocol):
    """Define a hub. Attributes: address, web."""

    address: str
    web: Web

    def search(self, words: str, cancel: CancelToken, limit: int = 20) -> tuple[FoundRepository, ...]:
        """Return the repositories that words find. Raises DownloadFailed, Cancelled."""

    def repository(self, name: str, cancel: CancelToken) -> Repository:
        """Return a repository and all of its files. Raises InvalidRequest, DownloadFailed, Cancelled."""

    def file_address(self, repository: Repository, path: str) -> str:
        """Return the address of a file of a repository."""


def hubs(token: str | None = None) -> tuple[Hub, ...]:
    """Return the hubs to ask, the first one first. Raises InvalidRequest.

    Whoever names a hub by HF_ENDPOINT is not sent to another one, but to that which MODELSCOPE_DOMAIN names too.
    """
    alone = bool(os.environ.get("HF_ENDPOINT")) and not os.environ.get("MODELSCOPE_DOMAIN")
    if alone:
        return (HuggingFace(None, token),)
    return HuggingFace(None, token, _SHORT), ModelScope()


def first_that_answers(
    asked: Sequence[Hub], ask: Callable[[Hub], T], note: Callable[[str], None] | None = None
) -> tuple[Hub, T]:
    """Return the first hub that can be reached, and its answer; `note` is called if it is not the first.

    Raises what `ask` raises: where none can be reached, what the first one did.
    """
    problem: DownloadFailed | None = None
    for hub in asked:
        try:
            answer = ask(hub)
        except DownloadFailed as error:
            if error.status is not None:
                raise problem or error from None
            problem = problem or error
            continue
        if problem is not None and note is not None:
            first, second = place(asked[0].address), place(hub.address)
            note(Translatable("{first} cannot be reached; {second} was asked.", first=first, second=second))
        hub.web = replace(hub.web, patience=Patience())
        return hub, answer
    raise problem or ValueError("no hub")
