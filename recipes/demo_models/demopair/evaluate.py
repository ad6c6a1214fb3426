"""Evaluation with Outrider's own engine: greedy speculative replies to the held-out and the starter prompts."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine import SpeculativeDecoder, load

LOOKAHEAD = 4
MAX_TOKENS = 400


@dataclass
class Figures:
    """Counters of one category."""

    prompts: int = 0
    ended: int = 0
    proposed: int = 0
    accepted: int = 0
    emitted: int = 0
    rounds: int = 0

    def as_dict(self) -> dict[str, float]:
        counted = {name: float(value) for name, value in vars(self).items()}
        counted["acceptance_rate"] = round(self.accepted / self.proposed, 3) if self.proposed else 0.0
        counted["mean_length"] = round(self.emitted / self.rounds, 2) if self.rounds else 0.0
        return counted


@dataclass
class Report:
    """Everything that the model card tells."""

    categories: dict[str, Figures] = field(default_factory=lambda: defaultdict(Figures))
    heldout: list[dict[str, Any]] = field(default_factory=list)
    starters: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        figures = {name: figure.as_dict() for name, figure in self.categories.items()}
        return {"lookahead": LOOKAHEAD, "categories": figures, "heldout": self.heldout, "starters": self.starters}


def messages_of(entry: dict[str, Any]) -> list[dict[str, str]]:
    """The messages of an entry that has either "messages" or a single "prompt"."""
    if "messages" in entry:
        return [dict(message) for message in entry["messages"]]
    return [{"role": "user", "content": entry["prompt"]}]


def answer(decoder: SpeculativeDecoder, entry: dict[str, Any]) -> dict[str, Any]:
    """The greedy reply to one entry, with its counters."""
    messages = messages_of(entry)
    result = decoder.generate(messages, max_tokens=MAX_TOKENS, lookahead=LOOKAHEAD, temperature=0.0)
    counted = {name: getattr(result.stats, name) for name in ("proposed", "accepted", "emitted", "rounds")}
    ended = result.finish_reason == "stop"
    return {"prompt": messages[-1]["content"], "reply": result.text, "ended": ended, **counted}


def evaluate(folder: Path, heldout: Path, starters: Path) -> dict[str, Any]:
    """Replies and figures for all held-out prompts (by category) and starter prompts."""
    report = Report()
    with load(folder / "demo-target.Q8_0.gguf", folder / "demo-draft.Q8_0.gguf") as decoder:
        for entry in json.loads(heldout.read_text(encoding="utf-8")):
            reply = answer(decoder, entry)
            figures = report.categories[entry["category"]]
            figures.prompts += 1
            for name in ("ended", "proposed", "accepted", "emitted", "rounds"):
                setattr(figures, name, getattr(figures, name) + int(reply[name]))
            report.heldout.append({"category": entry["category"], **reply})
        report.starters = [answer(decoder, entry) for entry in json.loads(starters.read_text(encoding="utf-8"))]
    return report.as_dict()
