"""Define RemoteDecoder: a server as a caller sees it, in the place of a decoder with models of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from types import TracebackType
from typing import Any, NoReturn, Self, Unpack

from engine.cancel import CancelToken
from engine.chat.context_fit import PromptFit
from engine.config import GenerationRequest, Prompt, SamplingConfig, SpeculationConfig, ThinkingMode
from engine.errors import InvalidRequest, NotAvailable
from engine.events import Event, Finished, GenerationResult, TextEvent
from engine.generation.async_reply import AsyncReply
from engine.generation.model_lock import ModelLock, ReplyRef, RunningReply
from engine.generation.questions import ReadPrompt
from engine.generation.request import make_request
from engine.generation.responder import Capabilities
from engine.messages.message import Message
from engine.messages.tools import Tool
from engine.options import GenerationOptions
from engine.remote.body import make_body
from engine.remote.http import Connection
from engine.remote.kinds import ServerKind
from engine.remote.reply import RemoteReply
from engine.stats import GenerationStats
from engine.translatable import Translatable

_REPLYING = Translatable("This server is already asked for a reply. Wait for it, or cancel it.")


class RemoteDecoder:
    """Write replies with a server's model.

    Attributes: address; model (its name there); models (all names there); kind (of server); cancel_token. It is made by
    `connect_server`. One reply is written at a time; `close` may be called from another thread meanwhile and ends it.
    `stats.untold` of a result names the figures that the server does not report.
    """

    def __init__(
        self,
        connection: Connection,
        model: str,
        models: Sequence[str],
        kind: ServerKind,
        sampling: SamplingConfig | None = None,
    ) -> None:
        self.model = model
        self.models = tuple(models)
        self.kind = kind
        self.cancel_token = CancelToken()
        self._connection = connection
        self._sampling = sampling or SamplingConfig()
        self._stats = GenerationStats()
        self._model_lock = ModelLock()
        self._closed = False

    @property
    def address(self) -> str:
        """Return the address of the server."""
        return str(self._connection.address)

    @property
    def is_loaded(self) -> bool:
        """Return True if it can be asked."""
        return not self._closed

    @property
    def capabilities(self) -> Capabilities:
        """Return the capabilities of its replies."""
        return Capabilities(acceptance=self.kind.acceptance, plain=self.kind.plain)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return nothing: a server is not loaded."""
        return ()

    @property
    def thinking_modes(self) -> tuple[ThinkingMode, ...]:
        """Return nothing: a server does not report its thinking modes."""
        return ()

    def describe(self) -> dict[str, Any]:
        """Name the responder, for JSON."""
        return {"server": self.address, "server_kind": self.kind.name, "model": self.model}

    # Replies ----------------------------------------------------------------------------------------------------------

    def generate(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        on_text: Callable[[TextEvent], bool | None] | None = None,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> GenerationResult:
        """Write a reply and return it whole. Arguments as of SpeculativeDecoder; the server chooses who proposes.

        `on_text` sees each piece and may return False to end the reply with it.
        Raises InvalidRequest, NotAvailable, DecoderBusy, ServerFailed, Cancelled (before any text).
        """
        return self._reply(prompt, cancel, options).result(on_text)

    def stream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> Generator[Event, bool | None, None]:
        """Write a reply as events: PromptProgress…, TextEvent and RoundEvent…, Finished. Arguments as `generate`.

        Where the server breaks off, Finished tells what there is, and ServerFailed is raised behind it.
        """
        return self._reply(prompt, cancel, options)

    def astream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> AsyncGenerator[Event, None]:
        """Stream as `stream` does, without blocking the event loop."""
        token = cancel or self.cancel_token
        return AsyncReply(lambda: self._reply(prompt, token, options), token)

    def answer_now(self) -> None:
        """Do nothing: a server's thought cannot be ended."""

    def calibrate(self, *, cancel: CancelToken | None = None) -> None:
        """Do nothing: the costs of a server's models are its own affair."""

    def _reply(
        self, prompt: Prompt | GenerationRequest, cancel: CancelToken | None, options: GenerationOptions
    ) -> RunningReply:
        return RunningReply(lambda reply: self._events(prompt, cancel, dict(options), reply))

    def _events(
        self, prompt: Prompt | GenerationRequest, cancel: CancelToken | None, options: dict[str, Any], me: ReplyRef
    ) -> Generator[Event, bool | None, None]:
        request = make_request(prompt, options, self._sampling, SpeculationConfig())
        token = cancel or self.cancel_token
        with self._model_lock.use(token, _REPLYING, me):
            if self._closed:
                raise InvalidRequest(Translatable("The connection to this server was closed. Connect anew."))
            body = make_body(request, self.model, self.kind)
            answer: bool | None = None
            reply = RemoteReply(self._connection, self.kind, body, token)
            with closing(reply.run()) as events, suppress(StopIteration):
                while True:
                    event = events.send(answer)
                    if isinstance(event, Finished):
                        self._stats += event.result.stats
                    answer = yield event

    # What a server is not asked ---------------------------------------------------------------------------------------

    def token_text(self, token: int) -> str:
        """Raise NotAvailable: a server tells text, not tokens."""
        self._cannot(Translatable("The text of a token"))

    def count(self, text: str) -> int:
        """Raise NotAvailable."""
        self._cannot(Translatable("Counting the tokens of a text"))

    def fit(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        thinking: ThinkingMode = "default",
        tools: Sequence[Tool] = (),
        cancel: CancelToken | None = None,
    ) -> PromptFit:
        """Raise NotAvailable."""
        self._cannot(Translatable("Counting the tokens of a chat"))

    def read_prompt(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        thinking: ThinkingMode = "default",
        reply_next: bool = True,
        cancel: CancelToken | None = None,
    ) -> ReadPrompt:
        """Raise NotAvailable."""
        self._cannot(Translatable("What the model reads"))

    def _cannot(self, what: str) -> NoReturn:
        raise NotAvailable(what, Translatable("the target is a server, which does not tell. Choose a local target"))

    # Figures and the end ----------------------------------------------------------------------------------------------

    @property
    def stats(self) -> GenerationStats:
        """Return the figures of all replies since the last `reset_stats`, added up."""
        return self._stats

    def reset_stats(self) -> None:
        """Start counting anew."""
        self._stats = GenerationStats()

    def close(self) -> None:
        """End the reply that is being written. Closing twice is harmless."""
        with self._model_lock.change():
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
