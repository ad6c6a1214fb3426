"""Whose is a file: an installed Python distribution's, Python's own, or a package's of the system."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath

COMMON_LICENCES = Path("/usr/share/common-licenses")
_SHARED_PREFIXES = {"/usr", "/usr/local", "/opt/homebrew", "/opt/local"}
"""Prefixes shared by Python and other packages: not all files there are Python's."""
_LICENCE_FILE = re.compile(r"(?:^|[^A-Z])(?:LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|AUTHORS|CC-BY|CC0)", re.IGNORECASE)
_CODE = {".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib"}


class Installed:
    """The distributions in one environment, and which of them a module or a file came with."""

    def __init__(self, site_packages: Path) -> None:
        self._site = Path(os.path.abspath(site_packages))  # noqa: PTH100 - resolve() would follow links out of it
        self._files: dict[str, Distribution] = {}
        self._modules: dict[str, Distribution] = {}
        # A distribution reads its metadata anew whenever it is asked for its name.
        self._names = {normal(one.name): one for one in distributions(path=[str(self._site)])}
        for _name, found in sorted(self._names.items()):
            for file in found.files or ():
                path = PurePosixPath(str(file).replace("\\", "/"))
                self._files.setdefault(str(path), found)
                if path.suffix in {".py", ".so", ".pyd"}:
                    stem = path.parent if path.name == "__init__.py" else path.parent / path.name.split(".")[0]
                    self._modules.setdefault(str(stem), found)

    def of_module(self, module: str) -> Distribution | None:
        """The distribution that the module `a.b.c`, or the nearest package above it, came with."""
        path = PurePosixPath(*module.split("."))
        for place in (path, *path.parents[:-1]):
            if str(place) in self._modules:
                return self._modules[str(place)]
        below = (owner for name, owner in self._files.items() if name.startswith(f"{path}/"))
        return next(below, None)

    def of_file(self, source: Path) -> Distribution | None:
        """The distribution that this file came with: by its list of files, else by the folder that it lies in."""
        for site, path in ((self._site, source), (self._site.resolve(), source.resolve())):
            if path.is_relative_to(site):
                place = PurePosixPath(path.relative_to(site).as_posix())
                if str(place) in self._files:
                    return self._files[str(place)]
                return self.of_module(place.parts[0]) if len(place.parts) > 1 else None
        return None

    def named(self, name: str) -> Distribution | None:
        """The distribution of this name."""
        return self._names.get(normal(name))


def normal(name: str) -> str:
    """A distribution's name as indexes and purls write it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_files(found: Distribution) -> list[tuple[str, Path]]:
    """The licence texts that came with a distribution, as (short relative name, file), the main one first.

    Also the lists of compiled-in parts that wheels bring (PEP 770: dist-info/sboms).
    """
    texts = {}
    for file in found.files or ():
        path = PurePosixPath(str(file).replace("\\", "/"))
        inside = path.parts[0].endswith(".dist-info")
        wanted = inside and len(path.parts) > 2 and path.parts[1] in {"licenses", "license_files", "sboms"}
        if not wanted and (path.suffix in _CODE or not _LICENCE_FILE.search(path.name)):
            continue
        parts = path.parts[1:] if inside else path.parts
        short = "/".join(parts[1:] if len(parts) > 1 and parts[0] in {"licenses", "license_files"} else parts)
        source = Path(str(found.locate_file(file)))
        if source.is_file():
            texts[short] = source
    return sorted(texts.items(), key=lambda one: (one[0].count("/"), "AUTHOR" in one[0].upper(), one[0]))


def belongs_to_python(source: Path) -> bool:
    """True if a file is part of the Python that runs this: its library, its extensions, its own shared library."""
    places = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    if Path(sys.base_prefix).as_posix() not in _SHARED_PREFIXES:
        places.append(Path(sys.base_prefix).resolve())
    path = source.resolve()
    return path.name.startswith(("libpython3", "python3", "Python")) or any(path.is_relative_to(one) for one in places)


def python_licence() -> Path | None:
    """The licence of the Python that runs this."""
    library = Path(sysconfig.get_path("stdlib"))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    places = (
        library / "LICENSE.txt",
        Path(sys.base_prefix) / "LICENSE.txt",
        Path("/usr/share/doc") / version / "copyright",
        library.parent.parent / "Resources" / "LICENSE.txt",
    )
    return next((place for place in places if place.is_file()), None)


@dataclass(frozen=True)
class SystemPackage:
    """A Debian package: its name, its version, and its copyright file if it has one."""

    name: str
    version: str
    copyright: Path | None


def system_packages(sources: Iterable[Path]) -> dict[Path, SystemPackage]:
    """The Debian packages that files belong to; without those of no package, and empty on other systems."""
    spelled: dict[str, Path] = {}
    for source in sources:
        real = source.resolve()
        for path in (source, real):
            spelled[path.as_posix()] = source
            # Lists of files name the place before /lib and /usr/lib were merged, or the one after.
            merged = path.as_posix().removeprefix("/usr") if path.is_relative_to("/usr") else f"/usr{path.as_posix()}"
            spelled[merged] = source
    owners: dict[Path, str] = {}
    for line in _ask("-S", *sorted(spelled)):
        names, _, told = line.rpartition(": ")
        if told in spelled and not line.startswith("diversion"):
            owners[spelled[told]] = names.split(",")[0].strip()
    found = _ask("-W", "-f", "${Package}\t${Version}\n", *sorted(set(owners.values()))) if owners else []
    versions = dict(line.split("\t") for line in found)
    packages = {}
    for source, owner in owners.items():
        name = owner.split(":")[0]
        text = Path("/usr/share/doc") / name / "copyright"
        packages[source] = SystemPackage(name, versions.get(name, ""), text if text.is_file() else None)
    return packages


def _ask(*arguments: str) -> list[str]:
    """The lines that dpkg-query answers; it exits with 1 where it knows some of the files and not others."""
    try:
        done = subprocess.run(["dpkg-query", *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return []
    return done.stdout.splitlines()


def common_licences(texts: Iterable[str]) -> list[str]:
    """The names in /usr/share/common-licenses that Debian's copyright files refer to; their texts must come along."""
    names = {name.rstrip(".") for text in texts for name in re.findall(r"/usr/share/common-licenses/([\w.+-]+)", text)}
    return sorted(name for name in names if (COMMON_LICENCES / name).is_file())


def debian_words(text: str) -> str:
    """The licence that a machine-readable Debian copyright file gives for `Files: *`, or ""."""
    found = re.search(r"^Files:\s*\*\s*$(?:\n(?!\s*$).*)*?^License:[ \t]*(\S[^\n]*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""
