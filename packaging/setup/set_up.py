"""Prepare everything that Outrider needs, in `.venv` beside pyproject.toml.

Run by the Makefile with the Python that the environment shall have; needs nothing but its standard
library. A set-up that was broken off starts afresh, with what pip downloaded and compiled by then.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cards
import llama_build
import system
from messages import SetupError, say, step
from pip_runner import pip_install

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# Holds the folder and the processor that the environment was made for: with another one it is set up again. The
# Makefile compares it too.
READY = VENV / ".ready"
UNFINISHED = VENV / ".unfinished"
# Tells how the llama.cpp in there was compiled.
COMPILED = VENV / ".llama"
# Tells what llama.cpp computes on there beside the processor, for whoever sets up again without saying so. The
# Makefile compares it too.
KIND = VENV / ".llama-kind"
# CMAKE_ARGS, with which it was compiled.
ARGUMENTS = VENV / ".llama-cmake-args"
CONSTRAINTS = ROOT / "constraints.txt"
SUPPORTED = ((3, 11), (3, 13))
WANTED_FREE_GB = 4

CHECK = """
import llama_cpp, numpy, pyqtgraph, qasync, torch
from PySide6.QtWidgets import QApplication
QApplication([])
"""


def main() -> int:
    """Set up; gives the exit status."""
    with (ROOT / "pyproject.toml").open(encoding="utf-8") as held:
        try:
            _lock(held.fileno())
            if not _is_ready():
                _set_up()
        except SetupError as error:
            print(f"\nOutrider's set-up stopped: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nInterrupted; start again at any time.", file=sys.stderr)
            return 130
    return 0


def _set_up() -> None:
    kind = _kind()
    _recall_arguments(kind)
    system.prepare()
    _make_environment()
    READY.unlink(missing_ok=True)
    # Left behind only when this process is killed: pip puts back what it fails to replace.
    UNFINISHED.touch()
    try:
        _install(kind)
    except SetupError:
        UNFINISHED.unlink()
        raise
    UNFINISHED.unlink()
    _verify()
    _record_processor()
    KIND.write_text(f"{kind}\n", encoding="utf-8")
    ARGUMENTS.write_text(os.environ.get("CMAKE_ARGS", "") + "\n", encoding="utf-8")
    READY.write_text(_stamp(), encoding="utf-8")
    say("Outrider is set up.")


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("Another set-up is at work here; waiting for it.")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _is_ready() -> bool:
    """True if a set-up that we waited for has done the work."""
    if _kind() != _kind_there() or not READY.is_file() or READY.read_text(encoding="utf-8") != _stamp():
        return False
    sources = [ROOT / "pyproject.toml", CONSTRAINTS, *Path(__file__).parent.glob("*.*"), llama_build.SETTINGS]
    sources += llama_build.kernel_files()
    return all(source.stat().st_mtime <= READY.stat().st_mtime for source in sources)


def _kind() -> str:
    """Return one of llama_build.KINDS: the one given to make (LLAMA=vulkan), or the installed. Raises SetupError."""
    kind = os.environ.get("LLAMA_KIND", "").strip() or _kind_there()
    if kind not in llama_build.KINDS:
        raise SetupError(f"there is no llama.cpp build called {kind}. Choose one of {', '.join(llama_build.KINDS)}.")
    return kind


def _kind_there() -> str:
    return KIND.read_text(encoding="utf-8").strip() if KIND.is_file() else "cpu"


def _recall_arguments(kind: str) -> None:
    """Restore the CMAKE_ARGS of the last compilation, unless others are given."""
    if not os.environ.get("CMAKE_ARGS") and kind == _kind_there() and ARGUMENTS.is_file():
        os.environ["CMAKE_ARGS"] = ARGUMENTS.read_text(encoding="utf-8").strip()


def _stamp() -> str:
    return f"{ROOT}\n{llama_build.processor()}\n"


def _make_environment() -> None:
    if VENV.exists() and not UNFINISHED.exists() and _works():
        return
    step(f"Making the virtual environment .venv with Python {sys.version.split()[0]}")
    free_gb = shutil.disk_usage(ROOT).free / 1e9
    if free_gb < WANTED_FREE_GB:
        say(f"    Note: only {free_gb:.1f} GB are free here; about {WANTED_FREE_GB} GB are needed.")
    try:
        shutil.rmtree(VENV, ignore_errors=True)
        # A new process: ensurepip may have been installed since this one started.
        command = [sys.executable, "-m", "venv", str(VENV)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SetupError(f"{VENV} cannot be made: {error}") from error
    if done.returncode != 0:
        raise SetupError(f"{VENV} cannot be made:\n{done.stdout}{done.stderr}")


def _works() -> bool:
    """True if the environment that is there has a supported Python that runs, here, with pip."""
    code = "import sys, pip; print(sys.prefix, *sys.version_info[:2], sep='\\n')"
    try:
        done = subprocess.run([str(PYTHON), "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    if done.returncode != 0:
        return False
    prefix, major, minor = done.stdout.split("\n")[:3]
    return prefix == str(VENV) and SUPPORTED[0] <= (int(major), int(minor)) <= SUPPORTED[1]


def _install(kind: str) -> None:
    pinned = ("-c", str(CONSTRAINTS), "--disable-pip-version-check")
    step("Installing pip and what builds packages")
    # The pip that comes with older Pythons knows no machine-readable progress yet.
    # Packages without a wheel of their own are built without isolation, as the project is: with setuptools.
    tools = ("pip", "hatchling", "setuptools")
    pip_install(PYTHON, *pinned, *tools, log=VENV / "setup-tools.log", progress_bar="off")
    beside = "" if kind == "cpu" else f" and {kind}"
    step(f"Installing llama-cpp-python: compiled for this machine{beside}, 5 to 10 minutes on two cores")
    _install_llama(pinned, kind)
    step("Installing everything else")
    project = ("--no-build-isolation", "-e", f"{ROOT}[app,documents,server,tools,torch,dev]")
    pip_install(PYTHON, *pinned, *project, log=VENV / "setup-all.log")


def _install_llama(pinned: tuple[str, ...], kind: str) -> None:
    settings = llama_build.settings(kind) | cards.settings_for_here(kind)
    options = [f"--config-settings=cmake.define.{name}={value}" for name, value in settings.items()]
    built = "-".join(filter(None, (llama_build.digest_for_here(kind), cards.mark(kind))))
    build = ("-v", "--build-constraint", str(CONSTRAINTS), *options, *_own_cache(built))
    if not COMPILED.is_file() or COMPILED.read_text(encoding="utf-8").strip() != built:
        cards.prepare(kind)
        COMPILED.unlink(missing_ok=True)
        build = (*build, "--force-reinstall", "--no-deps")
    pip_install(PYTHON, *pinned, *build, _pin_of("llama_cpp_python"), log=VENV / "setup-llama.log")
    COMPILED.write_text(f"{built}\n", encoding="utf-8")


def _record_processor() -> None:
    """Leave beside llama.cpp for which processor it was compiled: on another one it would end the program."""
    code = "import sys; from engine.system.processor import record_processor; record_processor(sys.argv[1].split())"
    command = [str(PYTHON), "-c", code, llama_build.processor()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(f"the processor cannot be recorded:\n{done.stderr[-2000:]}")


def _own_cache(built: str) -> tuple[str, ...]:
    """Return pip's options for a cache of our own, since pip ignores the build settings of a wheel."""
    done = subprocess.run([str(PYTHON), "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=False)
    return ("--cache-dir", str(Path(done.stdout.strip(), f"outrider-llama-{built}"))) if done.returncode == 0 else ()


def _pin_of(package: str) -> str:
    found = re.search(rf"^{package}==\S+$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SetupError(f"{CONSTRAINTS.name} does not pin {package}.")
    return found[0]


def _verify() -> None:
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run([str(PYTHON), "-c", CHECK], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(why_not(done.stderr))


def why_not(said: str) -> str:
    """Explain a failed start from its last output."""
    if lost := re.search(r"(\S+\.so\S*): cannot open shared object file", said):
        return (
            f"everything is installed, but the system does not find the library {lost[1]}. Name its folder in "
            "LD_LIBRARY_PATH, or in a file in /etc/ld.so.conf.d and run ldconfig; then start again. Nothing is "
            "compiled a second time."
        )
    return f"everything is installed, but does not start:\n{said[-2000:]}"


if __name__ == "__main__":
    sys.exit(main())
