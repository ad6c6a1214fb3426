"""Run the program as its users do: in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping

from helpers.paths import ROOT, TESTS


def run_python(
    *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 120, umask: int = -1
) -> subprocess.CompletedProcess[str]:
    """Run this interpreter in the project's folder; the helpers are importable there."""
    environment = dict(os.environ if env is None else env)
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(ROOT)])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        umask=umask,
    )


def run_engine(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run the command line, `python -m engine …`."""
    return run_python("-m", "engine", *arguments, timeout=timeout)
