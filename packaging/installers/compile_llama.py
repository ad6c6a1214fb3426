"""llama.cpp for every machine: compiled into a wheel whose processor modules are chosen when the program runs.

What `make setup` compiles is for the processor of this machine only. Here ggml's modules are libraries of their own
(GGML_BACKEND_DL), one for each family of processors (GGML_CPU_ALL_VARIANTS), and lie beside libllama in the package;
the engine loads the best of them by its path. A graphics module is one more library in the same place.
"""

import hashlib
import os
import platform
import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import places  # noqa: F401 - it tells where the set-up's modules are
from cards import prepare as prepare_for_cards
from llama_build import KINDS, digest, with_amx
from llama_build import settings as shared_settings
from messages import SetupError, step
from pip_runner import run_pip
from places import CONSTRAINTS, WORK

PACKAGE = "llama_cpp_python"
_BESIDE = "llama_cpp/lib"
_RECIPE = 1
"""Counts up when something changes here that the settings do not tell."""
SETTINGS = {
    "GGML_NATIVE": "OFF",
    "GGML_BACKEND_DL": "ON",
    "GGML_CPU_ALL_VARIANTS": "ON",
    # Pictures are read with mtmd.
    "LLAVA_BUILD": "ON",
    # One file a library, not three copies of it: a wheel has no links.
    "CMAKE_PLATFORM_NO_VERSIONED_SONAME": "ON",
    # The modules are installed as programs; they belong beside libllama.
    "CMAKE_INSTALL_BINDIR": _BESIDE,
    "CMAKE_INSTALL_LIBDIR": _BESIDE,
}


@dataclass(frozen=True)
class Llama:
    """A compiled llama.cpp: the wheel, and the unpacked source that it was made of (its licences are in there)."""

    wheel: Path
    source: Path


def compile_llama(python: Path, kind: str = "cpu") -> Llama:
    """Compile llama.cpp, or reuse an earlier build with the same settings. Raises SetupError.

    `python`: an interpreter with pip; `kind`: one of KINDS, what it can compute on beside the processor.
    """
    if kind not in KINDS:
        raise SetupError(f"there is no llama.cpp build called {kind}. Choose one of {', '.join(KINDS)}.")
    settings = SETTINGS | KINDS[kind]
    place = WORK / "llama" / f"{kind}-{_key(settings)}"
    settings |= shared_settings()
    finished = place / "wheel"
    source = place / "source"
    if not finished.is_dir():
        prepare_for_cards(kind, for_here=False)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _unpack(python, place, source)
        step(f"Compiling llama.cpp for all processors ({kind}): about 10 minutes on two cores")
        unfinished = place / "unfinished"
        options = [f"--config-settings=cmake.define.{name}={value}" for name, value in settings.items()]
        run_pip(
            python,
            "wheel",
            *("-v", "--no-deps", "--disable-pip-version-check", "--no-cache-dir"),
            *("--build-constraint", str(CONSTRAINTS), "-w", str(unfinished)),
            *options,
            str(source),
            log=place / "compile.log",
            environment=_environment(source),
        )
        _check_for_amx(next(unfinished.glob("*.whl")), place / "checked")
        unfinished.rename(finished)
    return Llama(next(finished.glob("*.whl")), source)


def _check_for_amx(wheel: Path, place: Path) -> None:
    """Raise SetupError if a library of the wheel carries AMX, which crashes on processors that have it."""
    if sys.platform != "linux" or shutil.which("objdump") is None:
        return
    shutil.unpack_archive(wheel, place, "zip")
    if found := with_amx(place):
        raise SetupError(f"{', '.join(found)} was compiled with AMX. See kernels/ggml.cmake, which leaves it out.")
    shutil.rmtree(place)


def _key(settings: dict[str, str]) -> str:
    """Changes with everything that the result depends on: package, settings, system."""
    told = repr((_pinned(PACKAGE), sorted(settings.items()), digest(), _RECIPE, sys.platform, platform.machine()))
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _unpack(python: Path, place: Path, source: Path) -> None:
    step("Fetching the source of llama.cpp")
    pin = f"{PACKAGE}{_pinned(PACKAGE)}"
    run_pip(
        python,
        "download",
        *("--no-deps", "--no-binary", PACKAGE, "--disable-pip-version-check"),
        *("--build-constraint", str(CONSTRAINTS), "-d", str(place), pin),
        log=place / "download.log",
        progress_bar="off",
    )
    with tarfile.open(next(place.glob(f"{PACKAGE}*.tar.gz"))) as archive:
        # The first versions of Python 3.11, such as Debian 12's, take no filter and have no need to be told one.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(place / "unpacked")  # noqa: S202 - the archive is the pinned one
    next((place / "unpacked").iterdir()).rename(source)


def _pinned(package: str) -> str:
    for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{package}=="):
            return line.removeprefix(package)
    raise SetupError(f"{CONSTRAINTS.name} does not pin {package}.")


def _environment(source: Path) -> dict[str, str]:
    """Environment of a reproducible build: no path of this folder in the result, and no commit of ours."""
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(WORK)}
    if sys.platform != "win32":
        for name in ("CFLAGS", "CXXFLAGS"):
            given = f"{environment.get(name, '')} -ffile-prefix-map={source}=llama_cpp_python"
            environment[name] = given.strip()
    return environment


def main() -> int:
    """Compile for the Python and the card kind of the command line, and print the wheel's path."""
    try:
        print(compile_llama(Path(sys.executable), *sys.argv[1:2]).wheel)
    except SetupError as error:
        print(f"\nllama.cpp was not compiled: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
