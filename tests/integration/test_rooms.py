"""The rooms of the house: who may know whom, and proof that every contract can fail."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from helpers.paths import ROOT

# What runs or builds the engine, and what starts a thread or a task.
RUNNERS = frozenset({"load", "SpeculativeDecoder"})
STARTERS = frozenset(
    {
        *("QRunnable", "QThread", "QThreadPool", "QtConcurrent", "Thread", "Process"),
        *("asyncClose", "asyncSlot", "create_task", "ensure_future", "run_coroutine_threadsafe"),
    }
)

VIOLATIONS = [
    ("engine-without-qt", "engine/config.py", "import PySide6.QtCore"),
    ("engine-without-qt", "engine/generation/loop.py", "def late() -> None:\n    import app.settings.settings"),
    ("app-by-the-front-door", "app/settings/settings.py", "from engine.config import SamplingConfig"),
    ("app-by-the-front-door", "app/settings/settings.py", "from engine import config"),
    ("engine-layers", "engine/errors.py", "import engine.decoder"),
    ("engine-layers", "engine/sampling/distribution.py", "import engine.generation.verifier"),
    ("engine-layers", "engine/chat/template.py", "import engine.library.scan"),
    ("engine-layers", "engine/new_room.py", "import engine.errors"),
    ("app-layers", "app/state/__init__.py", "import app.words.figures"),
    ("app-layers", "app/control/chat.py", "import app.views.chat.entry"),
    ("app-layers", "app/new_room.py", "import app.state"),
    ("views-layers", "app/views/widgets/theme.py", "import app.views.markdown.text"),
    ("views-layers", "app/views/tokens/layer.py", "import app.views.models.bar"),
    ("drafters-never-accept", "engine/drafting/base.py", "import engine.sampling.acceptance"),
    ("verifiers-never-draft", "engine/generation/verifier.py", "import engine.drafting.draft_model"),
    ("pure-rules", "engine/sampling/acceptance.py", "import engine.backends.base"),
    ("heavy-imports", "engine/decoder.py", "def late() -> None:\n    import torch"),
    ("heavy-imports", "app/bridge/bridge.py", "import llama_cpp"),
    ("templates-apart", "engine/chat/template.py", "import jinja2"),
    ("state-without-qt", "app/state/__init__.py", "import PySide6.QtCore"),
    ("views-render", "app/views/__init__.py", "import app.bridge.bridge"),
    ("views-render", "app/views/__init__.py", "import threading"),
    ("threads", "app/control/chat.py", "import threading"),
    ("no-circles", "app/store/rows.py", "def late() -> None:\n    import app.store.conversations"),
]

_SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = cast("list[dict[str, Any]]", _SETTINGS["tool"]["importlinter"]["contracts"])


def _sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        found = sorted((ROOT / folder).rglob("*.py"))
        assert found, f"no sources in {folder}"
        yield from found


def _behind(door: dict[str, Any]) -> str:
    """A module of a room that its door does not name."""
    room = door["protected_modules"][0].removesuffix(".**")
    opened = {each.partition(" -> ")[2] for each in door.get("ignore_imports", ())}
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in _sources(room.replace(".", "/")))
    return next(name for name in names if name not in opened and not name.endswith("__init__"))


def _rooms() -> set[str]:
    inits = (path.parent.relative_to(ROOT) for path in _sources("engine") if path.name == "__init__.py")
    return {".".join(room.parts) for room in inits} - {"engine"}


DOORS = [contract for contract in CONTRACTS if contract["id"].startswith("door-")]
VIOLATIONS += [(door["id"], "engine/stats.py", f"import {_behind(door)}") for door in DOORS]


@pytest.fixture(scope="module")
def contract_names() -> dict[str, str]:
    return {contract["id"]: contract["name"] for contract in CONTRACTS}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, to be violated."""
    copy = tmp_path_factory.mktemp("house")
    for package in ("engine", "app"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def _lint(house: Path) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=house,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def complaints(house: Path) -> dict[str, str]:
    """What is said of each contract, by its name, when all violations are there at once."""
    for _, where, line in VIOLATIONS:
        with (house / where).open("a", encoding="utf-8") as source:
            source.write(f"\n{line}\n")
    done = _lint(house)
    assert done.returncode != 0
    _, *parts = re.split(r"^(.+)\n-+\n", done.stdout, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_contract_is_tried(contract_names: dict[str, str]) -> None:
    assert {contract for contract, _, _ in VIOLATIONS} == set(contract_names)


@pytest.mark.parametrize(("contract", "where", "line"), VIOLATIONS)
def test_violation_is_seen(
    house: Path, contract_names: dict[str, str], complaints: dict[str, str], contract: str, where: str, line: str
) -> None:
    """By its contract, which names the module and the line, or a room that has no layer or goes in a circle."""
    module = where.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    text = (house / where).read_text(encoding="utf-8")
    number = text[: text.index(f"\n{line}\n") + len(line) + 1].count("\n") + 1
    said = rf"^\W*{re.escape(module)}( .*\bl\.{number}\b.*)?$"
    if contract == "no-circles":
        said = rf"^No cycles are allowed in {re.escape(module.rpartition('.')[0])}\.$"
    assert re.search(said, complaints[contract_names[contract]], re.MULTILINE)


def test_every_room_has_a_door() -> None:
    """But for engine.system: all rooms stand on it."""
    assert {door["protected_modules"][0].removesuffix(".**") for door in DOORS} == _rooms() - {"engine.system"}


def _names_used(source: str) -> set[str]:
    used = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Name):
            used.add(node.id)
    return used


def _engine_names_used(source: str) -> set[str]:
    used = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "engine":
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used |= {node.attr} if node.value.id == "engine" else set()
    return used


def _asked_by_hasattr(source: str) -> set[str]:
    """What is asked for a name of its own; special methods are Python's protocols, not capabilities."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    asked = [call.args for call in calls if ast.unparse(call.func) == "hasattr"]
    return {ast.unparse(whom) for whom, name in asked if not ast.unparse(name).startswith("'__")}


def test_only_the_bridge_runs_the_engine() -> None:
    bridge = ROOT / "app" / "bridge"
    runners = {bridge / name for name in ("bridge.py", "responders.py", "showing.py")}
    allowed = runners | {ROOT / "app" / "shell" / "bootstrap.py"}
    for path in _sources("app"):
        if path not in allowed:
            assert not _engine_names_used(path.read_text(encoding="utf-8")) & RUNNERS, path


def test_views_and_state_start_nothing() -> None:
    for path in _sources("app/views", "app/state"):
        assert not _names_used(path.read_text(encoding="utf-8")) & STARTERS, path


def test_capabilities_are_declared_not_guessed() -> None:
    for path in _sources("engine"):
        assert not _asked_by_hasattr(path.read_text(encoding="utf-8")) - {"os", "sys"}, path


def test_these_rules_can_fail() -> None:
    assert _engine_names_used("import engine\nengine.load('x')") == {"load"}
    assert _engine_names_used("from engine import SpeculativeDecoder as D") & RUNNERS
    assert _names_used("from PySide6 import QtCore\nQtCore.QThread()") & STARTERS
    assert _asked_by_hasattr("hasattr(self.backend, 'rewind'); hasattr(x, '__index__')") == {"self.backend"}
