"""No model file, however broken, ends a process of ours by a signal; each gives one clear error."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.models.load_damaged import damaged_copy, damages_of, load_all
from helpers.paths import BUNDLED_MODELS, SHARED_MODELS
from helpers.processes import run_engine

CUTS, CORRUPTIONS = 15, 15
REAL_MODELS = [*sorted(BUNDLED_MODELS.glob("*.gguf")), *sorted(SHARED_MODELS.glob("gguf/**/*.gguf"))]
CHOSEN = {"demo-target", "demo-draft", "stories260K-Q8_0", "stories-mamba131K-F32", "babyllama105-F32"}


def chosen() -> list[Path]:
    """A model of every kind, the bundled ones among them."""
    return [path for path in REAL_MODELS if path.name.partition(".")[0] in CHOSEN]


def check_answers(answers: list[dict[str, str]]) -> None:
    """Each is a sentence for a person, or the model works in spite of the damage."""
    for answer in answers:
        if answer["outcome"] != "works":
            assert 20 < len(answer["message"]) < 600, answer
            assert "\n" not in answer["message"]
            assert "Traceback" not in answer["message"]


@pytest.mark.skipif(not REAL_MODELS, reason="no real model here")
@pytest.mark.parametrize("model", chosen(), ids=lambda path: path.stem)
def test_damaged_files_give_errors_and_no_signal(model: Path, tmp_path: Path) -> None:
    damages = damages_of(model, cuts=CUTS, corruptions=CORRUPTIONS, seed=11)
    answers = load_all(model, tmp_path, damages)
    check_answers(answers)
    cut = answers[CORRUPTIONS:]
    assert {answer["outcome"] for answer in cut} == {"ModelFileBroken"}
    corrupted = Counter(answer["outcome"] for answer in answers[:CORRUPTIONS])
    assert corrupted["ModelFileBroken"] > CORRUPTIONS // 3
    assert not set(corrupted) - {"works", "ModelFileBroken", "ModelNotSupported", "LoadFailed", "TextNotEncodable"}


@pytest.mark.skipif(not REAL_MODELS, reason="no real model here")
def test_the_command_line_says_one_line(tmp_path: Path) -> None:
    model = chosen()[0]
    damages = damages_of(model, cuts=2, corruptions=2, seed=5)
    for index, damage in enumerate(damages):
        copy = tmp_path / f"damaged-{index}.gguf"
        copy.write_bytes(model.read_bytes())
        damaged_copy(copy, damage)
        done = run_engine("generate", "--target", str(copy), "--max-tokens", "4", "--json", "Hello!")
        assert done.returncode in {0, 2}, (damage, done.returncode, done.stderr)
        assert "Traceback" not in done.stderr
        if done.returncode == 2:
            assert len(done.stderr.strip().splitlines()) == 1
            assert done.stdout == ""
    done = run_engine("models", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)["models"]
    assert len(listed) == len(damages)
    assert sum(entry["problem"] is not None for entry in listed) >= 2


def test_the_command_line_on_the_fragile_model(shared_gguf: Callable[[str], Path]) -> None:
    fragile = shared_gguf("fragile/babyllama105-F32")
    done = run_engine("generate", "--target", str(fragile), "--raw", "--max-tokens", "8", "--json", "Once upon a time")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tokens"]) == 8
    done = run_engine("generate", "--target", str(fragile), "--raw", "Once\nupon")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "U+000A" in done.stderr


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not REAL_MODELS, reason="no real model here")
def test_two_thousand_damages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    each = -(-2000 // len(REAL_MODELS))
    figures: Counter[str] = Counter()
    deaths: Counter[str] = Counter()
    for seed, model in enumerate(REAL_MODELS):
        answers = load_all(model, tmp_path, damages_of(model, cuts=0, corruptions=each, seed=1000 + seed))
        check_answers(answers)
        for answer in answers:
            died = "llama.cpp cannot run this file" in answer["message"]
            figures["ended the child" if died else answer["outcome"]] += 1
            if died:
                deaths[answer["message"].partition("(")[2].rpartition(")")[0]] += 1
    with capsys.disabled():
        print(f"\n{sum(figures.values())} damaged files: {dict(figures)}; {dict(deaths)}")
    assert sum(figures.values()) >= 2000
