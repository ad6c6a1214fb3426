"""Describe tools and their hosts for the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine import Permission

HostStage = Literal["off", "starting", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class ToolShown:
    """Hold a tool in a list. `permission`: the answer for longer than once, None: it is asked.

    `may_be_always`: *always* can be answered; `writes`: it may change something or start a program.
    """

    key: str
    title: str
    description: str
    on: bool = True
    writes: bool = False
    permission: Permission | None = None
    may_be_always: bool = True


@dataclass(frozen=True, slots=True)
class HostShown:
    """Describe a tool host. `where`: its address or command line, "" for ours; `problem`: why it has no tools now."""

    name: str
    stage: HostStage = "off"
    where: str = ""
    problem: str = ""
    tools: tuple[ToolShown, ...] = ()
    notes: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
