"""Return the time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from engine.cancel import CancelToken
from engine.tools.builtin.base import ToolRefused, own_tool, text_argument
from engine.tools.tool import ToolOutput, one_line
from engine.translatable import Translatable

_ZONE = {
    "type": "string",
    "description": "A time zone such as Europe/Berlin; left out: that of this computer.",
    "optional": True,
}


class ClockTool:
    """Return date and time."""

    tool = own_tool(
        "current_time", Translatable("The time"), "Tell the current date, weekday and time.", time_zone=_ZONE
    )

    def call(self, arguments: Mapping[str, Any], _cancel: CancelToken, _timeout: float) -> ToolOutput:
        """Return the time as ISO 8601 with the weekday before it. Raises ToolRefused."""
        named = text_argument(arguments, "time_zone", usual="", most=64).strip()
        try:
            now = dt.datetime.now(ZoneInfo(named)) if named else dt.datetime.now().astimezone()
        except (ValueError, OSError, KeyError):
            raise ToolRefused(
                f'There is no time zone "{one_line(named)}". Write one such as Europe/Berlin, or leave it out.'
            ) from None
        return ToolOutput(f"{_WEEKDAYS[now.weekday()]}, {now.isoformat(timespec='seconds')}")


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
