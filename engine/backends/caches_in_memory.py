"""Keep the caches of conversations that others displaced, so that they need not be read again."""

from __future__ import annotations

from collections.abc import Sequence

from engine.backends.base import Backend, CacheCopy, CacheKeeper
from engine.backends.caches_on_disk import DiskCaches
from engine.backends.prefix import common_prefix
from engine.errors import BackendFailure
from engine.system.machine import available_memory

MOST_BYTES = 2**30
WORTH = 64
"""Tokens that are read again rather than copied: a copy takes as long as reading a few."""
FEW = 4
"""Tokens that are read in hardly more time than one."""
_TOKENS_A_COPY = 512
"""Cached tokens that are copied in the time in which one is read."""
_VERSIONS_BYTES = 2**29
_SHARE = 4
"""A copy takes at most this part (a quarter) of the memory that is free."""


class SavedCaches(CacheKeeper):
    """Keep copies of one backend's cache, those last used, `most_bytes` of them at most.

    Attributes: most_bytes; disk (where it looks for what it has no copy of, None: nowhere); worth (the tokens from
    which on a copy is made, and brought back).
    """

    def __init__(self, most_bytes: int = MOST_BYTES, disk: DiskCaches | None = None) -> None:
        self.most_bytes, self.disk, self.worth = most_bytes, disk, WORTH
        self._kept: list[CacheCopy] = []

    @property
    def kept(self) -> tuple[CacheCopy, ...]:
        """Return the copies, the oldest first."""
        return tuple(self._kept)

    def change_to(self, backend: Backend, tokens: Sequence[int]) -> None:
        """Restore the stored cache of a text that is to be read, and store the one that it displaces.

        The cache then holds a text that begins like `tokens`, or what it held before.
        """
        self._change_copies(backend, tokens)
        if self.disk is not None:
            self.disk.bring_back(backend, tokens)

    def _change_copies(self, backend: Backend, tokens: Sequence[int]) -> None:
        shared, held = common_prefix(backend.tokens, tokens), tuple(backend.tokens)
        best = max(self._kept, key=lambda saved: common_prefix(saved.tokens, tokens), default=None)
        gain = 0 if best is None else common_prefix(best.tokens, tokens) - shared
        worth = max(self.worth, len(held) // _TOKENS_A_COPY)
        if best is not None and gain >= worth:
            self._kept.sort(key=lambda saved: saved is best)  # The last one is let go last.
        if len(held) - shared >= worth:
            self._keep(backend, held)
        if best is None or gain < worth or not backend.cache_bytes():  # It stays kept where it cannot be brought back.
            return
        kept = [saved for saved in self._kept if saved is not best]
        if len(best.tokens) - shared - gain < worth:
            self._kept = kept
        try:
            backend.restore_cache(best)
        except BackendFailure:  # It is empty then: all is read anew.
            self._kept = kept

    def _keep(self, backend: Backend, held: tuple[int, ...]) -> None:
        size = backend.cache_bytes()
        if not size or size > self.most_bytes or size > available_memory() // _SHARE:
            return
        self._kept = [saved for saved in self._kept if saved.tokens != held[: len(saved.tokens)]]
        while self._kept and sum(saved.data.nbytes for saved in self._kept) + size > self.most_bytes:
            del self._kept[0]
        copy = backend.copy_cache()
        if copy is not None:
            self._kept.append(copy)


def keep_caches(*backends: Backend | None, most_bytes: int = MOST_BYTES) -> None:
    """Store displaced caches of conversations; backends that do already stay as they are."""
    for backend in backends:
        if backend is None or not most_bytes:
            continue
        if backend.keeper is None:
            backend.keeper = SavedCaches(most_bytes)
        elif isinstance(backend.keeper, SavedCaches) and not backend.keeper.most_bytes:
            backend.keeper.most_bytes = most_bytes


def keep_versions(*backends: Backend | None, on: bool) -> None:
    """Keep even short ends of texts, while versions of replies begin at any of their tokens."""
    if on:
        keep_caches(*backends, most_bytes=_VERSIONS_BYTES)
    for backend in backends:
        if backend is not None and isinstance(backend.keeper, SavedCaches):
            backend.keeper.worth = FEW if on else WORTH


def keep_on_disk(backend: Backend, disk: DiskCaches | None) -> None:
    """Look for the caches of conversations on disk too; None: no longer."""
    if isinstance(backend.keeper, SavedCaches):
        backend.keeper.disk = disk
    elif backend.keeper is None and disk is not None:
        backend.keeper = SavedCaches(0, disk)


def disk_of(backend: Backend) -> DiskCaches | None:
    """Return the folder of a backend's kept caches, or None."""
    return backend.keeper.disk if isinstance(backend.keeper, SavedCaches) else None
