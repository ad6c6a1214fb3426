"""Answer one request: write its replies in turn, and tell them whole or as a stream."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from engine.errors import (
    BackendClosed,
    Cancelled,
    ChatTemplateFailed,
    ContextFull,
    DecoderBusy,
    EngineError,
    InvalidRequest,
    ModelNotLoaded,
    ModelTooLarge,
    NotAvailable,
    TextNotEncodable,
    UnknownMethod,
    UnknownPreset,
)
from engine.events import Event, Finished, TokenEvent
from engine.server.engine_thread import EngineThread
from engine.server.interfaces.form import Form, error_body
from engine.server.interfaces.requests import ParsedRequest
from engine.server.registry import NoSuchModel
from engine.server.request_queue import TooMany

_log = logging.getLogger("outrider.server")
_GONE = 499
_LEFT_OUT, _LONGEST_HEADER = "outrider-left-out", 1000
_MOST_LOGGED = 1000
_CANCELLED = "The reply was cancelled."
_FAILED = "The server failed. Its log says more."
_CLIENTS_FAULTS = (
    *(InvalidRequest, ContextFull, TextNotEncodable, ChatTemplateFailed, NotAvailable, UnknownMethod, UnknownPreset),
)
"""Errors that the same request would meet again; every other one is the server's."""
_FOR_NOW = (DecoderBusy, BackendClosed, ModelNotLoaded, ModelTooLarge, Cancelled)
"""Errors that the same request may not meet later."""
Refusal = Callable[..., dict[str, Any]]


async def answer(request: Request, engine: EngineThread, parsed: ParsedRequest, form: Form) -> Response:
    """Return the answer to a request that was read. A client that goes away ends it."""
    events = _events(engine, parsed, form, client_of(request))
    work = _stream(events, form) if parsed.stream else _whole(events, form)
    response = await unless_gone(request, work, form.refusal)
    _report_ignored(request, response, (*parsed.left_out, *form.context.left_out), engine.logged_parts)
    return response


def _report_ignored(request: Request, response: Response, left_out: Sequence[str], known: set[tuple[str, str]]) -> None:
    """Report ignored parts of a request: in a header, and in the log unless `known` already, by its path."""
    if not left_out:
        return
    header = "; ".join(dict.fromkeys(left_out)).encode("ascii", "replace").decode()
    response.headers[_LEFT_OUT] = "".join(filter(str.isprintable, header))[:_LONGEST_HEADER]
    news = [what for what in dict.fromkeys(left_out) if (request.url.path, what) not in known]
    if news and len(known) < _MOST_LOGGED:
        known.update((request.url.path, what) for what in news)
        _log.info("%s: left out: %s", request.url.path, "; ".join(map(ascii, news)))


async def unless_gone(request: Request, work: Coroutine[Any, Any, Response], refusal: Refusal = error_body) -> Response:
    """Run `work`, cancelled where the client goes away before."""
    began = perf_counter()
    task, gone = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        response = task.result() if task.done() else Response(status_code=_GONE)
    except (EngineError, TooMany) as error:
        return refuse(error, refusal)
    finally:
        for each in (task, gone):
            each.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await each
    _log.info("%s: %d, %d ms", request.url.path, response.status_code, 1000 * (perf_counter() - began))
    return response


async def _events(
    engine: EngineThread, parsed: ParsedRequest, form: Form, client: str
) -> AsyncIterator[tuple[int, list[Event]]]:
    """Yield the events of all replies, one after the other, grouped as they came."""
    for index, (wanted, in_tokens) in enumerate(parsed.requests()):
        async with aclosing(engine.reply(wanted, client, form.model, form.context, in_tokens)) as events:
            async for together in events:
                yield index, [_silenced(event) for event in together] if parsed.silent else together
        if len(form.results) <= index or form.broken:  # The server ends, or its models change.
            return


def _silenced(event: Event) -> Event:
    """Return an event of a reply of which nothing is wanted."""
    if isinstance(event, TokenEvent):
        return event._replace(text="", added=())
    if isinstance(event, Finished):
        parts: dict[str, Any] = {"text": "", "content": "", "reasoning": "", "tokens": (), "tool_calls": ()}
        return Finished(replace(event.result, finish_reason="length", logprobs=(), top=(), **parts))
    return event


async def _whole(events: AsyncIterator[tuple[int, list[Event]]], form: Form) -> Response:
    async for index, together in events:
        for event in together:
            form.note(index, event)
    return _cancelled(form) if form.broken or not form.results else JSONResponse(form.whole())


def _cancelled(form: Form) -> Response:
    return JSONResponse(form.refusal(_CANCELLED, "server_error"), 503)


async def _stream(events: AsyncIterator[tuple[int, list[Event]]], form: Form) -> Response:
    try:
        first = await anext(events)  # What is wrong with the request is a status, not an event.
    except StopAsyncIteration:
        return _cancelled(form)

    async def pieces() -> AsyncIterator[bytes]:
        async with aclosing(events):  # type: ignore[type-var]
            try:
                yield _pieces(form, *first)
                async for index, together in events:
                    if said := _pieces(form, index, together):
                        yield said
            except (EngineError, TooMany) as error:
                ending = form.failed(_sentence(error))
            except Exception:  # noqa: BLE001 - the client gets an error, the log says which
                _log.exception("A reply broke off")
                ending = form.failed(_FAILED)
            else:
                ending = form.failed(_CANCELLED) if form.broken or not form.results else form.end()
            for piece in ending:
                yield piece

    return StreamingResponse(pieces(), media_type=form.media_type, headers={"cache-control": "no-store"})


def _pieces(form: Form, index: int, together: list[Event]) -> bytes:
    pieces: list[bytes] = []
    for event in together:
        form.note(index, event)
        # What broke off has no end: a client that stops reading at one would take it for complete.
        if not (isinstance(event, Finished) and form.broken):
            pieces += form.pieces(index, event)
    return b"".join(pieces)


async def _gone(request: Request) -> None:
    """Wait until the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def client_of(request: Request) -> str:
    """Return the identity of a client: its address, and the name that it gives itself."""
    host = "" if request.client is None else request.client.host
    return f"{host} {request.headers.get('x-client-id', '')} {request.headers.get('user-agent', '')}"[:200]


def refuse(error: Exception, refusal: Refusal = error_body) -> Response:
    """Return the answer with the reason of a refusal; `refusal` forms its body."""
    said = _sentence(error)
    if isinstance(error, TooMany):
        return JSONResponse(refusal(said, "rate_limit_error"), 429, {"retry-after": "1"})
    if isinstance(error, NoSuchModel):
        return JSONResponse(refusal(said, code="model_not_found"), 404)
    if isinstance(error, _FOR_NOW):
        return JSONResponse(refusal(said, "server_error"), 503)
    if isinstance(error, _CLIENTS_FAULTS):
        return JSONResponse(refusal(said), 400)
    return JSONResponse(refusal(said, "server_error"), 500)


def _sentence(error: Exception) -> str:
    return "Too many requests are waiting. Try again later." if isinstance(error, TooMany) else str(error)
