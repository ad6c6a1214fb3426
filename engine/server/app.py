"""Answer requests: the routes of the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from time import perf_counter
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from engine.errors import DecoderBusy, EngineError
from engine.events import Finished, GenerationResult, TokenEvent
from engine.server.engine_thread import EngineThread
from engine.server.guard import Guard, Limits
from engine.server.replies import Kind, ReplyForm, as_event, error_body
from engine.server.requests import Asked, Defaults, NoSuchModel, read_chat, read_completion, read_json
from engine.server.turns import TooMany

_log = logging.getLogger("outrider.server")
_Read = Callable[[Mapping[str, Any], Defaults], Asked]


def make_app(engine: EngineThread, defaults: Defaults, limits: Limits) -> Starlette:
    """Return the server as an ASGI application. The engine stays the caller's to close."""
    routes = Routes(engine, defaults)
    cors = [Middleware(CORSMiddleware, allow_origins=list(limits.origins), allow_methods=["*"], allow_headers=["*"])]
    return Starlette(
        routes=[
            Route("/health", routes.health),
            Route("/metrics", routes.metrics),
            Route("/v1/models", routes.models),
            Route("/v1/models/{name:path}", routes.model),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/completions", routes.completions, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, limits=limits), *(cors if limits.origins else [])],
        exception_handlers={404: _not_found, 405: _not_found, Exception: _failed},
    )


class Routes:
    """Answer requests with one decoder."""

    def __init__(self, engine: EngineThread, defaults: Defaults) -> None:
        self._engine, self._defaults = engine, defaults

    async def health(self, _: Request) -> Response:
        """Say that the server is there."""
        return JSONResponse({"status": "ok"})

    async def metrics(self, _: Request) -> Response:
        """Return what was done, for Prometheus."""
        turns = self._engine.turns
        text = self._engine.metrics.text(self._defaults.name, turns.running, turns.waiting)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def models(self, _: Request) -> Response:
        """List the models."""
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        """Return the model of a name."""
        name = request.path_params["name"]
        if name != self._defaults.name:
            return _refuse(404, str(NoSuchModel(name, self._defaults.name)), code="model_not_found")
        return JSONResponse(self._model())

    def _model(self) -> dict[str, Any]:
        target = self._engine.decoder.target
        length = 0 if target is None else target.context_length
        return {
            "id": self._defaults.name,
            "object": "model",
            "created": 0,
            "owned_by": "outrider",
            "context_length": length,
        }

    async def chat(self, request: Request) -> Response:
        """Answer a conversation."""
        return await self._answer(request, read_chat, "chat")

    async def completions(self, request: Request) -> Response:
        """Go on with a text."""
        return await self._answer(request, read_completion, "text")

    async def _answer(self, request: Request, read: _Read, kind: Kind) -> Response:
        began = perf_counter()
        try:
            asked = read(read_json(await request.body()), self._defaults)
        except NoSuchModel as error:
            return _refuse(404, str(error), code="model_not_found")
        except EngineError as error:
            return _refuse(400, str(error))
        if asked.ignored:
            _log.info("%s: ignored fields: %s", kind, ", ".join(asked.ignored))
        form = ReplyForm(kind, self._defaults.name, self._engine.decoder, asked.logprobs)
        client = _client(request)
        if asked.stream:
            return await self._stream(asked, form, client)
        task = asyncio.create_task(self._whole(asked, form, client))
        gone = asyncio.create_task(_gone(request))
        try:
            await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                return Response(status_code=499)
            response = task.result()
        except (EngineError, TooMany) as error:
            return _of_error(error)
        finally:
            for each in (task, gone):
                each.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await each
        _log.info("%s: %d ms", kind, 1000 * (perf_counter() - began))
        return response

    async def _whole(self, asked: Asked, form: ReplyForm, client: str) -> Response:
        result: GenerationResult | None = None
        async with aclosing(self._engine.reply(asked.request, client)) as events:
            async for event in events:
                if isinstance(event, TokenEvent):
                    form.note(event)
                elif isinstance(event, Finished):
                    result = event.result
        if result is None:
            return _refuse(503, "The reply was cancelled.", "server_error")
        return JSONResponse(form.whole(result))

    async def _stream(self, asked: Asked, form: ReplyForm, client: str) -> Response:
        events = self._engine.reply(asked.request, client)
        try:
            first = await anext(events)  # What is wrong with the request is a status, not an event.
        except (EngineError, TooMany) as error:
            return _of_error(error)
        except StopAsyncIteration:
            return _refuse(503, "The reply was cancelled.", "server_error")

        async def pieces() -> AsyncIterator[bytes]:
            async with aclosing(events):
                try:
                    event = first
                    while True:
                        if isinstance(event, TokenEvent):
                            for piece in form.piece(event):
                                yield as_event(piece)
                        elif isinstance(event, Finished):
                            for piece in form.last(event.result, with_usage=asked.usage):
                                yield as_event(piece)
                        try:
                            event = await anext(events)
                        except StopAsyncIteration:
                            break
                except EngineError as error:
                    yield as_event(error_body(str(error), "server_error"))
                yield as_event("[DONE]")

        return StreamingResponse(pieces(), media_type="text/event-stream", headers={"cache-control": "no-store"})


async def _gone(request: Request) -> None:
    """Wait until the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _client(request: Request) -> str:
    """Return what tells clients apart: where they call from, and what they call themselves."""
    host = "" if request.client is None else request.client.host
    return f"{host} {request.headers.get('x-client-id', '')} {request.headers.get('user-agent', '')}"[:200]


def _refuse(status: int, message: str, kind: str = "invalid_request_error", code: str | None = None) -> Response:
    return JSONResponse(error_body(message, kind, code), status)


def _of_error(error: Exception) -> Response:
    if isinstance(error, TooMany):
        return _refuse(429, "Too many requests are waiting. Try again later.", "rate_limit_error")
    if isinstance(error, DecoderBusy):
        return _refuse(503, str(error), "server_error")
    return _refuse(400, str(error))


async def _not_found(_: Request, error: Exception) -> Response:
    status = int(getattr(error, "status_code", 404))
    return _refuse(status, "There is no such path." if status == 404 else "This path takes another method.")


async def _failed(_: Request, __: Exception) -> Response:
    return _refuse(500, "The server failed. Its log says more.", "server_error")
