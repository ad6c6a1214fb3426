"""Conversations as rows of token ids: encoding, sorting by length, batches of a fixed number of tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from demopair import corpus
from demopair.texts.grammar import Conversation

from .tokenizer import ASSISTANT, BEGIN, END, PAD, SYSTEM, USER, special_ids

LENGTHS = (32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048)


@dataclass(frozen=True)
class Batch:
    """ids: (rows, time); picked: flat positions whose next token is learned; labels: those tokens."""

    ids: Tensor
    picked: Tensor
    labels: Tensor


def encode(tokenizer: Tokenizer, made: Conversation) -> tuple[list[int], list[bool]]:
    """Encode as the chat template does; return the ids and a mask of those to learn (replies with their end)."""
    ids_of = special_ids(tokenizer)
    role_ids = {"system": ids_of[SYSTEM], "user": ids_of[USER], "assistant": ids_of[ASSISTANT]}
    ids, learn = [ids_of[BEGIN]], [False]
    for role, text in made.messages:
        body = tokenizer.encode(text, add_special_tokens=False).ids
        ids += [role_ids[role], *body, ids_of[END]]
        learn += [False] + [role == "assistant"] * (len(body) + 1)
    return ids, learn


def _make(rows: list[tuple[list[int], list[bool]]], time: int, pad: int) -> Batch:
    ids = np.full((len(rows), time), pad, dtype=np.int64)
    mask = np.zeros((len(rows), time), dtype=bool)
    for at, (row, learn) in enumerate(rows):
        ids[at, : len(row)] = row
        # The position before a token learns it.
        mask[at, : len(row) - 1] = learn[1:]
    flat = np.flatnonzero(mask.reshape(-1))
    labels = ids.reshape(-1)[flat + 1]
    return Batch(torch.from_numpy(ids), torch.from_numpy(flat), torch.from_numpy(labels))


def batches(
    tokenizer: Tokenizer, seed: int, tokens: int, long_share: float, drill_share: float = 0.0
) -> Iterator[Batch]:
    """Endless batches of about `tokens` ids each; rows of a batch have like lengths, so little is padding.

    A conversation stands alone in its row: none sees another, and positions begin at 0 as they do in use.
    """
    rng = random.Random(seed + 1)
    pad = special_ids(tokenizer)[PAD]
    waiting: dict[int, list[tuple[list[int], list[bool]]]] = {length: [] for length in LENGTHS}
    pool: list[Batch] = []
    for made in corpus.conversations(seed, long_share, drill_share=drill_share):
        ids, learn = encode(tokenizer, made)
        if len(ids) > LENGTHS[-1]:
            ids, learn = ids[: LENGTHS[-1]], learn[: LENGTHS[-1]]
        time = next(length for length in LENGTHS if length >= len(ids))
        waiting[time].append((ids, learn))
        if len(waiting[time]) * time >= tokens:
            pool.append(_make(waiting[time], time, pad))
            waiting[time] = []
        if len(pool) >= 32:
            rng.shuffle(pool)
            yield from pool[:16]
            pool = pool[16:]
