"""Every kind of draft head proposes chains and trees by its paper's formulas; the text stays the target's own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.cancel import CancelToken
from engine.decoder import SpeculativeDecoder
from engine.events import TokenEvent
from helpers.decoding.invariants import check_caches
from helpers.heads.compiled_medusa import PlainMedusa, write_medusa_for
from helpers.heads.dflash import DFlashReference, write_dflash
from helpers.heads.eagle import write_eagle3, write_plain_target
from helpers.heads.eagle_reference import EagleReference
from helpers.heads.gemma4 import BESIDE, PLAIN, WINDOW, Gemma, write_assistant, write_gemma4
from helpers.heads.gemma4_reference import AssistantReference
from helpers.heads.mtp import MtpReference, write_mtp_target
from helpers.heads.replies import (
    PROMPT,
    Chain,
    check_text,
    compare_proposals,
    draws_alike,
    follow_heads,
    open_in_folder,
    open_with_heads,
    states_of,
)
from helpers.heads.rope import LINEAR, LLAMA3, YARN
from helpers.models.hybrid_model import Size, write_hybrid_model
from helpers.models.pairs import assert_same_greedy
from helpers.seldom import often

Array = NDArray[np.float32]
Made = tuple[SpeculativeDecoder, Any]
"""A decoder with heads, and their reference."""
LONG = [1, *range(40, 40 + 2 * WINDOW)]


def _eagle3(request: pytest.FixtureRequest, path: Path, **layout: Any) -> Made:
    target = request.getfixturevalue("plain_target")
    head = write_eagle3(path.with_suffix(".gguf"), target, **layout)
    reference = EagleReference(head)
    if "output__weight" in layout:
        whole = EagleReference(write_eagle3(path.with_suffix(".whole.gguf"), target))
        reference.tensors |= {name: whole.tensors[name] for name in ("token_embd.weight", "output.weight")}
    return open_with_heads(target, head), reference


class _BlocksOfFour(DFlashReference):
    """A block of four, whatever becomes of it."""

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        return super().chain(tokens, states, [*proposed, 0, 0, 0][:4])[: len(proposed)]


def _dflash(request: pytest.FixtureRequest, path: Path, **layout: Any) -> Made:
    target = request.getfixturevalue("plain_target")
    head = write_dflash(path.with_suffix(".gguf"), target, **layout)
    reference = _BlocksOfFour(head)
    if "output__weight" in layout:
        whole = DFlashReference(write_dflash(path.with_suffix(".whole.gguf"), target))
        reference.tensors |= {name: whole.tensors[name] for name in ("token_embd.weight", "output.weight")}
    return open_with_heads(target, head), reference


def _hybrid(write: Callable[[Path, Path], Path], _request: pytest.FixtureRequest, path: Path) -> Made:
    """Recurrent layers go back by snapshots and replays; the replayed tokens' states are read again."""
    target = write_hybrid_model(path.with_suffix(".target.gguf"), "qwen35", Size(layers=6), seed=1)
    return open_with_heads(target, write(path.with_suffix(".gguf"), target)), None


def _mtp(_request: pytest.FixtureRequest, path: Path) -> Made:
    target = write_mtp_target(path.with_suffix(".gguf"))
    return open_with_heads(target, target), MtpReference(target)


def _assistant(size: Gemma, _request: pytest.FixtureRequest, path: Path) -> Made:
    target = write_gemma4(path.with_suffix(".target.gguf"), size)
    heads = write_assistant(path.with_suffix(".gguf"), target, size)
    return open_with_heads(target, heads), AssistantReference(target, heads, size)


def _medusa_on_llama(_request: pytest.FixtureRequest, path: Path, **layout: Any) -> Made:
    target = write_plain_target(path.with_suffix(".target.gguf"), mixing=0.08)
    return open_with_heads(target, write_medusa_for(path, target, **layout)), PlainMedusa(path)


def _in_folder(
    module: str, write: str, reference: str, request: pytest.FixtureRequest, path: Path, **layout: Any
) -> Made:
    """Only these need PyTorch."""
    helpers = pytest.importorskip(f"helpers.heads.{module}")
    target = request.getfixturevalue("torch_target")
    getattr(helpers, write)(path, target, **layout)
    return open_in_folder(target, path), getattr(helpers, reference)(path, target)


def _mtp_in_folder(kind: str, _request: pytest.FixtureRequest, path: Path) -> Made:
    formulas, written = (pytest.importorskip(f"helpers.heads.{name}") for name in ("mtp_formulas", "torch_mtp"))
    written.write_mtp_folder(path, kind, own_output=not kind.startswith("qwen"))
    return open_in_folder(path, path), formulas.FolderMtpReference(path)


_torch_eagle3 = partial(_in_folder, "torch_eagle", "write_torch_eagle", "TorchEagleReference")
_eagle2 = partial(_in_folder, "torch_eagle2", "write_torch_eagle2", "TorchEagle2Reference")
KINDS: dict[str, Callable[[pytest.FixtureRequest, Path], Made]] = {
    "eagle3": _eagle3,
    "eagle3-own-vocabulary": partial(_eagle3, kept=200),
    "eagle3-norms": partial(_eagle3, norm_before_residual=True, norm_before_fc=True),
    "eagle3-shared-tensors": partial(_eagle3, token_embd__weight=None, output__weight=None),
    "dflash": _dflash,
    "dflash-own-vocabulary": partial(_dflash, kept=200),
    "dflash-shared-tensors": partial(_dflash, token_embd__weight=None, output__weight=None),
    "dflash2": partial(_dflash, selector=6),
    "dflash2-own-vocabulary": partial(_dflash, selector=6, kept=290),
    "dspark": partial(_dflash, markov=True),
    "dspark-behind-the-anchor": partial(_dflash, markov=True, anchored=False, kept=200),
    "mtp": _mtp,
    "assistant": partial(_assistant, PLAIN),
    "assistant-beside": partial(_assistant, BESIDE),
    "medusa-on-llama": _medusa_on_llama,
    "medusa-on-llama-BF16": partial(_medusa_on_llama, depth=2, dtype="BF16", residual=0.1),
    "medusa-on-llama-F16": partial(_medusa_on_llama, depth=2, dtype="F16", residual=0.1),
    "medusa-on-llama-F8": partial(_medusa_on_llama, dtype="F8_E4M3", residual=0.1),
    "torch-eagle3": _torch_eagle3,
    "torch-eagle3-speculators": partial(_torch_eagle3, speculators=True, norm_before_residual=True),
    "torch-eagle3-own-vocabulary": partial(_torch_eagle3, kept=60),
    "torch-eagle3-norm-before-fc": partial(_torch_eagle3, norm_before_fc=True, own_embedding=False),
    "torch-eagle3-llama3": partial(_torch_eagle3, rope_scaling=LLAMA3),
    "eagle2": _eagle2,
    "eagle2-without-bias": partial(_eagle2, bias=False, own_embedding=False, states=0.2),
    "eagle2-shared-keys": partial(_eagle2, shared=1, qkv_bias=True, rope_theta=500000.0),
    "eagle2-two-layers": partial(_eagle2, layers=2, shared=None),
    "eagle2-linear": partial(_eagle2, rope_scaling=LINEAR),
    "eagle2-llama3": partial(_eagle2, rope_scaling=LLAMA3, rope_theta=500000.0),
    "eagle2-yarn": partial(_eagle2, rope_parameters=YARN | {"rope_theta": 5000.0}, states=0.2),
    "medusa": partial(_in_folder, "medusa", "write_medusa", "MedusaReference"),
    **{kind: partial(_mtp_in_folder, kind) for kind in ("deepseek_v3", "glm4_moe", "qwen3_next", "qwen3_5_text")},
}
HYBRID = {"eagle3-hybrid": partial(_hybrid, write_eagle3), "dflash-hybrid": partial(_hybrid, write_dflash)}
ONE_EACH = (
    *("eagle3", "dflash", "mtp", "assistant", "medusa-on-llama", "torch-eagle3", "eagle2", "medusa"),
    *("deepseek_v3", "qwen3_next"),
)
MOST = {"dflash": 6, "dflash2": 6, "dspark": 6, "medusa": 3}
"""Tokens of a draft."""
SHAPES = ("1x4", "2x1", "3x3", "4x8")


@dataclass(frozen=True)
class Opened:
    """A decoder with heads of a kind, and their reference."""

    kind: str
    decoder: SpeculativeDecoder
    reference: Any

    @property
    def chain(self) -> Chain:
        found: Chain = self.reference.chain
        return found

    @property
    def has_trees(self) -> bool:
        """Recurrent targets keep to chains."""
        assert self.decoder.target is not None
        return self.decoder.target.rewind.kind == "any"


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest, folder: Path) -> Iterator[Opened]:
    decoder, reference = (KINDS | HYBRID)[request.param](request, folder / request.param)
    with decoder:
        yield Opened(request.param, decoder, reference)


def _kinds(*kinds: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("opened", kinds, indirect=True)


@_kinds(*KINDS, *HYBRID)
def test_the_text_is_the_targets(opened: Opened) -> None:
    """In one pass a round; also where nobody names a method."""
    decoder, kind = opened.decoder, opened.kind
    ways: list[dict[str, Any]] = [{"lookahead": lookahead} for lookahead in (1, 4, 12)]
    ways.append({"lookahead": 3, "method": "auto"})
    # A head hardly guesses what the random hybrid target writes.
    found = check_text(decoder, *ways, least=-1 if kind in HYBRID else 3)
    most = MOST.get(kind.partition("-")[0], 12)
    assert all(len(result.stats.proposed_by_position) <= most for result in found)
    if kind.startswith(("dflash", "dspark")):
        assert found[0].method == kind[:6]
        assert follow_heads(decoder, lookahead="auto", max_tokens=40).tokens == found[0].tokens


@_kinds(*KINDS)
def test_proposals_agree_with_the_formulas(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, options = opened.decoder, dict[str, Any]()
    if isinstance(opened.reference, AssistantReference):  # Within the target's window, and far before it.
        options = {"prompt": LONG, "max_tokens": 24}
        reply = decoder.generate(LONG, temperature=0.0, max_tokens=24, lookahead=0)
        opened.reference.states([*LONG, *reply.tokens])
    compared, behind = compare_proposals(decoder, opened.chain, monkeypatch, **options)
    assert compared > 10
    assert behind > 0


@pytest.mark.parametrize(
    ("opened", "way"),
    [
        *(pytest.param(kind, {}, id=kind) for kind in ("eagle3", "dflash", "mtp")),
        pytest.param("eagle3", {"tree": "3x3", "lookahead": "default"}, id="eagle3-tree"),
        # Ten seconds each; the draws are those of the other heads.
        *(
            pytest.param(kind, way, id=f"{kind}-{len(way)}", marks=pytest.mark.soak)
            for kind in (*ONE_EACH, "dflash2", "dspark")
            for way in ({}, {"tree": "3x3", "lookahead": "default"})
            if not (way and kind in ("mtp", "qwen3_next")) and (kind, bool(way)) != ("eagle3", True)
        ),
    ],
    indirect=["opened"],
)
def test_the_distribution_is_the_targets(opened: Opened, way: dict[str, Any]) -> None:
    assert draws_alike(opened.decoder, **way) > 0.001


@_kinds(
    *often(
        (*ONE_EACH, "dflash2"), "eagle3", "dflash", "mtp", "assistant", "eagle2", "medusa", "deepseek_v3", "qwen3_next"
    )
)
def test_trees(opened: Opened) -> None:
    """More of a tree is accepted than of a chain of its depth; where the target keeps to chains, a note says so."""
    decoder = opened.decoder
    assert decoder.target is not None
    plain = decoder.generate(PROMPT, temperature=0.0, max_tokens=40, lookahead=0)
    chain = follow_heads(decoder, lookahead=3, max_tokens=40)
    for tree in SHAPES:
        result, stats = (found := follow_heads(decoder, tree=tree, max_tokens=40)), found.stats
        assert_same_greedy(decoder.target, PROMPT, plain, result)
        assert stats.target_forwards == stats.rounds
        assert stats.accepted > 3
        assert len(stats.proposed_by_position) <= int(tree[-1])
        assert max(stats.proposed_by_position) <= (int(tree[0]) if opened.has_trees else 1) * stats.rounds
        assert any("chains only" in note for note in result.notes) is not opened.has_trees or tree == "1x4"
        if tree == "3x3" and opened.has_trees:
            assert stats.accepted >= chain.stats.accepted
            assert max(stats.proposed_by_position) > 2 * stats.rounds


@_kinds("assistant", "torch-eagle3", "eagle2", "eagle2-two-layers", "deepseek_v3", "glm4_moe")
def test_nodes_of_a_tree_agree_with_the_formulas(opened: Opened) -> None:
    """Rows behind nodes are those of a chain along their path, whatever stands beside them."""
    decoder = opened.decoder
    heads = decoder.heads
    assert heads is not None
    decoder.generate(PROMPT, temperature=0.0, max_tokens=1, method=heads.method, lookahead=3)
    states = states_of(decoder, PROMPT)
    heads.truncate(len(PROMPT))
    heads.forward([50], 1)
    rows = heads.grow([51, 60], [-1, -1])
    deeper = heads.grow([52, 53, 54], [0, 1, 1])
    for nodes, row in [([51], rows[0]), ([60], rows[1]), ([51, 52], deeper[0]), ([60, 54], deeper[2])]:
        expected = opened.chain([*PROMPT, 50], states, [*nodes, 0])[-1]
        assert np.abs(row - expected).max() < 1e-4


@pytest.mark.parametrize("way", [{"lookahead": 4}, {"tree": "3x4"}], ids=["chain", "tree"])
@_kinds(*ONE_EACH)
def test_conversations_and_ends(opened: Opened, way: dict[str, Any]) -> None:
    """A stop, turns that go on and one that parts, short prompts, a cancel, the context's end: caches hold the text."""
    decoder, target = opened.decoder, opened.decoder.target
    assert target is not None
    assert decoder.heads is not None
    rules: dict[str, Any] = {"repeat_penalty": 1.3, "frequency_penalty": 0.4, "temperature": 0.0, "max_tokens": 30}
    plain = decoder.generate(PROMPT, lookahead=0, **rules)
    stops: dict[str, Any] = {"stop_tokens": [plain.tokens[9]]}
    plain = decoder.generate(PROMPT, lookahead=0, **stops, **rules)
    stopped = follow_heads(decoder, **way, **stops, **rules)
    assert (stopped.tokens, stopped.finish_reason) == (plain.tokens, "stop")
    text = [*PROMPT, *stopped.tokens]
    for prompt in ([*text, 41, 42], [*text[:-3], 50, 51], [1], [1, 40]):
        again = follow_heads(decoder, prompt, max_tokens=10, **way)
        assert not opened.has_trees or again.prompt_evaluated <= 6
        expected = decoder.generate(prompt, lookahead=0, temperature=0.0, max_tokens=10)
        assert_same_greedy(target, prompt, expected, again)
    cancel = CancelToken()

    def count(event: TokenEvent) -> None:
        if event.position == 5:
            cancel.cancel()

    asked: dict[str, Any] = {"temperature": 0.0, "method": decoder.heads.method, "on_token": count, "cancel": cancel}
    ended = decoder.generate(PROMPT, **asked, **way)
    assert ended.finish_reason == "cancelled"
    check_caches(decoder, [*PROMPT, *ended.tokens])
    room = target.context_length
    prompt = [*PROMPT, *(40 + place % 40 for place in range(room - len(PROMPT) - 9))]
    result = follow_heads(decoder, prompt, max_tokens=None, **way)
    assert result.finish_reason in ("context", "stop")
    assert_same_greedy(target, prompt, decoder.generate(prompt, temperature=0.0, lookahead=0), result)
