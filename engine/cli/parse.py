"""Run `parse`: read a raw reply from standard input, and print its parts."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from engine.chat.render import keep_warm, release
from engine.chat.reply_grammar import GrammarRequest, usable_grammar
from engine.chat.reply_parts import ReplyParser, ReplyParts
from engine.cli.arguments.prompts import read_input
from engine.cli.cancellable import EXIT_DONE
from engine.cli.common import read_text, read_tools
from engine.errors import NotAvailable
from engine.loaded import load
from engine.messages.tools import described
from engine.translatable import Translatable

_EFFORTS = ("low", "medium", "high")
_CONTEXT = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `parse`."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "-m", "--target", metavar="T", help="the model whose chat template says how its replies are marked"
    )
    which.add_argument("--template", type=Path, metavar="FILE", help="a chat template (Jinja)")
    add = parser.add_argument
    add("--tools", type=Path, metavar="FILE", help="JSON list of the functions that the model was given")
    add(
        "--thinking",
        choices=("on", "off", *_EFFORTS),
        default="on",
        help="how the model was asked to think (default: on)",
    )
    add("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the parts of the reply, and give the exit code. Raises InvalidRequest, LoadFailed and its kinds."""
    template, bos_token, eos_token = _template(args)
    request = GrammarRequest(
        template,
        bos_token,
        eos_token,
        tools=described(read_tools(args.tools)),
        thinking=args.thinking != "off",
        options={"reasoning_effort": args.thinking} if args.thinking in _EFFORTS else {},
    )
    reply = read_input()
    keep_warm(run)
    try:
        grammar, note = usable_grammar(request)
        parser = ReplyParser(grammar)
        parser.feed(reply)
        parts = parser.finish()
    finally:
        release(run)
    if note is not None:
        sys.stderr.write(f"outrider-engine: {note}\n")
    sys.stdout.write(json.dumps(_to_dict(parts)) + "\n" if args.json else _shown(parts))
    return EXIT_DONE


def _template(args: argparse.Namespace) -> tuple[str, str, str]:
    """Return the chat template, and the texts of the begin and the end token."""
    if args.template is not None:
        return read_text(args.template), "", ""
    with load(args.target, context_length=_CONTEXT) as decoder:
        tokenizer = None if decoder.target is None else decoder.target.tokenizer
        if tokenizer is None or tokenizer.chat_template is None:
            raise NotAvailable(
                Translatable("Parting the replies of this model"), Translatable("it has no chat template.")
            )
        return tokenizer.chat_template, tokenizer.bos_token, tokenizer.eos_token


def _to_dict(parts: ReplyParts) -> dict[str, Any]:
    calls = [{"name": call.name, "arguments": _value(call.arguments)} for call in parts.tool_calls]
    return {"reasoning": parts.reasoning, "content": parts.content, "tool_calls": calls}


def _value(arguments: str) -> object:
    """Return the arguments of a call as JSON values; the text if it is no JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _shown(parts: ReplyParts) -> str:
    calls = "\n".join(f"{call.name} {call.arguments}" for call in parts.tool_calls)
    titled = (("reasoning", parts.reasoning), ("content", parts.content), ("tool calls", calls))
    return "\n".join(f"{title}:\n{text.strip()}\n" for title, text in titled if text.strip())
