"""Answer questions about the loaded target: its tokens, its thinking, and what it reads of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat.context_fit import PromptFit, measure_turns
from engine.chat.render import Renderer
from engine.chat.template import render_conversation, render_prompt
from engine.chat.thinking import ThinkingSwitch, thinking_input, thinking_of
from engine.config import ThinkingMode, check_thinking, freeze_messages
from engine.errors import InvalidRequest, ModelNotLoaded, TokenOutOfRange
from engine.messages.message import Message


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """Hold what a model reads of a conversation.

    `text`: with the texts of its control tokens; `markers`: where these are, as (begin, end) of the text; `tokens`:
    how many tokens it has; `notes`: what the chat template made change in the conversation, in sentences.
    """

    text: str
    markers: tuple[tuple[int, int], ...]
    tokens: int
    notes: tuple[str, ...] = ()


class TargetQuestions:
    """Answer questions about a target without writing a reply. Attribute: target (the loaded backend or None)."""

    target: Backend | None

    def _loaded(self) -> Backend:
        if self.target is None:
            raise ModelNotLoaded("target")
        return self.target

    def token_text(self, token: int) -> str:
        r"""Return the text of one token of the target alone.

        '' for a control token; bytes of half a character as \xf0\x9f.

        Raises ModelNotLoaded, TokenOutOfRange.
        """
        target = self._loaded()
        given: object = token
        if not isinstance(given, int) or not 0 <= token < target.vocab_size:
            raise TokenOutOfRange(token, target.vocab_size)
        return target.tokenizer.piece(token).decode("utf-8", "backslashreplace")

    def fit(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        thinking: ThinkingMode = "default",
        cancel: CancelToken | None = None,
    ) -> PromptFit:
        """Return how much of these messages a reply of `max_tokens` would read, and what is left out. Reads nothing.

        `thinking` as in GenerationRequest. Raises ModelNotLoaded, InvalidRequest, ChatTemplateFailed, TextNotEncodable,
        Cancelled.
        """
        target, told = self._loaded(), freeze_messages(messages)
        given = thinking_input(check_thinking(thinking), target.tokenizer, Renderer(cancel))
        return measure_turns(told, target.tokenizer, target.context_length, max_tokens, cancel, given)

    def count(self, text: str) -> int:
        """Return how many tokens of the target a text has. Raises ModelNotLoaded, InvalidRequest, TextNotEncodable."""
        target = self._loaded()
        if not isinstance(text, str):
            raise InvalidRequest(f"A text must be a string, not {type(text).__name__}.")
        return len(target.tokenizer.encode(text, add_special=False, parse_special=False))

    @property
    def thinking(self) -> ThinkingSwitch:
        """Return how the target is told to think: "on-off", "effort" (low, medium, high) or "none": it cannot be told.

        It is found out by rendering the chat template. Raises ModelNotLoaded.
        """
        return thinking_of(self._loaded().tokenizer, Renderer()).switch

    @property
    def thinking_modes(self) -> tuple[ThinkingMode, ...]:
        """Return what `thinking` may be for the target, beside "default"; () where it cannot be told.

        Raises ModelNotLoaded.
        """
        return thinking_of(self._loaded().tokenizer, Renderer()).modes

    def read_prompt(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        thinking: ThinkingMode = "default",
        reply_next: bool = True,
        cancel: CancelToken | None = None,
    ) -> ReadPrompt:
        """Return what the target would read of these messages, all of them. Reads nothing.

        `reply_next`: it is to reply now, or to go on with the last message if that is its own; False: they end there.
        Raises ModelNotLoaded, InvalidRequest, ChatTemplateFailed, TextNotEncodable, Cancelled.
        """
        tokenizer, told = self._loaded().tokenizer, freeze_messages(messages)
        if not told:
            raise InvalidRequest("There is no message to be read.")
        renderer = Renderer(cancel)
        given = thinking_input(check_thinking(thinking), tokenizer, renderer)
        if reply_next:
            prompt = render_prompt(told, tokenizer, renderer, given)
        else:
            prompt = render_conversation(told, tokenizer, renderer, given)
        markers = tuple(prompt.markers(tokenizer))
        return ReadPrompt(prompt.text, markers, len(prompt.tokens(tokenizer)), renderer.notes)
