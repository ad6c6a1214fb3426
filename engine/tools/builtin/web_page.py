"""Fetch a page of the web as text. A person is asked for each host.

What a model writes into an address leaves this machine, so it is never asked of an address within: the name is
resolved here, each address that it has must be public, and the connection goes to the very one that was looked at.
Other hosts that a page leads to are asked about anew, since the model has to call for them.
"""

from __future__ import annotations

import ipaddress
import queue
import re
import socket
import threading
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from engine._version import __version__
from engine.cancel import CancelToken
from engine.errors import NotAvailable
from engine.system.certificates import system_certificates
from engine.tools.builtin.base import ToolRefused, own_tool, text_argument
from engine.tools.tool import ToolOutput, one_line
from engine.translatable import Translatable

if TYPE_CHECKING:
    import httpx

_MOST_BYTES = 3 * 2**20
_CONNECT_S, _BETWEEN_S, _WHOLE_S = 10.0, 10.0, 30.0
_MOST_REDIRECTS = 5
_LOOK_S = 0.05
_LONGEST_URL = 2_000
_TEXT = re.compile(
    r"text/|application/(json|xml|xhtml\+xml|rss\+xml|atom\+xml|javascript|x-ndjson|yaml)|.*\+(json|xml)"
)
_UNREAD = "script, style, noscript, template, svg, iframe, nav, footer, form, title"
_BLOCKS = "p, div, section, article, li, ul, ol, dt, dd, h1, h2, h3, h4, h5, h6, tr, td, th, pre, blockquote, br, hr"
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Resolve = Callable[[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class _Page:
    """Hold a page: its last address, its type, its bytes, and True if they are complete."""

    url: str
    kind: str
    data: bytes
    whole: bool


class FetchPageTool:
    """Fetch a page. `resolve`: return the addresses of a host; `transport`: instead of the network, for tests."""

    tool = replace(
        own_tool(
            "fetch_page",
            Translatable("Fetch a page"),
            "Fetch a page of the web by its address and give its text.",
            url={"type": "string", "description": "The address, with https:// in front."},
        ),
        asked_for_each="url",
    )

    def __init__(self, resolve: Resolve | None = None, transport: httpx.BaseTransport | None = None) -> None:
        self._resolve = resolve or _resolved
        self._transport = transport

    def call(self, arguments: Mapping[str, Any], cancel: CancelToken, timeout: float) -> ToolOutput:
        """Return the text of the page. Raises ToolRefused, Cancelled."""
        url = text_argument(arguments, "url", most=_LONGEST_URL).strip()
        page = _apart(lambda ended: self._fetch(url, ended, min(timeout, _WHOLE_S)), cancel, min(timeout, _WHOLE_S))
        if isinstance(page, str):
            return ToolOutput(page)
        text = _text_of(page)
        cut = "" if page.whole else "\n[only the beginning of the page: it is very long]"
        return ToolOutput(f"{one_line(page.url, _LONGEST_URL)}\n\n{text or '(no text)'}{cut}")

    def _fetch(self, url: str, ended: threading.Event, seconds: float) -> _Page | str:
        """Return the page, or a text for the model in its place. Raises ToolRefused."""
        import httpx  # noqa: PLC0415 - what fetches nothing starts without it

        ends = monotonic() + seconds
        host = _checked(url).host
        trust: Any = True if self._transport is not None else system_certificates()
        with httpx.Client(transport=self._transport, trust_env=False, verify=trust, timeout=_BETWEEN_S) as client:
            for _ in range(_MOST_REDIRECTS + 1):
                there = _checked(url)
                if there.host != host:
                    return f"The page has moved to {there}. Call fetch_page with that address to read it."
                try:
                    with client.stream(**self._request(there), follow_redirects=False) as answer:
                        if not answer.is_redirect:
                            return _read(answer, str(there), ended, ends)
                        url = str(there.join(answer.headers.get("location", "")))
                except (httpx.HTTPError, httpx.InvalidURL, zlib.error, OSError) as error:
                    said = one_line(str(error)) or type(error).__name__
                    raise ToolRefused(f"{there.host} cannot be reached ({said}).") from None
        raise ToolRefused("The page leads from one address to the next without end.")

    def _request(self, url: httpx.URL) -> dict[str, Any]:
        """Return a request to the very address that was looked at, under the name of its host. Raises ToolRefused."""
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = self._resolve(url.host, port)
        if not addresses:
            raise ToolRefused(f"There is no host {url.host}.")
        for address in addresses:
            if not is_public(address):
                raise ToolRefused(f"{url.host} is not on the public internet: no page is fetched from there.")
        headers = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": f"Outrider/{__version__}",
            "Accept": "text/html, text/plain, application/json;q=0.9, */*;q=0.1",
            "Accept-Encoding": "identity",
        }
        name = url.raw_host.decode("ascii")
        pinned = url.copy_with(host=addresses[0])
        return {"method": "GET", "url": pinned, "headers": headers, "extensions": {"sni_hostname": name}}


def is_public(address: str) -> bool:
    """Return True if an IP address is one of the public internet, also when another one lies within it."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _checked(url: str) -> httpx.URL:
    """Return an address that may be fetched. Raises ToolRefused."""
    import httpx  # noqa: PLC0415 - as above

    try:
        there = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError):
        raise ToolRefused("That is no address of a page.") from None
    if there.scheme not in ("http", "https") or not there.host:
        raise ToolRefused("The address must begin with https:// or http://.")
    if there.userinfo:
        raise ToolRefused("The address must hold no user name and no password.")
    return there.copy_with(fragment=None)


def _resolved(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _read(answer: httpx.Response, url: str, ended: threading.Event, ends: float) -> _Page:
    kind = answer.headers.get("content-type", "text/html").lower()
    if answer.status_code >= 400:
        raise ToolRefused(f"The server answers {answer.status_code} for {one_line(url)}.")
    if not _TEXT.match(kind):
        raise ToolRefused(f"The page is no text but {one_line(kind, 60)}.")
    packed = answer.headers.get("content-encoding", "identity").lower()
    if packed not in ("identity", "gzip", "deflate"):
        raise ToolRefused("The page is packed in a way that was not asked for.")
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    data = bytearray()
    for piece in answer.iter_raw(65_536):
        data += piece if packed == "identity" else unpack.decompress(piece, _MOST_BYTES)
        if ended.is_set() or len(data) >= _MOST_BYTES or monotonic() > ends:
            return _Page(url, kind, bytes(data[:_MOST_BYTES]), whole=False)
    return _Page(url, kind, bytes(data), whole=True)


def _apart(work: Callable[[threading.Event], _Page | str], cancel: CancelToken, seconds: float) -> _Page | str:
    """Run `work` on a thread that is abandoned when it is cancelled. Raises the errors of `work`."""
    done: queue.SimpleQueue[_Page | str | Exception] = queue.SimpleQueue()
    ended = threading.Event()

    def deliver() -> None:
        try:
            done.put(work(ended))
        except Exception as error:  # noqa: BLE001 - it is raised below
            done.put(error)

    threading.Thread(target=deliver, name="outrider-page", daemon=True).start()
    ends = monotonic() + seconds
    found: _Page | str | Exception | None = None
    try:
        while found is None:
            with suppress(queue.Empty):
                found = done.get(timeout=_LOOK_S)
            cancel.check()
            if found is None and monotonic() > ends:
                raise ToolRefused("The page took too long.")
    finally:
        ended.set()
    if isinstance(found, Exception):
        raise found
    return found


def _text_of(page: _Page) -> str:
    """Return a page as text: of HTML the readable part, without scripts, menus and pictures."""
    named = re.search(r"charset=[\"']?([\w.:-]+)", page.kind)
    try:
        text = page.data.decode(named[1] if named else "utf-8", "replace")
    except LookupError:
        text = page.data.decode("utf-8", "replace")
    if "html" not in page.kind:
        return text
    try:
        from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415 - as above
    except ImportError:
        advice = Translatable("install selectolax: pip install selectolax")
        raise NotAvailable(Translatable("Fetching pages"), advice) from None
    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    head = "" if title is None else " ".join(title.text().split())
    for node in tree.css(_UNREAD):
        node.decompose()
    for node in tree.css(_BLOCKS):
        node.insert_before("\n")
        node.insert_after("\n")
    body = tree.css_first("main") or tree.css_first("article") or tree.body
    lines = [] if body is None else [" ".join(line.split()) for line in body.text().splitlines()]
    paragraphs = "\n".join(line for line in lines if line)
    return f"{head}\n\n{paragraphs}" if head else paragraphs
