"""Licence facts that packages lack themselves: names, texts, notices."""

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

_GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
SYSTEM_LICENCES = {
    **dict.fromkeys(("libgomp1", "libgcc-s1", "libstdc++6", "libgfortran5", "libquadmath0", "libatomic1"), _GCC),
    **dict.fromkeys(("libegl1", "libgl1", "libglx0", "libglvnd0", "libopengl0", "libgles2"), "MIT"),
    "libbrotli1": "MIT",
    "libbsd0": "BSD-3-Clause",
    "libbz2-1.0": "bzip2-1.0.6",
    "libcap2": "BSD-3-Clause OR GPL-2.0-only",
    "libcom-err2": "MIT",
    "libdbus-1-3": "AFL-2.1 OR GPL-2.0-or-later",
    "libexpat1": "MIT",
    "libffi8": "MIT",
    "libfontconfig1": "HPND-sell-variant",
    "libfreetype6": "FTL OR GPL-2.0-or-later",
    "libgcrypt20": "LGPL-2.1-or-later",
    "libglib2.0-0": "LGPL-2.1-or-later",
    "libgpg-error0": "LGPL-2.1-or-later",
    "libgssapi-krb5-2": "MIT",
    "libk5crypto3": "MIT",
    "libkeyutils1": "LGPL-2.0-or-later",
    "libkrb5-3": "MIT",
    "libkrb5support0": "MIT",
    "liblz4-1": "BSD-2-Clause",
    # The tools are under the GPL; the library is in the public domain.
    "liblzma5": "LicenseRef-public-domain",
    "libmd0": "BSD-3-Clause",
    "libncursesw6": "X11-distribute-modifications-variant",
    "libpcre2-8-0": "BSD-3-Clause",
    "libpng16-16": "libpng-2.0",
    "libreadline8": "GPL-3.0-or-later",
    "libsqlite3-0": "LicenseRef-public-domain",
    "libssl3": "Apache-2.0",
    "libsystemd0": "LGPL-2.1-or-later",
    "libtinfo6": "X11-distribute-modifications-variant",
    "libuuid1": "BSD-3-Clause",
    "libzstd1": "BSD-3-Clause OR GPL-2.0-only",
    "zlib1g": "Zlib",
}
"""Licences of Debian's libraries, not of the tools from the same source; their copyright files tell all."""
MIT_FAMILIES = ("libx11", "libxcb", "libxau", "libxdmcp", "libxext", "libxkbcommon", "libxrender", "libwayland")
"""Names that begin so are X.Org's and Wayland's: MIT, or an X11 licence much like it."""

NOTICE_NAME = "LGPL-NOTICE.txt"
LGPL_NOTICE = """\
Libraries under the GNU Lesser General Public License in this program
======================================================================

Outrider uses Qt {qt}, PySide6 {qt} and Shiboken6 {qt} under the GNU Lesser
General Public License, version 3. They are unchanged, and linked dynamically.
Copyright (C) The Qt Company Ltd. and other contributors. The licence is in
LGPL-3.0.txt beside this notice; it adds to the GNU General Public License in
GPL-3.0.txt.

The source

  Qt         https://download.qt.io/official_releases/qt/
  PySide6    https://download.qt.io/official_releases/QtForPython/pyside6/
  Shiboken6  in the same archive as PySide6

  Each holds the complete source of version {qt}. The libraries here are those
  of the wheels PySide6_Essentials {qt} and shiboken6 {qt} from
  https://pypi.org.

Using your own build of them

  Every library is a file of its own in the program's folder: Qt's are in
  _internal/PySide6/Qt/lib and _internal/PySide6/Qt/plugins, PySide6's in
  _internal/PySide6, Shiboken6's in _internal/shiboken6; on Windows all of
  Qt's are in _internal/PySide6. To use a changed one, build it with a
  compatible interface, put it in that place under the same name, and start
  Outrider as before: no key is needed, and changed libraries are let be.
  You may decompile and debug Outrider for that.

Code of others inside Qt

  Qt contains code of other authors under licences of their own, most of them
  short and permissive: see CODE-INSIDE-QT.txt beside this notice.

Other libraries

  Libraries of the system that came along, some of them under the LGPL, are
  listed in components.json with their package's name and version. They are
  Debian's, unchanged; the source of each is at https://sources.debian.org
  under that name. Each is a file of its own in _internal and can be replaced
  in the same way.
"""

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
    return LGPL_NOTICE.format(qt=version)


def mit_licence(copyright_line: str) -> str:
    """The MIT licence of somebody's."""
    terms = (TEXTS / "SHORT-LICENCES.txt").read_text(encoding="utf-8").split("\n---\n\n", 1)[1].split("\n\nBSD-3", 1)[0]
    return f"MIT License\n\n{copyright_line}\n\n{terms}\n"
