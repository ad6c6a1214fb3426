"""Attention in the processor library: right, and the same bits however many tokens and threads there are."""

import ctypes
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("llama_cpp")

from engine.backends.llama_cpp.library import computes_alike, processor_library
from helpers.weights.ggml import TYPE_NUMBERS
from helpers.weights.ggml import Ggml as Packing

Array = NDArray[np.float32]
F32, F16 = 0, 1
TOLERANCE = 1e-2
"""llama.cpp's own attention adds up values in float16."""
PACKED = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "BF16")
"""The types of a cache beside float16 and float32."""
EXACT = 1e-5
"""Our attention adds up in float32 what a quantised cache holds."""


class _Init(ctypes.Structure):
    """What ggml_init asks for (ggml_init_params)."""

    _fields_ = (("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


@dataclass(frozen=True)
class Case:
    """Queries (heads, tokens, width), keys and values (heads of the cache, positions, width), mask (tokens, positions).

    The mask is added to the products; -inf hides a position. `bias` lets it rise more steeply for some heads
    (ALiBi), `cap` bounds the products, `sinks` has a product for each head that stands for no position. `cache`: the
    type of keys and values.
    """

    queries: Array
    keys: Array
    values: Array
    mask: Array
    bias: float = 0.0
    cap: float = 0.0
    sinks: Array | None = None
    cache: int = F16

    @property
    def scale(self) -> float:
        return 1.0 / math.sqrt(self.queries.shape[-1])


@dataclass
class Ggml:
    """The functions of ggml that attention takes."""

    library: Any

    def call(self, name: str, *arguments: Any) -> Any:
        """Whole numbers are 64 bits wide, or pointers."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        function.argtypes = [
            _Init if isinstance(a, _Init) else ctypes.c_float if isinstance(a, float) else ctypes.c_void_p
            for a in arguments
        ]
        return function(*arguments)

    def attention(self, case: Case, threads: int) -> Array:
        """The result (tokens, heads, width) with keys and values laid out as in a model's cache."""
        heads, tokens, _ = case.queries.shape
        context = self.call("ggml_init", _Init(1 << 25))
        try:
            tensors = [
                self._tensor(context, case.queries.swapaxes(0, 1), F32, turned=True),
                self._tensor(context, case.keys.swapaxes(0, 1), case.cache, turned=True),
                self._tensor(context, case.values.swapaxes(0, 1), case.cache, turned=True),
                self._tensor(context, case.mask[None], F16, turned=False),
            ]
            result = self.call("ggml_flash_attn_ext", context, *tensors, case.scale, case.bias, case.cap)
            if case.sinks is not None:
                sinks = self._tensor(context, case.sinks[None, None], F32, turned=False)
                self.call("ggml_flash_attn_ext_add_sinks", result, sinks)
            graph = self.call("ggml_new_graph", context)
            self.call("ggml_build_forward_expand", graph, result)
            self.call("ggml_graph_compute_with_ctx", context, graph, threads)
            out = np.empty((tokens, heads, case.values.shape[-1]), dtype=np.float32)
            ctypes.memmove(out.ctypes.data, self.call("ggml_get_data", result), out.nbytes)
            return out
        finally:
            self.call("ggml_free", context)

    def _tensor(self, context: Any, numbers: Array, kind: int, *, turned: bool) -> Any:
        packed: NDArray[Any] = np.ascontiguousarray(numbers, dtype=np.float16 if kind == F16 else np.float32)
        if kind not in (F32, F16):
            packed = Packing(self.library).quantise(kind, packed)
        tensor = self.call("ggml_new_tensor_3d", context, kind, *reversed(numbers.shape))
        ctypes.memmove(self.call("ggml_get_data", tensor), packed.ctypes.data, packed.nbytes)
        return self.call("ggml_permute", context, tensor, 0, 2, 1, 3) if turned else tensor


@pytest.fixture(scope="module")
def ggml() -> Ggml:
    import engine.backends.llama_cpp.backend  # noqa: F401, PLC0415 - makes the library ready

    library = processor_library()
    if not hasattr(library, "ggml_flash_attn_ext"):
        pytest.skip("this system does not find a library's functions through another one that needs it")
    return Ggml(library)


def _case(heads: int, shared: int, tokens: int, positions: int, width: int, visible: str = "causal") -> Case:
    """Random numbers. `shared`: how many heads look at the same head of the cache. `visible`: what tokens see."""
    rng = np.random.default_rng(heads * 1000 + positions)

    def numbers(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float16).astype(np.float32)

    own = np.linspace(positions // 3, positions - 1, tokens).astype(int)[:, None]
    place = np.arange(positions)[None]
    seen = place <= own
    if visible == "window":
        seen &= place > own - 70
    if visible == "sequences":
        seen &= place // 45 % 3 == np.arange(tokens)[:, None] % 3
    mask = np.where(seen, 0.0 if visible != "slope" else (place - own) / 8.0, -np.inf).astype(np.float16)
    keys, values = numbers(heads // shared, positions, width), numbers(heads // shared, positions, width)
    return Case(2.0 * numbers(heads, tokens, width), keys, values, mask.astype(np.float32))


def _expected(case: Case) -> NDArray[np.float64]:
    """Attention as it is defined, in float64."""
    shared = len(case.queries) // len(case.keys)
    keys, values = (x.astype(np.float64).repeat(shared, axis=0) for x in (case.keys, case.values))
    scores = case.queries.astype(np.float64) @ keys.swapaxes(1, 2) * case.scale
    if case.cap:
        scores = case.cap * np.tanh(scores / case.cap)
    count = len(case.queries)
    # The slopes of ALiBi (arXiv 2108.12409) for a number of heads that is a power of two.
    slopes = 2.0 ** (-case.bias / count * np.arange(1, count + 1)) if case.bias else np.ones(count)
    scores = scores + slopes[:, None, None] * case.mask
    if case.sinks is not None:
        none = np.broadcast_to(case.sinks[:, None, None], (*scores.shape[:2], 1))
        scores = np.concatenate([scores, none], axis=2)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    result: NDArray[np.float64] = (weights[:, :, : keys.shape[1]] @ values).swapaxes(0, 1)
    return result


CASES = {
    "wide": _case(4, 2, 5, 700, 128),
    "one head each": _case(4, 1, 9, 333, 64),
    "many heads share": _case(16, 16, 7, 600, 80),
    "very wide": _case(2, 1, 3, 150, 256),
    "window": _case(8, 4, 6, 700, 64, "window"),
    "sequences": _case(8, 2, 12, 640, 96, "sequences"),
    "short": _case(4, 4, 2, 5, 64),
    "slopes": replace(_case(8, 4, 5, 300, 64, "slope"), bias=8.0),
    "capped": replace(_case(4, 2, 5, 300, 64), cap=5.0),
    "sinks": replace(_case(4, 2, 5, 300, 64), sinks=np.array([-3, 0, 2, 6], np.float32)),
    "a prompt": _case(4, 2, 70, 1100, 64),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.mark.parametrize("threads", [1, 2])
def test_attention_is_right(ggml: Ggml, case: Case, threads: int) -> None:
    assert np.abs(ggml.attention(case, threads) - _expected(case)).max() < TOLERANCE


def test_a_token_has_the_same_bits_alone_and_among_others(ggml: Ggml, case: Case) -> None:
    """With any number of threads, and however many unseen positions follow."""
    if not computes_alike():
        pytest.skip("llama.cpp's own attention, which differs in bits: another build, or no AVX2")
    together = ggml.attention(case, 1)
    for threads in (2, 3):
        assert np.array_equal(ggml.attention(case, threads), together)
    for token in {0, 1, len(together) - 1}:
        alone = replace(case, queries=case.queries[:, [token]], mask=case.mask[[token]])
        assert np.array_equal(ggml.attention(alone, 1 + token % 3)[0], together[token])
    more = np.random.default_rng(3).standard_normal((len(case.keys), 550, case.keys.shape[2])).astype(np.float32)
    hidden = np.full((len(case.mask), 550), -np.inf, np.float32)
    longer = replace(
        case,
        keys=np.concatenate([case.keys, more], axis=1),
        values=np.concatenate([case.values, more], axis=1),
        mask=np.concatenate([case.mask, hidden], axis=1),
    )
    assert np.array_equal(ggml.attention(longer, 2), together)


@pytest.mark.parametrize("name", ["wide", "sinks"])
@pytest.mark.parametrize("kind", PACKED)
def test_a_quantised_cache_is_read_as_it_is(ggml: Ggml, kind: str, name: str) -> None:
    """Right to what float32 rounds, and the same bits alone and together."""
    packing, cache, case = Packing(ggml.library), TYPE_NUMBERS[kind], CASES[name]

    def rounded(numbers: Array) -> Array:
        packed = packing.quantise(cache, np.ascontiguousarray(numbers))
        return packing.unpack(cache, packed, numbers.shape)

    case = replace(case, cache=cache)
    together = ggml.attention(case, 2)
    expected = _expected(replace(case, keys=rounded(case.keys), values=rounded(case.values)))
    # llama.cpp's own attention rounds the queries to eight bits, too.
    assert np.abs(together - expected).max() < (EXACT if computes_alike() else 0.1)
    if not computes_alike():
        return
    for token in (0, len(together) - 1):
        alone = replace(case, queries=case.queries[:, [token]], mask=case.mask[[token]])
        assert np.array_equal(ggml.attention(alone, 1 + token % 3)[0], together[token])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("broken", [slice(0, 1), slice(5, 6), slice(None)])
def test_what_is_no_number_does_not_become_one(ggml: Ggml, broken: slice, threads: int) -> None:
    """A key that is no number makes the result of each token that sees it none: whoever looks must find it."""
    if not computes_alike():
        pytest.skip("llama.cpp's own attention")
    case = _case(4, 2, 3, 700, 64)
    case.mask[:] = 0.0
    case.mask[1, broken] = -np.inf
    keys = case.keys.copy()
    keys[:, broken] = np.nan
    result = ggml.attention(replace(case, keys=keys), threads)
    assert np.isnan(result[[0, 2]]).all()
    assert not np.isnan(result[1]).any()


def test_a_token_that_sees_nothing_gets_nothing(ggml: Ggml) -> None:
    case = _case(4, 2, 3, 100, 64)
    expected = _expected(case)
    case.mask[1] = -np.inf
    result = ggml.attention(case, 1)
    assert not result[1].any()
    assert np.abs(result - expected)[[0, 2]].max() < TOLERANCE
