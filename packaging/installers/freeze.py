"""Runs PyInstaller over packaging/outrider.spec."""

import os
import subprocess
import sys
from pathlib import Path

import places  # noqa: F401 - it tells where the set-up's modules are
from linux_packages.elf import forget_build_folders, forget_build_ids
from messages import SetupError, say, step
from places import DIST, ROOT, WORK, epoch

_KEPT_LINES = 30


def freeze(python: Path, flavour: str, llama_source: Path) -> Path:
    """Build the program; gives its folder in dist/.

    Raises SetupError, after the last lines of PyInstaller.
    """
    step(f"Freezing the {flavour} flavour")
    scratch = WORK / f"frozen-{flavour}"
    scratch.mkdir(parents=True, exist_ok=True)
    log = scratch / "pyinstaller.log"
    command = [
        *(str(python), "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "INFO"),
        *("--distpath", str(DIST), "--workpath", str(scratch), str(ROOT / "packaging" / "outrider.spec")),
        *("--", "--flavour", flavour, "--llama-source", str(llama_source)),
    ]
    environment = os.environ | {
        # The order of sets, and so of what is written, and the dates in it.
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": str(epoch()),
        "PYINSTALLER_CONFIG_DIR": str(WORK / "pyinstaller"),
        "QT_QPA_PLATFORM": "offscreen",
    }
    with log.open("w", encoding="utf-8") as record:
        done = subprocess.run(
            command, cwd=scratch, env=environment, stdout=record, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        say("\n".join(line[:300] for line in lines[-_KEPT_LINES:]))
        raise SetupError(f"PyInstaller failed; its last lines, above, say why (all of them: {log}).")
    program = DIST / ("outrider" if flavour == "standard" else f"outrider-{flavour}")
    if sys.platform == "linux":
        forget_build_folders(program)
        forget_build_ids(program / "_internal" / "llama_cpp")
    _check(program)
    return program


def _check(program: Path) -> None:
    """True if the program would find itself whole. Raises SetupError."""
    sys.path.insert(1, str(ROOT))
    from engine import InstallationDamaged  # noqa: PLC0415 - needs nothing that is not here
    from engine.host import Installation  # noqa: PLC0415 - needs nothing that is not here

    try:
        installation = Installation(program / "_internal")
        installation.check_files()
        for _ in installation.check_contents():
            pass
    except InstallationDamaged as damage:
        raise SetupError(f"the program does not agree with its own manifest: {damage}") from damage
