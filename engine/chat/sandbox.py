"""Run a chat template in a sandbox. Only child processes import it: a template can crash its process."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sized
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2 import meta
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.translatable import Translatable

ENDLESS = Translatable("it does not terminate")
_MOST_STEPS = 1_000_000
"""Numbers that a template may count through, and characters or bits that one product in it may have."""
_CHANGES = ("append", "pop")


def render(template: str, variables: Mapping[str, object]) -> str:
    """Return the text of a template with these variables.

    The template comes out of a model file and is untrusted: it runs in Jinja's immutable sandbox, without loaders.
    Raises what the template makes it raise, of any kind.
    """
    return _compiled(template).render(**_given(variables), range=_Range())


def names(template: str) -> list[str]:
    """Return the names that a template looks up: its own variables, and its inputs. Raises as `render`."""
    environment = _environment()
    return sorted(meta.find_undeclared_variables(environment.parse(template)) - environment.globals.keys())


class _Given(list[Any]):
    """Hold a list that a template was given: it changes only its own."""


def _given(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _given(each) for name, each in value.items()}
    return _Given(map(_given, value)) if isinstance(value, list) else value


class _Range:
    """Represent `range` for one rendering, with a budget of numbers for all its calls."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def __call__(self, *bounds: int) -> range:
        numbers = range(*bounds)
        self._left -= len(numbers)
        if self._left < 0:
            raise OverflowError(ENDLESS)
        return numbers


class _Sandbox(ImmutableSandboxedEnvironment):
    """Limit the sandbox of jinja2, which puts no bound on the size of a product."""

    intercepted_binops = frozenset({"*", "**"})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return True for what changes a list of the template's own too: published templates do."""
        return (type(obj) is list and attr in _CHANGES) or super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return a product, unless it is absurdly large. Raises OverflowError."""
        if operator == "**":
            size = _bits(left) * abs(right) if isinstance(right, int) else 0
        elif isinstance(left, int) and isinstance(right, int):
            size = _bits(left) + _bits(right)
        else:
            size = max(len(left) * right if isinstance(right, int) and isinstance(left, Sized) else 0, 0)
            size = max(len(right) * left if isinstance(left, int) and isinstance(right, Sized) else 0, size)
        if size > _MOST_STEPS:
            raise OverflowError(ENDLESS)
        return super().call_binop(context, operator, left, right)


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 64


class _Generation(Extension):
    """Read `{% generation %}` … `{% endgeneration %}`, with which templates mark replies for training: as their text.

    Names that are set within are set only there, as in transformers, which calls the block like a macro.
    """

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.tags = {"generation"}

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        """Return the block as a call of its text."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_text"), [], [], body).set_lineno(line)

    def _text(self, caller: Callable[[], str]) -> str:
        return caller()


@lru_cache(maxsize=8)
def _compiled(template: str) -> jinja2.Template:
    return _environment().from_string(template)


def _environment() -> _Sandbox:
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"])
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    environment.filters["tojson"] = _to_json
    return environment


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    # The zone is left out, as in transformers: a template that prints it prints nothing.
    return dt.datetime.now().astimezone().replace(tzinfo=None).strftime(form)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return a value as JSON. Names and order of the options are those of transformers, which templates call."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
