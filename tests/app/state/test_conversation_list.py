"""The list at the left and what is read back from the store, without Qt."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.state.chat.transcript import Exchange
from app.state.conversations.conversation import Conversation, ConversationSummary, StoredMessage
from app.state.conversations.list import ConversationItem, ConversationList, Heading, around_hit, group_of
from app.state.conversations.listed import ListedConversations
from app.state.conversations.stored import exchanges, stats_from_kept, stats_to_kept
from engine import GenerationResult, GenerationStats, MethodStats

NOW = datetime(2026, 3, 10, 0, 30, tzinfo=UTC)


def item(number: int, when: datetime, *, pinned: bool = False) -> ConversationItem:
    """A conversation that was changed then."""
    return ConversationItem(number, f"Chat {number}", pinned, when.timestamp())


@pytest.mark.parametrize(
    ("ago", "group"),
    [
        (timedelta(minutes=-5), "today"),  # another machine's clock
        (timedelta(minutes=29), "today"),
        (timedelta(minutes=31), "yesterday"),
        (timedelta(hours=24, minutes=29), "yesterday"),
        (timedelta(hours=24, minutes=31), "week"),
        (timedelta(days=7), "week"),
        (timedelta(days=7, minutes=31), "older"),
        (timedelta(days=9_000), "older"),
    ],
)
def test_days_are_those_of_the_calendar(ago: timedelta, group: str) -> None:
    assert group_of(item(1, NOW - ago), NOW, UTC) == group
    assert group_of(item(1, NOW - ago, pinned=True), NOW, UTC) == "pinned"


def test_days_are_those_of_the_reader() -> None:
    west = timezone(timedelta(hours=-5))
    assert group_of(item(1, NOW - timedelta(hours=2)), NOW, UTC) == "yesterday"
    assert group_of(item(1, NOW - timedelta(hours=2)), NOW, west) == "today"


def test_chats_of_a_project_stand_below_it() -> None:
    state = ConversationList()
    projects = [Heading("project", 9, "Empty"), Heading("project", 8, "Garden")]
    late, early = replace(item(3, NOW), project=8), replace(item(2, NOW, pinned=True), project=8)
    state.show([late, early, item(1, NOW)], NOW, UTC, projects)
    assert state.rows == [*projects, early, late, Heading("today"), item(1, NOW)]
    state.show([late], NOW, UTC, [replace(projects[1], folded=True)])
    assert state.rows == state.projects == [replace(projects[1], folded=True)]


def test_headings_stand_only_over_something() -> None:
    state = ConversationList()
    state.show([], NOW, UTC)
    assert state.rows == []
    late, early, old = item(3, NOW), item(2, NOW - timedelta(minutes=5)), item(1, NOW - timedelta(days=30))
    pinned = item(4, NOW - timedelta(days=60), pinned=True)
    state.show([late, early, old, pinned], NOW, UTC)
    assert state.rows == [Heading("pinned"), pinned, Heading("today"), late, early, Heading("older"), old]
    assert state.row_of(1) == 6
    assert state.row_of(None) is None
    assert state.item(2) == early
    state.show_found("x", [old, late])
    assert state.rows == [old, late], "what was found comes without groups"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("zebras first", "zebras first"),
        ("about zebras", "about zebras"),
        ("a few words that stand before zebras and more zebras", "…stand before zebras and more zebras"),
        ("averyveryverylongwordbefore_zebras", "…ongwordbefore_zebras"),
    ],
)
def test_what_was_found_stands_where_it_is_seen(text: str, shown: str) -> None:
    hits = tuple((at, at + 6) for at in range(len(text)) if text.startswith("zebras", at))
    snippet, moved = around_hit(text, hits)
    assert snippet == shown
    assert [snippet[start:end] for start, end in moved] == ["zebras"] * len(hits)


def stats() -> GenerationStats:
    return GenerationStats(
        rounds=3,
        proposed=8,
        accepted=5,
        rejected=3,
        total_ms=12.5,
        proposed_by_position=(3, 3, 2),
        accepted_by_position=(3, 2, 0),
        forwards_by_size=(1, 0, 2),
        target_ms_by_size=(1.5, 0.0, 4.5),
        by_method=(MethodStats("draft-model", 3, 8, 5, 8, 1.0, 2.0),),
        plain_tokens_per_second=40.0,
    )


def test_figures_come_back_as_they_were() -> None:
    exchange = Exchange("Why?")
    assert stats_to_kept(exchange) is None
    exchange.end(GenerationResult("So.", (1,), 5, 5, "stop", "draft-model", "auto", stats()))
    kept = stats_to_kept(exchange)
    assert stats_from_kept(kept) == stats()
    assert stats_from_kept(kept | {"of a later version": 7} if kept else None) == stats()


@pytest.mark.parametrize(
    "senseless",
    [
        {"rounds": -1},
        {"rounds": True},
        {"rounds": "3"},
        {"total_ms": float("nan")},
        {"total_ms": float("inf")},
        {"proposed": 10**400},
        {"proposed_by_position": [1, 2]},
        {"proposed_by_position": [1, None], "accepted_by_position": [1, 2]},
        {"by_method": [3]},
        {"by_method": [{"rounds": 3}]},
        {"by_method": [{"name": "x", "rounds": []}]},
        {"by_method": {"name": "x"}},
    ],
)
def test_figures_that_make_no_sense_are_none(senseless: dict[str, object]) -> None:
    assert stats_from_kept(senseless) is None


def test_a_path_becomes_exchanges() -> None:
    conversation = Conversation(1, 0.0)
    conversation.add(StoredMessage(2, None, "user", "One", 1.0))
    conversation.add(
        StoredMessage(3, 2, "assistant", "First", 2.0, target="t", draft="d", stats={"accepted": 5, "dropped_turns": 2})
    )
    conversation.add(StoredMessage(4, 2, "assistant", "Broken o", 3.0, "writing"))
    conversation.add(StoredMessage(5, 4, "user", "Unanswered", 4.0))
    one, two = exchanges(conversation)
    assert (one.question_id, one.reply_id, one.reply_branch) == (2, 4, (2, 2))
    assert (one.status, one.reply, one.unfinished) == ("interrupted", "Broken o", True)
    assert (two.question, two.status, two.reply_id) == ("Unanswered", "cancelled", None)
    conversation.choose(3)
    (one,) = exchanges(conversation)
    assert (one.reply, one.models, one.dropped_turns) == ("First", "t + d", 2)
    assert one.stats is not None
    assert one.stats.emitted == 5


def test_an_exchange_that_is_there_is_taken_over() -> None:
    conversation = Conversation(1, 0.0)
    conversation.add(StoredMessage(2, None, "user", "One", 1.0))
    conversation.add(StoredMessage(3, 2, "assistant", "", 2.0, "waiting"))
    live = Exchange("One", question_id=2, reply_id=3)
    live.add("It is being wri")
    assert exchanges(conversation, [live])[0] is live
    conversation.add(StoredMessage(4, 2, "assistant", "Other", 3.0))
    assert exchanges(conversation, [live])[0] is not live
    conversation.choose(3)
    assert exchanges(conversation, [live])[0].reply_branch == (1, 2)


def test_the_latest_chats_are_found_without_a_look_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, spoken, looks = random.Random(4), dict[int, int](), list[int]()
    known = {number: ConversationSummary(number, "", 0.0, chance.random()) for number in range(2_000)}
    listed = ListedConversations(known.values())
    for turn in range(300):
        number = chance.randrange(2_100)
        changed = ConversationSummary(number, "", 0.0, chance.random(), number % 50 == 0, project=int(number % 40 == 0))
        if number in known and turn % 3 == 0:
            assert listed.take(number) is known.pop(number)
            continue
        known[number] = changed
        (listed.put if turn % 2 else listed.put_on_top)(changed)
        spoken |= {} if turn % 2 else {number: turn}
    ordered = sorted(known.values(), key=lambda each: (spoken.get(each.id, 0), each.updated, each.id), reverse=True)
    assert listed.ordered() == ordered
    apart, others = ([each for each in ordered if bool(each.pinned or each.project) is it] for it in (True, False))
    own = ListedConversations.__getitem__

    def find(self: ListedConversations, number: int) -> ConversationSummary:
        looks.append(number)
        return own(self, number)

    monkeypatch.setattr(ListedConversations, "__getitem__", find)
    assert listed.latest(20) == [each for each in ordered if each in apart or each in others[:20]]
    assert len(looks) == len(apart) + 20
    assert listed.are_more(len(others) - 1)
    assert not listed.are_more(len(others))
