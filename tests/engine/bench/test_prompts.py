"""The prompts of `bench`: its own sets, files of users, and what a target cannot answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.bench.prompts import ALL, BenchPrompt, bundled_prompts, read_prompts
from engine.bench.runs import LeftOut, prepare
from engine.decoder import SpeculativeDecoder
from engine.errors import InvalidRequest
from engine.messages.message import Message
from helpers.decoding.fake_backend import FakeBackend


def test_own_sets_fit_a_small_context(bundled_target: Path) -> None:
    prompts = bundled_prompts()
    sizes = {name: sum(p.category == name for p in prompts) for name in dict.fromkeys(p.category for p in prompts)}
    assert list(sizes) == ["chat", "code", "rewriting", "prose", "hostile"]
    assert min(sizes.values()) >= 4
    assert len(bundled_prompts(1)) == 5
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(bundled_target)
        assert decoder.target is not None
        prepared, left_out = prepare(decoder.target, prompts)
    assert not left_out
    assert all(len(p.tokens) + p.max_tokens <= 512 for p in prepared)
    assert len({p.tokens for p in prepared}) == len(prompts)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.txt", "One\n\n  Two \n", [(ALL, 0, "One", None), (ALL, 1, "Two", None)]),
        ("a.json", '["One"]', [(ALL, 0, "One", None)]),
        ("a.txt", '["One"]', [(ALL, 0, "One", None)]),
        (
            "a.json",
            '{"b": [{"prompt": "x", "max_tokens": 9}], "c": [[{"role": "user", "content": "y"}]]}',
            [("b", 0, "x", 9), ("c", 0, (Message("user", "y"),), None)],
        ),
    ],
)
def test_prompt_files(tmp_path: Path, name: str, content: str, found: list[Any]) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    assert read_prompts(path) == tuple(BenchPrompt(*each) for each in found)


def test_only_the_first_of_each_category(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"b": ["1", "2"], "c": ["3", "4"]}), "utf-8")
    assert [each.prompt for each in read_prompts(path, 1)] == ["1", "3"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "has no prompts"),
        (b"[]", "has no prompts"),
        (b"[1]", "The prompt 1 in p.json is neither a text nor a list"),
        (b'{"a": ["x", ""]}', "The prompt 2 of a in p.json is neither"),
        (b'{"a": "x"}', "does not contain prompts"),
        (b'[{"prompt": "x", "max_tokens": 0}]', "max_tokens of prompt 1"),
        (b'[[{"role": "judge", "content": "x"}]]', "cannot be used: A message's role"),
        (b"[", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff\xfe", "not text in UTF-8"),
    ],
)
def test_bad_prompt_files(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / ("p.json" if content else "p.txt")
    path.write_bytes(content)
    with pytest.raises(InvalidRequest, match=says):
        read_prompts(path)


def test_prompts_that_do_not_fit_are_left_out_with_a_reason() -> None:
    target = FakeBackend(8, context_length=40)
    prompts = [BenchPrompt("a", 0, "x" * 36), BenchPrompt("a", 1, "x" * 10, 12), BenchPrompt("b", 0, "x" * 10)]
    prepared, left_out = prepare(target, prompts, max_tokens=20)
    assert [(p.number, len(p.tokens), p.max_tokens) for p in prepared] == [(1, 10, 12), (0, 10, 20)]
    assert left_out == [LeftOut("a", 0, "it has 36 tokens, but the context holds 40")]
    assert prepare(target, prompts[1:])[0][1].max_tokens == 30
    with pytest.raises(InvalidRequest, match="cannot answer this prompt: it has 36 tokens"):
        prepare(target, prompts[:1])
    with pytest.raises(InvalidRequest, match="can answer none of the prompts"):
        prepare(target, prompts[:1] * 2)
