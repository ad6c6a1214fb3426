"""Generate replies to be watched: a race of two ways of decoding, and a reply for the first start."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from app.state.chat.trace import TokenTrace
from app.state.compare.compare import CompareRequest
from app.state.compare.race import RaceMark
from app.state.models.selection import Lookahead
from engine import Cancelled, CancelToken, Finished, Message, PromptProgress, RoundEvent, SamplingConfig, TokenEvent

if TYPE_CHECKING:
    from engine import SpeculativeDecoder

_WARM_TOKENS = 8
_SHOWN_TOKENS, _SHOWN_LOOKAHEAD = 120, 4


def race(
    decoder: SpeculativeDecoder, request: CompareRequest, cancel: CancelToken, note: Callable[[RaceMark], None]
) -> None:
    """Answer a prompt with plain decoding, then speculatively, each alone on the machine.

    `note` receives each token as it comes, with the seconds since its way had read the prompt, which the caches hold
    then. Raises Cancelled, and what a reply raises.
    """
    ways: tuple[Lookahead, ...] = (0, request.ways[0])
    settings, prompt = request.settings, [Message("user", request.prompt)]
    for lane, lookahead in enumerate(ways):
        options: dict[str, Any] = {"lookahead": lookahead}
        sampling = SamplingConfig(temperature=settings.temperature, seed=0)
        for event in decoder.stream(prompt, max_tokens=_WARM_TOKENS, sampling=sampling, cancel=cancel, **options):
            if isinstance(event, Finished) and event.result.finish_reason == "cancelled":
                raise Cancelled
        began, tokens = perf_counter(), 0
        for event in decoder.stream(prompt, max_tokens=settings.tokens, sampling=sampling, cancel=cancel, **options):
            now = perf_counter() - began
            if isinstance(event, PromptProgress):
                began = perf_counter()
            elif isinstance(event, TokenEvent):
                tokens += 1
                note(RaceMark(lane, now, event.text, tokens))
            elif isinstance(event, Finished):
                if event.result.finish_reason == "cancelled":
                    raise Cancelled
                note(RaceMark(lane, now, "", tokens, over=True))


def rehearse(decoder: SpeculativeDecoder, prompt: str, cancel: CancelToken) -> TokenTrace:
    """Return the record of a reply that is written now, to be played as a replay. Raises Cancelled."""
    trace, names = TokenTrace(), dict[int, str]()
    asked = [Message("user", prompt)]
    for event in decoder.stream(asked, lookahead=_SHOWN_LOOKAHEAD, max_tokens=_SHOWN_TOKENS, cancel=cancel):
        if isinstance(event, TokenEvent):
            names[event.token] = decoder.token_text(event.token)
            trace.add(event, names)
        elif isinstance(event, RoundEvent):
            names |= {token: decoder.token_text(token) for token, _ in event.rejected}
            trace.add_round(event, names)
        elif isinstance(event, Finished) and event.result.finish_reason == "cancelled":
            raise Cancelled
    return trace
