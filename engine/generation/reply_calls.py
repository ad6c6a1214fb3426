"""Give the calls that write replies their forms: whole, as events, several, and in an event loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import closing, suppress
from typing import Unpack

from engine.cancel import CancelToken
from engine.checks import is_whole
from engine.config import GenerationRequest, Prompt
from engine.errors import BackendFailure, InvalidRequest
from engine.events import Event, Finished, GenerationResult, TokenEvent
from engine.generation.occupancy import RunningReply
from engine.options import GenerationOptions
from engine.translatable import Translatable

OnToken = Callable[[TokenEvent], bool | None]


class ReplyCalls(ABC):
    """Write replies. Attribute: cancel_token (ends the call that is running, where it was given no other)."""

    cancel_token: CancelToken

    @abstractmethod
    def _reply(
        self, prompt: Prompt | GenerationRequest, cancel: CancelToken | None, options: GenerationOptions
    ) -> RunningReply:
        """Return a reply that begins with its first event."""

    def generate(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        on_token: OnToken | None = None,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> GenerationResult:
        """Write a reply and give it whole.

        `prompt`: text, messages ({"role", "content"}), token ids, or a GenerationRequest. Messages that end with one of
        the assistant's have it continued; the result is what comes behind it. `on_token` sees each token and may return
        False to end the reply with it. `options`: fields of GenerationRequest, SamplingConfig and SpeculationConfig by
        name, in place of the decoder's own.
        Raises ModelNotLoaded, InvalidRequest, DecoderBusy, ContextFull, BackendFailure, Cancelled (before any token).
        """
        return _written(self._reply(prompt, cancel, options), on_token)

    async def agenerate(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        on_token: OnToken | None = None,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> GenerationResult:
        """Write a reply as `generate` does, without blocking the event loop: on a thread of its own.

        Cancelling the task, as a time-out does, ends the reply and waits for its end; the decoder is free then.
        `on_token` is called on that thread. Raises what `generate` raises.
        """
        token = cancel or self.cancel_token
        reply = self._reply(prompt, token, options)
        from engine.generation.async_reply import written  # noqa: PLC0415 - see astream

        return await written(lambda: _written(reply, on_token), token)

    def generate_many(
        self,
        prompts: Iterable[Prompt | GenerationRequest],
        *,
        n: int = 1,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> Generator[GenerationResult, None, None]:
        """Write `n` replies to each prompt, one after the other, and yield each when it is finished.

        The replies to one prompt read it once. Where there is a seed, each of them has its own: the seed, and those
        behind it. A reply that is cancelled is the last one. Raises what `generate` raises, at the prompt concerned.
        """
        given: object = n
        if not is_whole(given) or n < 1:
            raise InvalidRequest(f"n must be a whole number above 0, not {given!r}.")
        if isinstance(prompts, str | bytes | Mapping | GenerationRequest) or not isinstance(prompts, Iterable):
            raise InvalidRequest("generate_many takes a list of prompts. For a single one, use generate.")
        # Checked here, not at the first `next`.
        return self._many(prompts, n, cancel, options)

    def _many(
        self,
        prompts: Iterable[Prompt | GenerationRequest],
        n: int,
        cancel: CancelToken | None,
        options: GenerationOptions,
    ) -> Generator[GenerationResult, None, None]:
        for prompt in prompts:
            seed = options.get("seed")
            if seed is None and isinstance(prompt, GenerationRequest):
                seed = prompt.sampling.seed
            for number in range(n):
                drawn: GenerationOptions = {} if seed is None else {"seed": (seed + number) % 2**64}
                result = _written(self._reply(prompt, cancel, options | drawn), None)
                yield result
                if result.finish_reason == "cancelled":
                    return

    def stream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> Generator[Event, bool | None, None]:
        """Write a reply as events: PromptProgress…, TokenEvent and RoundEvent…, Finished. Arguments as `generate`.

        Closing the generator early ends the reply; the decoder can be used again at once.
        """
        return self._reply(prompt, cancel, options)

    def astream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> AsyncGenerator[Event, None]:
        """Stream as `stream` does, without blocking the event loop: the work is done on a thread of its own.

        Leaving the loop around it early, `aclose`, and cancelling the task end the reply.
        """
        from engine.generation.async_reply import AsyncReply  # noqa: PLC0415 - asyncio takes long to import

        token = cancel or self.cancel_token
        return AsyncReply(lambda: self._reply(prompt, token, options), token)


def _written(reply: RunningReply, on_token: OnToken | None) -> GenerationResult:
    """Return the result of a reply that is written to its end."""
    answer: bool | None = None
    result: GenerationResult | None = None
    with closing(reply) as events, suppress(StopIteration):
        while True:
            event = events.send(answer)
            answer = None
            if isinstance(event, TokenEvent) and on_token is not None:
                answer = on_token(event)
            elif isinstance(event, Finished):
                result = event.result
    if result is None:
        raise BackendFailure(Translatable("the reply ended without a result"))
    return result
