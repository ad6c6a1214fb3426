"""Define the contract of a backend: one loaded causal model with a cache and a tokenizer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.cancel import CancelToken
from engine.errors import BackendClosed, BackendFailure, NotAvailable
from engine.formats.vocabulary import Vocabulary
from engine.messages.picture import Picture
from engine.sampling.rows import NUMPY, Rows
from engine.translatable import Translatable

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rewind:
    """Describe the rollback of a cache. `depth`: positions for a window, restore points for snapshots, else None.

    any: to any length (attention cache). window: only the last `depth` positions (sliding layers). snapshots: to a
    `mark`ed position; the tokens accepted since are replayed with the next forward (recurrent state). none: not at all.
    """

    kind: Literal["any", "window", "snapshots", "none"]
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class HiddenStates:
    """Describe the hidden states that a model exposes.

    `readable`: indices of layers whose input can be read, from 0; the number of layers denotes the last one's output
    before the norm, and engine.formats.draft_head.NORMED the norm's output. `width`: numbers in a state. `shared`: the
    part of the cache that a head may read (see engine.formats.draft_head.DraftHead).
    """

    readable: frozenset[int]
    layers: int
    width: int
    shared: tuple[tuple[int, int], ...] = ()


class StateReader(Protocol):
    """Define a reader of a target's hidden states, called as they are computed (see Backend.show_states)."""

    @property
    def state_layers(self) -> Sequence[int]:
        """Return the numbers of the states that are wanted, as in HiddenStates."""

    def read_states(self, first: int, tokens: Sequence[int], states: NDArray[np.float32]) -> None:
        """Read the states of `tokens`, which stand in the cache from position `first` on now.

        `states`: shape (tokens, layers * width), the wanted layers of a token side by side. They replace earlier
        states of these positions, and invalidate those after them. States behind the norm are NaN if they were not
        computed: a backend may have them only for tokens whose logits were requested. Pictures have no states here,
        and count as no positions.
        """


class AddedToken(NamedTuple):
    """Describe an added token: its text is always read as this one token. `control`: a marker, never text itself.

    Other added tokens are user-defined: they are read in any text, and written as text.
    """

    id: int
    control: bool


class Tokenizer(Protocol):
    """Convert text to token ids and back, for one model."""

    @property
    def chat_templates(self) -> Mapping[str, str]:
        """Return the model's chat templates (Jinja), untrusted, by their names; the usual one is "default".

        A model without one gets that of a known format, if its tokens match one (engine.formats.turns).
        """

    @property
    def added_tokens(self) -> Mapping[str, AddedToken]:
        """Return the added tokens by their texts: control tokens, the unknown token, and user-defined ones."""

    @property
    def ends(self) -> int:
        """Return the number of tokens that `add_special` puts behind a text: an end token in some models."""

    @property
    def chat_template(self) -> str | None:
        """Return the default chat template; None if there is none."""

    @property
    def bos_token(self) -> str:
        """Return text of the begin token, or ''."""

    @property
    def eos_token(self) -> str:
        """Return text of the end token, or ''."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Return the token ids of `text`. Raises TextNotEncodable.

        `add_special` adds the begin token and the end token, if the model uses them;
        `parse_special` reads the text of control tokens as those tokens.
        """

    def piece(self, token: int) -> bytes:
        """Return the bytes that `token` adds to a text; control tokens add none. Raises TokenOutOfRange."""

    def marker(self, token: int) -> str:
        """Return the text that stands for a control token, such as `<|im_start|>`; '' for any other token.

        Raises TokenOutOfRange.
        """


@dataclass(frozen=True, slots=True)
class CacheCopy:
    """Hold a copy of a cache. `tokens`: its tokens; `data`: the bytes from its backend.

    `sizes`: of the pieces in `data`, if there are several.
    """

    tokens: tuple[int, ...]
    data: NDArray[np.uint8]
    sizes: tuple[int, ...] = ()


class CacheKeeper(ABC):
    """Keep copies of a backend's cache."""

    @abstractmethod
    def change_to(self, backend: Backend, tokens: Sequence[int]) -> None:
        """Prepare the cache for reading `tokens`: restore their stored parts."""


class Backend(ABC):
    """Hold one loaded causal model. Not thread-safe: one thread at a time.

    Attributes: name; vocab_size; context_length (tokens that the cache holds); eos_token_ids (tokens that end a turn
    or a text); rewind (how the cache can go back); tokenizer; device (where it computes: "cpu", "cuda:0"…); threads
    (processor threads that it computes rounds with); threads_adjustable (whether that number can be changed);
    parameters (number of weights) and weight_bytes (their size), 0 if not known; rows (what draws from its logits);
    notes (sentences about how it was loaded that a person should know, mostly none); closed (whether `close` was
    called); own_kernels (whether this project's kernels compute: verifying costs less); row_difference (by how much a
    logit of a token fed with four others differs from that of the token alone, at most, as measured after loading; None
    where it was not measured); hidden_states (which ones can be shown, None if none can); keeper (of caches that
    were displaced, None: they are not kept); vocabulary (by the header of its file, None if that was not read);
    gap_tokens (those that mark what stands before a gap, what stands behind it, and the gap; None if the file names
    none); context_grows (whether a longer chat may take a larger context: nobody chose this one); sees (whether it
    reads pictures).
    """

    name: str
    vocab_size: int
    context_length: int
    eos_token_ids: frozenset[int]
    rewind: Rewind
    tokenizer: Tokenizer
    device: str = "cpu"
    threads: int = 1
    threads_adjustable: bool = False
    parameters: int = 0
    weight_bytes: int = 0
    rows: Rows = NUMPY
    notes: tuple[str, ...] = ()
    closed: bool = False
    own_kernels: bool = False
    row_difference: float | None = None
    hidden_states: HiddenStates | None = None
    keeper: CacheKeeper | None = None
    vocabulary: Vocabulary | None = None
    gap_tokens: tuple[int, int, int] | None = None
    context_grows: bool = False
    sees: bool = False

    @property
    def batch_invariant(self) -> bool | None:
        """Return True if a row of logits was found to be the same however many tokens were fed with it; None: unknown.

        If False, a greedy reply with a draft may differ from plain decoding after two almost equal logits.
        """
        return None if self.row_difference is None else self.row_difference == 0.0

    @property
    @abstractmethod
    def length(self) -> int:
        """Return tokens in the cache."""

    @property
    @abstractmethod
    def tokens(self) -> Sequence[int]:
        """Return the ids of the tokens in the cache. A view: do not change it."""

    @abstractmethod
    def forward(self, tokens: Sequence[int], n_outputs: int) -> Logits:
        """Append `tokens` to the cache; return the logits after the last `n_outputs` of them.

        Shape (n_outputs, vocab_size), float32, a view that is valid until the next forward. `n_outputs` 0 gives no
        row. Raises ContextFull, TokenOutOfRange, BackendFailure (BackendClosed), and Cancelled when a watched token is
        set; after an error the cache is as before, or empty if it cannot be rewound or the library refused the forward.
        """

    @abstractmethod
    def truncate(self, length: int) -> None:
        """Forget everything from position `length` on. Raises RewindNotSupported."""

    @property
    def trees(self) -> bool:
        """Return True if it can compute a tree of tokens (see `forward_tree`)."""
        return False

    def forward_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Logits:
        """Compute a tree of tokens behind the cache in one forward; return the logits after each of them.

        `parents`: for each token the index of its predecessor, a smaller one, or -1 for the end of the cache. Shape
        (tokens, vocab_size), as of `forward`. The tree is not part of the cache: `keep_path` keeps one path of it, and
        any other call drops all of it. Raises as `forward` does.
        """
        raise NotAvailable(Translatable("Drafting trees"), "{name} can only verify chains.", name=self.name)

    def has_own_row(self, node: int) -> bool:
        """Return True if a token of the last tree has the row that it has as the end of a chain, to the bit."""
        return True

    def keep_path(self, path: Sequence[int]) -> None:  # noqa: B027 - only where there are trees
        """Append a path of the last tree to the cache: indices of tokens, from the first one on. Forget the rest.

        The states of its tokens are passed on now (see `show_states`); none is computed again.
        """

    def mark(self) -> None:  # noqa: B027 - most caches need no mark
        """Promise that the next truncate will not go back before here. Costs something only if rewind is snapshots."""

    def watch(self, cancel: CancelToken | None) -> None:  # noqa: B027 - a backend may be too quick to be interrupted
        """Watch this token: once it is set, a forward may stop early, raising Cancelled. None: watch no longer."""

    def show_states(self, reader: StateReader | None) -> None:
        """Pass the hidden states of every token to `reader`, from the next forward on. None: to nobody, at no cost.

        Raises NotAvailable if they cannot be shown.
        """
        if reader is not None:
            raise NotAvailable(Translatable("Drafting with heads"), "{name} shows no hidden states.", name=self.name)

    def want_rows(self, bits: NDArray[np.uint64] | None) -> bool:
        """Compute only wanted logits from now on, the others being minus infinity; return False if not supported.

        `bits`: one bit for each 16 rows; it may change between forwards. None: all rows are wanted.
        """
        return False

    def grow_context(self, context_length: int) -> bool:
        """Grow the context to so many tokens, or the model's maximum, and keep the cache.

        False: it cannot, or `context_grows` is not set.
        """
        return False

    def cache_bytes(self) -> int:
        """Return the size of a copy of the cache, in bytes; 0 if it cannot be copied."""
        return 0

    def copy_cache(self) -> CacheCopy | None:
        """Return a copy of the cache, None if it cannot be copied.

        It may lack tokens at the end, which are to be fed again.
        """
        return None

    def restore_cache(self, copy: CacheCopy) -> None:
        """Put a copy in place of the cache. Raises BackendFailure; the cache is empty then."""
        raise BackendFailure(Translatable("its cache cannot be restored"))

    def part_length(self) -> int:
        """Return the most tokens in a row that `copy_part` can copy; 0 if it copies none."""
        return 0

    def copy_part(self, first: int, last: int) -> CacheCopy | None:
        """Return a copy of the cached tokens from position `first` up to `last`; None: there is none.

        It may lack tokens at the end, which are to be fed again.
        """
        return None

    def append_part(self, part: CacheCopy) -> None:
        """Put a copy of `copy_part` behind the cache. Raises BackendFailure; the cache is empty then.

        It must have been copied at this position of the same text. Its content is checked first.
        """
        raise BackendFailure(Translatable("its cache cannot be restored"))

    def see(self, picture: Picture) -> list[int]:
        """Return a picture's tokens: PictureTokens, and the tokens around them.

        Feed each piece's positions to `forward` separately, without outputs. Raises NotAvailable if the
        model has no vision, InvalidRequest.
        """
        raise NotAvailable(Translatable("Reading pictures"), "{name} cannot see.", name=self.name)

    def set_threads(self, n: int) -> None:  # noqa: B027 - not every backend can
        """Compute with `n` threads (1 or more) from the next forward on. Does nothing unless threads_adjustable.

        A long prompt may be read with more.
        """

    def keep(self) -> AbstractContextManager[object]:
        """Keep computed results readable within the context: a model that is closed meanwhile is freed at its end."""
        return nullcontext()

    def check_open(self) -> None:
        """Raise BackendClosed if the model was closed; BackendFailure if the reason is known."""
        if self.closed:
            raise BackendClosed

    @abstractmethod
    def close(self) -> None:
        """Free the model. Closing twice is harmless; later calls raise BackendClosed."""


class Embedder(ABC):
    """Hold one loaded embedding model. Attributes: name; width (numbers in a vector); context_length (in tokens)."""

    name: str
    width: int
    context_length: int

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text, with those that the model wants around it. Raises TextNotEncodable."""

    @abstractmethod
    def embed(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Return the vector of a text's tokens, shape (width,), of length 1.

        Raises ContextFull, TokenOutOfRange, BackendFailure.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the model. Closing twice is harmless."""
