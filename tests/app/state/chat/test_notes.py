"""What the engine notes of how a prompt was made is shown under the reply, once in a chat."""

from dataclasses import replace

from app.state.chat.transcript import Transcript
from engine import GenerationResult, GenerationStats

RESULT = GenerationResult("Hi", (), 1, 1, "stop", "plain", 0, GenerationStats())


def test_each_note_is_shown_once() -> None:
    transcript, shown = Transcript(), []
    for notes in (("Merged.",), ("Merged.", "Joined."), (), ("Joined.",)):
        exchange = transcript.ask("Who?")
        exchange.end(replace(RESULT, notes=notes))
        transcript.note_once(exchange)
        shown.append(exchange.notes)
    assert shown == [("Merged.",), ("Joined.",), (), ()]
    transcript.entries[:1] = []
    exchange = transcript.ask("Who?")
    exchange.end(replace(RESULT, notes=("Merged.",)))
    transcript.note_once(exchange)
    assert exchange.notes == ("Merged.",), "the reply that said it is gone"
