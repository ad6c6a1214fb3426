"""Packs a frozen program for this system, with the list of its components and the checksums. make_dist.py runs it."""

import argparse
import json
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import icons
import places  # noqa: F401 - it tells where the set-up's modules are
import windows_setup
from bundle_files import entries, whole_file
from components import sbom
from components.licences import Component
from linux_packages import archive, deb, needs
from messages import SetupError, say, step
from places import DIST, FLAVOURS, ROOT, WORK, commit, epoch, version


def main() -> int:
    """Pack; gives the exit status."""
    parser = argparse.ArgumentParser(prog="pack.py", description=__doc__)
    parser.add_argument("program", type=Path, help="the folder that PyInstaller made")
    parser.add_argument("--flavour", choices=FLAVOURS, required=True)
    args = parser.parse_args()
    try:
        _pack(args.program, args.flavour)
    except (SetupError, OSError) as error:
        print(f"\nThe packages were not made: {error}", file=sys.stderr)
        return 1
    return 0


def _pack(program: Path, flavour: str) -> None:
    name = "outrider" if flavour == "standard" else f"outrider-{flavour}"
    packers = {"linux": _for_linux, "win32": _for_windows, "darwin": _for_macos}
    made = packers.get(sys.platform, _for_linux)(program, name, flavour)
    step("Listing the components")
    listed = json.loads((program / "_internal" / "licences" / "components.json").read_text(encoding="utf-8"))
    components = [Component(**each) for each in listed]
    bill = DIST / f"{name}-{version()}-{_system()}.cdx.json"
    sbom.write_sbom(components, made, bill, version=version(), commit=commit(), timestamp=epoch())
    archive.write_checksums([*made, bill], DIST / f"SHA256SUMS-{name}-{_system()}")


def _system() -> str:
    systems = {"linux": "linux", "win32": "windows", "darwin": "macos"}
    machine = {"AMD64": "x86_64", "ARM64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{systems.get(sys.platform, sys.platform)}-{machine}"


def _for_linux(program: Path, name: str, flavour: str) -> list[Path]:
    step("Packing the portable archive")
    portable = DIST / f"{name}-{version()}-{_system()}.tar.gz"
    archive.write_tar(program, portable, name=f"{name}-{version()}", epoch=epoch())
    if shutil.which("dpkg-deb") is None:
        say("    This is no Debian: the .deb is left out.")
        return [portable]
    step("Packing the Debian package")
    package = DIST / f"{name}_{version()}_{deb.architecture()}.deb"
    needed = needs.needed_packages(program)
    deb.write_deb(program, package, version=version(), epoch=epoch(), flavour=flavour, depends=needed)
    return [package, portable]


def _for_windows(program: Path, name: str, flavour: str) -> list[Path]:
    step("Packing the portable archive")
    portable = DIST / f"{name}-{version()}-{_system()}.zip"
    _write_zip(program, portable, f"{name}-{version()}")
    step("Making the installer")
    icon = WORK / "icons" / "outrider.ico"
    icon.parent.mkdir(parents=True, exist_ok=True)
    icons.write_ico(icon)
    windows_setup.make_setup(program, icon, DIST)
    return [DIST / f"{windows_setup.installer_name(version(), flavour)}.exe", portable]


def _write_zip(program: Path, target: Path, name: str) -> None:
    date = time.gmtime(epoch())[:6]
    with whole_file(target) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry in entries(program):
            if entry.path.is_file():
                told = zipfile.ZipInfo(f"{name}/{entry.name}", date)
                packed.writestr(told, entry.path.read_bytes(), zipfile.ZIP_DEFLATED)


def _for_macos(_program: Path, name: str, _flavour: str) -> list[Path]:
    step("Making the disk image")
    image = DIST / f"{name}-{version()}-{_system()}.dmg"
    script = ROOT / "packaging" / "macos" / "make_dmg.sh"
    done = subprocess.run(["sh", str(script), str(DIST / "Outrider.app"), str(image)], check=False)
    if done.returncode != 0:
        raise SetupError("the disk image could not be made; the lines above say why.")
    return [image]


if __name__ == "__main__":
    sys.exit(main())
