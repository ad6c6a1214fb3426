"""Define the contract of a responder: models loaded here, or a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, Unpack

from engine.cancel import CancelToken
from engine.chat.context_fit import PromptFit
from engine.config import GenerationRequest, Prompt, ThinkingMode
from engine.events import Event, GenerationResult
from engine.generation.questions import ReadPrompt
from engine.messages.message import Message
from engine.messages.tools import Tool
from engine.options import GenerationOptions
from engine.stats import GenerationStats


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Describe a responder's capabilities: the facts of its replies that it can report.

    `tokens`: their token ids, so that its events are TokenEvents (otherwise TextEvents), and `token_text`; `logprobs`:
    the tokens' log-probabilities; `acceptance`: the numbers of proposed and accepted tokens; `plain`: plain decoding on
    request, for comparison; `counts`: `count`, `fit` and `read_prompt` work.
    """

    tokens: bool = False
    logprobs: bool = False
    acceptance: bool = False
    plain: bool = False
    counts: bool = False


EVERYTHING = Capabilities(tokens=True, logprobs=True, acceptance=True, plain=True, counts=True)


class Responder(Protocol):
    """Answer requests: SpeculativeDecoder does, and RemoteDecoder. What one cannot do it declares in `capabilities`."""

    cancel_token: CancelToken

    @property
    def capabilities(self) -> Capabilities:
        """Return the capabilities of its replies."""

    @property
    def is_loaded(self) -> bool:
        """Return True if it can be asked."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return sentences that a person should know, mostly none."""

    @property
    def thinking_modes(self) -> tuple[ThinkingMode, ...]:
        """List the values of `thinking` beside "default"."""

    @property
    def stats(self) -> GenerationStats:
        """Return the figures of all replies since the last `reset_stats`, added up."""

    def reset_stats(self) -> None:
        """Start counting anew."""

    def describe(self) -> dict[str, Any]:
        """Name the responder, for JSON."""

    def generate(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> GenerationResult:
        """Write a reply and give it whole."""

    def stream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> Generator[Event, bool | None, None]:
        """Write a reply as events, Finished last; an error midway is raised behind it."""

    def astream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> AsyncGenerator[Event, None]:
        """Stream without blocking the event loop."""

    def answer_now(self) -> None:
        """End the thought of the reply that is being written, if the responder can."""

    def calibrate(self, *, cancel: CancelToken | None = None) -> None:
        """Measure the costs that must be known before replies are timed."""

    def token_text(self, token: int) -> str:
        """Return the text of one token alone; needs `tokens`."""

    def count(self, text: str) -> int:
        """Return the number of tokens a text has; needs `counts`."""

    def fit(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        thinking: ThinkingMode = "default",
        tools: Sequence[Tool] = (),
        cancel: CancelToken | None = None,
    ) -> PromptFit:
        """Forecast the size of the prompt of these messages; needs `counts`."""

    def read_prompt(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        thinking: ThinkingMode = "default",
        reply_next: bool = True,
        cancel: CancelToken | None = None,
    ) -> ReadPrompt:
        """Render these messages as the target would read them; needs `counts`."""

    def close(self) -> None:
        """Cancel the running work, and free everything."""

    def __enter__(self) -> Self:
        """Return itself."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
