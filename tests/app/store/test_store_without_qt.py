"""Everything in app.state, and the store, work where there is no Qt: their tests run here without it."""

import pytest

from helpers.no_qt import BLOCKED
from helpers.processes import run_python

BLOCK = f"""
import sys
from importlib.abc import MetaPathFinder
class Blocker(MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname.partition(".")[0] in {sorted(BLOCKED - {"app"})!r}:
            raise ModuleNotFoundError(fullname + " is blocked")
sys.meta_path.insert(0, Blocker())
"""

IMPORT_ALL = """
import importlib, pkgutil, app.state, app.store.conversations
names = [module.name for module in pkgutil.walk_packages(app.state.__path__, "app.state.")]
for name in names:
    importlib.import_module(name)
print(len(names))
try:
    import PySide6
except ModuleNotFoundError as error:
    print(error)
"""

TESTS = (
    "test_column",
    "test_conversation",
    "test_conversation_files",
    "test_generation",
    "markdown/test_markdown_blocks",
    "test_presets",
    "test_state",
)


def test_all_of_state_is_there_without_qt() -> None:
    done = run_python("-c", BLOCK + IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    number, blocked = done.stdout.splitlines()
    assert int(number) >= 30
    assert blocked == "PySide6 is blocked"


@pytest.mark.timeout(170)
def test_the_tests_of_state_pass_without_qt() -> None:
    """Without the fixtures of the tests of the window, which need Qt."""
    files = [f"tests/app/state/{name}.py" for name in TESTS]
    options = [
        "-q",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:pytest-qt",
        "-p",
        "no:asyncio",
        "-k",
        "not any_",
    ]
    # Without plugins their settings are unknown, and this test is not about them.
    settings = ["-c", "/dev/null", "--rootdir", ".", "-o", "pythonpath=tests", "-o", "markers=logs: what is logged"]
    done = run_python("-c", f"{BLOCK}\nimport pytest\nsys.exit(pytest.main({[*options, *settings, *files]!r}))")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
