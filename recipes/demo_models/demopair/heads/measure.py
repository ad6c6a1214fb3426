"""Measure heads with Outrider's own engine on the held-out prompts: acceptance by depth, and mean length."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demopair.evaluate import messages_of
from engine import SpeculativeDecoder
from engine.stats import GenerationStats

DEPTH = 4
TREE = "3x4"
_MOST_TOKENS = 200


@dataclass(frozen=True)
class Way:
    """One way to draft; `draft` and `heads`: the files of either, or None. `tree`: its width and depth; None: a chain."""

    backend: str
    target: Path
    draft: Path | None = None
    heads: Path | None = None
    tree: str | None = None
    temperature: float = 0.0


def measure(folder: Path, target: Path, draft: Path, heldout: Path) -> list[dict[str, Any]]:
    """Figures of each way to draft, greedy and at 0.8: on llama.cpp, and in folders on transformers."""
    entries = json.loads(heldout.read_text(encoding="utf-8"))
    folders, head, own = folder / "transformers", folder / "demo-head.Q8_0.gguf", folder / "demo-mtp.Q8_0.gguf"
    rows = []
    for temperature in (0.0, 0.8):
        rows.append(_figures(entries, Way("llama.cpp", target, draft=draft, temperature=temperature)))
        rows.append(_figures(entries, Way("llama.cpp", target, heads=head, temperature=temperature)))
        rows.append(_figures(entries, Way("llama.cpp", target, heads=head, tree=TREE, temperature=temperature)))
        for tree in (None, TREE):
            way = Way("llama.cpp", target, heads=folders / "demo-medusa", tree=tree, temperature=temperature)
            rows.append(_figures(entries, way))
        # Its state is recurrent, which has chains only.
        rows.append(_figures(entries, Way("llama.cpp", own, heads=own, temperature=temperature)))
    ways = itertools.product((0.0, 0.8), ("demo-eagle3", "demo-medusa"), (None, TREE))
    for temperature, name, tree in ways:
        way = Way("transformers", folders / "demo-target", heads=folders / name, tree=tree, temperature=temperature)
        # Each third prompt: transformers is slower.
        rows.append(_figures(entries[::3], way))
    return rows


def _figures(entries: list[dict[str, Any]], way: Way) -> dict[str, Any]:
    """One row: all entries answered in one way."""
    options: dict[str, Any] = {"max_tokens": _MOST_TOKENS, "temperature": way.temperature, "seed": 7}
    options |= {"lookahead": DEPTH} if way.tree is None else {"tree": way.tree}
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(way.target)
        if way.draft is not None:
            decoder.attach_draft(way.draft)
        if way.heads is not None:
            decoder.attach_heads(way.heads)
        total, method = GenerationStats(), ""
        for entry in entries:
            result = decoder.generate(messages_of(entry), **options)
            total, method = total + result.stats, result.method
    return {
        "backend": way.backend,
        "method": method,
        "shape": "chain" if way.tree is None else f"tree {way.tree}",
        "temperature": way.temperature,
        "prompts": len(entries),
        "rounds": total.rounds,
        "mean_length": round(total.mean_length, 2),
        "by_depth": by_depth(total),
    }


def by_depth(stats: GenerationStats) -> list[float]:
    """Return the share of rounds that accepted a token at each depth."""
    return [round(count / max(stats.rounds, 1), 3) for count in stats.accepted_by_position[:DEPTH]]


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a table of the card."""
    head = (
        "| backend | draft | temperature | " + " | ".join(f"depth {at + 1}" for at in range(DEPTH)) + " | mean length |"
    )
    lines = [head, "|---" * (DEPTH + 4) + "|"]
    for row in rows:
        shares = [f"{share:.2f}" for share in row["by_depth"]] + [""] * (DEPTH - len(row["by_depth"]))
        cells = [row["backend"], f"{row['method']}, {row['shape']}", f"{row['temperature']}", *shares]
        lines.append("| " + " | ".join([*cells, f"{row['mean_length']:.2f}"]) + " |")
    return "\n".join(lines)
