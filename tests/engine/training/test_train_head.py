"""A head that is trained here: killed or not the same, of use to its target, and one sentence where it cannot be."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import Mock

import gguf
import pytest

pytest.importorskip("torch")

from engine import LoadConfig, SpeculativeDecoder, TrainedHead, TrainingError, TrainingProgress, train_head
from engine.backends.base import HiddenStates
from engine.cancel import CancelToken
from engine.cli.main import main
from engine.errors import Cancelled, EngineError
from engine.formats.draft_head import NORMED
from engine.system.files import lock_alone
from engine.training import collected, head, head_file, questions, trainer
from engine.training.head import layers_read
from engine.training.muon import Muon
from engine.training.questions import bundled_questions, mixed, own_questions
from helpers.campaigns import Campaign
from helpers.paths import ROOT


class Killed(BaseException):
    """Stand for a kill: nothing is saved, nothing is tidied that a killed process would leave."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings be a few short replies and steps."""
    for module, name, value in (
        (head, "_PASSES", 3),
        (head, "_SAVED_EVERY_S", 0.0),
        (collected, "LONGEST_REPLY", 12),
        (questions, "_HELD_OUT", 2),
        (trainer, "_PLACES", 256),
        (trainer, "_WARM_UP", 2),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture(scope="module")
def model(bundled_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo target, in a folder of its own."""
    path = tmp_path_factory.mktemp("trained") / "target.gguf"
    shutil.copy(bundled_target, path)
    return path


def killed_at(counts: dict[str, int]) -> Callable[[TrainingProgress], None]:
    """Kill at the n-th report of a stage."""
    left = dict(counts)

    def note(progress: TrainingProgress) -> None:
        left[progress.stage] = left.get(progress.stage, 0) - 1
        if left[progress.stage] == 0:
            raise Killed

    return note


def test_killed_and_resumed_it_is_the_same_head_and_texts_are_the_targets(
    model: Path, quick: None, tmp_path: Path
) -> None:
    whole = train_head(model, tmp_path / "whole.gguf", tokens=100)
    assert not list(tmp_path.glob("*.training"))
    parts = tmp_path / "parts.gguf"
    with pytest.raises(Killed):
        train_head(model, parts, tokens=100, progress=killed_at({"collecting": 6}))
    work = tmp_path / "parts.gguf.training"
    for name in ("states.bin", "replies.jsonl"):  # A reply that was half written.
        with (work / name).open("ab") as file:
            file.write(b'{"first": 1')
    with pytest.raises(TrainingError, match="--resume"):
        train_head(model, parts, tokens=100)
    with (work / "lock").open("ab") as held:
        lock_alone(held.fileno())
        for resume in (False, True):
            with pytest.raises(TrainingError, match="Another program is training"):
                train_head(model, parts, tokens=100, resume=resume)
    for at in (2, 4):
        with pytest.raises(Killed):
            train_head(model, parts, tokens=100, resume=True, progress=killed_at({"training": at}))
    found = train_head(model, parts, resume=True)
    assert parts.read_bytes() == (tmp_path / "whole.gguf").read_bytes()
    assert (found.tokens, found.steps, found.acceptance) == (whole.tokens, whole.steps, whole.acceptance)
    assert [path.name for path in sorted(tmp_path.glob("*.*"))] == ["parts.gguf", "whole.gguf"]
    kinds = {each.name: each.tensor_type.name for each in gguf.GGUFReader(parts).tensors}
    assert (kinds["fc.weight"], kinds["output.weight"], kinds["output_norm.weight"]) == ("Q8_0", "Q4_0", "F32")
    _is_of_use(model, found)


_CHILD = """
import sys
from engine import train_head
from engine.training import head, trainer
head._PASSES, head._SAVED_EVERY_S, trainer._PLACES = 12, 0.5, 512
train_head(sys.argv[1], sys.argv[2], tokens=1500, resume="--resume" in sys.argv)
"""


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_killed_at_random_moments_it_is_the_same_head(model: Path, tmp_path: Path, campaign: Campaign) -> None:
    whole, parts, rng = tmp_path / "whole.gguf", tmp_path / "parts.gguf", random.Random(campaign.seed)
    work, began = tmp_path / "parts.gguf.training", perf_counter()

    def ended(out: Path, seconds: float | None) -> bool:
        resume = ["--resume"] if (work / "plan.json").exists() else []
        child = subprocess.Popen([sys.executable, "-c", _CHILD, str(model), str(out), *resume], cwd=ROOT)
        try:
            assert child.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return out.exists()

    assert ended(whole, None)
    seconds = perf_counter() - began
    for _ in range(campaign.tries(20)):
        if ended(parts, rng.uniform(0, 0.7 * seconds)):
            assert parts.read_bytes() == whole.read_bytes()
            parts.unlink()
            shutil.rmtree(work, ignore_errors=True)  # The kill came between the two.
    assert ended(parts, None)
    assert parts.read_bytes() == whole.read_bytes()
    assert [path.name for path in sorted(tmp_path.glob("*.*"))] == ["parts.gguf", "whole.gguf"]


def _is_of_use(model: Path, made: TrainedHead) -> None:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(model, threads=1, trusted=True))
        decoder.attach_heads(LoadConfig(made.path, trusted=True))
        for temperature in (0.0, 0.8):
            options: Any = {"max_tokens": 40, "temperature": temperature, "seed": 3}
            plain = decoder.generate("Tell me a story about a bear.", lookahead=0, **options)
            drafted = decoder.generate("Tell me a story about a bear.", method="eagle3", lookahead=4, **options)
            assert temperature or drafted.tokens == plain.tokens
            assert drafted.stats.accepted > 0


def test_ended_by_its_hours_and_by_a_cancel(model: Path, quick: None, tmp_path: Path) -> None:
    out, token = tmp_path / "head.gguf", CancelToken()
    with pytest.raises(Cancelled):
        train_head(model, out, tokens=5000, cancel=token, progress=lambda told: token.cancel() if told.done else None)
    made = train_head(model, out, resume=True, hours=1e-6)
    assert made.tokens < 5000
    assert [path.name for path in tmp_path.glob("*.*")] == ["head.gguf"]


@pytest.fixture
def refused(model: Path, tmp_path: Path) -> Callable[..., str]:
    """Train, and give the sentence that it ends with, behind which nothing is left."""

    def sentence(**options: Any) -> str:
        before = sorted(tmp_path.glob("*.*"))
        with pytest.raises(EngineError) as caught:
            train_head(**{"model": model, "out": tmp_path / "head.gguf"} | options)
        assert sorted(tmp_path.glob("*.*")) == before
        return str(caught.value)

    return sentence


def test_one_sentence_where_it_cannot_be(
    refused: Callable[..., str], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "gone.gguf" in refused(model=tmp_path / "gone.gguf")
    folder = tmp_path / "questions"
    folder.mkdir()
    assert "24 different questions at least" in refused(prompts=folder)
    (folder / "same.txt").write_text("What is a bear?\n" * 1000, encoding="utf-8")
    assert "has 1:" in refused(prompts=folder)
    assert "no folder" in refused(prompts=tmp_path / "none")
    assert "no GGUF file" in refused(model=tmp_path)
    assert "must end in .gguf" in refused(out=tmp_path / "head.bin")
    assert "no training to go on with" in refused(resume=True)
    assert "tokens must be" in refused(tokens=0)
    assert "hours must be" in refused(hours=0.0)
    with monkeypatch.context() as short:
        short.setattr(head, "available_memory", lambda: 10**9)
        assert "GB of memory" in refused()
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10**9, 10**9, 10**6))
        assert "of disk" in refused()
    no_memory = RuntimeError("DefaultCPUAllocator: can't allocate memory. Error code 12 (Cannot allocate memory)")
    for place, name, error, told in (
        (collected.Collected, "add", OSError(28, "No space left on device"), "No space left on device"),
        (head_file, "TargetFile", OSError(2, "No such file or directory"), "cannot be read"),
        (trainer, "Trainer", no_memory, "GB of memory"),
    ):
        with monkeypatch.context() as later:
            if name != "add":
                later.setattr(head._Run, "collect", lambda _run: None)
            later.setattr(place, name, Mock(side_effect=error))
            assert told in refused()
    with monkeypatch.context() as bare:
        bare.setattr(head, "extra_installed", lambda: False)
        assert "pip install" in refused()


def test_targets_whose_states_cannot_be_read_are_refused() -> None:
    deep = HiddenStates(frozenset([*range(30), NORMED]), 30, 576)
    assert layers_read(deep, "deep") == (2, 15, 27)
    assert layers_read(replace(deep, layers=4), "flat") == (1, 2, 3)
    for states in (None, replace(deep, readable=frozenset([NORMED])), replace(deep, layers=2)):
        with pytest.raises(TrainingError, match="hidden states of its layers cannot be read"):
            layers_read(states, "odd")


def test_the_command_says_what_it_needs_and_what_came_of_it(
    model: Path, quick: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nice: list[object] = []
    monkeypatch.setattr("psutil.Process.nice", lambda _self, value: nice.append(value))
    arguments = ["train-head", "-m", str(model), "--out", str(tmp_path / "head.gguf"), "--tokens", "100"]
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert "GB of disk" in told.err
    assert "accepted by depth" in told.out
    assert nice
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of thirty questions, each of them twice."""
    (tmp_path / "a.txt").write_text("".join(f"What is {each}?\n" for each in range(30)) * 2, encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\x00")
    return tmp_path


def test_each_question_is_asked_once_before_any_is_asked_again(own: Path) -> None:
    for each in (bundled_questions(0), own_questions(own, 0)):
        count = len(each)
        asked = [mixed(each, 0, number) for number in range(2 * count)]
        assert len({question for question, *_ in asked[:count]}) == count
        assert len({(question, temperature) for question, _, temperature, _ in asked}) == 2 * count
        assert len({seed for *_, seed in asked}) == 2 * count
        assert 0.02 < sum(held for _, held, *_ in asked) / len(asked) < 0.15
    assert len(bundled_questions(0)) > 500
    assert bundled_questions(0) != bundled_questions(1)


@pytest.mark.parametrize("shape", [(24, 8), (8, 24)])
def test_matrices_move_as_with_the_optimiser_of_pytorch(shape: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    begin, gradients = torch.randn(shape), torch.randn(5, *shape)
    ends = []
    for kind, options in ((Muon, {}), (torch.optim.Muon, {"weight_decay": 0.01, "momentum": 0.95})):
        matrix = torch.nn.Parameter(begin.clone())
        optimiser = kind([matrix], lr=0.1, **options)
        for gradient in gradients:
            matrix.grad = gradient.clone()
            optimiser.step()
        ends.append(matrix.detach() - begin)
    assert (ends[0] - ends[1]).norm() < 0.02 * ends[1].norm()
