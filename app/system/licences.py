"""List the components and their licences: from the licences folder of a frozen program, else as installed.

Nothing here needs Qt.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, cast

from app.system.resources import ResourceDamaged
from engine import __version__
from engine.host import installation_folder

_FOLDER = "licences"
_OURS = "outrider"
_SHOWN = {
    "llama_cpp_python": "llama-cpp-python",
    "llama.cpp": "llama.cpp",
    "torch": "torch",
    "transformers": "transformers",
}
_EXTRAS = ("app", "server", "torch")
_MOST_TEXT = 2_000_000
_LICENCE_FILE = re.compile(r"(?:^|[^A-Z])(?:LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|AUTHORS)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Component:
    """Describe a part of the program: its name, version, licence in words, origin, and licence texts."""

    name: str
    version: str
    licence: str
    url: str = ""
    texts: tuple[Path, ...] = ()


def components() -> tuple[Component, ...]:
    """Return the parts of the program, by name. Raises ResourceDamaged if a frozen program has lost the list."""
    folder = installation_folder()
    found = _installed() if folder is None else _listed(folder / _FOLDER)
    return tuple(sorted(found, key=lambda one: (one.name.lower() != _OURS, one.name.lower())))


def versions() -> list[tuple[str, str]]:
    """Return names and versions for a report, Qt apart; of the optional parts only the installed ones."""
    numbers = {name: found.version for name in _SHOWN if (found := _distribution(name)) is not None}
    if installation_folder() is not None:
        try:
            numbers = {part.name: part.version for part in components()}
        except ResourceDamaged:
            numbers = {}
    listed = [(name.replace("_", "-"), numbers[name]) for name in _SHOWN if name in numbers]
    return [("Outrider", __version__), ("Python", platform.python_version()), *listed]


def text_of(component: Component) -> str:
    """Return the licence texts of a component, one below the other; empty if it has none. Raises ResourceDamaged."""
    texts = []
    room = _MOST_TEXT
    for path in component.texts:
        try:
            text = path.read_bytes()[:room].decode("utf-8", errors="replace").strip()
        except OSError:
            raise ResourceDamaged(f"{_FOLDER}/{path.name}") from None
        room -= len(text)
        texts.append(f"{path.name}\n\n{text}" if len(component.texts) > 1 else text)
        if room <= 0:
            break
    return f"\n\n{'─' * 40}\n\n".join(texts)


def _listed(folder: Path) -> Iterator[Component]:
    """Read the list of a frozen program."""
    try:
        items = json.loads((folder / "components.json").read_text(encoding="utf-8"))
        for item in items:
            yield _from_list(folder, item)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ResourceDamaged("The folder of licences") from None


def _from_list(folder: Path, item: dict[str, Any]) -> Component:
    texts = tuple(folder / str(name) for name in item["files"])
    if not all(path.resolve().is_relative_to(folder.resolve()) for path in texts):
        raise ValueError(item["name"])
    name, version, licence = (str(item[key]) for key in ("name", "version", "licence"))
    return Component(name, version, licence, str(item.get("url", "")), texts)


def _installed() -> Iterator[Component]:
    """Yield Outrider and everything that it needs, as installed, and Python itself."""
    yield Component("Python", platform.python_version(), "Python-2.0.1", "https://www.python.org")
    seen: set[str] = set()
    wanted = [_OURS]
    while wanted:
        name = wanted.pop()
        found = None if name in seen else _distribution(name)
        seen.add(name)
        if found is not None:
            yield _component(found)
            wanted += _needs(found)


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _needs(found: Distribution) -> Iterator[str]:
    """Return names of the distributions that one needs.

    Extras count only for our own: the user chooses the others.

    What is for another system is not installed, and falls away there.
    """
    for line in found.requires or ():
        name, extra = re.match(r"[\w.-]*", line), re.search(r"extra\s*==\s*[\"']([\w.-]+)", line)
        if name and (extra is None or (found.name == _OURS and extra[1] in _EXTRAS)):
            yield re.sub(r"[-_.]+", "-", name[0]).lower()


def _component(found: Distribution) -> Component:
    data = cast("Message", found.metadata)
    pages = dict(line.split(", ", 1) for line in data.get_all("Project-URL", []) if ", " in line)
    lower = {name.lower(): page for name, page in pages.items()}
    home = data.get("Home-page") or lower.get("homepage") or lower.get("source") or lower.get("repository") or ""
    inside = [file for file in found.files or () if _LICENCE_FILE.search(file.name) and ".dist-info" in file.parts[0]]
    paths = sorted(
        (Path(str(found.locate_file(file))) for file in inside), key=lambda path: (len(path.parts), path.name)
    )
    name = "Outrider" if found.name == _OURS else found.name
    return Component(name, found.version, _words(data), home, tuple(path for path in paths if path.is_file()))


def _words(data: Message) -> str:
    licence = str(data.get("License-Expression") or data.get("License") or "").strip()
    if licence and "\n" not in licence and len(licence) <= 120:
        return licence
    kinds = [line.split(" :: ")[-1] for line in data.get_all("Classifier", []) if line.startswith("License :: ")]
    return ", ".join(kinds) or "unknown"
