"""Import a module's public names at their first use, so that a command that needs few of them starts at once."""

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LINE = re.compile(r"^from (\.[\w.]+) import (\w+) as \2$", re.MULTILINE)


def homes(file: str) -> dict[str, str]:
    """Return the names in the stub (`.pyi`) beside a module of this package, with the modules that define them."""
    text = Path(file).with_suffix(".pyi").read_text("utf-8")
    return {name: __package__ + home for home, name in _LINE.findall(text)}


def attach(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a module's `__getattr__`, `__dir__` and `__all__`, as its stub lists the names (PEP 562)."""
    found = homes(file)

    def load(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(found[name]), name)
        setattr(sys.modules[module], name, value)
        return value

    return load, lambda: sorted({*vars(sys.modules[module]), *found}), list(found)
