"""Measure the dependence of a row of logits on the number of tokens fed with it, once after loading.

Where it does not (batch invariance), verifying a draft gives the very numbers of plain decoding, so that greedy replies
with and without a draft are equal. It depends on the kernels of a device, which no library declares.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

import numpy as np

from engine.backends.base import Backend
from engine.backends.identity import describe_loaded
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled
from engine.system.cache_files import cache_folder, read_json, write_json
from engine.system.machine import describe_machine
from engine.translatable import Translatable

_TOKENS = 5
_MOST_REMEMBERED = 512


def note_row_difference(backend: Backend, config: LoadConfig, cancel: CancelToken | None = None) -> None:
    """Set `row_difference` of a model that was just loaded: measured now, or at an earlier load of the same.

    The cache is empty before and afterwards. Raises BackendFailure, Cancelled.
    """
    key = _key(backend, config)
    known = None if key is None else _remembered().get(key)
    if isinstance(known, int | float) and not isinstance(known, bool) and known >= 0.0:
        backend.row_difference = float(known)
        return
    backend.watch(cancel)
    try:
        backend.row_difference = measure_row_difference(backend)
    except Cancelled:
        raise Cancelled(Translatable("Loading the model")) from None
    finally:
        backend.watch(None)
    if key is not None and backend.row_difference is not None:
        _remember(key, backend.row_difference)


def measure_row_difference(backend: Backend) -> float | None:
    """Return the largest difference of a token's logits, fed as the last of five and alone behind the other four.

    0.0: not in one bit. None: the context is too short, or the logits are no numbers. Feeds six tokens (nine where the
    cache cannot go back), and leaves the cache empty. Raises BackendFailure, Cancelled.
    """
    count = min(_TOKENS, backend.context_length)
    if count < 2:
        return None
    tokens = [backend.vocab_size * (place + 1) // (2 * count + 2) for place in range(count)]
    try:
        together = backend.forward(tokens, count)[-1].copy()
        if backend.rewind.kind == "any":
            backend.truncate(count - 1)
        else:
            backend.truncate(0)
            backend.forward(tokens[:-1], 0)
        alone = backend.forward(tokens[-1:], 1)[0]
        if np.array_equal(together, alone):
            return 0.0
        with np.errstate(invalid="ignore"):
            largest = float(np.abs(together - alone).max())
        return largest if np.isfinite(largest) else None
    finally:
        if not backend.closed:
            backend.truncate(0)


def _key(backend: Backend, config: LoadConfig) -> str | None:
    """Return a key of the loaded model, the machine and its libraries; None if the model's files are gone."""
    loaded = describe_loaded(backend, config)
    machine = describe_machine()
    facts = [machine[name] for name in ("processor", "libraries", "outrider")]
    content = repr((backend.threads, facts, loaded)).encode("utf-8", "surrogatepass")
    return None if loaded is None else hashlib.blake2b(content, digest_size=16).hexdigest()


def _remembered() -> dict[str, object]:
    return read_json(cache_folder() / "row_differences.json")


def _remember(key: str, difference: float) -> None:
    """Remember it, forgetting the oldest beyond a few hundred. Does nothing if it cannot write."""
    others = [(known, value) for known, value in _remembered().items() if known != key]
    with suppress(OSError):
        write_json(cache_folder() / "row_differences.json", dict([*others, (key, difference)][-_MOST_REMEMBERED:]))
