"""Train a draft head for a GGUF target, from its own replies to the file, in steps that can end at any moment."""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from engine.backends.base import HiddenStates
from engine.cancel import CancelToken
from engine.checks import is_whole
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest, LoadFailed, NotAvailable, TrainingError
from engine.library.names import resolve_source
from engine.system.files import expanded, lock_alone, private_folder, write_whole
from engine.system.installation import extra_advice, extra_installed
from engine.system.machine import available_memory, physical_cores, tells_of_no_memory
from engine.training.collected import Collected, collect, record_type
from engine.training.questions import bundled_questions, own_questions
from engine.translatable import Translatable

_CONTEXT = 1024
_MEMORY = 3 * 2**29
"""Bytes beside the model, which is closed before the training begins."""
_PROMPTS = 1.6
"""So much more than what is learned is kept: prompts, and what is held out."""
_SPARE = 2**28
_PASSES = 6
"""How often each reply is learned from, where the hours suffice."""
_COLLECTING = 0.4
"""The share of the hours that replies are written in at most."""
_TIMED = 8
"""Steps from which is known how many the hours suffice for."""
_SAVED_EVERY_S = 60.0
_MOST_TOKENS = 20_000_000


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """Say how far a training is: `done` of `total` tokens that are collected, or of steps.

    `acceptance`: of held-out drafts, the share that is accepted up to each depth, as measured last. `disk`: the bytes
    that will be needed at most, which is told once, before anything is written.
    """

    stage: Literal["collecting", "training"]
    done: int
    total: int
    acceptance: tuple[float, ...] = ()
    disk: int = 0


@dataclass(frozen=True, slots=True)
class TrainedHead:
    """Hold a head that was made: its file, the tokens it learned from, steps, seconds, and its acceptance by depth."""

    path: Path
    tokens: int
    steps: int
    seconds: float
    acceptance: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Hold what a training was begun with, and how far it is where its data do not say."""

    model: str
    size: int
    changed: int
    prompts: str | None
    questions: str
    tokens: int
    seed: int
    threads: int
    steps: int = 0
    spent: float = 0.0


def train_head(
    model: str | Path,
    out: str | Path | None = None,
    *,
    prompts: str | Path | None = None,
    tokens: int = 200_000,
    hours: float | None = None,
    seed: int = 0,
    resume: bool = False,
    progress: Callable[[TrainingProgress], None] = lambda _progress: None,
    cancel: CancelToken | None = None,
) -> TrainedHead:
    """Train an EAGLE-3 head on a target's own replies, and write it as a GGUF file: `out`, or one beside the model.

    `prompts`: a folder of text files with a question a line, in place of those that come along; `tokens`: of replies
    to learn from; `hours`: take no longer, and learn from fewer. What is collected lies in a folder beside `out` until
    the head is written; a training that was cancelled or killed goes on there with `resume`, to the same head.
    One core is left to others. Raises TrainingError, LoadFailed and its kinds, NotAvailable, InvalidRequest, Cancelled.
    """
    given: object = tokens
    if not is_whole(given) or not 0 < tokens <= _MOST_TOKENS:
        raise InvalidRequest(f"tokens must be a whole number from 1 to {_MOST_TOKENS}, not {tokens!r}.")
    if hours is not None and not 0 < hours < 10_000:
        raise InvalidRequest(f"hours must be a number above 0, not {hours!r}.")
    if not extra_installed():
        raise NotAvailable(Translatable("Training a head"), extra_advice())
    path = resolve_source(model)
    if path.is_dir() or path.suffix.lower() != ".gguf":
        raise TrainingError(
            Translatable("{path} is no GGUF file: heads can be trained for these only. Name one.", path=path)
        )
    goal = path.with_name(f"{path.stem}-head.gguf") if out is None else expanded(out)
    if goal.suffix.lower() != ".gguf":
        raise InvalidRequest(f"A head is written as a GGUF file: {goal.name} must end in .gguf.")
    if goal.exists():
        raise TrainingError(Translatable("{path} is there already. Choose another name.", path=goal))
    folder = expanded(prompts).absolute() if prompts is not None else None
    status = path.stat()
    plan = _Plan(
        str(path.absolute()),
        status.st_size,
        status.st_mtime_ns,
        None if folder is None else str(folder),
        "",
        tokens,
        seed,
        max(1, physical_cores() - 1),
    )
    run = _Run(plan, path, goal, hours, progress, cancel or CancelToken())
    with run.folder_kept(resume=resume):
        run.collect()
        return run.train()


class _Run:
    """Hold one training while it runs."""

    def __init__(
        self,
        plan: _Plan,
        path: Path,
        goal: Path,
        hours: float | None,
        progress: Callable[[TrainingProgress], None],
        cancel: CancelToken,
    ) -> None:
        self._plan, self._path, self._goal, self._hours = plan, path, goal, hours
        self._progress, self._cancel, self._began = progress, cancel, perf_counter()
        self._folder = goal.with_name(f"{goal.name}.training")
        self._file = self._folder / "plan.json"
        self._questions: list[tuple[str, bool]] = []
        self._layers: tuple[int, ...] = ()
        self._steps = 0

    @property
    def _spent(self) -> float:
        return self._plan.spent + perf_counter() - self._began

    @contextmanager
    def folder_kept(self, *, resume: bool) -> Iterator[None]:
        """Hold the folder of what is collected; remove it behind the work, or where nothing was collected.

        Raises TrainingError.
        """
        try:
            private_folder(self._folder)
            with ExitStack() as behind, (self._folder / "lock").open("ab") as lock:
                lock_alone(lock.fileno())
                behind.callback(self._tidy)
                self._begin(resume=resume)
                yield
        except BlockingIOError:
            raise TrainingError(
                Translatable(
                    "Another program is training in {folder} already. Wait until it is done, or name another file "
                    "(--out).",
                    folder=self._folder,
                )
            ) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise TrainingError(
                Translatable("Cannot write to {folder}: {reason}.", folder=self._folder, reason=reason)
            ) from None

    def _has_replies(self) -> bool:
        index = self._folder / "replies.jsonl"
        return index.exists() and index.stat().st_size > 0

    def _tidy(self) -> None:
        if self._goal.exists() or not self._has_replies():
            shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self, *, resume: bool) -> None:
        """Note the plan, or take that of what was begun. Raises TrainingError, OSError."""
        if self._has_replies() and not resume:
            raise TrainingError(
                Translatable(
                    "A training was begun in {folder}. Go on with it (--resume), or delete that folder.",
                    folder=self._folder,
                )
            )
        if resume:
            self._go_on()
        told = None if self._plan.prompts is None else Path(self._plan.prompts)
        seed = self._plan.seed
        self._questions = bundled_questions(seed) if told is None else own_questions(told, seed)
        digest = hashlib.sha256(json.dumps(self._questions).encode("utf-8", "surrogatepass")).hexdigest()
        if resume and digest != self._plan.questions:
            raise TrainingError(
                Translatable("The questions were changed since. Delete {folder} and start again.", folder=self._folder)
            )
        self._note(questions=digest)

    def _go_on(self) -> None:
        """Take the plan of what was begun. Raises TrainingError."""
        try:
            begun = _Plan(**json.loads(self._file.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            raise TrainingError(
                Translatable("There is no training to go on with in {folder}. Omit --resume.", folder=self._folder)
            ) from None
        mine = self._plan
        if (begun.model, begun.size, begun.changed) != (mine.model, mine.size, mine.changed):
            raise TrainingError(
                Translatable("The model was changed since. Delete {folder} and start again.", folder=self._folder)
            )
        self._plan = begun

    def _note(self, **changed: Any) -> None:
        self._plan = replace(self._plan, **changed)
        write_whole(self._file, json.dumps(asdict(replace(self._plan, spent=self._spent))).encode())

    def collect(self) -> None:
        """Have the target write what is missing. Raises what loading and replies raise, and TrainingError."""
        plan = self._plan
        if available_memory() < plan.size + _MEMORY:
            raise self._no_memory()
        with SpeculativeDecoder() as decoder:
            config = LoadConfig(self._path, context_length=_CONTEXT, threads=plan.threads)
            decoder.attach_target(config, cancel=self._cancel)
            target = decoder.target
            if target is None:
                return
            self._layers = layers_read(target.hidden_states, target.name)
            read = len(self._layers) * (0 if target.hidden_states is None else target.hidden_states.width)
            self._check_disk(record_type(read).itemsize)
            collected = Collected(self._folder, read)
            end = None if self._hours is None else _COLLECTING * 3600.0 * self._hours

            def enough() -> bool:
                late = end is not None and self._spent >= end
                told = collected.learned >= plan.tokens or (late and collected.learned > 0)
                return told and any(reply.held and reply.greedy for reply in collected.replies)

            replies = collect(decoder, collected, self._questions, self._layers, seed=plan.seed, cancel=self._cancel)
            while not plan.steps and not enough():  # With steps it learns already.
                done = min(next(replies), plan.tokens)
                self._progress(TrainingProgress("collecting", done, plan.tokens))
            self._note(tokens=min(collected.learned, plan.tokens))

    def _no_memory(self) -> TrainingError:
        return TrainingError(
            Translatable(
                "Training needs {needed:.1f} GB of memory and {free:.1f} GB are free. Close other programs.",
                needed=(self._plan.size + _MEMORY) / 1e9,
                free=available_memory() / 1e9,
            )
        )

    def _check_disk(self, record: int) -> None:
        """Raise TrainingError where the disk has no room for what is to come."""
        there = sum(path.stat().st_size for path in self._folder.iterdir())
        needed = int(_PROMPTS * self._plan.tokens * record) + _SPARE - there
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise TrainingError(
                Translatable(
                    "Training needs {needed:.2f} GB of disk and {free:.2f} GB are free in {folder}. Make room, or "
                    "train on fewer tokens.",
                    needed=needed / 1e9,
                    free=free / 1e9,
                    folder=self._folder.parent,
                )
            )
        self._progress(TrainingProgress("collecting", 0, self._plan.tokens, disk=needed))

    def train(self) -> TrainedHead:
        """Learn from what is collected, and write the head. Raises TrainingError, Cancelled."""
        torch = importlib.import_module("torch")
        before = torch.get_num_threads()
        torch.set_num_threads(self._plan.threads)
        try:
            return self._train()
        except (MemoryError, RuntimeError) as error:  # PyTorch says either.
            if isinstance(error, MemoryError) or tells_of_no_memory(str(error)):
                raise self._no_memory() from None
            raise
        finally:
            torch.set_num_threads(before)

    def _train(self) -> TrainedHead:
        from engine.training.head_file import TargetFile, write_head  # noqa: PLC0415 - as above
        from engine.training.trainer import Trainer  # noqa: PLC0415 - torch takes long to import

        try:
            target = TargetFile(self._path)
        except OSError as error:
            raise LoadFailed(
                self._path, Translatable("it cannot be read ({error}).", error=error.strerror or error)
            ) from None
        collected = Collected(self._folder, len(self._layers) * target.width)
        trainer = Trainer(collected, target, self._plan.seed, self._plan.tokens)
        kept = self._folder / "head.safetensors"
        if kept.exists():
            trainer.restore(kept)
        self._steps = self._plan.steps or _PASSES * len(trainer.batches)
        if self._hours is None:
            self._note(steps=self._steps)
        saved = began = perf_counter()
        at_first, shares = trainer.step, tuple(trainer.acceptance())
        for _ in trainer.learn(lambda: self._steps):
            if self._cancel.cancelled or perf_counter() - saved > _SAVED_EVERY_S:
                trainer.save(kept)
                self._note()
                self._cancel.check("The training")
                shares, saved = tuple(trainer.acceptance()), perf_counter()
            if not self._plan.steps and trainer.step - at_first == _TIMED and self._hours is not None:
                left = 3600.0 * self._hours - self._spent
                fitting = int(left * _TIMED / (perf_counter() - began))
                self._steps = max(trainer.step, min(self._steps, trainer.step + fitting))
                self._note(steps=self._steps)
            self._progress(TrainingProgress("training", trainer.step, self._steps, shares))
        shares = tuple(trainer.acceptance())
        told = TrainedHead(self._goal, self._plan.tokens, self._steps, self._spent, shares)
        described = _describe(told, target.name, self._plan.prompts)
        write_head(trainer.finished(), target, self._layers, self._goal, described)
        return told


def layers_read(states: HiddenStates | None, name: str) -> tuple[int, ...]:
    """Return the layers whose inputs a head reads: early, middle and late ones. Raises TrainingError.

    Source: Li et al., "EAGLE-3" (2025, arXiv:2503.01840), and the authors' code.
    """
    count = 0 if states is None else states.layers
    wanted = (2, count // 2, count - 3) if count >= 8 else (1, count // 2, count - 1)
    if states is None or count < 3 or not {*wanted} <= states.readable:
        raise TrainingError(
            Translatable(
                "No head can be trained for {name}: the hidden states of its layers cannot be read.", name=name
            )
        )
    return wanted


def _describe(head: TrainedHead, name: str, own: str | None) -> str:
    """Describe a head for its file's metadata: data, tokens, steps, hours, acceptance by depth."""
    shares = ", ".join(f"{share:.2f}" for share in head.acceptance)
    origin = "the questions that come with Outrider" if own is None else "a person's own questions"
    return (
        f"EAGLE-3 head for {name}, trained on {head.tokens:,} tokens of its own replies to {origin}: {head.steps:,} "
        f"steps, {head.seconds / 3600:.1f} hours. Accepted of held-out drafts up to each depth: {shares}."
    )
