"""What takes the room in a frozen program: a table of its largest files and of its largest parts.

python packaging/installers/sizes.py FOLDER [ARCHIVE ...]
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

_GROUPS = (
    ("llama.cpp", ("llama_cpp/",)),
    ("Qt and PySide6", ("PySide6/", "shiboken6/", "libQt6", "libicu", "libpyside6", "libshiboken6")),
    ("torch", ("torch/", "torch.libs/", "torchgen/", "functorch/", "libtorch", "libc10")),
    ("transformers and tokenizers", ("transformers/", "tokenizers/", "safetensors/", "huggingface_hub/", "regex/")),
    ("numpy", ("numpy/", "numpy.libs/", "libscipy_openblas", "libgfortran", "libquadmath")),
    ("models", ("resources/models/",)),
    ("resources", ("resources/",)),
    ("icons and plots", ("qtawesome/", "pyqtgraph/")),
    ("licences", ("licences/",)),
    ("Python", ("base_library.zip", "lib-dynload/", "python3", "libpython3", "Python")),
)
_MEGABYTE = 1_000_000


def report(bundle: Path, most: int = 15, *, archives: Iterable[Path] = ()) -> str:
    """A table of a program's size: in all, by part, and its `most` largest files; then that of the packed archives.

    `bundle`: the program's folder. Sizes are in MB (1,000,000 bytes); a link counts nothing, what it points at once.
    """
    files = {path.relative_to(bundle).as_posix(): path.stat().st_size for path in _files(bundle)}
    whole = sum(files.values())
    parts: Counter[str] = Counter()
    for name, size in files.items():
        parts[_group(name)] += size
    largest = sorted(files.items(), key=lambda one: (-one[1], one[0]))[:most]
    lines = [f"{bundle.name}: {_in_megabytes(whole)} MB in {len(files)} files", "", "By part"]
    lines += [_line(size, whole, name) for name, size in sorted(parts.items(), key=lambda one: (-one[1], one[0]))]
    lines += ["", f"The {len(largest)} largest files"]
    lines += [_line(size, whole, name) for name, size in largest]
    packed = sorted(archives)
    if packed:
        lines += ["", "Packed, and as a share of the program installed"]
        lines += [_line(path.stat().st_size, whole, path.name) for path in packed]
    return "\n".join(lines)


def _files(bundle: Path) -> list[Path]:
    return sorted(path for path in bundle.rglob("*") if path.is_file() and not path.is_symlink())


def _group(name: str) -> str:
    """The part that a file belongs to: by the first folder below _internal, or by how a library is called."""
    path = PurePosixPath(name)
    if len(path.parts) == 1:
        return "the two programs, and Python modules in them"
    inner = name.removeprefix("_internal/").removeprefix("Contents/Frameworks/").removeprefix("Contents/Resources/")
    for group, beginnings in _GROUPS:
        if inner.startswith(beginnings):
            return group
    loose = "/" not in inner and (".so" in inner or inner.endswith((".dll", ".dylib")))
    return "libraries of the system" if loose else "the rest"


def _in_megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:,.1f}"


def _line(size: int, whole: int, name: str) -> str:
    return f"{_in_megabytes(size):>9} MB {size / max(whole, 1):>6.1%}  {name}"


def main() -> int:
    """Print the table for what the command line names; gives the exit status."""
    parser = argparse.ArgumentParser(prog="sizes.py", description="Show what takes the room in a frozen program.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("archives", type=Path, nargs="*")
    args = parser.parse_args()
    missing = [path for path in (args.folder, *args.archives) if not path.exists()]
    if missing or not args.folder.is_dir():
        print(f"{(missing or [args.folder])[0]} is not there, or is not a folder.", file=sys.stderr)
        return 2
    print(report(args.folder, archives=args.archives))
    return 0


if __name__ == "__main__":
    sys.exit(main())
