"""Works out what the program is busy with: the reply first, then the models, then their folders."""

from __future__ import annotations

from app.bridge.bridge import EngineBridge
from app.control.models import ModelDesk
from app.state.chat.activity import Activity
from app.state.chat.transcript import Exchange
from app.system.translation import number
from engine import PromptProgress


def current_activity(
    bridge: EngineBridge, models: ModelDesk, exchange: Exchange | None, reading: PromptProgress | None
) -> Activity:
    """Return what is going on. `exchange`: what is being answered; `reading`: how much of its prompt is read."""
    if exchange is not None:
        if exchange.status == "writing":
            return Activity("writing")
        if reading is not None:
            share = reading.evaluated / reading.total if reading.total else None
            return Activity("reading", number(reading.total), share)
        if bridge.proving:
            return Activity("proving")
    return _loading(bridge, models) or _in_background(bridge, models)


def _loading(bridge: EngineBridge, models: ModelDesk) -> Activity | None:
    state, progress = models.loader.state, bridge.progress
    if state.stage == "asking":
        return Activity("asking", models.name_of(state.wanted.target), 0.0)
    if state.stage != "loading":
        return None
    if progress is None:
        return Activity("loading", models.name_of(state.wanted.target))
    path = state.wanted.target if progress.part == "target" else state.wanted.draft
    return Activity(progress.stage, models.name_of(path), progress.fraction)


def _in_background(bridge: EngineBridge, models: ModelDesk) -> Activity:
    if bridge.measuring:
        return Activity("measuring")
    folder = models.scanning
    return Activity() if folder is None else Activity("scanning", folder.name or str(folder))
