"""Derive a frozen program's Debian or Ubuntu dependencies from its libraries."""

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bundle_files import entries
from messages import SetupError
from system import LIBRARIES, TABLE

# Names changed when 32-bit systems got a 64-bit time_t (Debian 13, Ubuntu 24.04); either will do.
_RENAMED = {"libglib2.0-0": "libglib2.0-0t64 | libglib2.0-0", "libpng16-16": "libpng16-16t64 | libpng16-16"}

# Beside those that a source run wants by itself: the C library's parts, the compiler's, and what other
# builds of Python or Qt link.
_PACKAGES = LIBRARIES | TABLE["bundles"]
_LIBC = re.compile(r"(lib(c|m|dl|rt|pthread|util|resolv|anl|mvec)|ld-linux-x86-64)\.so\.\d+")
# The first GCC (and package version of libstdc++6) that has these symbols, from libstdc++'s ABI history.
_STDCXX = {
    "GLIBCXX_3.4.26": "9", "GLIBCXX_3.4.27": "9", "GLIBCXX_3.4.28": "9", "GLIBCXX_3.4.29": "11",
    "GLIBCXX_3.4.30": "12", "GLIBCXX_3.4.31": "13.1", "GLIBCXX_3.4.32": "13.1", "GLIBCXX_3.4.33": "14",
    "GLIBCXX_3.4.34": "15", "CXXABI_1.3.12": "9", "CXXABI_1.3.13": "11", "CXXABI_1.3.14": "13.1",
    "CXXABI_1.3.15": "14",
}  # fmt: skip
# Libraries that are of no use without files of another package, which their own package would bring.
_DATA = {"libX11.so.6": "libx11-data", "libfontconfig.so.1": "fontconfig-config", "libxkbcommon.so.0": "xkb-data"}
# Modules that are tried at run time and may fail: a theme for another toolkit's desktop, printers, and graphics cards,
# whose drivers come from their makers.
_OPTIONAL = re.compile(r"/(libqgtk3|libcupsprintersupport|libggml-(cuda|hip|sycl|vulkan))\.so$")
# What such a module finds its card by, where Debian has it.
_DRIVERS = {"libggml-vulkan.so": ("libvulkan1", "mesa-vulkan-drivers")}


@dataclass(frozen=True)
class Library:
    """An executable or library of a bundle.

    Attributes:
        path: where it is.
        names: what others may call it by: its file's name and its soname.
        needed: sonames of the libraries that it is linked with.
        versions: versions of symbols that it wants of them, GLIBC_2.34.
    """

    path: Path
    names: frozenset[str]
    needed: tuple[str, ...]
    versions: frozenset[str]


def needed_packages(bundle: Path) -> tuple[str, ...]:
    """List the packages for the field Depends of Debian's control file.

    Libraries that the bundle brings are left out. Raises SetupError for a library that no package is known for.
    """
    libraries = read_libraries(bundle)
    brought = frozenset[str]().union(*(library.names for library in libraries))
    packages = {_DATA[name] for name in _DATA if name in brought}
    for library in libraries:
        if _OPTIONAL.search(library.path.as_posix()):
            continue
        for name in library.needed:
            if name not in brought and not _LIBC.fullmatch(name):
                packages.add(_package_of(name, library.path))
    versions = frozenset[str]().union(*(library.versions for library in libraries))
    if "libstdc++6" in packages:
        packages.remove("libstdc++6")
        packages.add(f"libstdc++6 (>= {_newest(_STDCXX.get(version, '5') for version in versions)})")
    packages.add(f"libc6 (>= {_newest(_glibc_versions(versions))})")
    return tuple(sorted(packages))


def recommended_packages(bundle: Path) -> tuple[str, ...]:
    """List the graphics drivers for the field Recommends; without them, the processor computes."""
    brought = {entry.path.name for entry in entries(bundle)}
    return tuple(sorted({package for name in _DRIVERS if name in brought for package in _DRIVERS[name]}))


def minimum_glibc(bundle: Path) -> str:
    """The oldest version of the C library that a bundle runs with, as 2.34."""
    libraries = read_libraries(bundle)
    return _newest(_glibc_versions(frozenset[str]().union(*(library.versions for library in libraries))))


def read_libraries(bundle: Path) -> list[Library]:
    """Read all ELF files of a folder, without links, and their references to each other.

    Raises SetupError where binutils' objdump, which reads them, is missing or fails.
    """
    files = [entry.path for entry in entries(bundle) if entry.link is None and entry.path.is_file()]
    return read_files([path for path in files if _is_elf(path)])


def read_files(paths: Sequence[Path]) -> list[Library]:
    """Read the names and references of ELF files. Raises SetupError if objdump is missing or fails."""
    if not paths:
        return []
    try:
        done = subprocess.run(
            ["objdump", "-p", *map(str, paths)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"LC_ALL": "C"},
        )
    except OSError as error:
        raise SetupError("objdump is missing; it is in Debian's package binutils.") from error
    # Each file's part begins with its name, in the order they were given in.
    parts = re.split(r"^(.+):\s+file format .+$", done.stdout, flags=re.MULTILINE)[1:]
    told = dict(zip(parts[::2], parts[1::2], strict=True))
    unread = [str(path) for path in paths if str(path) not in told]
    if done.returncode != 0 or unread:
        raise SetupError(f"objdump could not read {', '.join(unread[:3])}: {done.stderr.strip()[-500:]}")
    return [_parse(path, told[str(path)]) for path in paths]


def _parse(path: Path, text: str) -> Library:
    sonames = re.findall(r"^  SONAME +(\S+)$", text, re.MULTILINE)
    needed = re.findall(r"^  NEEDED +(\S+)$", text, re.MULTILINE)
    references = text.partition("Version References:")[2]
    versions = re.findall(r"^ +0x[0-9a-f]+ 0x[0-9a-f]+ \d+ (\S+)$", references, re.MULTILINE)
    return Library(path, frozenset({path.name, *sonames}), tuple(needed), frozenset(versions))


def _package_of(name: str, wanted_by: Path) -> str:
    package = _PACKAGES.get(name)
    if package is None:
        raise SetupError(
            f"{wanted_by.name} is linked with {name}, and no Debian package is known for that. Find it with "
            f"'dpkg -S {name}' and add it to packaging/linux/libraries.json, or leave {wanted_by.name} out."
        )
    return _RENAMED.get(package, package)


def _glibc_versions(versions: frozenset[str]) -> list[str]:
    numbers = [version[6:] for version in versions if re.fullmatch(r"GLIBC_\d+(\.\d+)+", version)]
    # Compact relocations have a marker in place of a number; they came with 2.36.
    return [*numbers, *(["2.36"] if "GLIBC_ABI_DT_RELR" in versions else []), "2.17"]


def _newest(versions: Iterable[str]) -> str:
    return max(versions, key=lambda version: tuple(map(int, version.split("."))))


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
