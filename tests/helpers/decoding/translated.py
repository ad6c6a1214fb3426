"""Drafts with another tokenizer, that know a text by heart."""

from collections.abc import Sequence
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.drafting.base import Draft
from engine.drafting.translated import TranslatedDrafter
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend

GREEDY = SamplingConfig()
WORDS = [b"", b"T", b"h", b"e", b" ", b"c", b"a", b"t", b"s", b".", b"The", b" cat", b" sat", b" ca", b"\xc3", b"\xa9"]
"""The target's tokens; 0 ends its text."""
LETTERS = [b"", *(bytes([byte]) for byte in b"The cats.\xc3\xa9")]
"""The draft's."""
SYLLABLES = [b"", b"Th", b"e c", b"at", b" s", b".", b"T", b"h", b"e", b" ", b"c", b"a", b"t", b"s", b"\xc3", b"\xa9"]
END = 0


def ids(pieces: Sequence[bytes], text: str) -> list[int]:
    """A text in the tokens of a vocabulary, the longest first."""
    return PieceTokenizer(pieces).encode(text, add_special=False, parse_special=False)


def reciter(pieces: Sequence[bytes], text: str, **options: Any) -> ScriptedBackend:
    """A model that knows one text by heart: the longest token that goes on with it, and its end token at the end."""
    data = text.encode()

    def script(history: Sequence[int]) -> int:
        rest = data[len(b"".join(pieces[token] for token in history)) :]
        fitting = [token for token, piece in enumerate(pieces) if piece and rest.startswith(piece)]
        return max(fitting, key=lambda token: len(pieces[token]), default=END)

    return ScriptedBackend(pieces, script, **{"eos_token_ids": [END], **options})


def drafter_for(backend: Backend, sampling: SamplingConfig = GREEDY, **options: Any) -> TranslatedDrafter:
    """A drafter for a target of `WORDS`."""
    tokenizer = options.pop("tokenizer", PieceTokenizer(WORDS))
    options.setdefault("stop_tokens", frozenset([END]))
    return TranslatedDrafter(backend, tokenizer, len(WORDS), sampling, options.pop("seed", 7), **options)


def begun(backend: Backend, prompt: str, *arguments: Any, **options: Any) -> TranslatedDrafter:
    """The same, begun with a prompt."""
    drafter = drafter_for(backend, *arguments, **options)
    drafter.begin(ids(WORDS, prompt), CancelToken())
    return drafter


def texts(draft: Draft) -> list[bytes]:
    """What was proposed."""
    return [WORDS[token] for token in draft.tokens]


def next_letter(history: Sequence[int], text: str) -> int:
    """The letter behind the last place of the text where the end of the history stands."""
    end = b"".join(LETTERS[token] for token in history)[-4:]
    place = text.encode().find(end)
    return LETTERS.index(text.encode()[place + len(end) :][:1]) if place >= 0 else 1
