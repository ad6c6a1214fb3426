"""The strictness of the test helpers, tried on tests that deserve to fail."""

import json
from itertools import zip_longest

import pytest

from helpers.paths import ROOT
from helpers.processes import run_python

CONFTEST = """
import json
from pathlib import Path
from helpers import strict
from helpers.strict import no_processes_left, no_threads_left, no_unexpected_logs

strict.THREAD_GRACE_S = 1.0

def pytest_runtest_logreport(report):
    with Path(__file__).with_name("reports").open("a", encoding="utf-8") as file:
        print(json.dumps([Path(report.fspath).stem, report.longreprtext]), file=file)
"""

SILENT = "def test_it():\n    pass\n"
LOG = "import logging\n{mark}\ndef test_it({fixture}):\n    logging.getLogger('x').warning('the cat is out')\n"
THREAD = """
import threading
stop = threading.Event()
def test_it():
    threading.Thread(target=stop.wait, daemon=True, name="lingering").start()
"""
PROCESS = """
import subprocess
def test_it():
    subprocess.Popen(["sleep", "20"])
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


FAULTS = {
    "log": (LOG.format(mark="", fixture=""), "WARNING x: the cat is out"),
    "another_log": (LOG.format(mark=MARK.format("the dog"), fixture=""), "WARNING x: the cat is out"),
    "no_log": (SILENT.replace("def", MARK.format("the cat") + "\ndef", 1), "announced, but not logged: the cat"),
    "thread": (THREAD, "threads left behind: lingering"),
    "process": (PROCESS, "processes left behind: [['sleep', '20']]"),
    "unraisable": (UNRAISABLE, "in a finaliser"),
    "qt_warning": (QT_WARNING, "a widget is unhappy"),
}
SOUND = {
    "silent": SILENT,
    "announced_log": LOG.format(mark=MARK.format("the cat"), fixture=""),
    "looked_at_log": LOG.format(mark="", fixture="caplog"),
}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What was said of each of the tests, all run by one pytest; nothing of those that passed."""
    folder = tmp_path_factory.mktemp("inner")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    # Faults and sound ones in turn: no fault is put down to the test after it.
    sources = {name: source for name, (source, _) in FAULTS.items()} | SOUND
    names = [name for pair in zip_longest(FAULTS, SOUND) for name in pair if name]
    for number, name in enumerate(names):
        (folder / f"test_{number}_{name}.py").write_text(sources[name], encoding="utf-8")
    done = run_python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")),
        *("--rootdir", str(folder), str(folder)),
    )
    assert done.returncode == 1, done.stdout
    said: dict[str, str] = {}
    for line in (folder / "reports").read_text(encoding="utf-8").splitlines():
        file, text = json.loads(line)
        name = file.split("_", 2)[2]
        said[name] = said.get(name, "") + text
    return said


@pytest.mark.parametrize("name", FAULTS)
def test_fails(complaints: dict[str, str], name: str) -> None:
    assert FAULTS[name][1] in complaints[name]


@pytest.mark.parametrize("name", SOUND)
def test_passes(complaints: dict[str, str], name: str) -> None:
    assert complaints[name] == ""
