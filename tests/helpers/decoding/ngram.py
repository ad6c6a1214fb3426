"""N-gram drafters for tests, and a plain search to compare theirs with."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from engine.cancel import CancelToken
from engine.drafting.ngram import NgramDrafter, NgramOptions

NO_LIMIT = 10**9
WHOLE = NgramOptions(max_match=NO_LIMIT, most_places=NO_LIMIT, copied=NO_LIMIT)
"""Compares as far back as there is text, looks at every place, and resumes nothing."""
EAGER = replace(WHOLE, alone=(9.0, 0.0), agreed=(9.0, 0.0), split=(9.0, 0.0), learning_rate=0.0, allowance=NO_LIMIT)
"""Believes everything and pays anything: proposes as much as it may."""
_COSTS = {1: 1.0, 2: 1.7, 4: 2.1, 5: 3.1, 8: 3.2, 9: 4.2, 16: 5.1, 17: 5.2, 33: 9.0}
texts = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def two_core_cost(n: int) -> float:
    """What a verification costs with a 1.1 B Q8_0 model on two cores, in times of one token; measured, else a line."""
    return float(np.interp(n, list(_COSTS), list(_COSTS.values())))


def new_drafter(
    prompt: Sequence[int], options: NgramOptions | None = None, stop_tokens: frozenset[int] = frozenset()
) -> NgramDrafter:
    """A drafter that has read a prompt, with the costs of two cores."""
    drafter = NgramDrafter(options, stop_tokens=stop_tokens, cost=two_core_cost)
    drafter.begin(prompt, CancelToken())
    return drafter


def naive_places(text: Sequence[int]) -> list[tuple[int, int]]:
    """(length of the match, place) of every place where the end of the text stood before, the best first."""
    found = []
    for place in range(1, len(text)):
        length = 0
        while length < place and text[place - length - 1] == text[len(text) - length - 1]:
            length += 1
        if length:
            found.append((length, place))
    return sorted(found, reverse=True)


def continued(text: Sequence[int], place: int, count: int) -> list[int]:
    """What follows `place`, past the end of the text into itself."""
    longer = list(text)
    for index in range(count):
        longer.append(longer[place + index])
    return longer[len(text) :]
