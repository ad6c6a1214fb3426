"""Make the wheel install one package, `outrider`; called by hatchling during a build.

In the checkout the packages are `engine`, `app` and `resources`. Installed under these names they would meet a user's
own `engine.py` or `app/`. So a wheel gets copies with other names: `outrider` (the engine), `outrider.app` and
`outrider.resources`. An editable installation keeps the names of the checkout and gets an `outrider` that is the same
engine, so that programs and examples read alike in both. The installers freeze the packages under the names of the
checkout (KEEP_NAMES in the environment).
"""

import ast
import io
import os
import re
import shutil
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAMES = {"engine": "outrider", "app": "outrider.app", "resources": "outrider.resources"}
_PLACES = {"engine": "outrider", "app": "outrider/app", "resources": "outrider/resources"}
KEEP_NAMES = "OUTRIDER_KEEP_NAMES"
_LEFT_OUT = {"__pycache__"}
_PACKAGE = "|".join(NAMES)
_IN_TEXT = re.compile(rf"\b(from|import) ({_PACKAGE})\b(?=[. ])")
_DOTTED = re.compile(rf"""^([rbfu]*["'])({_PACKAGE})(?=\.[a-z_]+)""")
_READ_FILES = re.compile(r"""\bfiles\((["'])resources\1\)""")

_ALIAS = '''"""The checkout's engine under the name that it has when it is installed."""

import sys

import engine
import app

sys.modules["outrider.app"] = app
sys.modules[__name__] = engine
'''


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]  # Its parameter is the builder's configuration.
    """Put the renamed packages, or an editable installation's alias, into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the files. `version`: "standard" or "editable"."""
        place = Path(self.directory) / "renamed"
        shutil.rmtree(place, ignore_errors=True)
        if version == "editable":
            write_alias(place / "outrider", Path(self.root))
            build_data["force_include_editable"][str(place / "outrider")] = "outrider"
            return
        if os.environ.get(KEEP_NAMES):
            build_data["force_include"] |= {str(Path(self.root, name)): name for name in NAMES}
            return
        write_renamed(Path(self.root), place)
        build_data["force_include"][str(place / "outrider")] = "outrider"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copies again."""
        shutil.rmtree(Path(self.directory) / "renamed", ignore_errors=True)


def write_renamed(root: Path, place: Path) -> None:
    """Copy the packages of the checkout at `root` to the folder `place`, under their installed names."""
    for package, target in _PLACES.items():
        for path in sorted((root / package).rglob("*")):
            inside = path.relative_to(root / package)
            if not path.is_file() or _LEFT_OUT & set(inside.parts):
                continue
            copy = place / target / inside
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".py":
                copy.write_text(renamed(path.read_text("utf-8")), "utf-8", newline="\n")
            else:
                shutil.copyfile(path, copy)


def renamed(source: str) -> str:
    """Return a module's text with the installed names: in imports, names of modules, and examples in docstrings."""
    lines = source.splitlines(keepends=True)
    for start, end, text in sorted(_replacements(source), reverse=True):
        line = lines[start[0] - 1]
        if start[0] == end[0]:
            lines[start[0] - 1] = line[: start[1]] + text + line[end[1] :]
            continue
        lines[start[0] - 1 : end[0]] = [line[: start[1]] + text + lines[end[0] - 1][end[1] :]]
    return _READ_FILES.sub(r"files(\1outrider.resources\1)", "".join(lines))


_Place = tuple[int, int]


def _replacements(source: str) -> Iterator[tuple[_Place, _Place, str]]:
    """Yield the replacements: beginning, end (line from 1, column in characters), new text."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    statements = {
        node.lineno: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)
    }
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for before, token in zip([tokens[-1], *tokens], tokens, strict=False):
        if token.type == tokenize.NAME and token.string in NAMES and before.string in ("from", "import"):
            if before.string == "import" and not isinstance(statements.get(before.start[0]), ast.Import):
                continue  # A name that is imported from a module.
            bare = before.string == "import" and not token.line[token.end[1] :].lstrip().startswith((".", "as "))
            yield token.start, token.end, NAMES[token.string] + (f" as {token.string}" if bare else "")
        elif token.type == tokenize.STRING:
            text = _DOTTED.sub(lambda found: found[1] + NAMES[found[2]], token.string)
            text = _IN_TEXT.sub(lambda found: f"{found[1]} {NAMES[found[2]]}", text)
            if text != token.string:
                yield token.start, token.end, text


def write_alias(place: Path, root: Path) -> None:
    """Write the `outrider` of an editable installation, with the public names for type checkers."""
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(_ALIAS, "utf-8")
    public = (root / "engine" / "__init__.pyi").read_text("utf-8")
    (place / "__init__.pyi").write_text(public.replace("from .", "from engine."), "utf-8")
    (place / "py.typed").touch()
