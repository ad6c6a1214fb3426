"""Reading a prompt: only what follows the longest common prefix, in pieces that can be cancelled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.base import Rewind
from engine.backends.prefix import CHUNK, common_prefix, keep_prefix, read
from engine.cancel import CancelToken
from engine.errors import Cancelled
from helpers.decoding.fake_backend import FakeBackend
from helpers.properties import quick

tokens = st.lists(st.integers(0, 3), max_size=8)


@quick
@given(tokens, tokens)
def test_common_prefix(first: list[int], second: list[int]) -> None:
    shared = common_prefix(first, second)
    assert first[:shared] == second[:shared]
    assert shared in (len(first), len(second)) or first[shared] != second[shared]


def test_keeps_what_is_shared() -> None:
    backend = FakeBackend()
    backend.forward([1, 2, 3, 4], 0)
    assert keep_prefix(backend, [1, 2, 5]) == 2
    assert list(backend.tokens) == [1, 2]


@pytest.mark.parametrize("rewind", [Rewind("none"), Rewind("snapshots", 1), Rewind("window", 1)])
def test_starts_over_where_the_cache_cannot_go_back(rewind: Rewind) -> None:
    backend = FakeBackend(rewind=rewind)
    backend.forward([1, 2, 3, 4], 0)
    assert keep_prefix(backend, [1, 2, 5]) == 0
    assert backend.length == 0


def test_a_longer_prompt_needs_no_rewind() -> None:
    backend = FakeBackend(rewind=Rewind("none"))
    backend.forward([1, 2], 0)
    assert keep_prefix(backend, [1, 2, 3]) == 2


def test_reads_in_pieces() -> None:
    backend = FakeBackend()
    assert list(read(backend, [1] * (2 * CHUNK + 3), CancelToken())) == [CHUNK, CHUNK, 3]
    assert backend.forwards == [CHUNK, CHUNK, 3]
    assert list(read(backend, [], CancelToken())) == []


def test_cancel_between_pieces() -> None:
    backend, cancel = FakeBackend(), CancelToken()
    pieces = read(backend, [1] * (3 * CHUNK), cancel)
    next(pieces)
    cancel.cancel()
    with pytest.raises(Cancelled):
        next(pieces)
    assert backend.length == CHUNK
