"""Read from llama.cpp's tests what replies mean: raw text, template, tools, and the parts that are expected.

Its `tests/test-chat.cpp` states that in chains of calls whose arguments are literals and named constants; this reads
just so much C++. What it does not understand is left out.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TOKEN = re.compile(
    r"""(?P<raw>R"(?P<mark>[^(\s]*)\((?P<body>.*?)\)(?P=mark)")|(?P<text>"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z_][\w:]*)"""
    r"""|(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<number>\d+)|(?P<sign>.)""",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_CONSTANT = re.compile(
    r"(?:const\s+|static\s+)*(?:auto|std::string|char\s*\*|common_chat_msg|common_chat_tool)\s+(\w+)\s*(?:=\s*(?=\S)|(?=\{))"
)
_TESTER = re.compile(r"auto (\w+)\s*=\s*peg_tester\(([^,)]+)")
_CASE = re.compile(r"\b(tst\w*)\.test\(")


class _NotUnderstood(Exception):
    """Report C++ that this does not read."""


@dataclass
class Expected:
    """Hold the parts of a reply. `calls`: name and arguments."""

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class UpstreamCase:
    """Hold a reply and its parts. `parts_reasoning`: whether reasoning is told from content in it."""

    line: int
    template: str
    reply: str
    expected: Expected
    tools: list[dict[str, Any]]
    thinking: bool = True
    parts_reasoning: bool = False
    partial: bool = False
    prefill: Expected | None = None
    special: bool = False
    """True if it needs a schema, a choice of tools or messages that a reply alone does not tell."""


class _Reader:
    """Evaluate an expression of C++, from a position in a text."""

    def __init__(self, text: str, at: int, names: dict[str, Any]) -> None:
        self._text, self._at, self._names = text, at, names

    @property
    def at(self) -> int:
        return self._at

    def peek(self) -> re.Match[str]:
        at = self._at
        while True:
            found = _TOKEN.match(self._text, at)
            if found is None:
                raise _NotUnderstood
            if found["skip"] is None:
                return found
            at = found.end()

    def take(self, sign: str | None = None) -> re.Match[str]:
        found = self.peek()
        if sign is not None and found[0] != sign:
            raise _NotUnderstood
        self._at = found.end()
        return found

    def expression(self) -> Any:
        value = self._term()
        while self.peek()[0] == "+":
            self.take()
            value = value + self._term()
        return value

    def listed(self, end: str) -> list[Any]:
        """Return the values up to `end`, whose opening sign was taken."""
        values = []
        while self.peek()[0] != end:
            values.append(self.expression())
            if self.peek()[0] == ",":
                self.take()
        self.take(end)
        return values

    def _term(self) -> Any:
        found = self.take()
        if found["raw"] is not None or found["text"] is not None:
            value = _literal(found)
            while self.peek()["raw"] is not None or self.peek()["text"] is not None:
                value += _literal(self.take())
            return value
        if found[0] == "{":
            return self.listed("}")
        if found["name"] is None:
            raise _NotUnderstood
        name = found[0]
        if self.peek()[0] == "(":
            self.take()
            return _called(name, self.listed(")"))
        if name in ("true", "false"):
            return name == "true"
        if name.startswith("COMMON_"):
            return name
        if name not in self._names:
            raise _NotUnderstood
        return self._names[name]


def _literal(found: re.Match[str]) -> str:
    if found["raw"] is not None:
        return str(found["body"])
    return re.sub(
        r"\\(?:x([0-9a-fA-F]{2})|(.))",
        lambda one: chr(int(one[1], 16)) if one[1] else _ESCAPES.get(one[2], one[2]),
        found[0][1:-1],
        flags=re.DOTALL,
    )


def _called(name: str, given: list[Any]) -> Any:
    if name == "std::string":
        return given[0]
    if name == "simple_assist_msg":
        content, reasoning, tool, arguments, ident = (given + [""] * 5)[:5]
        return Expected(content, reasoning, [(tool, arguments)] if tool or ident else [])
    if name == "message_with_tool_calls":
        return Expected(calls=[(given[0], given[1])])
    if name == "message_with_tool_calls_and_reasoning":
        return Expected(reasoning=given[2], calls=[(given[0], given[1])])
    if name == "message_with_reasoning_and_tool_call":
        return Expected(reasoning=given[0], calls=[(given[1], given[2])])
    if name == "message_with_content_and_tool_call":
        return Expected(content=given[0], calls=[(given[1], given[2])])
    if name == "message_with_reasoning_content_and_multiple_tool_calls":
        return Expected(given[1], given[0], [(call[0], call[1]) for call in given[2]])
    raise _NotUnderstood


def read_cases(path: Path) -> tuple[list[UpstreamCase], int]:
    """Return the cases of test-chat.cpp, and how many were not understood."""
    text = path.read_text(encoding="utf-8")
    names = dict(_constants(text))
    places = [(found.start(), found[1], found[2]) for found in _TESTER.finditer(text)]
    cases, left_out = [], 0
    for found in _CASE.finditer(text):
        index = bisect_right(places, (found.start(),)) - 1
        while index >= 0 and places[index][1] != found[1]:
            index -= 1
        try:
            for template in _templates(text, places[index]):
                case = _case(text, found.end(), template, names)
                case.line = text.count("\n", 0, found.start()) + 1
                cases.append(case)
        except _NotUnderstood:
            left_out += 1
    return cases, left_out


def _constants(text: str) -> Iterator[tuple[str, Any]]:
    names: dict[str, Any] = {}
    for found in _CONSTANT.finditer(text):
        try:
            value = _Reader(text, found.end(), names).expression()
        except _NotUnderstood:
            continue
        names[found[1]] = value
        yield found[1], value


def _templates(text: str, place: tuple[int, str, str]) -> list[str]:
    start, _, given = place
    if given.startswith('"'):
        return [given.strip('"')]
    function = list(re.finditer(r"static void (\w+)\(const std::string & " + given, text[:start]))
    loops = list(re.finditer(r"for \(const \w+ (?:& )?(\w+) ?:", text[:start]))
    if function and given == "template_path":
        called = [at.start() for at in re.finditer(function[-1][1] + r"\(tmpl", text)]
        loops = [
            loop for loop in re.finditer(r"for \(const \w+ (?:& )?(\w+) ?:", text) if called and loop.end() < called[0]
        ]
    if not loops:
        raise _NotUnderstood
    body = text[loops[-1].end() : loops[-1].end() + 800].partition(") {")[0]
    return re.findall(r'"(models/templates/[^"]+)"', body)


def _case(text: str, at: int, template: str, names: dict[str, Any]) -> UpstreamCase:
    reader = _Reader(text, at, names)
    case = UpstreamCase(0, template, reader.listed(")")[0], Expected(), [])
    while reader.take(".")[0] == ".":
        name = reader.take()[0]
        reader.take("(")
        if name == "run":
            return case
        if name == "json_schema":
            case.special = True
            while reader.take()[0] != ")":
                pass
            continue
        _apply(case, name, reader.listed(")"))
    raise _NotUnderstood


def _apply(case: UpstreamCase, name: str, given: list[Any]) -> None:
    """Apply one call of the chain to the case."""
    match name:
        case "expect":
            case.expected = given[0]
        case "expect_content":
            case.expected = Expected(given[0], case.expected.reasoning, case.expected.calls)
        case "expect_reasoning":
            case.expected = Expected(case.expected.content, given[0], case.expected.calls)
        case "expect_tool_calls":
            calls = [(call[0], call[1]) for call in given[0]]
            case.expected = Expected(case.expected.content, case.expected.reasoning, calls)
        case "tools":
            case.tools = [_tool(*tool) for tool in given[0]]
        case "enable_thinking":
            case.thinking = given[0]
        case "reasoning_format":
            case.parts_reasoning = given[0] != "COMMON_REASONING_FORMAT_NONE"
        case "is_partial":
            case.partial = given[0]
        case "messages":
            case.prefill = given[0][-1] if isinstance(given[0][-1], Expected) else None
            case.special = case.special or case.prefill is None
        case "tool_choice":
            case.special = True


def _tool(name: str, description: str, parameters: str) -> dict[str, Any]:
    function = {"name": name, "description": description, "parameters": json.loads(parameters)}
    return {"type": "function", "function": function}
