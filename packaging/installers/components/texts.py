"""Licence facts that packages lack themselves: names, texts, notices."""

import json
from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path
from typing import cast

TEXTS = Path(__file__).resolve().parents[2] / "licences"

UNKNOWN = "unknown"

SPDX = {
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd 2-clause license": "BSD-2-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
}
"""Licences as the metadata of packages call them, and as SPDX does. "BSD" alone says too little."""

STANDARD_TEXTS: dict[str, tuple[str, ...]] = {
    "Apache-2.0": ("Apache-2.0.txt",),
    "GPL-3.0-only": ("GPL-3.0.txt",),
    # The lesser licence adds permissions to the general one, and is given with it.
    "LGPL-3.0-only": ("LGPL-3.0.txt", "GPL-3.0.txt"),
    "WTFPL": ("WTFPL.txt",),
}
"""Texts that are the same for every holder, for packages that come without. One with a name in it has to be found."""

MIT_COPYRIGHTS = {"fontpkg": "Copyright (c) Evan Jones", "latex2mathml": "Copyright (c) 2016 Ronie Martinez"}
"""Of packages under the MIT licence that come without its text. Source: the LICENSE of each one's repository, else its
metadata."""

SYSTEM_LICENCES: dict[str, str] = json.loads(Path(__file__).with_name("system_licences.json").read_text("utf-8"))
"""Licences of Debian's libraries, not of the tools from the same source; their copyright files tell all."""
MIT_FAMILIES = ("libx11", "libxcb", "libxau", "libxdmcp", "libxext", "libxkbcommon", "libxrender", "libwayland")
"""Names that begin so are X.Org's and Wayland's: MIT, or an X11 licence much like it."""

NOTICE_NAME = "LGPL-NOTICE.txt"
PHOSPHOR_COPYRIGHT = "Copyright (c) 2020-2021 Phosphor Icons"
"""Copyright line of the icon font in QtAwesome, which comes without it. Source: the icon set's LICENSE."""

INSIDE_QT = ("CODE-INSIDE-QT.txt", "SHORT-LICENCES.txt", "Apache-2.0.txt")
INSIDE_PYTHON = ("CODE-INSIDE-PYTHON.txt", "SHORT-LICENCES.txt")
"""Licence texts of code compiled into Qt's and Python's libraries, which bring none."""


def licence_words(found: Distribution) -> str:
    """A distribution's licence: its License-Expression, else its License where short, else its classifiers."""
    data = cast("Message", found.metadata)
    told = (data.get("License-Expression") or data.get("License") or "").strip()
    if not told or "\n" in told or len(told) > 120:
        kinds = [line.split(" :: ") for line in data.get_all("Classifier", []) if line.startswith("License :: ")]
        told = " AND ".join(sorted({SPDX.get(kind[-1].lower(), kind[-1]) for kind in kinds if len(kind) > 2}))
    return SPDX.get(told.lower(), told) or UNKNOWN


def standard_texts(words: str) -> tuple[str, ...]:
    """Files in TEXTS for the first of the licences that one may choose from (A OR B), or none."""
    return STANDARD_TEXTS.get(words.split(" OR ", maxsplit=1)[0].strip("() "), ())


def system_words(package: str, told: str) -> str:
    """Return the licence of a Debian library; `told`: the one in its copyright file, or ""."""
    if package in SYSTEM_LICENCES:
        return SYSTEM_LICENCES[package]
    if package.startswith(MIT_FAMILIES):
        return "MIT"
    return told or "see the text"


def lgpl_notice(version: str) -> str:
    """The notice that comes with Qt and its bindings, `version` being theirs."""
    return (TEXTS / NOTICE_NAME).read_text("utf-8").format(qt=version)


def mit_licence(copyright_line: str) -> str:
    """The MIT licence of somebody's."""
    terms = (TEXTS / "SHORT-LICENCES.txt").read_text(encoding="utf-8").split("\n---\n\n", 1)[1].split("\n\nBSD-3", 1)[0]
    return f"MIT License\n\n{copyright_line}\n\n{terms}\n"
