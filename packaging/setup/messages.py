"""What the set-up tells people."""

import sys


class SetupError(Exception):
    """The set-up cannot go on; the message says why and what to do."""


def say(text: str) -> None:
    """Print a line of progress."""
    print(text, flush=True)


def step(text: str) -> None:
    """Begin a step of the set-up."""
    mark = "\033[1m==>\033[0m" if sys.stdout.isatty() else "==>"
    say(f"{mark} {text}")
