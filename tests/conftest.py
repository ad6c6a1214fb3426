"""What every test gets: an isolated home, the models, and strictness about what is left behind."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# Before anything imports Qt.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["QT_API"] = "pyside6"
os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"
os.environ["HF_HUB_OFFLINE"] = "1"
# Hundreds of processes are started: without bytecode each compiles the whole program first.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# The tests read English, whoever runs them.
os.environ["LC_ALL"] = "C.UTF-8"
os.environ.pop("LANGUAGE", None)

import pytest

from helpers import xvfb
from helpers.paths import BUNDLED_MODELS, SHARED_MODELS
from helpers.strict import no_other_programs, no_processes_left, no_threads_left, no_unexpected_logs, renderer

__all__ = ["no_other_programs", "no_processes_left", "no_threads_left", "no_unexpected_logs", "renderer"]
pytest_plugins = ["helpers.campaigns", "helpers.runs", "pytester"]
sys.dont_write_bytecode = False


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Keep pytest-qt's settings known where there is no Qt."""
    if not pluginmanager.hasplugin("pytest-qt"):
        parser.addini("qt_api", "not in use: there is no Qt")
        parser.addini("qt_log_level_fail", "not in use: there is no Qt")
        parser.addini("qt_log_ignore", "not in use: there is no Qt", type="linelist")


_MANY_MODULES = 100
_imported = [0]


def pytest_collection_finish() -> None:
    """Leave thousands of collected tests out of garbage collections: a window has no such heap to wait for."""
    gc.collect()
    gc.freeze()
    _imported[0] = len(sys.modules)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Freeze a test's imports too: with PyTorch each collection takes as long as a small test."""
    if len(sys.modules) > _imported[0] + _MANY_MODULES:
        pytest_collection_finish()


@pytest.fixture(scope="session", autouse=True)
def runtime_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give Qt a private runtime folder: without one it warns, and a warning is a failure."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("runtime")
        folder.chmod(0o700)
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep settings, conversations and caches of the person who runs the tests out of them."""
    home = tmp_path / "home"
    home.mkdir()
    for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    return home


@pytest.fixture(scope="session")
def trials_passed(bundled_target: Path, bundled_draft: Path) -> tuple[str, ...]:
    """What is remembered of the bundled pair once it was tried."""
    from engine.config import LoadConfig  # noqa: PLC0415 - not all tests need an engine
    from engine.loading.passed import state_of  # noqa: PLC0415 - as above
    from engine.loading.trial import check_model_header, passed_key  # noqa: PLC0415 - as above

    pair = [LoadConfig(path) for path in (bundled_target, bundled_draft)]
    keys = (passed_key(config, check_model_header(config.path)) for config in pair)
    return (*keys, *(state_of(config.path) for config in pair))


@pytest.fixture
def tried_pair(isolated_home: Path, trials_passed: tuple[str, ...]) -> None:
    """Remember that the bundled pair passed its trials: a process for each, which takes longer than many a test."""
    from engine.loading.passed import remember_passed  # noqa: PLC0415 - as above

    remember_passed(*trials_passed)


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """The folder of small real models made by other people; skips where there is none."""
    if not SHARED_MODELS.is_dir():
        pytest.skip(f"no folder of test models at {SHARED_MODELS}")
    return SHARED_MODELS


@pytest.fixture(scope="session")
def shared_gguf(shared_models: Path) -> Callable[[str], Path]:
    """Give the path of a shared GGUF file by its name without suffix, as in `stories260K-F32`."""

    def path_of(name: str) -> Path:
        path = shared_models / "gguf" / f"{name}.gguf"
        if not path.is_file():
            pytest.skip(f"no {path.name} among the test models")
        return path

    return path_of


@pytest.fixture(scope="session")
def bundled_target() -> Path:
    """The target of the bundled demo pair."""
    return _bundled("demo-target")


@pytest.fixture(scope="session")
def bundled_draft() -> Path:
    """The draft of the bundled demo pair."""
    return _bundled("demo-draft")


def _bundled(prefix: str) -> Path:
    found = sorted(BUNDLED_MODELS.glob(f"{prefix}*.gguf"))
    assert len(found) == 1, f"expected one {prefix}*.gguf in {BUNDLED_MODELS}, found {found}"
    return found[0]


@pytest.fixture(scope="session")
def x_display() -> Iterator[str]:
    """A real X server of our own; gives DISPLAY. Skips where Xvfb is not installed."""
    if not xvfb.available():
        pytest.skip("Xvfb is not installed")
    with xvfb.x_server() as display:
        yield display
