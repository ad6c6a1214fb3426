"""How the makers of a model recommend to sample: read from GGUF headers and generation_config.json, and used."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import NotAvailable, SamplingConfig, inspect_model, scan_folder
from engine.formats.gguf import types
from engine.library.presets import recommended_sampling
from helpers.models.gguf_writer import Entry, GgufDraft, tiny_draft
from helpers.processes import run_engine

GGUF: list[tuple[dict[str, Any], SamplingConfig | None]] = [
    ({}, None),
    (
        {"temp": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.0},
        SamplingConfig(temperature=0.6, top_k=20, top_p=0.95, min_p=0.0),
    ),
    ({"temp": 0.0}, SamplingConfig()),
    ({"top_p": 0.9}, SamplingConfig(temperature=1.0, top_p=0.9)),
    ({"penalty_repeat": 1.1, "penalty_last_n": -1}, SamplingConfig(repeat_penalty=1.1, penalty_window=0)),
    ({"penalty_last_n": 64}, None),
    ({"temp": -1.0, "top_k": -1, "top_p": 7.0}, SamplingConfig(temperature=1.0, top_k=0)),
    ({"temp": 2e9, "mirostat": 2, "sequence": "temperature;top_k"}, None),
    ({"temp": "warm"}, None),
    ({"temp": True}, None),
]
CONFIGS: list[tuple[str, SamplingConfig | None]] = [
    ("{}", None),
    ('{"eos_token_id": 2, "do_sample": false, "temperature": 0.6}', None),
    (
        '{"do_sample": true, "temperature": 0.7, "top_k": 20, "top_p": 0.8, "repetition_penalty": 1.05}',
        SamplingConfig(temperature=0.7, top_k=20, top_p=0.8, repeat_penalty=1.05, penalty_window=0),
    ),
    ('{"temperature": 1, "top_p": 0.95, "top_k": 64}', SamplingConfig(temperature=1.0, top_p=0.95, top_k=64)),
    ('{"do_sample": true}', SamplingConfig(temperature=1.0)),
    ('{"do_sample": true, "temperature": "hot", "top_p": [0.9], "typical_p": 0.5}', SamplingConfig(1.0, typical=0.5)),
    ("{", None),
    ("[]", None),
]


def _kind(value: object) -> int:
    kinds = {bool: types.BOOL, int: types.INT32, float: types.FLOAT32, str: types.STRING}
    return kinds[type(value)]


@pytest.mark.parametrize(("said", "meant"), GGUF, ids=[str(place) for place in range(len(GGUF))])
def test_a_gguf_header_is_understood(tmp_path: Path, said: dict[str, Any], meant: SamplingConfig | None) -> None:
    draft = tiny_draft()
    draft.entries |= {f"general.sampling.{name}": Entry(_kind(value), value) for name, value in said.items()}
    path = tmp_path / "model.gguf"
    draft.write(path)
    assert inspect_model(path).recommended_sampling == meant


@pytest.mark.parametrize(
    ("template", "thinking"),
    [
        ("{{ messages }}<|im_start|>assistant", False),
        ("Think well. {{ messages }}", False),
        ("{% if enable_thinking %}{% endif %}", True),
        ("<|im_start|>assistant\n<think>\n", True),
        ("{{ m.content.split('</think>')[-1] }}", True),
        ("<|start|>assistant<|channel|>final<|message|>", True),
        ("[THINK]{{ m.thinking }}[/THINK]", True),
        ("<seed:think>", True),
    ],
)
def test_templates_of_models_that_think_are_known(tmp_path: Path, template: str, thinking: bool) -> None:
    draft = tiny_draft()
    draft.entries["tokenizer.chat_template"] = Entry(types.STRING, template)
    path = tmp_path / "model.gguf"
    draft.write(path)
    assert inspect_model(path).thinks == thinking


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("chat_template.jinja", "<think>"),
        ("tokenizer_config.json", '{"chat_template": "<think>"}'),
        ("tokenizer_config.json", '{"chat_template": [{"name": "default", "template": "<think>"}]}'),
    ],
)
def test_templates_of_folders_are_read_too(folder: Path, name: str, text: str) -> None:
    assert not inspect_model(folder).thinks
    (folder / name).write_text(text, encoding="utf-8")
    assert inspect_model(folder).thinks


@pytest.fixture
def folder(tmp_path: Path, shared_models: Path) -> Path:
    found = shared_models / "hf" / "stories260K"
    if not found.is_dir():
        pytest.skip("there is no hf/stories260K")
    shutil.copytree(found, tmp_path / "models" / "stories")
    return tmp_path / "models" / "stories"


@pytest.mark.parametrize(("said", "meant"), CONFIGS, ids=[str(place) for place in range(len(CONFIGS))])
def test_a_generation_config_is_understood(folder: Path, said: str, meant: SamplingConfig | None) -> None:
    (folder / "generation_config.json").write_text(said, encoding="utf-8")
    model = inspect_model(folder)
    assert model.recommended_sampling == meant
    # The first scan reads the files, the second one what is kept of them.
    assert [each.recommended for each in (*scan_folder(folder.parent), *scan_folder(folder.parent))] == [
        model.recommended
    ] * 2
    if meant is None:
        with pytest.raises(NotAvailable, match="does not say how to sample"):
            recommended_sampling(folder)
    else:
        assert recommended_sampling(folder) == meant


def _tokens(*arguments: str) -> list[int]:
    done = run_engine("generate", "--json", "--threads", "1", "--max-tokens", "24", "--seed", "7", *arguments)
    assert done.returncode == 0, done.stderr
    tokens: list[int] = json.loads(done.stdout)["tokens"]
    return tokens


def test_a_model_is_asked_as_it_recommends(shared_gguf: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "thinker.gguf"
    draft = GgufDraft.of_file(shared_gguf("stories260K-F32"))
    draft.entries["general.sampling.temp"] = Entry(types.FLOAT32, 1.5)
    draft.entries["general.sampling.top_k"] = Entry(types.INT32, 40)
    draft.write(path)
    asked = ("--target", str(path), "Once upon a time")
    greedy = _tokens(*asked)
    recommended = _tokens(*asked, "--preset", "recommended")
    assert recommended == _tokens(*asked, "--temperature", "1.5", "--top-k", "40")
    assert recommended != greedy
    # What is asked for beside it counts.
    assert _tokens(*asked, "--preset", "recommended", "--temperature", "0") == greedy
    refused = run_engine("generate", "--preset", "recommended", "Hello")
    assert refused.returncode == 2
    assert "demo-target.Q8_0.gguf does not say how to sample from it." in refused.stderr
