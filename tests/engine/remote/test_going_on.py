"""Going on with a message on llama.cpp: nothing is lost, whether the server repeats the message or not."""

import pytest

from engine.messages.message import Message
from engine.remote.connect import connect_server
from helpers.remote.scripted import Scripted, as_json, piece, stream

LLAMA = {"data": [{"id": "fox", "owned_by": "llamacpp"}]}


def gone_on(begun: str, *pieces: tuple[str, int | None]) -> str:
    """What is understood of a reply that goes on with a text; each piece with the tokens written up to it."""
    with Scripted({"/v1/models": as_json(LLAMA)}) as server:
        told = [piece(text) | ({} if count is None else {"timings": {"predicted_n": count}}) for text, count in pieces]
        server.chats(*stream([*told, piece("", finish="stop")]))
        result = connect_server(server.url).generate([Message("user", "Hi"), Message("assistant", begun)])
        body = server.asked[-1].body
        assert (body["continue_final_message"], body["add_generation_prompt"], body["echo"]) == (True, False, False)
        return result.text


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize(
    ("begun", "pieces"),
    [
        ("ha ha ", ["ha", " ha", " !"]),
        ("ha ha ", ["ha ha !"]),
        ("1, 2, ", ["1"]),
        ("1, 2, ", ["1", ",", " 2", ","]),
        ("One", ["One"]),
        ("a b c", ["a b c"]),
        ("", ["a"]),
    ],
)
def test_what_a_server_writes_again_is_kept(begun: str, pieces: list[str], counts: bool) -> None:
    """It was asked not to repeat the message, and does not."""
    written = [
        (text, len("".join(pieces[: place + 1]).split()) if counts else None) for place, text in enumerate(pieces)
    ]
    assert gone_on(begun, *written) == "".join(pieces)


def test_an_older_server_repeats_the_message() -> None:
    """Its first piece has more words than tokens were written."""
    assert gone_on("Once upon a time", ("Once upon a time there", 1), (" was", 2)) == " there was"
    assert gone_on("Once upon a time", ("Once upon a time", 0), (" there", 1)) == " there"
    assert gone_on("Once upon a time", ("Once upon a hill", 1)) == "Once upon a hill"
