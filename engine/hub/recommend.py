"""Recommend models for a machine: targets of the catalogue, each with its draft, that its memory carries.

Everything said is an estimate: sizes are computed from the number of parameters and the bits of a weight, memory by the
program's own forecast, speed from what this machine was measured to do. Nothing about the machine leaves it.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.cancel import CancelToken
from engine.errors import DownloadFailed
from engine.formats.gguf.work import ForwardWork
from engine.formats.model_file import ModelFile
from engine.hub.catalogue import catalogue
from engine.hub.hubs import Hub, first_that_answers
from engine.hub.wanted import chosen_files, read_wanted
from engine.library.memory_needs import memory_needs
from engine.library.speed_forecast import MachinePace, forecast

_MOST = 3
_KEPT_FREE = 0.2
"""The share of the memory that stays for the system and other programs."""
_COMPUTE = 300 * 2**20
_CONTEXT = 8192
_FINER = 1 / 6
"""The share of the layers that Q4_K_M keeps in Q6_K: half of the value and down projections."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Hold the bytes of a machine's memory and of its graphics card's, and its measured pace, if known."""

    memory: int
    card: int = 0
    pace: MachinePace | None = None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Describe a target and its draft, all of it estimated.

    `target` and `draft`: as `get` takes them; `files`: theirs, "" where the name was seen nowhere; `size`: bytes on
    disk of both; `memory`: bytes when both are loaded for `context` tokens; `on_card`: whether that is the card's;
    `plain` and `drafted`: tokens a second, 0.0 if nothing is known; `source`: where repository and file were
    seen.
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
    files: tuple[str, str] = ("", "")


def recommend(machine: Machine) -> tuple[Recommendation, ...]:
    """Return up to three targets that a machine carries, the largest of each purpose first."""
    known = catalogue()
    found = [each for entry in known["targets"] if (each := _judged(entry, known, machine)) is not None]
    found.sort(key=lambda each: (each.on_card, each.size), reverse=True)
    first = {each.purpose: each for each in reversed(found)}.values()
    rest = [each for each in found if each not in first]
    return tuple(sorted([*first, *rest][:_MOST], key=lambda each: each.size, reverse=True))


def checked(
    found: tuple[Recommendation, ...], asked: Sequence[Hub], cancel: CancelToken
) -> tuple[list[Recommendation], list[str]]:
    """Return those that the hubs still have, and the reasons why the others are left out. Raises Cancelled."""
    there, gone = [], []
    for each in found:
        try:
            for name in (each.target, each.draft):
                _check(name, asked, cancel)
            there.append(each)
        except DownloadFailed as error:
            gone.append(str(error))
    return there, gone


def _check(name: str, asked: Sequence[Hub], cancel: CancelToken) -> None:
    """Raise DownloadFailed if no hub has a model any more."""
    wanted = read_wanted(name)
    first_that_answers(asked, lambda hub: chosen_files(hub.repository(wanted.repository, cancel), wanted))


def _judged(entry: dict[str, Any], known: dict[str, Any], machine: Machine) -> Recommendation | None:
    """Return a target and its draft as one recommendation; None if the machine does not carry them."""
    draft = known["drafts"][entry["draft"]]
    models = [_model(each, known) for each in (entry, draft)]
    held = min(_CONTEXT, *(model.context_length for model in models))
    needs = sum(memory_needs(model, context_length=held, gpu_layers=0).total for model in models)
    on_card = 0 < needs <= machine.card * (1 - _KEPT_FREE / 2)
    if not on_card and needs > machine.memory * (1 - _KEPT_FREE):
        return None
    sizes = [model.size_bytes for model in models]
    known_pace = None if on_card else machine.pace
    speed = None if known_pace is None else forecast(known_pace, *(_work(each, known) for each in (entry, draft)))
    return Recommendation(
        target=f"{entry['repository']}:{entry['quantisation']}",
        draft=f"{draft['repository']}:{draft['quantisation']}",
        purpose=entry["purpose"],
        licence=entry["licence"],
        size=sum(sizes),
        memory=needs,
        context=held,
        on_card=on_card,
        plain=0.0 if speed is None else speed.plain,
        drafted=0.0 if speed is None else speed.drafted,
        source=entry["source"],
        files=(entry.get("file", ""), draft.get("file", "")),
    )


def _work(entry: dict[str, Any], known: dict[str, Any]) -> ForwardWork:
    """Return the bytes that a forward of an entry reads. The output layer of Q4_K_M is Q6_K; of Q4_0 too."""
    facts = _facts().get(entry["model"], {})
    rows = int(entry.get("rows") or facts["rows"]["value"]) * int(entry.get("width") or facts["width"]["value"])
    name = entry["quantisation"]
    layers = _parameters(entry) - (1 if entry.get("tied") else 2) * rows
    base, finer = {"Q4_K_M": ("Q4_K", _FINER), "Q4_0": ("Q4_0", 0.0)}.get(name, (name, 0.0))
    last = "Q6_K" if name in ("Q4_K_M", "Q4_0") else name
    bits = known["bits_of_format"]
    matrices = {base: layers * (1 - finer) * bits[base] / 8}
    for each, count in (("Q6_K", layers * finer), (last, rows)):
        matrices[each] = matrices.get(each, 0) + count * bits[each] / 8
    return ForwardWork({each: int(size) for each, size in matrices.items()}, entry["layers"], entry["cache"])


def _parameters(entry: dict[str, Any]) -> int:
    return int(entry.get("parameters") or _facts()[entry["model"]]["parameters"]["value"][1])


def _model(entry: dict[str, Any], known: dict[str, Any]) -> ModelFile:
    """Return an entry as a model file whose memory can be forecast."""
    parameters = _parameters(entry)
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
