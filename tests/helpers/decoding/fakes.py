"""Backends without a model that say what they are told to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.backends.base import AddedToken, Logits
from helpers.decoding.fake_backend import FakeBackend


class PieceTokenizer:
    """Token i adds `pieces[i]`; text is read a piece at a time, the longest first. `markers`: the control tokens."""

    bos_token = ""
    eos_token = ""
    ends = 0

    def __init__(
        self, pieces: Sequence[bytes], chat_template: str | None = None, markers: Mapping[int, str] | None = None
    ) -> None:
        self._pieces = list(pieces)
        self._markers = dict(markers or {})
        self.chat_template = chat_template
        self.chat_templates = {} if chat_template is None else {"default": chat_template}
        self.added_tokens: dict[str, AddedToken] = {}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Token ids; what no piece can write is left out."""
        data, tokens = text.encode(), []
        while data:
            fitting = [token for token, piece in enumerate(self._pieces) if piece and data.startswith(piece)]
            best = max(fitting, key=lambda token: len(self._pieces[token]), default=None)
            if best is not None:
                tokens.append(best)
            data = data[len(self._pieces[best]) if best is not None else 1 :]
        return tokens

    def piece(self, token: int) -> bytes:
        """The bytes of the token."""
        return self._pieces[token]

    def marker(self, token: int) -> str:
        return self._markers.get(token, "")


class ScriptedBackend(FakeBackend):
    """After any history, the token that `script` names is far ahead; None makes the row not a number."""

    def __init__(
        self,
        pieces: Sequence[bytes],
        script: Callable[[Sequence[int]], int | None],
        *,
        chat_template: str | None = None,
        markers: Mapping[int, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(len(pieces), **options)
        self.tokenizer = PieceTokenizer(pieces, chat_template, markers)
        self._script = script

    def row(self, history: Sequence[int]) -> Logits:
        token = self._script(history)
        row = np.zeros(self.vocab_size, dtype=np.float32)
        if token is None:
            row[:] = np.nan
        else:
            row[token] = 20.0
        return row


def recite(tokens: Sequence[int], prompt_length: int = 1) -> Callable[[Sequence[int]], int]:
    """A script: these tokens one after the other behind the prompt, then token 0."""

    def script(history: Sequence[int]) -> int:
        index = len(history) - prompt_length
        return tokens[index] if 0 <= index < len(tokens) else 0

    return script


def letters(count: int = 8) -> list[bytes]:
    """One letter a token."""
    return [chr(ord("a") + token).encode() for token in range(count)]
