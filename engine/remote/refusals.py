"""Describe a server's failure in words."""

from __future__ import annotations

import ssl
from http.client import HTTPException

from engine.errors import ServerFailed
from engine.hub.refusals import message_in, message_of, quoted
from engine.remote.address import Address
from engine.translatable import Translatable

_AGAIN = Translatable("What it wrote stays. Ask again to go on.")


def unreachable(address: Address, error: BaseException, waited: float) -> ServerFailed:
    """Return the error for a server that gave no answer at all. `waited`: seconds for the connection."""
    reason = _certificate_problem(error)
    if reason is not None:
        said = Translatable(
            "Cannot trust the server at {address}: {reason}. Check the address, or have this computer trust its "
            "certificate.",
            address=str(address),
            reason=reason,
        )
    elif isinstance(error, TimeoutError):
        said = Translatable(
            "Cannot reach the server at {address}: nothing answered within {seconds:g} seconds. Check the address and "
            "the network.",
            address=str(address),
            seconds=waited,
        )
    elif isinstance(error, OSError) and str(error).startswith("Tunnel connection failed"):
        said = Translatable(
            "Cannot reach the server at {address}: the proxy refuses it. Check the proxy of this system.",
            address=str(address),
        )
    elif isinstance(error, HTTPException | ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        said = Translatable(
            "The server at {address} ended the connection without an answer. Check that it is still running.",
            address=str(address),
        )
    elif isinstance(error, OSError):
        said = Translatable(
            "Cannot reach the server at {address}. Check that it is running and that the address is right.",
            address=str(address),
        )
    else:
        said = Translatable(
            "The server at {address} could not be asked ({error}). Check the address.",
            address=str(address),
            error=type(error).__name__,
        )
    return ServerFailed(str(address), said)


def broke_off(address: Address, _error: BaseException | None = None, _waited: float = 0.0) -> ServerFailed:
    """Return the error for an answer that ended in the middle."""
    said = Translatable("The server at {address} broke off in the middle of its answer. {again}", again=_AGAIN,
                        address=str(address))  # fmt: skip
    return ServerFailed(str(address), said)


def is_silent(address: Address, seconds: float, *, begun: bool) -> ServerFailed:
    """Return the error for a server that sent nothing for so long."""
    if begun:
        said = Translatable(
            "The server at {address} has sent nothing for {seconds:g} seconds. {again}",
            address=str(address),
            seconds=seconds,
            again=_AGAIN,
        )
    else:
        said = Translatable(
            "The server at {address} has not answered for {seconds:g} seconds. Check what it is doing, and ask again.",
            address=str(address),
            seconds=seconds,
        )
    return ServerFailed(str(address), said)


def not_understood(address: Address, reason: str) -> ServerFailed:
    """Return the error for an answer that violates OpenAI's interface."""
    said = Translatable(
        "The answer of the server at {address} cannot be read: {reason}. Check that it has OpenAI's interface.",
        address=str(address),
        reason=reason,
    )
    return ServerFailed(str(address), said)


def failed_midway(address: Address, message: object) -> ServerFailed:
    """Return the error for a server that reports one midway. `message`: its words."""
    said = Translatable(
        "The server at {address} failed{words}", address=str(address), words=quoted(message_of(message))
    )
    return ServerFailed(str(address), said)


def refused(address: Address, status: int, retry_after: str, body: bytes, *, with_key: bool) -> ServerFailed:
    """Return the error for an answer with another status than 200, or of another kind than was asked for."""
    words = quoted(message_in(body))
    place = str(address)
    if status == 200:
        return not_understood(address, Translatable("it is neither a stream nor JSON"))
    if status in (401, 403) and with_key:
        said = Translatable("The server at {address} refuses the key. Check it.", address=place)
    elif status in (401, 403):
        said = Translatable(
            "The server at {address} wants a key. Enter it, or set OUTRIDER_API_KEY and OUTRIDER_API_KEY_ADDRESS.",
            address=place,
        )
    elif status == 404:
        said = Translatable(
            "The server at {address} does not have what was asked for (404){words}", address=place, words=words
        )
    elif status == 429 and retry_after.isdecimal() and len(retry_after) < 6:
        said = Translatable(
            "The server at {address} takes no more requests for now (429). Ask again in {seconds} s.",
            address=place,
            seconds=retry_after,
        )
    elif status == 429:
        said = Translatable(
            "The server at {address} takes no more requests for now (429). Ask again later.", address=place
        )
    elif 300 <= status < 400:
        said = Translatable(
            "The server at {address} sends to another address ({status}). Enter that one.", address=place, status=status
        )
    elif status >= 500:
        said = Translatable(
            "The server at {address} failed ({status}){words}", address=place, status=status, words=words
        )
    else:
        said = Translatable(
            "The server at {address} refuses the request ({status}){words}", address=place, status=status, words=words
        )
    return ServerFailed(place, said, status)


def _certificate_problem(error: BaseException | None) -> str | None:
    """Return the reason for distrusting a certificate; None for other errors."""
    for _ in range(8):
        if error is None:
            return None
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message.rstrip(".")
        if isinstance(error, ssl.SSLError):
            return error.reason or "TLS"
        error = error.__cause__ or error.__context__
    return None
