"""What a new version of a reply begins with, and where a model was unsure."""

from math import log

import pytest

from app.state.chat.displayed_reply import shown_until
from app.state.chat.road import take_road
from app.state.chat.rounds import RoundRecord
from app.state.chat.trace import TokenTrace
from app.state.chat.transcript import Exchange
from app.state.chat.unsure import doubt_of, least_sure
from engine import RoundEvent, TokenEvent

WORDS = [" one", " two", " three", " four", " five", " six", " seven"]


def recorded(texts: list[str]) -> TokenTrace:
    """A record: rounds of three tokens of which two were accepted, each with three alternatives."""
    trace = TokenTrace()
    for place, text in enumerate(texts):
        top = ((place, -0.5), (place + 50, -1.5), (place + 90, -2.5))
        names = {place: text, place + 50: f" other{place}"}
        origin = "correction" if place % 3 == 2 else "accepted"
        trace.add(TokenEvent(place, text, origin, 1 + place // 3, place, -0.5, None, top), names)  # type: ignore[arg-type]
        if place % 3 == 2:
            trace.add_round(RoundEvent(1 + place // 3, "draft", 4, 4, 2, 3.0, 6.0, None, ((9, -1.0), (8, -2.0))))
    return trace


def replied(trace: TokenTrace | None, before: str = "") -> Exchange:
    exchange = Exchange("Count", trace=trace)
    exchange.add(before + "".join(WORDS))
    exchange.status = "done"
    return exchange


@pytest.mark.parametrize("place", range(len(WORDS)))
def test_everything_before_a_token_is_kept(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = recorded(WORDS)
    road = take_road(replied(trace), place, place + 50, "same")
    assert road is not None
    assert road.text == road.shown == "".join(WORDS[:place])
    assert (road.prefix, road.forced) == (tuple(range(place)), (place + 50,))
    cut = road.trace
    assert cut is not None
    assert [cut[index] for index in range(place)] == [
        trace[index] if index // 3 == place // 3 - 1 or place % 3 == 0 or index < place - place % 3 else cut[index]
        for index in range(place)
    ]
    assert TokenTrace.from_bytes(cut.to_bytes()).tokens == cut.tokens
    looked_for = list[int]()
    own = TokenTrace.round

    def find(trace: TokenTrace, number: int) -> RoundRecord | None:
        looked_for.append(number)
        return own(trace, number)

    monkeypatch.setattr(TokenTrace, "round", find)
    stats = cut.figures()
    assert len(looked_for) <= place, "no round that is not there"
    assert stats.emitted == place
    assert stats.accepted <= stats.proposed
    cut.add(TokenEvent(7, " on", "plain", 1, 0, -0.1))
    assert cut.round_of(place) > (cut.round_of(place - 1) if place else 0)


def test_ones_own_words_have_the_space_of_what_they_replace() -> None:
    exchange = replied(recorded(WORDS))
    for words, forced in (("drei", " drei"), (" drei", " drei"), ("\ndrei", "\ndrei")):
        road = take_road(exchange, 2, words, "same")
        assert road is not None
        assert road.forced == (forced,)


def test_what_stands_before_the_record_is_text() -> None:
    road = take_road(replied(recorded(WORDS), "Well:"), 2, 52, "same")
    assert road is not None
    assert (road.text, road.prefix) == ("Well: one two", ("Well:", 0, 1))


def test_another_model_reads_the_text_and_a_server_all_of_it() -> None:
    exchange = replied(recorded(WORDS))
    road = take_road(exchange, 2, 52, "other")
    assert road is not None
    assert (road.text, road.prefix, road.forced, road.trace) == (" one two", (" one two",), (" other2",), None)
    road = take_road(exchange, 2, "so", "server")
    assert road is not None
    assert (road.text, road.prefix, road.forced, road.trace) == (" one two so", (" one two so",), (), None)


def test_without_a_record_there_is_no_road() -> None:
    assert take_road(replied(None), 1, "so", "same") is None
    assert take_road(replied(recorded(WORDS)), 7, "so", "same") is None
    edited = replied(recorded(WORDS))
    edited.add(" and more")
    assert take_road(edited, 1, "so", "same") is None


def test_what_is_shown_of_a_thought() -> None:
    reply, shown = "so it is</think>\n\nYes.", "<think>\nso it is\n</think>\n\nYes."
    assert shown_until(reply, shown, 5) == "<think>\nso it"
    assert shown_until(reply, shown, 8) == "<think>\nso it is"
    assert shown_until(reply, shown, 12) == "<think>\nso it is"
    assert shown_until(reply, shown, 20) == "<think>\nso it is\n</think>\n\nYe"
    assert shown_until("Yes.", "Yes.", 2) == "Ye"


def test_where_the_model_was_unsure() -> None:
    trace = TokenTrace()
    shares = [0.9, 0.5, 0.49, 0.2, 0.19, 0.05, 0.04, 0.01, 0.3]
    for place, share in enumerate(shares):
        trace.add(TokenEvent(place, "\n" if place == 7 else f"w{place}", "plain", place + 1, place, log(share)))
    trace.add(TokenEvent(9, "mine", "forced", 9, 9, log(0.001)))
    found = [doubt_of(trace, index) for index in range(len(trace))]
    middle = ["unsure", "unsure", "more unsure", "more unsure", "most unsure", "most unsure", "unsure", ""]
    assert found == ["", "", *middle]
    assert least_sure(trace) == [6, 5, 4, 3, 8, 2]
