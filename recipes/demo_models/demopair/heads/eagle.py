"""Train an EAGLE-3 head as it will be used: behind the target's states first, then behind its own.

Source: Li et al., "EAGLE-3" (2025, arXiv:2503.01840), section 3.2 (training-time test).
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from demopair.training.model import DemoLlama
from demopair.training.train import TrainConfig, learning_rate
from engine.training import eagle
from engine.training.eagle import EagleHead
from engine.training.layers import ModelShape

from .own_text import OwnBatch

NARROW_SHAPE = ModelShape(vocab_size=4096, width=128, layers=1, heads=2, kv_heads=1, ff_width=352, context=2048)
"""Width of the draft: learns most of it, quickly."""
HEAD_SHAPE = ModelShape(vocab_size=4096, width=384, layers=1, heads=6, kv_heads=3, ff_width=1536, context=2048)
"""As wide as its target, as published heads are; a grown head costs the same whatever its feed-forward holds."""


@dataclass(frozen=True)
class HeadConfig:
    """Settings of one run."""

    steps: int
    seed: int
    muon_lr: float = 0.02
    adam_lr: float = 0.004


def likeliest_tokens(batches: list[OwnBatch], count: int) -> Tensor:
    """The ids of so many tokens that the target writes most often, in the order of the ids."""
    written = torch.cat([each.ids[:, 1:][each.learn[:, :-1]] for each in batches])
    often = torch.bincount(written, minlength=HEAD_SHAPE.vocab_size)
    return often.argsort(descending=True, stable=True)[:count].sort().values


@torch.no_grad()
def begin_with(head: EagleHead, draft: DemoLlama) -> None:
    """Take the embedding and the output of the demo draft, which has the same width."""
    head.get_parameter("embed.weight").copy_(draft.embed.weight)
    head.head.weight.copy_(draft.head.weight[head.get_buffer("table")])
    head.norm.weight.copy_(draft.norm.weight)


def loss_of(head: EagleHead, target: DemoLlama, batch: OwnBatch) -> tuple[Tensor, list[float]]:
    """Loss to the target's distribution, and the share of best tokens that is guessed, by step."""
    with torch.no_grad():
        logits = target.logits(batch.last[batch.learn].float()).float()
        best, wished = logits.argmax(dim=-1), torch.softmax(logits, dim=-1)[:, head.get_buffer("table")]
    loss, counts = eagle.loss_of(head, eagle.Lesson(batch.ids, batch.learn, batch.states, best, wished))
    return loss, [right / max(asked, 1) for right, asked in counts]


def train_eagle(
    head: EagleHead, target: DemoLlama, batches: list[OwnBatch], config: HeadConfig
) -> list[dict[str, Any]]:
    """Train; return the log of every 50 steps."""
    skipped = ("embed", "head")
    matrices = [p for n, p in head.named_parameters() if p.ndim == 2 and not n.startswith(skipped)]
    rest = [p for n, p in head.named_parameters() if p.ndim != 2 or n.startswith(skipped)]
    return fit(
        [
            torch.optim.Muon(matrices, lr=config.muon_lr, weight_decay=0.01, momentum=0.95),
            torch.optim.AdamW(rest, lr=config.adam_lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ],
        lambda batch: loss_of(head, target, batch),
        batches,
        config,
    )


def fit(
    optimizers: list[torch.optim.Optimizer], loss_on: Any, batches: list[OwnBatch], config: HeadConfig
) -> list[dict[str, Any]]:
    """Train on the batches in random order for all steps, with a falling learning rate."""
    rng, order = random.Random(config.seed), list[int]()
    schedule = TrainConfig(config.steps, config.seed, decay_share=0.7, warmup=20)
    base = [[group["lr"] for group in each.param_groups] for each in optimizers]
    log: list[dict[str, Any]] = []
    begun = time.process_time()
    for step in range(config.steps):
        for optimizer, rates in zip(optimizers, base, strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * learning_rate(step, schedule)
        if not order:
            order = rng.sample(range(len(batches)), len(batches))
        with torch.autocast("cpu", torch.bfloat16, enabled=torch.backends.cpu.get_cpu_capability() != "AVX2"):
            loss, shares = loss_on(batches[order.pop()])
        loss.backward()
        for optimizer in optimizers:
            torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if step % 50 == 49 or step == config.steps - 1:
            log.append(
                {"step": step + 1, "loss": round(loss.item(), 3), "guessed": [round(each, 3) for each in shares]}
                | {"cpu_seconds": round(time.process_time() - begun, 1)}
            )
            print(log[-1], flush=True)
    return log
