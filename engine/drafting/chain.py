"""Put several drafters one before the other: the first with a proposal, or the chosen one, proposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.cancel import CancelToken
from engine.drafting.base import Draft, Drafter, GoesOn


class ChainDrafter(Drafter):
    """Ask the parts in turn and return the first draft that is not empty; all of them see the committed tokens.

    `parts`: pairs of a drafter and the most tokens that it may propose in a round, None where only the caller limits
    them. `chosen`: names the part that is to propose in this round, None if the first one with a draft does. It
    must not look at what is drawn in this round. `follower`: names the only part that need follow the text in each
    round, None if all do; the others rest, and catch up when they are chosen. A draft's `source` names the part
    that proposed it; the chain's own
    name joins those of its parts.
    `forwards` is the sum of the parts'. Raises what the parts raise.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Drafter, int | None]],
        chosen: Callable[[], str | None] = lambda: None,
        follower: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._parts = tuple(parts)
        self._chosen = chosen
        self._follower = follower
        self._last: tuple[Drafter, int | None] | None = None
        self.name = "+".join(drafter.name for drafter, _ in self._parts)

    @property
    def forwards(self) -> int:
        """Model passes of all parts since `begin`."""
        return sum(drafter.forwards for drafter, _ in self._parts)

    @forwards.setter
    def forwards(self, _: int) -> None:
        raise AttributeError("Each part of a chain counts its own forwards.")

    @property
    def works_ahead(self) -> bool:
        return any(drafter.works_ahead for drafter, _ in self._parts)

    @property
    def unread(self) -> int:
        """Tokens that the follower would have to read."""
        return next((drafter.unread for drafter, _ in self._parts if drafter.name == self._follower()), 0)

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        self._last = None
        self._let_rest()
        for drafter, _ in self._parts:
            drafter.begin(prompt_tokens, cancel)

    def _let_rest(self) -> None:
        follower = self._follower()
        for drafter, _ in self._parts:
            drafter.resting = self.resting or follower not in (None, drafter.name)

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        chosen = self._chosen()
        for drafter, limit in self._parts:
            if chosen not in (None, drafter.name):
                continue
            most = _limited(n, limit)
            draft = drafter.propose(most) if goes_on is None else drafter.propose(most, goes_on)
            if draft.tokens:
                self._last = drafter, limit
                return draft if draft.source else draft._replace(source=drafter.name)
        self._last = None
        return Draft()

    def propose_ahead(self, n: int, stop: Callable[[], bool]) -> Draft:
        """Draft ahead with the part that proposed last, up to a guess and a draft of its own length."""
        if self._last is None:
            return Draft()
        drafter, limit = self._last
        return drafter.propose_ahead(_limited(n, None if limit is None else limit + 1), stop)

    def observe(self, committed_tokens: Sequence[int]) -> None:
        self._let_rest()
        for drafter, _ in self._parts:
            drafter.observe(committed_tokens)


def _limited(n: int, limit: int | None) -> int:
    return n if limit is None else min(n, limit)
