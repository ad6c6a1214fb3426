"""Recommend models for this machine: its memory and card as they are, its speed as it was measured."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

from engine.bench.pace import known_pace, machine_pace
from engine.cancel import CancelToken
from engine.hub.hubs import Hub
from engine.hub.recommend import Machine, Recommendation, checked, recommend
from engine.system.machine import available_memory


@dataclass(frozen=True, slots=True)
class Recommended:
    """Hold a machine's recommended models; `left_out`: why others are missing, which the hub no longer has."""

    machine: Machine
    models: tuple[Recommendation, ...]
    left_out: tuple[str, ...] = ()


def recommended(
    *,
    measure: bool = False,
    hubs: Sequence[Hub] = (),
    machine: Machine | None = None,
    cancel: CancelToken | None = None,
) -> Recommended:
    """Recommend pairs for this machine, or another.

    `measure`: its speed, in two seconds, where that was not done; `hubs`: which are asked whether all of it is there.
    Raises LoadFailed, Cancelled.
    """
    cancel = cancel or CancelToken()
    if machine is None:
        pace = machine_pace(cancel=cancel) if measure else known_pace()
        machine = Machine(available_memory(), card_memory(), pace)
    found = recommend(machine)
    if not hubs:
        return Recommended(machine, found)
    there, gone = checked(found, hubs, cancel)
    return Recommended(machine, tuple(there), tuple(gone))


def card_memory() -> int:
    """Return the free memory of the graphics cards that llama.cpp can use; 0 without any."""
    try:
        library = importlib.import_module("engine.backends.llama_cpp.library")
        return int(library.free_card_memory() or 0) if library.card_names() else 0
    except Exception:  # noqa: BLE001 - a llama.cpp that cannot be loaded has no cards either
        return 0
