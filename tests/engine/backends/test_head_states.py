"""States that a head keeps of its target's text: in blocks, no more of them than the text needs."""

import numpy as np

from engine.backends.heads import _KeptStates

BLOCK = _KeptStates.BLOCK


def test_states_are_kept_across_blocks_and_let_go() -> None:
    states = np.arange(3 * 2 * BLOCK, dtype=np.float32).reshape(-1, 3)
    kept = _KeptStates(3)
    for first in range(0, len(states), 700):
        kept.put(first, states[first : first + 700])
    for first, end in ((0, 5), (BLOCK - 2, BLOCK + 3), (0, len(states)), (9, 9), (BLOCK, BLOCK)):
        assert np.array_equal(kept.get(first, end), states[first:end])
    assert len(kept._blocks) == 2
    kept.put(10, states[20:25])
    assert len(kept._blocks) == 1, "a text that went back needs less"
    assert np.array_equal(kept.get(8, 15), np.concatenate([states[8:10], states[20:25]]))
