"""Print the messages of the set-up."""

import sys


class SetupError(Exception):
    """The set-up cannot go on; the message names the cause and the remedy."""


def say(text: str) -> None:
    """Print a line of progress."""
    print(text, flush=True)


def step(text: str) -> None:
    """Begin a step of the set-up."""
    mark = "\033[1m==>\033[0m" if sys.stdout.isatty() else "==>"
    say(f"{mark} {text}")
