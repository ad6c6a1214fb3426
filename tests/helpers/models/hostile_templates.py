"""Chat templates that behave until a word is said, and then try to take the process that renders them with them."""

from pathlib import Path

from engine.formats.gguf import types
from helpers.models.gguf_writer import Entry, GgufDraft

WORD = "sesame"
HONEST = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}<|assistant|>"


def _nested(kind: str, opened: str, closed: str, times: int) -> str:
    """Nest a value `times` deep, and use it in the way of `kind`, which has a place for it."""
    grown = f"{{% for i in range({times}) %}}{{% set ns.x = {opened}ns.x{closed} %}}{{% endfor %}}"
    return "{% set ns = namespace(x=()) %}" + grown + kind


def _doubled(step: str, start: str = "'ab'", times: int = 60, after: str = "") -> str:
    return (
        f"{{% set ns = namespace(x={start}) %}}{{% for i in range({times}) %}}{{% set ns.x = {step} %}}{{% endfor %}}"
    ) + after


def _macros(count: int, fan: int) -> str:
    """Build macros of which each calls the one before it several times."""
    first = "{% macro m0() %}x{% endmacro %}"
    rest = (f"{{% macro m{i}() %}}" + f"{{{{ m{i - 1}() }}}}" * fan + "{% endmacro %}" for i in range(1, count))
    return first + "".join(rest) + f"{{{{ m{count - 1}() }}}}"


def _loops(depth: int, over: str) -> str:
    return f"{{% for a in {over} %}}" * depth + "{{ a }}" + "{% endfor %}" * depth


_LONG = "'x' * 999999"
_CRASHING = {
    "hash of a nested tuple": _nested("{{ {ns.x: 1} | length }}", "(", ",)", 500_000),
    "nested tuple compared": _nested("{{ ns.x == (ns.x, 1)[0] }}{{ ns.x < (ns.x,) }}", "(", ",)", 400_000),
    "nested list as text": _nested("{{ ns.x }}", "[", "]", 400_000),
    "nested list as JSON": _nested("{{ ns.x | tojson }}", "[", "]", 200_000),
    "nested tuple freed": _nested("{% set ns.x = 1 %}{{ ns.x }}", "(", ",)", 900_000),
    "nested generators": _doubled("ns.x | map('upper')", "['a']", 200_000, "{{ ns.x | list }}"),
}
_LARGE = {
    "doubled by ~": _doubled("ns.x ~ ns.x"),
    "doubled list": _doubled("ns.x + ns.x", "[1, 2]"),
    "doubled by join": _doubled("[ns.x, ns.x] | join"),
    "doubled by replace": _doubled("ns.x.replace('a', ns.x)", "'aa'", 40),
    "doubled by format": _doubled("'%s%s' | format(ns.x, ns.x)"),
    "ljust": "{{ 'a'.ljust(10 ** 11) | length }}",
    "expandtabs": "{{ '\\t'.expandtabs(2 * 10 ** 9) | length }}",
    "% d": "{{ '%2000000000d' % 1 }}",
    "str.format width": "{{ '{:>2000000000}'.format('a') }}",
    "indent": "{{ ('a\\n' * 400000) | indent(100000) | length }}",
    "wordwrap": "{{ (" + _LONG + ") | wordwrap(1, wrapstring='y' * 99999) | length }}",
    "str.format precision": "{{ '{:.2000000000f}'.format(1.5) }}",
    "batch filled up": "{{ 'ab' | batch(10 ** 10, 'x') | list | length }}",
    "megabytes": "{% for i in range(999) %}{{ 'x' * 99999 }}{% endfor %}",
    "slice into many": "{{ 'ab' | slice(10 ** 9) | list | length }}",
    "lipsum of long paragraphs": "{{ lipsum(n=3, min=10 ** 8, max=10 ** 8 + 1) | length }}",
    "translate": "{{ ('a' * 999999).translate({97: 'b' * 99999}) | length }}",
    "JSON of shared nests": _doubled("[ns.x, ns.x]", "'a'", 60, "{{ ns.x | tojson }}"),
    "sum of lists": "{{ ([[1] * 999999] * 9999) | sum(start=[]) | length }}",
    "JSON indented deeply": "{{ [[[[messages]]]] | tojson(indent=10 ** 9) }}",
    "URLs": "{{ ('www.a.de ' * 100000) | urlize(rel='x' * 99999) | length }}",
    "captured block": _doubled("ns.x", "'ab'", 1) + "{% set y %}" + _loops(4, "'x' * 99999") + "{% endset %}{{ y }}",
}
_ENDLESS = {
    "nested loops over a text": _loops(6, "'x' * 999"),
    "macros that fan out": _macros(40, 9),
    "a macro without end": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "a macro that fans out by itself": (
        "{% macro m(n) %}{% if n %}{% for i in 'abcdef' %}{{ m(n - 1) }}{% endfor %}{% endif %}{% endmacro %}"
        "{{ m(40) }}"
    ),
    "a recursive loop": "{% for a in [[[[1]]]] recursive %}{{ loop([a, a]) }}{% endfor %}",
    "a power": "{{ 3 ** 99999 ** 2 }}",
    "a long number as text": _doubled("ns.x * ns.x % (10 ** 250000)", "7 ** 90000", 999_999, "{{ ns.x }}"),
    "sorted again and again": "{% for i in range(99999) %}{% set x = (" + _LONG + ") | sort | list %}{% endfor %}",
    "words": "{% for i in range(99999) %}{{ ('a ' * 400000) | wordcount }}{% endfor %}",
    "products of pairs": "{% for a in messages[0].content * 99999 %}{% for b in 'x' * 99999 %}{% endfor %}{% endfor %}",
}
_UNREADABLE = {
    "500,000 tags": "{% if 1 %}{% endif %}" * 250_000,
    "tags within tags": "{% if 1 %}" * 100_000 + "{% endif %}" * 100_000,
    "loops within loops": "{% for a in [1] %}" * 40 + "{% endfor %}" * 40,
    "parentheses": "{{ " + "(" * 200_000 + "1" + ")" * 200_000 + " }}",
    "a long sum": "{{ 1" + " + 1" * 100_000 + " }}",
    "many filters": "{{ 'a'" + " | upper" * 100_000 + " }}",
    "a constant power": "{{ 9 ** 9 ** 9 }}",
    "a name twice": "{% macro m(a, a) %}{% endmacro %}{{ m(1, 2) }}",
    "a keyword as a name": "{% set None = 1 %}{{ None }}",
    "an open tag": "{% for a in messages %}",
    "a number too long": "{{ " + "9" * 10_000 + " }}",
    "a null byte": "{{ '\x00' }}{{ \x00 }}",
    "half a character": "{{ '\\ud800' }}",
}
HOSTILE: dict[str, str] = {**_CRASHING, **_LARGE, **_ENDLESS, **_UNREADABLE}
"""What each does when the word is said."""


def awaiting(body: str) -> str:
    """Return a template that is honest until the last message has the word in it."""
    return f"{{% if '{WORD}' in messages[-1].content %}}{body}{{% endif %}}{HONEST}"


def write_hostile(model: Path, path: Path, body: str, *, always: bool = False) -> Path:
    """Write a GGUF model anew with a hostile template, and give its path; `always`: it waits for no word."""
    draft = GgufDraft.of_file(model)
    draft.entries["tokenizer.chat_template"] = Entry(types.STRING, body + HONEST if always else awaiting(body))
    return draft.write(path)
