"""Run `template`: print a conversation as a model reads it, with its control tokens marked."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.backends.base import Tokenizer
from engine.chat.inputs import TemplateInput
from engine.chat.render import Renderer
from engine.chat.template import PromptText, choose_template, render_cut, render_prompt
from engine.chat.thinking import EFFORTS, Thinking, opens_thought, template_thinking
from engine.cli.cancellable import EXIT_DONE
from engine.cli.common import read_json_file, read_text
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest, ModelNotLoaded
from engine.formats.turns import named_by_template
from engine.loaded import load
from engine.messages.message import Message

_MARKS = "\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}", "\N{MATHEMATICAL RIGHT WHITE SQUARE BRACKET}"
_CONTEXT = 256
"""Tokens to load a model for of which only the tokenizer is wanted."""
_HELLO = ({"role": "user", "content": "Hello!"},)


class TemplateTokenizer:
    """Stand in for a tokenizer if there is a template only: it knows no tokens, and encodes nothing."""

    bos_token = eos_token = ""
    ends = 0

    def __init__(self, template: str) -> None:
        self.chat_template = template
        self.chat_templates = {"default": template}
        self.added_tokens: dict[str, Any] = {}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Return nothing."""
        return []

    def piece(self, token: int) -> bytes:
        """Return nothing."""
        return b""

    def marker(self, token: int) -> str:
        """Return nothing, likewise."""
        return ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `template`."""
    add = parser.add_argument
    add("-m", "--target", metavar="T", help="the model: as for generate")
    add("--template", type=Path, metavar="FILE", help="a chat template (Jinja), alone or in place of the target's own")
    add("--messages", type=Path, metavar="FILE", help='JSON list of {"role", "content"} (default: one short question)')
    add("--tools", type=Path, metavar="FILE", help="JSON list of the functions that can be called")
    add("--thinking", choices=["on", "off", *EFFORTS], help="switch thinking, where the template can")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a variable of the template; VALUE is JSON, or else text; can be repeated",
    )
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the prompt and give the exit code. Raises EngineError and its kinds."""
    if args.target is None and args.template is None:
        raise InvalidRequest("There is nothing to render. Pass --target T or --template FILE.")
    messages = [Message.from_mapping(each).as_template_dict() for each in _objects(args.messages) or _HELLO]
    given = TemplateInput(None if args.tools is None else _objects(args.tools), None, _variables(args.set))
    own = None if args.template is None else read_text(args.template)
    renderer = Renderer()
    with ExitStack() as stack:
        tokenizer: Tokenizer
        if args.target is None:
            tokenizer = TemplateTokenizer(own or "")
        else:
            tokenizer = _loaded(stack.enter_context(load(args.target, context_length=_CONTEXT)))
        template = own or choose_template(tokenizer.chat_templates, given)
        thinking = Thinking() if template is None else template_thinking(template, tokenizer, renderer)
        given = _switched(given, thinking, args.thinking, renderer)
        if own is not None:
            prompt = PromptText(render_cut(own, messages, tokenizer, renderer, given))
        else:
            prompt = render_prompt(messages, tokenizer, renderer, given)
        if template is None:
            renderer.note("The model has no chat template: it reads the texts as they are.")
        elif (form := named_by_template(template)) is not None:
            renderer.note(f"The model has no chat template: its tokens show the format {form}, which is used.")
        if prompt.written.text:
            renderer.note("The last message is the assistant's: the reply goes on with it.")
        notes = [str(note) for note in renderer.notes]
        report = {
            "prompt": prompt.text,
            "tokens": None if args.target is None else prompt.tokens(tokenizer),
            "thinking": {"switch": thinking.switch, "open": opens_thought(prompt.text)},
            "notes": notes,
        }
        shown = json.dumps(report) if args.json else _marked(prompt, tokenizer)
    sys.stdout.write(shown + "\n")
    for note in () if args.json else notes:
        sys.stderr.write(f"outrider-engine: {note}\n")
    return EXIT_DONE


def _loaded(decoder: SpeculativeDecoder) -> Tokenizer:
    if decoder.target is None:
        raise ModelNotLoaded
    return decoder.target.tokenizer


def _switched(given: TemplateInput, thinking: Thinking, wanted: str | None, renderer: Renderer) -> TemplateInput:
    """Return the template variables with thinking as wanted; those set by name stay."""
    if wanted is None:
        return given
    arguments = thinking.arguments(wanted)
    if arguments is None:
        renderer.note(f"The chat template has no switch for --thinking {wanted}.")
    return replace(given, arguments={**(arguments or {}), **given.arguments})


def _marked(prompt: PromptText, tokenizer: Tokenizer) -> str:
    """Return the text with brackets around each control token."""
    pieces, place = [], 0
    for begin, end in prompt.markers(tokenizer):
        pieces += [prompt.text[place:begin], prompt.text[begin:end].join(_MARKS)]
        place = end
    return "".join([*pieces, prompt.text[place:]])


# Reading --------------------------------------------------------------------------------------------------------------


def _objects(path: Path | None) -> Sequence[Mapping[str, Any]]:
    """Return the objects of a JSON list in a file; nothing without a file. Raises InvalidRequest."""
    if path is None:
        return ()
    data = read_json_file(path)
    if not isinstance(data, list) or not data or not all(isinstance(each, Mapping) for each in data):
        raise InvalidRequest(f"{path} must contain a JSON list of objects.")
    return data


def _variables(assignments: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidRequest(f"--set takes NAME=VALUE, not {assignment!r}.")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    if "messages" in found:
        raise InvalidRequest("--set cannot set the messages. Use --messages FILE.")
    return found
