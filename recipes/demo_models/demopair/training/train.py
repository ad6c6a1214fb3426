"""Training of one model: Muon for the matrices of the layers, AdamW for the rest, warm-up, plateau, decay."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from engine.training.layers import ModelShape

from .batches import Batch, batches
from .model import DemoLlama


@dataclass(frozen=True)
class TrainConfig:
    """Settings of one run; `tokens` is the size of a batch, padding included."""

    steps: int
    seed: int
    tokens: int = 4096
    muon_lr: float = 0.02
    adam_lr: float = 0.005
    warmup: int = 40
    decay_share: float = 0.45
    long_share: float = 0.015
    # Share of the conversations that only drill copying.
    drill_share: float = 0.0
    # Share of the loss that comes from the teacher's next-token distribution instead of the corpus.
    distil: float = 0.0
    checkpoint_every: int = 400


def learning_rate(step: int, config: TrainConfig) -> float:
    """Factor on the base rates: linear up, level, linear down to 2 % (with a share of 0: no fall)."""
    if step < config.warmup:
        return (step + 1) / config.warmup
    start = config.steps * (1 - config.decay_share)
    if step < start or config.decay_share == 0:
        return 1.0
    return max(0.02, (config.steps - step) / max(1.0, config.steps - start))


def make_optimizers(model: DemoLlama, config: TrainConfig) -> list[torch.optim.Optimizer]:
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and n.startswith("blocks.")]
    rest = [p for n, p in model.named_parameters() if not (p.ndim == 2 and n.startswith("blocks."))]
    muon = torch.optim.Muon(matrices, lr=config.muon_lr, weight_decay=0.01, momentum=0.95)
    adam = torch.optim.AdamW(rest, lr=config.adam_lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    return [muon, adam]


def _loss(model: DemoLlama, batch: Batch, teacher: DemoLlama | None, distil: float) -> Tensor:
    hidden = model(batch.ids).reshape(-1, model.shape.width)[batch.picked]
    logits = model.logits(hidden).float()
    loss = functional.cross_entropy(logits, batch.labels) if distil < 1.0 else logits.new_zeros(())
    if teacher is not None and distil > 0:
        with torch.no_grad():
            known = teacher(batch.ids).reshape(-1, teacher.shape.width)[batch.picked]
            wanted = teacher.logits(known).float()
            # Speculation is judged by the teacher's first choice, hence the sharpened distribution.
            wanted = torch.softmax(wanted * 2.0, dim=-1)
        soft = functional.cross_entropy(logits, wanted)
        loss = (1 - distil) * loss + distil * soft
    return loss


def train(
    shape: ModelShape,
    tokenizer: Tokenizer,
    config: TrainConfig,
    folder: Path,
    teacher: DemoLlama | None = None,
    begin_with: DemoLlama | None = None,
) -> DemoLlama:
    """Train from the seed, or go on from the weights of `begin_with`, and write `model.safetensors`, `train.jsonl` and `config.json` to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(config.seed)
    model = DemoLlama(shape)
    if begin_with is not None:
        model.load_state_dict(begin_with.state_dict())
    optimizers = make_optimizers(model, config)
    base = [[group["lr"] for group in o.param_groups] for o in optimizers]
    stream = batches(tokenizer, config.seed, config.tokens, config.long_share, config.drill_share)
    begun, seen, average = time.monotonic(), 0, math.nan
    cpu_begun = time.process_time()
    log = (folder / "train.jsonl").open("w", encoding="utf-8")
    for step in range(config.steps):
        factor = learning_rate(step, config)
        for optimizer, rates in zip(optimizers, base, strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * factor
        batch = next(stream)
        with torch.autocast("cpu", torch.bfloat16):
            loss = _loss(model, batch, teacher, config.distil)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        seen += batch.ids.numel()
        value = loss.item()
        average = value if math.isnan(average) else 0.98 * average + 0.02 * value
        if step % 20 == 19:
            seconds = time.monotonic() - begun
            cpu = time.process_time() - cpu_begun
            line = {"step": step + 1, "loss": round(average, 4), "tokens": seen}
            line |= {"seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1)}
            log.write(json.dumps(line) + "\n")
            log.flush()
        if step % config.checkpoint_every == config.checkpoint_every - 1:
            save(model, folder)
    log.close()
    save(model, folder)
    (folder / "config.json").write_text(json.dumps(asdict(config), indent=2), encoding="utf-8")
    return model


def save(model: DemoLlama, folder: Path) -> None:
    """Write the weights so that a reader never meets half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "model.part"
    tensors = {name: value.contiguous() for name, value in model.state_dict().items()}
    if model.shape.tied:
        del tensors["head.weight"]
    save_file(tensors, part, metadata={"shape": json.dumps(model.shape.as_dict())})
    part.replace(folder / "model.safetensors")


def load(folder: Path) -> DemoLlama:
    """Load a model that `save` wrote."""
    path = folder / "model.safetensors"
    with safe_open(path, framework="pt") as stored:
        model = DemoLlama(ModelShape(**json.loads(stored.metadata()["shape"])))
    model.load_state_dict(load_file(path), strict=not model.shape.tied)
    return model.eval()
