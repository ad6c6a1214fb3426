"""Run `chat`: a conversation in the terminal, or one with questions from a pipe, one a line."""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cancel import CancelToken
from engine.cli.arguments.documents import add_document_options, asked_of, given_documents, read_documents, read_images
from engine.cli.arguments.models import NamedModels, add_corpus, add_models, add_speculation, load_models, settings_of
from engine.cli.arguments.parser import meant
from engine.cli.arguments.prompts import read_messages, with_system
from engine.cli.arguments.replies import add_reply_options, reply_options, system_of
from engine.cli.arguments.tools import add_tool_options, named_tools, opened_tools
from engine.cli.arguments.words import in_options
from engine.cli.cancellable import EXIT_CANCELLED, EXIT_DONE, run_cancellable
from engine.cli.common import add_sampling_options, notes_console, write_file
from engine.cli.generate import figures_line
from engine.cli.tool_calls import TerminalCalls
from engine.decoder import SpeculativeDecoder
from engine.documents.retrieval import GivenDocuments
from engine.errors import Cancelled, EngineError, InvalidRequest
from engine.events import Channel, Finished, GenerationResult, TokenEvent
from engine.generation.request import make_request
from engine.messages.message import Message
from engine.messages.parts import ImagePart
from engine.options import GenerationOptions, check_names
from engine.tools.loop import with_hint
from engine.tools.permissions import Permissions
from engine.tools.servers import permissions_file
from engine.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from rich.console import Console

_QUOTES = '"""'
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_CONTROLS = {code: "�" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""Characters with which a text could command a terminal."""
_EXAMPLES = f"""\
Type /help for the commands. A text of several lines stands between {_QUOTES} and {_QUOTES}. Ctrl+C ends a reply, Ctrl+D
the chat.

examples:
  outrider-engine chat
  outrider-engine chat -m big.gguf -d small.gguf --system @style.txt
  outrider-engine chat --messages chat.json
  outrider-engine chat --mcp servers.json --tool time --tool calculate
  printf 'Hello!\\nTell me a joke.\\n' | outrider-engine chat --quiet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `chat`."""
    parser.epilog = _EXAMPLES
    add_document_options(parser)
    add_models(parser)
    add_speculation(parser)
    add_corpus(parser)
    add_sampling_options(parser)
    add_reply_options(parser)
    add_tool_options(parser)
    parser.add_argument("--messages", type=Path, metavar="FILE", help="JSON list of messages to go on with")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Hold the conversation, and give the exit code. Raises InvalidRequest, LoadFailed and its kinds, Cancelled."""
    settings, options = settings_of(args), reply_options(args)
    if "-" in (args.system, str(args.messages)):
        raise InvalidRequest("Standard input has the questions: name a file in place of -.")
    history = read_messages(args.messages, ask=False) if args.messages else []
    history = with_system(history, system_of(args))
    make_request("x", dict(options), settings.sampling, settings.speculation)
    tools, read, images = named_tools(args), read_documents(args), read_images(args)
    cancel, console = CancelToken(), notes_console(quiet=args.quiet)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    loaded: list[SpeculativeDecoder] = []
    documents = GivenDocuments(())

    def load() -> int:
        nonlocal documents
        documents = given_documents(args, read, cancel)
        loaded.append(load_models(args, settings, console, cancel))
        return EXIT_DONE

    run_cancellable(load, cancel)
    with loaded[0] as decoder, ExitStack() as stack:
        chat = Chat(decoder, settings, options, history, console, cancel)
        if tools is not None:
            chat.use_tools(stack.enter_context(opened_tools(tools)), Permissions(permissions_file()), args.call_limit)
        chat.documents, chat.images = documents, images
        return chat.run()


class _NotSet(EngineError):
    """Report a bad option of /set, by the name that was typed there."""


class Chat:
    """Hold a conversation.

    Attributes: history (its messages), documents (from which it is answered), images (of the next question).
    In a terminal questions are asked for, and errors are said; of a pipe each line is a question, and an error ends it.
    """

    def __init__(
        self,
        decoder: SpeculativeDecoder,
        settings: NamedModels,
        options: dict[str, Any],
        history: list[Message],
        console: Console | None,
        cancel: CancelToken,
    ) -> None:
        self.history = history
        self.documents = GivenDocuments(())
        self.images: list[ImagePart] = []
        self._decoder, self._settings, self._options = decoder, settings, options
        self._first = options
        self._console, self._cancel = console, cancel
        self._terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._tools: TerminalCalls | None = None
        self._own: Path | None = None
        """The file that /save wrote or /load read last: it may be written again."""
        self._running = True

    def use_tools(self, toolbox: Toolbox, permissions: Permissions, limit: int) -> None:
        """Allow replies to call a toolbox's tools, after asking each time; `limit`: the most calls for one question."""
        self._tools = TerminalCalls(toolbox, permissions, self._tell, limit=limit, terminal=self._terminal)
        for problem in toolbox.problems.values():
            self._tell(problem)
        self._tell(f"Tools: {', '.join(toolbox.offered) or 'none'}.")

    def run(self) -> int:
        """Answer until the input ends or /quit; return the exit code. Raises EngineError if the input is a pipe."""
        if self._terminal:
            with suppress(ImportError):
                importlib.import_module("readline")  # Gives `input` a history and keys to edit with.
            self._tell("Type /help for the commands, Ctrl+D to leave.")
        while self._running:
            try:
                text = self._ask()
                if text is None:
                    break
                if not text.strip():
                    continue
                if text.startswith("/") and not text.startswith("//"):
                    self._command(text[1:])
                elif not self._answer(text.removeprefix("/")):
                    return EXIT_CANCELLED
            except KeyboardInterrupt:
                if not self._terminal:
                    raise
                print()
                self._tell("Type /quit or press Ctrl+D to leave.")
            except EngineError as error:
                if not self._terminal:
                    raise
                print(f"outrider-engine: {in_options(error)}", file=sys.stderr)
        return EXIT_DONE

    def _answer(self, question: str) -> bool:
        """Answer a question; the pictures go with the first one. False: it was cancelled in a pipe."""
        message = asked_of(self.documents, question, self._decoder, self.images)
        self.images = []
        return self._reply([*self.history, message])

    # Input ------------------------------------------------------------------------------------------------------------

    def _ask(self) -> str | None:
        """Read a typed line, a block between quotes as one text; None at the end. Raises InvalidRequest."""
        line = self._line("> ")
        if line is None or not line.startswith(_QUOTES):
            return line
        lines = [line.removeprefix(_QUOTES)]
        while not lines[-1].rstrip().endswith(_QUOTES):
            line = self._line("… ")
            if line is None:
                break
            lines.append(line)
        return "\n".join(lines).rstrip().removesuffix(_QUOTES).strip("\n")

    def _line(self, prompt: str) -> str | None:
        if self._terminal:
            try:
                return input(prompt)
            except EOFError:
                print()
                return None
        data = sys.stdin.buffer.readline()
        try:
            return data.decode("utf-8").rstrip("\r\n") if data else None
        except UnicodeDecodeError:
            raise InvalidRequest("Standard input is not UTF-8 text.") from None

    # Replies ----------------------------------------------------------------------------------------------------------

    def _reply(self, messages: list[Message]) -> bool:
        """Print the reply to the messages, run its calls, and keep all; return False if that ends a pipe.

        A reply that failed, or was cancelled before it began, leaves the conversation as it was. Raises EngineError.
        """
        if self._tools is not None:
            self._tools.begin_question()
        while True:
            result = self._write(messages)
            if result is None:
                return self._terminal
            if result.tokens:
                self.history = messages = [*messages, result.message]
            self._say_beside(result)
            if result.finish_reason == "cancelled":
                return self._terminal
            if self._tools is None or not result.tool_calls:
                return True
            answered = self._tools.answer(messages[:-1], result.message, self._cancel)
            self.history = messages = [*messages, *answered.messages]
            if not answered.go_on:
                return True

    def _write(self, messages: list[Message]) -> GenerationResult | None:
        """Print the reply to the messages; None if it was cancelled before it began. Raises EngineError."""
        found: list[GenerationResult] = []
        options: dict[str, Any] = {"sampling": self._settings.sampling, "speculation": self._settings.speculation}
        options |= self._options | ({} if self._tools is None else {"tools": self._tools.toolbox.functions()})
        if messages[-1].role == "tool":  # What was demanded was done: now it may answer.
            options.pop("must_call", None)

        def work() -> int:
            began = False
            for event in self._decoder.stream(with_hint(messages), cancel=self._cancel, **options):
                if isinstance(event, TokenEvent):
                    for channel, text in event.added:
                        shown = self._shown(channel, text if began else text.lstrip("\n"))
                        began = began or bool(shown)
                        print(shown, end="", flush=True)
                elif isinstance(event, Finished):
                    found.append(event.result)
            return EXIT_DONE

        try:
            run_cancellable(work, self._cancel, leave=False)
        except Cancelled:
            self._tell("Cancelled before the first token.")
            return None
        finally:
            print()
        return found[0]

    def _shown(self, channel: Channel, text: str) -> str:
        """Format a piece of a reply: in a terminal thoughts are dim, elsewhere they are dropped."""
        if not self._terminal:
            return text if channel == "content" else ""
        text = text.translate(_CONTROLS)
        return f"{_DIM}{text}{_PLAIN}" if channel == "reasoning" and text else text

    def _say_beside(self, result: GenerationResult) -> None:
        for call in result.tool_calls if self._tools is None else ():
            self._tell(f"→ {call.name}({json.dumps(call.arguments, ensure_ascii=False)})")
        if result.dropped_turns:
            self._tell(f"The oldest {result.dropped_turns} messages do not fit the context and were not read.")
        for note in result.notes:
            self._tell(str(note))
        self._tell(figures_line(result))

    def _tell(self, text: str) -> None:
        """Print a note beside the conversation, unless notes are off."""
        if self._console is not None:
            self._console.print(text, style="dim", highlight=False, markup=False, soft_wrap=True)

    # Commands ---------------------------------------------------------------------------------------------------------

    def _command(self, line: str) -> None:
        """Carry out a command. Raises InvalidRequest for an unknown one."""
        name, _, argument = line.strip().partition(" ")
        known = self._commands()
        if name not in known:
            suggestion = meant(f"/{name}", [f"/{command}" for command in known])
            raise InvalidRequest(
                f"There is no command /{name}{suggestion or '.'} "
                "Type /help for those there are; // before a text sends it with one /."
            )
        known[name][0](argument.strip())

    def _commands(self) -> dict[str, tuple[Callable[[str], None], str, str]]:
        """Return the commands: the function, the sign of its argument, and its help."""
        return {
            "help": (self._help, "", "list the commands"),
            "reset": (self._reset, "", "forget the conversation, but not the system message"),
            "system": (self._system, "[TEXT]", "set the system message, or take it away"),
            "undo": (self._undo, "", "take the last question and its reply away"),
            "retry": (self._retry, "", "write another reply to the last question"),
            "set": (
                self._set,
                "NAME=VALUE",
                "change an option, for example temperature=0.7; with nothing behind = undo that",
            ),
            "save": (self._save, "FILE", "write the conversation as JSON, as --messages reads it"),
            "load": (self._load, "FILE", "go on with a conversation"),
            "result": (self._result, "", "show what the last call of a tool gave back, whole"),
            "quit": (self._quit, "", "leave"),
        }

    def _help(self, _argument: str) -> None:
        for name, (_, sign, said) in self._commands().items():
            print(f"  /{f'{name} {sign}':<16} {said}", file=sys.stderr)
        print(f"  {_QUOTES + '…' + _QUOTES:<17} a text of several lines", file=sys.stderr)

    def _reset(self, _argument: str) -> None:
        self.history = [message for message in self.history if message.instructs]
        if self._tools is not None:
            self._tools.begin_chat()
        self._tell("The conversation begins anew.")

    def _system(self, argument: str) -> None:
        rest = [message for message in self.history if not message.instructs]
        self.history = [Message("system", argument), *rest] if argument else rest
        self._tell("The system message is set." if argument else "There is no system message now.")

    def _undo(self, _argument: str) -> None:
        self.history = self.history[: self._last_question()]
        self._tell("The last question and its reply are gone.")

    def _retry(self, _argument: str) -> None:
        self._reply(self.history[: self._last_question() + 1])

    def _last_question(self) -> int:
        questions = [number for number, message in enumerate(self.history) if message.role == "user"]
        if not questions:
            raise InvalidRequest("There is no question yet.")
        return questions[-1]

    def _set(self, argument: str) -> None:
        name, sign, value = (part.strip() for part in argument.partition("="))
        if not sign:
            raise InvalidRequest("Type the name of an option, = and its value, such as /set temperature=0.7")
        name = name.removeprefix("--").replace("-", "_")
        try:
            parsed = None if value.casefold() in ("", "none") else json.loads(value)
        except ValueError:
            parsed = value
        options = {known: each for known, each in self._options.items() if known != name}
        try:
            check_names([name], GenerationOptions.__annotations__)
            if parsed is not None or name in self._first:
                options[name] = self._first[name] if parsed is None else parsed
            make_request("x", dict(options), self._settings.sampling, self._settings.speculation)
        except InvalidRequest as error:
            raise _NotSet(str(error)) from None
        self._options = options
        self._tell(f"{name} is as it was at the beginning." if parsed is None else f"{name} is {parsed!r}.")

    def _save(self, argument: str) -> None:
        path = self._path(argument)
        if path.exists() and path != self._own:
            raise InvalidRequest(f"{path} is there already. Choose another name.")
        if not self.history:
            raise InvalidRequest("There is no message to write yet.")
        text = json.dumps([message.to_dict() for message in self.history], ensure_ascii=False, indent=1)
        write_file(path, (text + "\n").encode())
        self._own = path
        self._tell(f"{len(self.history)} messages are in {path}.")

    def _load(self, argument: str) -> None:
        path = self._path(argument)
        self.history = read_messages(path, ask=False)
        self._own = path
        self._tell(f"{len(self.history)} messages. The next question goes on with them.")

    def _result(self, _argument: str) -> None:
        if self._tools is None or not self._tools.last:
            raise InvalidRequest("No tool was called yet.")
        print(self._tools.last)

    def _path(self, argument: str) -> Path:
        if not argument:
            raise InvalidRequest("Name a file behind the command.")
        return Path(argument).expanduser().absolute()

    def _quit(self, _argument: str) -> None:
        self._running = False
