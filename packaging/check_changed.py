"""Check the files changed since the branch left main, and the tests of their rooms: `make check`.

Style, types, imports, and the tests of the rooms, two at a time, without those that measure time. It stops at the first
step that fails. A change of a room that many others use wants `make lint test` in the end all the same.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_ALWAYS = ("tests/integration/test_measures.py", "tests/integration/test_rooms.py")
_OF_PAGES = "tests/integration/test_documents.py"


def changed_files() -> list[str]:
    """Return the files that differ from where the branch left main, and the new ones, as far as they are there."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    names = {*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")}
    return sorted(name for name in names if (ROOT / name).is_file())


def rooms_tests(changed: Iterable[str]) -> list[str]:
    """Return the tests of these files: a test itself, those of a room, and those of the pages."""
    found = set(_ALWAYS)
    for name in map(Path, changed):
        if name.parts[0] == "tests" and name.name.startswith("test_"):
            found.add(name.as_posix())
        elif name.suffix == ".md":
            found.add(_OF_PAGES)
        elif name.parts[0] in ("engine", "app", "packaging"):
            room = next((each for each in name.parents if (ROOT / "tests" / each).is_dir()), name.parent)
            found |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / room).glob("test_*.py")}
    return sorted(found)


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def main() -> int:
    """Run the steps. Returns the exit code of the first that fails."""
    changed = changed_files()
    code = [name for name in changed if name.endswith(".py")]
    python, steps = [sys.executable, "-m"], []
    if code:
        steps = [["ruff", "format", "--check", *code], ["ruff", "check", *code], ["mypy", *code]]
    marks = ["-m", "not soak and not alone"]
    steps.append(["pytest", "-q", "-n", "2", "--dist", "loadfile", *marks, *rooms_tests(changed)])
    for step in steps:
        print("$", " ".join(step[:6]), "…", flush=True)
        status = subprocess.run([*python, *step], cwd=ROOT, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
