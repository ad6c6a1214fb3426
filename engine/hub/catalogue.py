"""Read the catalogue of models that this program knows by itself: `resources/catalogue.json`."""

from __future__ import annotations

import importlib.resources
import json
from functools import cache
from typing import Any

from engine.hub.package_index import PackagedModel


@cache
def catalogue() -> dict[str, Any]:
    """Return all of it."""
    place = importlib.resources.files("resources").joinpath("catalogue.json")
    found: dict[str, Any] = json.loads(place.read_text("utf-8"))
    return found


def packaged_models() -> tuple[PackagedModel, ...]:
    """Return the models that are published in Python packages."""
    fields = PackagedModel.__dataclass_fields__
    return tuple(
        PackagedModel(**{name: entry[name] for name in fields if name in entry}) for entry in catalogue()["packaged"]
    )


def find_packaged(name: str) -> PackagedModel | None:
    """Return the model of this name, or of the package of this name."""
    wanted = name.casefold()
    return next((model for model in packaged_models() if wanted in (model.name, model.package)), None)
