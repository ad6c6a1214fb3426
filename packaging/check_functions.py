"""Name each function of more lines than a function may have; `make lint` runs it. Gives 1 where there are some."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MOST = 60
FOLDERS = ("app", "benchmarks", "docs", "engine", "packaging", "recipes", "resources", "tests")


def long_functions(folder: Path) -> Iterator[str]:
    """Yield file, line, name and length of the functions that are too long."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST:
                    yield f"{path}:{node.lineno}: {node.name} has {lines} lines, {MOST} are allowed"


if __name__ == "__main__":
    found = [line for folder in FOLDERS for line in long_functions(Path(folder))]
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
