"""Read the catalogue of models that this program knows by itself: `resources/catalogue.json`."""

from __future__ import annotations

import importlib.resources
import json
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Any


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """Describe a model in a package: its file and version, and its size and checksum."""

    name: str
    title: str
    package: str
    version: str
    file: str
    size: int
    sha256: str
    licence: str

    @property
    def file_name(self) -> str:
        """Return the name of the file."""
        return PurePosixPath(self.file).name


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
