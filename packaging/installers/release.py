"""Facts and files of the release workflow, beside the packages themselves.

`release.py version [--tag TAG]` prints the version, and fails where a tag or the release notes name another one.
`release.py checksums FOLDER` writes SHA256SUMS over everything in FOLDER.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import places
from linux_packages import archive

NOTES = places.ROOT / "packaging" / "RELEASE_NOTES.md"
CHECKSUMS = "SHA256SUMS"


def disagreements(version: str, *, tag: str | None, notes: str) -> list[str]:
    """Why this version may not be released under this tag with these notes; empty if all three agree."""
    reasons = []
    if tag is not None and tag != f"v{version}":
        reasons.append(f"the tag is {tag}, but engine/_version.py says {version}: the tag must be v{version}")
    title = notes.partition("\n")[0]
    if title != f"# Outrider {version}":
        reasons.append(f"{NOTES.name} begins with {title!r}: it must be '# Outrider {version}'")
    return reasons


def write_checksums(folder: Path) -> Path:
    """Write CHECKSUMS in sha256sum's format over all files of `folder`, sorted by name; gives its path."""
    target = folder / CHECKSUMS
    files = [path for path in folder.iterdir() if path.is_file() and path != target]
    archive.write_checksums(files, target)
    return target


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line; gives the exit status."""
    parser = argparse.ArgumentParser(prog="release.py", description="Helps the release workflow.")
    commands = parser.add_subparsers(dest="command", required=True)
    version = commands.add_parser("version", help="print the version")
    version.add_argument("--tag", help="fail unless it is this version's")
    checksums = commands.add_parser("checksums", help=f"write {CHECKSUMS}")
    checksums.add_argument("folder", type=Path)
    args = parser.parse_args(arguments)
    if args.command == "checksums":
        print(write_checksums(args.folder))
        return 0
    reasons = disagreements(places.version(), tag=args.tag, notes=NOTES.read_text(encoding="utf-8"))
    for reason in reasons:
        print(f"release.py: {reason}", file=sys.stderr)
    if not reasons:
        print(places.version())
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
