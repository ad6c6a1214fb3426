"""The target's own text: prompts of the corpus, its replies, and its hidden states meanwhile."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from demopair import corpus
from demopair.texts.grammar import Conversation
from demopair.training.batches import encode
from demopair.training.model import Block, DemoLlama
from demopair.training.tokenizer import ASSISTANT, END, PAD, special_ids
from engine.training.layers import rotate

LONGEST_REPLY = 240
_TOGETHER = 128
_FEWEST = 8
_WORTH_COPYING = 0.75
"""Rows that ended are taken out when so few others are left."""
StatesOf = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Maps ids (rows, time) to the states that heads read, and the states behind the last norm."""


@dataclass(frozen=True)
class OwnBatch:
    """Rows of own text. ids and learn: (rows, time), whether the next token is one that the target wrote itself; states: (rows, time, what heads read) and last: (rows, time, width), bfloat16."""

    ids: Tensor
    learn: Tensor
    states: Tensor
    last: Tensor


def prompts(words: Tokenizer, seed: int, count: int) -> list[list[int]]:
    """Return `count` conversations of the corpus up to the last question; no held-out prompt is among them."""
    assistant = special_ids(words)[ASSISTANT]
    found = []
    for made in itertools.islice(corpus.conversations(seed, long_share=0.01), count):
        asked = Conversation(made.category, made.messages[:-1])
        ids, _ = encode(words, asked)
        found.append([*ids, assistant])
    return found


@torch.no_grad()
def write_replies(
    model: DemoLlama, words: Tokenizer, asked: list[list[int]], seed: int
) -> Iterator[tuple[list[int], int]]:
    """Each prompt with the target's reply, and where that begins: half of them greedy, half at temperature 0.8.

    Prompts of one length are answered together; where there are few of a length, they are left out.
    """
    end = special_ids(words)[END]
    rng = random.Random(seed)
    torch.manual_seed(seed)
    by_length: dict[int, list[list[int]]] = defaultdict(list)
    for ids in asked:
        if len(ids) < model.shape.context - LONGEST_REPLY:
            by_length[len(ids)].append(ids)
    for length, rows in by_length.items():
        few = len(rows) < _FEWEST and length < 256  # Long ones are few, and wanted.
        for start in range(0, 0 if few else len(rows), _TOGETHER):
            piece = rows[start : start + _TOGETHER]
            for prompt, reply in zip(piece, _write(model, piece, end, 0.8 * rng.randrange(2)), strict=True):
                yield [*prompt, *reply], length


def _write(model: DemoLlama, asked: list[list[int]], end: int, temperature: float) -> list[list[int]]:
    shape, length = model.shape, len(asked[0])
    room = (len(asked), shape.kv_heads, length + LONGEST_REPLY, shape.head_size)
    caches = [(torch.zeros(room), torch.zeros(room)) for _ in range(shape.layers)]
    replies: list[list[int]] = [[] for _ in asked]
    alive, ended = list(range(len(asked))), torch.zeros(len(asked), dtype=torch.bool)
    ids, place = torch.tensor(asked), 0
    for _ in range(LONGEST_REPLY):
        logits = model.logits(_forward(model, ids, caches, place)[:, -1])
        place += ids.shape[1]
        drawn = _drawn(logits, temperature)
        for row, token, over in zip(alive, drawn.tolist(), ended.tolist(), strict=True):
            if not over:
                replies[row].append(token)
        ended |= drawn == end
        left = (~ended).nonzero()[:, 0]
        if not len(left):
            break
        # Copying the caches costs more than some rows that nobody reads.
        if len(left) <= _WORTH_COPYING * len(alive):
            alive, drawn, ended = [alive[at] for at in left.tolist()], drawn[left], ended[left]
            caches = [(keys[left], values[left]) for keys, values in caches]
        ids = drawn[:, None]
    return replies


def _drawn(logits: Tensor, temperature: float) -> Tensor:
    if not temperature:
        return logits.argmax(dim=-1)
    return torch.multinomial(torch.softmax(logits / temperature, dim=-1), 1)[:, 0]


def _forward(model: DemoLlama, ids: Tensor, caches: list[tuple[Tensor, Tensor]], place: int) -> Tensor:
    """Hidden states behind the last norm; keys and values go into the caches at `place`."""
    shape, (rows, time) = model.shape, ids.shape
    until = place + time
    cos, sin = model.get_buffer("cos")[place:until], model.get_buffer("sin")[place:until]
    x = model.embed(ids)
    for module, (keys, values) in zip(model.blocks, caches, strict=True):
        block = cast(Block, module)
        inner, attn = block.attn_norm(x), block.attn

        def split(each: Tensor, rows: int = rows, time: int = time) -> Tensor:
            return each.view(rows, time, -1, shape.head_size).transpose(1, 2)

        keys[:, :, place:until] = rotate(split(attn.k_proj(inner)), cos, sin)
        values[:, :, place:until] = split(attn.v_proj(inner))
        mixed = functional.scaled_dot_product_attention(
            rotate(split(attn.q_proj(inner)), cos, sin),
            keys[:, :, :until],
            values[:, :, :until],
            is_causal=time > 1,
            enable_gqa=True,
        )
        x = x + attn.o_proj(mixed.transpose(1, 2).reshape(rows, time, -1))
        x = x + block.ffn(block.ffn_norm(x))
    return cast(Tensor, model.norm(x))


@torch.no_grad()
def make_batches(
    states_of: StatesOf,
    words: Tokenizer,
    text: list[tuple[list[int], int]],
    tokens: int = 4096,
    *,
    earlier: bool = False,
) -> list[OwnBatch]:
    """The text as batches of about so many tokens, rows of like lengths together, with a model's states.

    `earlier`: the replies in a prompt are learned too. They are the corpus', but what the target expects there counts.
    """
    marks = special_ids(words)
    made: list[OwnBatch] = []
    rows: list[tuple[list[int], list[bool]]] = []
    longest = 0
    for ids, begun in sorted(text, key=lambda row: len(row[0])):
        if rows and (len(rows) + 1) * max(longest, len(ids)) > tokens:
            made.append(_batch(states_of, rows, longest, marks[PAD]))
            rows, longest = [], 0
        rows.append((ids, _replies(ids, marks) if earlier else [at >= begun for at in range(len(ids))]))
        longest = max(longest, len(ids))
    return [*made, _batch(states_of, rows, longest, marks[PAD])]


def _replies(ids: list[int], marks: dict[str, int]) -> list[bool]:
    """Return a mask of the tokens that belong to a reply or end it."""
    inside, found = False, list[bool]()
    for token in ids:
        found.append(inside)
        inside = token == marks[ASSISTANT] or (inside and token != marks[END])
    return found


def _batch(states_of: StatesOf, rows: list[tuple[list[int], list[bool]]], time: int, pad: int) -> OwnBatch:
    ids, learn = torch.full((len(rows), time), pad), torch.zeros((len(rows), time), dtype=torch.bool)
    for at, (row, own) in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row)
        learn[at, : len(row) - 1] = torch.tensor(own[1:])
    states, last = states_of(ids)
    return OwnBatch(ids, learn, states.bfloat16(), last.bfloat16())
