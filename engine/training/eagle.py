"""Compute an EAGLE-3 head as it is used, behind the target's states first, then behind its own; and its loss there.

Source: Li et al., "EAGLE-3" (2025, arXiv:2503.01840), section 3.2 (training-time test).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.training.layers import FeedForward, ModelShape, Norm, rope_tables, rotate

AHEAD = 8
"""So many tokens ahead it learns to go on from its own states."""
_FADE = 0.9
"""What is further ahead counts so much less, each step."""


@dataclass(frozen=True)
class Lesson:
    """Hold rows of text, and what a target thought of them.

    ids (rows, time); learn (rows, time): the places whose next token the head is to guess; states (rows, time, read).
    Of these places in their order: best (asked,), the likeliest token, and wished (asked, drafted), the probabilities.
    """

    ids: Tensor
    learn: Tensor
    states: Tensor
    best: Tensor
    wished: Tensor


@dataclass
class Chains:
    """Hold guesses behind one another, several in a row of text.

    begun: (rows, chains), the places of their first pairs. seen: keys and values of each step so far (rows, heads,
    chains, size); those of the first step are of all places.
    """

    begun: Tensor
    seen: list[tuple[Tensor, Tensor]]

    @classmethod
    def at_each_place(cls, ids: Tensor) -> Chains:
        """Return one that begins at each place of ids (rows, time)."""
        return cls(torch.arange(ids.shape[1]).expand(len(ids), -1), [])

    def keep(self, alive: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        """Go on with some (rows, chains); return their states, and which of those left only fill up a row."""
        most = int(alive.sum(dim=1).max())
        kept = alive.int().argsort(dim=1, descending=True, stable=True)[:, :most]

        def chosen(each: Tensor) -> Tensor:
            return each.gather(2, kept[:, None, :, None].expand(-1, each.shape[1], -1, each.shape[3]))

        self.begun = self.begun.gather(1, kept)
        self.seen[1:] = [(chosen(keys), chosen(values)) for keys, values in self.seen[1:]]
        return states.gather(1, kept[..., None].expand(-1, -1, states.shape[2])), ~alive.gather(1, kept)


class EagleHead(nn.Module):
    """Compute one decoder layer that reads a token and the state before it, and logits of its own vocabulary.

    `read`: numbers in the states that it reads; `table`: the target's ids of its vocabulary, ascending; `embed`: where
    its embeddings come from, if they are not its own.
    """

    def __init__(self, shape: ModelShape, read: int, table: Tensor, embed: nn.Module | None = None) -> None:
        super().__init__()
        self.shape = shape
        width, key = shape.width, shape.kv_heads * shape.head_size
        self.fc = nn.Linear(read, width, bias=False)
        self.embed = nn.Embedding(shape.vocab_size, width) if embed is None else embed
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

    def step(self, states: Tensor, ids: Tensor, chains: Chains) -> Tensor:
        """Return the states behind pairs of a state (rows, chains, width) and a token (rows, chains).

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


Goes = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""Whether chains go on (asked,), by what was guessed and wished there, the tokens that came, and the head's table."""


def loss_of(head: EagleHead, lesson: Lesson, goes_on: Goes | None = None) -> tuple[Tensor, list[tuple[int, int]]]:
    """Return the loss to the target's distribution; and by step, how many best tokens were guessed, of how many.

    A chain begins at each place and goes on as often as its token would have been accepted there: what is drafted
    behind a rejected token is never used. The loss is the cross entropy and the share of guesses that is rejected.
    """
    table, goes_on = head.get_buffer("table"), goes_on or _accepted
    # Of every place that is asked for, once, though each step ahead asks for nearly the same.
    number = torch.full(lesson.learn.shape, -1)
    number[lesson.learn] = torch.arange(int(lesson.learn.sum()))
    ids, learn = functional.pad(lesson.ids, (0, AHEAD)), functional.pad(lesson.learn, (0, AHEAD))
    states: Tensor = head.fc(lesson.states.float())[:, :-1]
    chains, idle = Chains.at_each_place(lesson.ids[:, :-1]), torch.zeros(states.shape[:2], dtype=torch.bool)
    loss, counts, weight, begun = torch.zeros(()), list[tuple[int, int]](), 1.0, 0
    for ahead in range(1, AHEAD + 1):
        # The pair of a chain holds the token `ahead` places on, and proposes the one behind that.
        at = chains.begun + ahead
        states = head.step(states, ids.gather(1, at), chains)
        wanted = learn.gather(1, at) & ~idle
        rows, places = wanted.nonzero(as_tuple=True)
        rated = number[rows, at[rows, places]]
        guessed = torch.log_softmax(head.head(head.norm(states[rows, places])).float(), dim=-1)
        wished = lesson.wished[rated]
        begun = begun or max(len(rated), 1)
        missed = len(rated) - (wished * guessed).sum() - torch.minimum(wished, guessed.exp()).sum()
        loss = loss + weight * missed / begun
        counts.append((int((table[guessed.detach().argmax(dim=-1)] == lesson.best[rated]).sum()), len(rated)))
        weight *= _FADE
        alive = torch.zeros_like(wanted)
        alive[rows, places] = goes_on(guessed.detach(), wished, ids[rows, at[rows, places] + 1], table)
        if ahead < AHEAD:
            alive &= learn.gather(1, at + 1)
        if not alive.any():
            break
        states, idle = chains.keep(alive, states)
    return loss, counts


def guessed_best(guessed: Tensor, _wished: Tensor, came: Tensor, table: Tensor) -> Tensor:
    """Let chains go on whose best guess is the token that came, as those of a reply at temperature 0 do."""
    return table[guessed.argmax(dim=-1)] == came


def first_only(_guessed: Tensor, _wished: Tensor, came: Tensor, _table: Tensor) -> Tensor:
    """Let no chain go on."""
    return torch.zeros_like(came, dtype=torch.bool)


def _accepted(guessed: Tensor, wished: Tensor, came: Tensor, table: Tensor) -> Tensor:
    """Draw whether the tokens that came would have been accepted, from the logarithms and the shares of both sides."""
    found = torch.searchsorted(table, came).clamp(max=len(table) - 1)
    one = torch.arange(len(came))
    chance = guessed[one, found].exp() / wished[one, found]
    return (table[found] == came) & (torch.rand(len(came)) < chance)
