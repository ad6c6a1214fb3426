"""Reading a frozen program's folder, and writing files that are there whole or not at all."""

import errno
import hashlib
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from messages import SetupError


@dataclass(frozen=True)
class Entry:
    """One thing in a bundle.

    Attributes:
        name: where it lies in the bundle, with "/".
        path: where it is now.
        mode: 0o755 for folders and what may be run, 0o644 for other files.
        link: what a symbolic link says, else None.
    """

    name: str
    path: Path
    mode: int
    link: str | None


def entries(bundle: Path) -> Iterator[Entry]:
    """List all files and folders of a bundle, each folder before its contents, in a fixed order.

    Raises SetupError for what cannot be shipped: links that lead out of the bundle or nowhere, and special files.
    """
    if not bundle.is_dir():
        raise SetupError(f"There is no frozen program in {bundle}; freeze it first.")
    home = bundle.resolve()
    for path in sorted(bundle.rglob("*"), key=lambda found: found.relative_to(bundle).parts):
        name = path.relative_to(bundle).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            link = str(path.readlink())
            if Path(link).is_absolute() or not path.exists() or not path.resolve().is_relative_to(home):
                raise SetupError(f"The link {name} in {bundle} leads to {link}, which would be nowhere once installed.")
            yield Entry(name, path, 0o777, link)
        elif stat.S_ISDIR(mode):
            yield Entry(name, path, 0o755, None)
        elif stat.S_ISREG(mode):
            yield Entry(name, path, 0o755 if mode & 0o111 else 0o644, None)
        else:
            raise SetupError(f"{name} in {bundle} is neither a file, a folder nor a link.")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A name beside the target to write to; it becomes the target if all goes well and is removed otherwise.

    Raises SetupError if the disk is full or the folder cannot be written.
    """
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        unfinished.replace(target)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise SetupError(f"The disk is full: {target} could not be written. Make room and start again.") from error
        raise SetupError(f"{target} could not be written: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)
