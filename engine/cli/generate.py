"""Run `generate`: parse its arguments, and print a reply as text or JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine._version import __version__
from engine.cancel import CancelToken
from engine.checks import MOST_PREDICTED
from engine.cli.arguments.documents import add_document_options, asked_of, given_documents, read_documents, read_images
from engine.cli.arguments.models import (
    NamedModels,
    add_corpus,
    add_models,
    add_speculation,
    connect_to_target,
    load_models,
    settings_of,
)
from engine.cli.arguments.prompts import read_messages, read_text_argument, with_system
from engine.cli.arguments.replies import add_reply_options, reply_options, system_of
from engine.cli.cancellable import EXIT_CANCELLED, EXIT_DONE, run_cancellable
from engine.cli.common import add_sampling_options, notes_console, write_file
from engine.config import GenerationRequest, SamplingConfig, freeze_prompt
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, InvalidRequest
from engine.events import Finished, GenerationResult, RoundEvent, TextEvent, TokenEvent
from engine.generation.responder import Responder
from engine.messages.message import Message
from engine.messages.parts import ImagePart
from engine.remote.address import is_server_address

if TYPE_CHECKING:
    from rich.console import Console

    from engine.documents.retrieval import GivenDocuments
    from engine.remote.client import RemoteDecoder

_SCHEMA = 1
"""The version of the JSON: raised if a key changes its meaning or goes. New keys do not raise it."""
_EXAMPLES = """\
examples:
  outrider-engine generate "Tell me a story about a shy dragon."
  outrider-engine generate -m big.gguf -d small.gguf --temperature 0.7 -n 200 "Hello!"
  git diff | outrider-engine generate -m big.gguf --system "Write a commit message." -
  outrider-engine generate --system @style.txt @question.txt
  outrider-engine generate --json --messages chat.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `generate`."""
    parser.epilog = _EXAMPLES
    prompt = parser.add_argument_group("the prompt").add_argument
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="the text, @FILE, or - for standard input")
    prompt("-p", "--prompt", dest="text", metavar="TEXT", help="the text as it is, also where it begins with @ or -")
    prompt(
        "--messages",
        type=Path,
        metavar="FILE",
        help='JSON list of {"role", "content"}, or - for standard input; each user message and tool result is answered',
    )
    prompt("--raw", action="store_true", help="do not apply the chat template")
    prompt("--tokens", action="store_true", help="the prompt is token ids separated by commas")
    add_document_options(parser)
    add_models(parser, or_server=True)
    add_speculation(parser)
    add_sampling_options(parser)
    add_reply_options(parser)
    add = parser.add_argument
    add("--replies", type=int, default=1, metavar="N", help="write N replies to the prompt, each with its own seed")
    add("--prefix", metavar="TEXT", help="what the reply begins with: a text, @FILE, or - for standard input")
    add("--prediction", type=Path, metavar="FILE", help="text that the reply will probably be much like: it is faster")
    add_corpus(parser)
    add("--json", action="store_true", help="print one line of JSON per reply")
    add("--proof", type=Path, metavar="FILE", help="write how the reply was made, for `verify`; with a seed if drawn")
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class _Output:
    """Print replies. `options`: of their requests; `proof`: the file for the reply's proof."""

    decoder: Responder
    options: dict[str, Any]
    as_json: bool
    cancel: CancelToken
    console: Console | None
    proof: Path | None = None

    def answer(self, prompt: Any, **further: Any) -> GenerationResult:
        """Return one reply: JSON on stdout, or the text as it comes and a line of figures on stderr."""
        result: GenerationResult | None = None
        begun, sources = self.options["prefix"], set[str]()
        for event in self.decoder.stream(prompt, cancel=self.cancel, **(self.options | further)):
            if isinstance(event, TokenEvent | TextEvent) and not self.as_json:
                print(begun + event.text, end="", flush=True)
                begun = ""
            elif isinstance(event, RoundEvent) and event.proposed:
                sources.add(event.source)
            elif isinstance(event, Finished):
                result = event.result
                self._prove(prompt, result, sources, further)
                print(json.dumps(result.to_dict() | said_of(self.decoder)) if self.as_json else "", flush=True)
                if not self.as_json and result.finish_reason != "error":
                    self._tell(result)
        if result is None:
            raise Cancelled
        return result

    def _prove(self, prompt: Any, result: GenerationResult, sources: set[str], further: dict[str, Any]) -> None:
        """Write the proof of a reply. Raises NoProof, InvalidRequest."""
        if self.proof is None or not isinstance(self.decoder, SpeculativeDecoder):
            return
        from engine.proof.content import describe_reply, make_proof  # noqa: PLC0415 - where it is asked for

        made = make_proof(describe_reply(self.decoder, prompt, result, sources, self.options | further))
        write_file(self.proof, made)

    def _tell(self, result: GenerationResult) -> None:
        """Print a reply's notes and figures at once: the models may be measured afterwards."""
        if self.console is None:
            return
        for note in result.notes:
            self.console.print(f"outrider-engine: {note}", highlight=False, markup=False, soft_wrap=True)
        self.console.print(figures_line(result), style="dim", highlight=False, soft_wrap=True)


def run(args: argparse.Namespace) -> int:
    """Print the replies, and give the exit code. Raises InvalidRequest, LoadFailed and its kinds, Cancelled."""
    _check_together(args)
    settings = settings_of(args)
    options = {"sampling": settings.sampling, "speculation": settings.speculation, **reply_options(args)}
    options["prefix"] = "" if args.prefix is None else read_text_argument(args.prefix)
    if args.prediction is not None:
        options["prediction"] = _read_prediction(args.prediction)
    turns = read_messages(args.messages) if args.messages else None
    system = system_of(args)
    prompt: Any = None
    documents, images = read_documents(args), read_images(args)
    if turns:
        turns = with_system(turns, system)
    else:
        options["raw"] = args.raw
        prompt = _read_prompt(args)
        prompt = prompt if system is None else with_system([Message("user", prompt)], system)
        GenerationRequest(freeze_prompt(prompt), **options)
    _note_ignored(args)
    cancel = CancelToken()
    console = notes_console(quiet=args.quiet)

    def work() -> int:
        with _responder(args, settings, console, cancel) as decoder:
            if cancel.cancelled:
                raise Cancelled
            output = _Output(decoder, options, args.json, cancel, console, args.proof)
            question = prompt
            if documents or images:
                question = _with_files(prompt, given_documents(args, documents, cancel), images, decoder)
            if turns is not None:
                return _answer_turns(output, turns)
            for sampling in _seeded(settings.sampling, args.replies):
                if output.answer(question, sampling=sampling).finish_reason == "cancelled":
                    return EXIT_CANCELLED
            return EXIT_DONE

    return run_cancellable(work, cancel)


def _with_files(
    prompt: str | list[Message], documents: GivenDocuments, images: Sequence[ImagePart], decoder: Responder
) -> list[Message]:
    """Return the prompt with pictures, and with the fitting parts of documents, as far as the context has room."""
    messages = [Message("user", prompt)] if isinstance(prompt, str) else prompt
    question = messages[-1].content
    return [*messages[:-1], asked_of(documents, question, decoder, images)]


def _check_together(args: argparse.Namespace) -> None:
    """Check options that exclude each other. Raises InvalidRequest."""
    if args.replies < 1:
        raise InvalidRequest(f"--replies must be a whole number above 0, not {args.replies}.")
    for name in ("document", "image"):
        if getattr(args, name) and (args.raw or args.tokens or args.messages):
            raise InvalidRequest(
                f"--{name} needs one prompt and the chat template: omit --raw, --tokens and --messages."
            )
    if args.proof is not None and args.image:
        raise InvalidRequest("--proof is of replies to texts: omit --image.")
    if args.proof is not None and (args.replies > 1 or args.messages):
        raise InvalidRequest("--proof is of one reply: omit --replies and --messages.")
    if args.replies > 1 and args.messages:
        raise InvalidRequest("--replies needs one prompt: omit --messages.")
    if args.system is not None and (args.raw or args.tokens) and not args.messages:
        raise InvalidRequest("--system needs the chat template: omit --raw and --tokens.")
    if args.prompt is not None and args.text is not None:
        raise InvalidRequest("There are two prompts: PROMPT, and that of --prompt. Omit one of them.")
    inputs = [args.prompt, args.system, args.prefix, None if args.messages is None else str(args.messages)]
    if inputs.count("-") > 1:
        raise InvalidRequest("Standard input can be read once only: use - in one place.")


def _responder(
    args: argparse.Namespace, settings: NamedModels, console: Console | None, cancel: CancelToken
) -> SpeculativeDecoder | RemoteDecoder:
    """Open the responder: loaded models, or the server that --target names."""
    if is_server_address(settings.target):
        return connect_to_target(args, settings, cancel)
    if args.model is not None:
        raise InvalidRequest("--model names a model of a server: pass its address as --target.")
    return load_models(args, settings, console, cancel)


def _note_ignored(args: argparse.Namespace) -> None:
    """Warn of given options that have no effect beside the others."""
    given = {"PROMPT": args.prompt or args.text, "--raw": args.raw, "--tokens": args.tokens}
    ignored = [f"{name} is ignored beside --messages." for name in given if args.messages and given[name]]
    ignored += ["--folder is ignored without --preset."] if args.folder and args.preset is None else []
    ignored += ["--top is ignored without --json."] if args.top and not args.json else []
    for said in ignored if not args.quiet else ():
        sys.stderr.write(f"outrider-engine: {said}\n")


def _read_prompt(args: argparse.Namespace) -> str | list[int]:
    if args.prompt is None and args.text is None:
        raise InvalidRequest(
            "There is no prompt. Pass one as the last argument, - to read it from standard input, @FILE to read it "
            "from a file, or use --messages FILE."
        )
    text = args.text if args.prompt is None else read_text_argument(args.prompt)
    if not args.tokens:
        return str(text)
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidRequest("With --tokens the prompt must be token ids separated by commas.") from None


def _read_prediction(path: Path) -> str:
    """Return a predicted reply. Raises InvalidRequest if a file cannot be read, is too large, or is not text."""
    try:
        with path.expanduser().open("rb") as file:
            data = file.read(MOST_PREDICTED + 1)
        if len(data) > MOST_PREDICTED:
            raise InvalidRequest(f"{path} is too large for --prediction: {MOST_PREDICTED:,} bytes at most.")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidRequest(f"Cannot read {path}: {reason}.") from None


def _seeded(sampling: SamplingConfig, replies: int) -> Iterator[SamplingConfig]:
    """Yield the sampling of each reply: a given seed is that of the first, and counts up."""
    for number in range(replies):
        seed = None if sampling.seed is None else (sampling.seed + number) % 2**64
        yield replace(sampling, seed=seed)


def _answer_turns(output: _Output, turns: Sequence[Message]) -> int:
    """Answer each user turn and the results of tools in order.

    An assistant turn in the file takes the place of our answer in the history.
    """
    history: list[Message] = []
    for turn, following in zip_longest(turns, turns[1:]):
        if turn.role == "assistant" and history and history[-1].role == "assistant":
            history.pop()
        history.append(turn)
        if turn.role == "user" or (turn.role == "tool" and getattr(following, "role", "") != "tool"):
            result = output.answer(history)
            history.append(result.message)
            if result.finish_reason == "cancelled":
                return EXIT_CANCELLED
    return EXIT_DONE


def said_of(decoder: Responder) -> dict[str, Any]:
    """Return the JSON beside the reply: its version, the program's, the responder and its device."""
    return {"schema": _SCHEMA, "version": __version__, **decoder.describe()}


def figures_line(result: GenerationResult) -> str:
    """Return the line of figures for a person."""
    stats = result.stats
    parts = [f"{stats.emitted} tokens", f"{stats.tokens_per_second:.1f} tok/s"]
    if "tokens" in stats.untold:
        parts = ["tokens and speed not reported"]
    if stats.proposed:
        parts.append(f"{100 * stats.acceptance_rate:.0f} % accepted")
    elif "acceptance" in stats.untold:
        parts.append("acceptance not reported")
    if stats.proposed and "rounds" not in stats.untold:
        parts.append(f"{stats.mean_length:.1f} tokens per round")
    return " · ".join([*parts, f"{result.method}, finish reason: {result.finish_reason}"])
