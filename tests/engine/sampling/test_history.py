"""What the penalties count, against counting anew."""

from collections import Counter
from collections.abc import Sequence
from time import thread_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.base import Logits
from engine.cancel import CancelToken
from engine.config import SamplingConfig
from engine.drafting.base import Draft
from engine.drafting.draft_model import DraftModelDrafter
from engine.generation.verifier import Verifier
from engine.sampling.distribution import penalise
from engine.sampling.history import History, counts
from helpers.decoding.fake_backend import FakeBackend

tokens = st.integers(0, 5)


def _counted(history: History) -> dict[int, float]:
    found = dict(zip(*(part.tolist() for part in history.counted), strict=True))
    assert len(found) == len(history.counted[0])
    return found


def _check(history: History, expected: list[int]) -> None:
    assert list(history) == expected
    assert len(history) == len(expected)
    window = history.window
    assert _counted(history) == Counter(expected[-window:] if window else expected)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 9),
    st.lists(tokens, max_size=12),
    st.lists(st.tuples(st.lists(tokens, max_size=6), st.lists(tokens, max_size=4), st.integers(0, 9)), max_size=8),
)
def test_counts_are_those_of_counting_anew(
    window: int, committed: list[int], rounds: list[tuple[list[int], list[int], int]]
) -> None:
    """Rounds of proposals of which some are committed, and something else behind them."""
    history = History(window)
    _check(history.after(committed), committed)
    for proposed, corrected, kept in rounds:
        for count in range(len(proposed) + 1):
            _check(history.after(committed, proposed[:count]), [*committed, *proposed[:count]])
        for count, token in enumerate(corrected, 1):
            history.append(token)
            _check(history, [*committed, *proposed, *corrected[:count]])
        committed += [*proposed[:kept], *corrected]
        _check(history.after(committed), committed)


def test_a_shorter_list_or_another_one_is_counted_anew() -> None:
    committed = [1, 2, 3, 1]
    history = History(3)
    _check(history.after(committed, [4, 4]), [1, 2, 3, 1, 4, 4])
    del committed[1:]
    _check(history.after(committed), [1])
    _check(history.after([5, 6, 7, 8]), [5, 6, 7, 8])
    _check(history.after((), [2]), [2])


def test_it_is_a_sequence() -> None:
    history = History(0).after([1, 2, 3], [4, 5])
    assert (history[0], history[3], history[-1]) == (1, 4, 5)
    assert history[1:4] == [2, 3, 4]
    assert history[::-2] == [5, 3, 1]
    with pytest.raises(IndexError):
        history[5]


def test_many_different_tokens() -> None:
    history = History(0).after([])
    for token in range(1000):
        history.append(token)
    history.append(7)
    assert _counted(history) == {token: 1.0 + (token == 7) for token in range(1000)}
    _check(history.after([3]), [3])


@pytest.mark.parametrize("window", [0, 2, 3, 10])
def test_a_plain_sequence_and_one_of_another_window_count_alike(window: int) -> None:
    for given_history in ([4, 4, 2], (4, 4, 2), History(3).after([4, 4, 2])):
        found = dict(zip(*(part.tolist() for part in counts(given_history, window)), strict=True))
        assert found == Counter([4, 4, 2][-window:])


def test_penalised_logits_are_the_same_to_the_last_bit() -> None:
    rng = np.random.default_rng(1)
    config = SamplingConfig(1.0, repeat_penalty=1.3, presence_penalty=0.2, frequency_penalty=0.7, penalty_window=0)
    committed: list[int] = rng.integers(0, 300, 500).tolist()
    history = History(0)
    for _ in range(50):
        logits = rng.normal(size=512).astype(np.float32)
        proposed: list[int] = rng.integers(0, 400, 3).tolist()
        found = penalise(logits, config, history.after(committed, proposed))
        assert found.tobytes() == penalise(logits, config, [*committed, *proposed]).tobytes()
        committed += [*proposed[:2], int(rng.integers(0, 512))]


@pytest.mark.parametrize("window", [0, 7])
def test_verifier_and_draft_see_the_true_history_in_every_round(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that they ask the penalties about, against lists of their own."""
    seen: list[list[int]] = []

    def note(logits: Logits, config: SamplingConfig, history: Sequence[int]) -> Logits:
        assert dict(zip(*counts(history, window), strict=True)) == Counter(list(history)[-window:])
        seen.append(list(history))
        return penalise(logits, config, history)

    monkeypatch.setattr("engine.sampling.distribution.penalise", note)
    config = SamplingConfig(1.0, repeat_penalty=1.2, penalty_window=window)
    target, backend = FakeBackend(seed=1, sharpness=0.5), FakeBackend(seed=2, sharpness=0.5)
    drafter = DraftModelDrafter(backend, target.vocab_size, config, 3)
    verifier = Verifier(target, config, "rejection", 3, 0)
    committed = [1, 2, 3]
    drafter.begin(committed, CancelToken())
    target.forward(committed[:-1], 0)
    for _ in range(12):
        seen.clear()
        draft = drafter.propose(4)
        expected = [[*committed, *draft.tokens[:count]] for count in range(4)]
        assert seen == expected
        seen.clear()
        verdict = verifier.verify(committed[-1], Draft(draft.tokens, draft.probs), committed, len(committed) - 3)
        assert seen == [[*committed, *verdict.tokens[:count]] for count in range(len(verdict.tokens))]
        target.truncate(len(committed) + len(verdict.tokens) - 1)
        committed += verdict.tokens
        drafter.observe(verdict.tokens)


def test_a_round_costs_the_same_behind_a_long_text() -> None:
    def cost(length: int) -> float:
        """Seconds of 200 rounds."""
        committed = [n % 50 for n in range(length)]
        history = History(0).after(committed)
        began = thread_time()
        for _ in range(200):
            history.after(committed, [1, 2, 3, 4])
            committed += [1, 2, 60]
            history.after(committed)
        return thread_time() - began

    short, long = (min(cost(length) for _ in range(5)) for length in (100, 200_000))
    assert long < 3 * short
