"""The kernels of the installed library, tried with cases of chance by the program in tests/kernels."""

from helpers.weights.kernels_check import check, check_of_installed, needs_linux

pytestmark = needs_linux
CASES = 50


def test_products_and_attention_keep_their_rules() -> None:
    """Right, within their memory, and a token's bits the same alone and among others, with any number of threads."""
    said = check(check_of_installed(), "--seed", "1", "--cases", str(CASES))
    assert "held" in said


def test_a_wrong_call_is_refused() -> None:
    program = check_of_installed()
    assert "no type of weights is called q9" in check(program, "--type", "q9", "--only", "products", expected=2)
    assert "--case: not known" in check(program, "--case", "3", expected=2)
