"""Read the table of the sampling rules from the file that the compiled code includes too (sampling_rules.def)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

TABLE = Path(__file__).with_name("sampling_rules.def")
_ENTRY = re.compile(
    r"SAMPLING_(?P<kind>CUT|PENALTY)\("
    r"(?P<name>\w+), (?P<type>int64_t|float|double), (?P<off>[\d.]+), "
    r'"(?P<range>(?P<opening>[\[(])(?P<least>-?\d+), (?P<most>\d+)\])", "(?P<help>[^"]+)"\)'
)


class Rule(NamedTuple):
    """Describe one rule: the name of its number in a SamplingConfig, and the values that are allowed.

    `type`: as C calls it. `off`: the value with which the rule changes nothing, which is also the default. `range`: an
    interval as the table writes it, from `least` (`above`: which does not belong to it) to `most`. `help`: for the
    command line, where the option `option` sets the number. `signature`: the rule in the compiled code's table.
    """

    kind: Literal["cut", "penalty"]
    name: str
    type: Literal["int64_t", "float", "double"]
    off: float | int
    range: str
    least: int
    most: int
    above: bool
    help: str
    option: str
    signature: str


def read_table(text: str) -> tuple[Rule, ...]:
    """Return the rules of a table in their order. Raises ValueError for a line that is none."""
    return tuple(_read(line) for line in text.splitlines() if line.startswith("SAMPLING_"))


def _read(line: str) -> Rule:
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise ValueError(f"{TABLE.name}: {line} is not a rule")
    kind: Literal["cut", "penalty"] = "cut" if found["kind"] == "CUT" else "penalty"
    name, ctype, off = found["name"], found["type"], found["off"]
    return Rule(
        kind,
        name,
        ctype,  # type: ignore[arg-type]  # the expression knows these three
        int(off) if ctype == "int64_t" else float(off),
        found["range"],
        int(found["least"]),
        int(found["most"]),
        found["opening"] == "(",
        found["help"],
        "--" + name.replace("_", "-"),
        f"{kind} {name} {ctype} {off}\n",
    )


RULES = read_table(TABLE.read_text(encoding="utf-8"))
CUTS = tuple(rule for rule in RULES if rule.kind == "cut")
PENALTIES = tuple(rule for rule in RULES if rule.kind == "penalty")
SIGNATURE = "".join(rule.signature for rule in RULES)
"""The signature of a library that was compiled with the same table."""
