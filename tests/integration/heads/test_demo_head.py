"""The head that ships for the demo target, and the code that trained it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.bench.prompts import bundled_prompts
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.events import Finished, GenerationResult, RoundEvent, TokenEvent
from engine.library.names import resolve_source
from engine.loading.heads import open_heads
from helpers.heads.eagle_reference import EagleReference
from helpers.models.pairs import HELD_OUT, assert_same_greedy

PROMPTS = [each["prompt"] for each in json.loads(HELD_OUT.read_text("utf-8")) if "prompt" in each][::10]


def test_it_pays_in_tokens_and_changes_no_text(bundled_target: Path) -> None:
    """A round gives two tokens and a half at least in the mean, and a tree more than a chain."""
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(bundled_target, threads=1, trusted=True))
        decoder.attach_heads(resolve_source("demo-head"))
        assert decoder.target is not None
        shapes: list[dict[str, object]] = [{"lookahead": 4}, {"tree": "3x4"}]
        lengths: list[float] = []
        for shape in shapes:
            rounds = emitted = 0
            for prompt in PROMPTS:
                options: dict[str, object] = {"temperature": 0.0, "max_tokens": 60}
                plain = decoder.generate(prompt, lookahead=0, **options)  # type: ignore[arg-type]
                result = decoder.generate(prompt, **options, **shape)  # type: ignore[arg-type]
                assert result.method == "eagle3"
                if "tree" not in shape:
                    assert_same_greedy(decoder.target, decoder.encode(prompt), plain, result)
                rounds += result.stats.rounds
                emitted += result.stats.emitted
            lengths.append(emitted / rounds)
        assert lengths[0] > 2.3
        assert lengths[1] > lengths[0]


@pytest.mark.parametrize("ignore_eos", [False, True])
def test_a_fixed_chain_is_as_long_in_every_round(bundled_target: Path, *, ignore_eos: bool) -> None:
    """As in llama.cpp's server: from the first token on, behind ends, and with ends that the target must not write."""
    lookahead, most = 5, 60
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(LoadConfig(bundled_target, threads=1, trusted=True))
        decoder.attach_heads(resolve_source("demo-head"))

        def reply(prompt: Any, wish: Any) -> tuple[list[RoundEvent], GenerationResult]:
            options: dict[str, Any] = {"temperature": 0.0, "max_tokens": most, "ignore_eos": ignore_eos}
            events = list(decoder.stream(prompt, lookahead=wish, **options))
            assert isinstance(events[-1], Finished)
            return [event for event in events if isinstance(event, RoundEvent)], events[-1].result

        def goes_on_behind_an_end(event: RoundEvent) -> bool:
            assert decoder.target is not None
            return any(token in decoder.target.eos_token_ids for token, _ in event.rejected[:-1])

        found = 0
        for each in bundled_prompts(1)[1:]:
            rounds, result = reply(each.prompt, lookahead)
            spared, same = reply(each.prompt, "adaptive")
            assert same.tokens == result.tokens
            assert (rounds[0].proposed, rounds[0].accepted) == (0, 0)
            assert spared[0].proposed
            emitted = 1
            for event in rounds[1:]:
                assert event.proposed == min(lookahead, most - emitted - 1)
                found += goes_on_behind_an_end(event)
                emitted += event.accepted + 1
            assert result.stats.proposed == sum(event.proposed for event in rounds)
            assert result.stats.target_forwards == len(rounds)
            assert not any(goes_on_behind_an_end(event) for event in spared)
        assert found > 2


def test_what_is_trained_is_what_is_run(bundled_target: Path, tmp_path: Path) -> None:
    """In the training and from the written file, one head gives the same logits behind the same states."""
    torch = pytest.importorskip("torch")
    from demopair.heads import eagle, files, target  # noqa: PLC0415 - the recipe is no package of the program

    from engine.training import eagle as learning  # noqa: PLC0415 - it imports torch

    torch.manual_seed(0)
    head = learning.EagleHead(eagle.HEAD_SHAPE, 3 * 384, torch.arange(0, 4096, 2))
    path, words = tmp_path / "head.gguf", target.read_tokenizer(bundled_target)
    files.write_eagle_gguf(head, words, path, 384)
    reference = EagleReference(path)
    with torch.no_grad():
        # As the file has them: rounded.
        for name, parameter in head.named_parameters():
            if name in ("fc.weight", "embed.weight", "head.weight"):
                theirs = {"fc.weight": "fc", "embed.weight": "token_embd", "head.weight": "output"}[name]
                parameter.copy_(torch.from_numpy(reference.tensors[f"{theirs}.weight"].copy()))
        ids, states = torch.randint(0, 4096, (1, 9)), torch.randn(1, 9, 3 * 384)
        given = head.fc(states)
        first = head.step(given, ids, learning.Chains.at_each_place(ids))
        rows = head.head(head.norm(first))[0].numpy()
    wanted, _ = reference.pairs(ids[0].tolist(), given[0].numpy())
    assert np.abs(rows - wanted[:, ::2]).max() < 0.05 * np.abs(rows).max()
    assert np.isneginf(wanted[:, 1::2]).all()


def test_chains_that_go_on_are_not_changed_by_those_that_end() -> None:
    """Three pairs behind each other: with some chains ended after each step as with all of them to the end."""
    torch = pytest.importorskip("torch")
    from demopair.heads import eagle  # noqa: PLC0415 - the recipe is no package of the program

    from engine.training import eagle as learning  # noqa: PLC0415 - it imports torch

    torch.manual_seed(0)
    head = learning.EagleHead(eagle.NARROW_SHAPE, 3 * 128, torch.arange(0, 4096, 2))
    ids, states = torch.randint(0, 4096, (2, 12)), torch.randn(2, 9, 3 * 128)

    def steps(share: float) -> tuple[Any, Any, Any]:
        chains = learning.Chains.at_each_place(ids[:, :9])
        behind, idle = head.fc(states), torch.zeros(2, 9, dtype=torch.bool)
        for ahead in range(1, 4):
            if ahead > 1:
                behind, filling = chains.keep(~idle & (torch.rand(idle.shape) < share), behind)
                idle = filling
            behind = head.step(behind, ids.gather(1, chains.begun + ahead), chains)
        return behind, chains.begun, idle

    with torch.no_grad():
        everywhere, _, _ = steps(1.1)
        some, begun, idle = steps(0.7)
    assert 0 < int((~idle).sum()) < 12
    wanted = everywhere.gather(1, begun[..., None].expand(-1, -1, some.shape[2]))
    assert (some - wanted)[~idle].abs().max() < 1e-4 * wanted.abs().max()


def test_the_loss_asks_as_far_as_chains_get(bundled_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first depth only where no token would be accepted, and at each where all would."""
    torch = pytest.importorskip("torch")
    from demopair.heads import eagle, own_text, target  # noqa: PLC0415 - the recipe is no package of the program
    from demopair.training.tokenizer import ASSISTANT, special_ids  # noqa: PLC0415 - as above

    from engine.training import eagle as learning  # noqa: PLC0415 - it imports torch

    torch.manual_seed(0)
    model, words = target.read_model(bundled_target), target.read_tokenizer(bundled_target)
    ids = words.encode("<|begin|><|user|>Hi<|end|><|assistant|>" + "Hello, hello, hello! " * 4 + "<|end|>").ids
    text = [(ids, ids.index(special_ids(words)[ASSISTANT]) + 1)]
    (batch,) = own_text.make_batches(lambda each: target.states_of(model, each), words, text)
    head, asked = learning.EagleHead(eagle.NARROW_SHAPE, 3 * 384, torch.arange(0, 4096)), list[int]()

    def never_right(states: Any) -> Any:
        asked.append(len(states))
        return torch.zeros(len(states), 4096).index_fill(1, torch.tensor([0]), 40.0)

    monkeypatch.setattr(head.head, "forward", never_right)
    with torch.no_grad():
        eagle.loss_of(head, model, batch)
        assert len(asked) == 1
        monkeypatch.setattr(learning, "_accepted", lambda guessed, *_: torch.ones(len(guessed), dtype=torch.bool))
        eagle.loss_of(head, model, batch)
    learned = int(batch.learn.sum())
    assert asked[1:] == [learned - ahead for ahead in range(learning.AHEAD)]


def test_chains_go_on_as_often_as_tokens_are_accepted() -> None:
    torch = pytest.importorskip("torch")

    from engine.training import eagle as learning  # noqa: PLC0415 - it imports torch

    torch.manual_seed(0)
    table = torch.tensor([1, 3, 5])
    guessed, wished = torch.tensor([0.2, 0.3, 0.5]).log().expand(4000, -1), torch.tensor([0.4, 0.3, 0.1])
    wished = wished.expand(4000, -1)
    shares = {
        token: learning._accepted(guessed, wished, torch.full((4000,), token), table).float().mean().item()
        for token in (1, 3, 4, 5, 4095)
    }
    assert shares[1] == pytest.approx(0.5, abs=0.05)
    assert (shares[3], shares[4], shares[5], shares[4095]) == (1.0, 0.0, 1.0, 0.0)


def test_attaching_heads_ends_a_running_reply_first(bundled_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some heads share the target's cache, and empty it where they are opened."""
    with SpeculativeDecoder() as decoder:
        running: list[object] = []

        def opened(*given: Any) -> Any:
            running.append(decoder._model_lock._token)
            return open_heads(*given)

        monkeypatch.setattr("engine.decoder.open_heads", opened)
        decoder.attach_target(LoadConfig(bundled_target, threads=1, trusted=True))
        events = decoder.stream(PROMPTS[0], max_tokens=200)
        while not isinstance(next(events), TokenEvent):
            pass
        decoder.attach_heads(resolve_source("demo-head"))
        last = list(events)[-1]
        assert isinstance(last, Finished)
        assert last.result.finish_reason == "cancelled"
        assert running == [None], "they are opened once it has ended"
