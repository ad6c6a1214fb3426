"""The model card: figures of an evaluation as a Markdown page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from demopair.training import train
from demopair.training.model import DemoLlama

_HEAD = """\
# Outrider's demo pair

Two small chat models that come with Outrider, so that the first launch needs no download: a *target* that writes, and a
*draft* that rides ahead of it. They are made to demonstrate speculative decoding, not to answer questions of fact.

| file | role | parameters | layers | width | size |
|---|---|---|---|---|---|
{models}

Llama architecture, head size {head_size}, context {context} tokens; weights Q8_0, norms F32. The draft has {ratio:.1%} of
the target's parameters. Both share one byte-level BPE vocabulary of {vocab} entries and one chat template:

```
<|begin|><|system|>text<|end|><|user|>text<|end|><|assistant|>text<|end|>
```

The system turn may be left out. `<|end|>` ends every turn and every reply.

## How they were made

All text comes from the project's own grammars and templates; no text, weights or outputs of other models were used. The
recipe is in `recipes/demo_models` (its README explains it), one command:

```
python recipes/demo_models/build.py --out build/demo-models
```

A *seedling* of the draft's size learns the corpus and then, with drills, to copy from the prompt. The target grows out of the
seedling: it starts with the seedling's weights inside its own. The draft is a blend of the seedling and a copy of the
seedling that was trained on the target's replies.

{training}

CPU minutes are summed over all threads, so two free cores take about half as long. The corpus and the tokenizer are
exactly reproducible; the weights only on the same kind of processor with the same torch and number of threads.

## Figures

Measured with Outrider's engine through llama.cpp, greedy, lookahead {lookahead}, on {count} held-out prompts. They are listed in
`recipes/demo_models/heldout.json` and are not part of the corpus.
Acceptance rate = accepted / proposed.

| category | prompts | ended on its own | acceptance rate | mean length |
|---|---|---|---|---|
{rows}

Starter prompts of the empty chat: {started} of {starters} replies end on their own{judged}. They read:

{replies}

{notes}## Limits

The models know only what their templates contain: small talk, what Outrider shows, short stories, some everyday facts, lists and
tables, a few dozen Python functions, repeating and rewriting a text. Other questions get a modest answer or a wrong one.
Facts, sums and code can be wrong. English only. Do not rely on them for anything; choose a larger model for real work.

## Licence

MIT, like Outrider.
"""


def _model_row(name: str, role: str, model: DemoLlama, path: Path) -> str:
    shape = model.shape
    size = path.stat().st_size / 1e6
    return f"| `{name}` | {role} | {model.parameter_count():,} | {shape.layers} | {shape.width} | {size:.1f} MB |"


def _training(folder: Path) -> str:
    lines = ["| training of | steps | tokens | seed | CPU minutes |", "|---|---|---|---|---|"]
    for role in ("seedling-first", "seedling", "target-first", "target", "draft-taught"):
        config = json.loads((folder / role / "config.json").read_text(encoding="utf-8"))
        last = json.loads((folder / role / "train.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        tokens, minutes = last["tokens"] / 1e6, last["cpu_seconds"] / 60
        lines.append(f"| {role} | {config['steps']} | {tokens:.1f} million | {config['seed']} | {minutes:.0f} |")
    return "\n".join(lines)


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def write_card(folder: Path, report: dict[str, Any], judged: str = "", notes: str = "") -> None:
    """Write MODEL_CARD.md beside the files; `judged` and `notes` are a person's additions."""
    models = {role: train.load(folder / role) for role in ("target", "draft")}
    target, draft = models["target"], models["draft"]
    files = {role: f"demo-{role}.Q8_0.gguf" for role in models}
    rows = [
        f"| {category} | {f['prompts']:.0f} | {f['ended']:.0f} | {f['acceptance_rate']:.2f} | {f['mean_length']:.2f} |"
        for category, f in report["categories"].items()
    ]
    starters = report["starters"]
    text = _HEAD.format(
        models="\n".join(_model_row(files[role], role, model, folder / files[role]) for role, model in models.items()),
        head_size=target.shape.head_size,
        context=target.shape.context,
        ratio=draft.parameter_count() / target.parameter_count(),
        vocab=target.shape.vocab_size,
        training=_training(folder),
        lookahead=report["lookahead"],
        count=len(report["heldout"]),
        rows="\n".join(rows),
        started=sum(bool(s["ended"]) for s in starters),
        starters=len(starters),
        judged=judged,
        replies="\n\n".join(f"**{s['prompt']}**\n\n{_quote(s['reply'])}" for s in starters),
        notes=notes,
    )
    (folder / "MODEL_CARD.md").write_text(text, encoding="utf-8")
