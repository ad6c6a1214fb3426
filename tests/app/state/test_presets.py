"""Presets of sampling and system prompts: saved, renamed, deleted, exported, and imported whole or not at all."""

import json
from typing import Any

import pytest

from app.state.settings.generation import PRESET, GenerationChoice
from app.state.settings.presets import (
    BUILT_IN,
    BUILT_IN_PROMPTS,
    LONGEST_NAME,
    MOST,
    GenerationPreset,
    PresetsRefused,
    SystemPrompt,
    applied,
    fits,
    presets,
    prompts,
)

MINE = GenerationPreset("Mine", GenerationChoice(temperature=0.3, seed=7, stop=("END",), max_tokens=50))


def test_some_are_built_in() -> None:
    saved = presets()
    assert [each.name for each in saved] == [each.name for each in BUILT_IN]
    assert BUILT_IN[0].values == GenerationChoice(), "the first is what the program does anyway"
    assert len({each.key for each in BUILT_IN}) == len(BUILT_IN)
    assert len(list(prompts())) == len(BUILT_IN_PROMPTS)


def test_saved_renamed_replaced_deleted() -> None:
    saved = presets()
    saved.save(MINE)
    assert saved.find(" mine ") == MINE
    saved.save(GenerationPreset("MINE", GenerationChoice(top_k=3)))
    assert [each.values.top_k for each in saved.own] == [3]
    saved.rename("mine", "  Other   one ")
    assert [each.name for each in saved.own] == ["Other one"]
    saved.rename("Other one", "other ONE")
    with pytest.raises(KeyError):
        saved.rename("Mine", "again")
    saved.delete("other one")
    assert saved.own == []
    with pytest.raises(KeyError):
        saved.delete("Greedy")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("x" * (LONGEST_NAME + 1), "long"),
        ("greedy", "taken"),
        ("Gierig", "taken"),
        ("New", None),
    ],
)
def test_names(name: str, problem: str | None) -> None:
    saved = presets()
    saved.words = {"greedy": "Gierig"}
    assert saved.name_problem(name) == problem
    if problem is not None:
        with pytest.raises(ValueError, match=problem):
            saved.save(GenerationPreset(name, GenerationChoice()))
        assert saved.own == []


def test_there_is_an_end_to_them() -> None:
    saved = prompts()
    for number in range(MOST):
        saved.save(SystemPrompt(f"prompt {number}", "text"))
    assert saved.name_problem("one more") == "full"
    assert saved.name_problem("prompt 2 again", besides="prompt 2") is None


def test_a_preset_leaves_the_rest() -> None:
    before = GenerationChoice(system="Be brief.", method="ngram", top_k=9)
    after = applied(MINE, before)
    assert fits(MINE, after)
    assert not fits(MINE, before)
    assert (after.system, after.method, after.top_k) == ("Be brief.", "ngram", 0)


def test_kept_and_read_again() -> None:
    saved = presets()
    saved.save(MINE)
    again = presets(json.loads(json.dumps(saved.to_list())))
    assert again.own == [MINE]
    wrong: list[Any] = [{"name": "bad", "temperature": -1}, {"name": ""}, {}, 7, {"name": "greedy"}, MINE.to_mapping()]
    assert presets(wrong).own == [MINE]


def test_exported_and_imported() -> None:
    saved, other = presets(), presets()
    saved.save(MINE)
    saved.save(GenerationPreset("Ünïcode 🙂", GenerationChoice(temperature=1.5)))
    data = saved.export().encode()
    assert other.import_(data) == (2, 0)
    assert other.own == saved.own
    assert other.import_(data) == (0, 0), "they are there already"
    other.save(GenerationPreset("Mine", GenerationChoice(top_k=1)))
    assert other.import_(data) == (1, 1)
    assert [each.name for each in other.own] == ["Mine", "Ünïcode 🙂", "Mine (2)"]


def told(*items: object, **more: object) -> bytes:
    return json.dumps({"format": "outrider-presets", "version": 1, "items": list(items), **more}).encode()


@pytest.mark.parametrize(
    ("data", "problem", "place", "field"),
    [
        (b"", "json", 0, ""),
        (b"{", "json", 0, ""),
        (b"\xff\xfe", "json", 0, ""),
        (b"[" * 100_000, "json", 0, ""),
        (b"[]", "other", 0, ""),
        (told(format="outrider-prompts"), "other", 0, ""),
        (told(version=2), "newer", 0, ""),
        (told(version=True), "list", 0, ""),
        (told(version="1"), "list", 0, ""),
        (told(items={}), "list", 0, ""),
        (told(), "nothing", 0, ""),
        (told(7), "list", 1, ""),
        (told({"name": "good"}, {}), "name", 2, ""),
        (told({"name": "x" * 100}), "name", 1, ""),
        (told({"name": "a"}, {"name": "A "}), "twice", 2, "A"),
        (told({"name": "a", "temperature": 200}), "value", 1, "temperature"),
        (told({"name": "good"}, {"name": "a", "stop": "END"}), "value", 2, "stop"),
        (told({"name": "a", "temperature": 10**400}), "value", 1, "temperature"),
        (told(*({"name": f"{n}", "seed": n} for n in range(MOST + 1))), "many", 0, ""),
        # Far too many are not compared with each other first, which would take hours.
        (told(*({"name": f"{n}"} for n in range(100_000))), "many", 0, ""),
    ],
)
def test_a_file_that_makes_no_sense_changes_nothing(data: bytes, problem: str, place: int, field: str) -> None:
    saved = presets()
    saved.save(MINE)
    with pytest.raises(PresetsRefused) as refused:
        saved.import_(data)
    assert (refused.value.problem, refused.value.place, refused.value.field) == (problem, place, field)
    assert saved.own == [MINE]


def test_any_cut_of_a_file_changes_nothing_or_is_whole() -> None:
    saved = presets()
    saved.save(MINE)
    data = saved.export().encode()
    for length in range(len(data) - 1):
        other = presets()
        with pytest.raises(PresetsRefused):
            other.import_(data[:length])
        assert other.own == []


def test_prompts_are_checked_too() -> None:
    saved = prompts()
    for text in ("", "  ", 7, None, "x" * 300_000):
        data = json.dumps({"format": "outrider-prompts", "version": 1, "items": [{"name": "a", "text": text}]})
        with pytest.raises(PresetsRefused) as refused:
            saved.import_(data.encode())
        assert refused.value.field == "text"
    saved.save(SystemPrompt("Pirate", "Talk like a pirate."))
    other = prompts()
    assert other.import_(saved.export().encode()) == (1, 0)
    assert other.own == saved.own


def test_a_preset_holds_all_of_sampling() -> None:
    assert set(GenerationPreset("x", GenerationChoice()).to_mapping()) == {"name", *PRESET}
