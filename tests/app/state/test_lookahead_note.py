"""What is told of the lookahead: state alone, without a window."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.state.models.models import ModelList
from app.state.models.selection import Lookahead, Selection
from app.state.speculation.lookahead import HOLD_S, MOST, ROUNDS, LookaheadNote, LookaheadWatch
from app.state.speculation.metrics import Metrics
from app.words.figures import lookahead_source, lookahead_words
from engine import GenerationStats, RoundEvent

TARGET, DRAFT = Path("/models/target.gguf"), Path("/models/draft.gguf")


def selection(lookahead: Lookahead = "auto", draft: Path | None = DRAFT) -> Selection:
    return Selection(TARGET, () if draft is None else (draft,), lookahead)


def drafted(proposed: int = 3, speedup: float | None = 1.42, source: str = "draft-model") -> RoundEvent:
    return RoundEvent(1, source, proposed, proposed, proposed - 1, 1.0, 2.0, speedup)


PLAIN = RoundEvent(1, "draft-model", 0, 0, 0, 0.0, 2.0, 1.0)


class Reply:
    """A reply whose rounds take a second each, or what is said."""

    def __init__(self, watch: LookaheadWatch) -> None:
        self.watch = watch
        self.now = 0.0

    def rounds(self, event: RoundEvent, count: int = 1, seconds: float = 1.0) -> LookaheadNote:
        """So many such rounds; gives the note."""
        for _ in range(count):
            self.now += seconds
            self.watch.take(self.now, event)
        return self.watch.note


@pytest.fixture
def watch() -> LookaheadWatch:
    """With auto and a draft chosen."""
    watch = LookaheadWatch()
    watch.choose(selection())
    return watch


@pytest.mark.parametrize(
    ("lookahead", "draft", "words"),
    [
        ("auto", DRAFT, "auto · chosen by measurement"),
        ("auto", None, "auto · chosen by measurement"),
        (4, DRAFT, "4 ahead · fixed"),
        (0, DRAFT, "plain · the lookahead is 0"),
        (4, None, "plain · no draft is chosen"),
    ],
)
def test_before_a_reply_the_choice_is_told(lookahead: Lookahead, draft: Path | None, words: str) -> None:
    watch = LookaheadWatch()
    watch.choose(selection(lookahead, draft))
    assert lookahead_words(watch.note) == words


def test_the_panel_says_of_automatic_what_the_picker_says() -> None:
    watch = LookaheadWatch()
    watch.choose(replace(selection(1, None), drafting="automatic"))
    assert lookahead_words(watch.note) == "plain · no draft fits"


def test_plain_replies_are_what_is_compared_with() -> None:
    """Those of this target, of some length, and the last one: the first may have been written by a cold machine."""
    metrics = Metrics()
    metrics.choose(selection())
    for emitted, seconds, told, right in ((90, 1.0, None, 90), (100, 0.5, 90.0, 200), (2, 1.0, 150.0, 150)):
        metrics.begin(TARGET)
        metrics.end(GenerationStats(plain_tokens=emitted, total_ms=1000.0 * seconds, plain_tokens_per_second=told))
        assert metrics.plain_speed == right
    metrics.begin(DRAFT)
    assert metrics.plain_speed is None, "of another target nothing is known"


def test_a_fixed_lookahead_is_told_whatever_the_rounds_are() -> None:
    watch = LookaheadWatch()
    watch.choose(selection(4))
    assert lookahead_words(Reply(watch).rounds(drafted(2, None), 20)) == "4 ahead · fixed"


def test_what_is_expected_is_told_while_it_drafts(watch: LookaheadWatch) -> None:
    reply = Reply(watch)
    assert lookahead_words(reply.rounds(drafted())) == "3 ahead · about 1.4× faster expected"
    for proposed in (5, 2, 3, 3, 4, 1, 3):
        reply.rounds(drafted(proposed, 1.5))
    assert lookahead_words(watch.note) == "3 ahead · about 1.5× faster expected", "typical of the last rounds"
    assert lookahead_source(watch.note) == "Lookahead"


def test_proposals_from_the_text_say_so(watch: LookaheadWatch) -> None:
    reply = Reply(watch)
    reply.rounds(drafted(3), 5)
    note = reply.rounds(drafted(12, 2.0, "ngram"), MOST)
    assert (note.lookahead, note.from_text) == (12, True)
    assert lookahead_source(note) == "Lookahead, from the text so far"


def test_plain_is_told_once_most_rounds_are(watch: LookaheadWatch) -> None:
    reply = Reply(watch)
    reply.rounds(drafted(), ROUNDS)
    assert reply.rounds(PLAIN, MOST - 1).kind == "drafting"
    assert lookahead_words(reply.rounds(PLAIN)) == "plain · this draft does not pay here"
    for _ in range(5):
        assert reply.rounds(drafted(1, 1.0)).kind == "plain", "a probe changes nothing"
        assert reply.rounds(PLAIN, 6).kind == "plain"
    assert reply.rounds(drafted(), MOST - 1).kind == "plain"
    assert reply.rounds(drafted()).kind == "drafting"


def test_a_round_that_finds_nothing_to_propose_is_not_plain(watch: LookaheadWatch) -> None:
    reply = Reply(watch)
    looked = RoundEvent(1, "ngram", 0, 0, 0, 0.0, 2.0, 1.3)
    reply.rounds(drafted())
    assert reply.rounds(looked, ROUNDS - 1).kind == "drafting"


def test_without_a_draft_the_text_is_what_does_not_pay() -> None:
    watch = LookaheadWatch()
    watch.choose(selection(draft=None))
    assert lookahead_words(Reply(watch).rounds(PLAIN, 3)) == "plain · the text repeats too little"


def test_where_auto_has_nothing_to_choose_from_it_says_so() -> None:
    watch = LookaheadWatch()
    watch.choose(selection(draft=None))
    assert lookahead_words(Reply(watch).rounds(drafted(0, None))) == "plain · no draft is chosen"


def test_proposals_that_do_not_pay_yet_are_a_trial(watch: LookaheadWatch) -> None:
    assert lookahead_words(Reply(watch).rounds(drafted(2, 1.0), 3)) == "2 ahead · testing whether it pays"


def test_it_changes_twice_a_second_at_most(watch: LookaheadWatch) -> None:
    reply = Reply(watch)
    told, last = 0, watch.note
    for number in range(500):
        note = reply.rounds(drafted(1 + number % 5, 1.0 + number % 7), seconds=0.01)
        told += note != last
        last = note
    assert 2 <= told <= 5.0 / HOLD_S + 1


def test_the_last_rounds_are_the_last_word(watch: LookaheadWatch) -> None:
    reply = Reply(watch)
    reply.rounds(drafted(3, 1.2))
    reply.rounds(drafted(6, 2.0), 7, seconds=0.001)
    assert watch.note.lookahead == 3
    watch.end()
    assert (watch.note.lookahead, watch.note.speedup) == (6, 1.9)


def test_a_new_reply_does_not_begin_with_a_flicker(watch: LookaheadWatch) -> None:
    reply = Reply(watch)
    reply.rounds(PLAIN, ROUNDS)
    watch.end()
    watch.begin()
    assert reply.rounds(drafted(1, 1.0)).kind == "plain"
    assert reply.rounds(PLAIN, 5).kind == "plain"
    assert reply.rounds(drafted(3, 1.4), MOST).kind == "drafting"


def test_another_choice_takes_the_note_along() -> None:
    metrics = Metrics()
    assert metrics.choose(selection())
    metrics.begin()
    metrics.take(1.0, drafted())
    metrics.end(None)
    assert metrics.lookahead.kind == "drafting"
    assert not metrics.choose(selection())
    metrics.begin()
    assert metrics.lookahead.kind == "drafting", "it stands until there are rounds"
    version = metrics.version
    assert metrics.choose(selection(7))
    assert metrics.version != version
    assert metrics.lookahead == LookaheadNote("fixed", 7)
    metrics.choose(selection())
    metrics.take(1.0, drafted())
    metrics.clear()
    assert metrics.lookahead == LookaheadNote("ready")


def test_auto_is_what_is_chosen_first() -> None:
    models = ModelList((TARGET, DRAFT))
    assert models.selection == replace(selection(), drafting="automatic")
    models.choose(lookahead=5)
    models.choose_drafting("none")
    assert models.selection == replace(selection(5, None), drafting="none")
    models.choose(lookahead="auto")
    assert models.selection.lookahead == "auto"
