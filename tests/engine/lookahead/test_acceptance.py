"""What a draft's confidence means is learned from what was accepted."""

import json
import random

import pytest

from engine.lookahead.acceptance import AcceptanceModel, ClaimModel


def test_begins_with_its_prior() -> None:
    model = AcceptanceModel(prior=0.6)
    assert model.at(0) == model.at(31) == pytest.approx(0.6)
    assert model.given(3, 0.01) < 0.05
    assert model.given(3, 0.99) > 0.95


def test_learns_each_position() -> None:
    model = AcceptanceModel()
    for _ in range(100):
        model.observe(4, 1)
    assert model.at(0) > 0.88
    assert model.at(1) < 0.12
    # Positions behind the first rejection were not judged: they follow the mean of all.
    assert model.at(3) == pytest.approx(model.at(20), abs=1e-9)


def test_confidence_is_no_probability() -> None:
    """A pair whose draft is unsure of what is accepted nine times of ten, and sure of what is not."""
    rng = random.Random(1)
    model = AcceptanceModel()
    for _ in range(600):
        unsure = rng.random() < 0.5
        good = rng.random() < (0.9 if unsure else 0.3)
        model.observe(1, int(good), (0.3 if unsure else 0.95,))
    assert model.given(0, 0.3) > 0.8
    assert model.given(0, 0.95) < 0.45


def test_forgets() -> None:
    model = AcceptanceModel()
    for _ in range(200):
        model.observe(1, 1, (0.9,))
    for _ in range(120):
        model.observe(1, 0, (0.9,))
    assert model.at(0) < 0.2
    assert model.given(0, 0.9) < 0.2


def test_is_quick_to_give_up_on_a_hopeless_draft() -> None:
    model = AcceptanceModel()
    for _ in range(6):
        model.observe(4, 0, (0.5,) * 4)
    assert model.at(0) < 0.35


def test_never_certain() -> None:
    model = AcceptanceModel()
    for _ in range(1_000):
        model.observe(32, 32, (1.0,) * 32)
    assert model.given(0, 1.0) <= 0.99
    for _ in range(1_000):
        model.observe(32, 0, (1.0,) * 32)
    assert model.given(0, 1.0) > 0.0


def test_a_conversation_begins_with_what_is_known_of_the_pair() -> None:
    pair = AcceptanceModel(memory=AcceptanceModel.LONG_MEMORY)
    for _ in range(50):
        AcceptanceModel(parent=pair).observe(3, 2, (0.9, 0.9, 0.3))
    new = AcceptanceModel(parent=pair)
    for position, accepted in enumerate((0.95, 0.95, 0.1)):
        assert new.at(position) == pytest.approx(accepted, abs=0.1)
    assert new.given(1, 0.9) > new.given(1, 0.3)
    for _ in range(16):
        new.observe(1, 0, (0.9,))
    # Its own outcomes soon count for more, at the other positions too; the next one begins where it did.
    assert new.at(0) < 0.4
    assert new.at(2) < 0.2
    assert AcceptanceModel(parent=pair).at(0) > 0.7


def test_what_is_kept_counts_little() -> None:
    model = AcceptanceModel(memory=AcceptanceModel.LONG_MEMORY)
    for round_ in range(200):
        model.observe(4, round_ % 5, (0.9, 0.5, 0.3, 0.99))
    again = AcceptanceModel.from_json(json.loads(json.dumps(model.to_json())))
    for position in range(6):
        assert again.at(position) == pytest.approx(model.at(position), abs=0.15)
        assert again.given(position, 0.5) == pytest.approx(model.given(position, 0.5), abs=0.15)
    for _ in range(16):
        again.observe(1, 0)
    assert again.at(0) < 0.5


def test_a_claim_is_believed_until_it_is_wrong() -> None:
    model = ClaimModel()
    assert model.given(0, 0.9) == pytest.approx(0.9)
    assert model.given(0, 0.3) == pytest.approx(0.3)
    for _ in range(30):
        model.observe(3, 1, (0.95, 0.45, 0.99))
    assert model.given(0, 0.95) > 0.95
    assert model.given(0, 0.45) < 0.2
    # Behind the first rejection nothing was judged.
    assert model.given(0, 0.99) == pytest.approx(0.99)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"shares": 3},
        {"shares": []},
        {"shares": [["x", 1]] * 45},
        {"shares": [[33.0, 1.0]] * 45},
        {"shares": [[-1.0, 1.0]] * 45},
        {"shares": [[float("nan"), 1.0]] * 45},
        {"shares": [[1.0]] * 45},
        {"shares": [1] * 45},
        {"shares": [[None, None]] * 45},
        {"shares": [[1.0, float("inf")]] * 45},
    ],
)
def test_nonsense_is_refused(data: dict[str, object]) -> None:
    assert len(AcceptanceModel().to_json()["shares"]) == 45, "or the cases are refused for their number"
    with pytest.raises(ValueError, match="acceptance model"):
        AcceptanceModel.from_json(data)
