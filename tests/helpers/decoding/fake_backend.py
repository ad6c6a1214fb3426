"""A backend without a model, for tests of logic: logits that depend on the whole history, and a strict cache."""

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from engine.backends.base import AddedToken, Backend, Logits, Rewind
from engine.errors import ContextFull, RewindNotSupported, TokenOutOfRange


class FakeTokenizer:
    """Token i is the i-th letter; there is no template."""

    chat_template: str | None = None
    chat_templates: Mapping[str, str] = MappingProxyType({})
    added_tokens: Mapping[str, AddedToken] = MappingProxyType({})
    bos_token = ""
    eos_token = ""
    ends = 0

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """One token a character, by its code point."""
        return [ord(character) % self._vocab_size for character in text]

    def piece(self, token: int) -> bytes:
        return chr(ord("a") + token % 26).encode()

    def marker(self, token: int) -> str:
        return ""


class FakeBackend(Backend):
    """Logits are a fixed random function of `seed` and of every token in the cache, in order.

    `sharpness` is the standard deviation of the logits: 0 gives the uniform distribution. A token left in the cache
    by mistake changes every later row. Attributes for tests: forwards (a list of the number of tokens of each).
    """

    def __init__(
        self,
        vocab_size: int = 8,
        seed: int = 0,
        *,
        sharpness: float = 1.5,
        context_length: int = 4096,
        eos_token_ids: Sequence[int] = (),
        rewind: Rewind | None = None,
        name: str = "fake",
        trees: bool = False,
    ) -> None:
        self.name = name
        self.vocab_size = vocab_size
        self.context_length = context_length
        self.eos_token_ids = frozenset(eos_token_ids)
        self.rewind = rewind or Rewind("any")
        self.tokenizer = FakeTokenizer(vocab_size)
        self.forwards: list[int] = []
        self._seed = seed
        self._sharpness = sharpness
        self._tokens: list[int] = []
        self._mark: int | None = None
        self._trees = trees
        self._tree: list[int] = []
        self._known: dict[tuple[int, ...], Logits] = {}

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def row(self, history: Sequence[int]) -> Logits:
        """The logits, shape (vocab_size,), that follow `history`."""
        key = tuple(history)
        known = self._known.get(key)
        if known is None:
            data = np.array([self._seed, *key], dtype=np.int64).tobytes()
            state = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
            drawn = np.random.default_rng(state).normal(scale=self._sharpness, size=self.vocab_size)
            known = self._known[key] = drawn.astype(np.float32)
        return known

    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        for token in tokens:
            if not 0 <= token < self.vocab_size:
                raise TokenOutOfRange(token, self.vocab_size)
        if self.length + len(tokens) > self.context_length:
            raise ContextFull(self.length + len(tokens), self.context_length)
        self._tree = []
        self.forwards.append(len(tokens))
        self._tokens.extend(tokens)
        ends = range(self.length - n_outputs + 1, self.length + 1)
        if not n_outputs:
            return np.empty((0, self.vocab_size), dtype=np.float32)
        return np.array([self.row(self._tokens[:end]) for end in ends])

    @property
    def trees(self) -> bool:
        """As it was told."""
        return self._trees

    def forward_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Logits:
        """Each node's row is that of its path."""
        if self.length + len(tokens) > self.context_length:
            raise ContextFull(self.length + len(tokens), self.context_length)
        self.forwards.append(len(tokens))
        self._tree = list(tokens)
        paths: list[list[int]] = []
        for token, parent in zip(tokens, parents, strict=True):
            paths.append([*(self._tokens if parent < 0 else paths[parent]), token])
        return np.stack([self.row(path) for path in paths])

    def keep_path(self, path: Sequence[int]) -> None:
        """The nodes' tokens."""
        self._tokens.extend(self._tree[node] for node in path)
        self._tree = []

    def truncate(self, length: int) -> None:
        self._tree = []
        if not 0 <= length <= self.length:
            raise RewindNotSupported(length, self.length)
        if length not in (0, self.length) and not self._reachable(length):
            raise RewindNotSupported(length, self.length)
        del self._tokens[length:]

    def _reachable(self, length: int) -> bool:
        if self.rewind.kind == "window":
            return self.length - length <= (self.rewind.depth or 0)
        if self.rewind.kind == "snapshots":
            return self._mark is not None and self._mark <= length
        return self.rewind.kind == "any"

    def mark(self) -> None:
        self._mark = self.length

    def close(self) -> None:
        """Nothing to free."""
