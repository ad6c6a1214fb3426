"""Tool calls as servers tell them: without places, with one place for all, with names and ids again, as objects."""

import json
from typing import Any

import pytest

from engine.errors import ServerFailed
from engine.events import GenerationResult
from engine.remote.connect import connect_server
from helpers.remote.scripted import Scripted, as_json, piece, stream

GOT = [("get_weather", {"city": "Paris"}), ("get_time", {"zone": "CET"})]
WEATHER, TIME = (json.dumps(arguments) for _, arguments in GOT)


def call(**told: Any) -> dict[str, Any]:
    """One piece of a call; `name` and `arguments` are its function's."""
    function = {name: told.pop(name) for name in ("name", "arguments") if name in told}
    return {**told, **({"function": function} if function else {})}


def told(*chunks: list[dict[str, Any]]) -> GenerationResult:
    """What is understood of a stream whose chunks have these pieces of calls."""
    pieces = [{"choices": [{"delta": {"tool_calls": calls}, "finish_reason": None}]} for calls in chunks]
    with Scripted() as server:
        server.chats(*stream([*pieces, piece("", finish="tool_calls")]))
        return connect_server(server.url).generate("Hi", tools=[{"name": "get_weather"}, {"name": "get_time"}])


def calls_of(result: GenerationResult) -> list[tuple[str, dict[str, Any]]]:
    return [(each.name, each.arguments) for each in result.tool_calls]


W: dict[str, Any] = {"name": "get_weather", "arguments": WEATHER}
T: dict[str, Any] = {"name": "get_time", "arguments": TIME}


@pytest.mark.parametrize(
    "chunks",
    [
        [[call(**W)], [call(**T)]],
        [[call(**W), call(**T)]],
        [[call(id="a", **W)], [call(id="b", **T)]],
        [[call(id="a", **W), call(id="b", **T)]],
        [[call(index=None, id="a", **W)], [call(index=None, id="b", **T)]],
        [[call(index=0, id="a", **W)], [call(index=0, id="b", **T)]],
        [[call(index=0, **W)], [call(index=0, **T)]],
        [[call(index=0, id="a", **W), call(index=0, id="b", **T)]],
        [[call(index=0, type="function", id="", **W)], [call(index=0, type="function", id="", **T)]],
        [[call(index=0, **W)], [call(index=1, **T)]],
        [[call(index=1, **W)], [call(index=0, **T)]],
        [[call(name="get_weather", arguments=GOT[0][1])], [call(name="get_time", arguments=GOT[1][1])]],
        [[call(index=0, id=1, name="get_weather", arguments=GOT[0][1])], [call(index=1, id=2, **T)]],
        [[call(index="0", id="a", **W)], [call(index="1", id="b", **T)]],
        [[call(index=0, id="a", name="get_weather")], [call(index=0, arguments=WEATHER)], [call(index=1, id="b", **T)]],
        [
            [call(index=0, id="a", name="get_weather", arguments={})],
            [call(index=0, arguments=WEATHER[:4])],
            [call(index=0, arguments=WEATHER[4:])],
            [call(index=1, id="b", name="get_time", arguments="{}")],
            [call(index=1, arguments=TIME)],
        ],
        [
            [call(id="a", name="get_weather")],
            [call(arguments=WEATHER)],
            [call(id="b", name="get_time")],
            [call(arguments=TIME)],
        ],
        [
            [call(id="a", name="get_weather"), call(id="b", name="get_time")],
            [call(arguments=WEATHER), call(arguments=TIME)],
        ],
        [
            [call(id="a", name="get_weather"), call(id="b", name="get_time")],
            [call(id="b", arguments=TIME)],
            [call(id="a", arguments=WEATHER)],
        ],
    ],
)
def test_two_whole_calls_are_two(chunks: list[list[dict[str, Any]]]) -> None:
    result = told(*chunks)
    assert calls_of(result) == GOT
    assert result.notes == ()


@pytest.mark.parametrize(
    "again",
    [{"name": "get_weather"}, {"id": "a"}, {"id": "a", "name": "get_weather", "type": "function"}, {"id": "other"}],
)
@pytest.mark.parametrize("place", [{}, {"index": 0}, {"index": None}])
def test_a_name_or_an_id_that_is_told_again_is_told_once(again: dict[str, Any], place: dict[str, Any]) -> None:
    parts = [WEATHER[:3], WEATHER[3:7], WEATHER[7:], ""]
    first = {"id": "a", "name": "get_weather", "type": "function"}
    chunks = [[call(**place, **(first if number == 0 else again), arguments=part)] for number, part in enumerate(parts)]
    result = told(*chunks)
    assert calls_of(result) == GOT[:1]
    assert (result.tool_calls[0].id, result.notes) == ("a", ())


def test_a_name_that_comes_in_pieces_or_grows() -> None:
    pieces = [[call(index=0, id="a", name="get_")], [call(index=0, name="weather")], [call(index=0, arguments=WEATHER)]]
    assert calls_of(told(*pieces)) == GOT[:1]
    grows = [
        [call(index=0, id="a", name="get_")],
        [call(index=0, name="get_weather")],
        [call(index=0, arguments=WEATHER)],
    ]
    assert calls_of(told(*grows)) == GOT[:1]


def test_pieces_that_say_nothing_of_a_call_are_passed_over() -> None:
    empty: list[dict[str, Any]] = [
        *({}, {"index": 0}, {"id": None}, {"function": None}, {"index": 0, "function": {}}, {"type": "function"}),
        {"extra_content": {"google": {"thought_signature": "x"}}},
    ]
    chunks = [chunk for each in empty for chunk in ([each], [call(id="a", **W)] if each == {} else [each])]
    result = told(*chunks)
    assert calls_of(result) == GOT[:1]
    assert result.notes == ()
    only = told(*([each] for each in empty))
    assert (only.tool_calls, only.notes) == ((), ())


def test_the_same_call_twice_is_two_calls_and_a_whole_one_again_is_one() -> None:
    twice = told([call(id="a", **W)], [call(id="b", **W)])
    assert calls_of(twice) == GOT[:1] * 2
    again = told([call(id="a", **W)], [call(id="a", **W)])
    assert calls_of(again) == GOT[:1]


def test_calls_of_an_answer_that_is_no_stream() -> None:
    calls = [call(id="a", type="function", **W), call(id="b", type="function", name="get_time", arguments=GOT[1][1])]
    with Scripted() as server:
        message = {"content": None, "tool_calls": calls}
        server.chats(*as_json({"choices": [{"message": message, "finish_reason": "tool_calls"}]}))
        assert calls_of(connect_server(server.url).generate("Hi")) == GOT


def test_what_is_left_out_is_named_in_short() -> None:
    result = told([call(index=0, name="x" * 5000, arguments="{")], [call(index=1, name="a\nb", arguments="[1]")])
    assert result.tool_calls == ()
    (note,) = result.notes
    assert len(note) < 200
    assert note.isprintable()
    many = told(*([call(index=place, name=f"n{place}", arguments="{")] for place in range(40)))
    assert len(many.notes[0]) < 200


@pytest.mark.parametrize("calls", [{}, "x", [3], [None], [[]], [call(index=-1, **W)], [call(index=256, **W)]])
def test_calls_that_are_none(calls: Any) -> None:
    with pytest.raises(ServerFailed, match="cannot be read"):
        told(calls)


def test_there_are_only_so_many_calls() -> None:
    with pytest.raises(ServerFailed, match="a tool call is malformed"):
        told(*([call(id=str(number), **W)] for number in range(300)))
