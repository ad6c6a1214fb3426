"""What may be tried that does not seem to pay: probes of a draft, and other sizes, within shares of the time."""

from __future__ import annotations

from collections.abc import Callable

from engine.config import MAX_LOOKAHEAD


class Allowance:
    """What trials may cost, in times of one plain token: `share` of the time that passes, and `beginning` at once.

    A trial is allowed while there is as much as it may lose, or `most` (the most that is saved up) for dear ones; what
    it then lost may leave a debt. So trials never take more than the share, in the long run, whatever one costs.
    """

    def __init__(self, share: float, beginning: float, most: float) -> None:
        self._share, self._most = share, most
        self._left = beginning

    def pass_time(self, time: float) -> None:
        """So much time has passed."""
        self._left = min(self._left + self._share * time, self._most)

    def affords(self, price: float) -> bool:
        """Whether a trial that may lose `price` is allowed now."""
        return self._left >= min(price, self._most)

    def spend(self, loss: float) -> None:
        """A trial has lost so much; below 0 it has gained."""
        self._left = min(self._left - loss, self._most)


class Exploration:
    """When something else than the best is tried. It outlives a reply: what was seen need not be tried again.

    *Probes* of a draft that does not seem to pay find out whether it has become better. *Tries* of other sizes find
    out whether what they cost has changed: seldom while all costs are as expected, soon after a surprise, and soon
    where a size next to the best one was never measured. Attributes: probes (their allowance); rounds; useless (looks
    in a row that found nothing to propose).

    `calibrated`: the costs of a real machine were measured apart from any reply. What changes there changes for all
    sizes alike or nearly, so that tries have little to find out: they wait until their share of the time pays for them,
    and that is small. In a reply of 40 tokens a single one is a tenth of all rounds (simulated with the replies of the
    demo pair and the costs of a machine of two speeds: 1 to 2 % fewer tokens/s with the larger share).
    """

    PROBES = (0.01, 1.0, 1.0)
    TRIES, TRIES_CALIBRATED = (0.015, 1.0, 1.0), (0.004, 0.0, 1.0)
    """Of each: share of the time, what there is at the beginning, what may be saved up."""
    TRY_EVERY = (6, 12, 24)
    """Rounds between two tries: after a surprise, soon, and after QUIET tries in a row (or where costs are known)."""
    QUIET, FREE = 8, 3
    """After a surprise the first FREE tries are made whatever they cost, where there was no calibration."""
    THINK_EVERY = 8
    """Rounds between two thoughts of a try, where costs are calibrated: it takes time to think."""
    OVERDUE = (24, 96)
    """Rounds after which a larger size is tried whatever it costs, without and with a calibration: a step of the costs
    that has gone is seen in no other way."""
    SURPRISE, SURELY = 0.15, 0.3
    """Shares beyond which a cost is a surprise: twice in a row, and at once where it is lower."""

    def __init__(self, *, calibrated: bool = False) -> None:
        self._calibrated = calibrated
        self._overdue = self.OVERDUE[calibrated]
        self.probes = Allowance(*self.PROBES)
        self.rounds = self.useless = 0
        self._tries = Allowance(*(self.TRIES_CALIBRATED if calibrated else self.TRIES))
        self._seen_at: dict[int, int] = {}
        """By size of a forward, the round in which it was seen last."""
        self._promising: list[int] = []
        self._pause, self._since = self.TRY_EVERY[2], 0
        self._quiet, self._surprised, self._last = self.QUIET, False, 0

    def pass_time(self, time: float) -> None:
        """A round is over, which took so many times of a plain token."""
        self.rounds += 1
        self._since += 1
        self.probes.pass_time(time)
        self._tries.pass_time(time)

    def pay_try(self, loss: float) -> None:
        """A try lost so many times of a plain token."""
        self._tries.spend(loss)

    def notice(self, size: int, measured_ms: float, expected_ms: float, *, tried: bool) -> bool:
        """Whether what a forward of `size` cost is a surprise: other sizes are then tried soon.

        One that was `tried` and is cheaper again at once, and the next one. A round of the usual size lies between
        two tries: it tells whether all sizes have changed, or this one.
        """
        self._seen_at[size] = self.rounds
        ratio = measured_ms / expected_ms
        way = 1 if ratio > 1.0 + self.SURPRISE else -1 if ratio < 1.0 - self.SURPRISE else 0
        again, self._last = way != 0 and way == self._last, way
        if not again and ratio >= 1.0 - self.SURELY:
            return False
        if way > 0 and not self._surprised and not self._calibrated:
            self._promising = [1, 0]  # Have all sizes become dear, or this one? The small ones tell.
        elif way < 0 and tried:
            self._promising = [size - 1, min(size, MAX_LOOKAHEAD)]
        self._pause, self._quiet, self._surprised = self.TRY_EVERY[0], 0, True
        return True

    def other_size(self, best: int, price: Callable[[int], float], known: Callable[[int], bool]) -> int | None:
        """A K to be tried now in place of the best one; mostly None.

        `price(k)`: what a try of K is expected to lose; `known(n)`: whether the cost of a forward of n was measured.
        """
        if self._promising:
            return self._promising.pop(0)
        if 2 * self._since < self.TRY_EVERY[0] or (self._calibrated and self.rounds % self.THINK_EVERY):
            return None
        sizes = range(max(best, 2), min(best + 2, MAX_LOOKAHEAD) + 1)
        pause = self._pause if all(map(known, sizes)) else self.TRY_EVERY[0]
        if 2 * self._since < pause:
            return None
        early = self._quiet < self.FREE and not self._calibrated
        # A larger size may have become cheap unseen; smaller ones are seen where drafts end early.
        larger = self._since >= pause and best < MAX_LOOKAHEAD and self._is_stale(best + 1, pause)
        due = (
            (0, early, self._is_stale(0, self.TRY_EVERY[1] if self._surprised else 4 * self.TRY_EVERY[1])),
            (best + 1, early or self._since >= self._overdue, larger),
            (best - 1, False, not larger and best > 1 and self._is_stale(best - 1, 2 * pause)),
        )
        return next((k for k, free, wanted in due if wanted and (free or self._tries.affords(price(k)))), None)

    def start_try(self, lookahead: int, best: int) -> None:
        """A K is being tried in place of the best one."""
        if lookahead > best:
            self._since = 0
            self._quiet += 1
            self._pause = self.TRY_EVERY[2] if self._quiet > self.QUIET else self.TRY_EVERY[1]
        self._surprised = self._surprised and lookahead != 0

    def _is_stale(self, lookahead: int, rounds: int) -> bool:
        return self.rounds - self._seen_at.get(lookahead + 1, 0) >= rounds
