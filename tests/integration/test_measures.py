"""The measures of the house: rooms and their descriptions, names, lengths; and proof that each can fail."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from check_functions import FOLDERS, MOST, long_functions

from helpers.paths import ROOT

PACKAGES = ("engine", "app")
PARTS_OF_A_ROOM = ("", "Door: ", "Never imported here: ")

# Classes of one name in two modules that mean the same on purpose, with the reason.
_HTTP = "engine.hub and engine.remote each ask over HTTP, for files and for replies: the times of either"
SAME_NAME = {"Patience": _HTTP}


def _modules(root: Path, *folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((root / folder).rglob("*.py"))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def only_forwards(source: str) -> bool:
    """Return True for a module that gives other modules' names a second address and adds nothing.

    Such a module imports, and each other statement is a docstring, `__all__`, a second name for something imported
    (`Name = module.name`) or an `if TYPE_CHECKING` around imports. A module that runs what it imports
    (`__main__`) does something; so does a package's `__init__` of a docstring alone, which describes its room.
    """
    statements = [each for each in ast.parse(source).body if not _is_text(each)]
    imports = [each for each in statements if isinstance(each, ast.Import | ast.ImportFrom)]
    foreign = [each for each in imports if ast.unparse(each) != "from __future__ import annotations"]
    return bool(foreign) and all(_forwards(each) for each in statements)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _forwards(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=test):
            return ast.unparse(test).endswith("TYPE_CHECKING")
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Assign(value=ast.Name() | ast.Attribute()):
            return True
    return False


def undescribed(root: Path) -> list[str]:
    """Return the rooms below engine, and app with its rooms, whose `__init__` does not say the three things.

    `engine/__init__` is the public face: its docstring is for those who use the engine, not for those who change it.
    """
    rooms = sorted({path.parent for path in _modules(root, *PACKAGES)} - {root / "engine"})
    return [room.relative_to(root).as_posix() for room in rooms if not _is_described(room / "__init__.py")]


def _is_described(init: Path) -> bool:
    text = (ast.get_docstring(_tree(init)) or "") if init.is_file() else ""
    lines = [line for line in text.splitlines() if line]
    return len(lines) == len(PARTS_OF_A_ROOM) and all(map(str.startswith, lines, PARTS_OF_A_ROOM))


def wrong_doors(root: Path) -> dict[str, list[str]]:
    """Return the names after `Door:` that their rooms do not hold; a name is looked at where it has a dot."""
    wrong: dict[str, list[str]] = {}
    for init in _modules(root, *PACKAGES):
        told = re.search(r"^Door: (.*)$", ast.get_docstring(_tree(init)) or "", re.MULTILINE)
        if init.name == "__init__.py" and told:
            named = [name.split(".") for name in re.findall(r"\w+(?:\.\w+)+", told[1])]
            missing = [".".join(name) for name in named if not (_is_in(init.parent, name) or _is_in(root, name))]
            wrong |= {init.parent.relative_to(root).as_posix(): missing} if missing else {}
    return wrong


def _is_in(room: Path, name: list[str]) -> bool:
    whole, holder = room.joinpath(*name), room.joinpath(*name[:-1])
    if whole.is_dir() or whole.with_suffix(".py").is_file():
        return True
    module = holder.with_suffix(".py")
    return module.is_file() and name[-1] in {found for each in _tree(module).body for found in _defined(each)}


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def homeless_tests(root: Path) -> list[str]:
    """Return the folders of tests that are named for no room of the package they test."""
    tests = {path.parent.relative_to(root / "tests") for path in _modules(root / "tests", *PACKAGES)}
    return sorted(folder.as_posix() for folder in tests if not (root / folder / "__init__.py").is_file())


def named_twice(root: Path) -> dict[str, list[str]]:
    """Return the public classes of engine and app that share a name with another one, and where they are."""
    places = defaultdict(list)
    for path in _modules(root, *PACKAGES):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(root).as_posix())
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_function_is_too_long() -> None:
    """As `make lint` says too."""
    assert not [line for folder in FOLDERS for line in long_functions(ROOT / folder)]


def test_no_module_only_forwards() -> None:
    face = ROOT / "engine" / "__init__.py"
    modules = [path for path in _modules(ROOT, *FOLDERS) if path != face]
    assert not [path for path in modules if only_forwards(path.read_text(encoding="utf-8"))]


def test_every_room_is_described() -> None:
    assert not undescribed(ROOT)


def test_every_door_is_there() -> None:
    assert not wrong_doors(ROOT)


def test_tests_mirror_the_rooms() -> None:
    assert not homeless_tests(ROOT)


def test_one_name_has_one_meaning() -> None:
    twice = named_twice(ROOT)
    assert not {name: where for name, where in twice.items() if name not in SAME_NAME}
    assert not SAME_NAME.keys() - twice.keys(), "these names stand for one class only"


def _write(root: Path, sources: Mapping[str, str]) -> None:
    for name, source in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""Old address."""\n\nfrom engine.config import LoadConfig\n\n__all__ = ["LoadConfig"]\n', True),
        ("import engine.config\n\nLoadConfig = engine.config.LoadConfig\n", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from engine.config import LoadConfig\n", True),
        ('"""A room.\n\nDoor: a."""\n', False),
        ("", False),
        ("from __future__ import annotations\n", False),
        ("from math import sqrt\n\nROOT = sqrt(2)\n", False),
        ("from engine.cli.main import main\n\nif __name__ == '__main__':\n    main()\n", False),
    ],
)
def test_a_module_that_only_forwards_is_seen(source: str, expected: bool) -> None:
    assert only_forwards(source) is expected


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ('"""A room.\n\nDoor: a.b.\nNever imported here: Qt.\n"""\n', True),
        ('"""A room.\n\nDoor: a.b.\n"""\n', False),
        ('"""A room.\n\nNever imported here: Qt.\nDoor: a.b.\n"""\n', False),
        ('"""A room.\n\nDoor: a.b.\nNever imported here: Qt.\nAnd more.\n"""\n', False),
        ("", False),
        (None, False),
    ],
)
def test_an_undescribed_room_is_seen(tmp_path: Path, text: str | None, described: bool) -> None:
    _write(tmp_path, {"engine/__init__.py": "", "engine/new_room/module.py": ""})
    if text is not None:
        _write(tmp_path, {"engine/new_room/__init__.py": text})
    assert undescribed(tmp_path) == ([] if described else ["engine/new_room"])


def test_a_long_function_is_seen(tmp_path: Path) -> None:
    body = "    pass\n" * (MOST - 1)
    long = f"class A:\n  async def long(self):\n{body}    pass\n"
    _write(tmp_path, {"a.py": f"def fits() -> None:\n{body}", "b.py": long})
    assert [line.partition(": ")[2] for line in long_functions(tmp_path)] == [
        f"long has {MOST + 1} lines, {MOST} are allowed"
    ]


def test_a_wrong_door_is_seen(tmp_path: Path) -> None:
    doors = '"""A room.\n\nDoor: a.there, a.Here, b.c, app.room.a and a.gone; plainly, all.\n"""\n'
    there = "there = 1\n\n\nclass Here:\n    gone = 2\n"
    _write(tmp_path, {"app/room/__init__.py": doors, "app/room/a.py": there, "app/room/b/c.py": ""})
    assert wrong_doors(tmp_path) == {"app/room": ["a.gone"]}


def test_a_folder_of_tests_without_a_room_is_seen(tmp_path: Path) -> None:
    _write(tmp_path, {"app/views/chat/__init__.py": "", "tests/app/views/chat/test_it.py": ""})
    assert not homeless_tests(tmp_path)
    _write(tmp_path, {"tests/app/views/lost/test_it.py": ""})
    assert homeless_tests(tmp_path) == ["app/views/lost"]


def test_a_name_with_two_meanings_is_seen(tmp_path: Path) -> None:
    source = "class Job: ...\nclass _Own: ...\n"
    _write(tmp_path, {"engine/a.py": source, "app/b.py": source})
    assert named_twice(tmp_path) == {"Job": ["engine/a.py", "app/b.py"]}
