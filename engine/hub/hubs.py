"""Ask one hub after the other: the second one where the first cannot be reached."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from http.client import HTTPMessage
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

from engine.cancel import CancelToken
from engine.errors import DownloadFailed, InvalidRequest
from engine.hub import refusals
from engine.hub.hugging_face import (
    FoundRepository,
    HubFile,
    HuggingFace,
    Repository,
    as_count,
    as_digest,
    as_text,
    check_name,
)
from engine.hub.refusals import place
from engine.hub.web import Patience, Web, origin
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


# ModelScope, the second hub. Source of the protocol: its own client (`modelscope/hub/api.py`:
# `/api/v1/models/NAME/repo/files`, whose files have a Sha256) and its OpenAPI (`/openapi/v1/models`).
# `MODELSCOPE_DOMAIN` names another one, as for that client; `MODELSCOPE_API_TOKEN` holds a token.

_PUBLIC = "modelscope.cn"
_REVISION = "master"
_MOST_FILES = 20_000


class ModelScope:
    """Ask ModelScope. Attributes: address, web."""

    def __init__(self, address: str | None = None, patience: Patience | None = None) -> None:
        place = (address or os.environ.get("MODELSCOPE_DOMAIN") or _PUBLIC).strip().rstrip("/")
        self.address = place if "://" in place else f"https://{place}"
        if not re.fullmatch(r"https?://[^\s?#]+", self.address):
            raise InvalidRequest("MODELSCOPE_DOMAIN is no address: {address!r}.", address=place)
        token = (os.environ.get("MODELSCOPE_API_TOKEN") or "").strip()
        bearer = f"Bearer {token}" if token.isascii() and token.isprintable() and token else None
        self.web = Web(origin(self.address), bearer, patience or Patience())

    def search(self, words: str, cancel: CancelToken, limit: int = 20) -> tuple[FoundRepository, ...]:
        """Return the repositories found by words whose names or tags contain GGUF. Raises DownloadFailed, Cancelled."""
        asked = {"search": words, "sort": "downloads", "page_number": 1, "page_size": 50}
        url = f"{self.address}/openapi/v1/models?{urlencode(asked)}"
        listed = self._data(url, cancel, Translatable("search"), "models")
        found = [each for entry in listed if isinstance(entry, dict) and (each := _found(entry)) is not None]
        return tuple(found[:limit])

    def repository(self, name: str, cancel: CancelToken) -> Repository:
        """Return a repository and all of its files. Raises InvalidRequest, DownloadFailed, Cancelled."""
        check_name(name)
        url = f"{self.address}/api/v1/models/{name}/repo/files?Revision={_REVISION}&Recursive=true"
        listed = self._data(url, cancel, name, "Files")
        files = (_file(each) for each in listed[:_MOST_FILES] if isinstance(each, dict))
        return Repository(name, _REVISION, tuple(file for file in files if file is not None))

    def file_address(self, repository: Repository, path: str) -> str:
        """Return the address of a file of a repository."""
        return f"{self.address}/models/{repository.name}/resolve/{repository.commit}/{quote(path)}"

    def _data(self, url: str, cancel: CancelToken, what: str, key: str) -> list[Any]:
        """Return a list of an answer, which calls its data by a capital letter or a small one."""
        head, body = self.web.read(url, cancel, {"Accept": "application/json"})
        if head.status != 200:
            raise self._refused(head.url, head.status, head.headers, body, what)
        try:
            answer = json.loads(body)
            if answer.get("Code", answer.get("code", 200)) in (403, 404, 10010205001):
                raise self._refused(head.url, 404, head.headers, body, what)
            data = answer.get("Data", answer.get("data"))
            listed = data.get(key)
        except (ValueError, RecursionError, AttributeError):
            raise refusals.not_understood(url) from None
        if not isinstance(listed, list):
            raise refusals.not_understood(url)
        return listed

    def _refused(self, url: str, status: int, headers: HTTPMessage, body: bytes, what: str) -> DownloadFailed:
        with_token = self.web.authorization is not None
        return refusals.refused(url, status, headers, body, what, with_token=with_token)


def _file(entry: dict[str, Any]) -> HubFile | None:
    path = entry.get("Path")
    if not isinstance(path, str) or not path or entry.get("Type") == "tree":
        return None
    return HubFile(path, as_count(entry.get("Size")), as_digest(entry.get("Sha256"))[0])


def _found(entry: dict[str, Any]) -> FoundRepository | None:
    name = entry.get("id")
    tags = entry.get("tags")
    words = [name, *(tags if isinstance(tags, list) else [])]
    try:
        check_name(name if isinstance(name, str) else "")
    except InvalidRequest:
        return None
    if not any("gguf" in str(word).casefold() for word in words):
        return None
    downloads, likes = (as_count(entry.get(key)) or 0 for key in ("downloads", "likes"))
    return FoundRepository(str(name), downloads, likes, as_text(entry.get("license")), gated=False, files=())
