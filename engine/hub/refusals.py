"""Describe a failure of a server of models in words. Names and passwords in addresses are never shown."""

from __future__ import annotations

import json
import socket
from http.client import HTTPMessage
from urllib.parse import urlsplit

from engine.errors import DownloadFailed
from engine.translatable import Translatable

_LONGEST = 300


def place(url: str) -> str:
    """Return the name of a server, and its port if it is not the usual one."""
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] or "?"


def unreachable(url: str, error: Exception) -> DownloadFailed:
    """Return the error for a server that gives no answer, or ends one in the middle."""
    if isinstance(error, socket.gaierror):
        return DownloadFailed(
            "There is no connection to {server}: its name is not known. Check the network; everything that is on "
            "this machine works without it.",
            server=place(url),
        )
    if isinstance(error, TimeoutError):
        return DownloadFailed("{server} does not answer. Check the network, and ask again to go on.", server=place(url))
    if isinstance(error, OSError) and str(error).startswith("Tunnel connection failed"):
        return DownloadFailed(
            "The proxy refuses the connection to {server} ({reason}). Check the proxy of this system.",
            server=place(url),
            reason=str(error).partition(": ")[2][:_LONGEST],
        )
    return DownloadFailed(
        "The connection to {server} fails ({reason}). Check the network, and ask again to go on.",
        server=place(url),
        reason=getattr(error, "strerror", None) or type(error).__name__,
    )


def broke_off(url: str) -> DownloadFailed:
    """Return the error for an answer that ends early, time and again."""
    return DownloadFailed("{server} keeps breaking off. Ask again to resume.", server=place(url))


def untrusted(url: str, reason: str) -> DownloadFailed:
    """Return the error for a certificate that is not trusted."""
    return DownloadFailed(
        "Cannot trust {server}: {reason}. Check the address, or name its certificates in SSL_CERT_FILE.",
        server=place(url),
        reason=reason.rstrip("."),
    )


def busy(url: str, status: int, after: float | None) -> DownloadFailed:
    """Return the error for a server that takes no requests for now."""
    if after is None:
        return DownloadFailed(
            "{server} is busy ({status}). Ask again later; what came stays.", status, server=place(url), status=status
        )
    return DownloadFailed(
        "{server} is busy ({status}). Ask again in {seconds:.0f} s; what came stays.",
        status,
        server=place(url),
        status=status,
        seconds=after,
    )


def endless(url: str) -> DownloadFailed:
    """Return the error for redirects without an end."""
    return DownloadFailed("{server} leads from one address to another without end.", server=place(url))


def leads_nowhere(url: str) -> DownloadFailed:
    """Return the error for an address that is none."""
    return DownloadFailed("{server} leads to an address that is none.", server=place(url))


def unencrypted(url: str) -> DownloadFailed:
    """Return the error for a redirect that would give up encryption."""
    return DownloadFailed("{server} leads to an address without encryption, which is not followed.", server=place(url))


def strange_proxy(kind: str) -> DownloadFailed:
    """Return the error for a proxy of a kind that cannot be used."""
    return DownloadFailed("A proxy of the kind {kind} cannot be used. Name an HTTP proxy in HTTPS_PROXY.", kind=kind)


def compressed(url: str) -> DownloadFailed:
    """Return the error for an answer that is compressed though that was not asked for."""
    return DownloadFailed(
        "The answer of {server} cannot be read: it is compressed, which was not asked for.", server=place(url)
    )


def no_parts(url: str) -> DownloadFailed:
    """Return the error for a server that gives files only whole where a part was asked for."""
    return DownloadFailed(
        "{server} gives no parts of files, so this one cannot be read out of its package.", server=place(url)
    )


def too_long(url: str) -> DownloadFailed:
    """Return the error for a small answer that is none."""
    return DownloadFailed("The answer of {server} cannot be read: it is longer than any should be.", server=place(url))


def not_understood(url: str) -> DownloadFailed:
    """Return the error for a listing that is none."""
    return DownloadFailed(
        "The answer of {server} cannot be read: it is no listing of models. Check the address.", server=place(url)
    )


def refused(url: str, status: int, headers: HTTPMessage, body: bytes, what: str, *, with_token: bool) -> DownloadFailed:
    """Return the error for a status other than success. `what`: the requested thing, as a person names it."""
    code, server = (headers.get("X-Error-Code") or ""), place(url)
    if code == "GatedRepo" or (status == 403 and "gated" in _words(headers, body).casefold()):
        said = Translatable(
            "{what} is gated: its authors want to know who takes it. Accept their terms on its page at {server}, and "
            "set HF_TOKEN to a token of yours.",
            what=what,
            server=server,
        )
    elif status in (401, 403) and with_token:
        said = Translatable("{server} refuses the token for {what}, or there is no {what}.", server=server, what=what)
    elif status in (401, 403):
        said = Translatable(
            "There is no {what} at {server}, or it wants a token. Check the name; for a token of yours set HF_TOKEN.",
            what=what,
            server=server,
        )
    elif status in (404, 410):
        said = Translatable("There is no {what} at {server}. Check the name.", what=what, server=server)
    else:
        said = Translatable(
            "{server} refuses {what} ({status}){words}",
            server=server,
            what=what,
            status=status,
            words=quoted(_words(headers, body)),
        )
    return DownloadFailed(said, status)


def _words(headers: HTTPMessage, body: bytes) -> str:
    """Return a server's reason for a refusal."""
    return message_of({"error": headers.get("X-Error-Message")}) or message_in(body[:65536])


def message_of(value: object) -> str:
    """Return the words of a server's error, whatever form it has: one line, not too long."""
    found: object = value
    for _ in range(3):
        if not isinstance(found, dict):
            break
        found = next((found[name] for name in ("error", "message", "detail") if found.get(name)), "")
    if not isinstance(found, str):
        return ""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in found[: 4 * _LONGEST]).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def message_in(body: bytes) -> str:
    """Return the words of the error that a body is."""
    try:
        return message_of(json.loads(body))
    except (ValueError, RecursionError):
        return ""


def quoted(words: str) -> str:
    """Return the words of a server behind a sentence of ours, which they end."""
    return "." if not words else ": " + (words if words[-1] in ".!?…" else words + ".")
