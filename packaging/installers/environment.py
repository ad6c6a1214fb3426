"""Build the environment to freeze: the program's dependencies alone, with llama.cpp for all machines."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import places  # noqa: F401 - it tells where the set-up's modules are
from compile_llama import Llama, compile_llama
from messages import SetupError, say, step
from pip_runner import pip_install
from places import CONSTRAINTS, EXTRAS, ROOT, WORK

_STAMP, _MADE_BY = ".made-of", ".made-by"


def make_environment(flavour: str, llama_kind: str) -> tuple[Path, Llama]:
    """Build or reuse the environment; return its Python and its llama.cpp. Raises SetupError.

    The project itself is installed anew each time, from a wheel: what is missing there is missing for everyone.
    """
    place = WORK / f"env-{flavour}"
    os.environ["OUTRIDER_KEEP_NAMES"] = "1"  # See packaging/wheel_build.py.
    python = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pinned = ("-c", str(CONSTRAINTS), "--disable-pip-version-check")
    made_by = place / _MADE_BY
    if not python.is_file() or not made_by.is_file() or made_by.read_text(encoding="utf-8") != _this_python():
        _make_empty(place)
        made_by.write_text(_this_python(), encoding="utf-8")
        pip_install(python, *pinned, "pip", "hatchling", log=place / "tools.log", progress_bar="off")
    llama = compile_llama(python, llama_kind)
    made_of = _fingerprint(flavour, llama)
    stamp = place / _STAMP
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != made_of:
        step(f"Installing what the {flavour} flavour contains")
        pip_install(python, *pinned, "--force-reinstall", "--no-deps", str(llama.wheel), log=place / "llama.log")
        project = f"{ROOT}[{EXTRAS[flavour]}]"
        pip_install(python, *pinned, "--no-build-isolation", project, log=place / "packages.log")
        stamp.write_text(made_of, encoding="utf-8")
    again = ("--force-reinstall", "--no-deps", "--no-build-isolation", str(ROOT))
    pip_install(python, *pinned, *again, log=place / "project.log")
    return python, llama


def _this_python() -> str:
    return f"{sys.base_prefix}\n{sys.version}"


def _make_empty(place: Path) -> None:
    step(f"Making an environment with Python {sys.version.split()[0]}")
    shutil.rmtree(place, ignore_errors=True)
    command = [sys.executable, "-m", "venv", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        say(done.stdout + done.stderr)
        raise SetupError(f"{place} cannot be made; the lines above say why.")


def _fingerprint(flavour: str, llama: Llama) -> str:
    told = (flavour, sys.version, str(llama.wheel), CONSTRAINTS.read_bytes(), (ROOT / "pyproject.toml").read_bytes())
    return hashlib.sha256(repr(told).encode()).hexdigest()
