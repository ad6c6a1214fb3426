"""The Debian package: the bundle under /usr/lib, links, menu entry, icons, file type, manuals; repeatable.

No maintainer script is needed: the packages that keep the caches of menus, icons, file types and manuals
refresh them by dpkg's triggers on the folders that are used here.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import places
from bundle_files import Entry, entries, whole_file
from messages import SetupError

from linux_packages import deb_texts
from linux_packages.needs import needed_packages, recommended_packages

__all__ = ["architecture", "needed_packages", "package_name", "write_deb"]

LINUX = places.ROOT / "packaging" / "linux"
RESOURCES = places.ROOT / "resources" / "icons"
APPLICATION_ID = "io.github.outrider_chat.Outrider"
HOME = "usr/lib/outrider"
COMMANDS = ("outrider", "outrider-engine")


def package_name(flavour: str) -> str:
    """The package's name: the full flavour is another package, which takes the standard one's place."""
    return "outrider" if flavour == "standard" else f"outrider-{flavour}"


def write_deb(
    bundle: Path,
    target: Path,
    *,
    version: str,
    epoch: int,
    flavour: str,
    depends: Sequence[str],
    icons: Path | None = None,
) -> None:
    """Build the .deb of a frozen program.

    Args:
        bundle: the frozen program's folder.
        target: the package; it appears only once it is whole.
        version: the program's version.
        epoch: the time, in seconds since 1970, that everything in it bears.
        flavour: "standard" or "full".
        depends: the field Depends, from `needed_packages`.
        icons: folder with `<size>.png`, as icons.py writes it; None to draw them with this Python's Qt.

    Raises SetupError where dpkg-deb is missing or fails, the bundle cannot be shipped or the disk is full.
    """
    if shutil.which("dpkg-deb") is None:
        raise SetupError("dpkg-deb is missing: a .deb can be built on Debian or Ubuntu, or with their package dpkg.")
    places.WORK.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as unfinished, tempfile.TemporaryDirectory(dir=places.WORK, prefix="deb-") as scratch:
        root = Path(scratch) / "root"
        _stage_program(bundle, root)
        _stage_desktop(root, icons or _draw_icons(Path(scratch) / "icons"), version, epoch)
        _stage_documents(bundle, root, package_name(flavour), version, epoch)
        _write_control(root, version, flavour, depends)
        _set_times(root, epoch)
        _build(root, unfinished, epoch)


def _stage_program(bundle: Path, root: Path) -> None:
    for entry in entries(bundle):
        _copy(entry, root / HOME / entry.name)
    binaries = root / "usr/bin"
    binaries.mkdir(parents=True)
    for command in COMMANDS:
        if not (root / HOME / command).is_file():
            raise SetupError(f"{bundle} has no executable {command}; freeze the program again.")
        (binaries / command).symlink_to(f"../lib/outrider/{command}")


def _copy(entry: Entry, place: Path) -> None:
    if entry.link is not None:
        place.symlink_to(entry.link)
    elif entry.path.is_dir():
        place.mkdir(parents=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(entry.path, place)
        # Debian wants libraries that nobody can start.
        place.chmod(0o644 if ".so" in place.name else entry.mode)


def _draw_icons(folder: Path) -> Path:
    command = [sys.executable, str(Path(__file__).parents[1] / "icons.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(f"The icons could not be drawn:\n{done.stderr.strip()[-1000:]}")
    return folder


def _stage_desktop(root: Path, icons: Path, version: str, epoch: int) -> None:
    share = root / "usr/share"
    theme = share / "icons/hicolor"
    for drawn in sorted(icons.glob("*.png")):
        _write(theme / f"{drawn.stem}x{drawn.stem}/apps/outrider.png", drawn.read_bytes())
    _write(theme / "scalable/apps/outrider.svg", (RESOURCES / "outrider.svg").read_bytes())
    _write(share / "applications/outrider.desktop", (LINUX / "outrider.desktop").read_bytes())
    _write(share / "mime/packages/outrider.xml", (LINUX / "outrider-mime.xml").read_bytes())
    name = f"{APPLICATION_ID}.metainfo.xml"
    _write(share / "metainfo" / name, _filled(LINUX / name, version, epoch))


def _stage_documents(bundle: Path, root: Path, package: str, version: str, epoch: int) -> None:
    share = root / "usr/share"
    documents = share / "doc" / package
    _write(documents / "copyright", deb_texts.copyright_file(bundle, f"/{HOME}").encode())
    changes = (places.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _write(documents / "changelog.gz", _gzip(deb_texts.changelog(changes, package, version, epoch).encode()))
    for command in COMMANDS:
        manual = _filled(LINUX / f"{command}.1", version, epoch)
        _write(share / f"man/man1/{command}.1.gz", _gzip(manual))
    overrides = (LINUX / "lintian-overrides").read_text(encoding="utf-8").replace("@PACKAGE@", package)
    _write(share / "lintian/overrides" / package, overrides.encode())


def _write_control(root: Path, version: str, flavour: str, depends: Sequence[str]) -> None:
    sums = []
    size = 0
    for entry in entries(root):
        plain = entry.link is None and entry.path.is_file()
        # As dpkg-gencontrol counts: files in whole KiB, one for anything else.
        size += -(-entry.path.stat().st_size // 1024) if plain else 1
        if plain:
            with entry.path.open("rb") as file:
                digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
            sums.append(f"{digest}  {entry.name}\n")
    control = deb_texts.control(
        package_name(flavour),
        version,
        flavour,
        architecture=architecture(),
        size=size,
        depends=depends,
        recommends=recommended_packages(root / HOME),
    )
    _write(root / "DEBIAN/control", control.encode())
    _write(root / "DEBIAN/md5sums", "".join(sums).encode())


def _set_times(root: Path, epoch: int) -> None:
    """Set one time on all files: dpkg-deb only lowers later times, and a commit may date from the future."""
    for path in sorted([root, *root.rglob("*")], reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def _build(root: Path, target: Path, epoch: int) -> None:
    # With several threads xz cuts the data in pieces: a little larger, and different with another number of them.
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch), "DPKG_DEB_THREADS_MAX": "1", "LC_ALL": "C.UTF-8"}
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z6", "--build", str(root), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise SetupError(f"dpkg-deb could not build {target.name}: {done.stderr.strip()[-1000:]}")


def architecture() -> str:
    """Return Debian's name of this machine's architecture, such as amd64."""
    done = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _filled(template: Path, version: str, epoch: int) -> bytes:
    date = datetime.fromtimestamp(epoch, UTC).date().isoformat()
    return template.read_text(encoding="utf-8").replace("@VERSION@", version).replace("@DATE@", date).encode()


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o644)
