"""Counts the calls between different modules of ours that one thread makes, with `sys.setprofile`.

`PYTHONPATH=. python tests/helpers/window/call_counter.py` runs the test of one message, and prints its calls.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType, TracebackType
from typing import Any, Self

OURS = ("app", "engine", "resources")


def module_of(frame: FrameType) -> str:
    """Return the module that a frame runs code of."""
    name: str = frame.f_globals.get("__name__", "")
    return name


def is_ours(module: str) -> bool:
    """Return True if a module belongs to the program."""
    return module.partition(".")[0] in OURS


class CallCounter:
    """Counts on the thread that enters it, until `stop` or the end of the `with` block.

    A call counts when the caller's and the callee's modules are both ours and differ. The caller is the next frame of
    ours up the stack: what goes through `dataclasses.replace`, a context manager or a signal counts too.
    Attributes: pairs (how often, by the functions' names), total, ours (calls of any function of ours).
    """

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.ours = 0
        self._stopped = False

    @property
    def total(self) -> int:
        """Return the number of calls that were counted."""
        return self.pairs.total()

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setprofile(None)

    def stop(self) -> None:
        """Count no more; it may be called from another thread."""
        self._stopped = True

    def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call" or self._stopped:
            return
        callee = module_of(frame)
        if not is_ours(callee):
            return
        self.ours += 1
        caller = frame.f_back
        while caller is not None and not is_ours(module_of(caller)):
            caller = caller.f_back
        if caller is not None and module_of(caller) != callee:
            names = (f"{module_of(each)}:{each.f_code.co_qualname}" for each in (caller, frame))
            self.pairs[next(names), next(names)] += 1

    def table(self, most: int = 25) -> str:
        """Return the commonest calls, one a line, below the sum."""
        lines = [f"{self.total:,} calls between different modules; {self.ours:,} of functions of ours in all"]
        lines += [f"{count:6,}  {caller} -> {callee}" for (caller, callee), count in self.pairs.most_common(most)]
        return "\n".join(lines)


if __name__ == "__main__":
    import pytest

    sys.exit(pytest.main(["-q", "-s", "tests/app/shell/test_way_of_a_message.py"]))
