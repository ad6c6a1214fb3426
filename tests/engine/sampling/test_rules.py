"""One table of the sampling rules: whoever needs them reads it, and each rule does the same in both codes."""

import argparse
import ctypes
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from engine.cli.common import add_sampling_options
from engine.config import SamplingConfig
from engine.errors import InvalidSampling
from engine.sampling import native_rules
from engine.sampling.candidates import Candidates
from engine.sampling.distribution import candidates, distribution, uniform
from engine.sampling.native_rows import NativeRows
from engine.sampling_rules import CUTS, PENALTIES, RULES, SIGNATURE, TABLE, Rule, read_table
from helpers.decoding.compiled_rows import compiled_rows
from helpers.paths import ROOT

KERNELS = ROOT / "engine" / "backends" / "llama_cpp" / "kernels"
NOT_RULES = {"logit_bias", "banned_tokens", "seed"}
AT_WORK: dict[str, Any] = {
    "temperature": 0.7,
    "top_n_sigma": 0.8,
    "top_k": 5,
    "typical": 0.6,
    "top_p": 0.8,
    "min_p": 0.2,
    "repeat_penalty": 1.4,
    "presence_penalty": 0.8,
    "frequency_penalty": 0.5,
    "penalty_window": 2,
}
"""Of each rule a number with which it changes something."""
MORE = 'SAMPLING_CUT(one_more, double, 0.0, "[0, 1]", "a rule that the compiled code does not know")\n'
HISTORY = [3, 3, 5, 7, 11, 3]


@pytest.fixture(scope="module")
def compiled() -> NativeRows:
    return compiled_rows(whole_drafts=True)


@pytest.fixture
def one_more(monkeypatch: pytest.MonkeyPatch) -> tuple[Rule, ...]:
    """The table with an entry that only Python knows."""
    rules = read_table(TABLE.read_text(encoding="utf-8") + MORE)
    monkeypatch.setattr(native_rules, "SIGNATURE", "".join(rule.signature for rule in rules))
    return rules


def test_a_request_has_a_number_for_each_rule_and_no_other() -> None:
    assert {each.name for each in fields(SamplingConfig)} - NOT_RULES == {rule.name for rule in RULES}
    for rule in RULES:
        default = getattr(SamplingConfig(), rule.name)
        assert (default, type(default)) == (rule.off, type(rule.off))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_range_is_that_of_the_table(rule: Rule) -> None:
    least = rule.least + 1e-6 if rule.above else rule.least
    for value in (rule.most, least):
        assert getattr(SamplingConfig(**{rule.name: value}), rule.name) == value  # type: ignore[arg-type]
    wrong: list[Any] = [rule.least - 1, rule.most + 1, "1", None, True, float("nan"), [], *([rule.least] * rule.above)]
    for value in wrong:
        with pytest.raises(InvalidSampling, match=f"^{rule.name} must be "):
            SamplingConfig(**{rule.name: value})


def test_each_rule_is_an_option_of_the_command_line() -> None:
    parser = argparse.ArgumentParser()
    add_sampling_options(parser)
    options = {each.dest: each for each in parser._actions}
    for rule in RULES:
        assert options[rule.name].help == rule.help
        given = vars(parser.parse_args([rule.option, str(AT_WORK[rule.name])]))
        assert given[rule.name] == AT_WORK[rule.name]
        assert type(given[rule.name]) is type(rule.off)


def test_the_structures_of_the_compiled_functions_are_made_of_the_table() -> None:
    assert [name for name, *_ in native_rules.Cuts._fields_] == [rule.name for rule in CUTS]
    names = [name for name, *_ in native_rules.Rules._fields_]
    assert names[: 1 + len(PENALTIES)] == ["cuts", *(rule.name for rule in PENALTIES)]
    sampling = SamplingConfig(**AT_WORK)
    made = native_rules.rules_of(sampling, 7, 0.0, native_rules.Named(sampling))
    for rule in RULES:
        value = getattr(made.cuts if rule.kind == "cut" else made, rule.name)
        assert value == pytest.approx(AT_WORK[rule.name])


def test_no_rule_is_written_out_a_second_time_in_the_compiled_structures() -> None:
    """The names that the table brings are declared nowhere else, and each of the two structs includes it."""
    code = {name: (KERNELS / name).read_text(encoding="utf-8") for name in ("cuts.h", "draw.cpp", "rows.cpp")}
    assert all('#include "../../../sampling_rules.def"' in text for text in code.values())
    for rule in RULES:
        for text in code.values():
            assert not re.search(rf"\b(int64_t|float|double) (\w+, )*{rule.name}\b\s*[;,=]", text)


@pytest.mark.parametrize(
    "line",
    [
        'SAMPLING_CUT(x, double, 0.0, "[0, 1)", "open above")',
        'SAMPLING_CUT(x, int, 0, "[0, 1]", "another type")',
        'SAMPLING_RULE(x, double, 0.0, "[0, 1]", "another kind")',
        'SAMPLING_CUT(x, double, 0.0, "[0, 1]")',
        'SAMPLING_CUT(x, double, 0.0, "[0, 1]", "behind it" ) // more',
    ],
)
def test_a_line_that_is_no_rule_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="is not a rule"):
        read_table(line)


def test_both_sides_were_made_of_the_same_table(compiled: NativeRows) -> None:
    assert compiled.library.outrider_sampling_rules().decode() == SIGNATURE
    assert compiled.library.outrider_work_size() == ctypes.sizeof(native_rules.Work)


def test_a_library_with_another_table_is_refused(compiled: NativeRows, one_more: tuple[Rule, ...]) -> None:
    assert len(one_more) == len(RULES) + 1
    with pytest.raises(native_rules.OtherRules):
        NativeRows(compiled.library)


@pytest.mark.logs("another table of sampling rules")
def test_without_the_same_table_numpy_draws_and_it_is_said(compiled: NativeRows, one_more: tuple[Rule, ...]) -> None:
    from engine.backends.llama_cpp.library import library_rows  # noqa: PLC0415 - loads llama.cpp
    from engine.sampling.rows import NUMPY  # noqa: PLC0415 - with it

    assert one_more
    assert library_rows.__wrapped__() is NUMPY


def test_with_one_more_entry_the_structures_have_another_size(one_more: tuple[Rule, ...]) -> None:
    class Larger(ctypes.Structure):
        _fields_ = native_rules.fields_of(tuple(rule for rule in one_more if rule.kind == "cut"))

    assert ctypes.sizeof(Larger) > ctypes.sizeof(native_rules.Cuts)


def _rows(seed: int, size: int) -> Iterator[Any]:
    rng = np.random.default_rng(seed)
    for sharpness in (0.5, 1.5, 4.0):
        yield rng.normal(scale=sharpness, size=size).astype(np.float32)
    with_holes = rng.normal(scale=2.0, size=size).astype(np.float32)
    with_holes[rng.random(size) < 0.4] = -np.inf
    with_holes[HISTORY] = 1.5
    yield with_holes


def _at_work(names: tuple[str, ...]) -> SamplingConfig:
    """With these rules at work, and a penalty where one only says what the others look at."""
    chosen = {name: AT_WORK[name] for name in names}
    if "penalty_window" in chosen:
        chosen.setdefault("frequency_penalty", 0.5)
    return SamplingConfig(**{"temperature": 1.0, **chosen})


def test_an_example_for_each_rule() -> None:
    assert set(AT_WORK) == {rule.name for rule in RULES}
    assert all(value != next(rule.off for rule in RULES if rule.name == name) for name, value in AT_WORK.items())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_changes_the_distribution(rule: Rule) -> None:
    with_it = _at_work((rule.name,))
    off: dict[str, Any] = {rule.name: 1.0 if rule.name == "temperature" else rule.off}
    without = replace(with_it, **off)
    for row in _rows(1, 40):
        assert np.abs(distribution(row, with_it, HISTORY) - distribution(row, without, HISTORY)).sum() > 1e-3


def _alike(found: Candidates, known: Candidates) -> None:
    """The same tokens, as likely up to the rounding of float32."""
    np.testing.assert_array_equal(found.dense() > 0.0, known.dense() > 0.0)
    np.testing.assert_allclose(found.dense(), known.dense(), rtol=2e-5, atol=1e-12)


@pytest.mark.parametrize("count", range(1, len(CUTS) + 1))
def test_every_combination_of_cuts_is_the_same_in_both_codes(compiled: NativeRows, count: int) -> None:
    for names in combinations([rule.name for rule in CUTS], count):
        for size in (30, 1003):
            _check_combination(compiled, names, size)


def _check_combination(compiled: NativeRows, names: tuple[str, ...], size: int) -> None:
    for penalty in ((), *((each.name,) for each in PENALTIES), tuple(each.name for each in PENALTIES)):
        sampling = _at_work((*names, *penalty))
        sampler = compiled.sampler(sampling, 9)
        assert sampler is not None
        for position, row in enumerate(_rows(size, size)):
            known = candidates(row, sampling, HISTORY)
            _alike(candidates(row, sampling, HISTORY, rows=compiled), known)
            np.testing.assert_allclose(known.dense(), distribution(row, sampling, HISTORY), rtol=2e-5, atol=1e-7)
            proposal = sampler.propose(row[None], size, size, position, HISTORY)
            assert proposal is not None
            assert proposal.probs is not None
            _alike(proposal.probs, known)
            assert proposal.token == known.draw(uniform(9, position, "draft"))
            assert proposal.probs.highest == pytest.approx(known.highest, rel=2e-5)
