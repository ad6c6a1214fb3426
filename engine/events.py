"""Define the events of a running generation: PromptProgress…, then TokenEvents and RoundEvents, then Finished.

They are named tuples: immutable, and made in a third of the time that a frozen dataclass of eight fields takes. Use
`event._asdict()` for a dictionary; `dataclasses.asdict` is for results, which are dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from engine.messages.message import Message
from engine.messages.parts import Part, ReasoningPart, TextPart, ToolCall
from engine.stats import GenerationStats

Origin = Literal["accepted", "correction", "bonus", "plain", "forced"]
FinishReason = Literal["stop", "length", "context", "time", "cancelled", "error"]
Channel = Literal["reasoning", "content", "tool"]
"""A part of a reply: the model's thought, its answer, and its tool calls."""


class LoadProgress(NamedTuple):
    """Report the load of a model. `part`: target or draft; `stage`: checking or loading; `fraction` 0..1."""

    part: Literal["target", "draft"]
    stage: Literal["checking", "loading"]
    fraction: float


class PromptProgress(NamedTuple):
    """Report that the prompt is being read: `evaluated` of `total` tokens that were not in the cache.

    0 of 0: it was read by a server that does not report its length.
    """

    evaluated: int
    total: int


class TokenEvent(NamedTuple):
    """Report one token of the reply.

    `text` is what this token adds to the reply's text; it may be empty (half a character, a possible stop string, the
    end token). `position` counts the reply's tokens from 0, `round` the rounds from 1. `logprob` and `draft_logprob`
    are natural logarithms of the probability by the models' own logits (temperature 1, nothing cut off); the draft's
    only for tokens that it proposed. A forced token was not drawn and belongs to no round: its `round`
    is that of the tokens before it. `top`: up to five (token, logprob) of the target, best first, if requested.
    `channel`: the part of the reply that this token leads to or belongs to; `added`: its additions to reasoning and
    content, without markers; as in `text`, a possible marker is held back.
    """

    token: int
    text: str
    origin: Origin
    round: int
    position: int
    logprob: float
    draft_logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()
    channel: Channel = "content"
    added: tuple[tuple[Channel, str], ...] = ()


class TextEvent(NamedTuple):
    """Report a piece of a server's reply, which comes as text without tokens.

    `text`: its addition to the reply's text; `channel`, `added`: as in TokenEvent; `tokens`: the reply's tokens so far,
    None if the server does not report them.
    """

    text: str
    channel: Channel = "content"
    added: tuple[tuple[Channel, str], ...] = ()
    tokens: int | None = None


class RoundEvent(NamedTuple):
    """Report the end of a round. `source` names the drafter; `lookahead` is the requested K; times in milliseconds.

    `speedup`: the automatic lookahead's estimate for the round, as a multiple of plain decoding's speed (1.0: a plain
    round). None if the lookahead is not automatic.
    `rejected`: the rejected proposals in order, `proposed - accepted` of them: the first is the one that the target
    replaced, the others followed it. Each with the natural logarithm of its probability by the draft, None if its
    source knows none.
    """

    round: int
    source: str
    lookahead: int
    proposed: int
    accepted: int
    draft_ms: float
    target_ms: float
    speedup: float | None = None
    rejected: tuple[tuple[int, float | None], ...] = ()


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """Hold a finished reply.

    `prompt_evaluated`: prompt tokens that had to be read; the rest was in the cache. `dropped_turns`: the number of
    oldest turns dropped to fit the context. `reasoning`, `content`, `tool_calls`: the parts of the reply, without the
    markers between them, while `text` is the reply as it was written; an incomplete call is dropped. `notes`: notes for
    the user on the making of the prompt, usually none. `stop_reason`: the stop string, or the id of the token, that
    ended the reply; None for another end. `seed`: of the draws, given or drawn. `logprobs`: of each token, and `top`:
    the best (token, logprob) at its position, if requested; both as in TokenEvent.
    A server sends no tokens: `tokens` is then empty, and `stats.untold` names the figures that it did not report.
    """

    text: str
    tokens: tuple[int, ...]
    prompt_tokens: int
    prompt_evaluated: int
    finish_reason: FinishReason
    method: str
    lookahead: int | str
    stats: GenerationStats
    dropped_turns: int = 0
    reasoning: str = ""
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    notes: tuple[str, ...] = ()
    stop_reason: str | int | None = None
    seed: int | None = None
    logprobs: tuple[float, ...] = ()
    top: tuple[tuple[tuple[int, float], ...], ...] = ()

    @property
    def advice(self) -> str | None:
        """Return advice, in a sentence for a person, where the draft was mostly wrong."""
        return self.stats.advice

    @property
    def message(self) -> Message:
        """Return the reply as a message of the conversation that goes on: in parts, where it has others than text."""
        reasoning, content = self.reasoning.strip(), self.content
        if not (reasoning or self.tool_calls or content.strip()):
            return Message("assistant", self.text)
        if not (reasoning or self.tool_calls) and content.strip() == self.text.strip():
            return Message("assistant", self.text)
        parts: list[Part] = [ReasoningPart(reasoning)] if reasoning else []
        parts += [TextPart(content)] if content.strip() else []
        return Message("assistant", [*parts, *self.tool_calls])

    def to_dict(self) -> dict[str, Any]:
        """Return the stable JSON form of the command line."""
        return {
            "text": self.text,
            "reasoning": self.reasoning,
            "content": self.content,
            "tool_calls": [call.to_dict() for call in self.tool_calls],
            "tokens": list(self.tokens),
            "prompt_tokens": None if "prompt" in self.stats.untold else self.prompt_tokens,
            "prompt_evaluated": None if "cached" in self.stats.untold else self.prompt_evaluated,
            "finish_reason": self.finish_reason,
            "stop_reason": self.stop_reason,
            "method": self.method,
            "lookahead": self.lookahead,
            "dropped_turns": self.dropped_turns,
            "seed": self.seed,
            "logprobs": list(self.logprobs),
            "top": [[{"token": token, "logprob": share} for token, share in row] for row in self.top],
            "advice": self.advice,
            "notes": [str(note) for note in self.notes],
            "stats": self.stats.to_dict(),
        }


class Finished(NamedTuple):
    """Report the end: the last event."""

    result: GenerationResult


Event = PromptProgress | TokenEvent | TextEvent | RoundEvent | Finished
