"""Doors that rooms tell of are there; and proof that a wrong one, and a long function, is seen."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from check_functions import MOST, long_functions

from helpers.paths import ROOT

PACKAGES = ("engine", "app")


def _modules(root: Path, *folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((root / folder).rglob("*.py"))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


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


def test_every_door_is_there() -> None:
    assert not wrong_doors(ROOT)


def _write(root: Path, sources: Mapping[str, str]) -> None:
    for name, source in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


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
