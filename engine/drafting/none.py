"""Decode plainly: nothing is ever proposed."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cancel import CancelToken
from engine.drafting.base import Draft, Drafter, GoesOn


class NoDrafter(Drafter):
    """Propose nothing, for the method autoregressive."""

    name = "none"

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        """Prepare nothing."""

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        return Draft()

    def observe(self, committed_tokens: Sequence[int]) -> None:
        """Learn nothing."""
