"""Keep the conversations of responses in memory, so that the next request may continue one; the oldest is dropped."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from engine.errors import InvalidRequest
from engine.server.interfaces.responses import input_items

_MOST, _MOST_LETTERS = 256, 32 * 2**20


class KeptResponses:
    """Keep the items of responses by their ids. For one event loop."""

    def __init__(self, most: int = _MOST, most_letters: int = _MOST_LETTERS) -> None:
        self._most, self._most_letters = most, most_letters
        self._kept: OrderedDict[str, tuple[list[Any], int]] = OrderedDict()
        self._letters = 0

    def with_before(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body whose input includes the earlier items too. Raises InvalidRequest if they are not kept."""
        name = body.get("previous_response_id")
        if name is None:
            return dict(body)
        if not isinstance(name, str) or name not in self._kept:
            said = f"The response {str(name)[:60]} is not kept here."
            raise InvalidRequest(f"{said} Send the whole conversation as input.")
        self._kept.move_to_end(name)
        return {**body, "input": [*self._kept[name][0], *input_items(body)]}

    def keep(self, body: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Keep a response to a body, which includes the earlier items, unless it forbids that."""
        if body.get("store") is False:
            return
        items = [*input_items(body), *response["output"]]
        letters = len(json.dumps(items))
        self._kept[response["id"]] = items, letters
        self._letters += letters
        while self._kept and (len(self._kept) > self._most or self._letters > self._most_letters):
            _, (_, gone) = self._kept.popitem(last=False)
            self._letters -= gone
