"""Makes the Windows installer of a frozen program, with the compiler of Inno Setup. Untested on Windows.

make_dist.py calls it; by its name it makes the installer of dist/outrider once more. Where OUTRIDER_SIGN_COMMAND is
set, installer, uninstaller and both programs are signed: it is a command line to which the file is appended, such as
`signtool sign /fd SHA256 /td SHA256 /tr <time stamp server> /sha1 <certificate>`.
"""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import places
from messages import SetupError
from windows_resource import COPYRIGHT, PUBLISHER, numeric_version

SCRIPT = places.ROOT / "packaging" / "windows" / "outrider.iss"
SIGN_COMMAND = "OUTRIDER_SIGN_COMMAND"
_COMPILER = "ISCC.exe"
_PROGRAMS = ("outrider.exe", "outrider-engine.exe")


def installer_name(version: str, flavour: str) -> str:
    """The installer's file name without its ending."""
    return f"outrider-{'' if flavour == 'standard' else f'{flavour}-'}{version}-windows-x86_64-setup"


def compiler_arguments(bundle: Path, icon: Path, out: Path, *, seconds: int, sign: str = "") -> list[str]:
    """Compose ISCC's arguments. Version and flavour are the bundle's; `seconds`: the date of all files, since 1970.

    Raises SetupError if the bundle is not a whole frozen program.
    """
    manifest = bundle / "_internal" / "manifest.json"
    lacking = [name for name in (*_PROGRAMS, "_internal/manifest.json") if not (bundle / name).is_file()]
    if lacking:
        raise SetupError(f"{bundle} is not a frozen program: {', '.join(lacking)} is missing. Run make_dist.py first.")
    built = json.loads(manifest.read_text(encoding="utf-8"))
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    defines = {
        "Version": built["version"],
        "NumericVersion": ".".join(map(str, numeric_version(built["version"]))),
        "Publisher": PUBLISHER,
        "Copyright": COPYRIGHT,
        "Bundle": bundle,
        "Icon": icon,
        "Licence": places.ROOT / "LICENSE",
        "Out": out,
        "OutName": installer_name(built["version"], built["flavour"]),
        "TouchDate": f"{moment:%Y-%m-%d}",
        # Archives of old keep even seconds only.
        "TouchTime": f"{moment:%H:%M}",
    }
    arguments = ["/Qp", *(f"/D{name}={value}" for name, value in defines.items())]
    if sign:
        # Inno Setup writes $q for a quote and $f for the quoted file.
        command = sign.replace("$", "$$").replace('"', "$q")
        arguments += ["/DSign", f"/Soutrider={command} $f"]
    return [*arguments, str(SCRIPT)]


def find_compiler() -> Path:
    """ISCC.exe: from the variable ISCC, from PATH, or where Inno Setup 6 installs it. Raises SetupError."""
    folders = [os.environ.get(name) for name in ("ProgramFiles(x86)", "ProgramFiles", "LOCALAPPDATA")]
    found = [Path(given) for given in (os.environ.get("ISCC"), shutil.which(_COMPILER)) if given]
    for folder in filter(None, folders):
        found += [Path(folder) / "Inno Setup 6" / _COMPILER, Path(folder) / "Programs" / "Inno Setup 6" / _COMPILER]
    for compiler in found:
        if compiler.is_file():
            return compiler
    raise SetupError(f"Inno Setup 6 was not found. Install it, or name its {_COMPILER} in the variable ISCC.")


def make_setup(bundle: Path, icon: Path, out: Path) -> None:
    """Compile the installer of `bundle` into the folder `out`. Raises SetupError."""
    compiler = find_compiler()
    if not icon.is_file():
        raise SetupError(f"there is no {icon}. Run make_dist.py first, or name another with --icon.")
    out.mkdir(parents=True, exist_ok=True)
    sign = os.environ.get(SIGN_COMMAND, "").strip()
    arguments = compiler_arguments(bundle, icon, out, seconds=places.epoch(), sign=sign)
    if not sign:
        print(f"{SIGN_COMMAND} is not set: the installer is not signed, and Windows will warn of an unknown publisher.")
    code = subprocess.run([str(compiler), *arguments], check=False).returncode
    if code != 0:
        raise SetupError(f"Inno Setup ended with code {code}; its output is above.")


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Make the Windows installer of a frozen program.")
    parser.add_argument("--flavour", choices=places.FLAVOURS, default="standard")
    parser.add_argument("--bundle", type=Path, metavar="FOLDER", help="the frozen program (dist/outrider…)")
    icon = places.WORK / "icons" / "outrider.ico"
    parser.add_argument("--icon", type=Path, default=icon, metavar="FILE", help="the one that make_dist.py drew")
    parser.add_argument("--out", type=Path, default=places.DIST, metavar="FOLDER", help="where it is written to")
    args = parser.parse_args()
    try:
        bundle = args.bundle or places.DIST / ("outrider" if args.flavour == "standard" else f"outrider-{args.flavour}")
        make_setup(bundle.resolve(), args.icon.resolve(), args.out.resolve())
    except SetupError as error:
        print(f"\nThere is no installer: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
