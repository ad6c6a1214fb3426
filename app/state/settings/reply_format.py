"""Read the format that a person types for replies."""

from __future__ import annotations

from functools import lru_cache

from engine import Constraint


@lru_cache(maxsize=8)
def constraint_of(schema: str) -> Constraint | None:
    """Return the constraint that a format means: a JSON schema, "json" for any object, "" for none.

    Raises InvalidRequest.
    """
    typed = schema.strip()
    if typed in ("", "json"):
        return Constraint.json() if typed else None
    return Constraint("json-schema", typed)
