"""Products of mixtures of experts: right, and a token's bits the same in any batch and whoever shares its experts."""

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("llama_cpp")

from engine.backends.llama_cpp.library import computes_alike
from helpers.weights.ggml import TYPE_NUMBERS, Array, Ggml, Packed

FORMATS = ("F32", "F16", "Q8_0", "Q4_0", "Q5_1", "MXFP4", "Q4_K", "Q6_K", "TQ2_0")
EXPERTS, USED, ROWS, WIDTH, TOKENS = 9, 3, 40, 512, 45

Experts = tuple[int, Packed, Array]
"""A format's number, the weights of all experts, and the numbers that they stand for."""


@pytest.fixture(scope="module")
def ggml() -> Ggml:
    found = Ggml.of_processor()
    if found is None:
        pytest.skip("this system does not find a library's functions through another one that needs it")
    return found


@pytest.fixture(scope="module", params=FORMATS)
def experts(request: pytest.FixtureRequest, ggml: Ggml) -> Experts:
    kind = TYPE_NUMBERS[request.param]
    values = np.random.default_rng(2).standard_normal((EXPERTS, ROWS, WIDTH)).astype(np.float32)
    packed = ggml.quantise(kind, values)
    return kind, packed, ggml.unpack(kind, packed, values.shape)


@pytest.fixture(scope="module")
def chosen() -> NDArray[np.int32]:
    """Expert 4 is used by every token, more often than columns fit into registers, and the last one by none."""
    rng = np.random.default_rng(3)
    others = np.array([rng.permutation([0, 1, 2, 3, 5, 6, 7])[:USED] for _ in range(TOKENS)])
    others[np.arange(TOKENS), np.arange(TOKENS) % USED] = 4
    return others.astype(np.int32)


@pytest.fixture(scope="module", params=(1, USED), ids=("one column a token", "a column for each expert"))
def columns(request: pytest.FixtureRequest) -> Array:
    return np.random.default_rng(1).standard_normal((TOKENS, request.param, WIDTH)).astype(np.float32)


def test_products_of_experts_are_right(ggml: Ggml, experts: Experts, chosen: NDArray[np.int32], columns: Array) -> None:
    kind, packed, values = experts
    got = ggml.expert_product(kind, packed, columns, chosen, ROWS, threads=2)
    each = np.broadcast_to(columns, (TOKENS, USED, WIDTH)).astype(np.float64)
    expected = np.einsum("tuk,turk->tur", each, values[chosen].astype(np.float64))
    rounding = np.abs(each).max(axis=-1)[..., None] / 440 * np.linalg.norm(values[chosen], axis=-1)
    assert (np.abs(got - expected) / rounding).max() < 6.0


def test_a_token_has_the_same_bits_whoever_shares_its_experts(
    ggml: Ggml, experts: Experts, chosen: NDArray[np.int32], columns: Array
) -> None:
    if not computes_alike():
        pytest.skip("llama.cpp's own products, which differ in bits: another build, or another processor")
    kind, packed, _ = experts
    alone = [ggml.expert_product(kind, packed, columns[i : i + 1], chosen[i : i + 1], ROWS, 1) for i in range(TOKENS)]
    bits = np.concatenate(alone).view(np.int32)
    for count in (2, 3, 5, 8, 17, 33, TOKENS):
        for first in {0, TOKENS - count}:
            part = slice(first, first + count)
            together = ggml.expert_product(kind, packed, columns[part], chosen[part], ROWS, threads=1 + count % 4)
            assert np.array_equal(together.view(np.int32), bits[part]), count


def test_an_expert_gives_what_a_plain_product_with_its_weights_gives(
    ggml: Ggml, experts: Experts, columns: Array
) -> None:
    if not computes_alike():
        pytest.skip("llama.cpp's own products, which differ in bits: another build, or another processor")
    kind, packed, _ = experts
    one = columns[:5, 0]
    through = ggml.expert_product(kind, packed, one[:, None], np.full((5, 1), 6, dtype=np.int32), ROWS, threads=2)
    weights = packed.reshape(EXPERTS, -1)[6]
    assert np.array_equal(through[:, 0], ggml.product(kind, weights, one, ROWS, threads=1))
