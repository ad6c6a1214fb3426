"""Folders, version, commit and time of the installers' build."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "installers"
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
FLAVOURS = ("standard", "full")
EXTRAS = {"standard": "app,documents,server,tools,installer", "full": "app,documents,server,tools,installer,torch"}
_EPOCH_WITHOUT_GIT = 1_767_225_600

sys.path.insert(1, str(ROOT / "packaging" / "setup"))


def version() -> str:
    """The version, from the one place where it stands."""
    text = (ROOT / "engine" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise ValueError("engine/_version.py does not tell the version")
    return found[1]


def commit() -> str:
    """The commit that is built, "unknown" outside a git checkout; "+" marks changes that are not committed."""
    name = _git("rev-parse", "HEAD")
    return f"{name}{'+' if _git('status', '--porcelain', '--untracked-files=no') else ''}" if name else "unknown"


def epoch() -> int:
    """The time that everything built is dated with, in seconds: SOURCE_DATE_EPOCH, else the commit's time.

    Source: the reproducible-builds.org specification of SOURCE_DATE_EPOCH.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct")
    return int(given) if given else _EPOCH_WITHOUT_GIT


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
