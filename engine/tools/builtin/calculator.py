"""Calculate and plot: JavaScript in a child process without files, network and other programs.

The child computes (calculator_child.py) within limits of memory and time, and ends with each calculation. A plot is
drawn here from the numbers that come back (plot_svg.py); nothing that a model writes becomes markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import monotonic
from typing import Any

from engine.cancel import CancelToken
from engine.system.child import ask_child, child_command
from engine.system.hidden_commands import CALCULATION
from engine.tools.builtin.base import ToolRefused, own_tool, text_argument
from engine.tools.builtin.plot_svg import curves_of, plot_svg, said_of
from engine.tools.tool import ToolOutput, one_line
from engine.translatable import Translatable

LIMIT_S = 5.0
"""Processor time of a calculation."""
_CLOCK_S = 30.0
_MEMORY_BYTES = 400 * 2**20
"""The whole child, where it cannot limit itself."""
_MOST_BYTES = 8 * 2**20
_LONGEST_CODE = 50_000


class CalculateTool:
    """Run JavaScript, and give its value."""

    tool = own_tool(
        "calculate",
        Translatable("Calculate"),
        "Run JavaScript and give the value of its last expression, and what console.log printed. "
        "There are no files and no network.",
        code={"type": "string", "description": "JavaScript, such as (17.5 * 12) / 7"},
    )

    def call(self, arguments: Mapping[str, Any], cancel: CancelToken, timeout: float) -> ToolOutput:
        """Return the value as text. Raises ToolRefused, Cancelled."""
        said = run_code(text_argument(arguments, "code", most=_LONGEST_CODE), cancel, timeout)
        return ToolOutput("\n".join(filter(None, (str(said.get("printed", "")), str(said.get("value", ""))))))


class PlotTool:
    """Draw the points that JavaScript computes."""

    tool = own_tool(
        "plot",
        Translatable("Plot"),
        "Draw a line plot for the user. The last expression of the JavaScript must be the data: a list of [x, y] "
        "pairs, or an object that gives several such lists by their names.",
        code={
            "type": "string",
            "description": "JavaScript, such as Array.from({length: 100}, (_, i) => [i / 10, Math.sin(i / 10)])",
        },
        title={"type": "string", "description": "A heading.", "optional": True},
    )

    def call(self, arguments: Mapping[str, Any], cancel: CancelToken, timeout: float) -> ToolOutput:
        """Return the plot as a picture, and its description as text. Raises ToolRefused, Cancelled."""
        title = one_line(text_argument(arguments, "title", usual="", most=1_000), 80)
        said = run_code(text_argument(arguments, "code", most=_LONGEST_CODE), cancel, timeout)
        try:
            curves = curves_of(json.loads(str(said.get("json", ""))))
        except (ValueError, RecursionError):
            raise ToolRefused("The value is no data that can be drawn: give a list of [x, y] pairs.") from None
        return ToolOutput(said_of(curves), pictures=(plot_svg(curves, title),))


def run_code(code: str, cancel: CancelToken, timeout: float) -> dict[str, Any]:
    """Run code in a child and return its "value" and its "printed" output as text, and its "json".

    Raises ToolRefused, Cancelled.
    """
    ends = monotonic() + min(timeout, _CLOCK_S)

    def check() -> None:
        cancel.check()
        if monotonic() > ends:
            raise ToolRefused("The calculation took too long.")

    request = json.dumps({"code": code, "seconds": LIMIT_S}).encode()
    try:
        data = ask_child(child_command(CALCULATION), _MEMORY_BYTES, check, request)
    except OSError as error:
        raise ToolRefused(f"The process that calculates cannot be started ({error.strerror or error}).") from None
    if data is None:
        raise ToolRefused("The calculation takes too much memory.")
    try:
        said = json.loads(data[:_MOST_BYTES])
    except ValueError:
        raise ToolRefused("The calculation took too much memory or time.") from None
    if not isinstance(said, dict) or "problem" in said:
        raise ToolRefused(str(said.get("problem", "")) if isinstance(said, dict) else "It said nothing.")
    return said
