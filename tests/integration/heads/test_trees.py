"""Trees of proposals on real targets: the text is the target's, in one pass a round, on both backends."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.cancel import CancelToken
from engine.constraint import Constraint
from engine.decoder import SpeculativeDecoder
from engine.events import Finished, TokenEvent
from helpers.decoding.invariants import check_caches, follow
from helpers.heads.compiled_medusa import write_medusa_for
from helpers.heads.dflash import write_dflash
from helpers.heads.eagle import write_eagle3, write_plain_target
from helpers.heads.gemma4 import write_assistant, write_gemma4
from helpers.heads.medusa import write_medusa
from helpers.heads.mtp import write_mtp_target
from helpers.heads.replies import PROMPT, compare_proposals, draws_alike, follow_heads, open_in_folder, open_with_heads
from helpers.heads.torch_eagle import TorchEagleReference, write_torch_eagle
from helpers.models.pairs import assert_same_greedy, open_files, open_shared
from helpers.seldom import often
from helpers.weights.expert_model import TINY_GPT_OSS, write_expert_model

ENOUGH = 0.001
HEADS = ["eagle3-gguf", "dflash-gguf", "dflash2-gguf", "medusa-gguf", "assistant-gguf", "eagle3", "medusa"]
SHAPES = ["1x4", "2x1", "3x3", "4x8"]


@pytest.fixture(scope="module", params=often(HEADS, "eagle3-gguf", "dflash-gguf", "assistant-gguf", "medusa"))
def decoder(request: pytest.FixtureRequest, plain_target: Path, folder: Path) -> Iterator[SpeculativeDecoder]:
    if str(request.param).startswith("assistant"):
        target = write_gemma4(folder / "gemma4.gguf")
        with open_with_heads(target, write_assistant(folder / "assistant.gguf", target)) as opened:
            yield opened
        return
    if str(request.param).endswith("gguf"):
        medusa = str(request.param).startswith("medusa")
        target = write_plain_target(folder / "target.gguf", mixing=0.08) if medusa else plain_target
        dflash = str(request.param).startswith("dflash")
        selector = 6 if str(request.param).startswith("dflash2") else 0
        make: Any = (
            partial(write_medusa_for, heads=8, residual=0.2)
            if medusa
            else partial(write_dflash, selector=selector)
            if dflash
            else write_eagle3
        )
        with open_with_heads(target, make(folder / str(request.param), target)) as opened:
            yield opened
        return
    target = request.getfixturevalue("torch_target")
    write = write_medusa if request.param == "medusa" else write_torch_eagle
    with open_in_folder(target, write(folder / str(request.param), target)) as opened:
        yield opened


def test_the_text_is_the_targets(decoder: SpeculativeDecoder) -> None:
    assert decoder.target is not None
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
    chain = follow_heads(decoder, lookahead=3, max_tokens=40)
    for tree in SHAPES:
        result, stats = (found := follow_heads(decoder, tree=tree, max_tokens=40)), found.stats
        assert_same_greedy(decoder.target, PROMPT, plain, result)
        assert stats.target_forwards == stats.rounds
        assert stats.accepted > 3
        assert len(stats.proposed_by_position) <= int(tree[-1])
        assert max(stats.proposed_by_position) <= int(tree[0]) * stats.rounds
        if tree == "3x3":
            assert stats.accepted > chain.stats.accepted
            assert max(stats.proposed_by_position) > 2 * stats.rounds


@pytest.mark.parametrize(
    "decoder", [HEADS[0], *(pytest.param(head, marks=pytest.mark.soak) for head in HEADS[1:])], indirect=True
)
def test_the_distribution_is_the_targets(decoder: SpeculativeDecoder) -> None:
    assert draws_alike(decoder, tree="3x3", lookahead="default") > ENOUGH


def test_rules_and_stops(decoder: SpeculativeDecoder) -> None:
    """Penalties and a stop string end up where they do without a tree, and the next turn goes on from the cache."""
    assert decoder.target is not None
    rules: dict[str, Any] = {"repeat_penalty": 1.3, "frequency_penalty": 0.4, "temperature": 0.0, "max_tokens": 30}
    plain = decoder.generate(PROMPT, lookahead=0, **rules)
    result = follow_heads(decoder, tree="3x4", **rules)
    assert_same_greedy(decoder.target, PROMPT, plain, result)
    pieces = [decoder.target.tokenizer.piece(token).decode("utf-8", "replace").strip() for token in plain.tokens]
    stops: dict[str, Any] = {"stop": next(filter(None, pieces[8:]))} if any(pieces[8:]) else {}
    stops = stops or {"stop_tokens": plain.tokens[9]}
    plain = decoder.generate(PROMPT, lookahead=0, **stops, **rules)
    result = follow_heads(decoder, tree="3x4", **stops, **rules)
    assert (result.tokens, result.text, result.finish_reason) == (plain.tokens, plain.text, "stop")
    longer = [*PROMPT, *result.tokens, 41, 42]
    again = follow_heads(decoder, longer, tree="4x4", max_tokens=10)
    assert again.prompt_evaluated <= 4
    assert again.tokens == decoder.generate(longer, lookahead=0, temperature=0.0, max_tokens=10).tokens


def test_cancelling_and_the_context(decoder: SpeculativeDecoder) -> None:
    assert decoder.target is not None
    cancel, tokens = CancelToken(), list[int]()
    assert decoder.heads is not None
    method = decoder.heads.method
    for event in decoder.stream(PROMPT, temperature=0.0, method=method, tree="3x4", cancel=cancel):
        if isinstance(event, TokenEvent):
            tokens.append(event.token)
        if len(tokens) == 5:
            cancel.cancel()
        if isinstance(event, Finished):
            assert event.result.finish_reason == "cancelled"
    check_caches(decoder, [*PROMPT, *tokens])
    room = decoder.target.context_length
    prompt = [*PROMPT, *(40 + place % 40 for place in range(room - len(PROMPT) - 9))]
    result = follow_heads(decoder, prompt, tree="4x8", max_tokens=None)
    assert result.finish_reason in ("context", "stop")
    plain = decoder.generate(prompt, temperature=0.0, lookahead=0)
    assert_same_greedy(decoder.target, prompt, plain, result)


def test_what_a_head_makes_of_a_tree(torch_target: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows behind nodes that follow one another are those that the formulas give for their path, to 1e-4."""
    path = write_torch_eagle(folder / "referenced", torch_target, states=0.3)
    reference = TorchEagleReference(path, torch_target)
    with open_in_folder(torch_target, path) as decoder:
        heads = decoder.heads
        assert heads is not None
        layers = heads.state_layers
        original, seen = heads.grow, list[tuple[list[int], NDArray[np.float32]]]()
        paths: list[list[int]] = []

        def watched(tokens: Sequence[int], parents: Sequence[int]) -> Any:
            if all(parent < 0 for parent in parents):
                paths.clear()
            for token, parent in zip(tokens, parents, strict=True):
                paths.append([*(paths[parent] if parent >= 0 else ()), token])
            rows = original(tokens, parents)
            text = list(heads.tokens)
            seen.extend(
                ([len(text), *text, *behind], row.copy())
                for behind, row in zip(paths[-len(tokens) :], rows, strict=True)
            )
            return rows

        monkeypatch.setattr(heads, "grow", watched)
        compared, _ = compare_proposals(decoder, reference.chain, monkeypatch, tree="3x4", lookahead="default")
        assert compared > 5
        assert decoder.target is not None
        count = 0
        states: list[NDArray[np.float32]] = []

        class Reader:
            state_layers = layers

            def read_states(self, first: int, tokens: Sequence[int], found: NDArray[np.float32]) -> None:
                states.extend(found.copy())

        for (length, *tokens), row in seen[:40]:
            states.clear()
            decoder.target.show_states(Reader())
            decoder.target.truncate(0)
            decoder.target.forward(tokens[: length - 1], 1)
            expected = reference.chain(tokens[:length], np.stack(states), [*tokens[length:], 0])[-1]
            assert np.abs(row - expected).max() < 1e-4
            count += len(tokens) - length > 1
        assert count > 10


@pytest.mark.usefixtures("shared_models")
@pytest.mark.parametrize(
    ("target", "draft"), [("stories260K-F32", "stories-draft43K-F32"), ("stories260K-Q8_0", "stories260K-Q4_0")]
)
def test_a_draft_model_that_hesitates(target: str, draft: str) -> None:
    """Other people's models: more of a tree is accepted than of a chain of its depth."""
    with open_shared(target, draft) as decoder:
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=80, lookahead=0)
        options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 80, "method": "draft-model"}
        chain = decoder.generate(PROMPT, lookahead=4, **options)
        seen = follow(decoder, PROMPT, decoder.stream(PROMPT, tree="4x4", **options))
        assert seen.result is not None
        assert decoder.target is not None
        # A node beside the first path is computed from other cells: rows of quantised weights are not alike to the bit.
        assert_same_greedy(decoder.target, PROMPT, plain, seen.result, close=0.05)
        assert seen.result.stats.target_forwards == seen.result.stats.rounds < chain.stats.rounds
        text = list(decoder.target.tokens)
        rows = [decoder.target.forward([50], 1)[0].copy()]
        decoder.target.truncate(0)
        for token in text:
            decoder.target.forward([token], 1)
        last = decoder.target.forward([50], 1)
        # What was kept stands in the cache as plain decoding would have left it.
        if decoder.target.row_difference == 0.0:
            assert np.array_equal(rows[0], last[0])
        assert np.abs(rows[0] - last[0]).max() < 0.05


def test_a_tree_keeps_to_a_constraint(target: Path, folder: Path) -> None:
    constraint = Constraint.regex("( w[0-9]{1,3}){12,40}")
    with open_with_heads(target, write_eagle3(folder / "constrained-head.gguf", target)) as decoder:
        options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 60, "constraint": constraint}
        plain = decoder.generate(PROMPT, lookahead=0, **options)
        result = follow_heads(decoder, tree="3x3", **options)
        assert result.tokens == plain.tokens
        assert result.stats.accepted > 3


def test_a_target_with_sliding_windows(tmp_path: Path) -> None:
    """Behind a text that is longer than the window."""
    target = write_expert_model(tmp_path / "target.gguf", TINY_GPT_OSS, "Q8_0", seed=3)
    draft = write_expert_model(tmp_path / "draft.gguf", TINY_GPT_OSS, "Q8_0", seed=3, noise=0.1)
    prompt = [3 + (7 * place) % 300 for place in range(200)]
    with open_files(target, draft) as decoder:
        plain = decoder.generate(prompt, temperature=0.0, max_tokens=40, lookahead=0)
        options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 40, "method": "draft-model", "tree": "3x4"}
        seen = follow(decoder, prompt, decoder.stream(prompt, **options))
        assert seen.result is not None
        assert decoder.target is not None
        assert_same_greedy(decoder.target, prompt, plain, seen.result, close=0.05)
        assert seen.result.stats.accepted > 3
        assert seen.result.notes == ()


def test_chains_where_there_are_no_trees(tmp_path: Path) -> None:
    """A recurrent target goes back to one path only, and says so."""
    target = write_mtp_target(tmp_path / "target.gguf")
    with open_with_heads(target, target) as decoder:
        plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=20, lookahead=0)
        result = follow_heads(decoder, tree="3x3", max_tokens=20)
        assert result.tokens == plain.tokens
        assert any("chains only" in note for note in result.notes)
        assert max(result.stats.proposed_by_position) <= result.stats.rounds
