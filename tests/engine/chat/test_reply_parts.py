"""Reasoning, content and calls of a reply while it comes, with grammars that need no model and no llama.cpp."""

from collections.abc import Sequence

import pytest

from engine.chat.reply_grammar import Ends, ParsedText, Place, SeenCall, TagGrammar, beginning_of
from engine.chat.reply_parts import Delta, ReplyParser, ReplyParts
from engine.errors import ChatTemplateFailed


class CallGrammar:
    """Part text into content and calls between [ and ]; what does not fit is a call without a name."""

    begun = ""
    plain = False

    def __init__(self, fails_from: int = 10**9) -> None:
        self.ends: Ends = {"reasoning": (), "content": ("[[",)}
        self.asked = 0
        self._fails_from = fails_from

    def parse(self, text: str) -> ParsedText:
        self.asked += 1
        if len(text) >= self._fails_from:
            raise ChatTemplateFailed("it crashes")
        said, opening, rest = text.partition("[[")
        if not opening:
            kept = len(text) - beginning_of(text, ("[[",))
            return ParsedText("", text[:kept], (), "content" if 0 < kept == len(text) else "", "content", kept)
        name, closing, more = rest.partition("]]")
        if not name.isidentifier() and name:
            return ParsedText("", said, (), "tool", "tool", len(said), False)
        if not closing:
            return ParsedText("", said, (SeenCall("", name, "{"),), "tool", "tool", len(said))
        place: Place = "content" if more else ""
        return ParsedText("", said + more, (SeenCall("", name, "{}"),), place, place or "tool", len(text))


class ThoughtOver(CallGrammar):
    """Expect a prompt that begins a thought and ends it, as templates write where a model is not to think."""

    begun = "<think>\n\n</think>\n\n"

    def __init__(self) -> None:
        super().__init__()
        self.ends = {**self.ends, "reasoning": ("</think>",)}

    def parse(self, text: str) -> ParsedText:
        parser = super().parse(text)
        return parser if text else parser._replace(last="reasoning")


def test_a_thought_that_the_prompt_ended_is_over() -> None:
    assert ReplyParser(ThoughtOver()).channel == "reasoning"
    assert not ReplyParser(ThoughtOver()).in_thought, "what is demanded of the reply holds from its first token on"
    opened = ReplyParser(TagGrammar(opened=True))
    assert opened.in_thought
    opened.feed("so</think>Hello")
    assert not opened.in_thought


def fed(parser: ReplyParser, pieces: Sequence[str]) -> list[Delta]:
    return [delta for piece in pieces for delta in parser.feed(piece)]


def joined(deltas: Sequence[Delta], channel: str) -> str:
    return "".join(text for name, text in deltas if name == channel)


@pytest.mark.parametrize(
    ("opened", "reply", "reasoning", "content"),
    [
        (False, "<think>so</think>\n\nHello", "so", "Hello"),
        (False, "\n<think>\n</think>\n\nHello", "", "Hello"),
        (False, "Hello <think> no </think>", "", "Hello <think> no </think>"),
        (False, "<thin is in", "", "<thin is in"),
        (True, "so</think>Hello", "so", "Hello"),
        (True, "so < that", "so < that", ""),
        (True, "so <", "so <", ""),
        (True, "\n\n</think>Hello", "", "Hello"),
        (False, "", "", ""),
    ],
)
def test_thoughts_in_tags(opened: bool, reply: str, reasoning: str, content: str) -> None:
    for pieces in ([reply], list(reply), [reply[at : at + 5] for at in range(0, len(reply), 5)]):
        parser = ReplyParser(TagGrammar(opened=opened))
        deltas = fed(parser, pieces)
        assert "<" not in joined(deltas, "reasoning")[-1:]
        deltas += parser.flush()
        assert (joined(deltas, "reasoning"), joined(deltas, "content")) == (reasoning, content)
        assert parser.finish() == ReplyParts(reasoning, content)


def test_a_thought_that_the_prompt_opened_is_one_from_its_first_token_on() -> None:
    parser = ReplyParser(TagGrammar(opened=True))
    assert parser.feed("Let") == [("reasoning", "Let")]
    assert parser.channel == "reasoning"


def test_half_a_marker_is_text_only_where_the_model_ended_the_reply() -> None:
    for ended, content in ((True, "a ["), (False, "a ")):
        parser = ReplyParser(CallGrammar())
        parser.feed("a [")
        assert parser.finish(ended=ended).content == content


def test_a_call_is_its_own_channel_and_content_may_follow() -> None:
    parser = ReplyParser(CallGrammar())
    deltas = fed(parser, ["Let me ", "see.[", "[look"])
    assert joined(deltas, "content") == "Let me see."
    assert parser.channel == "tool"
    assert [call.name for call in parser.tool_calls] == ["look"]
    deltas += fed(parser, ["]]", "x" * 40, "!"])
    assert parser.finish() == ReplyParts("", "Let me see." + "x" * 40 + "!", (SeenCall("", "look", "{}"),))


def test_what_does_not_fit_is_content_as_it_stands() -> None:
    for pieces in (["so [[1 2]] and on"], list("so [[1 2]] and on")):
        parser = ReplyParser(CallGrammar())
        deltas = fed(parser, pieces) + parser.flush()
        assert joined(deltas, "content") == "so [[1 2]] and on"
        assert parser.finish() == ReplyParts("", "so [[1 2]] and on")


def test_a_child_that_dies_loses_nothing_of_the_reply() -> None:
    parser = ReplyParser(CallGrammar(fails_from=12))
    deltas = fed(parser, ["so it goes ", "[", "[look]]", " on"]) + parser.flush()
    assert joined(deltas, "content") == "so it goes [[look]] on"


def test_text_without_a_marker_is_parted_once() -> None:
    grammar = CallGrammar()
    parser = ReplyParser(grammar)
    fed(parser, ["so it goes [1] on and "] * 1000)
    assert grammar.asked < 5


def test_a_reply_of_words_asks_nothing_more_of_a_plain_grammar() -> None:
    grammar = CallGrammar()
    grammar.plain = True
    parser = ReplyParser(grammar)
    assert joined(fed(parser, ["So", " it", " goes."]), "content") == "So it goes."
    assert parser.finish() == ReplyParts("", "So it goes.")
    assert grammar.asked == 1
    begun = ReplyParser(grammar)
    assert begun.feed("So [") == [("content", "So ")]
    begun.feed("[run")
    assert begun.channel == "tool"


def test_what_was_written_earlier_is_in_the_parts_and_shown_no_more() -> None:
    parser = ReplyParser(TagGrammar(), "<think>so</think>Hel")
    assert parser.feed("lo") == [("content", "lo")]
    assert parser.finish() == ReplyParts("so", "Hello")
