"""Replies that prove themselves: they come out the same, and whatever was changed is found and said."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.decoder import SpeculativeDecoder
from engine.events import Finished, RoundEvent
from engine.library.names import bundled_pair, resolve_source
from engine.proof import content as contents
from engine.proof.content import NoProof, Proof, describe_reply, find_models, make_proof, read_proof
from engine.proof.verify import BOUND, OtherToken, Verified, verify_proof
from helpers.campaigns import Campaign
from helpers.models.pairs import open_files
from helpers.models.published import QWEN, QWEN_DRAFT, SMOL, published

PROMPT = "Tell me a story about a fox."
DRAWN = {"temperature": 0.9, "top_p": 0.95, "seed": 7}
TOOLS = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"enum": ["it", "me"]}}}}]
CALL = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": '{"at": "it"}'}}]}
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"lookahead": 0},
    "greedy, draft": {"lookahead": "auto"},
    "greedy, penalties": {"lookahead": 4, "repeat_penalty": 1.3, "logit_bias": {40: 2.0}},
    "greedy, n-gram": {"method": "ngram"},
    "greedy, tree": {"tree": (2, 2)},
    "greedy, heads": {"method": "eagle3"},
    "seeded": {**DRAWN, "lookahead": 0},
    "seeded, draft": DRAWN,
    "seeded, draft of 3": {**DRAWN, "lookahead": 3, "min_p": 0.02},
    "seeded, exact": {**DRAWN, "lookahead": "auto", "acceptance": "exact"},
    "seeded, n-gram": {**DRAWN, "method": "ngram"},
    "seeded, heads": {**DRAWN, "method": "eagle3", "lookahead": 3},
    "seeded, tree": {**DRAWN, "tree": (2, 2)},
    "stopped": {"stop": "."},
    "json": {**DRAWN, "constraint": "json"},
    "begun": {"prefix": "Once upon"},
    "raw": {"raw": True},
    "a call": {**DRAWN, "tools": TOOLS, "must_call": ("look",), "one_call": True},
    "tools": {"tools": TOOLS, "lookahead": 3},
}


@pytest.fixture(scope="module")
def decoder() -> Iterator[SpeculativeDecoder]:
    target, draft = bundled_pair()
    with open_files(Path(target), Path(draft)) as loaded:
        loaded.attach_heads(resolve_source("demo-head"))
        yield loaded


def proved(decoder: SpeculativeDecoder, prompt: Any = PROMPT, **options: Any) -> bytes:
    """A reply with its proof."""
    told = {"max_tokens": 24, "temperature": 0.0, **options}
    if told.get("lookahead") != 0:
        told.setdefault("method", "draft-model")
    sources, made = set[str](), None
    for event in decoder.stream(prompt, **told):
        if isinstance(event, RoundEvent) and event.proposed:
            sources.add(event.source)
        elif isinstance(event, Finished):
            made = describe_reply(decoder, prompt, event.result, sources, told)
    assert made is not None
    return make_proof(made)


def models() -> dict[str, Path]:
    target, draft = (Path(path) for path in bundled_pair())
    return {"target": target, "draft": draft, "heads": resolve_source("demo-head")}


@pytest.fixture(scope="module")
def verified() -> Iterator[Callable[[bytes], Verified]]:
    """Computes replies again, with a decoder that has the pair loaded."""
    target, draft = bundled_pair()
    with open_files(Path(target), Path(draft)) as other:
        yield lambda data: verify_proof(read_proof(data), models(), decoder=other)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("prompt", [PROMPT, [{"role": "user", "content": "Hello, who are you?"}]], ids=["text", "chat"])
def test_replies_come_out_identical(
    decoder: SpeculativeDecoder, way: str, prompt: Any, verified: Callable[[bytes], Verified]
) -> None:
    if WAYS[way].get("raw") and not isinstance(prompt, str):
        pytest.skip("a text alone is raw")
    found = verified(proved(decoder, prompt, **WAYS[way]))
    assert found.identical, found.sentences
    assert found.same == found.tokens > 0
    assert "Identical" in found.sentences[0]


def test_a_reply_to_a_tools_result_comes_out_identical(
    decoder: SpeculativeDecoder, verified: Callable[[bytes], Verified]
) -> None:
    asked = [{"role": "user", "content": PROMPT}, CALL, {"role": "tool", "tool_call_id": "1", "content": "A red fox."}]
    data = proved(decoder, asked, tools=TOOLS, **DRAWN)
    assert json.loads(data)["prompt"]["messages"][1]["tool_calls"][0]["function"]["name"] == "look"
    assert verified(data).identical
    found = verified(rewritten(data, lambda content: content["prompt"]["messages"][2].update(content="A blue fox.")))
    assert "do not give the tokens" in found.sentences[0]


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_thirty_replies_of_published_models_come_out_identical(campaign: Campaign) -> None:
    """Greedy and seeded, by a draft, by an index and by none; and what is changed in one of them is found."""
    prompts = [
        "Name three colours.",
        "Write a Python function that adds two numbers.",
        "Was ist ein Fluss?",
        "Tell a joke.",
    ]
    ways = ("greedy", "greedy, draft", "seeded", "seeded, draft of 3", "seeded, n-gram")
    target, draft, small = published(QWEN, QWEN_DRAFT, SMOL)
    differences, replies, data = [0.0], 0, b""
    for first, second in ((target, draft), (small, None)):
        paths = [target, draft, small]
        with open_files(first, second, threads=2, context_length=2048) as loaded:
            for prompt in prompts[: campaign.tries(len(prompts))]:
                for way in (each for each in ways if second is not None or "draft" not in each):
                    asked = WAYS[way] if second is not None else {"method": "ngram", **WAYS[way]}
                    data = proved(loaded, [{"role": "user", "content": prompt}], **{"max_tokens": 32, **asked})
                    proof = read_proof(data)
                    found = verify_proof(proof, find_models(proof, paths), decoder=loaded)
                    assert found.identical, (first.name, way, prompt, found.sentences)
                    differences.append(found.difference)
                    replies += 1
            for what in ("a token", "a text", "a probability", "a token of the prompt"):
                changed = read_proof(rewritten(data, CHANGES[what]))
                assert not verify_proof(changed, find_models(changed, paths), decoder=loaded).identical, what
    campaign.note(replies=replies, largest_difference=max(differences))


@pytest.fixture(scope="module")
def drawn(decoder: SpeculativeDecoder) -> bytes:
    return proved(decoder, **DRAWN)


def rewritten(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A proof in which somebody changed something, and its digest with it."""
    content = json.loads(data)
    change(content)
    return contents._packed(content | {"digest": contents._digest(content)})


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a token": lambda content: content["tokens"].__setitem__(5, content["tokens"][5] + 1),
    "a token too many": lambda content: (content["tokens"].append(9), content["logprobs"].append(-1.0)),
    "a text": lambda content: content.__setitem__("text", content["text"][:-1] + "x"),
    "a probability": lambda content: content["logprobs"].__setitem__(3, content["logprobs"][3] - 0.01),
    "the seed": lambda content: content["settings"]["sampling"].__setitem__("seed", 8),
    "the temperature": lambda content: content["settings"]["sampling"].__setitem__("temperature", 3.0),
    "the question": lambda content: content["prompt"].__setitem__("text", "Tell me a story about a cat."),
    "a token of the prompt": lambda content: content["prompt"]["tokens"].__setitem__(3, 11),
    "the system message": lambda content: content["prompt"].update(
        text=None, messages=[{"role": "system", "content": "Be short."}, {"role": "user", "content": PROMPT}]
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_is_found_even_with_its_digest(
    drawn: bytes, what: str, verified: Callable[[bytes], Verified]
) -> None:
    found = verified(rewritten(drawn, CHANGES[what]))
    assert not found.identical
    assert found.sentences


def test_any_changed_byte_is_found(drawn: bytes, verified: Callable[[bytes], Verified]) -> None:
    places = np.random.default_rng(3).integers(0, len(drawn), 200)
    for place in [*places, 0, len(drawn) - 1]:
        changed = bytearray(drawn)
        changed[place] ^= 1
        try:
            assert not read_proof(bytes(changed)).intact, place
        except NoProof:
            continue
    for longer in (drawn + b" ", drawn[:-1], drawn.replace(b'","', b'", "', 1)):
        assert not read_proof(longer).intact
    assert verified(drawn).identical
    found = verified(drawn[:-1])
    assert (found.identical, str(found.sentences[0])) == (False, "The file was changed after it was written.")


def test_the_first_token_that_differs_is_named(drawn: bytes, verified: Callable[[bytes], Verified]) -> None:
    found = verified(rewritten(drawn, CHANGES["a token"]))
    assert found.other is not None
    assert (found.same, found.other.index) == (5, 5)
    assert found.other.ours == json.loads(drawn)["tokens"][5]
    assert "token 6 is" in found.sentences[0]
    assert found.to_dict()["first_difference"]["index"] == 5


def test_another_processor_may_differ_within_a_bound_and_break_near_ties() -> None:
    near = OtherToken(3, 5, "a", -1.0, -1.01, 6, "b", -1.0)
    said = " ".join(Verified(9, 3, 0.01, near, alike=False).sentences)
    assert "near tie" in said
    assert "near tie" not in " ".join(Verified(9, 3, 0.01, near, alike=True).sentences)
    assert Verified(9, 9, 0.01, None, alike=False).identical
    assert f"{BOUND:g} is allowed" in Verified(9, 9, 0.01, None, alike=False).sentences[0]
    assert not Verified(9, 9, 0.01, None, alike=True).identical
    assert "more than other kernels explain" in Verified(9, 9, 0.3, None, alike=False).sentences[0]


def test_only_the_same_file_will_do(drawn: bytes, tmp_path: Path) -> None:
    proof, there = read_proof(drawn), models()
    assert find_models(proof, [tmp_path, *there.values()]) == {part: there[part] for part in ("target", "draft")}
    other = tmp_path / "demo-target.gguf"
    content = bytearray(there["target"].read_bytes())
    content[-1] ^= 1
    other.write_bytes(content)
    with pytest.raises(NoProof, match="is not the file"):
        verify_proof(proof, there | {"target": other})
    with pytest.raises(NoProof, match="is not here"):
        verify_proof(proof, {"target": there["target"]})


def test_what_cannot_be_computed_again_has_no_proof(decoder: SpeculativeDecoder, drawn: bytes) -> None:
    made = json.loads(drawn)
    for part in ("target", "draft"):
        made[part]["here"] = ["/nowhere/model.gguf", []]
    with pytest.raises(NoProof, match="cannot be read"):
        make_proof(made)
    with pytest.raises(NoProof, match="Set a seed"):
        make_proof(made | {"lookahead": "auto"})
    with pytest.raises(NoProof, match="by hand"):
        make_proof(made | {"forced": 3})
    with pytest.raises(NoProof, match="no tokens"):
        make_proof(made | {"tokens": []})


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "tokens": lambda content: content.__setitem__("tokens", "abc"),
    "huge tokens": lambda content: content.__setitem__("tokens", [2**70]),
    "negative tokens": lambda content: content["prompt"].__setitem__("tokens", [-1]),
    "no target": lambda content: content.__setitem__("target", None),
    "a model without files": lambda content: content["target"].pop("files"),
    "files": lambda content: content["target"].__setitem__("files", [{"name": 3, "sha256": [], "bytes": "x"}]),
    "settings": lambda content: content.__setitem__("settings", []),
    "a rule": lambda content: content["settings"]["sampling"].__setitem__("rule", 3),
    "a temperature": lambda content: content["settings"]["sampling"].__setitem__("temperature", "hot"),
    "a method": lambda content: content["settings"]["speculation"].__setitem__("method", "none such"),
    "messages": lambda content: content["prompt"].__setitem__("messages", [3]),
    "a constraint": lambda content: content["settings"].__setitem__("constraint", {"kind": "lark", "text": "("}),
    "a version": lambda content: content.__setitem__("version", 99),
    "a lookahead": lambda content: content.__setitem__("lookahead", 10**9),
    "a context": lambda content: content["target"].__setitem__("context_length", -3),
    "logprobs": lambda content: content.__setitem__("logprobs", []),
    "a library": lambda content: content.__setitem__("made_with", 3),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_one_clear_error(drawn: bytes, what: str) -> None:
    data = rewritten(drawn, HOSTILE[what])
    with pytest.raises(NoProof):
        verify_proof(read_proof(data), models())


@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 100_000, b"\xff\xfe", b"null", b'{"format": "outrider proof"}'])
def test_what_is_no_proof_is_refused(data: bytes) -> None:
    with pytest.raises(NoProof):
        read_proof(data)
    with pytest.raises(NoProof, match="too large"):
        read_proof(bytes(contents.MOST_BYTES + 1))


def test_tokens_that_the_model_lacks_are_a_difference(drawn: bytes, verified: Callable[[bytes], Verified]) -> None:
    found = verified(rewritten(drawn, lambda content: content["tokens"].__setitem__(2, 2**30)))
    assert found.other is not None
    assert found.other.text == "?"


def test_a_proof_says_nothing_of_this_machine_but_what_computes(drawn: bytes) -> None:
    assert str(Path(bundled_pair()[0]).parent).encode() not in drawn
    assert b'"here"' not in drawn
    assert Proof(json.loads(drawn)).needs == ("target", "draft")
