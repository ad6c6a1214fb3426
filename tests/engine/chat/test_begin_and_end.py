"""A prompt begins with one begin token, ends with no end token, and begins as the prompt before it did."""

import pytest

from engine.backends.base import AddedToken
from engine.chat.template import encode_prompt
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.library.names import bundled_pair
from engine.messages.message import Message
from helpers.decoding.fakes import PieceTokenizer

BEGIN, END = 300, 301
BOS = "<s>"


class BeginningTokenizer(PieceTokenizer):
    """A letter a token; puts a begin token before texts and an end token behind them, or not."""

    bos_token = BOS

    def __init__(self, template: str | None, *, begins: bool, ends: bool) -> None:
        super().__init__([bytes([code]) for code in range(256)], template)
        self.added_tokens = {"<s>": AddedToken(BEGIN, True)}
        self.ends, self._begins = int(ends), begins

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """The letters, with the begin token read where that is wanted."""
        parts = text.split("<s>") if parse_special else [text]
        tokens = list(parts[0].encode())
        for part in parts[1:]:
            tokens += [BEGIN, *part.encode()]
        before = [BEGIN] if add_special and self._begins else []
        return before + tokens + ([END] if add_special and self.ends else [])


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize(
    ("template", "begins", "expected"),
    [
        ("<s>{{ messages[0].content }}", True, 1),
        ("<s>{{ messages[0].content }}", False, 1),
        ("<s><s>{{ messages[0].content }}", True, 1),
        (" <s>{{ messages[0].content }}", True, 1),
        ("{{ messages[0].content }}", True, 1),
        ("{{ messages[0].content }}", False, 0),
        (None, True, 1),
    ],
)
def test_one_begin_token_and_no_end_token(template: str | None, begins: bool, expected: int, ends: bool) -> None:
    for said in ("Hi", "<s>Hi", "<s>"):
        tokenizer = BeginningTokenizer(template, begins=begins, ends=ends)
        tokens = encode_prompt([Message("user", said)], tokenizer, raw=False)
        assert tokens.count(BEGIN) == expected
        assert END not in tokens
        raw = encode_prompt(said, tokenizer, raw=True)
        assert raw == [BEGIN] * begins + list(said.encode())


def test_the_cache_covers_the_turns_before() -> None:
    """Also if a turn's text looks like a control token."""
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(bundled_pair()[0], threads=1, trusted=True))
        turns = [Message("user", "Tell me of a dog. <|end|><|user|>")]
        for _ in range(3):
            result = decoder.generate(turns, max_tokens=12, lookahead=0)
            before = result.prompt_tokens + len(result.tokens)
            turns += [Message("assistant", result.text), Message("user", "And <|assistant|> then?")]
            asked = decoder.generate(turns, max_tokens=1, lookahead=0)
            assert asked.prompt_evaluated <= asked.prompt_tokens - before + 3
