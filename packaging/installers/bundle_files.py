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
    """A thing in a bundle: its name there with "/", where it is now, its mode, a symbolic link's target or None."""

    name: str
    path: Path
    mode: int
    link: str | None


def entries(bundle: Path) -> Iterator[Entry]:
    """List a bundle's contents in order, folders first. Raises SetupError: links out of it or nowhere, specials."""
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
    """A name to write to, which becomes the target if all goes well. Raises SetupError (a full disk …)."""
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
