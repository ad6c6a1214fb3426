"""Answer questions about the loaded target: its tokens, its thinking, and what it reads of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat.context_fit import PromptFit, measure_turns
from engine.chat.render import Renderer
from engine.chat.template import encode_prompt, render_conversation, render_prompt
from engine.chat.thinking import ThinkingSwitch, thinking_input, thinking_of
from engine.checks import check_length, check_text, check_tokens
from engine.config import ThinkingMode, check_thinking, freeze_messages
from engine.errors import InvalidRequest, ModelNotLoaded
from engine.loading.source import Source, model_for
from engine.messages.message import Message
from engine.messages.tools import Tool, freeze_tools
from engine.translatable import Translatable


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


@dataclass(frozen=True, slots=True)
class Infill:
    """Hold the texts around a gap that is to be filled: what stands `before` and `behind` it.

    `begun`: how the text of the gap begins; `files`: names and texts of other files of the same work.
    """

    before: str
    behind: str
    begun: str = ""
    files: tuple[tuple[str, str], ...] = ()


_GAP_TOKENS = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
    ("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
    ("<PRE>", "<SUF>", "<MID>"),
)
"""By which tokens families mark what is before a gap, what is behind it, and the gap."""
_FILE_MARKS = ("<|file_sep|>", "<file_sep>", "<|file_separator|>")


class TargetQuestions:
    """Answer questions about a target without writing a reply. Attributes: target (a backend or None), sources."""

    target: Backend | None
    sources: tuple[Source, ...]

    def _loaded(self) -> Backend:
        if self.target is None:
            raise ModelNotLoaded("target")
        return self.target

    def describe(self) -> dict[str, Any]:
        """Return the models' names and where the target computes, for JSON."""
        target, draft = self.target, model_for("draft", self.sources)
        said: dict[str, Any] = {"draft": None if draft is None else draft.name}
        if target is not None:
            said |= {"target": target.name, "device": target.device, "batch_invariant": target.batch_invariant}
        return said

    def token_text(self, token: int) -> str:
        r"""Return the text of one token of the target alone.

        '' for a control token; bytes of half a character as \xf0\x9f.

        Raises ModelNotLoaded, TokenOutOfRange.
        """
        target = self._loaded()
        check_tokens((token,), target.vocab_size)
        return target.tokenizer.piece(token).decode("utf-8", "backslashreplace")

    def fit(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        thinking: ThinkingMode = "default",
        tools: Sequence[Tool] = (),
        cancel: CancelToken | None = None,
    ) -> PromptFit:
        """Return how much of these messages a reply of `max_tokens` would read, and what is left out. Reads nothing.

        `thinking` and `tools` as in GenerationRequest. Raises ModelNotLoaded, InvalidRequest, ChatTemplateFailed,
        TextNotEncodable, Cancelled.
        """
        target, told = self._loaded(), freeze_messages(messages)
        check_length(max_tokens, 0, None)
        given = thinking_input(check_thinking(thinking), target.tokenizer, Renderer(cancel))
        given = replace(given, tools=freeze_tools(tools) or None)
        return measure_turns(told, target.tokenizer, target.context_length, max_tokens, cancel, given)

    def count(self, text: str) -> int:
        """Return how many tokens of the target a text has. Raises ModelNotLoaded, InvalidRequest, TextNotEncodable."""
        return len(self.encode(text))

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = False) -> list[int]:
        """Return the target's token ids of a text.

        `add_special` adds the begin token, and the end token, where the model wants one; `parse_special` reads the
        texts of control tokens as those tokens. Raises ModelNotLoaded, InvalidRequest, TextNotEncodable.
        """
        target = self._loaded()
        if not isinstance(text, str):
            raise InvalidRequest(f"A text must be a string, not {type(text).__name__}.")
        check_text(text)
        return target.tokenizer.encode(text, add_special=add_special, parse_special=parse_special)

    def decode(self, tokens: Sequence[int], *, markers: bool = False) -> str:
        """Return the text of token ids of the target, as they stand in the middle of a text.

        Bytes that are no whole character become U+FFFD. Control tokens have no text, with `markers` that of their
        marker. Raises ModelNotLoaded, InvalidRequest, TokenOutOfRange.
        """
        target = self._loaded()
        if isinstance(tokens, str | bytes) or not isinstance(tokens, Sequence):
            raise InvalidRequest(f"Tokens must be a list of token ids, not {type(tokens).__name__}.")
        check_tokens(tokens, target.vocab_size)
        tokenizer, pieces = target.tokenizer, []
        for token in tokens:
            piece = tokenizer.piece(token)
            pieces.append(piece if piece or not markers else tokenizer.marker(token).encode())
        return b"".join(pieces).decode("utf-8", "replace")

    def prompt_tokens(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        thinking: ThinkingMode = "default",
        tools: Sequence[Tool] = (),
    ) -> list[int]:
        """Return the tokens of a prompt that has all of these messages; `thinking`, `tools` as in GenerationRequest.

        Raises ModelNotLoaded, InvalidRequest, ChatTemplateFailed, TextNotEncodable.
        """
        tokenizer, renderer = self._loaded().tokenizer, Renderer()
        given = replace(
            thinking_input(check_thinking(thinking), tokenizer, renderer), tools=freeze_tools(tools) or None
        )
        return encode_prompt(tuple(freeze_messages(messages)), tokenizer, raw=False, renderer=renderer, given=given)

    def infill_prompt(self, gap: Infill) -> list[int]:
        """Return the tokens that have the target fill a gap: before, behind, and the mark that asks for the rest.

        Raises ModelNotLoaded, InvalidRequest (it has no such marks), TextNotEncodable.
        """
        target = self._loaded()
        tokenizer, name = target.tokenizer, target.name
        added = {text: token.id for text, token in tokenizer.added_tokens.items()}
        named = next((marks for marks in _GAP_TOKENS if all(mark in added for mark in marks)), None)
        marks = target.gap_tokens if named is None else tuple(added[each] for each in named)
        if marks is None:
            raise InvalidRequest(
                Translatable("The model {name} cannot fill gaps: it has no tokens for them. Choose another.", name=name)
            )

        def read(text: str) -> list[int]:
            return tokenizer.encode(text, add_special=False, parse_special=False)

        begin = tokenizer.encode("", add_special=True, parse_special=False)
        tokens = begin[: len(begin) - tokenizer.ends]
        mark = next((added[each] for each in _FILE_MARKS if each in added), None)
        for title, text in gap.files:
            tokens += read(f"{title}\n{text}\n") if mark is None else [mark, *read(f"{title}\n{text}\n")]
        before, behind, middle = marks
        return [*tokens, before, *read(gap.before), behind, *read(gap.behind), middle, *read(gap.begun)]

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
        tools: Sequence[Tool] = (),
        template_options: Mapping[str, Any] | None = None,
        reply_next: bool = True,
        cancel: CancelToken | None = None,
    ) -> ReadPrompt:
        """Return what the target would read of these messages, all of them. Reads nothing.

        `thinking`, `tools` and `template_options` as in GenerationRequest.
        `reply_next`: it is to reply now, or to go on with the last message if that is its own; False: they end there.
        Raises ModelNotLoaded, InvalidRequest, ChatTemplateFailed, TextNotEncodable, Cancelled.
        """
        tokenizer, told = self._loaded().tokenizer, freeze_messages(messages)
        if not told:
            raise InvalidRequest("There is no message to be read.")
        renderer = Renderer(cancel)
        given = thinking_input(check_thinking(thinking), tokenizer, renderer)
        variables = {**given.arguments, **(template_options or {})}
        given = replace(given, tools=freeze_tools(tools) or None, arguments=variables)
        if reply_next:
            prompt = render_prompt(told, tokenizer, renderer, given)
        else:
            prompt = render_conversation(told, tokenizer, renderer, given)
        markers = tuple(prompt.markers(tokenizer))
        return ReadPrompt(prompt.text, markers, len(prompt.tokens(tokenizer)), renderer.notes)
