"""Parametrise a test with values of which `make test` takes some, and `make soak` the others."""

from collections.abc import Iterable
from typing import Any

import pytest

_Param = type(pytest.param())


def often(values: Iterable[Any], *chosen: object) -> list[Any]:
    """Return the values for `parametrize`, marked `soak` where neither value nor id is among those chosen."""
    params = [value if isinstance(value, _Param) else pytest.param(value) for value in values]
    marked = []
    for param in params:
        name = param.id or (param.values[0] if len(param.values) == 1 else param.values)
        marks = param.marks if name in chosen else (*param.marks, pytest.mark.soak)
        marked.append(pytest.param(*param.values, id=param.id, marks=marks))
    assert sum(pytest.mark.soak not in param.marks for param in marked) >= len(chosen), (chosen, params)
    return marked
