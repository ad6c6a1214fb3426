"""Tool calls as servers tell them: without places, with one place for all, with names and ids again, as objects."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from engine.errors import ServerFailed
from engine.events import GenerationResult
from engine.remote.assembler import CallPieces
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


ROME = json.dumps({"city": "Rome"})
NESTED = {"city": json.dumps({"city": 1}), "of": {"city": "{"}}


def gathered(*chunks: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The calls that are understood of chunks with these pieces; all of them."""
    pieces = CallPieces()
    for each in chunks:
        pieces.take(each)
    calls, notes = pieces.finished()
    assert notes == ()
    return [(each.name, each.arguments) for each in calls]


def growing(text: str, **more: Any) -> list[dict[str, Any]]:
    """Pieces each of which tells all that came before, and more."""
    return [call(**more, arguments=text[:end]) for end in (1, 5, len(text) - 3, len(text))]


def alone(pieces: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Each piece in a chunk of its own."""
    return [[each] for each in pieces]


@pytest.mark.parametrize("place", [{}, {"index": None}, {"index": 0}, {"id": "a"}, {"index": 0, "id": "a"}])
@pytest.mark.parametrize("kind", [{}, {"type": "function"}])
def test_a_call_that_is_told_whole_in_every_chunk_is_one(place: dict[str, Any], kind: dict[str, Any]) -> None:
    named = {**place, **kind, "name": "get_weather"}
    whole, other = call(**named, arguments=WEATHER), call(**named, arguments=json.dumps(GOT[0][1], indent=1))
    assert gathered(*[[whole]] * 4) == GOT[:1]
    assert gathered([whole], [other], [whole]) == GOT[:1], "with other blanks"
    assert gathered(*alone(growing(WEATHER, **named))) == GOT[:1]
    assert gathered(*alone(growing(WEATHER, **named)), [whole], [other]) == GOT[:1]
    parts = [call(**place, arguments=part) for part in (WEATHER[:4], WEATHER[4:])]
    assert gathered([call(**named)], *alone(parts), [whole]) == GOT[:1], "in pieces, then as a whole"


@pytest.mark.parametrize("place", [{}, {"index": None}, {"index": 0}])
@pytest.mark.parametrize("second", [T, {"name": "get_weather", "arguments": ROME}])
def test_several_calls_that_are_told_whole_in_every_chunk(place: dict[str, Any], second: dict[str, Any]) -> None:
    one, two = call(**place, **W), call(**place, **second)
    right = [GOT[0], (second["name"], json.loads(second["arguments"]))]
    assert gathered([one], [one], [one, two], [one, two]) == right
    assert gathered([one], [one], [two], [two]) == right
    assert gathered([one, two], [one, two]) == right
    others = growing(second["arguments"], **place, name=second["name"])
    pairs = zip(growing(WEATHER, **place, name="get_weather"), others, strict=True)
    assert gathered(*map(list, pairs)) == right


def test_arguments_that_grow_without_a_name() -> None:
    chunks = [[call(index=0, id="a", name="get_weather")], *alone(growing(WEATHER, index=0))]
    chunks += [[call(index=1, id="b", name="get_time")], *alone(growing(TIME, index=1))]
    assert gathered(*chunks) == GOT
    assert gathered([call(name="get_weather")], *alone(growing(WEATHER))) == GOT[:1]


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("place", [{}, {"index": 0}, {"index": 0, "id": "a"}])
def test_arguments_that_were_written_as_json_twice(place: dict[str, Any], times: int) -> None:
    coded = WEATHER
    for _time in range(times):
        coded = json.dumps(coded)
    named = {**place, "name": "get_weather"}
    whole = [call(**named, arguments=coded)]
    assert gathered(whole) == GOT[:1]
    assert gathered(whole, whole, whole) == GOT[:1]
    assert gathered([call(**named, arguments=coded[:4])], [call(**place, arguments=coded[4:])]) == GOT[:1]
    assert gathered(*alone(growing(coded, **named))) == GOT[:1]
    assert gathered(whole, [call(**({**place, "id": "b"} if "id" in place else place), **T)]) == GOT


def test_pieces_that_were_written_as_json_one_by_one() -> None:
    parts = [json.dumps(part) for part in (WEATHER[:4], WEATHER[4:9], WEATHER[9:])]
    chunks = alone(call(index=0, arguments=part) for part in parts)
    assert gathered([call(index=0, id="a", name="get_weather")], *chunks) == GOT[:1]


def test_what_looks_like_a_repetition_within_arguments_is_none() -> None:
    """Pieces that happen to begin as those before: of nested objects, and of JSON within a text."""
    for cut in range(1, 30):
        text = json.dumps(NESTED)
        parts = [text[start : start + cut] for start in range(0, len(text), cut)]
        chunks = alone(call(index=0, arguments=part) for part in parts)
        assert gathered([call(index=0, id="a", name="get_weather")], *chunks) == [("get_weather", NESTED)]
    nested = '{"a":{"a":{"a":1}}}'
    chunks = alone(call(index=0, name="get_time", arguments=part) for part in (nested[:5], nested[5:10], nested[10:]))
    assert gathered(*chunks) == [("get_time", json.loads(nested))]


def test_ids_that_are_others_in_each_chunk() -> None:
    parts = (WEATHER[:4], WEATHER[4:9], WEATHER[9:])
    chunks = alone(call(index=0, id=str(place), name="get_weather", arguments=part) for place, part in enumerate(parts))
    assert gathered(*chunks) == GOT[:1]


def test_many_pieces_with_a_name_take_no_time() -> None:
    """What is looked at to tell calls apart is bounded."""
    pieces = CallPieces()
    pieces.take([call(name="get_weather", arguments='{"city": "' + "x" * 2**20)])
    for _piece in range(20_000):
        pieces.take([call(name="get_weather", arguments='\\"}')])
    assert pieces._looked_at < 80 * 2**20
    assert pieces.finished()[0] == ()


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
