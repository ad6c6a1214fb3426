"""Make Qt and the app un-importable in this process, as if they were not installed.

As a pytest plugin (`-p helpers.no_qt`) it takes effect before the tests are collected.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

BLOCKED = frozenset({"PySide6", "shiboken6", "PyQt5", "PyQt6", "qtpy", "qasync", "pyqtgraph", "qtawesome", "app"})


class _Blocker(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in BLOCKED:
            msg = f"{fullname} is blocked: the engine must work without Qt"
            raise ModuleNotFoundError(msg, name=fullname)
        return None


def install() -> None:
    """Block the imports from here on."""
    loaded = sorted(BLOCKED & set(sys.modules))
    if loaded:
        msg = f"too late, already imported: {', '.join(loaded)}"
        raise RuntimeError(msg)
    sys.meta_path.insert(0, _Blocker())


def pytest_configure() -> None:
    """Block before collection."""
    install()
