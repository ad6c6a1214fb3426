"""Convert text with a folder's tokenizer: one of Hugging Face's fast ones, or raw bytes where 256 tokens have none."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, Protocol

import transformers

from engine.backends.base import AddedToken, Tokenizer
from engine.checks import check_tokens
from engine.errors import BackendClosed, ModelFileBroken, NotAvailable, TextNotEncodable
from engine.formats.safetensors.reader import read_json
from engine.formats.turns import assumed_templates
from engine.translatable import Translatable

_FILES = frozenset(
    {"tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "merges.txt"}
    | {"spiece.model", "sentencepiece.bpe.model", "tekken.json", "tiktoken.model", "tokenizer.tiktoken"}
)
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_RARE = ("\ue000", "\U0010fffd", "\u0378")
"""Characters that no vocabulary has as tokens: a text in which they are not lost loses nothing."""

_Step = Callable[[str], str | bytes]


class ModelTokenizer(Tokenizer, Protocol):
    """Convert text to token ids and back, and name the tokens that end a text."""

    @property
    def eos_token_ids(self) -> frozenset[int]:
        """Return ids of the tokenizer's own end token, if it has one."""


def open_tokenizer(folder: Path, config: Any, vocab_size: int, template: str | None = None) -> ModelTokenizer:
    """Return the tokenizer in a folder. `config`: the model's configuration; `vocab_size`: rows of its logits.

    `template`: a chat template in place of those in the folder. Raises ModelFileBroken if its tokenizer cannot be
    read.
    """
    try:
        present = sorted(_FILES & {entry.name for entry in folder.iterdir()})
    except OSError:
        present = []
    if not present:
        return (
            ByteTokenizer() if vocab_size == 256 else NoTokenizer(Translatable("its folder contains none"), vocab_size)
        )
    try:
        tokenizer = _open_fast(folder, config, own_class="tokenizer.json" in present)
    except ImportError as error:
        return NoTokenizer(
            Translatable("{file} needs another package ({reason})", file=present[0], reason=_first_line(error)),
            vocab_size,
        )
    except Exception as error:
        raise ModelFileBroken(
            folder, "its tokenizer cannot be read ({first_line}).", first_line=_first_line(error)
        ) from error
    except BaseException as error:
        # The tokenizers library panics at some damaged files, with an exception that is none.
        if type(error).__name__ == "PanicException":
            raise ModelFileBroken(folder, Translatable("its tokenizer cannot be read: the file is damaged.")) from error
        raise
    if not isinstance(tokenizer, transformers.PreTrainedTokenizerFast):
        kind = type(tokenizer).__name__
        reason = Translatable("{kind} is not one of Hugging Face's fast tokenizers", kind=kind)
        return NoTokenizer(reason, vocab_size)
    return TransformersTokenizer(tokenizer, template or tokenizer.chat_template or _template_file(folder), vocab_size)


def _open_fast(folder: Path, config: Any, *, own_class: bool) -> Any:
    """Return the tokenizer of the class that the folder names.

    It is of the general class where that one is not part of the library.

    `own_class`: whether there is a tokenizer.json, which says everything that the general class needs.
    """
    try:
        return transformers.AutoTokenizer.from_pretrained(
            folder, config=config, local_files_only=True, trust_remote_code=False, mistral_format=False
        )
    except (ValueError, AttributeError, KeyError, TypeError):
        if not own_class:
            raise
        return transformers.PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


class TransformersTokenizer:
    """Convert text with a fast tokenizer (see engine.backends.base.Tokenizer)."""

    def __init__(self, tokenizer: Any, templates: object, vocab_size: int) -> None:
        """Take over one of transformers'. `templates`: a chat template, or several by their names."""
        self._size = vocab_size
        self._fast: Any = tokenizer.backend_tokenizer
        self._lock = threading.Lock()
        self._fast.no_truncation()
        self._fast.no_padding()
        self._steps = _decoding_steps(self._fast.decoder)
        added = tokenizer.added_tokens_decoder
        self._silent = {token for token, entry in added.items() if entry.special} | set(tokenizer.all_special_ids)
        self._pieces: dict[int, bytes] = {}
        self.added_tokens = {
            str(entry.content): AddedToken(int(token), token in self._silent) for token, entry in added.items()
        }
        self.chat_templates = _templates(templates) or assumed_templates(self.added_tokens)
        self.chat_template = self.chat_templates.get("default")
        self.bos_token = str(tokenizer.bos_token or "")
        self.eos_token = str(tokenizer.eos_token or "")
        end = tokenizer.eos_token_id
        self.eos_token_ids = frozenset() if end is None else frozenset({int(end)})
        around = self._fast.encode("", add_special_tokens=True).ids
        self.ends = len(around) - bool(around and around[0] == tokenizer.bos_token_id)
        self._lost_bytes = self._find_lost_bytes()
        self._may_lose = not all(self._fast.encode(rare, add_special_tokens=False).ids for rare in _RARE)

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Return the token ids of `text`. Raises TextNotEncodable if a character would be left out."""
        # Halves of surrogate pairs are no text.
        text = text.encode("utf-8", "replace").decode()
        with self._lock:  # The switch is the tokenizer's, and not the call's: another thread would turn it.
            self._fast.encode_special_tokens = not parse_special
            encoding = self._fast.encode(text, add_special_tokens=add_special)
        tokens: list[int] = encoding.ids
        if self._may_lose or self._lost_bytes:
            self._refuse_lost(text, encoding.offsets)
        return tokens

    def piece(self, token: int) -> bytes:
        """Return the bytes that `token` adds to a text; control tokens and ids without a token add none.

        Raises TokenOutOfRange.
        """
        known = self._pieces.get(token)
        if known is None:
            check_tokens((token,), self._size)
            known = self._pieces[token] = self._read_piece(token)
        return known

    def marker(self, token: int) -> str:
        """Return the text that stands for a control token; '' for any other token. Raises TokenOutOfRange."""
        check_tokens((token,), self._size)
        return str(self._fast.id_to_token(token) or "") if token in self._silent else ""

    def _read_piece(self, token: int) -> bytes:
        text = None if token in self._silent else self._fast.id_to_token(token)
        written: str | bytes = text or b""
        for step in self._steps:
            if isinstance(written, str):
                written = step(written)
        return written if isinstance(written, bytes) else written.encode("utf-8", "replace")

    def _find_lost_bytes(self) -> frozenset[int]:
        """Return the bytes that a byte-level vocabulary has no token for."""
        if _from_byte_level not in self._steps:
            return frozenset()
        return frozenset(byte for sign, byte in _BYTE_OF_SIGN.items() if self._fast.token_to_id(sign) is None)

    def _refuse_lost(self, text: str, offsets: list[tuple[int, int]]) -> None:
        """Raise TextNotEncodable at the first character that is left out. `offsets`: the places of the tokens."""
        covered = bytearray(len(text))
        for start, end in offsets:
            covered[start:end] = b"\1" * (end - start)
        # Blanks around words are left out by the rules of some tokenizers.
        complete = all(seen or character.isspace() for character, seen in zip(text, covered, strict=True))
        for character in dict.fromkeys(text):
            lost = not (complete or character.isspace() or self._fast.encode(character, add_special_tokens=False).ids)
            if lost or self._lost_bytes.intersection(character.encode()):
                raise TextNotEncodable(character)


class _Bare:
    """Stand in for the attributes of a tokenizer that has neither control tokens nor a chat template."""

    chat_template: str | None = None
    chat_templates: Mapping[str, str] = MappingProxyType({})
    added_tokens: Mapping[str, AddedToken] = MappingProxyType({})
    ends = 0
    bos_token = ""
    eos_token = ""
    eos_token_ids: frozenset[int] = frozenset()


class ByteTokenizer(_Bare):
    """Map each byte of a text to a token, as in models of 256 tokens without a tokenizer."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Return the bytes of the text in UTF-8."""
        return list(text.encode("utf-8", "replace"))

    def piece(self, token: int) -> bytes:
        """Return the byte itself. Raises TokenOutOfRange."""
        check_tokens((token,), 256)
        return bytes((token,))

    def marker(self, token: int) -> str:
        """Return nothing: no token is one of control. Raises TokenOutOfRange."""
        check_tokens((token,), 256)
        return ""


class NoTokenizer(_Bare):
    """Stand in for the tokenizer of a model that takes token ids only. `reason`: why it has none, in words."""

    def __init__(self, reason: str, vocab_size: int) -> None:
        self._reason, self._size = reason, vocab_size

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Return nothing for an empty text. Raises NotAvailable for any other."""
        if text:
            advice = Translatable(
                "{reason}. Pass the prompt as token ids (--tokens), or add a tokenizer.json to its folder.",
                reason=self._reason,
            )
            raise NotAvailable(Translatable("This model's tokenizer"), advice)
        return []

    def piece(self, token: int) -> bytes:
        """Return nothing: no text is known for any token. Raises TokenOutOfRange."""
        check_tokens((token,), self._size)
        return b""

    def marker(self, token: int) -> str:
        """Return nothing, likewise. Raises TokenOutOfRange."""
        check_tokens((token,), self._size)
        return ""


class ClosedTokenizer:
    """Stand in for the tokenizer of a model that was closed: every call raises BackendClosed."""

    eos_token_ids: frozenset[int] = frozenset()

    @property
    def chat_template(self) -> NoReturn:
        """Raise BackendClosed."""
        raise BackendClosed

    bos_token = eos_token = chat_templates = added_tokens = ends = chat_template

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> NoReturn:
        """Raise BackendClosed."""
        raise BackendClosed

    def piece(self, token: int) -> NoReturn:
        """Raise BackendClosed."""
        raise BackendClosed

    def marker(self, token: int) -> NoReturn:
        """Raise BackendClosed."""
        raise BackendClosed


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip().rstrip(".")[:200] if lines else type(error).__name__


def _template_file(folder: Path) -> object:
    """Return the chat template of models that also read images, from its file, or None."""
    path = folder / "chat_template.json"
    try:
        return read_json(path).get("chat_template") if path.exists() else None
    except ModelFileBroken:
        return None


def _templates(template: object) -> dict[str, str]:
    """Return the chat templates by their names; one alone is the usual one."""
    if isinstance(template, list):
        template = {each.get("name"): each.get("template") for each in template if isinstance(each, Mapping)}
    named = template if isinstance(template, dict) else {"default": template}
    return {str(name): text for name, text in named.items() if isinstance(text, str) and text}


# Tokens to bytes ------------------------------------------------------------------------------------------------------


def _byte_signs() -> dict[str, int]:
    """Return the printable signs in which byte-level vocabularies write the 256 bytes (GPT-2's alphabet)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + index): byte for index, byte in enumerate(others)}


_BYTE_OF_SIGN = _byte_signs()


def _from_byte_level(text: str) -> str | bytes:
    """Return a token in GPT-2's alphabet; added tokens may be written plainly."""
    if all(sign in _BYTE_OF_SIGN for sign in text):
        return bytes(_BYTE_OF_SIGN[sign] for sign in text)
    return text


def _from_byte_token(text: str) -> str | bytes:
    match = _BYTE.fullmatch(text)
    return text if match is None else bytes((int(match[1], 16),))


def _decoding_steps(decoder: Any) -> list[_Step]:
    """Return the effect of a tokenizer's decoder on a single token. Without a decoder, tokens stand apart."""
    if decoder is None:
        return [lambda text: " " + text]
    found: list[_Step] = []
    waiting: list[dict[str, Any]] = [json.loads(decoder.__getstate__())]
    while waiting:
        step = waiting.pop(0)
        waiting[:0] = step.get("decoders", [])
        made = _decoding_step(step)
        if made is not None:
            found.append(made)
    return found


def _decoding_step(step: dict[str, Any]) -> _Step | None:
    """Return one step of a decoder as a function of one token; None if it only concerns tokens side by side."""
    kind = step.get("type")
    if kind == "ByteLevel":
        return _from_byte_level
    if kind == "ByteFallback":
        return _from_byte_token
    if kind == "Replace":
        pattern, content = step["pattern"], step["content"]
        search = re.compile(re.escape(pattern["String"]) if "String" in pattern else pattern["Regex"])
        return lambda text: search.sub(lambda _match: content, text)
    if kind == "Metaspace":
        sign = step.get("replacement", "\u2581")
        return lambda text: text.replace(sign, " ")
    if kind == "WordPiece":
        prefix = step.get("prefix", "##")
        return lambda text: text[len(prefix) :] if text.startswith(prefix) else " " + text
    if kind == "BPEDecoder":
        suffix = step.get("suffix", "</w>")
        return lambda text: text.replace(suffix, " ")
    return None
