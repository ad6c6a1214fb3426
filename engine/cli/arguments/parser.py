"""Parse a command's arguments, and explain errors in one line, with a suggestion."""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

_UNUSABLE = 2
_ELSEWHERE = {
    "--model": "--target",
    "--model-draft": "--draft",
    "--draft-model": "--draft",
    "--ctx-size": "--ctx",
    "--context": "--ctx",
    "--context-length": "--ctx",
    "--n-gpu-layers": "--gpu-layers",
    "--n-predict": "--max-tokens",
    "--predict": "--max-tokens",
    "--max-new-tokens": "--max-tokens",
    "--num-speculative-tokens": "--lookahead",
    "--draft-max": "--lookahead",
    "--temp": "--temperature",
    "--repetition-penalty": "--repeat-penalty",
    "--typical-p": "--typical",
    "--system-prompt": "--system",
    "--logprobs": "--top",
    "--grammar-file": "--grammar",
    "--json-schema-file": "--json-schema",
    "--silent": "--quiet",
}
"""Names that other programs give to options."""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keep the lines of a description and of examples, but for those that are wider than the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = super()._fill_text(text, width, indent).splitlines()
        return "\n".join(map(partial(_narrowed, width=width), lines))


class CommandParser(argparse.ArgumentParser):
    """Parse the arguments of the program or of one command, without abbreviations of options."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _HelpFormatter)
        super().__init__(allow_abbrev=False, **options)
        self._given: list[str] = []
        self.register("type", int, _whole)
        self.register("type", float, _number)

    @property
    def options(self) -> frozenset[str]:
        """Return all options, as they are written."""
        return frozenset(self._option_string_actions)

    def command(self, name: str) -> CommandParser | None:
        """Return the parser of a command; None if there is none of this name."""
        listed = (action.choices for action in self._actions if isinstance(action.choices, dict))
        found = next((each[name] for each in listed if name in each), None)
        return found if isinstance(found, CommandParser) else None

    def error(self, message: str) -> NoReturn:
        """End the program with one line, which names the help of this command."""
        said = re.sub(r"^argument (COMMAND: |([^:]+):(?= must be))?", r"\2", message).rstrip(".")
        misspelt = next(filter(self._is_unknown, self._given), None)
        if misspelt is not None and "required" in message:  # Its value was taken for something else, or it for that.
            said = self._no_option(misspelt)
        if said == "the following arguments are required: COMMAND":
            said = "name a command, such as generate or chat"
        self.exit(_UNUSABLE, f"{self.prog}: {said} (see {self.prog} --help)\n")

    def parse_known_args(  # type: ignore[override]  # its overloads give what this gives
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Return the arguments; nothing may be left that this command does not know."""
        self._given = [] if args is None else list(itertools.takewhile(lambda word: word != "--", args))
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(self._unknown(rest))
        return found, rest

    def _unknown(self, rest: list[str]) -> str:
        option = next((word for word in rest if word.startswith("-")), None)
        if option is None:
            return f"unrecognized arguments: {' '.join(rest)}. Put a text of several words in quotes"
        return self._no_option(option)

    def _no_option(self, word: str) -> str:
        name = word.partition("=")[0]
        return f"there is no option {name}{meant(name, self._option_string_actions, _ELSEWHERE)}"

    def _is_unknown(self, word: str) -> bool:
        """Return True if a word looks like an option of a name that this command does not know."""
        return word.startswith("--") and word.partition("=")[0] not in self._option_string_actions

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a value against the choices of its option, or the name of a command against the commands."""
        if action.choices is None or value in action.choices:
            return
        known = list(map(str, action.choices))
        suggestion = meant(str(value), known)
        if action.metavar == "COMMAND":
            raise argparse.ArgumentError(
                action, f"there is no command {value!r}{suggestion or f'. Known: {listed(known)}'}"
            )
        raise argparse.ArgumentError(action, f"must be one of {listed(known)}, not {value!r}{suggestion}")


def _narrowed(line: str, width: int) -> str:
    """Return a line, wrapped if it is too wide: continuations are indented further."""
    margin = " " * (len(line) - len(line.lstrip()))
    behind = margin + "    "
    wrapper = textwrap.TextWrapper(width, margin, behind, break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(line.strip())


def meant(name: str, known: Iterable[str], elsewhere: dict[str, str] | None = None) -> str:
    """Return a question for the name that may be meant, behind a full stop; "" where none is written alike."""
    names = tuple(known)
    suggestion = [(elsewhere or {}).get(name, ""), *difflib.get_close_matches(name, names, 1)]
    return next((f". Did you mean {each}?" for each in suggestion if each in names), "")


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence lists them."""
    return ", ".join(names)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, not {text!r}") from None
