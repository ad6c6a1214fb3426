"""Drafting without a model or an index: the last token may come again."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cancel import CancelToken
from engine.drafting.base import Draft, Drafter, DrafterContext, GoesOn


class RepeatLastDrafter(Drafter):
    """Propose the last token again. The tokens are chosen without a draw, so they carry no probabilities."""

    name = "repeat-last"

    def __init__(self) -> None:
        self._last: tuple[int, ...] = ()

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self._last = tuple(prompt_tokens[-1:])

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        return Draft(self._last * n)

    def observe(self, committed_tokens: Sequence[int]) -> None:
        self._last = tuple(committed_tokens[-1:]) or self._last


def make_drafter(_context: DrafterContext) -> Drafter:
    """Make the drafter of one reply."""
    return RepeatLastDrafter()
