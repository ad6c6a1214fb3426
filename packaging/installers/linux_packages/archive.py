"""The portable archive for Linux and the list of checksums: the same input gives the same bytes."""

import gzip
import io
import re
import tarfile
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

import places
from bundle_files import Entry, entries, sha256, whole_file
from messages import SetupError

from linux_packages.needs import minimum_glibc, needed_packages, recommended_packages

LINUX = places.ROOT / "packaging" / "linux"
_CARDS = """

To compute on a graphics card it needs the driver of the card, on Debian and Ubuntu the one of its maker or these
packages. Without it the processor computes.

    {packages}"""


def write_tar(
    bundle: Path, target: Path, *, name: str, epoch: int, extras: Mapping[str, tuple[bytes, int]] | None = None
) -> None:
    """Pack a bundle and the extra files of a portable program into a .tar.gz.

    Args:
        bundle: the frozen program's folder.
        target: the archive; it appears only once it is whole.
        name: the one folder that everything in the archive is in, outrider-0.1.0.
        epoch: the time, in seconds since 1970, that everything in it bears.
        extras: more files by their names, as content and mode; None for those of a portable program.

    Raises SetupError if the bundle cannot be shipped or the archive not be written.
    """
    more = portable_files(bundle) if extras is None else extras
    with (
        whole_file(target) as unfinished,
        unfinished.open("wb") as raw,
        # No name of a file and no time of its writing in the compressed stream's header either.
        gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        tar.addfile(_tar_head(name, 0o755, epoch, tarfile.DIRTYPE))
        for entry in entries(bundle):
            _add(tar, entry, f"{name}/{entry.name}", epoch)
        for extra, (content, mode) in sorted(more.items()):
            head = _tar_head(f"{name}/{extra}", mode, epoch, tarfile.REGTYPE)
            head.size = len(content)
            tar.addfile(head, io.BytesIO(content))


def portable_files(bundle: Path) -> dict[str, tuple[bytes, int]]:
    """Return the extra files of a portable program, as content and mode by name: licence, help, icon, menu entry.

    Raises SetupError if the bundle's libraries cannot be read.
    """
    readme = (LINUX / "portable-README.txt").read_text(encoding="utf-8")
    packages = [re.sub(r" \(>=.*\)", "", needed) for needed in needed_packages(bundle)]
    packages = [re.sub(r" \| (\S+)", r" (or \1)", needed) for needed in packages]
    listed = textwrap.fill(", ".join(packages), 110, initial_indent="    ", subsequent_indent="    ")
    drivers = recommended_packages(bundle)
    if drivers:
        listed += _CARDS.format(packages=", ".join(drivers))
    filled = readme.replace("@GLIBC@", minimum_glibc(bundle)).replace("    @PACKAGES@", listed)
    return {
        "LICENSE": ((places.ROOT / "LICENSE").read_bytes(), 0o644),
        "README.txt": (filled.encode(), 0o644),
        "install-desktop-entry.sh": ((LINUX / "install-desktop-entry.sh").read_bytes(), 0o755),
        "share/outrider.desktop": ((LINUX / "outrider.desktop").read_bytes(), 0o644),
        "share/outrider-mime.xml": ((LINUX / "outrider-mime.xml").read_bytes(), 0o644),
        "share/outrider.svg": ((places.ROOT / "resources" / "icons" / "outrider.svg").read_bytes(), 0o644),
    }


def write_checksums(files: Iterable[Path], target: Path) -> None:
    """Write a list that `sha256sum --check` reads, of files that lie beside it, in the order of their names.

    Raises SetupError if a file cannot be read, lies elsewhere or cannot be named in such a list.
    """
    lines = []
    for path in sorted(files, key=lambda found: found.name):
        if path.parent.resolve() != target.parent.resolve():
            raise SetupError(f"{path} does not lie beside {target}: its checksum would not be found.")
        if any(sign in path.name for sign in "\\\n\r"):
            raise SetupError(f"{path.name!r} is no name for a file that is to be downloaded.")
        lines.append(f"{sha256(path)}  {path.name}\n")
    with whole_file(target) as unfinished:
        unfinished.write_text("".join(lines), encoding="utf-8", newline="\n")


def _add(tar: tarfile.TarFile, entry: Entry, name: str, epoch: int) -> None:
    if entry.link is not None:
        head = _tar_head(name, entry.mode, epoch, tarfile.SYMTYPE)
        head.linkname = entry.link
        tar.addfile(head)
    elif entry.path.is_dir():
        tar.addfile(_tar_head(name, entry.mode, epoch, tarfile.DIRTYPE))
    else:
        head = _tar_head(name, entry.mode, epoch, tarfile.REGTYPE)
        head.size = entry.path.stat().st_size
        with entry.path.open("rb") as content:
            tar.addfile(head, content)


def _tar_head(name: str, mode: int, epoch: int, kind: bytes) -> tarfile.TarInfo:
    head = tarfile.TarInfo(name)
    head.type = kind
    head.mode = mode
    head.mtime = epoch
    head.uid = head.gid = 0
    head.uname = head.gname = "root"
    return head
