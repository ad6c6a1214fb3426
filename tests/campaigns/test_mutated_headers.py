"""Mutated headers of GGUF and safetensors files are read, listed and loaded: one sentence each, and no signal."""

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers.campaigns import Campaign
from helpers.models.mutated_headers import mutated, run_batch
from helpers.paths import BUNDLED_MODELS, SHARED_MODELS
from helpers.processes import run_engine

HANG_S = 20.0
READ_GGUF, READ_SAFETENSORS, LOAD_GGUF, LOAD_SAFETENSORS, LISTED = 5_000, 2_000, 2_000, 150, 500
_BATCH = 50
_HEADER = 4_000
REAL_MODELS = [*sorted(BUNDLED_MODELS.glob("*.gguf")), *sorted(SHARED_MODELS.glob("gguf/**/*.gguf"))]
OF_EACH_KIND = ("demo-target.Q8_0", "demo-draft.Q8_0", "stories260K-Q8_0", "stories-mamba131K-F32", "babyllama105-F32")


def _safetensors() -> Path:
    found = sorted((SHARED_MODELS / "hf").glob("*/model.safetensors"))
    if not found:
        pytest.skip(f"no safetensors model below {SHARED_MODELS}")
    return found[0]


def _judge(answers: list[dict[str, Any]]) -> dict[str, Any]:
    for answer in answers:
        assert answer["seconds"] < HANG_S, answer
        if answer["outcome"] != "works":
            assert 8 < len(answer["message"]) < 700, answer
            assert "\n" not in answer["message"], answer
            assert "Traceback" not in answer["message"], answer
    slowest = max(answer["seconds"] for answer in answers)
    return {**Counter(answer["outcome"] for answer in answers), "slowest_s": slowest}


def test_a_few_headers_are_read(bundled_draft: Path, tmp_path: Path) -> None:
    figures = _judge(run_batch("read", bundled_draft, tmp_path, random.Random().randrange(2**32), 150))
    assert figures["ModelFileBroken"] > 50


@pytest.mark.parametrize(
    "model", [path for path in REAL_MODELS if path.stem in OF_EACH_KIND], ids=lambda path: path.stem
)
def test_a_few_are_loaded(model: Path, tmp_path: Path) -> None:
    _judge(run_batch("load", model, tmp_path, random.Random().randrange(2**32), 15))


def _list_all(model: Path, folder: Path, seed: int, tries: int) -> None:
    """List folders of mutated files with the command line."""
    drawn, whole = random.Random(seed), model.read_bytes()
    for first in range(0, tries, _BATCH):
        place = folder / "listed"
        place.mkdir()
        count = min(_BATCH, tries - first)
        for number in range(count):
            (place / f"{number}.gguf").write_bytes(mutated(whole[:_HEADER], drawn) + whole[_HEADER:])
        done = run_engine("models", str(place), "--json", timeout=HANG_S * count)
        assert done.returncode == 0, f"seed {seed}, {first}: {done.stderr}"
        assert not done.stderr, f"seed {seed}, {first}: {done.stderr}"
        assert len(json.loads(done.stdout)["models"]) == count
        shutil.rmtree(place)


def test_a_few_are_listed(bundled_draft: Path, tmp_path: Path) -> None:
    _list_all(bundled_draft, tmp_path, random.Random().randrange(2**32), 20)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("way", "whole"), [("read", READ_GGUF), ("load", LOAD_GGUF)])
def test_mutated_gguf(way: str, whole: int, tmp_path: Path, campaign: Campaign) -> None:
    """The draft's header is read, and those of all models in turn are loaded."""
    models = REAL_MODELS if way == "load" else REAL_MODELS[:1]
    tries, answers = -(-campaign.tries(whole) // len(models)), []
    for number, model in enumerate(models):
        (tmp_path / str(number)).mkdir()
        answers += run_batch(way, model, tmp_path / str(number), campaign.seed + number, tries)
    campaign.note(**_judge(answers))


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("way", "whole"), [("read", READ_SAFETENSORS), ("load", LOAD_SAFETENSORS)])
def test_mutated_safetensors(way: str, whole: int, tmp_path: Path, campaign: Campaign) -> None:
    campaign.note(**_judge(run_batch(way, _safetensors(), tmp_path, campaign.seed, campaign.tries(whole))))


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_mutated_gguf_in_lists(bundled_draft: Path, tmp_path: Path, campaign: Campaign) -> None:
    _list_all(bundled_draft, tmp_path, campaign.seed, campaign.tries(LISTED))
