"""A folder as a frozen program has it: files and their manifest. And a process that believes to be frozen from it."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from helpers.paths import ROOT
from helpers.processes import run_python

FROZEN = """
import sys
sys.frozen, sys._MEIPASS, sys.executable = True, {folder!r}, {program!r}
from {module} import main
sys.exit(main({arguments!r}))
"""
PROGRAM = """#!{python}
import sys
sys.path.insert(0, {root!r})
sys.frozen, sys._MEIPASS = True, {folder!r}
from {module} import main
sys.exit(main(sys.argv[1:]))
"""


def make_bundle(
    folder: Path, files: Mapping[str, bytes], binaries: Mapping[str, bytes] | None = None, flavour: str = "standard"
) -> Path:
    """Write files and the manifest that lists them."""
    listed: dict[str, list[object] | None] = dict.fromkeys(binaries or {})
    listed |= {name: [len(content), hashlib.sha256(content).hexdigest()] for name, content in files.items()}
    for name, content in {**files, **(binaries or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    manifest = {"version": "0.0.0", "flavour": flavour, "commit": "0" * 40, "files": listed}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def run_frozen(
    module: str, folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run an entry point in a process that takes itself for a frozen program with its files in `folder`."""
    # It starts itself anew for its children.
    program = folder.parent / f"{folder.name}-{module}"
    program.write_text(
        PROGRAM.format(python=sys.executable, root=os.fspath(ROOT), folder=os.fspath(folder), module=module),
        encoding="utf-8",
    )
    program.chmod(0o755)
    code = FROZEN.format(folder=os.fspath(folder), program=os.fspath(program), module=module, arguments=[*arguments])
    return run_python("-c", code, env=env)
