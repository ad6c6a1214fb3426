"""Train a head on collected replies, so that it can end at any step and go on there to the same head."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from engine.training.collected import Collected, Reply
from engine.training.eagle import EagleHead, Lesson, first_only, guessed_best, loss_of
from engine.training.head_file import TargetFile
from engine.training.linear import LinearMap
from engine.training.muon import Muon

_PLACES = 2048
"""Tokens of a batch, with what fills up its rows."""
_COVERED, _MOST_DRAFTED = 0.985, 8192
"""The head's vocabulary are the most frequent tokens that make up so much of the replies, and so many at most."""
_SHARPER = 1.25
"""Targets are mostly asked at temperatures below 1: the probabilities are learned as they are at 0.8."""
_WARM_UP, _LEVEL = 20, 0.3
"""Steps until the full rate, and the share of all steps after which it falls."""
_MUON, _ADAM = 0.01, 0.001
_MOST_HELD = 96
_MAPPED = 30_000
"""Places that tell the linear map with which a head begins."""
_LEAST = 1e-6
_TRIED, _SURE = 4, (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08)
"""Replies on which is tried how sure of itself it begins."""
_SELF, _UNHEARD = 1.25, 0.3
"""How sharply its attention looks at its own place at first, and what the states count there."""


class Trainer:
    """Hold a head, what it learns from, and how far it is. Attributes: head, step, batches, held (rows of replies)."""

    def __init__(self, collected: Collected, target: TargetFile, seed: int, most_tokens: int | None = None) -> None:
        self._rows, self._seed = collected.rows, seed
        learned, self.held = list[Reply](), [each for each in collected.replies if each.held and each.greedy]
        del self.held[_MOST_HELD:]
        left = collected.learned if most_tokens is None else most_tokens
        for reply in collected.replies:
            if not reply.held and left > 0:
                learned.append(reply)
                left -= reply.learned
        self.batches = _batches(learned)
        table, known = self._vocabulary(learned, collected.replies, target.shape.vocab_size)
        torch.manual_seed(seed)
        self.head = EagleHead(target.shape, collected.read, table, target.embedding(known))
        target.lend(self.head)
        self._scale = torch.ones(collected.read)
        self._lookup = torch.full((target.shape.vocab_size,), len(table))
        self._lookup[table] = torch.arange(len(table))
        self._guess_next(learned)
        matrices = {n: p for n, p in self.head.named_parameters() if p.ndim == 2 and n != "head.weight"}
        rest = [p for n, p in self.head.named_parameters() if n not in matrices]
        self._optimizers: list[torch.optim.Optimizer] = [
            Muon(matrices.values(), _MUON),
            torch.optim.AdamW(rest, lr=_ADAM, betas=(0.9, 0.95), weight_decay=0.0),
        ]
        self._rates = _MUON, _ADAM
        self.step = 0

    def _vocabulary(
        self, replies: Sequence[Reply], everything: Sequence[Reply], size: int
    ) -> tuple[Tensor, NDArray[np.int64]]:
        """Return the head's vocabulary by what is learned from, and all tokens that occur in everything."""
        often, occurring = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        for reply in everything:
            occurring[self._rows(reply)["token"]] = True
        for reply in replies:
            rows = self._rows(reply)
            np.add.at(often, rows["tops"][rows["learn"], 0], 1)
            np.add.at(often, rows["token"][1:][rows["learn"][:-1]], 1)
        order = np.argsort(-often, kind="stable")[:_MOST_DRAFTED]
        total = np.cumsum(often[order])
        count = int(np.searchsorted(total, _COVERED * often.sum())) + 1
        return torch.from_numpy(np.sort(order[: min(count, int((often[order] > 0).sum()))])), occurring.nonzero()[0]

    @torch.no_grad()
    def _guess_next(self, replies: Sequence[Reply]) -> None:
        """Let the head begin with the linear map from a place's states and the next token to what the output reads.

        `fc` is the part of the states. That of the token goes through the attention, which looks at its own place at
        first: its queries and keys are the same projection of the token's embedding.
        """
        head, shape = self.head, self.head.shape
        width, size, groups = shape.width, shape.head_size, shape.heads // shape.kv_heads
        chosen, found = list[Reply](), LinearMap(head.fc.in_features + width, width)
        for reply in replies:
            chosen.append(reply)
            if sum(each.learned for each in chosen) > _MAPPED:
                break
        # Of the places that are learned from: those of first tokens are huge altogether.
        spread = [self._states(reply)[-reply.learned :].pow(2).mean(dim=0) for reply in chosen]
        self._scale = torch.stack(spread).mean(dim=0).clamp(min=_LEAST).rsqrt()
        often = sum(self._lesson([reply]).wished.sum(dim=0) for reply in chosen)
        usual = often / sum(reply.learned for reply in chosen)
        for reply in chosen:
            lesson = self._lesson([reply])
            places = lesson.learn[0, 1:].nonzero()[:, 0]
            token = head.embed_norm(head.embed(lesson.ids[0, places + 1]))
            wanted = (lesson.wished[-len(places) :] - usual) @ head.head.weight
            found.add(torch.cat([lesson.states[0, places], token], dim=1), wanted)
        weight = found.weight()
        weight /= weight[:, :-width].pow(2).sum(dim=1).mean().sqrt()
        head.fc.weight.copy_(weight[:, :-width])
        left_side, sizes, right = torch.linalg.svd(weight[:, -width:])
        kept = shape.kv_heads * size
        head.v_proj.weight.zero_()[:, :width] = right[:kept]
        written = (left_side[:, :kept] * sizes[:kept] / groups).view(width, shape.kv_heads, 1, size)
        head.o_proj.weight.copy_(written.expand(-1, -1, groups, -1).reshape(width, -1))
        seen = torch.linalg.qr(torch.randn(width, kept))[0].T * _SELF
        for name, times in (("q_proj", groups), ("k_proj", 1)):
            weight = head.get_parameter(f"{name}.weight").mul_(_UNHEARD)
            weight[:, :width] = seen.view(shape.kv_heads, 1, size, width).expand(-1, times, -1, -1).reshape(-1, width)
        loss, full = list[float](), head.norm.weight.clone()
        lesson = self._lesson(chosen[:_TRIED])
        for sure in _SURE:  # The map says what is likely, but not how sure it is.
            head.norm.weight.copy_(full * sure)
            loss.append(loss_of(head, lesson, first_only)[0].item())
        head.norm.weight.copy_(full * _SURE[int(np.argmin(loss))])

    def _states(self, reply: Reply) -> Tensor:
        """Return the states of a reply, each number of about the same size: a few of them are huge in many models."""
        return torch.from_numpy(self._rows(reply)["states"].astype(np.float32)) * self._scale

    def finished(self) -> EagleHead:
        """Return the head as it reads states that are not brought to one size. It learns no more."""
        with torch.no_grad():
            self.head.fc.weight.mul_(self._scale)
        return self.head

    def _lesson(self, replies: Sequence[Reply]) -> Lesson:
        """Return replies as rows of one length."""
        time = max(reply.count for reply in replies)
        ids = torch.zeros(len(replies), time, dtype=torch.int64)
        learn = torch.zeros(len(replies), time, dtype=torch.bool)
        states = torch.zeros(len(replies), time, self.head.fc.in_features)
        tops, shares = [], []
        for at, reply in enumerate(replies):
            rows = self._rows(reply)
            ids[at, : reply.count] = torch.from_numpy(rows["token"].astype(np.int64))
            learn[at, : reply.count] = torch.from_numpy(rows["learn"].copy())
            states[at, : reply.count] = self._states(reply)
            tops.append(torch.from_numpy(rows["tops"][rows["learn"]].astype(np.int64)))
            shares.append(torch.from_numpy(rows["shares"][rows["learn"]].astype(np.float32)))
        top, share = torch.cat(tops), torch.cat(shares) ** _SHARPER
        share /= share.sum(dim=1, keepdim=True)
        wished = torch.zeros(len(top), len(self.head.get_buffer("table")) + 1).scatter_add_(1, self._lookup[top], share)
        return Lesson(ids, learn, states, top[:, 0], wished[:, :-1])

    def learn(self, wanted: Callable[[], int]) -> Iterator[float]:
        """Go on until as many steps as `wanted` are done; yield the loss behind each. The rate falls to the last."""
        while self.step < (steps := wanted()):
            round_, place = divmod(self.step, len(self.batches))
            order = np.random.default_rng([self._seed, round_]).permutation(len(self.batches))
            torch.manual_seed(self._seed + self.step)  # What is drawn in a step does not depend on those before.
            rate = _rate(self.step, steps)
            for optimizer, full in zip(self._optimizers, self._rates, strict=True):
                for group in optimizer.param_groups:
                    group["lr"] = full * rate
            with torch.autocast("cpu", torch.bfloat16, enabled=_quicker_in_bfloat16()):
                loss, _ = loss_of(self.head, self._lesson(self.batches[order[place]]))
            loss.backward()  # type: ignore[no-untyped-call]
            for optimizer in self._optimizers:
                torch.nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            self.step += 1
            yield loss.item()

    @torch.no_grad()
    def acceptance(self) -> list[float]:
        """Return which share of drafts is accepted up to each depth, of held-out replies at temperature 0."""
        total: list[list[int]] = []
        for batch in _batches(self.held):
            _, counts = loss_of(self.head, self._lesson(batch), guessed_best)
            total.extend([0, 0] for _ in range(len(counts) - len(total)))
            for sums, count in zip(total, counts, strict=False):
                sums[0], sums[1] = sums[0] + count[0], sums[1] + count[1]
        begun = max(total[0][1], 1) if total else 1
        return [right / begun for right, _ in total]

    def save(self, path: Path) -> None:
        """Write how far it is, whole or not at all."""
        tensors: dict[str, Tensor] = {f"head.{name}": value for name, value in self.head.named_parameters()}
        for number, optimizer in enumerate(self._optimizers):
            for place, kept in optimizer.state_dict()["state"].items():
                tensors |= {f"{number}.{place}.{key}": torch.as_tensor(value) for key, value in kept.items()}
        part = path.with_suffix(".part")
        save_file(
            {name: value.detach().contiguous() for name, value in tensors.items()}, part, {"step": str(self.step)}
        )
        part.replace(path)

    @torch.no_grad()
    def restore(self, path: Path) -> None:
        """Go on where `save` was called."""
        with safe_open(path, "pt") as file:
            self.step = int(file.metadata()["step"])
            states: list[dict[int, dict[str, Tensor]]] = [{} for _ in self._optimizers]
            for name in file.keys():  # noqa: SIM118 - it is no dict
                kind, _, rest = name.partition(".")
                if kind == "head":
                    self.head.get_parameter(rest).copy_(file.get_tensor(name))
                else:
                    place, _, key = rest.partition(".")
                    states[int(kind)].setdefault(int(place), {})[key] = file.get_tensor(name)
        for optimizer, state in zip(self._optimizers, states, strict=True):
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _quicker_in_bfloat16() -> bool:
    """Return True if this processor has units for it: with AVX-512 alone its products take twice as long."""
    return bool(torch.cpu.get_capabilities().get("amx_tile", False))


def _batches(replies: Sequence[Reply]) -> list[list[Reply]]:
    """Return replies of like lengths together."""
    made: list[list[Reply]] = []
    for reply in sorted(replies, key=lambda each: (each.count, each.number)):
        if made and (len(made[-1]) + 1) * reply.count <= _PLACES:
            made[-1].append(reply)
        else:
            made.append([reply])
    return made


def _rate(step: int, steps: int) -> float:
    """Return the share of the full rate: it rises, stays level, and falls to the end."""
    level = _LEVEL * steps
    return min(1.0, (step + 1) / _WARM_UP, 1.0 if step < level else max(0.02, (steps - step) / (steps - level)))
