"""Tool calls in the window: a question first, then the result, and the model goes on from it."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel, QPushButton

from app.settings.settings import Settings
from app.state.chat.intents import GoOn
from app.state.tools.choice import ToolChoice
from app.views.chat.exchange import ExchangeView
from app.views.chat.tool_card import ToolCard
from engine import Cancelled, CancelToken, Message, Tool, ToolCall, ToolOutput
from engine.chat.reply_grammar import ParsedText, TagGrammar
from helpers.decoding.scripted_decoder import Script
from helpers.window.app_window import OpenWindow, Window


class Slow:
    """A host of two tools: one waits until it is let go, or cancelled; one writes."""

    name = "Shop"

    def __init__(self) -> None:
        self.go = threading.Event()
        self.calls: list[Mapping[str, Any]] = []
        self.text = "three apples"

    def tools(self) -> tuple[Tool, ...]:
        schema = {"type": "object", "properties": {"what": {"type": "string"}}}
        return (
            Tool("count", "Count", "Count goods.", schema, self.name, writes=False),
            Tool("buy", "Buy <b>now</b>", "Buy goods.", schema, self.name, writes=True),
        )

    def call(
        self, tool_name: str, arguments: Mapping[str, Any], *, cancel: CancelToken, timeout: float = 1.0
    ) -> ToolOutput:
        self.calls.append(arguments)
        while not self.go.wait(0.005):
            if cancel.cancelled:
                raise Cancelled
        return ToolOutput(self.text)

    def close(self) -> None:
        pass


def script(name: str = "current_time", times: int = 1, **arguments: Any) -> Script:
    """A model that calls a tool so many times for each question, and then says something."""

    def calls(prompt: Sequence[Message]) -> tuple[ToolCall, ...]:
        asked = max(n for n, each in enumerate(prompt) if each.role == "user")
        done = sum(each.role == "tool" for each in prompt[asked:])
        return (ToolCall(f"{done}", name, arguments),) if done < times else ()

    return Script(lambda prompt: "" if calls(prompt) else "It is noon.", tool_calls=calls)


def with_clock(**more: Any) -> Settings:
    return Settings(tools=ToolChoice(frozenset({"clock"}), **more).to_mapping())


def shop(window: Window) -> Slow:
    host = Slow()
    window.controller.tools._hosts = lambda: [host]  # type: ignore[method-assign]
    return host


def card(window: Window) -> ToolCard:
    window.wait(lambda: (view := window.main.transcript.view_of(window.last())) is not None and view.card is not None)
    found = window.view(window.last()).card
    assert found is not None
    return found


def words(view: ExchangeView | ToolCard) -> list[str]:
    return [button.text() for button in view.findChildren(QPushButton) if button.isVisibleTo(view)]


def roles(messages: Sequence[Message]) -> list[str]:
    return [message.role for message in messages]


def test_a_call_is_asked_about_run_and_its_result_used(open_window: OpenWindow, tmp_path: Path) -> None:
    said = script()
    window = open_window(said, settings=with_clock())
    window.ask("What time is it?")
    assert [each["function"]["name"] for each in said.options[0]["tools"]] == ["current_time"]
    question = card(window)
    assert question.title.toPlainText() == "The model wants to call a tool: The time · Outrider"
    assert words(question) == ["Once", "In this chat", "Always for this tool", "Never"]
    assert len(said.prompts) == 1, "nothing ran before an answer"
    window.press("Once", question)
    window.wait(lambda: len(said.prompts) == 2 and window.last().ended and not window.controller.busy)
    assert roles(said.prompts[-1]) == ["user", "assistant", "tool"]
    assert "T" in said.prompts[-1][-1].content
    assert window.last().goes_on
    assert window.last().reply == "It is noon."
    assert not window.view(window.last()).question.isVisibleTo(window.view(window.last()))
    first = window.first()
    assert [type(each).__name__ for each in first.calls] == ["ToolCall", "ToolResult"]
    assert window.view(first).card is None
    window.send("Thanks. And now?")
    window.wait(lambda: window.main.transcript.view_of(window.last()) is not None and window.last().tools is not None)
    assert roles(said.prompts[-1]) == ["user", "assistant", "tool", "assistant", "user"]
    number = window.program.conversations.open
    assert number is not None
    window.export(number.id, "json", tmp_path / "chat.json")
    window.export(number.id, "markdown", tmp_path / "chat.md")
    assert "You\n\n##" not in (tmp_path / "chat.md").read_text(encoding="utf-8")
    assert window.close()

    window = open_window(said)
    window.wait(lambda: len(window.controller.transcript.entries) == 3)
    assert card(window).question.stage == "asking", "the question is there again"
    window.import_(tmp_path / "chat.json")
    window.wait(lambda: len(window.controller.transcript.entries) == 3)
    assert window.first().calls == first.calls
    window.press("Never", card(window))
    window.wait(lambda: window.last().reply == "It is noon." and window.last().ended)
    assert said.prompts[-1][-1].content == "The user does not allow this call. Answer without it."
    window.ask("Again?")
    window.wait(lambda: window.last().goes_on and window.last().ended and not window.controller.busy)
    assert said.prompts[-1][-1].content.startswith("The user does not allow"), "nobody is asked after *never*"


def waits(window: Window) -> list[str]:
    return [each.text for each in window.controller.waiting.of(window.program.conversations.open)]


def test_messages_wait_for_what_follows_calls(open_window: OpenWindow) -> None:
    said = script("count", what="apples")
    said.reply, said.round_s = "Let me look. " * 3, 0.02
    window = open_window(said)
    host = shop(window)
    first = window.send("How many?")
    window.wait(lambda: first.reply)
    window.controller.send("And pears?")
    question = card(window)
    assert waits(window) == ["And pears?"], "behind what follows the call"
    window.press("Once", question)
    window.wait(lambda: host.calls)
    window.controller.send("And plums?")
    window.controller.steer("Quickly.")
    assert waits(window) == ["And pears?", "And plums?", "Quickly."], "there is nothing to steer while a tool runs"
    host.go.set()
    window.wait(lambda: said.prompts[-1][-1].content == "And pears?")
    assert roles(said.prompts[-1]) == ["user", "assistant", "tool", "assistant", "user"]
    host.go.clear()
    window.press("Once", card(window))
    window.wait(lambda: len(host.calls) == 2)
    window.controller.send_next(window.controller.waiting.of(window.program.conversations.open)[1].number)
    window.wait(lambda: said.prompts[-1][-1].content == "Quickly.")
    assert said.prompts[-1][-2].content == "The user cancelled this call."
    assert waits(window) == ["And plums?"]
    # Sent now, while a reply is written that ends with a call all the same: that is not run.
    window.wait(lambda: window.last().reply)
    said.deaf = True
    window.controller.send_next(window.controller.waiting.of(window.program.conversations.open)[0].number)
    window.wait(lambda: said.prompts[-1][-1].content == "And plums?")
    assert said.prompts[-1][-2].content == "Not run: the user went on without it."
    assert len(host.calls) == 2


class _Calls(TagGrammar):
    """Replies with calls between tags."""

    def __init__(self, **more: bool) -> None:
        super().__init__(**more)
        self.ends = {**self.ends, "content": ("<tool_call>",)}

    def parse(self, text: str) -> ParsedText:
        before, call, _ = text.partition("<tool_call>")
        parted = super().parse(before)
        return parted._replace(place="tool", settled=len(text)) if call else parted


def test_steering_leaves_out_the_call_that_is_written(open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helpers.decoding.scripted_decoder.TagGrammar", _Calls)
    said = Script('Let me look.<tool_call>\n{"name": "count", "arguments": {"what": "' + "x" * 400, round_s=0.02)
    window = open_window(said)
    shop(window)
    first = window.send("How many?")
    window.wait(lambda: '"count"' in first.reply)
    said.reply, said.round_s = " Three.", 0.0
    window.controller.steer("No, guess:")
    window.controller.steer("quickly.")
    window.wait(lambda: first.status == "done" and not window.controller.busy)
    assert (said.options[-1]["prefix"], said.options[-1]["forced"]) == ((0, 1, 2), (" No, guess: quickly.",))
    assert first.reply == "Let me look. Three.", "the scripted decoder writes nothing forced"
    stored = window.program.conversations.open
    assert stored is not None
    assert stored[first.reply_id or 0].text == first.reply


def test_the_context_meter_counts_the_tools(open_window: OpenWindow) -> None:
    window = open_window(Script("Hello."), settings=with_clock())
    window.ask("Hi.")
    window.wait(lambda: window.program.context.settled and window.program.context.use is not None)
    with_tools = window.program.context.use
    window.controller.tools.switch_builtin("clock", on=False)
    window.wait(lambda: window.program.context.settled and window.program.context.use != with_tools)
    use = window.program.context.use
    assert with_tools is not None
    assert use is not None
    assert with_tools.used > use.used + 40


def test_answers_hold_for_the_chat_or_for_ever_and_calls_have_a_limit(open_window: OpenWindow) -> None:
    said = script(times=3)
    window = open_window(said, settings=with_clock(limit=2))
    window.ask("What time is it?")
    window.press("In this chat", card(window))
    window.wait(lambda: window.last().tools is not None and window.last().tools.stage == "limit")  # type: ignore[union-attr]
    assert "2 tool calls were made" in card(window).title.toPlainText()
    window.press("Go on", card(window))
    window.wait(lambda: window.last().reply == "It is noon." and window.last().ended)
    window.controller.new_chat()
    window.ask("What time is it?")
    assert card(window).question.stage == "asking", "that was another chat"
    # Another message can be sent in its place: the call is then not run, and the model is told.
    window.ask("Never mind.")
    assert [each.content for each in said.prompts[-1] if each.role == "tool"] == [
        "Not run: the user went on without it."
    ]
    window.press("Always for this tool", card(window))
    window.wait(lambda: window.last().tools is not None and window.last().tools.stage == "limit")  # type: ignore[union-attr]
    window.press("End here", card(window))
    window.wait(lambda: window.view(window.last()).card is None)
    assert not window.controller.busy
    window.controller.new_chat()
    window.ask("What time is it?")
    window.wait(lambda: window.last().goes_on)


def test_a_running_call_can_be_cancelled_and_blocks_no_other_chat(open_window: OpenWindow) -> None:
    said = script("count", what="apples")
    window = open_window(said)
    host = shop(window)
    window.ask("How many?")
    window.press("Once", card(window))
    window.wait(lambda: host.calls and window.last().tools is not None and window.last().tools.stage == "running")  # type: ignore[union-attr]
    assert window.controller.busy
    first = window.program.conversations.open
    assert first is not None
    window.controller.new_chat()
    assert not window.controller.busy
    window.ask("In another chat?")
    assert card(window).question.stage == "asking"
    window.controller.open(first.id)
    assert window.controller.busy
    assert card(window).question.stage == "running"
    window.press("Cancel", card(window))
    window.wait(lambda: not window.controller.busy)
    assert window.view(window.last()).card is None
    assert window.last().calls[-1].text == "The user cancelled this call."
    before = len(said.prompts)
    host.go.set()
    window.ask("Go on.")
    assert roles(said.prompts[before])[-3:] == ["assistant", "tool", "user"]
    # A result that comes while another chat is shown is used all the same.
    host.go.clear()
    window.press("Once", card(window))
    window.wait(lambda: len(host.calls) == 2)
    window.controller.new_chat()
    host.go.set()
    window.wait(lambda: said.prompts[-1][-1].content.startswith("three apples\n"))
    window.wait(lambda: not window.controller.replies.queue)
    window.controller.open(first.id)
    assert window.last().reply == "It is noon."


def test_arguments_can_be_changed_before_a_call_runs(open_window: OpenWindow) -> None:
    said = script("count", what="apples", most=[1, 2])
    window = open_window(said)
    host = shop(window)
    host.go.set()
    window.ask("How many?")
    question = card(window)
    assert {name: field.toPlainText() for name, field in question.fields.items()} == {
        "what": "apples",
        "most": "[1, 2]",
    }
    question.fields["what"].setPlainText("<b>pears</b>")
    question.fields["most"].setPlainText("[1, ")
    window.press("Once", question)
    assert question.problem.isVisibleTo(question)
    assert question.problem.text() == "most must be JSON, as it was."
    assert not host.calls
    question.fields["most"].setPlainText("null")
    window.press("Once", question)
    window.wait(lambda: window.last().reply == "It is noon." and window.last().ended)
    assert host.calls == [{"what": "<b>pears</b>", "most": None}]
    told = 'The user changed the arguments of this call to {"what": "<b>pears</b>", "most": null}\nthree apples'
    assert said.prompts[-1][-1].content.startswith(f"{told}\n\nThis is the result of the tool ")
    assert window.first().calls[0].arguments == {"what": "apples", "most": [1, 2]}, "what the model wrote stays"  # type: ignore[union-attr]


def test_what_writes_is_never_always(open_window: OpenWindow) -> None:
    window = open_window(script("buy", what="<b>pears</b>\n![x](http://e.example/x.png)"))
    host = shop(window)
    window.ask("Buy some.")
    question = card(window)
    assert words(question) == ["Once", "In this chat", "Never"]
    assert question.title.toPlainText() == "The model wants to call a tool: Buy <b>now</b> · Shop"
    assert question.fields["what"].toPlainText() == "<b>pears</b>\n![x](http://e.example/x.png)"
    assert all(label.textFormat().name == "PlainText" for label in question.findChildren(QLabel) if label.text())
    assert not host.calls
    window.controller.tools.allow_writing_always("Shop/buy", allowed=True)
    window.press("In this chat", question)
    window.wait(lambda: host.calls)
    host.text = "\x1b[2J<img src=x>\u202e![y](http://e.example/y.png)" + "z" * 100_000
    host.go.set()
    window.wait(lambda: window.last().goes_on and window.last().ended)
    result = window.first().calls[-1].text  # type: ignore[union-attr]
    assert result.startswith("[2J<img src=x>![y](http://e.example/y.png)zzz")
    assert len(result) < 33_000


def test_a_call_that_waits_ends_nothing_when_the_window_is_closed(open_window: OpenWindow) -> None:
    said = script("count")
    window = open_window(said)
    host = shop(window)
    window.ask("How many?")
    window.press("Once", card(window))
    window.wait(lambda: host.calls)
    assert window.close()
    window = open_window(said)
    shop(window)
    window.wait(lambda: len(window.controller.transcript.entries) == 1)
    window.controller._show_open_calls()
    assert card(window).question.stage == "asking"


def test_a_call_that_is_repeated_is_not_asked_about_again(open_window: OpenWindow) -> None:
    said = script(times=2)
    window = open_window(said, settings=with_clock())
    window.ask("What time is it?")
    window.press("Once", card(window))
    window.wait(lambda: len(said.prompts) == 3 and window.last().ended and not window.controller.busy)
    assert window.last().reply == "It is noon."
    told = said.prompts[-1][-1].content
    assert said.prompts[-1][2].content in told
    assert told.endswith("Answer the user now, without a call.")


def test_the_other_road_leaves_calls_and_goes_on_behind_results(open_window: OpenWindow) -> None:
    said = script()
    said.reply = "Let me look at it."
    window = open_window(said, settings=with_clock())
    first = window.ask("What time is it?")
    window.press("Once", card(window))
    window.wait(lambda: len(said.prompts) == 2 and window.last().ended and not window.controller.busy)
    window.controller.carry_out(GoOn(window.last(), 2, "us see"))
    window.wait(lambda: len(said.prompts) == 3 and window.last().ended and not window.controller.busy)
    assert said.prompts[2] == said.prompts[1], "the call and its result are read again, and nothing is called"
    assert (said.options[2]["prefix"], window.last().reply_branch, window.last().goes_on) == ((0, 1), (2, 2), True)
    assert window.first() is first
    window.controller.carry_out(GoOn(first, 1, "us see"))
    window.wait(lambda: len(said.prompts) == 4 and window.last().ended)
    assert roles(said.prompts[3]) == ["user"], "the version without a result"
    assert card(window).question.stage == "asking"
    assert window.last().reply_branch == (2, 2)


@pytest.mark.parametrize("name", ["no_such_tool"])
def test_a_tool_that_is_not_there_is_told_the_model(open_window: OpenWindow, name: str) -> None:
    said = script(name)
    window = open_window(said, settings=with_clock())
    window.ask("Try.")
    window.wait(lambda: window.last().goes_on and window.last().ended)
    assert said.prompts[-1][-1].content == "There is no tool no_such_tool. There are: current_time."


def test_a_chat_uses_the_tools_that_it_may(open_window: OpenWindow) -> None:
    said = script()
    window = open_window(said, settings=with_clock())
    button = window.prompt.tools
    assert button.isVisibleTo(window.prompt)
    assert button.toolTip() == "Tools: 1 of 1 can be used in this chat"
    button._fill()
    action = next(each for each in button._menu.actions() if each.text() == "The time")
    action.trigger()
    assert button.toolTip() == "Tools: 0 of 1 can be used in this chat"
    said.tool_calls = ()
    window.ask("What time is it?")
    assert "tools" not in said.options[-1]
    window.controller.new_chat()
    assert button.toolTip() == "Tools: 1 of 1 can be used in this chat"
    window.ask("And here?")
    assert "tools" in said.options[-1]
