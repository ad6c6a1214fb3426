"""Rooms have descriptions and doors that are there, functions an end; and proof that each of these can fail."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from check_functions import MOST, long_functions

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


def test_every_room_is_described() -> None:
    assert not undescribed(ROOT)


def test_every_door_is_there() -> None:
    assert not wrong_doors(ROOT)


def _write(root: Path, sources: Mapping[str, str]) -> None:
    for name, source in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


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
