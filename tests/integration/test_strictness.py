"""The strictness of the test helpers, tried on tests that deserve to fail."""

import re
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.processes import run_python

CONFTEST = "from helpers.strict import no_threads_left, no_unexpected_logs\n"

SILENT = "def test_it():\n    pass\n"
LOG = "import logging\n{mark}\ndef test_it({fixture}):\n    logging.getLogger('x').warning('the cat is out')\n"
THREAD = """
import threading
stop = threading.Event()
def test_it():
    threading.Thread(target=stop.wait, daemon=True, name="lingering").start()
"""
UNRAISABLE = """
class Bad:
    def __del__(self):
        raise ValueError("in a finaliser")
def test_it():
    Bad()
"""
QT_WARNING = "from PySide6.QtCore import qWarning\ndef test_it():\n    qWarning('a widget is unhappy')\n"
MARK = "import pytest\n@pytest.mark.logs('{}')"


def _outcome(folder: Path, source: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_inner.py").write_text(source, encoding="utf-8")
    done = run_python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")),
        *("--rootdir", str(folder), str(folder / "test_inner.py")),
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (LOG.format(mark="", fixture=""), "WARNING x: the cat is out"),
        (LOG.format(mark=MARK.format("the dog"), fixture=""), "WARNING x: the cat is out"),
        (SILENT.replace("def", MARK.format("the cat") + "\ndef", 1), "announced, but not logged: the cat"),
        (THREAD, "threads left behind: lingering"),
        (UNRAISABLE, "in a finaliser"),
        (QT_WARNING, "a widget is unhappy"),
    ],
)
def test_fails(tmp_path: Path, source: str, complaint: str) -> None:
    status, output = _outcome(tmp_path, source)
    assert status == 1, output
    assert re.search(re.escape(complaint), output), output


@pytest.mark.parametrize(
    "source",
    [
        SILENT,
        LOG.format(mark=MARK.format("the cat"), fixture=""),
        LOG.format(mark="", fixture="caplog"),
    ],
)
def test_passes(tmp_path: Path, source: str) -> None:
    status, output = _outcome(tmp_path, source)
    assert status == 0, output
