"""Query a Hugging Face hub: search it, list the files of a repository, locate a file.

Source of the protocol: the hub's documentation ("Hub API Endpoints") and huggingface_hub. `HF_ENDPOINT` names another
hub, `HF_TOKEN` holds a token; neither is ever written anywhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPMessage
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from engine.cancel import CancelToken
from engine.errors import DownloadFailed, InvalidRequest
from engine.hub import refusals
from engine.hub.web import Head, Patience, Web, origin
from engine.translatable import Translatable

_PUBLIC = "https://huggingface.co"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")
_REVISION = re.compile(r"[\w][\w./-]{0,199}", re.ASCII)
_MOST_PAGES = 50
_MOST_FILES = 20_000
_LONGEST = 400
_NEXT = re.compile(r'<([^<>]{1,2000})>\s*;\s*rel="?next"?')


@dataclass(frozen=True, slots=True)
class HubFile:
    """Describe a file of a repository. `sha256`: of its contents; `blob`: its name in git, if it has no sha256."""

    path: str
    size: int | None = None
    sha256: str | None = None
    blob: str | None = None


@dataclass(frozen=True, slots=True)
class Repository:
    """Describe a repository at one revision. `licence`: its identifier, "" if unknown; `gated`: terms first."""

    name: str
    commit: str
    files: tuple[HubFile, ...]
    licence: str = ""
    gated: bool = False


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """Describe a repository that a search found. `quantisations`: of its GGUF files, as far as they are known."""

    name: str
    downloads: int
    likes: int
    licence: str
    gated: bool
    files: tuple[str, ...]


def hub_address() -> str:
    """Return the address of the hub. Raises InvalidRequest where HF_ENDPOINT is none."""
    address = (os.environ.get("HF_ENDPOINT") or _PUBLIC).strip().rstrip("/")
    if not re.fullmatch(r"https?://[^\s?#]+", address):
        raise InvalidRequest("HF_ENDPOINT is no address: {address!r}.", address=address)
    return address


def environment_token() -> str | None:
    """Return the token in the environment, if it holds one."""
    token = (os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN") or "").strip()
    return token if token and token.isascii() and token.isprintable() and " " not in token else None


class HuggingFace:
    """Ask a hub. `token`: sent to the hub alone. Attributes: address, web."""

    def __init__(self, address: str | None = None, token: str | None = None, patience: Patience | None = None) -> None:
        self.address = (address or hub_address()).rstrip("/")
        token = token or environment_token()
        bearer = None if token is None else f"Bearer {token}"
        self.web = Web(origin(self.address), bearer, patience or Patience())

    def search(self, words: str, cancel: CancelToken, limit: int = 20) -> tuple[FoundRepository, ...]:
        """Return the repositories with GGUF files that words find, the most downloaded first.

        Raises DownloadFailed, Cancelled.
        """
        asked = {
            "search": words,
            "filter": "gguf",
            "sort": "downloads",
            "direction": "-1",
            "limit": limit,
            "full": "true",
        }
        url = f"{self.address}/api/models?{urlencode(asked)}"
        listed, _ = self._json(url, cancel, Translatable("search"))
        if not isinstance(listed, list):
            raise refusals.not_understood(url)
        found = [_found(entry) for entry in listed[:limit] if isinstance(entry, dict)]
        return tuple(entry for entry in found if entry is not None)

    def repository(self, name: str, cancel: CancelToken, revision: str = "main") -> Repository:
        """Return a repository and all of its files, at one commit. Raises InvalidRequest, DownloadFailed, Cancelled."""
        check_name(name)
        if not _REVISION.fullmatch(revision) or ".." in revision:
            raise InvalidRequest("{revision!r} is no revision.", revision=revision)
        base = f"{self.address}/api/models/{name}"
        url = f"{base}/revision/{quote(revision, safe='')}?blobs=true"
        data = self._one_of((url, f"{base}?blobs=true") if revision == "main" else (url,), cancel, name)
        if not isinstance(data, dict):
            raise refusals.not_understood(url)
        commit = data.get("sha")
        if not isinstance(commit, str) or not _REVISION.fullmatch(commit) or ".." in commit:
            commit = revision
        entries = data.get("siblings")
        files = _files(entries if isinstance(entries, list) else [], "rfilename")
        if not files or any(file.size is None for file in files):
            files = self._tree(base, commit, name, cancel) or self._tree(base, revision, name, cancel) or files
        return Repository(as_text(data.get("id")) or name, commit, files, _licence(data), _gated(data))

    def file_address(self, repository: Repository, path: str) -> str:
        """Return the address of a file, at the repository's commit."""
        return f"{self.address}/{repository.name}/resolve/{quote(repository.commit, safe='')}/{quote(path)}"

    def _tree(self, base: str, commit: str, name: str, cancel: CancelToken) -> tuple[HubFile, ...]:
        """Return the files as the listing of folders tells them, page by page; none if the hub has no such one."""
        url = f"{base}/tree/{quote(commit, safe='')}?recursive=true"
        found: list[HubFile] = []
        for _ in range(_MOST_PAGES):
            try:
                listed, headers = self._json(url, cancel, name)
            except DownloadFailed as error:
                if error.status == 404 and not found:
                    return ()
                raise
            if not isinstance(listed, list):
                raise refusals.not_understood(url)
            found += _files([each for each in listed if isinstance(each, dict) and each.get("type") == "file"], "path")
            match = _NEXT.search(headers.get("Link") or "")
            if match is None or len(found) > _MOST_FILES:
                break
            url = urljoin(url, match[1])
            if origin(url) != origin(base):
                break
        return tuple(found)

    def _one_of(self, urls: Sequence[str], cancel: CancelToken, what: str) -> Any:
        """Return the description that the first address gives of a file; mirrors may give less."""
        for url in urls[:-1]:
            try:
                return self._json(url, cancel, what)[0]
            except DownloadFailed as error:
                if error.status != 404:
                    raise
        return self._json(urls[-1], cancel, what)[0]

    def _json(self, url: str, cancel: CancelToken, what: str) -> tuple[Any, HTTPMessage]:
        head, body = self.web.read(url, cancel, {"Accept": "application/json"})
        if head.status != 200:
            raise self.refused(head, body, what)
        try:
            return json.loads(body), head.headers
        except (ValueError, RecursionError):
            raise refusals.not_understood(url) from None

    def refused(self, head: Head, body: bytes, what: str) -> DownloadFailed:
        """Return the error for a status that is none of success."""
        with_token = self.web.authorization is not None
        return refusals.refused(head.url, head.status, head.headers, body, what, with_token=with_token)


def check_name(name: str) -> None:
    """Raise InvalidRequest for anything but a name of a repository."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise InvalidRequest(
            "{name!r} is no name of a repository. Write it like OWNER/NAME or OWNER/NAME:Q4_K_M.", name=name
        )


def as_digest(value: object) -> tuple[str | None, str | None]:
    """Read an ETag or an oid: its sha256, its name in git; None if it is neither."""
    text = value.strip().removeprefix("W/").strip('"').casefold() if isinstance(value, str) else ""
    return (text if _SHA256.fullmatch(text) else None), (text if _SHA1.fullmatch(text) else None)


def _files(entries: Sequence[object], key: str) -> tuple[HubFile, ...]:
    return tuple(_listed(entries, key))


def _listed(entries: Sequence[object], key: str) -> Iterator[HubFile]:
    for entry in entries[:_MOST_FILES]:
        if not isinstance(entry, dict) or not isinstance(path := entry.get(key), str) or not path:
            continue
        lfs = entry.get("lfs")
        lfs = lfs if isinstance(lfs, dict) else {}
        size = as_count(lfs.get("size"))
        size = as_count(entry.get("size")) if size is None else size
        sha256, _ = as_digest(lfs.get("sha256") or lfs.get("oid"))
        _, blob = as_digest(entry.get("blobId") or entry.get("oid"))
        yield HubFile(path, size, sha256, None if lfs else blob)


def _found(entry: Mapping[str, Any]) -> FoundRepository | None:
    name = entry.get("id") or entry.get("modelId")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return None
    siblings = entry.get("siblings")
    files = _files(siblings if isinstance(siblings, list) else [], "rfilename")
    names = tuple(file.path for file in files)
    return FoundRepository(
        name,
        as_count(entry.get("downloads")) or 0,
        as_count(entry.get("likes")) or 0,
        _licence(entry),
        _gated(entry),
        names,
    )


def _licence(data: Mapping[str, Any]) -> str:
    card = data.get("cardData")
    said = card.get("license") if isinstance(card, dict) else None
    if isinstance(said, list):
        said = said[0] if said else None
    if not isinstance(said, str):
        tags = data.get("tags")
        tags = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
        said = next((tag.removeprefix("license:") for tag in tags if tag.startswith("license:")), "")
    return as_text(said)


def _gated(data: Mapping[str, Any]) -> bool:
    return data.get("gated") not in (None, False, "", "false")


def as_text(value: object) -> str:
    """Return a text of a server as one printable line; "" for anything else."""
    text = value if isinstance(value, str) else ""
    return "".join(letter if letter.isprintable() else " " for letter in text[:_LONGEST]).strip()


def as_count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else None
