"""Train an EAGLE-3 head as it will be used: behind the target's states first, then behind its own.

Source: Li et al., "EAGLE-3" (2025, arXiv:2503.01840), section 3.2 (training-time test).
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from demopair.training.model import DemoLlama, FeedForward, ModelShape, Norm, rope_tables, rotate
from demopair.training.train import TrainConfig, learning_rate

from .own_text import OwnBatch

AHEAD = 8
"""So many tokens ahead it learns to go on from its own states."""
_FADE = 0.9
"""What is further ahead counts so much less, each step."""
NARROW_SHAPE = ModelShape(vocab_size=4096, width=128, layers=1, heads=2, kv_heads=1, ff_width=352, context=2048)
"""As wide as the draft: learns most of it, quickly."""
HEAD_SHAPE = ModelShape(vocab_size=4096, width=384, layers=1, heads=6, kv_heads=3, ff_width=1536, context=2048)
"""As wide as its target, as published heads are; a grown head costs the same whatever its feed-forward holds."""


@dataclass
class Chains:
    """Guesses behind one another, several in a row of text.

    begun: (rows, chains), the places of their first pairs. seen: keys and values of each step so far (rows, heads,
    chains, size); those of the first step are of all places.
    """

    begun: Tensor
    seen: list[tuple[Tensor, Tensor]]

    @classmethod
    def at_each_place(cls, ids: Tensor) -> Chains:
        """One that begins at each place of ids (rows, time)."""
        return cls(torch.arange(ids.shape[1]).expand(len(ids), -1), [])

    def keep(self, alive: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        """Go on with some (rows, chains): their states, and which of those left only fill up a row."""
        most = int(alive.sum(dim=1).max())
        kept = alive.int().argsort(dim=1, descending=True, stable=True)[:, :most]

        def chosen(each: Tensor) -> Tensor:
            return each.gather(2, kept[:, None, :, None].expand(-1, each.shape[1], -1, each.shape[3]))

        self.begun = self.begun.gather(1, kept)
        self.seen[1:] = [(chosen(keys), chosen(values)) for keys, values in self.seen[1:]]
        return states.gather(1, kept[..., None].expand(-1, -1, states.shape[2])), ~alive.gather(1, kept)


class EagleHead(nn.Module):
    """One decoder layer that reads a token and the state before it, and its own vocabulary (`table`: the target's ids)."""

    def __init__(self, shape: ModelShape, read: int, table: Tensor) -> None:
        super().__init__()
        self.shape = shape
        width, key = shape.width, shape.kv_heads * shape.head_size
        self.fc = nn.Linear(read, width, bias=False)
        self.embed = nn.Embedding(shape.vocab_size, width)
        self.embed_norm, self.state_norm = Norm(width, shape.norm_eps), Norm(width, shape.norm_eps)
        self.q_proj = nn.Linear(2 * width, width, bias=False)
        self.k_proj = nn.Linear(2 * width, key, bias=False)
        self.v_proj = nn.Linear(2 * width, key, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)
        self.ffn_norm, self.ffn = Norm(width, shape.norm_eps), FeedForward(shape)
        self.norm = Norm(width, shape.norm_eps)
        self.head = nn.Linear(width, len(table), bias=False)
        self.register_buffer("table", table)
        cos, sin = rope_tables(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                nn.init.normal_(
                    parameter, std=parameter.shape[1] ** -0.5 * (0.1 if "o_proj" in name or "down" in name else 0.6)
                )

    @torch.no_grad()
    def begin_with(self, draft: DemoLlama) -> None:
        """Take the embedding and the output of the demo draft, which has the same width."""
        self.embed.weight.copy_(draft.embed.weight)
        self.head.weight.copy_(draft.head.weight[self.get_buffer("table")])
        self.norm.weight.copy_(draft.norm.weight)

    def step(self, states: Tensor, ids: Tensor, chains: Chains) -> Tensor:
        """The states behind pairs of a state (rows, chains, width) and a token (rows, chains).

        Each pair sees those of the first step up to the place where its chain began, and its chain's own later ones.
        """
        rows, count, width = states.shape
        x = torch.cat([self.embed_norm(self.embed(ids)), self.state_norm(states)], dim=-1)
        at = chains.begun + len(chains.seen)
        cos, sin = (self.get_buffer(name)[at].unsqueeze(1).to(x.dtype) for name in ("cos", "sin"))
        groups = self.shape.heads // self.shape.kv_heads

        def split(each: Tensor, times: int) -> Tensor:
            return each.view(rows, count, -1, self.shape.head_size).transpose(1, 2).repeat_interleave(times, dim=1)

        query = rotate(split(self.q_proj(x), 1), cos, sin)
        seen = chains.seen
        seen.append((rotate(split(self.k_proj(x), groups), cos, sin), split(self.v_proj(x), groups)))
        if len(seen) == 1:
            mixed = functional.scaled_dot_product_attention(query, *seen[0], is_causal=True)
        else:
            scale, places = self.shape.head_size**-0.5, seen[0][0].shape[2]
            unseen = (torch.arange(places) > chains.begun.unsqueeze(-1)).unsqueeze(1)
            scores = (query @ seen[0][0].transpose(2, 3)).float().masked_fill(unseen, -math.inf)
            own = [(query * key).sum(dim=-1, keepdim=True).float() for key, _ in seen[1:]]
            weights = torch.softmax(torch.cat([scores, *own], dim=-1) * scale, dim=-1).to(x.dtype)
            mixed = weights[..., :places] @ seen[0][1]
            for ahead, (_, value) in enumerate(seen[1:]):
                mixed = mixed + weights[..., places + ahead : places + ahead + 1] * value
        hidden = states + self.o_proj(mixed.transpose(1, 2).reshape(rows, count, width))
        out: Tensor = hidden + self.ffn(self.ffn_norm(hidden))
        return out


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


def loss_of(head: EagleHead, target: DemoLlama, batch: OwnBatch) -> tuple[Tensor, list[float]]:
    """Loss to the target's distribution, and the share of best tokens that is guessed, by step.

    A chain begins at each place and goes on as often as its token would have been accepted there: what is drafted
    behind a rejected token is never used. The loss is the cross entropy and the share of guesses that is rejected.
    """
    table = head.get_buffer("table")
    with torch.no_grad():
        # Of every place that is asked for, once, though each step ahead asks for nearly the same.
        number = torch.full(batch.learn.shape, -1)
        number[batch.learn] = torch.arange(int(batch.learn.sum()))
        logits = target.logits(batch.last[batch.learn].float()).float()
        best, probs = logits.argmax(dim=-1), torch.softmax(logits, dim=-1)[:, table]
    ids, learn = functional.pad(batch.ids, (0, AHEAD)), functional.pad(batch.learn, (0, AHEAD))
    states: Tensor = head.fc(batch.states.float())[:, :-1]
    chains, idle = Chains.at_each_place(batch.ids[:, :-1]), torch.zeros(states.shape[:2], dtype=torch.bool)
    loss, shares, weight, begun = torch.zeros(()), list[float](), 1.0, 0
    for ahead in range(1, AHEAD + 1):
        # The pair of a chain holds the token `ahead` places on, and proposes the one behind that.
        at = chains.begun + ahead
        states = head.step(states, ids.gather(1, at), chains)
        wanted = learn.gather(1, at) & ~idle
        rows, places = wanted.nonzero(as_tuple=True)
        asked = number[rows, at[rows, places]]
        guessed, wished = torch.log_softmax(head.head(head.norm(states[rows, places])).float(), dim=-1), probs[asked]
        begun = begun or max(len(asked), 1)
        missed = len(asked) - (wished * guessed).sum() - torch.minimum(wished, guessed.exp()).sum()
        loss = loss + weight * missed / begun
        shares.append((table[guessed.detach().argmax(dim=-1)] == best[asked]).float().mean().item())
        weight *= _FADE
        alive = torch.zeros_like(wanted)
        alive[rows, places] = _accepted(guessed.detach(), wished, ids[rows, at[rows, places] + 1], table)
        if ahead < AHEAD:
            alive &= learn.gather(1, at + 1)
        if not alive.any():
            break
        states, idle = chains.keep(alive, states)
    return loss, shares


def _accepted(guessed: Tensor, wished: Tensor, came: Tensor, table: Tensor) -> Tensor:
    """Draw whether the tokens that came would have been accepted, from the logarithms and the shares of both sides."""
    found = torch.searchsorted(table, came).clamp(max=len(table) - 1)
    one = torch.arange(len(came))
    chance = guessed[one, found].exp() / wished[one, found]
    return (table[found] == came) & (torch.rand(len(came)) < chance)


def train_eagle(
    head: EagleHead, target: DemoLlama, batches: list[OwnBatch], config: HeadConfig
) -> list[dict[str, Any]]:
    """Train; return what was noted every 50 steps."""
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
    """Go over the batches in random order until all steps are done, the rate falling to the end."""
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
