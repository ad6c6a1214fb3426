"""The texts of the Debian package: control file, copyright file, changelog."""

import json
import re
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import places

# Addresses under .invalid reach nobody, on purpose (RFC 2606): this package is from no distribution.
MAINTAINER = "Outrider contributors <noreply@outrider.invalid>"
RECOMMENDS = ("fonts-noto-color-emoji", "hicolor-icon-theme", "shared-mime-info")
_SUMMARY = {
    "standard": "chat with language models that run on this computer",
    "full": "chat with language models that run on this computer (with PyTorch)",
}
_DESCRIPTION = """\
Outrider is a desktop chat application for local language models. A small draft model rides ahead and proposes tokens; \
the large target model confirms several of them in one forward pass. The text is exactly what the target would have \
written alone; only the waiting is shorter, and the window shows how much.

A pair of small demonstration models comes with it; for real conversations it opens GGUF models of your own. Nothing \
that you write leaves the computer."""
_FLAVOURS = {
    "standard": "This package runs models with llama.cpp. The package outrider-full adds PyTorch and transformers.",
    "full": "This package runs models with llama.cpp, and those in safetensors folders with PyTorch and transformers.",
}


def control(
    package: str,
    version: str,
    flavour: str,
    *,
    architecture: str,
    size: int,
    depends: Sequence[str],
    recommends: Sequence[str] = (),
) -> str:
    """Write the control file; `size`: installed size in KiB; `recommends`: added to RECOMMENDS."""
    fields = [
        ("Package", package),
        ("Version", version),
        ("Section", "utils"),
        ("Priority", "optional"),
        ("Architecture", architecture),
        ("Maintainer", MAINTAINER),
        ("Installed-Size", str(size)),
        ("Depends", ", ".join(depends)),
        ("Recommends", ", ".join(sorted({*RECOMMENDS, *recommends}))),
    ]
    if flavour != "standard":
        fields += [("Conflicts", "outrider"), ("Replaces", "outrider"), ("Provides", f"outrider (= {version})")]
    lines = [f"{name}: {value}" for name, value in fields]
    lines.append(f"Description: {_SUMMARY[flavour]}")
    for number, paragraph in enumerate([*_DESCRIPTION.split("\n\n"), _FLAVOURS[flavour]]):
        lines += [" ."] if number else []
        lines += textwrap.wrap(paragraph, 78, initial_indent=" ", subsequent_indent=" ")
    return "\n".join(lines) + "\n"


def copyright_file(bundle: Path, home: str) -> str:
    """The machine-readable copyright file: our licence, and where those of the components are.

    Args:
        bundle: the frozen program; its licences/components.json lists what it contains.
        home: where the bundle's folder is once installed.

    Source: Debian's copyright format 1.0.
    """
    licence = (places.ROOT / "LICENSE").read_text(encoding="utf-8")
    holder = re.search(r"^Copyright \(c\) (.+)$", licence, re.MULTILINE)
    lines = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
        "Upstream-Name: Outrider",
        "Comment:",
        " Built from its source with the components below, each under its own licence.",
        f" Their texts are in {home}/_internal/licences.",
        *(f"  - {component}" for component in _components(bundle)),
        "",
        "Files: *",
        f"Copyright: {holder[1] if holder else 'Outrider contributors'}",
        "License: Expat",
    ]
    text = licence.partition("Permission is hereby")
    lines += [f" {line}".rstrip() or " ." for line in (text[1] + text[2]).strip().splitlines()]
    return "\n".join(lines) + "\n"


def changelog(markdown: str, package: str, version: str, epoch: int) -> str:
    """Debian's changelog, with the items of the newest section of ours.

    Source: deb-changelog(5).
    """
    section = re.split(r"^## ", markdown, flags=re.MULTILINE)[1]
    items = re.findall(r"^- (.+(?:\n  .+)*)$", section, re.MULTILINE)
    lines = [f"{package} ({version}) unstable; urgency=medium", ""]
    for item in items:
        plain = " ".join(item.replace("`", "").split())
        lines += textwrap.wrap(plain, 78, initial_indent="  * ", subsequent_indent="    ")
    date = format_datetime(datetime.fromtimestamp(epoch, UTC))
    return "\n".join([*lines, "", f" -- {MAINTAINER}  {date}"]) + "\n"


def _components(bundle: Path) -> list[str]:
    listed = bundle / "_internal" / "licences" / "components.json"
    if not listed.is_file():
        return []
    components = json.loads(listed.read_text(encoding="utf-8"))
    told = {" ".join(f"{part['name']} {part['version']}: {part['licence']}".split()) for part in components}
    return sorted((textwrap.shorten(line, 200) for line in told), key=str.lower)
