"""The tree of messages, against a model that is too simple to be wrong."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.state.conversations.conversation import Conversation, ConversationSummary, StoredMessage, title_from


def _question(number: int, parent: int | None = None) -> StoredMessage:
    return StoredMessage(number, parent, "user", f"question {number}", float(number))


def _reply(number: int, parent: int) -> StoredMessage:
    return StoredMessage(number, parent, "assistant", f"reply {number}", float(number))


def _ids(conversation: Conversation) -> list[int]:
    return [message.id for message in conversation.path]


@pytest.fixture
def branched() -> Conversation:
    """1 → 2 → 3 → 4, and 1 → 5 → 6 (regenerated), and 7 (the first question edited)."""
    conversation = Conversation(100, 0.0)
    for message in (_question(1), _reply(2, 1), _question(3, 2), _reply(4, 3), _reply(5, 1), _question(6, 5)):
        conversation.add(message)
    conversation.add(_question(7))
    return conversation


def test_the_newest_branch_is_shown_and_the_others_are_a_step_away(branched: Conversation) -> None:
    assert _ids(branched) == [7]
    assert branched.branch(7) == (2, 2)
    assert branched.step(7, -1) == 1
    assert _ids(branched) == [1, 5, 6]
    assert branched.branch(5) == (2, 2)
    assert branched.step(5, -1) == 2
    assert _ids(branched) == [1, 2, 3, 4]


def test_a_branch_opens_where_it_was_left(branched: Conversation) -> None:
    branched.choose(3)
    assert _ids(branched) == [1, 2, 3, 4]
    branched.choose(7)
    branched.choose(1)
    assert _ids(branched) == [1, 2, 3, 4]


def test_a_step_past_the_last_branch_stays_there(branched: Conversation) -> None:
    assert branched.step(7, 5) == 7
    assert branched.step(7, -9) == 1


def test_deleting_shows_the_branch_before(branched: Conversation) -> None:
    branched.choose(6)
    assert branched.delete(5) == [5, 6]
    assert _ids(branched) == [1, 2, 3, 4]
    assert branched.delete(1) == [1, 2, 3, 4]
    assert _ids(branched) == [7]
    assert branched.delete(7) == [7]
    assert branched.path == []
    assert branched.leaf is None


def test_deleting_what_is_not_shown_changes_nothing_on_the_screen(branched: Conversation) -> None:
    branched.delete(2)
    assert _ids(branched) == [7]


def test_what_moved_is_told_once(branched: Conversation) -> None:
    branched.take_moved()
    branched.choose(4)
    assert branched.take_moved() == {None: 1, 1: 2}
    assert branched.take_moved() == {}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (_question(1), ValueError),
        (_question(9, 9), ValueError),
        (_question(9, 8), KeyError),
        (_reply(9, 2), ValueError),
    ],
)
def test_a_message_that_fits_nowhere_is_refused(
    branched: Conversation, message: StoredMessage, error: type[Exception]
) -> None:
    with pytest.raises(error):
        branched.add(message)
    with pytest.raises(ValueError, match="question above"):
        branched.add(StoredMessage(9, None, "assistant", "", 0.0))
    assert len(branched) == 7
    assert _ids(branched) == [7]


def test_a_chosen_branch_that_is_not_there_falls_back_to_the_newest() -> None:
    first, reply, other = _question(1), _reply(2, 1), _reply(3, 1)
    first.chosen = 99
    conversation = Conversation.from_messages(ConversationSummary(1, "t", 0.0, 0.0), 3, [first, reply, other])
    assert _ids(conversation) == [1, 3]


@pytest.mark.parametrize("messages", [[_question(2, 1)], [_question(1), _question(1)], [_question(1, 1)]])
def test_messages_that_are_no_tree_are_refused(messages: list[StoredMessage]) -> None:
    with pytest.raises((KeyError, ValueError)):
        Conversation.from_messages(ConversationSummary(1, "t", 0.0, 0.0), None, messages)


@dataclass
class _Simple:
    """The same tree as a plain table of parents; what is shown, as one table of the last choices."""

    parents: dict[int, int | None] = field(default_factory=dict)
    chosen: dict[int | None, int] = field(default_factory=dict)

    def below(self, parent: int | None) -> list[int]:
        return sorted(each for each, above in self.parents.items() if above == parent)

    def shown(self) -> list[int]:
        path: list[int] = []
        while below := self.below(path[-1] if path else None):
            place = self.chosen.get(path[-1] if path else None)
            path.append(place if place in below else below[-1])
        return path

    def choose(self, number: int) -> None:
        step: int | None = number
        while step is not None:
            self.chosen[self.parents[step]] = step
            step = self.parents[step]

    def delete(self, number: int) -> set[int]:
        parent = self.parents[number]
        siblings = self.below(parent)
        place = siblings.index(number)
        gone = {number}
        for each in sorted(self.parents):
            if self.parents[each] in gone:
                gone.add(each)
        for each in gone:
            del self.parents[each]
        if self.chosen.get(parent) == number:
            left = [each for each in siblings if each != number]
            del self.chosen[parent]
            if left:
                self.chosen[parent] = left[max(place - 1, 0)]
        return gone


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["ask", "answer", "choose", "delete", "step"]), st.integers(0, 10**6))))
def test_any_steps_do_what_the_simple_model_does(steps: list[tuple[str, int]]) -> None:
    conversation, simple = Conversation(0, 0.0), _Simple()
    for number, (kind, drawn) in enumerate(steps, 1):
        there = sorted(simple.parents)
        picked = there[drawn % len(there)] if there else None
        if kind == "ask":
            parent = [None, *there][drawn % (len(there) + 1)]
            conversation.add(_question(number, parent))
            simple.parents[number] = parent
            simple.chosen[parent] = number
        elif picked is None:
            continue
        elif kind == "answer" and conversation[picked].role == "user":
            conversation.add(_reply(number, picked))
            simple.parents[number] = picked
            simple.chosen[picked] = number
        elif kind == "choose":
            conversation.choose(picked)
            simple.choose(picked)
        elif kind == "delete":
            assert set(conversation.delete(picked)) == simple.delete(picked)
        elif kind == "step":
            siblings = simple.below(simple.parents[picked])
            wanted = siblings[min(max(siblings.index(picked) + drawn % 5 - 2, 0), len(siblings) - 1)]
            assert conversation.step(picked, drawn % 5 - 2) == wanted
            simple.choose(wanted)
        assert _ids(conversation) == simple.shown()
    assert set(conversation.messages) == set(simple.parents)
    for number, parent in simple.parents.items():
        siblings = simple.below(parent)
        assert conversation.branch(number) == (siblings.index(number) + 1, len(siblings))
        assert conversation.children(number) == tuple(simple.below(number))


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What is speculative decoding?", "What is speculative decoding?"),
        ("Explain it. Then give an example.", "Explain it"),
        ("# A **bold** _heading_\n\nText", "A bold heading"),
        ("> - `code` in [a link](http://example.org/x)", "code in a link"),
        ("```python\nprint('hello')\n```", "print('hello')"),
        ("Version 3.11 of snake_case and 2*3*4 is out!  What now?", "Version 3.11 of snake_case and 2*3*4 is out!"),
        ("z. B. dies hier", "z. B. dies hier"),
        ("这是什么。请解释。", "这是什么。"),
        ("  \n\n \t line\twith\x00 signs \n", "line with signs"),
        ("", ""),
        ("***", ""),
        ("x" * 100, "x" * 47 + "…"),
        ("word " * 20, "word word word word word word word word word…"),
        ("\ud800", ""),
    ],
)
def test_a_title_is_the_first_sentence_without_marks(question: str, title: str) -> None:
    assert title_from(question) == title


@given(st.text(max_size=300))
def test_any_text_gives_a_short_title_on_one_line(question: str) -> None:
    title = title_from(question)
    assert len(title) <= 48
    assert title.isprintable()
    assert title == title.strip()


def test_a_huge_question_gives_its_title_at_once() -> None:
    assert title_from("a" * 5_000_000) == "a" * 47 + "…"
    assert title_from("*_`[" * 1_000_000) is not None
