"""The strictness of the test helpers, tried on tests that deserve to fail."""

import json
import os
import re
import subprocess
import sys
import time
from itertools import zip_longest
from pathlib import Path

import pytest

from helpers.paths import ROOT
from helpers.processes import own_clock, run_python

CONFTEST = """
import json
from pathlib import Path
from helpers import strict
from helpers.strict import no_processes_left, no_threads_left, no_unexpected_logs

strict.THREAD_GRACE_S = 1.0
pytest_plugins = ["helpers.runs"]

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
INTERRUPTED_CHILD = """
import signal, subprocess, pytest
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_it(number):
    with subprocess.Popen(["sleep", "20"]) as process:
        process.send_signal(number)
        assert process.wait(timeout=5) == -number
"""
IGNORING = """
import signal, sys, pytest
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
sys.exit(pytest.main())
"""

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
    "interrupted_child": INTERRUPTED_CHILD,
}


def _options(folder: Path) -> tuple[str, ...]:
    return ("-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(folder))


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
    # Started as by `nohup` or a script's `&`: its children are to be interrupted all the same.
    done = run_python("-c", IGNORING, *_options(folder))
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


DISTRIBUTED = re.search(r"-m pytest (-n .*?) -m ", (ROOT / "Makefile").read_text(encoding="utf-8"))
ENDINGS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "waits_in_c": "sum(range(10**12))",
}
ENDS = """
import os, signal, time
from pathlib import Path
def test_ends():
    while not Path(__file__).with_name("{awaited}").exists():
        time.sleep(0.01)
    {how}
"""
LASTS = """
import time
from pathlib import Path
def test_lasts():
    Path(__file__).with_name("begun").touch()
    time.sleep({seconds})
"""
HASTY = """
pytest_plugins = ["helpers.runs"]
def pytest_configure():
    from helpers import runs
    from xdist.workermanage import NodeManager
    runs._SILENCE_S, runs._HUNG_S = {silence}, 1.0
    NodeManager.EXIT_TIMEOUT = 1  # So long a worker is asked to end before it is killed.
"""


def _run_with(
    folder: Path, how: str, *options: str, lasts: int = 0, silence: int = 600, limit: int = 180
) -> subprocess.CompletedProcess[str]:
    """Run a test that ends so, one beside it that takes so long, and one that waits for its turn; all in a minute."""
    sources = {
        "conftest": HASTY.format(silence=silence),
        "test_1_ends": ENDS.format(how=ENDINGS[how], awaited="begun" if options else "conftest.py"),
        "test_2_lasts": LASTS.format(seconds=lasts),
        "test_3_waits": SILENT,
    }
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    done = run_python("-m", "pytest", *options, "-o", f"timeout={limit}", *_options(folder), timeout=60)
    assert done.returncode == 1, done.stdout + done.stderr
    return done


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(
    ("how", "times"),
    [
        ("killed", {"lasts": 600}),
        pytest.param("stopped", {"silence": 3}, marks=pytest.mark.soak),
        pytest.param("waits_in_c", {"limit": 1}, marks=pytest.mark.soak),
    ],
)
def test_a_worker_that_dies_or_hangs_ends_the_run(tmp_path: Path, how: str, times: dict[str, int]) -> None:
    """With the options of `make test`; and its test is named."""
    assert DISTRIBUTED
    done = _run_with(tmp_path, how, *DISTRIBUTED[1].split(), **times)
    assert re.search(r"^FAILED .*test_1_ends\.py::test_ends", done.stdout, re.MULTILINE), done.stdout


def test_a_process_without_workers_that_hangs_ends(tmp_path: Path) -> None:
    assert "in test_ends" in _run_with(tmp_path, "waits_in_c", limit=1).stderr


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="Linux tells how long a thread waited")
def test_the_own_clock_stands_still_while_others_have_the_processor() -> None:
    """Two that never rest share one processor: what this thread does not get is not counted."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
            clocks = (time.thread_time, own_clock, time.perf_counter)
            began = [clock() for clock in clocks]
            while time.thread_time() - began[0] < 0.3:
                pass
            worked, own, passed = (clock() - start for clock, start in zip(clocks, began, strict=True))
            busy.kill()
    finally:
        os.sched_setaffinity(0, allowed)
    assert own - worked < (passed - worked) / 4
