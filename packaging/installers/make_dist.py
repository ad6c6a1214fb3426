"""Build the installers: by `make dist`, or by file name on Windows and macOS.

    python packaging/installers/make_dist.py [--flavour standard|full] [--llama cpu|vulkan|cuda|metal]

Afterwards dist/ holds the program's folder and the packages for this system, the list of components (SBOM) and the
checksums. What takes long (llama.cpp, the environment) is kept in build/installers and used again.
"""

import argparse
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import places  # noqa: F401 - it tells where the set-up's modules are
import system
from llama_build import KINDS
from messages import SetupError
from places import FLAVOURS, WORK


def main(arguments: Sequence[str] | None = None) -> int:
    """Build; gives the exit status."""
    parser = argparse.ArgumentParser(prog="make_dist.py", description="Build Outrider's installers.")
    parser.add_argument("--flavour", choices=FLAVOURS, default="standard")
    parser.add_argument("--llama", choices=tuple(KINDS), default="cpu", help="what llama.cpp can compute on")
    args = parser.parse_args(arguments)
    try:
        _build(args.flavour, args.llama)
    except SetupError as error:
        print(f"\nThe installers were not built: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\nThe installers were not built: {error}. Is the disk full?", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; start again at any time.", file=sys.stderr)
        return 130
    return 0


def _build(flavour: str, llama_kind: str) -> None:
    if sys.platform == "linux":
        system.prepare(_python_library())
    from environment import make_environment  # noqa: PLC0415 - only now is everything there that it needs
    from freeze import freeze  # noqa: PLC0415

    WORK.mkdir(parents=True, exist_ok=True)
    python, llama = make_environment(flavour, llama_kind)
    program = freeze(python, flavour, llama.source)
    # What follows needs Qt for the icons and a library for the SBOM: both are in the environment.
    command = [str(python), "-B", str(Path(__file__).with_name("pack.py")), str(program), "--flavour", flavour]
    if subprocess.run(command, check=False).returncode != 0:
        raise SetupError("the packages could not be made; the lines above say why.")


def _python_library() -> dict[str, str]:
    """The shared library of this Python, which the frozen program carries, and its Debian package."""
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        raise SetupError(
            f"{sys.executable} was built without its shared library (--enable-shared), which a frozen program needs. "
            "Name another Python: make dist PYTHON=/usr/bin/python3"
        )
    folder = sysconfig.get_config_var("LIBDIR")
    name = sysconfig.get_config_var("INSTSONAME")
    if Path(folder, name).exists():
        return {}
    return {name: f"libpython{sys.version_info[0]}.{sys.version_info[1]}"}


if __name__ == "__main__":
    sys.exit(main())
