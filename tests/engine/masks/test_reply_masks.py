"""Masks follow a reply and its drafts through a grammar, whoever asks in whatever order."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from engine.chat.thinking import opens_thought
from engine.constraint import Constraint
from engine.errors import BackendFailure, InvalidRequest
from engine.masks.reply_masks import ReplyMasks, Thought, thought_of
from engine.sampling.masking import Mask, any_below, has, masked, only_one
from helpers.decoding.fakes import PieceTokenizer

PIECES = [b"", b"a", b"b", b"ab", b"c", b"", b"", b" ", b"</th", b"ink>", b"\xc3", b"\xa4"]
END, A, B, AB, C, OPENING, CLOSING, BLANK, HALF, REST, FIRST, SECOND = range(12)
MARKERS = {END: "<end>", OPENING: "<think>", CLOSING: "</think>"}
_BUT_END = list(range(1, 12))
TOKENIZER = PieceTokenizer(PIECES, None, MARKERS)


def masks(constraint: Constraint, **options: object) -> ReplyMasks:
    return ReplyMasks(constraint, TOKENIZER, len(PIECES), frozenset({END}), **options)  # type: ignore[arg-type]


def ids(mask: Mask | None) -> list[int] | None:
    return None if mask is None else [token for token in range(len(PIECES)) if has(mask, token)]


def test_the_tokens_that_fit_and_the_end() -> None:
    made = masks(Constraint.regex("ab?c+"))
    assert ids(made.mask(0)) == [A, AB]
    assert ids(made.mask(0, [A])) == [B, C]
    assert ids(made.mask(0, [AB])) == [C]
    assert ids(made.mask(0, [AB, C])) == [END, C]
    assert made.mask(0, [AB, C, END]) is None  # Behind the end anything may be proposed: it is not looked at.
    assert made.mask(0, [C, C]) is None
    assert made.fitting(0, [A, B, C, C, A]) == 4
    assert made.forced(0, [A, B], 5) == [C]


def test_half_a_character_and_control_tokens() -> None:
    made = masks(Constraint.regex("ä|<think>"))
    assert ids(made.mask(0)) == [FIRST]  # The marker is no text, were it written the same.
    assert made.forced(0, [], 5) == [FIRST, SECOND, END]


def test_any_order_of_questions_gives_the_same_masks() -> None:
    """Drafts that are rejected, and a drafter that still asks from an earlier place."""
    constraint, rng = Constraint.regex("(a|b(ab)*c?|c{2,3}ä){2,9}"), random.Random(3)

    def afresh(tokens: Sequence[int]) -> list[int] | None:
        return ids(masks(constraint).mask(0, tokens))

    made, reply = masks(constraint), list[int]()
    for _ in range(30):
        place = rng.randrange(max(len(reply) - 3, 0), len(reply) + 1)
        draft = [rng.choice([A, B, AB, C, FIRST, SECOND]) for _ in range(rng.randrange(5))]
        assert ids(made.mask(place, draft)) == afresh([*reply[:place], *draft])
        rows = made.masks(len(reply), draft)
        for count, row in enumerate([] if rows is None else rows):
            wanted = afresh([*reply, *draft[:count]])
            assert ids(row) == (list(range(len(PIECES))) if wanted is None else wanted)
        token = rng.choice(ids(made.mask(len(reply))) or [END])
        if token == END:
            break
        reply.append(token)
        made.commit(token)


def test_the_mask_begins_behind_a_thought() -> None:
    """Within it everything may come but the end of the reply."""
    for ending in ([CLOSING], [HALF, REST]):
        made = masks(Constraint.regex("ab"), thought=Thought(True, ("</think>",)))
        for thought in ([], [C, BLANK], [C, HALF, HALF]):
            assert ids(made.mask(0, thought)) == _BUT_END
        assert ids(made.mask(0, [C, *ending])) == [AB]
        before = made.masks(0, [C, BLANK])
        assert before is not None
        assert [ids(row) for row in before] == [_BUT_END] * 3
        rows = made.masks(0, [C, *ending, AB])
        assert rows is not None
        assert [only_one(row) for row in rows][-2:] == [AB, END]


def test_a_reply_may_open_a_thought_by_itself() -> None:
    thought = thought_of(TOKENIZER, ["</think>"], opened=False, may_open=True, opens=opens_thought)
    assert thought == Thought(False, ("</think>",), frozenset())
    made = masks(Constraint.regex("ab"), thought=Thought(False, ("</think>",), frozenset({OPENING})))
    assert ids(made.mask(0)) == [AB, OPENING]
    assert ids(made.mask(0, [OPENING, C])) == _BUT_END
    assert ids(made.mask(0, [OPENING, C, CLOSING])) == [AB]


def test_a_beginning_in_the_prompt_counts() -> None:
    assert ids(masks(Constraint.regex("abc+"), begun="ab").mask(0)) == [C]
    with pytest.raises(InvalidRequest, match="The beginning of the reply does not fit"):
        masks(Constraint.regex("abc+"), begun="c")


def test_a_target_without_an_end_token_is_done_where_nothing_can_follow() -> None:
    made = ReplyMasks(Constraint.regex("a{2,3}"), TOKENIZER, len(PIECES), frozenset())
    assert [made.commit(A) for _ in range(3)] == [False, False, True]


def test_a_vocabulary_that_cannot_write_it_is_an_error_in_words() -> None:
    with pytest.raises(BackendFailure, match="the model has no token for what the constraint demands here"):
        masks(Constraint.regex("a[xyz]")).mask(0, [A])


_ENDLESS: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (Constraint.regex("[xyz]"), "satisfies the constraint"),
        (Constraint.json_schema({"$ref": "#"}), "satisfies the constraint"),
        (Constraint.json_schema(_ENDLESS), "has no end"),
        (Constraint.json_schema({"type": "array", "items": {"$ref": "#"}, "minItems": 1}), "has no end"),
        (Constraint.lark('start: "a" start "b"'), "has no end"),
    ],
)
def test_what_nothing_satisfies_is_refused_before_the_reply(constraint: Constraint, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        masks(constraint)


def test_masks_of_logits() -> None:
    rng = np.random.default_rng(4)
    for size in (1, 31, 32, 33, 1000):
        row = rng.normal(size=size).astype(np.float32)
        row[0] = -np.inf
        bits = rng.random(size) < 0.4
        padded = np.zeros(-(-size // 32) * 32, np.uint8)
        padded[:size] = bits
        mask = np.packbits(padded, bitorder="little").view(np.uint32)
        assert np.array_equal(masked(row, mask), np.where(bits, row, -np.inf))
        assert [has(mask, token) for token in range(size)] == bits.tolist()
        assert only_one(mask) == (int(bits.argmax()) if bits.sum() == 1 else None)
        assert any_below(mask, size // 2) == bits[: size // 2].any()
