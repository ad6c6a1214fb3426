"""Check the operating system's part: libraries, a compiler, fonts, an X server for tests."""

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from messages import SetupError, say, step

# What QtGui, QtWidgets, the X11 and Wayland platforms and llama.cpp load, and the Debian package
# that holds it; seen with ldd on a Debian that has nothing but Python, a compiler and make.
TABLE: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "linux" / "libraries.json").read_text("utf-8")
)
LIBRARIES = TABLE["source_run"]

# Only tests of the real window want these; they skip without.
TEST_TOOLS = {"Xvfb": "xvfb", "xdotool": "xdotool"}

FONTS = {"fonts-noto-color-emoji": "truetype/noto/NotoColorEmoji.ttf"}
FONT_ROOT = Path("/usr/share/fonts")


@dataclass(frozen=True)
class Missing:
    """Missing requirements, as names of Debian packages and in words for other systems."""

    needed: tuple[str, ...]
    recommended: tuple[str, ...]
    words: tuple[str, ...]


def find_missing() -> Missing:
    """Check this machine without changing it."""
    needed: list[str] = []
    words: list[str] = []
    if not _has_compiler():
        needed.append("g++")
        words.append("a C++ compiler (c++, g++ or clang++): llama.cpp is compiled here")
    if importlib.util.find_spec("ensurepip") is None:
        needed.append(f"python{sys.version_info.major}.{sys.version_info.minor}-venv")
        words.append("the Python module ensurepip, for the virtual environment")
    absent = [name for name in LIBRARIES if not loads(name)]
    needed += [LIBRARIES[name] for name in absent]
    words += absent
    recommended = [package for tool, package in TEST_TOOLS.items() if not shutil.which(tool)]
    recommended += [p for p, pattern in FONTS.items() if not any(FONT_ROOT.glob(pattern))]
    return Missing(tuple(needed), tuple(recommended), tuple(words))


def prepare(more: Mapping[str, str] | None = None) -> None:
    """Install missing packages where permitted; else print the command for it.

    `more`: further libraries that are needed, with their Debian packages, in the form of LIBRARIES.
    Raises SetupError where something needed is missing and cannot be installed from here.
    """
    missing = find_missing()
    absent = [name for name in more or {} if not loads(name)]
    if more and absent:
        packages = tuple(more[name] for name in absent)
        missing = replace(missing, needed=missing.needed + packages, words=missing.words + tuple(absent))
    packages = missing.needed + missing.recommended
    if not packages:
        return
    if not shutil.which("apt-get"):
        _explain_without_apt(missing)
    elif os.geteuid() == 0:
        _apt_install(packages)
        _check_again()
    elif missing.needed:
        raise SetupError(
            "Some Debian packages are missing. Type this one command, then start again:\n\n"
            f"    {_command_to_type(packages)}\n"
        )
    else:
        say(f"Optional, for tests and emoji: {_command_to_type(packages)}")


def install(packages: Sequence[str], purpose: str) -> None:
    """Install missing Debian packages if permitted. Raises SetupError with the command to type otherwise.

    `purpose`: what they are needed for, as "to compile llama.cpp".
    """
    if not shutil.which("apt-get"):
        raise SetupError(
            f"This machine lacks what is in these Debian packages, {purpose}: {' '.join(packages)}. Install it with "
            "the system's package manager, then start again."
        )
    if os.geteuid() != 0:
        raise SetupError(
            f"Some Debian packages are missing, {purpose}. Type this one command, then start again:\n\n"
            f"    {_command_to_type(tuple(packages))}\n"
        )
    _apt_install(tuple(packages))


def _has_compiler() -> bool:
    names = [os.environ.get("CXX", "").split(" ")[0], "c++", "g++", "clang++"]
    return any(name and shutil.which(name) for name in names)


def loads(library: str) -> bool:
    """True if a library of this name is found and fits."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _explain_without_apt(missing: Missing) -> None:
    if missing.words:
        raise SetupError(
            "This machine lacks, and this is no Debian where they could be installed from here:\n  "
            + "\n  ".join(missing.words)
            + "\nInstall them with the system's package manager, then start again."
        )
    say(f"Optional, by their Debian names: {' '.join(missing.recommended)}")


def _command_to_type(packages: tuple[str, ...]) -> str:
    install = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}"
    return f"sudo sh -c '{install}'" if shutil.which("sudo") else f"su -c '{install}'"


def _apt_install(packages: tuple[str, ...]) -> None:
    step(f"Installing Debian packages: {' '.join(packages)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    commands = (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages])
    for command in commands:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            say(done.stdout)
            raise SetupError(
                f"'{' '.join(command[:2])}' failed; its last lines, above, say why. "
                f"The packages needed are: {' '.join(packages)}"
            )


def _check_again() -> None:
    left = find_missing()
    # A module that was installed since this process looked is seen by the next process only.
    needed = [package for package in left.needed if not package.endswith("-venv")]
    if needed:
        raise SetupError(f"Installed, but still not found: {' '.join(needed)}")
