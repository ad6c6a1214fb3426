"""Ask about tool calls in a terminal, run them, and show their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.cancel import CancelToken
from engine.cli.cancellable import EXIT_DONE, run_cancellable
from engine.errors import Cancelled
from engine.messages.message import Message
from engine.messages.parts import ToolCall
from engine.tools.loop import (
    CALL_REFUSED,
    PlannedCall,
    cancelled_message,
    limit_message,
    planned_calls,
    result_message,
    run_call,
)
from engine.tools.permissions import Permission, Permissions
from engine.tools.tool import Tool, ToolOutput, one_line, plain_text
from engine.tools.toolbox import Toolbox

_MOST_SHOWN = 4_000
"""Bytes of the arguments of a call that are shown in a question about it."""
_WORDS = {
    Permission.once: "(o)nce",
    Permission.chat: "in this (c)hat",
    Permission.always: "(a)lways",
    Permission.never: "(n)ever",
}


class Answered(NamedTuple):
    """Hold the messages with the results of calls. `go_on`: the model is to reply to them."""

    messages: list[Message]
    go_on: bool


class TerminalCalls:
    """Run the calls of replies, each after a question. Attribute: last (the whole result of the last call).

    `tell` says something beside the conversation. Without a terminal nobody can be asked: only what was allowed before
    is run.
    """

    def __init__(
        self, toolbox: Toolbox, permissions: Permissions, tell: Callable[[str], None], *, limit: int, terminal: bool
    ) -> None:
        self.toolbox, self.last = toolbox, ""
        self._permissions, self._tell = permissions, tell
        self._limit, self._terminal = limit, terminal
        self._made = 0

    def begin_question(self) -> None:
        """Count calls anew."""
        self._made = 0

    def begin_chat(self) -> None:
        """Reset the permissions that held for the previous chat."""
        self._permissions.begin_chat()

    def answer(self, before: Sequence[Message], reply: Message, cancel: CancelToken) -> Answered:
        """Ask about the calls of a reply to the messages before it, and run those that are allowed."""
        messages: list[Message] = []
        go_on = True
        for planned in planned_calls(reply, self.toolbox, before):
            if self._made >= self._limit:
                self._tell(
                    f"{one_line(planned.call.name)} is not run: there were {self._limit} calls for this question."
                )
                messages.append(limit_message(planned.call, self._limit))
                go_on = False
                continue
            output = self._called(planned, cancel) if go_on else None
            self._made += 1
            go_on = output is not None
            messages.append(cancelled_message(planned.call) if output is None else result_message(planned.call, output))
        return Answered(messages, go_on)

    def _called(self, planned: PlannedCall, cancel: CancelToken) -> ToolOutput | None:
        """Return the result of a call; None if it was cancelled."""
        shown = _shown(planned.call, planned.tool)
        if planned.tool is not None:
            permission = self._asked(planned.tool, shown)
            if permission is None:
                self._tell("Cancelled.")
                return None
            if permission is Permission.never:
                self._tell("Not allowed.")
                return ToolOutput(CALL_REFUSED, is_error=True)
        else:
            self._tell(shown[0])
        outputs: list[ToolOutput] = []

        def work() -> int:
            outputs.append(run_call(planned, self.toolbox, cancel=cancel))
            return EXIT_DONE

        try:
            run_cancellable(work, cancel, leave=False)
        except Cancelled:
            self._tell("Cancelled.")
            return None
        self._show_output(outputs[0])
        return outputs[0]

    def _asked(self, tool: Tool, shown: list[str]) -> Permission | None:
        """Return the answer, given now or before; None if the question was cancelled.

        A call to be confirmed is shown, quiet or not.
        """
        given = self._permissions.given(tool)
        if given is not None or not self._terminal:
            for line in shown:
                self._tell(line)
        if given is not None:
            return given
        if not self._terminal:
            self._tell(f"Nobody can be asked here. To allow it: outrider-engine tools allow {tool.key!r}")
            return Permission.never
        print("\n".join(shown))
        choices = self._permissions.choices(tool)
        question = f"Run it? {', '.join(_WORDS[choice] for choice in choices)}; Ctrl+C cancels: "
        while True:
            try:
                typed = input(question).strip().casefold()
            except (KeyboardInterrupt, EOFError):
                print()
                return None
            meant = [choice for choice in choices if typed and choice.value.startswith(typed)]
            if len(meant) == 1:
                self._permissions.keep(tool, meant[0])
                return meant[0]
            if typed and Permission.always.value.startswith(typed):
                self._tell(f"It may change something or start a program: outrider-engine tools allow {tool.key!r}")

    def _show_output(self, output: ToolOutput) -> None:
        self.last = plain_text(output.text)
        lines = self.last.splitlines() or ["(nothing)"]
        mark = "✗" if output.is_error else "←"
        more = f"  ({len(lines) - 1} more lines: /result)" if len(lines) > 1 else ""
        self._tell(f"{mark} {one_line(lines[0], 160)}{more}")
        if output.pictures:
            self._tell(f"  ({len(output.pictures)} pictures, which a terminal does not show)")


def _shown(call: ToolCall, tool: Tool | None) -> list[str]:
    """Return the lines that show a call: the tool's server, and each argument."""
    name = one_line(call.name) if tool is None else f"{one_line(tool.server)} · {one_line(tool.title)}"
    arguments = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items()]
    return [f"→ {name}", *(f"    {line}" for line in plain_text("\n".join(arguments), _MOST_SHOWN).splitlines())]
