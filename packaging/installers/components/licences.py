"""Collect the licences of all components of the program: authors, terms and texts."""

import json
import platform
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path
from typing import Literal, cast

from places import ROOT, version

from components.owners import (
    COMMON_LICENCES,
    Installed,
    belongs_to_python,
    common_licences,
    debian_words,
    licence_files,
    normal,
    python_licence,
    system_packages,
)
from components.texts import (
    INSIDE_PYTHON,
    INSIDE_QT,
    MIT_COPYRIGHTS,
    NOTICE_NAME,
    PHOSPHOR_COPYRIGHT,
    TEXTS,
    UNKNOWN,
    lgpl_notice,
    licence_words,
    mit_licence,
    standard_texts,
    system_words,
)

Kind = Literal["python", "native", "runtime", "system", "model", "data"]
_OURS = ("app", "engine", "resources")
_QT = ("pyside6-essentials", "shiboken6")
_LIBRARY = re.compile(r"^(?:lib)?(.+?)(?:-[0-9a-f]{8}|[-.][\d.]+)*\.(?:so|dylib|dll|pyd).*$")


@dataclass(frozen=True)
class Component:
    """A part of the program.

    Attributes: name, version; licence (an SPDX expression, or the words of its metadata, or "unknown"); kind; files
    (its licence texts, relative to the folder of licences, "/" between); url (where it comes from, or "").
    """

    name: str
    version: str
    licence: str
    kind: Kind
    files: tuple[str, ...] = ()
    url: str = ""


class MissingLicence(Exception):
    """Components without a known licence or licence text. Attribute: names."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(
            f"no licence was found for {', '.join(names)}. Add it to components/texts.py, or leave it out."
        )


class _Folder:
    """The licence folder while it is being filled."""

    def __init__(self, place: Path) -> None:
        self._place = place
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)

    def add(self, name: str, text: Path | str) -> str:
        """Put a text (a file's contents, or itself) under this name; gives the name as it became."""
        safe = re.sub(r"[^\w./+-]+", "_", name)
        target = self._place / safe
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.read_bytes() if isinstance(text, Path) else text.encode())
        return safe

    def finish(self, components: list[Component]) -> None:
        """Write the list."""
        told = json.dumps([asdict(one) for one in components], indent=1, ensure_ascii=False)
        (self._place / "components.json").write_text(told + "\n", encoding="utf-8", newline="\n")


def gather(
    modules: Iterable[str],
    binaries: Iterable[tuple[str, str]],
    site_packages: Path,
    out: Path,
    *,
    llama_source: Path | None = None,
    data: Iterable[tuple[str, str]] = (),
) -> list[Component]:
    """Find the authors of a program's components, and write their licence texts and components.json to `out`.

    `modules`: the Python modules in it; `binaries`, `data`: (path in the program, source) of its libraries and of its
    other files; `site_packages`: where the distributions are installed; `out`: made anew; `llama_source`: the
    unpacked source of the binding, with llama.cpp in vendor/. Sorted by name; the same for the same input.
    """
    installed = Installed(site_packages)
    folder = _Folder(out)
    used, strangers = _owners(installed, modules)
    system: list[Path] = []
    llama = False
    for place, source in sorted({*binaries, *data}):
        owner = installed.of_file(Path(source))
        if owner is not None:
            used[normal(owner.name)] = owner
        llama |= place.replace("\\", "/").startswith("llama_cpp/lib/")
        if owner is None and _is_library(place) and not _is_known(place, Path(source)):
            system.append(Path(source))
    used.pop("outrider", None)
    components = [_ours(folder), _demo_models(folder), _python(folder), _bootloader(folder, installed)]
    components += [_distribution(folder, one) for one in used.values() if normal(one.name) != "pyinstaller"]
    components += [Component(f"module {name}", "", UNKNOWN, "python") for name in strangers]
    components += _system(folder, system)
    components += [_phosphor(folder)] if "qtawesome" in used else []
    components += [_llama(folder, llama_source)] if llama else []
    components.sort(key=lambda one: (one.name.lower(), one.version))
    folder.finish(components)
    return components


def unknown(components: Iterable[Component]) -> list[str]:
    """Return the names of components without a known licence or licence text."""
    return [one.name for one in components if one.licence == UNKNOWN or not one.files]


def check(components: Iterable[Component]) -> None:
    """Raises MissingLicence where something has no licence or no text of it."""
    names = unknown(components)
    if names:
        raise MissingLicence(names)


def _owners(installed: Installed, modules: Iterable[str]) -> tuple[dict[str, Distribution], list[str]]:
    """The distributions that these modules came with, and the first names of those that came with none."""
    used, strangers = {}, set()
    for module in sorted(set(modules)):
        first = module.split(".")[0]
        if first in sys.stdlib_module_names or first in _OURS or first.startswith(("pyi", "_pyi", "__", "PyInstaller")):
            continue
        owner = installed.of_module(module)
        if owner is not None:
            used[normal(owner.name)] = owner
        elif installed.of_module(first) is None and not first.startswith("_sysconfigdata"):
            strangers.add(first)
    return used, sorted(strangers)


def _is_library(place: str) -> bool:
    return _LIBRARY.match(Path(place).name) is not None


def _is_known(place: str, source: Path) -> bool:
    ours = source.resolve().is_relative_to(ROOT / "resources")
    return ours or place.replace("\\", "/").startswith("llama_cpp/") or belongs_to_python(source)


def _ours(folder: _Folder) -> Component:
    return Component("Outrider", version(), "MIT", "python", (folder.add("outrider/LICENSE", ROOT / "LICENSE"),))


def _demo_models(folder: _Folder) -> Component:
    card = folder.add("demo-models/MODEL_CARD.md", ROOT / "resources" / "models" / "MODEL_CARD.md")
    text = folder.add("demo-models/LICENSE", ROOT / "LICENSE")
    return Component("Outrider demo models", version(), "MIT", "model", (text, card))


def _python(folder: _Folder) -> Component:
    found = python_licence()
    files = [] if found is None else [folder.add("python/LICENSE.txt", found)]
    files += [folder.add(f"python/{text}", TEXTS / text) for text in INSIDE_PYTHON if files]
    number = platform.python_version()
    return Component("Python", number, "Python-2.0.1", "runtime", tuple(files), "https://www.python.org")


def _bootloader(folder: _Folder, installed: Installed) -> Component:
    """Describe PyInstaller's bootloader, under the GPL with an exception for the packed program."""
    found = installed.named("pyinstaller")
    files = licence_files(found) if found else []
    texts = tuple(folder.add(f"pyinstaller/{name}", file) for name, file in files)
    words = "GPL-2.0-or-later WITH Bootloader-exception"
    number = found.version if found else ""
    return Component("PyInstaller bootloader", number, words, "runtime", texts, "https://pyinstaller.org")


def _distribution(folder: _Folder, found: Distribution) -> Component:
    words, name = licence_words(found), normal(found.name)
    files = [folder.add(f"{name}/{short}", file) for short, file in licence_files(found)]
    if not any("sboms/" not in file for file in files):
        files[:0] = [folder.add(f"{name}/{text}", TEXTS / text) for text in standard_texts(words)]
        if name in MIT_COPYRIGHTS:
            files.insert(0, folder.add(f"{name}/LICENSE.txt", mit_licence(MIT_COPYRIGHTS[name])))
    if name in _QT:
        files.insert(0, folder.add(f"{name}/{NOTICE_NAME}", lgpl_notice(found.version)))
        files += [folder.add(f"{name}/{text}", TEXTS / text) for text in INSIDE_QT]
    return Component(found.name, found.version, words, "python", tuple(files), _url(found))


def _url(found: Distribution) -> str:
    pages = dict(line.split(", ", 1) for line in found.metadata.get_all("Project-URL", []) if ", " in line)
    lower = {name.lower(): page for name, page in pages.items()}
    data = cast("Message", found.metadata)
    home = data.get("Home-page") or lower.get("homepage") or lower.get("source") or lower.get("repository")
    return home or f"https://pypi.org/project/{found.name}/"


def _system(folder: _Folder, sources: list[Path]) -> list[Component]:
    """Libraries of the machine that this is built on, by Debian's packages; elsewhere by their names, unknown."""
    components: dict[str, Component] = {}
    packages = system_packages(sources)
    for source in sources:
        package = packages.get(source)
        if package is None:
            found = _LIBRARY.match(source.name)
            name = found[1] if found else source.name
            components.setdefault(name, Component(name, "", UNKNOWN, "system"))
        elif package.name not in components:
            text = package.copyright.read_text(encoding="utf-8", errors="replace") if package.copyright else ""
            files = [folder.add(f"system/{package.name}.txt", text)] if text else []
            files += [folder.add(f"common/{one}.txt", COMMON_LICENCES / one) for one in common_licences([text])]
            words = system_words(package.name, debian_words(text)) if text else UNKNOWN
            url = f"https://packages.debian.org/{package.name}"
            components[package.name] = Component(package.name, package.version, words, "system", tuple(files), url)
    return list(components.values())


def _phosphor(folder: _Folder) -> Component:
    text = folder.add("phosphor/LICENSE", mit_licence(PHOSPHOR_COPYRIGHT))
    return Component("Phosphor Icons", "1.3.0", "MIT", "data", (text,), "https://phosphoricons.com")


def _llama(folder: _Folder, source: Path | None) -> Component:
    """llama.cpp with ggml: the licences in its own folder, the version from its build file."""
    inside = source / "vendor" / "llama.cpp" if source else None
    files: list[str] = []
    number = ""
    if inside is not None and (inside / "LICENSE").is_file():
        texts = [inside / "LICENSE", inside / "AUTHORS", *sorted((inside / "licenses").glob("*"))]
        files = [folder.add(f"llama.cpp/{text.name}", text) for text in texts if text.is_file()]
        recipe = (inside / "CMakeLists.txt").read_text(encoding="utf-8")
        number = ".".join(re.findall(r"set\(LLAMA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)\)", recipe))
    return Component("llama.cpp", number, "MIT", "native", tuple(files), "https://github.com/ggml-org/llama.cpp")
