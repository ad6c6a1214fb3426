"""Turn prompts into token ids: messages through the chat template, text as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from engine.backends.base import Tokenizer
from engine.chat.inputs import PLAIN_INPUT, TemplateInput, template_message
from engine.chat.plain_text import NOTHING, CutText, Disguise, encode_behind, encode_cut, lookalikes_of, reply_cuts
from engine.chat.render import Renderer
from engine.chat.repairs import TemplateChat, render_usable
from engine.errors import InvalidRequest
from engine.messages.message import Message
from engine.translatable import Translatable

_DEFAULT, _FOR_TOOLS = "default", "tool_use"
"""Names of chat templates, of which one for tools is taken where there are tools."""
_NO_TOOLS = Translatable("The chat template of this model says nothing of tools: the model does not see them.")


@dataclass(frozen=True, slots=True)
class PromptText:
    """Hold the rendered prompt of a conversation. `written`: the begun reply behind it, which is continued.

    `pictures`: the tokens of images, by the marks that stand for them.
    """

    before: CutText
    written: CutText = NOTHING
    plain: bool = False
    pictures: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return all of it."""
        return self.before.text + self.written.text

    def markers(self, tokenizer: Tokenizer) -> list[tuple[int, int]]:
        """Return begin and end of each place of the text that is read as a control token."""
        found: list[tuple[int, int]] = []
        for begin, end in lookalikes_of(tokenizer).places(self.before.text):
            if begin >= (found[-1][1] if found else 0) and not any(begin < cut < end for cut in self.before.cuts):
                found.append((begin, end))
        return found

    def tokens(self, tokenizer: Tokenizer) -> list[int]:
        """Return the token ids: one begin token where template or model want one, and no end token at the end.

        Raises TextNotEncodable.
        """
        pieces = list(_around(self.before, self.pictures))
        tokens = _encode_begun(pieces[0][0], tokenizer, parse_special=not self.plain)
        for (_, mark), (text, _) in pairwise(pieces):
            # Each text by itself, as llama.cpp's mtmd reads it.
            tokens += self.pictures[mark]
            tokens += encode_cut(text, tokenizer, add_special=False, parse_special=not self.plain)
        places = [0, *self.written.cuts, len(self.written.text)]
        for begin, end in pairwise(places):
            tokens += encode_behind(self.written.text[begin:end], tokenizer) if end > begin else []
        return tokens


def encode_prompt(
    prompt: str | Sequence[Message] | Sequence[int],
    tokenizer: Tokenizer,
    *,
    raw: bool,
    renderer: Renderer | None = None,
    given: TemplateInput = PLAIN_INPUT,
) -> list[int]:
    """Return the token ids of a prompt: of plain text (`raw`), of one user turn, of messages, or the ids themselves.

    If the last of several messages is the assistant's, the reply continues it instead of beginning a new turn. Text of
    messages never becomes a control token. `renderer`: the current call's; its `notes` name the template's changes to
    the conversation. `given`: the template's inputs besides the messages.
    Raises ChatTemplateFailed, TextNotEncodable, InvalidRequest, Cancelled.
    """
    if isinstance(prompt, str):
        if raw:
            return PromptText(_cut(prompt, tokenizer), plain=True).tokens(tokenizer)
        prompt = (Message("user", prompt),)
    if not isinstance(prompt[0], Message):
        return [int(token) for token in prompt]  # type: ignore[arg-type]
    if raw:
        raise InvalidRequest(Translatable("Messages need the chat template: omit raw."))
    return render_prompt(prompt, tokenizer, renderer or Renderer(), given).tokens(tokenizer)  # type: ignore[arg-type]


def render_prompt(
    messages: Sequence[Message | Mapping[str, Any]],
    tokenizer: Tokenizer,
    renderer: Renderer,
    given: TemplateInput = PLAIN_INPUT,
) -> PromptText:
    """Render a conversation as a model reads it. Raises ChatTemplateFailed, Cancelled."""
    rendered = [template_message(message, marked=given.see is not None) for message in messages]
    pictures = _pictures(messages, given)
    if len(rendered) > 1 and rendered[-1]["role"] == "assistant":
        # Apart, as the reply was written.
        prompt = replace(render_prompt(rendered[:-1], tokenizer, renderer, given), pictures=pictures)
        reply = str(rendered[-1].get("content") or "")
        cuts = reply_cuts(reply, prompt.before.text, lookalikes_of(tokenizer))
        return replace(prompt, written=CutText(reply, tuple(cuts)))
    template = choose_template(tokenizer.chat_templates, given)
    if template is None:
        text = "\n".join(str(each.get("content") or "") for each in rendered)
        return PromptText(_cut(text, tokenizer), plain=True, pictures=pictures)
    return PromptText(render_cut(template, rendered, tokenizer, renderer, given), pictures=pictures)


def render_conversation(
    messages: Sequence[Message], tokenizer: Tokenizer, renderer: Renderer, given: TemplateInput = PLAIN_INPUT
) -> PromptText:
    """Render a conversation that nobody goes on with, as a model reads it. Raises ChatTemplateFailed, Cancelled."""
    template = choose_template(tokenizer.chat_templates, given)
    if template is None:
        return render_prompt(messages, tokenizer, renderer, given)
    ended = replace(given, arguments={**given.arguments, "add_generation_prompt": False})
    rendered = [template_message(message, marked=given.see is not None) for message in messages]
    return PromptText(render_cut(template, rendered, tokenizer, renderer, ended), pictures=_pictures(messages, given))


def _pictures(messages: Sequence[Message | Mapping[str, Any]], given: TemplateInput) -> dict[str, Sequence[int]]:
    """Return the tokens of the images in messages by their marks; none if the model sees none."""
    parts = [part for message in messages if isinstance(message, Message) for part in message.pictures]
    return {} if given.see is None else {part.mark: given.see(part.url) for part in parts}


def _around(text: CutText, marks: Mapping[str, object]) -> Iterator[tuple[CutText, str]]:
    """Give the texts between the marks, each with the mark behind it, "" at the end."""
    place = 0
    for found in re.finditer("|".join(map(re.escape, marks)) or r"(?!)", text.text):
        cuts = (cut - place for cut in text.cuts if place < cut < found.start())
        yield CutText(text.text[place : found.start()], tuple(cuts)), found[0]
        place = found.end()
    yield CutText(text.text[place:], tuple(cut - place for cut in text.cuts if cut > place)), ""


def render_cut(
    template: str, messages: Sequence[Mapping[str, Any]], tokenizer: Tokenizer, renderer: Renderer, given: TemplateInput
) -> CutText:
    """Render messages that are in the form of templates. Raises ChatTemplateFailed, Cancelled."""
    if given.tools and not any(name in template for name in ("tools", "functions")):
        renderer.note(_NO_TOOLS)
    disguise = Disguise(lookalikes_of(tokenizer), [template, messages, given.tools, given.documents])
    tools: Any = disguise.value(given.tools)
    documents: Any = disguise.value(given.documents)
    hidden = replace(given, tools=tools, documents=documents)
    chat = TemplateChat(disguise.put_on(messages), hidden, tokenizer.bos_token, tokenizer.eos_token)
    return disguise.take_off(render_usable(renderer, template, chat))


def choose_template(templates: Mapping[str, str], given: TemplateInput) -> str | None:
    """Return the template for tools where there are tools and it exists, otherwise the usual one, or the only one."""
    if given.tools is not None and _FOR_TOOLS in templates:
        return templates[_FOR_TOOLS]
    return templates.get(_DEFAULT, next(iter(templates.values()), None))


def _cut(text: str, tokenizer: Tokenizer) -> CutText:
    return CutText(text, tuple(lookalikes_of(tokenizer).cuts(text)))


def _encode_begun(text: CutText, tokenizer: Tokenizer, *, parse_special: bool) -> list[int]:
    bos = tokenizer.bos_token
    begin = len(text.text) - len(text.text.lstrip())
    begun = parse_special and bool(bos) and text.text.startswith(bos, begin)
    begun = begun and not any(begin < cut < begin + len(bos) for cut in text.cuts)
    tokens = encode_cut(text, tokenizer, add_special=not begun, parse_special=parse_special)
    known = tokenizer.added_tokens.get(bos)
    while known is not None and tokens[:2] == [known.id] * 2:
        del tokens[0]
    return tokens
