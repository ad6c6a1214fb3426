"""Presets: every pair is backed by facts, and answers to its names."""

import json
import re
from typing import Any

import pytest

from engine.errors import UnknownPreset
from engine.library import presets
from engine.library.presets import Preset, PresetModel, all_presets, find_preset
from helpers.models.preset_files import DATA, FACTS, facts_of

PRESETS = json.loads((DATA / "presets.json").read_text(encoding="utf-8"))
MOST_PADDING = 512
"""Token ids that a model may have beyond those of its tokenizer: families round up."""


def pairs() -> list[Preset]:
    return [preset for preset in all_presets() if preset.draft is not None and not preset.draft.bundled]


def tokenizer_of(model: PresetModel) -> dict[str, Any]:
    tokenizer: dict[str, Any] = FACTS["tokenizers"][facts_of(model)["tokenizer"]]
    return tokenizer


def values(data: object) -> list[dict[str, Any]]:
    """Everything in the facts that names a source."""
    if isinstance(data, dict):
        inner = [found for value in data.values() for found in values(value)]
        return [data, *inner] if "source" in data else inner
    return [found for value in data for found in values(value)] if isinstance(data, list) else []


def test_every_fact_has_a_source_with_a_revision() -> None:
    for source in FACTS["sources"].values():
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", source["repository"])
        assert source["file"]
        assert re.fullmatch(r"[0-9a-f]{40}", source["revision"])
    found = [*values(FACTS["tokenizers"]), *values(FACTS["models"])]
    assert len(found) > 150
    used = set()
    for fact in found:
        if fact["source"] is None:
            assert fact["value"] is None
        else:
            used.add(fact["source"])
    used |= {entry["sampling_source"] for entry in PRESETS["presets"] if "sampling_source" in entry}
    assert used == set(FACTS["sources"])


def test_hashes_are_hashes_and_equal_where_a_tokenizer_is_called_shared_for_it() -> None:
    for tokenizer in FACTS["tokenizers"].values():
        by_file: dict[str, set[str]] = {}
        for entry in tokenizer["hashes"]:
            assert re.fullmatch(r"[0-9a-f]{64}", entry["sha256"])
            assert entry["revision"] is None or re.fullmatch(r"[0-9a-f]{40}", entry["revision"])
            by_file.setdefault(entry["file"], set()).add(entry["sha256"])
        assert all(len(found) == 1 for found in by_file.values())


@pytest.mark.parametrize("preset", pairs(), ids=lambda preset: preset.name)
def test_a_pair_fits_by_what_is_known_of_it(preset: Preset) -> None:
    assert preset.draft is not None
    target, draft = facts_of(preset.target), facts_of(preset.draft)
    assert target["tokenizer"] == draft["tokenizer"]
    tokenizer = tokenizer_of(preset.target)
    assert tokenizer["shared"]["claim"]
    assert tokenizer["shared"]["source"] in FACTS["sources"]
    tokens, ends = tokenizer["text_tokens"]["value"], tokenizer["ends"]["value"]
    assert tokenizer["begin"]["source"] is not None
    for rows in (target["rows"]["value"], draft["rows"]["value"]):
        assert tokens <= rows <= tokens + MOST_PADDING
        assert max(ends) < rows
    assert target["parameters"]["value"][0] > 2 * draft["parameters"]["value"][1]
    assert set(preset.target.architectures) == set(preset.draft.architectures)
    assert preset.speculation.method == "draft-model"


@pytest.mark.parametrize("preset", all_presets(), ids=lambda preset: preset.name)
def test_a_preset_agrees_with_the_facts(preset: Preset) -> None:
    for model in (preset.target, preset.draft):
        if model is None or model.bundled:
            continue
        facts = facts_of(model)
        assert all(model.parameters[0] < number < model.parameters[1] for number in facts["parameters"]["value"])
        assert model.vocabulary[0] <= facts["rows"]["value"] <= model.vocabulary[1]
        assert tokenizer_of(model)["text_tokens"]["value"] is not None
    if preset.draft is None:
        assert preset.speculation.method == "ngram"
        assert preset.note
    assert (preset.sampling_source is None) is preset.sampling.greedy


def test_the_padded_vocabularies_of_qwen() -> None:
    preset = find_preset("qwen-2.5-7b")
    assert preset.draft is not None
    assert facts_of(preset.target)["rows"]["value"] == 152_064
    assert facts_of(preset.draft)["rows"]["value"] == 151_936


def test_the_promised_names() -> None:
    drafts = {}
    for name in ("llama-3.1-8b", "qwen-2.5-7b", "mistral-7b", "phi-3.5-mini"):
        preset = find_preset(name)
        drafts[name] = None if preset.draft is None else preset.draft.name
    assert drafts == {
        "llama-3.1-8b": "meta-llama/Llama-3.2-1B-Instruct",
        "qwen-2.5-7b": "Qwen/Qwen2.5-0.5B-Instruct",
        "mistral-7b": None,
        "phi-3.5-mini": None,
    }
    assert find_preset("mistral-7b").speculation.method == find_preset("phi-3.5-mini").speculation.method == "ngram"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("LLAMA-3.1-8B", "llama-3.1-8b"),
        ("llama3.1:8b", "llama-3.1-8b"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("Qwen2.5-7B-Instruct", "qwen-2.5-7b"),
        ("qwen 2.5 coder 7b", "qwen-2.5-coder-7b"),
        ("Gemma_3_27b_it", "gemma-3-27b"),
        ("mistral", "mistral-7b"),
        ("Demo", "demo"),
    ],
)
def test_names_are_found_however_they_are_written(written: str, name: str) -> None:
    assert find_preset(written).name == name


def test_no_two_presets_answer_to_one_name() -> None:
    keys = [key for preset in all_presets() for key in {presets._key(n) for n in (preset.name, *preset.aliases)}]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", ["lama-3.1-8b", "qwen-2.5-8b", "", "x" * 1000, "../secret", "\x1b"])
def test_an_unknown_name_is_answered_with_near_ones(name: str) -> None:
    with pytest.raises(UnknownPreset) as error:
        find_preset(name)
    assert "There is no preset" in str(error.value)
    if name == "lama-3.1-8b":
        assert "llama-3.1-8b" in error.value.near
        assert "Did you mean llama-3.1-8b" in str(error.value)
    if not error.value.near:
        assert "Known: demo, llama-3.1-8b" in str(error.value)
