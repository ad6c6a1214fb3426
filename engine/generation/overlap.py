"""Draft asynchronously: the drafter goes on proposing on a thread of its own while the target verifies."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from time import perf_counter

from engine.backends.base import Backend
from engine.config import MAX_LOOKAHEAD, Overlap
from engine.drafting.base import Draft, Drafter
from engine.system.machine import physical_cores

_WORTH_A_THREAD = 32 * 2**20
"""Bytes of weights below which a forward is over before a thread has been woken."""


class AheadDrafting:
    """Run one drafter's work ahead: started with a verification, stopped when the draft it builds on is rejected.

    From `start` until `settle` the drafter belongs to the thread.
    """

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self._thread = ThreadPoolExecutor(1, "outrider-draft")
        self._work: list[Future[Draft]] = []
        self._stopped = False

    def start(self, n: int) -> None:
        """Draft up to `n` tokens ahead of the last draft."""
        self._stopped = False
        steps = (1, n) if n > 1 else (n,)
        self._work = [self._thread.submit(self._drafter.propose_ahead, step, lambda: self._stopped) for step in steps]

    def guess(self) -> Draft:
        """Return the first token of the work, once it is there. Raises the drafter's errors."""
        return self._work[0].result()

    def room(self, draft: Draft, lookahead: int, left: int | None) -> int:
        """Count the tokens that may be drafted ahead: a guess and the next draft, if the reply can go on behind it.

        `left`: tokens that the reply may still have, None if there is no limit.
        """
        if not draft.tokens:
            return 0
        most = MAX_LOOKAHEAD if left is None else left
        return max(0, min(lookahead + 1, most - len(draft.tokens) - 1))

    def settle(self, *, holds: bool) -> float:
        """Wait for all of the work, or stop it after the token that is being computed where it does not hold any more.

        Return the milliseconds that this took. Raises what the drafter raised.
        """
        began = perf_counter()
        self._stopped = not holds
        work, self._work = self._work, []
        wait(work)
        for step in work:
            step.result()
        return 1000.0 * (perf_counter() - began)

    def close(self) -> None:
        """End the thread."""
        self._stopped = True
        self._thread.shutdown()


def overlap_pays(overlap: Overlap, target: Backend, draft: Backend | None) -> bool:
    """Return True where drafting should overlap.

    'auto': where the two compute in different places, or on cores enough for both at once.

    Sharing cores, the draft would only slow the target down; and a forward of microseconds is not worth a thread.
    """
    if draft is None or overlap != "auto":
        return draft is not None and overlap == "on"
    if target.device != draft.device:
        return True
    enough = target.device == "cpu" and target.threads + draft.threads <= physical_cores()
    return enough and target.weight_bytes >= _WORTH_A_THREAD
