"""Read the bodies of requests as JSON, and the single values in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.errors import InvalidRequest

_DEEPEST = 100


def read_json(data: bytes) -> Mapping[str, Any]:
    """Return the object of a body, checked to be valid JSON throughout. Raises InvalidRequest."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON.") from None
    if not isinstance(body, dict):
        raise InvalidRequest("The body must be a JSON object.")
    if is_deep(body):
        raise InvalidRequest(f"The body is nested too deeply: the limit is {_DEEPEST} levels.")
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("The body has half a character in it (a lone surrogate). Leave it out.") from None
    except ValueError:
        raise InvalidRequest("The body has a number that JSON does not have (NaN or infinity).") from None
    return body


def is_deep(body: object) -> bool:
    """Return True if lists and objects are nested more deeply than whatever reads them can follow."""
    level: list[Any] = [body]
    for _ in range(_DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def read_flag(body: Mapping[str, Any], name: str) -> bool:
    """Return a member that is true or false; false if it is missing. Raises InvalidRequest."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):  # 1 == True, but it is no flag.
        raise InvalidRequest(f'"{name}" must be true or false.')
    return value is True
