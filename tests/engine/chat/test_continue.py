"""A last message of the assistant is continued, as if the reply had never stopped."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.chat.context_fit import fit_turns
from engine.chat.template import encode_prompt
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.library.names import bundled_pair
from engine.messages.message import Message
from helpers.decoding.fakes import PieceTokenizer, ScriptedBackend, recite
from helpers.paths import SHARED_MODELS

TEMPLATE = "{% for m in messages %}<{{ m.role[0] }}{{ m.content }}>{% endfor %}<a"
LETTERS = [bytes([code]) for code in range(128)]
TARGETS = [
    *("gguf/stories260K-F32.gguf", "gguf/babyllama361-F32.gguf", "gguf/rwkv7-834K-F32.gguf"),
    *("gguf/babyllama-byte256-F32.gguf", "gguf/stories-mamba131K-F32.gguf", "hf/stories260K"),
]


class SpacingTokenizer(PieceTokenizer):
    """Puts a space before every text, as SentencePiece does, and notes whether control tokens were wanted."""

    def __init__(self, chat_template: str | None = None) -> None:
        super().__init__(LETTERS, chat_template)
        self.special: list[bool] = []

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """The letters, behind a space."""
        self.special.append(parse_special)
        return super().encode(" " + text, add_special=add_special, parse_special=parse_special)


def _turns(*contents: str) -> list[Message]:
    return [Message("assistant" if index % 2 else "user", content) for index, content in enumerate(contents)]


@pytest.mark.parametrize("template", [TEMPLATE, None])
@pytest.mark.parametrize("begun", ["Once upon", " Once", "\nOnce", "<u", ""])
def test_tokens_are_those_of_the_question_and_then_of_the_text(template: str | None, begun: str) -> None:
    tokenizer = SpacingTokenizer(template)
    asked = encode_prompt(_turns("Hi", "Hello", "Why?"), tokenizer, raw=False)
    tokenizer.special.clear()
    tokens = encode_prompt(_turns("Hi", "Hello", "Why?", begun), tokenizer, raw=False)
    assert bytes(tokens) == bytes(asked) + begun.encode()
    assert tokenizer.special[0] == (template is not None)
    assert not any(tokenizer.special[1:]), "what a reply says is never read as a control token"


def test_what_only_the_assistant_said_is_a_turn_like_others() -> None:
    tokenizer = PieceTokenizer(LETTERS, TEMPLATE)
    assert bytes(encode_prompt([Message("assistant", "Hi")], tokenizer, raw=False)) == b"<aHi><a"


def test_oldest_turns_go_and_the_begun_reply_stays() -> None:
    turns = _turns(*[letter * 10 for letter in "aAbBcCdDeEfF"])
    tokens, dropped = fit_turns(turns, PieceTokenizer(LETTERS, TEMPLATE), 100, None)
    assert dropped > 0
    assert dropped % 2 == 0
    assert bytes(tokens).endswith(b"<uffffffffff><aFFFFFFFFFF")


def test_reply_goes_on_after_what_is_there() -> None:
    said = [ord(letter) for letter in "and so on."]
    backend = ScriptedBackend(LETTERS, recite(said, len("<uGo><aYes, ")), chat_template=TEMPLATE)
    decoder = SpeculativeDecoder()
    decoder.attach_target(backend)
    result = decoder.generate(_turns("Go", "Yes, "), max_tokens=10)
    assert result.text == "and so on."
    assert result.prompt_tokens == len("<uGo><aYes, ")


def _continues(decoder: SpeculativeDecoder, question: str, lookahead: int | str) -> bool:
    """True if a reply of 20 tokens and its continuation are the reply of 40; False if its text is read otherwise."""
    assert decoder.target is not None
    options: dict[str, Any] = {"lookahead": lookahead, "temperature": 0.0}
    asked = [Message("user", question)]
    whole = decoder.generate(asked, max_tokens=40, **options)
    begun = decoder.generate(asked, max_tokens=20, **options)
    turns = [*asked, Message("assistant", begun.text)]
    read = encode_prompt(turns, decoder.target.tokenizer, raw=False)
    prompt = encode_prompt(asked, decoder.target.tokenizer, raw=False)
    assert read[: len(prompt)] == prompt
    if not begun.text or read[len(prompt) :] != list(begun.tokens):
        return False
    rest = decoder.generate(turns, max_tokens=20, **options)
    assert begun.tokens + rest.tokens == whole.tokens
    assert begun.text + rest.text == whole.text
    assert rest.prompt_evaluated < rest.prompt_tokens or decoder.target.rewind.kind != "any"
    return True


def _questions() -> Sequence[str]:
    return ("Tell me a story about a shy dragon.", "What is Outrider?", "Write about a lighthouse.")


@pytest.mark.parametrize("lookahead", [0, 4, "auto"])
def test_demo_pair_continues_as_if_it_had_not_stopped(lookahead: int | str) -> None:
    target, draft = bundled_pair()
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(target, threads=1, trusted=True))
        decoder.attach_draft(LoadConfig(draft, threads=1, trusted=True))
        assert all(_continues(decoder, question, lookahead) for question in _questions())


@pytest.mark.parametrize("name", TARGETS)
def test_real_targets_continue(name: str) -> None:
    """With and without a template, whatever the tokenizer puts before a text."""
    path: Path = SHARED_MODELS / name
    if not path.exists():
        pytest.skip(f"there is no {name}")
    if path.is_dir():
        pytest.importorskip("torch")
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(path, trusted=True))
        continued = [_continues(decoder, question, 0) for question in _questions()]
        assert any(continued)
