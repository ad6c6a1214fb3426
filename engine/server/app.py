"""Name the routes of the server, and their handlers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine.decoder import SpeculativeDecoder
from engine.errors import EngineError, InvalidRequest
from engine.generation.questions import ReadPrompt
from engine.server.answer import answer, client_of, refuse, unless_gone
from engine.server.engine_thread import EngineThread, within_reach
from engine.server.guard import Guard, Limits
from engine.server.interfaces.bodies import read_json
from engine.server.interfaces.form import Form, ReplyContext, error_body
from engine.server.interfaces.messages import MessageForm, read_conversation
from engine.server.interfaces.ollama import (
    VERSION,
    OllamaForm,
    OllamaKind,
    describe_model,
    describe_tag,
    read_ollama_chat,
    read_ollama_text,
)
from engine.server.interfaces.properties import describe_props, describe_slots
from engine.server.interfaces.replies import InfillForm, Kind, ReplyForm
from engine.server.interfaces.requests import Defaults, ParsedRequest, read_chat, read_completion, read_infill
from engine.server.interfaces.responses import ResponsesForm, read_responses
from engine.server.interfaces.texts import (
    embedding_texts,
    embeddings_answer,
    prompt_of,
    read_texts,
    read_tokens,
    tokens_answer,
)
from engine.server.kept_responses import KeptResponses

_log = logging.getLogger("outrider.server")
_Read = Callable[[Mapping[str, Any], Defaults], ParsedRequest]
_Make = Callable[[str, ReplyContext, ParsedRequest], Form]
_Question = Callable[[SpeculativeDecoder], dict[str, Any]]


def make_app(engine: EngineThread, defaults: Defaults, limits: Limits, *, ollama: bool = False) -> Starlette:
    """Return the server as an ASGI application. The engine stays the caller's. `ollama`: with Ollama's paths."""
    routes = Routes(engine, defaults)
    cors = [Middleware(CORSMiddleware, allow_origins=list(limits.origins), allow_methods=["*"], allow_headers=["*"])]
    posts = {
        "/v1/chat/completions": routes.chat,
        "/v1/completions": routes.completions,
        "/v1/responses": routes.responses,
        "/v1/embeddings": routes.embeddings,
        "/v1/messages": routes.messages,
        "/v1/messages/count_tokens": routes.count_tokens,
        "/tokenize": routes.tokenize,
        "/detokenize": routes.detokenize,
        "/apply-template": routes.apply_template,
        "/infill": routes.infill,
        "/completion": routes.native_completion,
        "/completions": routes.native_completion,
        "/chat/completions": routes.chat,
    }
    gets = {
        "/health": routes.health,
        "/metrics": routes.metrics,
        "/v1/models": routes.models,
        "/v1/models/{name:path}": routes.model,
        "/models": routes.models,
        "/v1/health": routes.health,
        "/props": routes.props,
        "/slots": routes.slots,
    }
    if ollama:
        posts |= {
            "/api/chat": routes.ollama_chat,
            "/api/generate": routes.ollama_text,
            "/api/show": routes.ollama_model,
        }
        gets |= {
            "/": routes.ollama_here,
            "/api/tags": routes.ollama_models,
            "/api/ps": routes.ollama_loaded,
            "/api/version": routes.ollama_version,
        }
    return Starlette(
        routes=[
            *(Route(path, answered) for path, answered in gets.items()),
            *(Route(path, answered, methods=["POST"]) for path, answered in posts.items()),
        ],
        # Refusals carry CORS headers too: without them, an allowed page could not read the reason.
        middleware=[*(cors if limits.origins else []), Middleware(Guard, limits=limits)],
        exception_handlers={404: partial(_not_found, ollama=ollama), 405: _not_found, Exception: _failed},
        lifespan=routes.tidied,
    )


class Routes:
    """Answer requests with the models of one registry."""

    def __init__(self, engine: EngineThread, defaults: Defaults) -> None:
        self._engine, self._defaults = engine, defaults
        self._kept = KeptResponses()

    @asynccontextmanager
    async def tidied(self, _: Starlette) -> AsyncIterator[None]:
        """Unload models that nobody uses, as long as the server runs."""
        task = asyncio.create_task(self._engine.tidy())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    # What is there ----------------------------------------------------------------------------------------------------

    async def health(self, _: Request) -> Response:
        """Report that the server runs."""
        return JSONResponse({"status": "ok"})

    async def metrics(self, _: Request) -> Response:
        """Return the counters, for Prometheus."""
        queue = self._engine.queue
        text = self._engine.metrics.text(self._engine.registry.loaded, queue.running, queue.waiting)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def models(self, _: Request) -> Response:
        """List the models."""
        registry = self._engine.registry
        return JSONResponse({"object": "list", "data": [registry.describe(name) for name in registry.names]})

    async def model(self, request: Request) -> Response:
        """Return the model of a name."""
        try:
            return JSONResponse(self._engine.registry.describe(request.path_params["name"]))
        except EngineError as error:
            return refuse(error)

    async def props(self, request: Request) -> Response:
        """Describe the model and the server as llama.cpp's server does."""
        try:
            name = self._engine.registry.find(request.query_params.get("model", ""))
        except EngineError as error:
            return refuse(error)
        decoder = self._engine.registry.if_loaded(name)
        return JSONResponse(describe_props(name, decoder, self._defaults, self._engine.slots))

    async def slots(self, _: Request) -> Response:
        """Return the places in which replies are written, as llama.cpp's server tells them."""
        engine = self._engine
        decoder = engine.registry.if_loaded(engine.registry.loaded) if engine.registry.loaded else None
        return JSONResponse(describe_slots(decoder, engine.slots, engine.queue.running))

    # Replies ----------------------------------------------------------------------------------------------------------

    async def chat(self, request: Request) -> Response:
        """Answer a conversation, as OpenAI's chat interface does."""
        return await self._answer(request, read_chat, partial(_reply_form, "chat"))

    async def completions(self, request: Request) -> Response:
        """Continue a text."""
        return await self._answer(request, read_completion, partial(_reply_form, "text"))

    async def responses(self, request: Request) -> Response:
        """Answer a conversation, as OpenAI's newer interface does."""
        kept = self._kept
        return await self._answer(
            request,
            lambda body, defaults: read_responses(kept.with_before(body), defaults),
            lambda model, context, parsed: ResponsesForm(model, context, parsed.body, parsed.tools, kept.keep),
        )

    async def messages(self, request: Request) -> Response:
        """Answer a conversation, as Anthropic's interface does."""
        return await self._answer(
            request, read_conversation, lambda model, context, _: MessageForm(model, context), MessageForm.refusal
        )

    async def infill(self, request: Request) -> Response:
        """Fill a gap in a text."""
        return await self._answer(request, read_infill, lambda model, context, _: InfillForm(model, context))

    async def native_completion(self, request: Request) -> Response:
        """Continue a text, as llama.cpp's own interface does."""
        return await self._answer(request, read_completion, lambda model, context, _: InfillForm(model, context))

    async def _answer(
        self, request: Request, read: _Read, make: _Make, refusal: Callable[..., dict[str, Any]] = error_body
    ) -> Response:
        try:
            parsed = read(read_json(await request.body()), self._defaults)
            model, context = self._model(parsed.body), ReplyContext(parsed.logprobs, parsed.request.stop)
        except EngineError as error:
            return refuse(error, refusal)
        if parsed.body.get("model") not in (None, "", model):
            context.left_out.append(f"model name: {model} is served")
        return await answer(request, self._engine, parsed, make(model, context, parsed))

    def _model(self, body: Mapping[str, Any]) -> str:
        """Return the name of the model in a body. Raises the errors of finding it."""
        name = body.get("model")
        return self._engine.registry.find(name if isinstance(name, str) else "")

    # Ollama's interface -----------------------------------------------------------------------------------------------

    async def ollama_chat(self, request: Request) -> Response:
        """Answer a conversation, as Ollama does."""
        return await self._answer(request, read_ollama_chat, partial(_ollama_form, "chat"), OllamaForm.refusal)

    async def ollama_text(self, request: Request) -> Response:
        """Answer a text, or go on with it, as Ollama does."""
        return await self._answer(request, read_ollama_text, partial(_ollama_form, "generate"), OllamaForm.refusal)

    async def ollama_models(self, _: Request) -> Response:
        """List the models as Ollama does."""
        registry = self._engine.registry
        return JSONResponse({"models": [describe_tag(registry.describe(name)) for name in registry.names]})

    async def ollama_loaded(self, _: Request) -> Response:
        """List the loaded model as Ollama does."""
        registry = self._engine.registry
        return JSONResponse({"models": [describe_tag(registry.describe(registry.loaded))] if registry.loaded else []})

    async def ollama_model(self, request: Request) -> Response:
        """Describe a model as Ollama does."""
        registry = self._engine.registry
        try:
            body = read_json(await request.body())
            wanted = body.get("model") or body.get("name")
            if not isinstance(wanted, str | None):
                raise InvalidRequest('"model" must be the name of a model.')
            name = self._model({"model": wanted})
        except EngineError as error:
            return refuse(error, OllamaForm.refusal)
        described = registry.describe(name)
        if registry.if_loaded(name) is None:
            return JSONResponse(describe_model(described, None))
        return JSONResponse(await self._engine.ask(name, client_of(request), lambda d: describe_model(described, d)))

    async def ollama_version(self, _: Request) -> Response:
        """Return the version."""
        return JSONResponse(VERSION)

    async def ollama_here(self, _: Request) -> Response:
        """Report that the server runs, as Ollama's clients check it."""
        return PlainTextResponse("Ollama's interface is here, at /api.")

    # Tokens and vectors -----------------------------------------------------------------------------------------------

    async def count_tokens(self, request: Request) -> Response:
        """Count the tokens of a conversation, as Anthropic's interface does."""

        def read(body: Mapping[str, Any]) -> _Question:
            parsed = read_conversation({"max_tokens": 1, **body}, self._defaults)
            return lambda decoder: {"input_tokens": _prompt(parsed, decoder).tokens}

        return await self._ask(request, read, MessageForm.refusal)

    async def apply_template(self, request: Request) -> Response:
        """Return the text that a model reads of a conversation, with the texts of its control tokens."""

        def read(body: Mapping[str, Any]) -> _Question:
            parsed = read_chat(body, self._defaults)
            return lambda decoder: {"prompt": _prompt(parsed, decoder).text}

        return await self._ask(request, read)

    async def tokenize(self, request: Request) -> Response:
        """Return the tokens of a text or of a conversation."""
        return await self._ask(request, lambda body: partial(tokens_answer, read_texts(body)))

    async def detokenize(self, request: Request) -> Response:
        """Return the text of tokens."""

        def read(body: Mapping[str, Any]) -> _Question:
            tokens = read_tokens(body)
            return lambda decoder: dict.fromkeys(("content", "prompt"), decoder.decode(tokens))

        return await self._ask(request, read)

    async def _ask(
        self,
        request: Request,
        read: Callable[[Mapping[str, Any]], _Question],
        refusal: Callable[..., dict[str, Any]] = error_body,
    ) -> Response:
        """Answer a body with the question that `read` makes of it for a decoder."""
        try:
            body = read_json(await request.body())
            question, model = read(body), self._model(body)
        except EngineError as error:
            return refuse(error, refusal)
        # Also to write the answer down takes its time: not on the event loop.
        work = self._engine.ask(model, client_of(request), lambda decoder: JSONResponse(question(decoder)))
        return await unless_gone(request, work, refusal)

    async def embeddings(self, request: Request) -> Response:
        """Return vectors of texts."""
        try:
            wanted = embedding_texts(read_json(await request.body()))
            model = self._engine.registry.find(wanted.model, embeds=True)
        except EngineError as error:
            return refuse(error)

        async def work() -> Response:
            vectors, count = await self._engine.embed(model, client_of(request), wanted.texts)
            return JSONResponse(embeddings_answer(wanted, model, vectors, count))

        return await unless_gone(request, work())


def _prompt(parsed: ParsedRequest, decoder: SpeculativeDecoder) -> ReadPrompt:
    return prompt_of(within_reach(parsed.request, decoder, ReplyContext()), decoder)


def _ollama_form(kind: OllamaKind, model: str, context: ReplyContext, parsed: ParsedRequest) -> Form:
    return OllamaForm(kind, model, context, loads=parsed.silent)


def _reply_form(kind: Kind, model: str, context: ReplyContext, parsed: ParsedRequest) -> Form:
    return ReplyForm(kind, model, context, with_usage=parsed.usage, copies=parsed.copies, echo=parsed.echo)


async def _not_found(request: Request, error: Exception, *, ollama: bool = True) -> Response:
    status = int(getattr(error, "status_code", 404))
    said = "There is no such path." if status == 404 else "This path takes another method."
    if not ollama and request.url.path.startswith("/api/"):
        said = "Ollama's interface is off. Start the server with --ollama, or use OpenAI's interface at /v1."
    return JSONResponse(error_body(said), status)


async def _failed(_: Request, __: Exception) -> Response:
    return JSONResponse(error_body("The server failed. Its log says more.", "server_error"), 500)
