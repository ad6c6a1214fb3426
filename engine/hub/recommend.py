"""Recommend models for a machine: targets of the catalogue, each with its draft, that its memory carries.

Everything said is an estimate: sizes are computed from the number of parameters and the bits of a weight, memory by the
program's own forecast, speed from how fast this machine reads its memory. Nothing about the machine leaves it.
"""

from __future__ import annotations

import importlib.resources
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.cancel import CancelToken
from engine.errors import DownloadFailed
from engine.formats.model_file import ModelFile
from engine.hub.catalogue import catalogue
from engine.hub.hugging_face import HuggingFace
from engine.hub.wanted import chosen_files, read_wanted
from engine.library.memory_needs import memory_needs

_MOST = 3
_KEPT_FREE = 0.2
"""The share of the memory that stays for the system and other programs."""
_COMPUTE = 300 * 2**20
_CONTEXT = 8192
_ACCEPTED = 0.65
"""The share of a small draft's tokens that a target of its family keeps, as seen with published pairs."""
_LOOKAHEAD = 4
_SHARE_READ = 0.75
"""How much of the bandwidth of a plain copy a model's forward reaches."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Hold the bytes of a machine's memory and of its graphics card's, and bytes a second that a copy moves."""

    memory: int
    card: int = 0
    bandwidth: float = 0.0


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Describe a target and its draft, all of it estimated.

    `target` and `draft`: as `get` takes them; `size`: bytes on disk of both; `memory`: bytes when both are loaded for
    `context` tokens; `on_card`: whether that is the card's; `plain` and `drafted`: tokens a second, 0.0 where nothing
    is known; `source`: where repository and file were seen.
    """

    target: str
    draft: str
    purpose: str
    licence: str
    size: int
    memory: int
    context: int
    on_card: bool
    plain: float
    drafted: float
    source: str


def recommend(machine: Machine) -> tuple[Recommendation, ...]:
    """Return up to three targets that a machine carries, the largest of each purpose first."""
    known = catalogue()
    found = [each for entry in known["targets"] if (each := _judged(entry, known, machine)) is not None]
    found.sort(key=lambda each: (each.on_card, each.size), reverse=True)
    first = {each.purpose: each for each in reversed(found)}.values()
    rest = [each for each in found if each not in first]
    return tuple(sorted([*first, *rest][:_MOST], key=lambda each: each.size, reverse=True))


def checked(
    found: tuple[Recommendation, ...], hub: HuggingFace, cancel: CancelToken
) -> tuple[list[Recommendation], list[str]]:
    """Return those that a hub has by now, and why the others are left out. Raises Cancelled."""
    there, gone = [], []
    for each in found:
        try:
            for name in (each.target, each.draft):
                wanted = read_wanted(name)
                chosen_files(hub.repository(wanted.repository, cancel), wanted)
            there.append(each)
        except DownloadFailed as error:
            gone.append(str(error))
    return there, gone


def copy_speed() -> float:
    """Return the bytes a second that this machine reads from memory, the best of a few short looks."""
    import numpy as np  # noqa: PLC0415 - JSON of other machines needs none

    data = np.ones(2**24, np.float64)
    best = 0.0
    for _ in range(4):
        begun = perf_counter()
        float(data.sum())
        best = max(best, data.nbytes / (perf_counter() - begun))
    return best


def _judged(entry: dict[str, Any], known: dict[str, Any], machine: Machine) -> Recommendation | None:
    """Return a target and its draft as one recommendation; None where the machine does not carry them."""
    draft = known["drafts"][entry["draft"]]
    models = [_model(each, known) for each in (entry, draft)]
    held = min(_CONTEXT, *(model.context_length for model in models))
    needs = sum(memory_needs(model, context_length=held, gpu_layers=0).total for model in models)
    on_card = 0 < needs <= machine.card * (1 - _KEPT_FREE / 2)
    if not on_card and needs > machine.memory * (1 - _KEPT_FREE):
        return None
    sizes = [model.size_bytes for model in models]
    plain = 0.0 if on_card else machine.bandwidth * _SHARE_READ / sizes[0]
    return Recommendation(
        target=f"{entry['repository']}:{entry['quantisation']}",
        draft=f"{draft['repository']}:{draft['quantisation']}",
        purpose=entry["purpose"],
        licence=entry["licence"],
        size=sum(sizes),
        memory=needs,
        context=held,
        on_card=on_card,
        plain=plain,
        drafted=plain * _speedup(sizes[1] / sizes[0]),
        source=entry["source"],
    )


def _speedup(cost: float) -> float:
    """Return the speedup that a draft is expected to give, whose token costs this share of a target's forward."""
    kept = sum(_ACCEPTED**place for place in range(_LOOKAHEAD + 1))
    return max(kept / (1 + _LOOKAHEAD * cost + 0.1 * _LOOKAHEAD), 1.0)


def _model(entry: dict[str, Any], known: dict[str, Any]) -> ModelFile:
    """Return an entry as a model file whose memory can be forecast."""
    parameters = int(entry.get("parameters") or _facts()[entry["model"]]["parameters"]["value"][1])
    size = int(parameters * known["bits"][entry["quantisation"]] / 8)
    return ModelFile(
        Path(entry["repository"]),
        entry["model"],
        parameters=parameters,
        quantisation=entry["quantisation"],
        context_length=entry["context"],
        size_bytes=size,
        cache_per_token=entry["cache"],
        compute_bytes=_COMPUTE,
        layers=entry["layers"],
    )


@cache
def _facts() -> dict[str, Any]:
    place = importlib.resources.files("resources").joinpath("presets", "facts.json")
    found: dict[str, Any] = json.loads(place.read_text("utf-8"))["models"]
    return found
