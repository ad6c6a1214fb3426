"""The kernels of the installed library, tried with cases of chance by the program in tests/kernels."""

import re

import pytest

from engine.backends.llama_cpp.library import computes_alike
from helpers.weights.kernels_check import SOURCES, check, check_of_installed, needs_linux

pytestmark = needs_linux
CASES = 40
LISTED = re.search(r"TYPES\[\] = \{(.*?)\};", (SOURCES / "products.cpp").read_text("utf-8"), re.DOTALL)
assert LISTED
TYPES = [name.lower().replace("_k", "_K") for name in re.findall(r"GGML_TYPE_(\w+)", LISTED[1])]


@pytest.mark.parametrize("name", TYPES)
def test_products_experts_and_attention_keep_their_rules(name: str) -> None:
    """Right, within their memory, and a token's bits the same alone and among others, packed, with any threads."""
    said = check(check_of_installed(), "--seed", "1", "--cases", str(CASES), "--type", name)
    assert ("same bits" if computes_alike() else "held") in said


def test_a_wrong_call_is_refused() -> None:
    program = check_of_installed()
    assert "no type of weights is called q9" in check(program, "--type", "q9", "--only", "products", expected=2)
    assert "--case: not known" in check(program, "--case", "3", expected=2)
