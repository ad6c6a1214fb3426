"""Define tools, their output, and the contract of a tool host."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import urlsplit

from engine.cancel import CancelToken
from engine.translatable import Translatable

MOST_RESULT_BYTES = 32_000
"""UTF-8 bytes of a result for a model; the rest is cut off, with a note."""
CALL_SECONDS = 120.0
"""The default time limit of a call."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters with which a text could command a terminal, or say something that a person does not see."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Describe a tool.

    `name`: its host's name for it; `title`: for people, often the same; `schema`: the JSON schema of its arguments;
    `server`: the name of its host; `writes`: it may change something or start a program; `asked_for_each`: the name of
    an argument, an address: the user is asked again for each new host in it.
    """

    name: str
    title: str
    description: str
    schema: Mapping[str, Any] = field(hash=False)
    server: str
    writes: bool
    asked_for_each: str = ""

    def asked_about(self, arguments: Mapping[str, Any]) -> Tool:
        """Return the tool that a person is asked about for these arguments: this one, or this one for one host."""
        if not self.asked_for_each:
            return self
        try:
            host = urlsplit(str(arguments.get(self.asked_for_each, "")).strip()).netloc.rpartition("@")[2].lower()
        except ValueError:
            host = ""
        name = one_line(host, 100) or "?"
        return replace(
            self, name=f"{self.name} {name}", title=Translatable("{title}: {name}", title=self.title, name=name)
        )

    @property
    def key(self) -> str:
        """Return the name by which the tool is switched off and allowed, unique among all hosts."""
        return f"{self.server}/{self.name}"

    @property
    def digest(self) -> str:
        """Return a fingerprint of the tool's description: a permission holds for no other version."""
        said = [self.name, self.description, self.schema, self.server, self.writes]
        return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """Hold a call's output: a text that a model may read, or the reason why there is none.

    `pictures`: addresses of pictures, mostly such as hold the picture themselves (data:image/png;base64,…). They are
    for people alone; nothing is ever fetched from one.
    """

    text: str
    is_error: bool = False
    pictures: tuple[str, ...] = ()


class ToolHost(Protocol):
    """Define a host of tools, which runs them. All methods are called on worker threads, and may block."""

    @property
    def name(self) -> str:
        """Return the name of the host, one line."""

    def tools(self) -> tuple[Tool, ...]:
        """Return its tools, starting its program if needed. Raises EngineError, in one sentence."""

    def call(
        self, tool_name: str, arguments: Mapping[str, Any], *, cancel: CancelToken, timeout: float = CALL_SECONDS
    ) -> ToolOutput:
        """Run a tool and return its output; its own failures are outputs. Raises Cancelled."""

    def close(self) -> None:
        """End the started processes. May be called more than once, and by another thread."""


def plain_text(text: str, most: int = MOST_RESULT_BYTES) -> str:
    """Return a text from outside without characters that are not seen, and of no more than `most` bytes.

    A note behind it names the size of the cut. Text that looks like a control token stays text in the prompt.
    """
    # Each unseen character goes, so that twice as much as is kept is enough to look at.
    said = _UNSEEN.sub("", text[: 2 * most].replace("\r\n", "\n").replace("\r", "\n"))
    data = said.encode()
    if len(data) <= most and len(text) <= 2 * most:
        return said
    kept = data[:most].decode(errors="ignore")
    left_out = max(len(text) - len(kept), 0)
    return f"{kept}\n[{left_out:,} more characters were cut off.]"


def one_line(text: str, most: int = 200) -> str:
    """Return a text from outside as one line of at most `most` characters, for a list or a sentence."""
    line = " ".join(plain_text(text, 8 * most).split())
    return line if len(line) <= most else line[: most - 1] + "…"
