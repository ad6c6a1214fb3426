"""Reword the engine's errors for the command line."""

from __future__ import annotations

import re

from engine.cli.arguments.parser import listed, meant
from engine.errors import EngineError, InvalidRequest, ModelNotLoaded, UnknownMethod
from engine.methods import AUTO, PLAIN, SOURCES
from engine.options import GenerationOptions, LoadOptions

_OPTIONS = {
    "banned_tokens": "--ban",
    "stop_tokens": "--stop-token",
    "context_length": "--ctx",
    "ignore_eos": "--ignore-eos",
}
_NEEDED = {
    "target": "Name a target model with --target.",
    "draft": "This method needs a draft model: name one with --draft.",
    "heads": "This method needs draft heads: name their file with --heads.",
}


def in_options(error: EngineError) -> str:
    """Return the sentence of an error in the words of the command line: options in place of fields and calls."""
    text = " ".join(str(error).split())
    if isinstance(error, ModelNotLoaded):
        return _NEEDED.get(error.what, text)
    if isinstance(error, UnknownMethod):
        known = (AUTO, PLAIN, *SOURCES)
        return f"Unknown method {error.method!r}{meant(error.method, known) or f'. Known: {listed(known)}.'}"
    if isinstance(error, InvalidRequest):
        fields = (*GenerationOptions.__annotations__, *LoadOptions.__annotations__)
        for name in sorted(fields, key=len, reverse=True):
            option = _OPTIONS.get(name, "--" + name.replace("_", "-"))
            text = re.sub(
                rf"(?<![\w'-]){name}(?= must be|\b)" if "_" in name else rf"^{name}(?= must be)", option, text
            )
    return text
