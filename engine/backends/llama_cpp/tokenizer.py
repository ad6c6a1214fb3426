"""Run the tokenizer of a GGUF model with llama.cpp, guarded where llama.cpp would end the process."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llama_cpp

from engine.backends.base import AddedToken
from engine.checks import check_tokens
from engine.errors import BackendClosed, BackendFailure, InvalidRequest, TextNotEncodable
from engine.formats.turns import assumed_templates
from engine.formats.vocabulary import Vocabulary
from engine.system.deep_stack import with_deep_stack
from engine.translatable import Translatable

_SPACE = "\u2581"
"""SentencePiece's mark for a space."""


_LONGEST_NAME = 256
_TEMPLATE_NAMED = "tokenizer.chat_template."
_CONTROL = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
_USER_DEFINED = llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED
_SHORT_TEXT = 8192
_LONGEST_TEXT = 2**22
_STACK_A_CHARACTER = 1024
"""Bytes. Some of llama.cpp's pre-tokenizers call themselves once for each character of a text without breaks; 20,000
characters pass and 40,000 end the process on the usual stack of 8 MiB (measured)."""


class LlamaCppTokenizer:
    """Convert text to token ids and back (see engine.backends.base.Tokenizer), as long as the model is loaded.

    Once its model is freed it raises BackendClosed. `vocabulary`: by the header of its file, where that was read.
    """

    def __init__(self, model: Any, vocabulary: Vocabulary | None = None) -> None:
        self._changed = threading.Condition()
        self._users: list[int] = []
        """The threads that use the model now, which they may do at the same time: its vocabulary does not change."""
        self._closed = False
        self._say_why: Callable[[], None] = _nothing
        self._model = model
        self._vocab: Any = llama_cpp.llama_model_get_vocab(model)
        self._size = int(llama_cpp.llama_vocab_n_tokens(self._vocab))
        known = vocabulary is not None and vocabulary.size == self._size
        self._special: Sequence[int] = vocabulary.special if vocabulary and known else range(self._size)
        self._pieces: dict[int, bytes] = {}
        self._known: frozenset[str] | None = None
        self._added: dict[str, AddedToken] | None = None
        self._templates: dict[str, str] | None = None
        self.bos_token = self._text(llama_cpp.llama_vocab_bos(self._vocab))
        self.eos_token = self._text(llama_cpp.llama_vocab_eos(self._vocab))
        self._needs_guard = self._lacks_byte_tokens()
        begins = bool(self.bos_token) and bool(llama_cpp.llama_vocab_get_add_bos(self._vocab))
        self.ends = max(len(self._tokenize("", True, False)) - begins, 0)

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Keep the model from being freed within. Raises BackendClosed."""
        me = threading.get_ident()
        with self._changed:
            if self._closed:
                self._say_why()
                raise BackendClosed
            self._users.append(me)
        try:
            yield
        finally:
            with self._changed:
                self._users.remove(me)
                if self._closed:
                    self._changed.notify_all()

    def close(self, say_why: Callable[[], None] | None = None) -> None:
        """Stop using the model. Waits for a call on another thread. `say_why` raises the known reason."""
        me = threading.get_ident()
        self._say_why = say_why or self._say_why
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: all(user == me for user in self._users))

    @property
    def vocab_size(self) -> int:
        """Number of token ids."""
        return self._size

    @property
    def eos_token_ids(self) -> frozenset[int]:
        """Return every token that ends a turn or a text."""
        is_end = llama_cpp.llama_vocab_is_eog
        with self._open():
            named = (llama_cpp.llama_vocab_eos(self._vocab), llama_cpp.llama_vocab_eot(self._vocab))
            candidates = {*self._special, *(token for token in named if 0 <= token < self._size)}
            return frozenset(token for token in candidates if is_end(self._vocab, token))

    @property
    def gap_tokens(self) -> tuple[int, int, int] | None:
        """Return the tokens before a gap, behind it and at it, by the file or by names that llama.cpp knows."""
        with self._open():
            found = [
                int(ask(self._vocab))
                for ask in (llama_cpp.llama_vocab_fim_pre, llama_cpp.llama_vocab_fim_suf, llama_cpp.llama_vocab_fim_mid)
            ]
        if not all(0 <= token < self._size for token in found) or len(set(found)) < len(found):
            return None
        return found[0], found[1], found[2]

    def use_template(self, template: str | None) -> None:
        """Write chats by this template, in place of those in the file; None: by those."""
        self._templates = None if template is None else {"default": template}

    @property
    def chat_template(self) -> str | None:
        """Return the usual one of the chat templates, or None. Raises BackendClosed."""
        return self.chat_templates.get("default")

    @property
    def chat_templates(self) -> dict[str, str]:
        """Return the chat templates in the file, or that of a known format, by their names. Raises BackendClosed."""
        if self._templates is None:
            with self._open():
                self._templates = self._read_templates() or assumed_templates(self.added_tokens)
        with self._open():
            return self._templates

    def _read_templates(self) -> dict[str, str]:
        """Return `tokenizer.chat_template` and the named templates behind it, by name."""
        found = {}
        usual = llama_cpp.llama_model_chat_template(self._model, None)
        if usual:
            found["default"] = usual.decode("utf-8", "replace")
        for index in range(llama_cpp.llama_model_meta_count(self._model)):
            name = ctypes.create_string_buffer(_LONGEST_NAME)
            llama_cpp.llama_model_meta_key_by_index(self._model, index, name, _LONGEST_NAME)
            key, _, rest = name.value.decode("utf-8", "replace").partition(_TEMPLATE_NAMED)
            if not key and rest and rest not in found:
                text = llama_cpp.llama_model_chat_template(self._model, rest.encode())
                found |= {rest: text.decode("utf-8", "replace")} if text else {}
        return found

    @property
    def added_tokens(self) -> dict[str, AddedToken]:
        """Return the tokens that llama.cpp looks for in texts before all others. Raises BackendClosed."""
        with self._open():
            if self._added is None:
                self._added = {}
                for token in self._special:
                    kind = int(llama_cpp.llama_vocab_get_attr(self._vocab, token))
                    if kind & (_CONTROL | _USER_DEFINED):
                        self._added.setdefault(self._text(token), AddedToken(token, bool(kind & _CONTROL)))
                self._added.pop("", None)
            return self._added

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Return the token ids of `text`. Raises TextNotEncodable, BackendFailure, BackendClosed."""
        with self._open():
            return self._encode(text, add_special, parse_special)

    def _encode(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        if self._needs_guard:
            self._refuse_unknown(text, parse_special)
        if len(text) <= _SHORT_TEXT:
            tokens = self._tokenize(text, add_special, parse_special)
        else:
            tokens = _with_deep_stack(lambda: self._tokenize(text, add_special, parse_special), len(text))
        if -1 in tokens:
            lacking = (character for character in text if -1 in self._tokenize(character, False, False))
            raise TextNotEncodable(next(lacking, "\N{REPLACEMENT CHARACTER}"))
        return tokens

    def _tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        while True:
            tokens = (ctypes.c_int32 * room)()
            count = llama_cpp.llama_tokenize(self._vocab, data, len(data), tokens, room, add_special, parse_special)
            if count >= 0:
                return list(tokens[:count])
            if -count <= room:
                raise BackendFailure(Translatable("its tokenizer returned no result"))
            room = -count

    def piece(self, token: int) -> bytes:
        """Return the bytes that `token` adds to a text; control tokens add none. Raises TokenOutOfRange."""
        known = self._pieces.get(token)
        if known is None:
            check_tokens((token,), self._size)  # llama.cpp throws through C, which ends the process.
            with self._open():
                known = self._pieces[token] = self._read_piece(token)
        return known

    def marker(self, token: int) -> str:
        """Return the text that stands for a control token; '' for any other token.

        Raises BackendClosed, TokenOutOfRange.
        """
        if self.piece(token):
            return ""
        with self._open():
            return self._read_piece(token, special=True).decode("utf-8", "replace")

    def _read_piece(self, token: int, *, special: bool = False) -> bytes:
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = int(llama_cpp.llama_token_to_piece(self._vocab, token, buffer, room, 0, special))
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def _text(self, token: int) -> str:
        if not 0 <= token < self._size:
            return ""
        text = llama_cpp.llama_vocab_get_text(self._vocab, token)
        return text.decode("utf-8", "replace") if text else ""

    def _lacks_byte_tokens(self) -> bool:
        """Return True if a character without a token of its own would make llama.cpp throw through C.

        That would end the process.
        """
        kind = llama_cpp.llama_vocab_type(self._vocab)
        if kind not in (llama_cpp.LLAMA_VOCAB_TYPE_SPM, llama_cpp.LLAMA_VOCAB_TYPE_UGM):
            return False
        texts = {self._text(token) for token in self._special}
        return any(f"<0x{byte:02X}>" not in texts for byte in range(256))

    def _all_texts(self) -> frozenset[str]:
        if self._known is None:
            self._known = frozenset(self._text(token) for token in range(self._size))
        return self._known

    def _refuse_unknown(self, text: str, parse_special: bool) -> None:
        """Raise TextNotEncodable at the first character that neither a token nor byte tokens can write."""
        known = self._all_texts()
        if parse_special:
            control = [token for token in self._special if llama_cpp.llama_vocab_is_control(self._vocab, token)]
            names = sorted((re.escape(name) for name in map(self._text, control) if name), key=len, reverse=True)
            text = re.sub("|".join(names), "", text) if names else text
        for character in dict.fromkeys(text + " " if text else ""):
            written = _SPACE if character == " " else character
            if written not in known and not self._in_bytes(written, known):
                raise TextNotEncodable(character)

    @staticmethod
    def _in_bytes(character: str, known: frozenset[str]) -> bool:
        data = character.encode("utf-8", "replace")
        return all(f"<0x{byte:02X}>" in known or (byte < 128 and chr(byte) in known) for byte in data)


def _nothing() -> None:
    """Give no reason why a model was closed."""


def _with_deep_stack(work: Callable[[], list[int]], characters: int) -> list[int]:
    """Run `work` on a thread whose stack is deep enough for a text of so many characters."""
    if characters > _LONGEST_TEXT:
        raise InvalidRequest(
            "The prompt has {characters:,} characters; the limit is {longest_text:,}. Shorten it.",
            characters=characters,
            longest_text=_LONGEST_TEXT,
        )
    return with_deep_stack(work, characters * _STACK_A_CHARACTER)
